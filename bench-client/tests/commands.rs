//! The program as a user runs it, on an embedded cluster.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use telamon_bench::client::Patience;
use telamon_bench::lab::{Cluster, Flavor, Options};
use telamon_bench::plan::{Plan, Tables};
use telamon_bench::report::Document;
use telamon_bench::schema;
use telamon_bench::target::Target;
use telamon_bench::workload::Kind;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A cluster with tables, and a directory for reports.
struct Bench {
    cluster: Cluster,
    directory: TempDir,
    // Its threads are those of nothing: the embedded servers have their own.
    _runtime: Runtime,
}

impl Bench {
    fn new() -> Bench {
        let runtime = Runtime::new().expect("threads can be had");
        let cluster = runtime.block_on(Cluster::start(Flavor::Embedded, Options::default()));
        let cluster = cluster.expect("ports are free");
        let target = Target::lab("direct", cluster.primary().address());
        let plan = Plan { tables: Tables { count: 1, size: 200 }, ..Plan::new(Kind::OltpReadWrite) };
        schema::prepare(&target, &plan, &Patience::default(), &|_| ()).expect("the cluster is ours");
        Bench { cluster, directory: tempfile::tempdir().expect("a directory"), _runtime: runtime }
    }

    fn url(&self) -> String {
        format!("mysql://app:app@{}/sbtest", self.cluster.primary().address())
    }

    fn file(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// `ab` of the primary against itself, for two seconds.
    fn ab(&self, more: &[&str]) -> Output {
        let (a, b) = (format!("a={}", self.url()), format!("b={}", self.url()));
        let mut arguments = vec!["ab", "oltp_read_only", "--target", &a, "--target", &b];
        arguments.extend(["--table-size", "200", "--threads", "2", "--max-time", "2", "--slice", "0.06"]);
        arguments.extend(["--precision", "0", "--warmup", "0.1"]);
        arguments.extend(more);
        command(&arguments).output().expect("the program is built")
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telamon-bench"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn succeeds(output: &Output) -> String {
    let said = said(output);
    assert!(output.status.success(), "{}: {said}", output.status);
    said
}

/// Ends with this code and one line that holds these words.
fn fails(output: &Output, code: i32, words: &[&str]) {
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}");
    assert_eq!(line.trim_end().lines().count(), 1, "{line}");
    for word in words {
        assert!(line.contains(word), "{word} in {line}");
    }
}

#[test]
fn prepare_run_and_cleanup_are_sysbenchs_words() {
    let bench = Bench::new();
    let url = bench.url();
    let on = |command_name: &str, more: &[&str]| {
        let mut arguments =
            vec![command_name, "oltp_read_write", "--target", &url, "--tables=3", "--table_size=100"];
        arguments.extend(more);
        command(&arguments).output().unwrap()
    };
    succeeds(&on("prepare", &["--threads=3"]));
    let json = bench.file("run.json");
    let text = succeeds(&on("run", &["--time=1", "--threads=2", "--report-interval=0.5", "--json", &json]));
    for words in ["SQL statistics:", "Latency (ms):", "thds: 2 tps: "] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let document = Document::read(Path::new(&json)).unwrap();
    let total = document.runs[0].targets[0].total;
    assert_eq!((total.reads, total.writes), (14 * total.events, 4 * total.events));
    assert!(!document.command.join(" ").contains("app:app"), "{:?}", document.command);
    succeeds(&on("cleanup", &[]));
    fails(&on("run", &["--time=1"]), 1, &["sbtest", "telamon-bench prepare"]);
}

#[test]
fn a_comparison_is_told_stored_shown_again_and_guarded() {
    let bench = Bench::new();
    let (json, page) = (bench.file("ab.json"), bench.file("ab.html"));
    let text = succeeds(&bench.ab(&["--json", &json, "--html", &page]));
    assert!(text.contains("The targets are the same in all that was asked."), "{text}");
    assert!(text.contains("b / a: throughput "), "{text}");
    let again = succeeds(&command(&["report", &json, &json, "--html", &page]).output().unwrap());
    assert_eq!(again.matches("b / a: throughput ").count(), 2, "{again}");

    // However few rounds a busy machine came to: twelve bear a verdict.
    let mut document = Document::read(Path::new(&json)).unwrap();
    let rounds = document.runs[0].rounds.clone();
    document.runs[0].rounds = rounds.into_iter().cycle().take(12).collect();
    document.write(Path::new(&json)).unwrap();
    let same = command(&["compare", &json, &json, "--fail-below", "0.97"]).output().unwrap();
    assert!(succeeds(&same).contains("no difference seen"));
    // What a proxy that has become slower by a fifth would leave.
    for round in &mut document.runs[0].rounds {
        round[1].tps *= 0.8;
    }
    let slower = bench.file("slower.json");
    document.write(Path::new(&slower)).unwrap();
    let guarded = command(&["compare", &json, &slower, "--fail-below", "0.97"]).output().unwrap();
    assert_eq!(guarded.status.code(), Some(1), "{}", said(&guarded));
    assert!(said(&guarded).contains("below 0.97: b of oltp_read_only is 0.8"), "{}", said(&guarded));
}

#[test]
fn machines_read_progress_line_by_line() {
    let bench = Bench::new();
    let text = succeeds(&bench.ab(&["--json-lines"]));
    let mut rounds = 0;
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        rounds += u32::from(value["event"] == "round");
    }
    assert!(rounds > 1, "{text}");
}

#[test]
fn what_is_wrong_is_one_line_with_the_mend() {
    let bench = Bench::new();
    let url = bench.url();
    let run = |arguments: &[&str]| command(arguments).output().unwrap();
    let wrong = url.replace("app:app", "app:wrong");
    fails(&run(&["run", "oltp_point_select", "--target", &wrong]), 1, &["check user and password"]);
    let closed = "mysql://app:app@127.0.0.1:9/sbtest";
    fails(&run(&["run", "oltp_point_select", "--target", closed]), 1, &["127.0.0.1:9", "is the server up"]);
    let one = format!("a={url}");
    fails(&run(&["ab", "--target", &one]), 1, &["two targets"]);
    fails(&run(&["ab", "--target", &one, "--target", &one]), 1, &["named \"a\""]);
    fails(&run(&["report", "/no/such/file.json"]), 1, &["/no/such/file.json"]);
    let many =
        ["run", "many_clients", "--target", &url, "--tables", "7", "--clients", "3", "--db-ps-mode=disable"];
    fails(&run(&many), 1, &["telamon-bench prepare"]);
    assert_eq!(run(&["run", "oltp_point_selekt", "--target", &url]).status.code(), Some(2));
    let strict = format!("b=mysql://app:app@{}/sbtest", bench.cluster.replicas()[0].address());
    let differ = ["ab", "--strict", "--table-size", "200", "--target", &one, "--target", &strict];
    fails(&run(&differ), 1, &["server of writes"]);
}

#[test]
fn ctrl_c_ends_a_run_with_its_report() {
    let bench = Bench::new();
    let json = bench.file("interrupted.json");
    let url = bench.url();
    let mut child = command(&["run", "oltp_point_select", "--target", &url, "--table-size", "200"])
        .args(["--time", "600", "--report-interval", "0.2", "--json", &json])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("tps: "), "{first}");
    let pid = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(rest.iter().any(|line| line.contains("Ended early: interrupted")), "{rest:?}");
    let document = Document::read(Path::new(&json)).unwrap();
    assert!(document.runs[0].targets[0].total.events > 0);
}

/// The page in a browser: every chart is drawn, and nothing is complained of.
#[test]
fn the_page_draws_in_a_browser() {
    let Some(browser) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    }) else {
        return; // CI installs one
    };
    let bench = Bench::new();
    let page = bench.file("ab.html");
    succeeds(&bench.ab(&["--html", &page]));
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        .args(["--virtual-time-budget=5000", "--window-size=400,800"])
        .arg(format!("--user-data-dir={}", bench.file("browser")))
        .arg(format!("file://{page}"))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    assert_eq!(dom.matches("data-chart=").count(), 6);
    assert_eq!(dom.matches("<canvas").count(), 6, "each chart has its picture");
    let log = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}
