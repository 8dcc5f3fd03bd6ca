//! The connection phase: who gets in, how, and what the others are told.

use std::net::Ipv6Addr;
use std::path::Path;
use std::sync::OnceLock;

use integration_tests::raw::{Client, Endpoint, Flags, Login, Refused, ServerError, Shape, StatusFlags, Tls};
use integration_tests::{Schema, Telamon, account, cluster, root, who_answers};

/// One Telamon for the tests that need nothing of their own: TLS offered, listening on everything, an account
/// without a password.
fn telamon() -> &'static Telamon {
    static TELAMON: OnceLock<Telamon> = OnceLock::new();
    TELAMON.get_or_init(|| {
        let mut root = root(cluster().primary());
        root.query("CREATE USER open@'%' IDENTIFIED BY ''").expect_ok();
        root.query("GRANT ALL PRIVILEGES ON *.* TO open@'%'").expect_ok();
        root.query("CREATE DATABASE home").expect_ok();
        root.query("CREATE USER narrow@'%' IDENTIFIED BY 'narrow'").expect_ok();
        root.query("GRANT ALL PRIVILEGES ON home.* TO narrow@'%'").expect_ok();
        root.query("GRANT SELECT ON whoami.* TO narrow@'%'").expect_ok();
        integration_tests::wait_for_replicas(cluster());
        Telamon::with(|port, directory| {
            let socket = directory.join("telamon.sock");
            let listen = format!("\"127.0.0.1:{port}\", \"[::1]:{port}\", \"unix:{}\"", socket.display());
            cluster().telamon_toml(port).replace(&format!("\"127.0.0.1:{port}\""), &listen)
                + "schema = \"home\"\n[[users]]\nname = \"open\"\npassword = \"\"\n\
                   [[users]]\nname = \"narrow\"\npassword = \"narrow\"\n\
                   [[users]]\nname = \"elsewhere\"\npassword = \"x\"\nclients = [\"192.0.2.0/24\"]\n"
        })
    })
}

fn sha2() -> Login {
    Login { plugin: "caching_sha2_password", ..Login::default() }
}

fn serves(client: &mut Client) {
    assert_eq!(client.query("SELECT 1 + 1").text(), "2");
    assert_eq!(client.query("DO 1").error(), None);
}

fn refused(result: Result<Client, Refused>) -> ServerError {
    match result {
        Ok(_) => panic!("the login succeeded"),
        Err(refused) => refused.error(),
    }
}

#[test]
fn the_greeting_is_the_primarys() {
    let direct = Client::connect(&cluster().primary().address().into(), &Login::default()).unwrap().greeting;
    let proxied = telamon().connect(&Login::default()).greeting;
    assert_eq!(proxied.server_version, direct.server_version);
    assert_eq!(proxied.collation, direct.collation);
    assert_eq!(proxied.status, direct.status);
    assert_eq!(proxied.plugin, direct.plugin);
    let missing = direct.capabilities - proxied.capabilities;
    // Not relayed; and a flag that means something inside client libraries only.
    let may_miss = Flags::CLIENT_COMPRESS | Flags::CLIENT_REMEMBER_OPTIONS;
    assert_eq!(missing - may_miss, Flags::empty(), "not offered: {missing:?}");
}

#[test]
fn the_first_client_of_all_is_greeted_as_the_primary_greets() {
    let direct = Client::connect(&cluster().primary().address().into(), &Login::default()).unwrap().greeting;
    for _ in 0..3 {
        let greeting = Telamon::start("").connect(&Login::default()).greeting;
        assert_eq!(greeting.server_version, direct.server_version);
        assert_eq!(greeting.plugin, direct.plugin);
    }
}

#[test]
fn native_password_logs_in() {
    let mut client = telamon().connect(&Login::default());
    assert_eq!(client.auth_steps.len(), 1, "OK at once: {:?}", client.auth_steps);
    serves(&mut client);
}

#[test]
fn caching_sha2_logs_in_by_the_fast_path() {
    let mut client = telamon().connect(&sha2());
    assert_eq!(client.auth_steps[0], [1, 3]);
    assert_eq!(client.auth_steps.len(), 2);
    serves(&mut client);
}

#[test]
fn caching_sha2_logs_in_by_the_full_exchange_over_rsa() {
    let login = Login { full_authentication: true, ..sha2() };
    let mut client = telamon().connect(&login);
    assert_eq!(client.auth_steps[0], [1, 4]);
    assert!(client.auth_steps[1].starts_with(b"\x01-----BEGIN PUBLIC KEY-----\n"), "{:?}", client.auth_steps);
    serves(&mut client);
    let wrong = Login { password: "wrong".into(), ..login };
    assert_eq!(refused(telamon().try_connect(&wrong)).code, 1045);
}

#[test]
fn caching_sha2_logs_in_by_the_full_exchange_over_tls() {
    let login = Login { full_authentication: true, tls: Tls::On, ..sha2() };
    let mut client = telamon().connect(&login);
    assert_eq!(client.auth_steps[0], [1, 4]);
    assert_eq!(client.auth_steps.len(), 2, "no key is asked for");
    serves(&mut client);
    let wrong = Login { password: "wrong".into(), ..login };
    assert_eq!(refused(telamon().try_connect(&wrong)).code, 1045);
}

#[test]
fn a_client_of_another_plugin_is_asked_to_switch() {
    for plugin in ["client_ed25519", "auth_gssapi_client", "nonsense", ""] {
        let mut client = telamon().connect(&Login { plugin, ..Login::default() });
        let direct =
            Client::connect(&cluster().primary().address().into(), &Login { plugin, ..Login::default() });
        let expected = &direct.unwrap().auth_steps[0];
        let switch = &client.auth_steps[0];
        assert_eq!((switch.len(), &switch[..23]), (expected.len(), &expected[..23]), "{plugin}");
        assert!(switch.starts_with(b"\xfemysql_native_password\0"), "{plugin}: {switch:?}");
        assert_eq!(switch.len(), 1 + 22 + 20 + 1);
        serves(&mut client);
    }
}

#[test]
fn a_client_older_than_plugins_logs_in() {
    let old = Flags::CLIENT_PLUGIN_AUTH
        | Flags::CLIENT_CONNECT_ATTRS
        | Flags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | Flags::CLIENT_MULTI_RESULTS;
    serves(&mut telamon().connect(&Login::default().without(old)));
}

#[test]
fn native_password_logs_in_over_tls() {
    serves(&mut telamon().connect(&Login { tls: Tls::On, ..Login::default() }));
}

#[test]
fn tls_required_refuses_a_client_without_it_by_3159() {
    let telamon = Telamon::start("[tls.client]\nmode = \"required\"\n");
    let error = refused(telamon.try_connect(&Login::default()));
    let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    assert_eq!((error.code, error.sql_state.as_str(), error.message.as_str()), (3159, "HY000", text));
    serves(&mut telamon.connect(&Login { tls: Tls::On, ..Login::default() }));
}

#[test]
fn tls_off_is_not_offered_and_its_request_is_refused() {
    let telamon = Telamon::start("[tls.client]\nmode = \"off\"\n");
    let mut client = telamon.connect(&Login::default());
    assert!(!client.greeting.capabilities.contains(Flags::CLIENT_SSL));
    serves(&mut client);
    assert!(telamon.try_connect(&Login { tls: Tls::On, ..Login::default() }).is_err());
    serves(&mut client);
}

#[test]
fn a_certificate_of_ones_own_is_shown_to_clients() {
    let certificate = cluster().certificate();
    let files = format!("cert = {:?}\nkey = {:?}\n", certificate.certificate, certificate.key);
    let telamon = Telamon::start(&format!("[tls.client]\nmode = \"required\"\n{files}"));
    let Some(program) = integration_tests::program::installed(&["mariadb", "mysql"]) else {
        eprintln!("skipped: no command-line client is installed; apt-get install mariadb-client");
        return;
    };
    let run = |ca: &Path| {
        let mut command = std::process::Command::new(&program);
        command.args([
            "--no-defaults",
            "--protocol=tcp",
            "-h127.0.0.1",
            "-uapp",
            "-papp",
            "--skip-column-names",
        ]);
        command.arg(format!("-P{}", telamon.address.port())).arg("--ssl-verify-server-cert");
        command.arg(format!("--ssl-ca={}", ca.display())).args(["-e", "SELECT 42"]);
        integration_tests::program::output(&mut command)
    };
    let output = run(&certificate.ca);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "42",
        "{}",
        integration_tests::program::said(&output)
    );
    assert!(!run(&certificate.certificate).status.success(), "another authority does not vouch for it");
}

#[test]
fn servers_are_reached_over_tls_where_that_is_demanded() {
    let ca = &cluster().certificate().ca;
    for mode in ["required", "verify_ca", "verify_identity"] {
        let telamon = Telamon::start(&format!("[tls.server]\nmode = \"{mode}\"\nca = {ca:?}\n"));
        let mut client = telamon.connect(&Login::default());
        for statement in
            ["SHOW SESSION STATUS LIKE 'Ssl_cipher'", "/*replica*/ SHOW SESSION STATUS LIKE 'Ssl_cipher'"]
        {
            let row = client.query(statement).rows().remove(0);
            assert!(row[1].as_deref().is_some_and(|cipher| cipher.starts_with("TLS_")), "{mode}: {row:?}");
        }
        assert!(who_answers(&mut client) > 1, "{mode}: a replica answers over TLS too");
    }
    let telamon = Telamon::start("[tls.server]\nmode = \"off\"\n");
    let row =
        telamon.connect(&Login::default()).query("SHOW SESSION STATUS LIKE 'Ssl_cipher'").rows().remove(0);
    assert_eq!(row[1].as_deref(), Some(""));
}

#[test]
fn a_server_whose_certificate_nobody_vouches_for_is_not_used() {
    let other = tempfile::tempdir().unwrap();
    // Some certificate, but not the one that signed the servers'.
    let ca = other.path().join("ca.pem");
    std::fs::copy(&cluster().certificate().certificate, &ca).unwrap();
    let telamon = Telamon::start(&format!(
        "[routing]\nprimary_wait_ms = 100\n[tls.server]\nmode = \"verify_ca\"\nca = {ca:?}\n"
    ));
    let error = telamon.connect(&Login::default()).query("DO 1").error().expect("no server can be trusted");
    assert!(error.message.to_lowercase().contains("certificate"), "{error}");
}

#[test]
fn the_wrong_user_or_password_gets_the_servers_1045() {
    let endpoint: Endpoint = cluster().primary().address().into();
    for (user, password) in [("app", "wrong"), ("app", ""), ("nobody", "x"), ("nobody", ""), ("open", "x")] {
        for plugin in ["mysql_native_password", "client_ed25519"] {
            let login = Login { plugin, ..Login::new(user, password) };
            let direct = refused(Client::connect(&endpoint, &login));
            let proxied = refused(telamon().try_connect(&login));
            assert_eq!(direct.code, 1045);
            assert_eq!(proxied, direct, "{user}, {password:?}, {plugin}");
        }
        for tls in [Tls::Off, Tls::On] {
            let login = Login { plugin: "caching_sha2_password", tls, ..Login::new(user, password) };
            assert_eq!(refused(telamon().try_connect(&login)).code, 1045, "{user}, {password:?}");
        }
    }
}

#[test]
fn an_unknown_schema_gets_the_servers_1049_and_a_forbidden_one_its_1044() {
    let endpoint: Endpoint = cluster().primary().address().into();
    let nowhere = Login::default().in_schema("nowhere");
    let forbidden = Login::new("narrow", "narrow").in_schema("mysql");
    for (login, code) in [(nowhere, 1049), (forbidden, 1044)] {
        let proxied = refused(telamon().try_connect(&login));
        let direct = refused(Client::connect(&endpoint, &login));
        assert_eq!(direct.code, code);
        assert_eq!(proxied, direct);
    }
    let mut narrow = telamon().connect(&Login::new("narrow", "narrow").in_schema("home"));
    assert_eq!(narrow.query("SELECT DATABASE()").text(), "home");
}

#[test]
fn an_account_is_used_only_from_its_addresses() {
    // Telamon's list is as an account of the server that is bound to a host.
    let error = refused(telamon().try_connect(&Login::new("elsewhere", "x")));
    let text = "Access denied for user 'elsewhere'@'127.0.0.1' (using password: YES)";
    assert_eq!((error.code, error.sql_state.as_str(), error.message.as_str()), (1045, "28000", text));
}

#[test]
fn an_address_that_no_account_has_gets_the_servers_1130() {
    let telamon = Telamon::start("clients = [\"192.0.2.0/24\"]\n");
    // The name of the product is the primary's, once that has been seen.
    integration_tests::wait_for("the primary is seen", std::time::Duration::from_secs(5), || {
        telamon.log_lines("server answers").into_iter().find(|line| line.contains("primary"))
    });
    let error = refused(telamon.try_connect(&Login::default()));
    let text = "Host '127.0.0.1' is not allowed to connect to this MariaDB server";
    assert_eq!((error.code, error.message.as_str()), (1130, text));
    // Before the client has said what it understands there is no SQLSTATE in the packet.
    assert_eq!(error.sql_state, "");
}

#[test]
fn attributes_of_up_to_64_kib_are_taken() {
    let named = |size| vec![("program_name".to_owned(), "x".repeat(size))];
    for size in [0, 100, 250, 251, 4096, 60_000, 65_000] {
        serves(&mut telamon().connect(&Login { attributes: named(size), ..Login::default() }));
    }
    let error = telamon().try_connect(&Login { attributes: named(200_000), ..Login::default() });
    assert!(error.is_err(), "it is bounded");
}

#[test]
fn attributes_reach_the_server_where_a_session_has_its_connection_for_itself() {
    let telamon = Telamon::start("[pool]\nmode = \"session\"\n");
    let attributes = vec![("program_name".to_owned(), "attributed".to_owned())];
    let mut client = telamon.connect(&Login { attributes, ..Login::default() });
    serves(&mut client);
    // MariaDB keeps them only where performance_schema is on, which is not its default.
    if client.query("SELECT @@performance_schema").text() == "1" {
        let seen = "SELECT attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = \
                    CONNECTION_ID() AND attr_name IN ('program_name', '_proxy_name') ORDER BY attr_name";
        let values: Vec<_> = client.query(seen).rows().into_iter().flatten().flatten().collect();
        assert_eq!(values, ["telamon", "attributed"]);
    }
}

#[test]
fn ipv6_and_the_unix_socket_are_listened_on() {
    let six = Endpoint::Tcp((Ipv6Addr::LOCALHOST, telamon().address.port()).into());
    let unix = Endpoint::Unix(telamon().directory.path().join("telamon.sock"));
    for endpoint in [six.clone(), unix.clone()] {
        serves(&mut Client::connect(&endpoint, &Login::default()).unwrap());
        serves(&mut Client::connect(&endpoint, &Login { tls: Tls::On, ..Login::default() }).unwrap());
    }
    // Over the socket nobody listens in: caching_sha2_password sends the password as it is.
    let login = Login { full_authentication: true, ..sha2() };
    for (endpoint, host) in [(six, "::1"), (unix, "localhost")] {
        let error = refused(Client::connect(&endpoint, &Login::new("app", "wrong")));
        assert_eq!(error.message, format!("Access denied for user 'app'@'{host}' (using password: YES)"));
        serves(&mut Client::connect(&endpoint, &login).unwrap());
    }
}

#[test]
fn an_account_without_a_password_logs_in() {
    for plugin in ["mysql_native_password", "caching_sha2_password", "client_ed25519"] {
        let mut client = telamon().connect(&Login { plugin, ..Login::new("open", "") });
        serves(&mut client);
        assert_eq!(client.query("SELECT CURRENT_USER()").text(), "open@%");
    }
}

#[test]
fn a_session_starts_in_the_schema_that_it_or_the_configuration_names() {
    let schema = Schema::new();
    assert_eq!(telamon().connect(&schema.login()).query("SELECT DATABASE()").text(), schema.name);
    assert_eq!(telamon().connect(&Login::default()).query("SELECT DATABASE()").text(), "home");
    let none = telamon().connect(&Login::new("open", "")).query("SELECT DATABASE()").rows();
    assert_eq!(none, [[None]]);
}

#[test]
fn the_first_ok_has_the_servers_status() {
    let schema = Schema::new();
    let direct = schema.direct();
    let proxied = telamon().connect(&schema.login());
    assert_eq!(proxied.login_ok(), direct.login_ok());
    let mut root = root(cluster().primary());
    assert!(root.ping().status().contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT));
}

#[test]
fn goodbye_closes_the_connection_without_a_word() {
    assert!(telamon().connect(&Login::default()).quit());
    let mut busy = telamon().connect(&Login::default());
    serves(&mut busy);
    assert!(busy.quit());
}

#[test]
fn an_account_that_only_telamon_knows_gets_the_servers_refusal_and_the_session_stays() {
    let telamon = Telamon::start("[[users]]\nname = \"ghost\"\npassword = \"ghost\"\n");
    let mut client = telamon.connect(&Login::new("ghost", "ghost"));
    assert_eq!(client.query("DO 1").code(), 1045);
    account(cluster(), "ghost");
    client.query("DO 1").expect_ok();
    assert_eq!(client.command(&[0x0E], Shape::One).error(), None);
}

#[test]
fn the_limit_of_clients_is_told_as_1040() {
    let telamon = Telamon::start("[client]\nmax_connections = 2\n");
    // Whoever looked whether it listens may have a place for a moment longer.
    let connect = || {
        integration_tests::wait_for("there is a place", std::time::Duration::from_secs(5), || {
            telamon.try_connect(&Login::default()).ok()
        })
    };
    let (first, _second) = (connect(), connect());
    let error = refused(telamon.try_connect(&Login::default()));
    assert_eq!((error.code, error.message.as_str()), (1040, "Too many connections"));
    assert!(first.quit());
    integration_tests::wait_for("a place is free again", std::time::Duration::from_secs(5), || {
        telamon.try_connect(&Login::default()).ok()
    });
}
