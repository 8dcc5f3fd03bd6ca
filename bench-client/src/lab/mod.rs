//! The lab: throw-away clusters of one primary and two replicas, for the demo, the bench and the tests.
//!
//! A cluster has its own temporary data directories, free loopback ports and accounts, never touches a system
//! instance, and ends with the process that started it, however that ends. It must not know what is measured on it.
//!
//! ```no_run
//! # async fn example() -> Result<(), telamon_bench::lab::LabError> {
//! use telamon_bench::lab::{Cluster, Flavor, Options};
//! let cluster = Cluster::start(Flavor::MariaDb, Options::default()).await?;
//! println!("{}", cluster.telamon_toml(1234));
//! cluster.replicas()[0].kill().await?;
//! # Ok(()) }
//! ```

mod certificate;
mod cluster;
mod daemon;
mod directory;
mod embedded;
mod error;
mod mariadb;
mod mysql;
mod port;
mod process;
mod program;
mod proxy;
mod server;
mod settings;
#[cfg(test)]
mod tests;

use std::fmt;

pub use certificate::Certificate;
pub use cluster::Cluster;
pub use directory::lab_base;
pub(crate) use embedded::VERSION as EMBEDDED_VERSION;
pub use error::LabError;
pub use program::Program;
pub use proxy::{Proxy, ProxyError};
pub use server::Server;
pub use settings::Options;

/// The account that applications use: all privileges, from every address.
pub const APP_USER: &str = "app";
/// The password of [`APP_USER`].
pub const APP_PASSWORD: &str = "app";
/// The administrator over TCP; over the Unix socket it has no password.
pub const ROOT_USER: &str = "root";
/// The password of [`ROOT_USER`] over TCP.
pub const ROOT_PASSWORD: &str = "root";
/// The account for Telamon's monitor: may look at replication, may change nothing.
pub const MONITOR_USER: &str = "monitor";
/// The password of [`MONITOR_USER`].
pub const MONITOR_PASSWORD: &str = "monitor";

/// What the cluster's servers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// Servers inside this process that know the bench's own statements only.
    Embedded,
    /// Three `mariadbd`.
    MariaDb,
    /// Three `mysqld` of MySQL, 8.0.26 or later.
    Mysql,
}

impl Flavor {
    /// The flavor to take where none was asked for: real servers where there are any.
    #[must_use]
    pub fn best() -> Flavor {
        let real = [Flavor::MariaDb, Flavor::Mysql].into_iter().find(|flavor| Program::find(*flavor).is_ok());
        real.unwrap_or(Flavor::Embedded)
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flavor::Embedded => "embedded",
            Flavor::MariaDb => "mariadb",
            Flavor::Mysql => "mysql",
        }
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A server's part in its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Takes the writes.
    Primary,
    /// Follows the primary, refuses writes.
    Replica,
}

impl Role {
    /// The role's name in Telamon's configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Primary => "primary",
            Role::Replica => "replica",
        }
    }
}
