//! One server of the cluster, as tests and the bench see it.

use std::net::SocketAddr;
use std::path::PathBuf;

use mysql_async::{Conn, Opts, OptsBuilder};

use super::daemon::Daemon;
use super::embedded::EmbeddedServer;
use super::error::LabError;
use super::{ROOT_PASSWORD, ROOT_USER, Role};

/// What answers behind a server's address.
#[derive(Debug)]
pub(crate) enum Backing {
    Daemon(Daemon),
    Embedded(EmbeddedServer),
}

/// One server: where it is reached, and what can be done to it.
#[derive(Debug)]
pub struct Server {
    pub(crate) backing: Backing,
}

impl Server {
    /// Its name in the cluster: `primary`, `replica1` or `replica2`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.plan.name,
            Backing::Embedded(server) => server.name,
        }
    }

    /// The role it was started in.
    #[must_use]
    pub fn role(&self) -> Role {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.plan.role,
            Backing::Embedded(server) => server.role(),
        }
    }

    /// Its `server_id`: 1 for the primary, 2 and 3 for the replicas.
    #[must_use]
    pub fn server_id(&self) -> u32 {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.plan.server_id,
            Backing::Embedded(server) => server.server_id(),
        }
    }

    /// Its TCP address on the loopback interface; kept over a restart.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.plan.address(),
            Backing::Embedded(server) => server.address(),
        }
    }

    /// Its Unix socket; None for an embedded server.
    #[must_use]
    pub fn socket(&self) -> Option<PathBuf> {
        match &self.backing {
            Backing::Daemon(daemon) => Some(daemon.plan.socket()),
            Backing::Embedded(_) => None,
        }
    }

    /// Its data directory; None for an embedded server.
    #[must_use]
    pub fn data_directory(&self) -> Option<PathBuf> {
        match &self.backing {
            Backing::Daemon(daemon) => Some(daemon.plan.data()),
            Backing::Embedded(_) => None,
        }
    }

    /// Its process; None while it is not running, and for an embedded server.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.child().map(|child| child.pid()),
            Backing::Embedded(_) => None,
        }
    }

    /// Whether it runs (a suspended server does).
    #[must_use]
    pub fn is_running(&self) -> bool {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.child().is_some(),
            Backing::Embedded(server) => server.is_running(),
        }
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
        let opts = match &self.backing {
            Backing::Daemon(daemon) => daemon.root_over_socket(),
            Backing::Embedded(_) => self.opts(ROOT_USER, ROOT_PASSWORD),
        };
        Conn::new(opts).await.map_err(|source| self.refused("connect as root", source))
    }

    /// A new connection as `app` over TCP.
    ///
    /// # Errors
    /// [`LabError::Statement`] where the server refuses or does not run.
    pub async fn connect_app(&self) -> Result<Conn, LabError> {
        let opts = self.opts(super::APP_USER, super::APP_PASSWORD);
        Conn::new(opts).await.map_err(|source| self.refused("connect as app", source))
    }

    /// A statement that this server refused, as the lab's error.
    pub(crate) fn refused(&self, statement: &str, source: mysql_async::Error) -> LabError {
        LabError::Statement { server: self.name().to_owned(), statement: statement.to_owned(), source }
    }

    /// Starts it again after [`Server::kill`] or [`Server::stop`], on the same port and data; a replica goes on
    /// replicating by itself. Returns when it answers.
    ///
    /// # Errors
    /// [`LabError::AlreadyRunning`], or why it did not start.
    pub async fn start(&self) -> Result<(), LabError> {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.start().await,
            Backing::Embedded(server) => server.start(),
        }
    }

    /// Ends it by SIGTERM (SIGKILL after 30 s) and waits for its end.
    ///
    /// # Errors
    /// [`LabError::NotRunning`], or a signal that could not be sent.
    pub async fn stop(&self) -> Result<(), LabError> {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.stop().await,
            Backing::Embedded(server) => server.stop(),
        }
    }

    /// Ends it by SIGKILL and waits for its end.
    ///
    /// # Errors
    /// [`LabError::NotRunning`], or a signal that could not be sent.
    pub async fn kill(&self) -> Result<(), LabError> {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.kill().await,
            Backing::Embedded(server) => server.stop(),
        }
    }

    /// SIGSTOP: its sockets stay open, it answers nothing. An embedded server answers no statement.
    ///
    /// # Errors
    /// [`LabError::NotRunning`].
    pub fn suspend(&self) -> Result<(), LabError> {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.suspend(),
            Backing::Embedded(server) => server.suspend(),
        }
    }

    /// SIGCONT: goes on after [`Server::suspend`].
    ///
    /// # Errors
    /// [`LabError::NotRunning`].
    pub fn resume(&self) -> Result<(), LabError> {
        match &self.backing {
            Backing::Daemon(daemon) => daemon.resume(),
            Backing::Embedded(server) => server.resume(),
        }
    }
}
