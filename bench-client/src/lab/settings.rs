//! The server settings that both families share, and how a server is described before it runs.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::Role;
use super::certificate::Certificate;

/// How a cluster is set up; `Default` is what tests and the demo use.
#[derive(Debug, Clone)]
pub struct Options {
    /// `innodb_buffer_pool_size` of each server, in MiB.
    pub buffer_pool_mib: u32,
    /// Further settings of every server, as on its command line without the dashes: `sync_binlog=1`.
    pub settings: Vec<String>,
    /// Further settings of the replicas only.
    pub replica_settings: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { buffer_pool_mib: 64, settings: Vec::new(), replica_settings: Vec::new() }
    }
}

/// All that one server process is started with.
#[derive(Debug, Clone)]
pub(crate) struct ServerPlan {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) server_id: u32,
    pub(crate) port: u16,
    /// Holds `data/`, `mysqld.sock`, `error.log`, `mysqld.pid`.
    pub(crate) directory: PathBuf,
    pub(crate) certificate: Certificate,
    pub(crate) options: Options,
}

impl ServerPlan {
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join("mysqld.sock")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("error.log")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }
}

/// Arguments for the data directory and for a quick start, common to an installation run and to a serving one.
/// Small: three servers share a test machine.
pub(crate) fn common(plan: &ServerPlan) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    if rustix::process::getuid().is_root() {
        arguments.push("--user=root".into());
    }
    let path = |key: &str, path: PathBuf| format!("--{key}={}", path.display());
    arguments.extend([
        path("datadir", plan.data()),
        path("tmpdir", plan.directory.clone()),
        path("socket", plan.socket()),
        path("pid-file", plan.directory.join("mysqld.pid")),
        format!("--innodb-buffer-pool-size={}M", plan.options.buffer_pool_mib),
    ]);
    let fixed = [
        "--innodb-use-native-aio=OFF",
        "--innodb-buffer-pool-dump-at-shutdown=OFF",
        "--innodb-buffer-pool-load-at-startup=OFF",
        "--character-set-server=utf8mb4",
        "--secure-file-priv=",
    ];
    arguments.extend(fixed.map(str::to_owned));
    arguments
}

/// Arguments of a server that serves: network, replication basis, limits, TLS.
///
/// `innodb_fast_shutdown=2` leaves the rest to recovery at the next start, which almost never comes. Redo and binary
/// log are not synced to disk: they are safe against the end of the process (what tests cause), not of the machine.
pub(crate) fn serving(plan: &ServerPlan) -> Vec<String> {
    let mut arguments = vec![
        format!("--port={}", plan.port),
        format!("--server-id={}", plan.server_id),
        format!("--report-port={}", plan.port),
        format!("--ssl-ca={}", plan.certificate.ca.display()),
        format!("--ssl-cert={}", plan.certificate.certificate.display()),
        format!("--ssl-key={}", plan.certificate.key.display()),
    ];
    let fixed = [
        "--innodb-fast-shutdown=2",
        "--innodb-flush-log-at-trx-commit=2",
        "--bind-address=127.0.0.1",
        "--report-host=127.0.0.1",
        "--skip-name-resolve",
        "--log-bin=binlog",
        "--sync-binlog=0",
        "--binlog-format=ROW",
        "--max-connections=2000",
        "--max-allowed-packet=1G",
        "--local-infile=ON",
    ];
    arguments.extend(fixed.map(str::to_owned));
    if plan.role == Role::Replica {
        arguments.push("--read-only=ON".into());
    }
    arguments
}

/// The user's own settings, last, so that they win.
pub(crate) fn own(plan: &ServerPlan) -> Vec<String> {
    let options = &plan.options;
    let replica = options.replica_settings.iter().filter(|_| plan.role == Role::Replica);
    options.settings.iter().chain(replica).map(|setting| format!("--{setting}")).collect()
}
