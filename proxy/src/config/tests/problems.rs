//! What is wrong is named: key, line and mend.

use super::{LEAST, problems, problems_around, warnings};

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
    let lines = problems_around("", "\n[client]\nmax_connections = 5\n\n[pool]\nmax_conections = 7\n");
    assert_eq!(
        lines,
        ["telamon.toml:13: pool.max_conections: unknown key; did you mean pool.max_connections?"]
    );
}

#[test]
fn advice_on_an_unknown_key_looks_near_first_and_everywhere_then() {
    for (before, after, advice) in [
        ("worker = 1\n", "", ":1: worker: unknown key; did you mean workers?"),
        (
            "max_connections = 1\n",
            "",
            ":1: max_connections: unknown key; did you mean pool.max_connections or client.max_connections?",
        ),
        ("", "passwd = \"\"\n", ":8: users[0].passwd: unknown key; did you mean users[0].password?"),
        (
            "",
            "[tls.client]\ncerts = \"\"\n",
            ":9: tls.client.certs: unknown key; did you mean tls.client.cert?",
        ),
        ("", "[tls.clients]\nmode = \"off\"\n", ":8: tls.clients: unknown key; did you mean tls.client?"),
        ("", "[rooting]\n", ":8: rooting: unknown key; did you mean routing?"),
        ("", "[pool]\nWrite-Timeout-ms = 1\n", "did you mean client.write_timeout_ms?"),
        ("", "[log]\nzzzzzzzz = 1\n", ":9: log.zzzzzzzz: unknown key; known here: level, format"),
        ("", "[log]\n\"a b\\n\" = 1\n", ":9: log.\"a b\\n\": unknown key; known here: level, format"),
    ] {
        let lines = problems_around(before, after);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with(advice), "{} is not {advice}", lines[0]);
    }
}

#[test]
fn every_problem_comes_at_once_in_the_order_of_lines() {
    let lines = problems(
        "workers = \"four\"\nlisten = [\"localhost:1234\", 7]\n[[servers]]\nname = \"db 1\"\naddress = \"db1\"\n\
         role = \"master\"\n[[users]]\nname = \"app\"\n[log]\nlevel = \"information\"\nformat = \"jsn\"\n",
    );
    let expected = [
        "telamon.toml:1: workers: must be a whole number without quotes; found a text",
        "telamon.toml:2: listen[0]: \"localhost:1234\": needs an IP address: write \"127.0.0.1:1234\"",
        "telamon.toml:2: listen[1]: must be a text in quotes; found a whole number",
        "telamon.toml:4: servers[0].name: must be 1 to 64 letters, digits, '_', '.' or '-'",
        "telamon.toml:5: servers[0].address: \"db1\": has no port: write \"db1:3306\"",
        "telamon.toml:6: servers[0].role: \"master\" is not \"primary\" or \"replica\"",
        "telamon.toml:7: users[0].password: is missing; write \"\" for an account without one",
        "telamon.toml:10: log.level: \"information\" is not \"error\", \"warn\", \"info\", \"debug\" or \"trace\"",
        "telamon.toml:11: log.format: \"jsn\" is not \"text\" or \"json\"; did you mean \"json\"?",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_first_syntax_error_is_reported_with_its_line_and_not_what_follows_from_it() {
    let lines = problems("workers = \nlisten = [\"a\"\n[pool\nx = 1\n");
    assert!(lines.len() == 1 && lines[0].contains(": not TOML: "), "{lines:?}");
    let twice = problems_around("workers = 1\nworkers = 2\n", "");
    assert!(twice[0].starts_with("telamon.toml:2: not TOML: duplicate key"), "{twice:?}");
}

#[test]
fn an_empty_file_lacks_servers_and_users() {
    let lines = problems("");
    assert!(lines[0].starts_with("telamon.toml: servers: there is none; add [[servers]]"), "{lines:?}");
    assert!(lines[1].starts_with("telamon.toml: users: there is none"), "{lines:?}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn exactly_one_server_is_the_primary() {
    let second = "[[servers]]\nname = \"db2\"\naddress = \"h:2\"\nrole = \"primary\"\n";
    let lines = problems_around("", second);
    assert_eq!(
        lines,
        ["telamon.toml:11: servers[1].role: servers[0] is the primary already; exactly one is"]
    );
    let lines = problems(&LEAST.replace("primary", "replica"));
    assert_eq!(lines, ["telamon.toml:1: servers: none has role = \"primary\"; exactly one must"]);
    let lines = problems(&LEAST.replace("primary", "auto"));
    assert!(lines.len() == 1 && lines[0].contains("servers[0].role: \"auto\" needs discovery"), "{lines:?}");
}

#[test]
fn what_must_be_unique_is_reported_where_it_is_repeated() {
    let server = "[[servers]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\nrole = \"replica\"\n";
    let user = "[[users]]\nname = \"app\"\npassword = \"\"\n";
    let listen = "listen = [\"127.0.0.1:0\", \"127.0.0.1:0\", \"[::1]:7\", \"[::1]:7\"]\n";
    assert_eq!(
        problems_around(listen, &format!("{server}{user}")),
        [
            "telamon.toml:1: listen[3]: the same address as listen[2]",
            "telamon.toml:10: servers[1].name: the same name as servers[0].name; names are unique",
            "telamon.toml:11: servers[1].address: the same address as servers[0].address",
            "telamon.toml:14: users[1].name: the same name as users[0].name; names are unique",
        ]
    );
}

#[test]
fn a_server_that_is_telamon_itself_is_refused() {
    for (listen, address) in [
        ("127.0.0.1:1234", "127.0.0.1:1234"),
        ("127.0.0.1:1234", "localhost:1234"),
        ("127.0.0.1:1234", "LOCALHOST:1234"),
        ("0.0.0.0:1234", "127.0.0.1:1234"),
        ("[::]:1234", "[::1]:1234"),
        ("[::]:1234", "127.0.0.1:1234"),
        ("127.0.0.1:1234", "[::ffff:127.0.0.1]:1234"),
        ("unix:/run/t.sock", "unix:/run/t.sock"),
    ] {
        let text = format!("listen = [\"{listen}\"]\n{}", LEAST.replace("127.0.0.1:3306", address));
        let lines = problems(&text);
        assert!(
            lines.len() == 1 && lines[0].contains("where Telamon itself listens"),
            "{listen} {address} {lines:?}"
        );
    }
    let default = problems(&LEAST.replace(":3306", ":1234"));
    assert!(default[0].starts_with("telamon.toml:3: servers[0].address: "), "{default:?}");
    for (listen, address) in [
        ("127.0.0.1:1234", "127.0.0.1:1235"),
        ("0.0.0.0:1234", "10.0.0.1:1234"),
        ("127.0.0.1:1234", "db:1234"),
    ] {
        super::parse(&format!("listen = [\"{listen}\"]\n{}", LEAST.replace("127.0.0.1:3306", address)));
    }
}

#[test]
fn certificates_need_their_other_half_and_files_that_exist() {
    let lines = problems_around("", "[tls.client]\ncert = \"/\"\n");
    assert_eq!(
        lines,
        [
            "telamon.toml:9: tls.client.cert: needs tls.client.key, its private key",
            "telamon.toml:9: tls.client.cert: /: is a directory",
        ]
    );
    let lines = problems_around("", "[tls.server]\nca = \"/nonexistent/ca.pem\"\nmode = \"verify_ca\"\n");
    assert!(
        lines.len() == 1 && lines[0].starts_with("telamon.toml:9: tls.server.ca: /nonexistent"),
        "{lines:?}"
    );
    let lines = problems_around("", "[tls.server]\nmode = \"verify_identity\"\n");
    assert_eq!(lines, ["telamon.toml:9: tls.server.mode: \"verify_identity\" needs tls.server.ca"]);
    let lines = problems_around("", "[tls.client]\ndirectory = \"/dev/null\"\n");
    assert_eq!(lines, ["telamon.toml:9: tls.client.directory: /dev/null is not a directory"]);
}

#[test]
fn a_password_never_shows_in_a_problem() {
    let text = LEAST.replace("password = \"\"", "password = 31337\nname = \"twice\"\npass = \"hunter2\"");
    for line in problems(&text).iter().chain(&problems(&text.replace("\nname = \"twice\"", ""))) {
        assert!(!line.contains("31337") && !line.contains("hunter2"), "{line}");
    }
    let text = LEAST.replace("password = \"\"", "password = \"hunter2");
    assert!(problems(&text).iter().all(|line| !line.contains("hunter2")));
}

#[test]
fn a_password_without_its_monitor_user_is_refused() {
    let lines = problems_around("", "[monitor]\npassword = \"x\"\n");
    assert_eq!(lines, ["telamon.toml:9: monitor.password: has no monitor.user that it could belong to"]);
}

#[test]
fn a_missing_environment_variable_is_named() {
    let lines = problems(&LEAST.replace("password = \"\"", "password = \"env:APP_PASSWORD\""));
    assert_eq!(
        lines,
        ["telamon.toml:7: users[0].password: the environment variable \"APP_PASSWORD\" is not set"]
    );
}

#[test]
fn a_table_in_place_of_a_list_is_told_from_it() {
    let lines = problems(&LEAST.replace("[[servers]]", "[servers]"));
    assert_eq!(
        lines,
        ["telamon.toml:1: servers: must be an array of tables: write [[servers]]; found a table"]
    );
    let lines = problems_around("listen = \"127.0.0.1:1234\"\npool = 3\n", "");
    assert_eq!(
        lines,
        [
            "telamon.toml:1: listen: must be a list: write [\"…\", \"…\"]; found a text",
            "telamon.toml:2: pool: must be a table: write [pool]; found a whole number",
        ]
    );
    let lines = problems_around("listen = []\n", "");
    assert!(lines[0].starts_with("telamon.toml:1: listen: is empty"), "{lines:?}");
}

#[test]
fn what_is_legal_and_surely_not_meant_is_a_warning() {
    let replica = "[[servers]]\nname = \"db2\"\naddress = \"h:2\"\nrole = \"replica\"\nweight = 0\n";
    assert_eq!(
        warnings(&format!("{LEAST}{replica}[routing]\nfallback = \"error\"\n")),
        [
            ":1: servers: every replica has weight 0, so none takes a read",
            ":14: routing.fallback: no server takes reads, so every read gets an error",
        ]
    );
    let weighted = LEAST.replace("role =", "weight = 2\nrole =");
    assert!(warnings(&weighted).is_empty(), "a primary may have a share of the reads");
    let open = warnings(&format!("listen = [\"127.0.0.1:1\", \"0.0.0.0:2\"]\n{LEAST}"));
    assert!(
        open.len() == 1 && open[0].starts_with(":8: users[0].password: is empty, and 0.0.0.0:2"),
        "{open:?}"
    );
    let slow = warnings(&format!("{LEAST}[monitor]\ntimeout_ms = 3000\n"));
    assert!(slow.len() == 1 && slow[0].starts_with(":9: monitor.timeout_ms: "), "{slow:?}");
}

#[test]
fn a_listener_that_another_on_all_addresses_takes_in_is_warned_of() {
    for (listen, expected) in [
        (
            "\"0.0.0.0:7\", \"127.0.0.1:7\"",
            ":1: listen[1]: listen[0] (0.0.0.0:7) takes it in already, so the two cannot both be bound",
        ),
        (
            "\"[::1]:7\", \"[::]:7\"",
            ":1: listen[0]: listen[1] ([::]:7) takes it in already, so the two cannot both be bound",
        ),
    ] {
        let found = warnings(&format!(
            "listen = [{listen}]\n{}",
            LEAST.replace("password = \"\"", "password = \"x\"")
        ));
        assert_eq!(found, [expected]);
    }
    for fine in [
        "\"0.0.0.0:7\", \"127.0.0.1:8\"",
        "\"0.0.0.0:7\", \"[::]:7\"",
        "\"0.0.0.0:0\", \"127.0.0.1:0\"",
        "\"[::]:7\", \"127.0.0.1:7\"",
    ] {
        let found =
            warnings(&format!("listen = [{fine}]\n{}", LEAST.replace("password = \"\"", "password = \"x\"")));
        assert_eq!(found, [""; 0], "{fine}");
    }
}
