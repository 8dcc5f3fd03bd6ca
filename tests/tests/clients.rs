//! Real programs, unchanged, with Telamon in the server's place.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use integration_tests::program::{installed, output, run, said};
use integration_tests::{Schema, Telamon, cluster, root, wait_for_replicas};
use telamon_bench::lab::Server;

fn telamon() -> &'static Telamon {
    static TELAMON: OnceLock<Telamon> = OnceLock::new();
    TELAMON.get_or_init(|| Telamon::start(""))
}

/// Says why a test proves nothing here, where a program is not installed.
fn missing(program: &str, package: &str) {
    eprintln!("skipped: {program} is not installed; apt-get install {package}");
}

/// A program of MariaDB's client family, told to connect to `port`.
fn client(names: &[&str], port: u16) -> Option<Command> {
    let Some(program) = installed(names) else {
        missing(names[0], "mariadb-client");
        return None;
    };
    let mut command = Command::new(program);
    command.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=app", "--password=app"]);
    command.arg(format!("--port={port}"));
    Some(command)
}

fn shell(port: u16) -> Option<Command> {
    client(&["mariadb", "mysql"], port)
}

const SAMPLE: &str = "
CREATE TABLE people (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100), born DATE, KEY (name));
INSERT INTO people (name, born) VALUES ('Ada', '1815-12-10'), ('Grace; Hopper', '1906-12-09'), ('Ünïcödé \\'quoted\\'', NULL);
CREATE TABLE bytes (id INT PRIMARY KEY, b LONGBLOB, j JSON, g GEOMETRY, f DOUBLE, d DECIMAL(30,10), ts TIMESTAMP(6) NULL);
INSERT INTO bytes SELECT seq, UNHEX(SHA2(seq, 512)), CONCAT('{\"n\": ', seq, '}'), POINT(seq, -seq), 1 / seq, seq / 7,
  '2024-02-29 12:34:56.789012' FROM seq_1_to_2000;
INSERT INTO bytes (id, b) VALUES (0, x'0001020a0d1a22275cff'), (-1, REPEAT('long', 500000));
CREATE VIEW adults AS SELECT name FROM people WHERE born < '1900-01-01';
CREATE TABLE log (line TEXT);
DELIMITER //
CREATE PROCEDURE count_all(OUT n INT) BEGIN SELECT COUNT(*) INTO n FROM people; SELECT n; END //
CREATE FUNCTION twice(x INT) RETURNS INT DETERMINISTIC RETURN x * 2 //
CREATE TRIGGER remember AFTER INSERT ON people FOR EACH ROW INSERT INTO log VALUES (NEW.name) //
DELIMITER ;
INSERT INTO people (name) VALUES ('triggered');
";

/// Fills a schema by the command-line client through Telamon.
fn fill(schema: &Schema<'_>, directory: &Path) -> Option<()> {
    let file = directory.join("sample.sql");
    fs::write(&file, SAMPLE).expect("the directory is ours");
    run_file(&schema.name, &file)?;
    wait_for_replicas(cluster());
    Some(())
}

/// `mariadb SCHEMA < FILE` through Telamon.
fn run_file(schema: &str, file: &Path) -> Option<()> {
    let mut command = shell(telamon().address.port())?;
    // `source` because `run` gives programs no input.
    command.args(["--default-character-set=utf8mb4", schema, "-e"]).arg(format!("source {}", file.display()));
    run(&mut command);
    Some(())
}

#[test]
fn the_command_line_client_says_what_it_says_to_a_server() {
    let schema = Schema::new();
    let directory = tempfile::tempdir().unwrap();
    if fill(&schema, directory.path()).is_none() {
        return;
    }
    // Of its own: where sessions starve, warnings that nobody has asked for yet give way.
    let telamon = Telamon::start("");
    for arguments in [
        &["-e", "SELECT * FROM people; SELECT * FROM adults; CALL count_all(@n); SELECT @n, twice(21)"][..],
        &["--batch", "-e", "SELECT id, HEX(LEFT(b, 20)), j, f, d, ts FROM bytes ORDER BY id"],
        &["--xml", "-e", "SELECT * FROM people"],
        &["--table", "--column-type-info", "-e", "SELECT * FROM people"],
        &["--vertical", "-e", "SHOW TABLES; DESCRIBE bytes; SHOW CREATE TABLE people"],
        &["--show-warnings", "-vvv", "-e", "SELECT CAST('x' AS INT); DO 1/0; UPDATE people SET born = born"],
        &["--force", "-e", "SELECT * FROM missing; SELECT 1"],
        &["--quick", "-e", "SELECT seq FROM seq_1_to_20000"],
        &["--skip-auto-rehash", "-e", "use mysql; SELECT DATABASE(); delimiter // \n SELECT 1; SELECT 2 //"],
        &["--auto-rehash", "-e", "SELECT 1"],
    ] {
        let said_by = |port| {
            let mut command = shell(port).expect("it is installed");
            let text = said(&output(
                command.arg("--default-character-set=utf8mb4").arg(&schema.name).args(arguments),
            ));
            // Times differ from run to run.
            text.lines().filter(|line| !line.contains(" sec)")).collect::<Vec<_>>().join("\n")
        };
        let direct = said_by(cluster().primary().address().port());
        assert!(!direct.is_empty());
        assert_eq!(said_by(telamon.address.port()), direct, "{arguments:?}");
    }
    let status = run(shell(telamon.address.port()).expect("it is installed").args(["-e", "status"]));
    assert!(status.contains("Server version:\t\t10.") || status.contains("MariaDB"), "{status}");
}

/// A dump of the schema without the lines that name the time.
fn dump(schema: &str, port: u16) -> Option<String> {
    let mut command = client(&["mariadb-dump", "mysqldump"], port)?;
    command.args([
        "--single-transaction",
        "--routines",
        "--triggers",
        "--events",
        "--hex-blob",
        "--skip-dump-date",
    ]);
    Some(run(command.args(["--default-character-set=utf8mb4", schema])))
}

#[test]
fn a_dump_is_the_same_and_can_be_loaded_again() {
    let (schema, copy) = (Schema::new(), Schema::new());
    let directory = tempfile::tempdir().unwrap();
    if fill(&schema, directory.path()).is_none() {
        return;
    }
    let port = telamon().address.port();
    let Some(dumped) = dump(&schema.name, port) else { return };
    let direct = dump(&schema.name, cluster().primary().address().port()).expect("it is installed");
    assert!(
        dumped.contains("CREATE TABLE `people`") && dumped.contains("twice") && dumped.contains("remember")
    );
    assert!(dumped == direct, "through Telamon {} bytes, direct {}", dumped.len(), direct.len());
    let file = directory.path().join("dump.sql");
    fs::write(&file, &dumped).unwrap();
    run_file(&copy.name, &file).expect("it is installed");
    wait_for_replicas(cluster());
    let again = dump(&copy.name, port).expect("it is installed").replace(&copy.name, &schema.name);
    assert!(again == dumped, "the copy's dump has {} bytes, the first {}", again.len(), dumped.len());
    let mut locked = client(&["mariadb-dump", "mysqldump"], port).expect("it is installed");
    let all = run(locked.args(["--lock-tables", "--databases", &schema.name, &copy.name]));
    assert!(all.contains("-- Dump completed"));
}

#[test]
fn slap_and_import_and_show_work() {
    let schema = Schema::new();
    let port = telamon().address.port();
    let Some(mut slap) = client(&["mariadb-slap", "mysqlslap"], port) else { return };
    slap.args([
        "--auto-generate-sql",
        "--auto-generate-sql-load-type=mixed",
        "--concurrency=1,8",
        "--iterations=2",
    ]);
    slap.args(["--number-of-queries=200", "--auto-generate-sql-add-autoincrement"]);
    let text = run(slap.arg(format!("--create-schema={}slap", schema.name)));
    assert_eq!(text.matches("Average number of seconds").count(), 2, "{text}");
    schema.run(&["CREATE TABLE t (id INT, v VARCHAR(20))"]);
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("t.txt"), "1\tone\n2\ttwo\n").unwrap();
    let mut import = client(&["mariadb-import", "mysqlimport"], port).expect("of the same package");
    let text = run(import.arg("--local").arg(&schema.name).arg(directory.path().join("t.txt")));
    assert!(text.contains("Records: 2"), "{text}");
    let text =
        run(client(&["mariadb-show", "mysqlshow"], port).expect("of the same package").arg(&schema.name));
    assert!(text.contains("| t "), "{text}");
    let text = run(client(&["mariadb-admin", "mysqladmin"], port).expect("of the same package").arg("ping"));
    assert!(text.contains("is alive"), "{text}");
    let text =
        run(client(&["mariadb-admin", "mysqladmin"], port).expect("of the same package").arg("status"));
    assert!(text.contains("Uptime"), "{text}");
    let text =
        run(client(&["mariadb-check", "mysqlcheck"], port).expect("of the same package").arg(&schema.name));
    assert!(text.contains("OK"), "{text}");
}

const PYMYSQL: &str = r#"
import pymysql, sys
port, schema = int(sys.argv[1]), sys.argv[2]
c = pymysql.connect(host='127.0.0.1', port=port, user='app', password='app', database=schema, charset='utf8mb4',
                    local_infile=True, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
k = c.cursor()
k.execute('CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(100), b LONGBLOB)')
assert k.execute('INSERT INTO t (v, b) VALUES (%s, %s)', ('Ünï', b'\x00\xff' * 1000)) == 1
assert k.lastrowid == 1
k.executemany('INSERT INTO t (v) VALUES (%s)', [('n%d' % n,) for n in range(1000)])
k.execute('SELECT v, b FROM t WHERE id = 1')
assert k.fetchall() == (('Ünï', b'\x00\xff' * 1000),), 'autocommit is off: the same transaction'
c.commit()
k.execute('SELECT COUNT(*) FROM t'); assert k.fetchone() == (1001,)
c.rollback()
c.autocommit(True)
k.execute('SELECT 1; SELECT 2'); assert k.fetchone() == (1,); assert k.nextset(); assert k.fetchone() == (2,)
assert not k.nextset()
k.execute('CREATE PROCEDURE p(n INT) BEGIN SELECT n; SELECT n + 1; END')
k.callproc('p', (5,)); assert k.fetchone() == (5,); k.nextset(); assert k.fetchone() == (6,); k.nextset()
try:
    k.execute('INSERT INTO t (id) VALUES (1)'); raise SystemExit('a duplicate key was taken')
except pymysql.err.IntegrityError as e:
    assert e.args[0] == 1062
try:
    k.execute('SELECT * FROM missing'); raise SystemExit('a missing table was read')
except pymysql.err.ProgrammingError as e:
    assert e.args[0] == 1146
s = c.cursor(pymysql.cursors.SSDictCursor)
s.execute('SELECT seq FROM seq_1_to_5000'); assert sum(r['seq'] for r in s) == 12502500; s.close()
k.execute("SET time_zone = '+03:00'"); k.execute('SELECT FROM_UNIXTIME(0) FROM whoami.t')
assert str(k.fetchone()[0]) == '1970-01-01 03:00:00'
c.select_db('mysql'); k.execute('SELECT DATABASE()'); assert k.fetchone() == ('mysql',); c.select_db(schema)
c.ping(reconnect=False); assert c.thread_id() > 0
assert c.get_server_info().startswith('5.5.5-10') or 'MariaDB' in c.get_server_info()
c.close()
for bad in ({'password': 'wrong'}, {'user': 'nobody'}, {'database': 'nowhere'}):
    a = dict(host='127.0.0.1', port=port, user='app', password='app'); a.update(bad)
    try:
        pymysql.connect(**a); raise SystemExit('got in: %r' % bad)
    except pymysql.err.OperationalError as e:
        assert e.args[0] in (1045, 1049), e
ssl = pymysql.connect(host='127.0.0.1', port=port, user='app', password='app', ssl={'check_hostname': False, 'verify_mode': None})
k = ssl.cursor(); k.execute('SELECT 7'); assert k.fetchone() == (7,); ssl.close()
print('done')
"#;

#[test]
fn pymysql_works_as_with_a_server() {
    let has_it = |program: &&str| {
        Command::new(program).args(["-c", "import pymysql"]).output().is_ok_and(|o| o.status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_it) else {
        return missing("PyMySQL", "python3-pymysql");
    };
    for port in [cluster().primary().address().port(), telamon().address.port()] {
        let schema = Schema::new();
        // What it reads after a commit must be there: replicas that lag are another test's matter.
        let text = run(Command::new(python).args(["-c", PYMYSQL, &port.to_string(), &schema.name]));
        assert_eq!(text.trim(), "done");
    }
}

/// One run of sysbench; its report.
fn sysbench(schema: &str, workload: &str, command: &str, options: &[String]) -> String {
    let mut sysbench = Command::new("sysbench");
    sysbench.args([
        "--mysql-host=127.0.0.1",
        "--mysql-user=app",
        "--mysql-password=app",
        "--report-interval=0",
    ]);
    sysbench.arg(format!("--mysql-port={}", telamon().address.port())).arg(format!("--mysql-db={schema}"));
    let report = run(sysbench.args(options).args([workload, command]));
    if command == "run" {
        // An error that is none of a busy database's (deadlock, lock wait) is fatal and ends it with another code.
        assert!(report.contains("reconnects:                          0"), "{report}");
        assert!(!report.contains("FATAL"), "{report}");
    }
    report
}

fn options(list: &[&str]) -> Vec<String> {
    list.iter().map(|option| (*option).to_owned()).collect()
}

const THREADS: [u32; 4] = [1, 8, 64, 256];

/// Runs a workload at all numbers of threads, with text and with prepared statements.
fn sysbench_runs(workloads: &[&str]) {
    if installed(&["sysbench"]).is_none() {
        return missing("sysbench", "sysbench");
    }
    let schema = Schema::new();
    let tables = options(&["--tables=2", "--table-size=2000"]);
    sysbench(&schema.name, "oltp_read_write", "prepare", &tables);
    wait_for_replicas(cluster());
    for workload in workloads {
        for mode in ["disable", "auto"] {
            for threads in THREADS {
                let events = threads + 40;
                let mut options = tables.clone();
                options.extend([
                    format!("--db-ps-mode={mode}"),
                    format!("--threads={threads}"),
                    "--time=0".into(),
                ]);
                options.push(format!("--events={events}"));
                let report = sysbench(&schema.name, workload, "run", &options);
                let wanted = format!("total number of events:              {events}");
                assert!(report.contains(&wanted), "{workload} {mode} {threads}: {report}");
            }
        }
    }
}

#[test]
fn sysbench_reads_at_every_number_of_threads() {
    sysbench_runs(&["oltp_point_select", "oltp_read_only", "select_random_points"]);
}

#[test]
fn sysbench_writes_at_every_number_of_threads() {
    sysbench_runs(&["oltp_read_write", "oltp_write_only", "oltp_insert"]);
}

#[test]
fn sysbench_inserts_in_bulk_at_every_number_of_threads() {
    if installed(&["sysbench"]).is_none() {
        return missing("sysbench", "sysbench");
    }
    let schema = Schema::new();
    for mode in ["disable", "auto"] {
        for threads in THREADS {
            let options = [
                format!("--db-ps-mode={mode}"),
                format!("--threads={threads}"),
                "--time=0".into(),
                format!("--events={}", threads * 20),
            ];
            // It begins with the same keys each time, and has a table for each thread.
            schema.clear();
            sysbench(&schema.name, "bulk_insert", "prepare", &options);
            sysbench(&schema.name, "bulk_insert", "run", &options);
            let tables = 1..=threads;
            let counts = tables.map(|n| format!("(SELECT COUNT(*) FROM {}.sbtest{n})", schema.name));
            let sum = format!("SELECT {}", counts.collect::<Vec<_>>().join(" + "));
            let rows: u32 = root(cluster().primary()).query(&sum).number();
            assert_eq!(rows, threads * 20, "{mode}, {threads} threads: an event is a row");
        }
    }
}

/// How many rows of a schema's tables a server has read for statements.
fn rows_read(server: &Server, schema: &str) -> u64 {
    let sql = format!(
        "SELECT CAST(SUM(COUNT_FETCH) AS UNSIGNED) FROM performance_schema.table_io_waits_summary_by_table \
         WHERE OBJECT_SCHEMA = '{schema}'"
    );
    root(server).query(&sql).number()
}

#[test]
fn without_transactions_the_replicas_serve_sysbenchs_reads() {
    if installed(&["sysbench"]).is_none() {
        return missing("sysbench", "sysbench");
    }
    let schema = Schema::new();
    sysbench(&schema.name, "oltp_read_only", "prepare", &options(&["--tables=2", "--table-size=1000"]));
    wait_for_replicas(cluster());
    for (workload, mode) in
        [("oltp_point_select", "disable"), ("oltp_read_only", "disable"), ("oltp_read_only", "auto")]
    {
        let before: Vec<u64> = cluster().servers().iter().map(|s| rows_read(s, &schema.name)).collect();
        let mut options =
            options(&["--tables=2", "--table-size=1000", "--skip-trx=on", "--threads=8", "--time=0"]);
        options.extend(["--events=400".to_owned(), format!("--db-ps-mode={mode}")]);
        sysbench(&schema.name, workload, "run", &options);
        let after = cluster().servers().iter().map(|s| rows_read(s, &schema.name));
        let read: Vec<u64> = after.zip(&before).map(|(after, before)| after - before).collect();
        assert_eq!(read[0], 0, "the primary read nothing for {workload}, {mode}: {read:?}");
        assert!(read[1] >= 100 && read[2] >= 100, "both replicas share {workload}, {mode}: {read:?}");
    }
}
