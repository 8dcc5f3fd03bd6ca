//! One server of the cluster, as tests and the bench see it.

use std::net::SocketAddr;
use std::path::PathBuf;

use mysql_async::{Conn, Opts, OptsBuilder};

use super::Role;
use super::daemon::Daemon;
use super::error::LabError;

/// One server: where it is reached, and what can be done to it.
#[derive(Debug)]
pub struct Server {
    pub(crate) daemon: Daemon,
}

impl Server {
    /// Its name in the cluster: `primary`, `replica1` or `replica2`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.daemon.plan.name
    }

    /// The role it was started in.
    #[must_use]
    pub fn role(&self) -> Role {
        self.daemon.plan.role
    }

    /// Its `server_id`: 1 for the primary, 2 and 3 for the replicas.
    #[must_use]
    pub fn server_id(&self) -> u32 {
        self.daemon.plan.server_id
    }

    /// Its TCP address on the loopback interface; kept over a restart.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.daemon.plan.address()
    }

    /// Its Unix socket; None for an embedded server.
    #[must_use]
    pub fn socket(&self) -> Option<PathBuf> {
        Some(self.daemon.plan.socket())
    }

    /// Its data directory; None for an embedded server.
    #[must_use]
    pub fn data_directory(&self) -> Option<PathBuf> {
        Some(self.daemon.plan.data())
    }

    /// Its process; None while it is not running, and for an embedded server.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.daemon.child().map(|child| child.pid())
    }

    /// Whether it runs (a suspended server does).
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.daemon.child().is_some()
    }

    /// How to connect over TCP as `user` with `password`, to no schema.
    #[must_use]
    pub fn opts(&self, user: &str, password: &str) -> Opts {
        let address = self.address();
        OptsBuilder::default()
            .ip_or_hostname(address.ip().to_string())
            .tcp_port(address.port())
            .prefer_socket(false)
            .user(Some(user))
            .pass(Some(password))
            .into()
    }

    /// A new connection as `root`: over the socket where there is one.
    ///
    /// # Errors
    /// [`LabError::Statement`] where the server refuses or does not run.
    pub async fn connect_root(&self) -> Result<Conn, LabError> {
        let opts = self.daemon.root_over_socket();
        Conn::new(opts).await.map_err(|source| self.daemon.refused("connect as root", source))
    }

    /// A new connection as `app` over TCP.
    ///
    /// # Errors
    /// [`LabError::Statement`] where the server refuses or does not run.
    pub async fn connect_app(&self) -> Result<Conn, LabError> {
        let opts = self.opts(super::APP_USER, super::APP_PASSWORD);
        Conn::new(opts).await.map_err(|source| self.daemon.refused("connect as app", source))
    }

    /// Starts it again after [`Server::kill`] or [`Server::stop`], on the same port and data; a replica goes on
    /// replicating by itself. Returns when it answers.
    ///
    /// # Errors
    /// [`LabError::AlreadyRunning`], or why it did not start.
    pub async fn start(&self) -> Result<(), LabError> {
        self.daemon.start().await
    }

    /// Ends it by SIGTERM (SIGKILL after 30 s) and waits for its end.
    ///
    /// # Errors
    /// [`LabError::NotRunning`], or a signal that could not be sent.
    pub async fn stop(&self) -> Result<(), LabError> {
        self.daemon.stop().await
    }

    /// Ends it by SIGKILL and waits for its end.
    ///
    /// # Errors
    /// [`LabError::NotRunning`], or a signal that could not be sent.
    pub async fn kill(&self) -> Result<(), LabError> {
        self.daemon.kill().await
    }

    /// SIGSTOP: its sockets stay open, it answers nothing.
    ///
    /// # Errors
    /// [`LabError::NotRunning`]; [`LabError::NotAProcess`] for an embedded server.
    pub fn suspend(&self) -> Result<(), LabError> {
        self.daemon.suspend()
    }

    /// SIGCONT: goes on after [`Server::suspend`].
    ///
    /// # Errors
    /// [`LabError::NotRunning`]; [`LabError::NotAProcess`] for an embedded server.
    pub fn resume(&self) -> Result<(), LabError> {
        self.daemon.resume()
    }
}
