//! What can go wrong in the lab: each variant names the thing, the reason and, where there is one, the mend.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why a cluster could not be started or driven.
#[derive(Debug, Error)]
pub enum LabError {
    /// No server program of this flavor is installed.
    #[error("no {flavor} server found: looked for {looked_for}; {mend}")]
    ProgramMissing {
        /// The flavor asked for.
        flavor: &'static str,
        /// Variables, program names and directories that were tried.
        looked_for: String,
        /// What the reader can do.
        mend: &'static str,
    },
    /// A helper program (`setpriv`, `mariadb-install-db`) is missing or did not run.
    #[error("cannot run {program}: {source}; {mend}")]
    HelperMissing {
        /// The program that was called.
        program: String,
        /// What the reader can do.
        mend: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A program that sets up a data directory ended with an error.
    #[error("{program} failed to make a data directory:\n{output}")]
    Install {
        /// The program that was called.
        program: String,
        /// The end of what it printed.
        output: String,
    },
    /// A file or directory of the lab could not be made, read or removed.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was being done ("create", "lock", "copy to").
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// No port of the lab's range could be bound.
    #[error("no free TCP port on 127.0.0.1 in {range}: close some listeners, or stop other clusters")]
    NoFreePort {
        /// The range that was tried.
        range: String,
    },
    /// The server program ended by itself before it answered.
    #[error("{server} ended while starting ({status}); the end of its log:\n{log}")]
    ServerDied {
        /// The server's name in the cluster.
        server: String,
        /// How it ended.
        status: String,
        /// The end of its error log.
        log: String,
    },
    /// The server runs but does not answer.
    #[error("{server} did not {action} within {seconds} s; the end of its log:\n{log}")]
    Timeout {
        /// The server's name in the cluster.
        server: String,
        /// What was waited for.
        action: &'static str,
        /// How long, in seconds.
        seconds: u64,
        /// The end of its error log, empty where it has none.
        log: String,
    },
    /// A signal could not be sent.
    #[error("cannot send {signal} to {server} (pid {pid}): {source}")]
    Signal {
        /// The server's name in the cluster.
        server: String,
        /// The signal's name.
        signal: &'static str,
        /// The process addressed.
        pid: u32,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The server is not running, so it cannot be asked or signalled.
    #[error("{server} is not running: start it first")]
    NotRunning {
        /// The server's name in the cluster.
        server: String,
    },
    /// The server is running already.
    #[error("{server} is running already: kill or stop it first")]
    AlreadyRunning {
        /// The server's name in the cluster.
        server: String,
    },
    /// An embedded server could not listen.
    #[error(
        "{server} (embedded) cannot listen on {address}: {source}; start the cluster again for new ports"
    )]
    Embedded {
        /// The server's name in the cluster.
        server: String,
        /// The address it should listen on.
        address: SocketAddr,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A statement of the lab itself was refused.
    #[error("{server} refused {statement:?}: {source}")]
    Statement {
        /// The server's name in the cluster.
        server: String,
        /// The statement's text.
        statement: String,
        /// The server's or the client library's answer.
        source: mysql_async::Error,
    },
    /// The throw-away certificate could not be made.
    #[error("cannot make the servers' certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

impl LabError {
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LabError {
        let path = path.into();
        move |source| LabError::File { action, path, source }
    }
}
