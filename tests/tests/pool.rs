//! Many sessions over few connections: who waits, who gets what, and what nobody sees of the others.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use integration_tests::raw::{Client, Login, Shape, Value};
use integration_tests::{Schema, Telamon, account, cluster, new_cluster, root, wait_for, within};
use telamon_bench::lab::Cluster;

const SOON: Duration = Duration::from_secs(10);

/// A Telamon with this `[pool]`.
fn pooled(pool: &str) -> Telamon {
    Telamon::start(&format!("[pool]\n{pool}\n"))
}

/// A cluster whose servers' global settings this file's tests may change, one at a time.
fn own_cluster() -> MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    CLUSTER.get_or_init(|| Mutex::new(new_cluster())).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most that any server of the cluster has of a status variable.
fn global_status(cluster: &Cluster, name: &str) -> u32 {
    let of = |server| {
        let rows = root(server).query(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).rows();
        rows[0][1].as_deref().and_then(|value| value.parse().ok()).expect("a number")
    };
    cluster.servers().iter().map(of).max().unwrap_or(0)
}

#[test]
fn a_client_idle_for_longer_than_the_servers_wait_timeout_sees_no_error() {
    let cluster = own_cluster();
    for server in cluster.servers() {
        root(server).query("SET GLOBAL wait_timeout = 1").expect_ok();
    }
    let telamon = Telamon::in_front_of(&cluster, "");
    let schema = Schema::on(&cluster);
    schema.run(&["CREATE TABLE t (id INT)"]);
    let mut client = telamon.connect(&schema.login());
    for _ in 0..2 {
        client.query("SET NAMES latin1").expect_ok();
        client.query("INSERT INTO t VALUES (1)").expect_ok();
        client.query("SELECT COUNT(*) FROM t").expect_ok();
        thread::sleep(Duration::from_millis(2500)); // the idleness itself
    }
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "2");
    assert_eq!(client.query("SELECT @@character_set_client").text(), "latin1");
    for server in cluster.servers() {
        root(server).query("SET GLOBAL wait_timeout = 28800").expect_ok();
    }
}

#[test]
fn more_clients_than_connections_are_all_served_and_the_limit_holds() {
    account(cluster(), "crowd");
    let telamon = Telamon::start(
        "[[users]]\nname = \"crowd\"\npassword = \"crowd\"\n[pool]\nmax_connections = 4\nwait_ms = 60000\n",
    );
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, client INT)"]);
    let login = Login { schema: Some(schema.name.clone()), ..Login::new("crowd", "crowd") };
    let work = |mut client: Client, number: usize| {
        for _ in 0..10 {
            client.query("BEGIN").expect_ok();
            client.query(&format!("INSERT INTO t (client) VALUES ({number})")).expect_ok();
            client.query("COMMIT").expect_ok();
            client.query("SELECT COUNT(*) FROM t").expect_ok();
        }
        let own = client.query(&format!("SELECT COUNT(*) FROM t WHERE client = {number}")).text();
        assert_eq!(own, "10", "its own writes");
    };
    let count = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'crowd'";
    let most = thread::scope(|scope| {
        let workers: Vec<_> = (0..40)
            .map(|number| {
                let client = telamon.connect(&login);
                scope.spawn(move || work(client, number))
            })
            .collect();
        let mut watches: Vec<_> = cluster().servers().iter().map(root).collect();
        let mut most = 0;
        while workers.iter().any(|worker| !worker.is_finished()) {
            let now = watches.iter_mut().map(|watch| watch.query(count).number::<u32>()).max();
            most = most.max(now.unwrap_or(0));
        }
        workers.into_iter().for_each(|worker| worker.join().expect("it was served"));
        most
    });
    assert!((1..=4).contains(&most), "{most} connections to one server");
}

#[test]
fn prepared_statements_on_the_servers_stay_bounded() {
    let cluster = own_cluster();
    let telamon = Telamon::in_front_of(&cluster, "[pool]\nmax_connections = 2\nprepared_statements = 5\n");
    let schema = Schema::on(&cluster);
    schema.run(&["CREATE TABLE t (id INT)"]);
    let mut sessions: Vec<_> = (0..20).map(|_| telamon.connect(&schema.login())).collect();
    for round in 0..20_i64 {
        for (at, client) in sessions.iter_mut().enumerate() {
            let sql = match round % 2 {
                0 => format!("SELECT COUNT(*), {}, ? FROM t", at % 7),
                _ => "INSERT INTO t VALUES (?)".to_owned(),
            };
            let id = client.prepare(&sql);
            client.execute(id, &[Value::Number(round)]).expect_ok();
            if at % 2 == 0 {
                client.close_statement(id);
            }
        }
    }
    let prepared = global_status(&cluster, "Prepared_stmt_count");
    // Two connections with five each; the close of a sixth goes out with whatever is written next.
    assert!((1..=12).contains(&prepared), "{prepared} statements on one server");
    let shared = sessions[1].prepare("SELECT COUNT(*), 1, ? FROM t");
    assert_eq!(sessions[1].execute(shared, &[Value::Number(0)]).packets[0].payload, [3]);
}

#[test]
fn nothing_of_one_session_is_seen_by_the_next_on_its_connection() {
    let telamon = pooled("max_connections = 1");
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)", "CREATE TABLE u (id INT)"]);
    let traces = [
        "SET SESSION sql_mode = 'ANSI_QUOTES', SESSION lock_wait_timeout = 7",
        "SET NAMES latin1",
        "SET @literal = 5",
        "SET @computed = (SELECT 6)",
        "SELECT @inside := 7",
        "CREATE TEMPORARY TABLE u (other INT)",
        "INSERT INTO t (v) VALUES (1), (2)",
        "PREPARE p FROM 'SELECT 1'",
        "SELECT GET_LOCK('pool.test', 0)",
        "USE whoami",
        "SELECT missing FROM t",
    ];
    let fresh = |client: &mut Client| {
        let asked = "SELECT @@sql_mode, @@lock_wait_timeout, @@character_set_client, @literal, @computed, @inside, \
                     DATABASE()";
        let rows = (client.query(asked).rows(), client.query("SELECT LAST_INSERT_ID()").rows());
        let warnings = client.query("SHOW WARNINGS").rows();
        (rows, warnings, client.query("SELECT * FROM u").error(), client.query("EXECUTE p").code())
    };
    let expected = fresh(&mut schema.direct());
    for kept in [false, true] {
        for trace in traces {
            let mut before = telamon.connect(&schema.login());
            let _ = before.query(trace);
            // A session that goes on may keep its connection, but not what it left on another's.
            let before = kept.then_some(before);
            let undone = ["TEMPORARY", "@inside", "@computed", "PREPARE", "GET_LOCK"];
            if kept && undone.iter().any(|word| trace.contains(word)) {
                continue;
            }
            let mut next = telamon.connect(&schema.login());
            assert_eq!(fresh(&mut next), expected, "after {trace}, kept: {kept}");
            drop(before);
        }
    }
}

#[test]
fn connection_id_is_one_number_and_kill_means_it() {
    let telamon = pooled("max_connections = 3");
    let mut client = telamon.connect(&Login::default());
    let id = client.greeting.connection_id;
    assert_eq!(client.query("SELECT CONNECTION_ID()").number::<u32>(), id);
    assert_eq!(
        client.query("SELECT 1, connection_id() + 0 AS x FROM whoami.t").rows()[0][1],
        Some(id.to_string())
    );
    let statement = client.prepare("SELECT CONNECTION_ID()");
    let row = client.execute(statement, &[]).packets[3].payload.clone();
    assert_eq!(row[2..6], id.to_le_bytes());
    let sleeper = thread::spawn(move || (client.query("SELECT SLEEP(30)").error(), client));
    let mut killer = telamon.connect(&Login::default());
    let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'SELECT SLEEP(30)'";
    let mut watches: Vec<_> = cluster().servers().iter().map(root).collect();
    wait_for("the statement runs", SOON, || {
        watches.iter_mut().any(|watch| watch.query(running).number::<u32>() == 1).then_some(())
    });
    killer.query(&format!("KILL QUERY {id}")).expect_ok();
    let (_, mut client) = within("the killed statement", SOON, || sleeper.join().expect("it does not panic"));
    assert_eq!(client.query("SELECT 2").text(), "2", "the session goes on");
}

#[test]
fn with_autocommit_off_a_session_keeps_no_connection_between_transactions() {
    let telamon = pooled("max_connections = 1\nwait_ms = 2000");
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT)"]);
    let mut clients: Vec<_> = (0..3).map(|_| telamon.connect(&schema.login())).collect();
    for client in &mut clients {
        client.query("SET autocommit = 0").expect_ok(); // as Python's drivers begin
    }
    for client in &mut clients {
        client.query("INSERT INTO t VALUES (1)").expect_ok();
        client.query("ROLLBACK").expect_ok();
        client.query("INSERT INTO t VALUES (2)").expect_ok();
        client.query("COMMIT").expect_ok();
    }
    assert_eq!(
        clients[0].query("SELECT COUNT(*), @@autocommit FROM t").rows()[0],
        [Some("3".into()), Some("0".into())]
    );
    clients[0].query("COMMIT").expect_ok();
    let mut fresh = telamon.connect(&schema.login());
    assert_eq!(fresh.query("SELECT @@autocommit").text(), "1");
}

#[test]
fn who_waits_in_vain_is_told_and_can_go_on() {
    let telamon = pooled("max_connections = 1\nwait_ms = 300");
    let mut holder = telamon.connect(&Login::default());
    let mut other = telamon.connect(&Login::default());
    holder.query("BEGIN").expect_ok();
    let error = within("the wait", SOON, || other.query("DO 1")).error().expect("there is no connection");
    assert_eq!((error.code, error.sql_state.as_str()), (1040, "08004"));
    assert!(error.message.contains("pool.max_connections") && error.message.contains("primary"), "{error}");
    holder.query("COMMIT").expect_ok();
    other.query("DO 1").expect_ok();
}

#[test]
fn warnings_wait_for_their_session_as_long_as_nobody_starves() {
    let telamon = pooled("max_connections = 1\nwait_ms = 1000");
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT)"]);
    let mut warned = telamon.connect(&schema.login());
    let mut other = telamon.connect(&schema.login());
    warned.query("INSERT IGNORE INTO t VALUES ('x')").expect_ok();
    assert_eq!(warned.query("SHOW COUNT(*) WARNINGS").text(), "1");
    other.query("INSERT INTO t VALUES (1)").expect_ok(); // after half of its time
    let lost = warned.query("SHOW WARNINGS").error().expect("they are gone");
    assert!(lost.code == 1105 && lost.message.contains("pool.max_connections"), "{lost}");
    warned.query("INSERT INTO t VALUES (2)").expect_ok();
    assert_eq!(warned.query("SHOW WARNINGS").rows().len(), 0);
}

#[test]
fn an_error_before_a_set_keeps_no_connection() {
    let telamon = pooled("max_connections = 1\nwait_ms = 3000");
    let mut client = telamon.connect(&Login::default());
    assert_eq!(client.query("SELECT missing FROM whoami.t").code(), 1054);
    assert_eq!(client.query("USE no_such_schema").code(), 1049);
    client.query("SET NAMES latin1").expect_ok();
    let mut other = telamon.connect(&Login::default());
    other.query("DO 1").expect_ok();
}

#[test]
fn in_session_mode_each_session_has_its_own_connection() {
    account(cluster(), "owner");
    let telamon = Telamon::start(
        "[[users]]\nname = \"owner\"\npassword = \"owner\"\n[pool]\nmode = \"session\"\nmax_connections = 10\n",
    );
    let mut clients: Vec<_> = (0..5).map(|_| telamon.connect(&Login::new("owner", "owner"))).collect();
    clients.iter_mut().for_each(|client| drop(client.query("DO 1")));
    let count = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'owner'";
    let mut primary = root(cluster().primary());
    assert_eq!(primary.query(count).text(), "5");
    clients.clear();
    wait_for("they end with their sessions", SOON, || (primary.query(count).text() == "0").then_some(()));
}

#[test]
fn a_statement_prepared_again_disturbs_nothing_that_the_session_has_on_its_connection() {
    let telamon = pooled("prepared_statements = 1");
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT)"]);
    let mut client = telamon.connect(&schema.login());
    let id = client.prepare("INSERT INTO t VALUES (2)");
    client.query("SET sql_mode = 'ANSI', lock_wait_timeout = 9").expect_ok();
    client.query("SET NAMES latin1").expect_ok();
    client.query("CREATE TEMPORARY TABLE kept (id INT)").expect_ok();
    client.query("BEGIN").expect_ok();
    client.query("INSERT INTO t VALUES (1)").expect_ok();
    client.prepare("SELECT 1, ?"); // takes the place of the first
    client.execute(id, &[]).expect_ok();
    client.query("ROLLBACK").expect_ok();
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "0", "both were in the transaction");
    client.query("SELECT * FROM kept").expect_ok();
    let settings =
        client.query("SELECT @@sql_mode LIKE '%ANSI%', @@lock_wait_timeout, @@character_set_client").rows();
    assert_eq!(settings[0], [Some("1".into()), Some("9".into()), Some("latin1".into())]);
}

#[test]
fn locks_do_not_outlive_their_session_and_reach_nobody_else() {
    let telamon = pooled("max_connections = 2\nwait_ms = 3000");
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT)"]);
    let mut locker = telamon.connect(&schema.login());
    locker.query("SELECT GET_LOCK('pool.one', 0), GET_LOCK('pool.two', 0)").expect_ok();
    locker.query("SELECT RELEASE_LOCK('pool.one')").expect_ok();
    let mut other = telamon.connect(&schema.login());
    assert_eq!(other.query("SELECT GET_LOCK('pool.two', 0)").text(), "0");
    drop(locker);
    wait_for("the lock ends with its session", SOON, || {
        (other.query("SELECT IS_FREE_LOCK('pool.two')").text() == "1").then_some(())
    });
}

#[test]
fn a_session_whose_schema_was_dropped_can_enter_another() {
    let telamon = pooled("max_connections = 2");
    let (gone, left) = (Schema::new(), Schema::new());
    let mut client = telamon.connect(&gone.login());
    let mut other = telamon.connect(&left.login());
    root(cluster().primary()).query(&format!("DROP DATABASE {}", gone.name)).expect_ok();
    other.query("BEGIN").expect_ok(); // it may have the other's connection now
    assert_eq!(client.query("SELECT 1").text(), "1");
    client.query(&format!("USE {}", left.name)).expect_ok();
    assert_eq!(client.query("SELECT DATABASE()").text(), left.name);
}

#[test]
fn a_statement_that_waits_for_a_connection_can_be_killed() {
    let telamon = pooled("max_connections = 1\nwait_ms = 20000");
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT)"]);
    let mut holder = telamon.connect(&schema.login());
    holder.query("BEGIN").expect_ok();
    holder.query("INSERT INTO t VALUES (1)").expect_ok();
    let mut waiting = telamon.connect(&Login::default());
    let id = waiting.greeting.connection_id;
    let statement = format!("INSERT INTO {}.t VALUES (2)", schema.name);
    let waiting = thread::spawn(move || (waiting.query(&statement).code(), waiting));
    // Before it waits there is nothing to kill.
    wait_for("the statement is killed", SOON, || {
        holder.query(&format!("KILL QUERY {id}")).expect_ok();
        waiting.is_finished().then_some(())
    });
    let (code, _stays) = waiting.join().expect("it does not panic");
    assert_eq!(code, 1317);
    holder.query("COMMIT").expect_ok();
    assert_eq!(holder.query("SELECT COUNT(*) FROM t").text(), "1");
}

#[test]
fn several_statements_in_one_text_are_allowed_as_on_one_server_whoever_had_the_connection_before() {
    let telamon = pooled("max_connections = 1\nwait_ms = 3000");
    let schema = Schema::new();
    let two = "DO 1; DO 2";
    let off = [0x1B, 1, 0];
    for keeps in [false, true] {
        let mut before = telamon.connect(&schema.login());
        before.command(&off, Shape::One).expect_ok();
        if keeps {
            before.query("CREATE TEMPORARY TABLE kept (id INT)").expect_ok();
        }
        assert_eq!(before.query(two).code(), 1064);
        drop(before);
        telamon.connect(&schema.login()).query(two).expect_ok();
    }
    let mut sides = [schema.direct(), telamon.connect(&schema.login())];
    for client in &mut sides {
        client.command(&off, Shape::One).expect_ok();
        client.command(&[0x1F], Shape::One).expect_ok();
        assert_eq!(client.query(two).code(), 1064, "COM_RESET_CONNECTION leaves it as it is");
        client.change_user(&schema.login()).expect("it is the same user");
    }
    let [direct, proxied] = sides.map(|mut client| client.query(two).error().map(|error| error.code));
    assert_eq!(direct, proxied, "after COM_CHANGE_USER");
}

#[test]
fn idle_connections_are_kept_ready_on_every_server_before_anybody_wants_them() {
    account(cluster(), "ready");
    let additions = "[[users]]\nname = \"ready\"\npassword = \"ready\"\n\
                     [pool]\nmin_idle = 3\nmax_connections = 4\nidle_ms = 1000\n";
    let telamon =
        Telamon::with(|port, _| format!("workers = 1\n{}{additions}", cluster().telamon_toml(port)));
    let count = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'ready'";
    let mut client = telamon.connect(&Login::new("ready", "ready"));
    client.query("DO 1").expect_ok();
    for server in cluster().servers() {
        let mut root = root(server);
        wait_for("three are open", SOON, || (root.query(count).text() == "3").then_some(()));
    }
    client.query("BEGIN").expect_ok(); // one of them serves; the fourth takes its place
    let mut root = root(cluster().primary());
    wait_for("there are three more", SOON, || (root.query(count).text() == "4").then_some(()));
    client.query("SELECT COUNT(*) FROM whoami.t").expect_ok();
    client.query("COMMIT").expect_ok();
}
