//! One primary and two replicas, started together.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::certificate::Certificate;
use super::daemon::Daemon;
use super::directory::{LabDirectory, lab_base};
use super::embedded::{self, EmbeddedServer, Store};
use super::error::LabError;
use super::port::free_ports;
use super::program::Program;
use super::server::{Backing, Server};
use super::settings::{Options, ServerPlan};
use super::{APP_PASSWORD, APP_USER, Flavor, Role};

const MEMBERS: [(&str, Role); 3] =
    [("primary", Role::Primary), ("replica1", Role::Replica), ("replica2", Role::Replica)];

/// A running cluster; its servers are killed and its files removed when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    flavor: Flavor,
    // Before the directory: the servers end before their files go.
    servers: Vec<Server>,
    certificate: Certificate,
    version: String,
    _directory: LabDirectory,
}

impl Cluster {
    /// Starts three servers and sets up replication; returns when the replicas are connected.
    ///
    /// # Errors
    /// No server program, or why one did not start: see [`LabError`].
    pub async fn start(flavor: Flavor, options: Options) -> Result<Cluster, LabError> {
        // Blocking: another process may hold the lock while it makes a template.
        let made = tokio::task::spawn_blocking(|| LabDirectory::create(&lab_base())).await;
        let directory = made.expect("making a directory does not panic")?;
        match flavor {
            Flavor::Embedded => Cluster::start_embedded(directory),
            Flavor::MariaDb | Flavor::Mysql => Cluster::start_daemons(flavor, options, directory).await,
        }
    }

    fn start_embedded(directory: LabDirectory) -> Result<Cluster, LabError> {
        let certificate = Certificate::create(directory.path())?;
        let store = Arc::new(Store::default());
        let mut servers = Vec::new();
        for ((server_id, (name, role)), port) in (1..).zip(MEMBERS).zip(free_ports(MEMBERS.len())?) {
            let server = EmbeddedServer::new(name, role, server_id, port, Arc::clone(&store));
            server.start()?;
            servers.push(Server { backing: Backing::Embedded(server) });
        }
        let version = embedded::VERSION.to_owned();
        Ok(Cluster { flavor: Flavor::Embedded, servers, certificate, version, _directory: directory })
    }

    async fn start_daemons(
        flavor: Flavor,
        options: Options,
        directory: LabDirectory,
    ) -> Result<Cluster, LabError> {
        let program = Program::find(flavor)?;
        let certificate = Certificate::create(directory.path())?;
        let ports = free_ports(MEMBERS.len())?;
        let daemons = (1..).zip(MEMBERS).zip(ports).map(|((server_id, (name, role)), port)| {
            let (directory, certificate) = (directory.path().join(name), certificate.clone());
            let options = options.clone();
            let plan = ServerPlan { name, role, server_id, port, directory, certificate, options };
            Daemon::new(flavor, program.clone(), plan)
        });
        let daemons: Vec<Daemon> = daemons.collect();
        let [primary, replica1, replica2] = &daemons[..] else { unreachable!("three members") };
        let template = primary.template(&lab_base()).await?;
        tokio::try_join!(begin(primary, &template), begin(replica1, &template), begin(replica2, &template))?;
        let port = primary.plan.port;
        tokio::try_join!(replica1.follow(port), replica2.follow(port))?;
        primary.wait_for_semi_sync(daemons.len() - 1).await?;
        let servers = daemons.into_iter().map(|daemon| Server { backing: Backing::Daemon(daemon) }).collect();
        Ok(Cluster { flavor, servers, certificate, version: program.version, _directory: directory })
    }

    /// The flavor it was started in.
    #[must_use]
    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// The server program's version, as it prints it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// All three servers, the primary first.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The server started as the primary.
    #[must_use]
    pub fn primary(&self) -> &Server {
        &self.servers[0]
    }

    /// The two servers started as replicas.
    #[must_use]
    pub fn replicas(&self) -> &[Server] {
        &self.servers[1..]
    }

    /// The server of this name, if there is one.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name() == name)
    }

    /// The servers' certificate and the authority to check it with.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Waits until every running replica has all that the primary has written so far, at most 60 s.
    ///
    /// # Errors
    /// [`LabError::Timeout`] naming the replica that is behind; [`LabError::Statement`] where one cannot be asked.
    pub async fn wait_for_replicas(&self) -> Result<(), LabError> {
        let Backing::Daemon(primary) = &self.primary().backing else {
            return Ok(()); // one store: never behind
        };
        let position = primary.position().await?;
        for replica in self.replicas().iter().filter(|replica| replica.is_running()) {
            match &replica.backing {
                Backing::Daemon(daemon) if !position.is_empty() => {
                    daemon.wait_for_position(&position).await?;
                }
                Backing::Daemon(_) | Backing::Embedded(_) => {}
            }
        }
        Ok(())
    }

    /// A complete configuration for `telamon run`, listening on 127.0.0.1 at `listen_port`.
    #[must_use]
    pub fn telamon_toml(&self, listen_port: u16) -> String {
        let mut text = format!("listen = [\"127.0.0.1:{listen_port}\"]\n");
        for server in &self.servers {
            // A String takes every write.
            let _ = write!(
                text,
                "\n[[servers]]\nname = \"{}\"\naddress = \"{}\"\nrole = \"{}\"\n",
                server.name(),
                server.address(),
                server.role().name(),
            );
            if server.role() == Role::Replica {
                text.push_str("weight = 1\n");
            }
        }
        let _ = write!(text, "\n[[users]]\nname = \"{APP_USER}\"\npassword = \"{APP_PASSWORD}\"\n");
        text
    }

    /// Ends the servers, waits until they are gone, and removes their files. Dropping the cluster does the same
    /// without waiting.
    ///
    /// # Errors
    /// A server that could not be signalled.
    pub async fn stop(self) -> Result<(), LabError> {
        for server in self.servers.iter().rev().filter(|server| server.is_running()) {
            // Nothing is kept, so nothing has to be written out first.
            server.kill().await?;
        }
        Ok(())
    }
}

/// Gives a server its data and starts it.
async fn begin(daemon: &Daemon, template: &Path) -> Result<(), LabError> {
    daemon.make_data(template).await?;
    daemon.start().await
}
