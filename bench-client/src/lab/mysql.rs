//! What is MySQL's own: how a data directory is made, the accounts, the settings, and how a replica is pointed.

use std::process::Command;

use super::error::LabError;
use super::mariadb::run_installer;
use super::program::Program;
use super::settings::{self, ServerPlan};

/// Run once in a new data directory, as root over the socket.
pub(crate) const ACCOUNTS: &[&str] = &[
    "CREATE USER root@'%' IDENTIFIED BY 'root'",
    "GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION",
    "CREATE USER app@'%' IDENTIFIED BY 'app'",
    "GRANT ALL PRIVILEGES ON *.* TO app@'%'",
    "CREATE USER monitor@'%' IDENTIFIED BY 'monitor'",
    "GRANT PROCESS, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO monitor@'%'",
    "GRANT SELECT ON performance_schema.* TO monitor@'%'",
    "CREATE USER repl@'%' IDENTIFIED BY 'repl'",
    "GRANT REPLICATION SLAVE ON *.* TO repl@'%'",
];

/// Run like [`ACCOUNTS`], but a refusal is no error: plugins that a slim package may lack.
pub(crate) const OPTIONAL: &[&str] = &[
    "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
    "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'",
];

/// An account with the old authentication, where the version still has it (up to 8.4).
pub(crate) const NATIVE_ACCOUNTS: &[&str] = &[
    "CREATE USER app_native@'%' IDENTIFIED WITH mysql_native_password BY 'app'",
    "GRANT ALL PRIVILEGES ON *.* TO app_native@'%'",
];

/// Whether this version's server can still check mysql_native_password.
pub(crate) fn has_native_password(program: &Program) -> bool {
    program.version_numbers().0 <= 8
}

/// Makes the system tables in `plan`'s data directory.
pub(crate) fn install(program: &Program, plan: &ServerPlan) -> Result<(), LabError> {
    let mut command = Command::new(&program.path);
    command.arg("--no-defaults").args(setup_arguments(program, plan)).arg("--initialize-insecure");
    run_installer(command, &program.path)
}

/// 8.0.30 put a capacity in place of the redo log's file size and file count.
fn redo_size(program: &Program) -> String {
    let capacity = program.version_numbers() >= (8, 0, 30);
    if capacity { "--innodb-redo-log-capacity=96M" } else { "--innodb-log-file-size=48M" }.to_owned()
}

/// The arguments of a run that only sets up accounts: no network, no log that replicas would see.
pub(crate) fn setup_arguments(program: &Program, plan: &ServerPlan) -> Vec<String> {
    let mut arguments = settings::common(plan);
    arguments.push(redo_size(program));
    arguments.extend(["--skip-networking", "--skip-log-bin"].map(str::to_owned));
    if program.version_numbers().0 >= 8 {
        arguments.push("--mysqlx=OFF".into());
    }
    if has_native_password(program) && program.version_numbers() >= (8, 4, 0) {
        arguments.push("--mysql-native-password=ON".into());
    }
    arguments
}

/// The arguments of a serving server. Semi-sync is a plugin that a slim package may lack (see [`OPTIONAL`]): `loose`
/// lets the server start without it.
pub(crate) fn arguments(program: &Program, plan: &ServerPlan) -> Vec<String> {
    let mut arguments = settings::common(plan);
    arguments.extend(settings::serving(plan));
    // --binlog-format has one value left in new versions, and a warning.
    arguments.retain(|argument| !argument.starts_with("--binlog-format"));
    arguments.push(redo_size(program));
    arguments.extend(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"].map(str::to_owned));
    let version = program.version_numbers();
    if version.0 >= 8 {
        arguments.push("--mysqlx=OFF".into());
    }
    if has_native_password(program) && version >= (8, 4, 0) {
        arguments.push("--mysql-native-password=ON".into());
    }
    arguments.extend(
        match plan.role {
            super::Role::Primary => ["--loose-rpl-semi-sync-source-enabled=ON", "--super-read-only=OFF"],
            super::Role::Replica => ["--loose-rpl-semi-sync-replica-enabled=ON", "--super-read-only=ON"],
        }
        .map(str::to_owned),
    );
    arguments.extend(settings::own(plan));
    arguments
}

/// The statements that make a server a replica of the one on `port`.
pub(crate) fn follow(port: u16) -> Vec<String> {
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'repl', \
         SOURCE_PASSWORD = 'repl', SOURCE_CONNECT_RETRY = 1, SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1"
    );
    vec![change, "START REPLICA".to_owned()]
}

/// How many semi-sync replicas the primary knows.
pub(crate) const SEMI_SYNC_REPLICAS: &str = "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_clients'";

/// The primary's position, for [`caught_up`].
pub(crate) const POSITION: &str = "SELECT @@GLOBAL.gtid_executed";

/// Waits on a replica until it has `position`; answers 0 when it has, 1 after `seconds`.
pub(crate) fn caught_up(position: &str, seconds: u64) -> String {
    format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', {seconds})")
}
