//! What is MariaDB's own: how a data directory is made, the accounts, the settings, and how a replica is pointed.

use std::path::Path;
use std::process::Command;

use super::error::LabError;
use super::program::Program;
use super::settings::{self, ServerPlan};

/// Run once in a new data directory, as root over the socket.
pub(crate) const ACCOUNTS: &[&str] = &[
    "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost')",
    "FLUSH PRIVILEGES",
    "CREATE USER root@'%' IDENTIFIED BY 'root'",
    "GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION",
    "CREATE USER app@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('app')",
    "GRANT ALL PRIVILEGES ON *.* TO app@'%'",
    "CREATE USER monitor@'%' IDENTIFIED BY 'monitor'",
    "GRANT PROCESS, REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR ON *.* TO monitor@'%'",
    "CREATE USER repl@'%' IDENTIFIED BY 'repl'",
    "GRANT REPLICATION SLAVE ON *.* TO repl@'%'",
];

/// Makes the system tables in `plan`'s data directory.
pub(crate) fn install(plan: &ServerPlan) -> Result<(), LabError> {
    let installer = Program::sibling(&["mariadb-install-db", "mysql_install_db"]);
    let mut command = Command::new(&installer);
    command.arg("--no-defaults").args(settings::common(plan)).args([
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        REDO_SIZE,
    ]);
    run_installer(command, &installer)
}

/// Runs a program that makes a data directory and turns a failure into its words.
pub(crate) fn run_installer(mut command: Command, program: &Path) -> Result<(), LabError> {
    let name = program.display().to_string();
    let output = command.output().map_err(|source| LabError::HelperMissing {
        program: name.clone(),
        mend: "install the package that the server program came from whole",
        source,
    })?;
    if output.status.success() {
        return Ok(());
    }
    let mut text = output.stdout;
    text.extend(output.stderr);
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(30)..].join("\n");
    Err(LabError::Install { program: name, output: tail })
}

const REDO_SIZE: &str = "--innodb-log-file-size=48M";

/// The arguments of a run that only sets up accounts: no network, no log that replicas would see.
pub(crate) fn setup_arguments(plan: &ServerPlan) -> Vec<String> {
    let mut arguments = settings::common(plan);
    arguments.extend([REDO_SIZE, "--skip-networking", "--skip-log-bin"].map(str::to_owned));
    arguments
}

/// The arguments of a serving server.
///
/// Semi-sync is asked for on the primary only: a replica that is itself an asking primary would wait for
/// acknowledgements of its own. The performance schema stays small; its default would take 150 MB a server.
pub(crate) fn arguments(plan: &ServerPlan) -> Vec<String> {
    let mut arguments = settings::common(plan);
    arguments.extend(settings::serving(plan));
    let fixed = [
        REDO_SIZE,
        "--gtid-strict-mode=ON",
        "--log-slave-updates=ON",
        "--rpl-semi-sync-slave-enabled=ON",
        "--performance-schema=ON",
        "--performance-schema-digests-size=1000",
        "--performance-schema-max-thread-instances=500",
        "--performance-schema-max-table-instances=500",
        "--performance-schema-max-mutex-instances=0",
        "--performance-schema-max-rwlock-instances=0",
        "--performance-schema-max-cond-instances=0",
        "--performance-schema-events-statements-history-long-size=100",
        "--performance-schema-events-waits-history-long-size=100",
        "--performance-schema-events-stages-history-long-size=100",
        "--performance-schema-events-transactions-history-long-size=100",
    ];
    arguments.extend(fixed.map(str::to_owned));
    if plan.role == super::Role::Primary {
        arguments.push("--rpl-semi-sync-master-enabled=ON".into());
    }
    arguments.extend(settings::own(plan));
    arguments
}

/// The statements that make a server a replica of the one on `port`.
pub(crate) fn follow(port: u16) -> Vec<String> {
    let change = format!(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'repl', \
         MASTER_PASSWORD = 'repl', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos"
    );
    vec![change, "START SLAVE".to_owned()]
}

/// How many semi-sync replicas the primary knows.
pub(crate) const SEMI_SYNC_REPLICAS: &str = "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_clients'";

/// The primary's position, for [`caught_up`].
pub(crate) const POSITION: &str = "SELECT @@GLOBAL.gtid_binlog_pos";

/// Waits on a replica until it has `position`; answers 0 when it has, -1 after `seconds`.
pub(crate) fn caught_up(position: &str, seconds: u64) -> String {
    format!("SELECT MASTER_GTID_WAIT('{position}', {seconds})")
}
