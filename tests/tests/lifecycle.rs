//! Telamon's own start and end: configurations that cannot work, signals, drain.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use std::time::Duration;

use integration_tests::program::{output, said};
use integration_tests::raw::{Login, Refused, Shape};
use integration_tests::{Schema, Telamon, account, cluster, command, root, wait_for};
use rustix::process::Signal;

const SOON: Duration = Duration::from_secs(20);

/// What `telamon run` says and how it ends with a configuration that cannot work.
fn ends(configuration: &str) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("telamon.toml");
    std::fs::write(&file, configuration).expect("the directory is ours");
    output(command(&["run", "--config"]).arg(&file))
}

const ONE_SERVER: &str = "[[servers]]\nname = \"db1\"\naddress = \"127.0.0.1:9\"\nrole = \"primary\"\n\
                          [[users]]\nname = \"app\"\npassword = \"app\"\n";

#[test]
fn a_configuration_that_cannot_work_ends_in_one_line_and_exit_code_2() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().map(|address| (taken, address)).unwrap();
    let cases = [
        (format!("listen = [\"{}\"]\n{ONE_SERVER}", taken.1), taken.1.to_string()),
        (format!("listen = [\"127.0.0.1\"]\n{ONE_SERVER}"), "listen".into()),
        (format!("listen = [\"192.0.2.77:1234\"]\n{ONE_SERVER}"), "192.0.2.77".into()),
        (format!("listen = [\"unix:/no/such/directory/socket\"]\n{ONE_SERVER}"), "/no/such/directory".into()),
        (ONE_SERVER.replace("127.0.0.1:9", "nonsense"), "servers[0].address".into()),
        (format!("[routing]\nfalback = \"error\"\n{ONE_SERVER}"), "fallback".into()),
        (format!("listen = \n{ONE_SERVER}"), "telamon.toml:1".into()),
        (
            format!("{ONE_SERVER}[tls.server]\nmode = \"verify_ca\"\nca = \"/no/such.pem\"\n"),
            "/no/such.pem".into(),
        ),
    ];
    for (configuration, named) in cases {
        let output = ends(&configuration);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{configuration}\n{text}");
        assert!(text.contains(&named), "{named} is not named: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "one line: {text}");
    }
}

#[test]
fn a_file_that_cannot_be_read_ends_in_one_line_and_exit_code_2() {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret.toml");
    std::fs::write(&secret, ONE_SERVER).unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    // root may read everything.
    let paths = [directory.path().join("missing.toml"), directory.path().to_owned(), secret];
    let readable = usize::from(std::fs::read(&paths[2]).is_ok());
    for path in &paths[..paths.len() - readable] {
        let output = output(command(&["run", "--config"]).arg(path));
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(&path.display().to_string()), "{text}");
        assert_eq!(text.trim_end().lines().count(), 1, "one line: {text}");
    }
}

#[test]
fn sigterm_lets_transactions_finish_and_tells_idle_sessions_1053() {
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT)"]);
    for signal in [Signal::TERM, Signal::INT] {
        let telamon = Telamon::start("[client]\ndrain_timeout_ms = 20000\n");
        let mut idle = telamon.connect(&schema.login());
        let mut busy = telamon.connect(&schema.login());
        let mut sleeper = telamon.connect(&schema.login());
        idle.query("DO 1").expect_ok();
        busy.query("BEGIN").expect_ok();
        busy.query("INSERT INTO t VALUES (1)").expect_ok();
        sleeper.send(b"\x03SELECT SLEEP(2)").unwrap();
        telamon.signal(signal);
        wait_for("the drain begins", SOON, || telamon.log_lines("draining").pop());
        // What it sends in the moment of the signal may still be answered.
        wait_for("an idle session is told", SOON, || {
            let reply = idle.try_query("DO 1").expect("an ERR packet, not a closed socket");
            reply.error().map(|error| assert_eq!(error.code, 1053))
        });
        assert!(matches!(telamon.try_connect(&Login::default()), Err(Refused::Io(_))), "nobody new gets in");
        busy.query("INSERT INTO t VALUES (2)").expect_ok();
        assert_eq!(busy.query("SELECT COUNT(*) >= 2 FROM t").text(), "1");
        busy.query("COMMIT").expect_ok();
        assert_eq!(sleeper.receive(Shape::Results).expect("it finishes").text(), "0");
        assert!(telamon.wait(SOON).success());
    }
    assert_eq!(
        root(cluster().primary()).query(&format!("SELECT COUNT(*) FROM {}.t", schema.name)).text(),
        "4"
    );
}

#[test]
fn a_drain_ends_when_its_time_is_over_or_at_a_second_signal() {
    account(cluster(), "drained");
    for second in [false, true] {
        let limit = if second { 600_000 } else { 300 };
        let telamon = Telamon::start(&format!(
            "[[users]]\nname = \"drained\"\npassword = \"drained\"\n[client]\ndrain_timeout_ms = {limit}\n"
        ));
        let mut busy = telamon.connect(&Login::new("drained", "drained"));
        busy.query("BEGIN").expect_ok();
        telamon.signal(Signal::TERM);
        wait_for("the drain begins", SOON, || telamon.log_lines("draining").pop());
        if second {
            telamon.signal(Signal::TERM);
        }
        let _ = telamon.wait(SOON);
        let mut root = root(cluster().primary());
        let open = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'drained'";
        wait_for("nothing is left open", SOON, || (root.query(open).number::<u32>() == 0).then_some(()));
    }
}

#[test]
fn sighup_does_not_end_it() {
    let telamon = Telamon::start("");
    let mut client = telamon.connect(&Login::default());
    telamon.signal(Signal::HUP);
    wait_for("it is said", SOON, || telamon.log_lines("SIGHUP").pop());
    client.query("DO 1").expect_ok();
}
