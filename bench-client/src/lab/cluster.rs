//! One primary and two replicas, started together.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;

use super::certificate::Certificate;
use super::daemon::Daemon;
use super::directory::{LabDirectory, lab_base};
use super::error::LabError;
use super::port::free_ports;
use super::program::Program;
use super::server::Server;
use super::settings::{Options, ServerPlan};
use super::{APP_PASSWORD, APP_USER, Flavor, Role, mariadb, mysql};

const MEMBERS: [(&str, Role); 3] =
    [("primary", Role::Primary), ("replica1", Role::Replica), ("replica2", Role::Replica)];
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);
const ASK_AGAIN: Duration = Duration::from_millis(10);

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
        let program = Program::find(flavor)?;
        // Blocking: another process may hold the lock while it makes a template.
        let made = tokio::task::spawn_blocking(|| LabDirectory::create(&lab_base())).await;
        let directory = made.expect("making a directory does not panic")?;
        let certificate = Certificate::create(directory.path())?;
        let ports = free_ports(MEMBERS.len())?;
        let servers: Vec<Server> = (1..)
            .zip(MEMBERS)
            .zip(ports)
            .map(|((server_id, (name, role)), port)| {
                let (directory, certificate) = (directory.path().join(name), certificate.clone());
                let options = options.clone();
                let plan = ServerPlan { name, role, server_id, port, directory, certificate, options };
                Server { daemon: Daemon::new(flavor, program.clone(), plan) }
            })
            .collect();
        let version = program.version;
        let cluster = Cluster { flavor, servers, certificate, version, _directory: directory };
        let [primary, replica1, replica2] = &cluster.servers[..] else { unreachable!("three members") };
        let port = primary.address().port();
        let template = primary.daemon.template(&lab_base()).await?;
        tokio::try_join!(begin(primary, &template), begin(replica1, &template), begin(replica2, &template))?;
        cluster.follow(replica1, port).await?;
        cluster.follow(replica2, port).await?;
        cluster.wait_for_semi_sync().await?;
        Ok(cluster)
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

    /// Makes `replica` follow the server on `port`.
    async fn follow(&self, replica: &Server, port: u16) -> Result<(), LabError> {
        let statements = match self.flavor {
            Flavor::Mysql => mysql::follow(port),
            Flavor::MariaDb | Flavor::Embedded => mariadb::follow(port),
        };
        replica.daemon.run(&statements).await
    }

    /// Waits until the primary knows both replicas as semi-sync ones, where the servers have semi-sync.
    async fn wait_for_semi_sync(&self) -> Result<(), LabError> {
        let statement = match self.flavor {
            Flavor::Mysql => mysql::SEMI_SYNC_REPLICAS,
            Flavor::MariaDb | Flavor::Embedded => mariadb::SEMI_SYNC_REPLICAS,
        };
        let primary = self.primary();
        let mut root = primary.connect_root().await?;
        let deadline = Instant::now() + CATCH_UP_LIMIT;
        loop {
            let row: Option<(String, usize)> = root
                .query_first(statement)
                .await
                .map_err(|source| primary.daemon.refused(statement, source))?;
            match row {
                Some((_, known)) if known < self.replicas().len() => {}
                Some(_) | None => break,
            }
            if Instant::now() > deadline {
                return Err(primary.daemon.timeout("see its replicas", CATCH_UP_LIMIT));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
        drop(root.disconnect().await);
        Ok(())
    }

    /// Waits until every running replica has all that the primary has written so far, at most 60 s.
    ///
    /// # Errors
    /// [`LabError::Timeout`] naming the replica that is behind; [`LabError::Statement`] where one cannot be asked.
    pub async fn wait_for_replicas(&self) -> Result<(), LabError> {
        let position = match self.flavor {
            Flavor::Mysql => mysql::POSITION,
            Flavor::MariaDb | Flavor::Embedded => mariadb::POSITION,
        };
        let primary = self.primary();
        let mut root = primary.connect_root().await?;
        let written: Option<String> =
            root.query_first(position).await.map_err(|source| primary.daemon.refused(position, source))?;
        drop(root.disconnect().await);
        let written = written.unwrap_or_default().replace('\n', "");
        if written.is_empty() {
            return Ok(());
        }
        for replica in self.replicas().iter().filter(|replica| replica.is_running()) {
            self.wait_for_position(replica, &written).await?;
        }
        Ok(())
    }

    async fn wait_for_position(&self, replica: &Server, position: &str) -> Result<(), LabError> {
        let seconds = CATCH_UP_LIMIT.as_secs();
        let statement = match self.flavor {
            Flavor::Mysql => mysql::caught_up(position, seconds),
            Flavor::MariaDb | Flavor::Embedded => mariadb::caught_up(position, seconds),
        };
        let mut root = replica.connect_root().await?;
        let answer: Option<i64> = root
            .query_first(&statement)
            .await
            .map_err(|source| replica.daemon.refused(&statement, source))?;
        drop(root.disconnect().await);
        match answer {
            Some(0) => Ok(()),
            _ => Err(replica.daemon.timeout("catch up with the primary", CATCH_UP_LIMIT)),
        }
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
async fn begin(server: &Server, template: &Path) -> Result<(), LabError> {
    server.daemon.make_data(template).await?;
    server.daemon.start().await
}
