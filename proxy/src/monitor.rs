//! Asks each server whether it is there, over one long-lived connection, and writes the answer into the topology.

use crate::backend::{Account, ConnectError, Connection, Connector};
use crate::config::Config;
use crate::io::Buffers;
use crate::protocol::capability;
use crate::topology::{Health, Server, Topology};
use std::sync::Arc;
use std::time::Duration;

/// Watches all servers until dropped. Runs in a `LocalSet`.
pub async fn run(config: Arc<Config>, topology: Arc<Topology>, connector: Connector) {
    let Some((user, password)) = config.monitor_account() else { return };
    let account = Account {
        user: user.as_bytes().to_vec(),
        password: password.clone(),
        schema: None,
        collation: 45, // utf8mb4_general_ci: every server knows it
        capabilities: capability::plain_client(),
        mariadb: 0,
        max_packet: 1 << 24,
        attributes: Vec::new(),
    };
    for server in topology.servers() {
        let watch = Watch {
            server: server.clone(),
            account: account.clone(),
            connector: connector.clone(),
            interval: Duration::from_millis(config.monitor.interval_ms),
            timeout: Duration::from_millis(config.monitor.timeout_ms),
        };
        tokio::task::spawn_local(watch.run());
    }
}

struct Watch {
    server: Arc<Server>,
    account: Account,
    connector: Connector,
    interval: Duration,
    timeout: Duration,
}

impl Watch {
    async fn run(self) {
        let buffers = Buffers::default();
        let mut connection = None;
        loop {
            let probe = self.probe(&mut connection, &buffers);
            let result = match tokio::time::timeout(self.timeout, probe).await {
                Ok(result) => result,
                Err(_) => Err(ConnectError::Timeout(self.timeout)),
            };
            if result.is_err() {
                connection = None;
            }
            self.note(result);
            tokio::time::sleep(self.interval).await;
        }
    }

    /// Pings the server, over a new connection where there is none; asks a new one for its sql_mode.
    async fn probe(
        &self,
        connection: &mut Option<Connection>,
        buffers: &Buffers,
    ) -> Result<(), ConnectError> {
        let connection = match connection {
            Some(connection) => connection,
            None => {
                let open =
                    Connection::open(&self.connector, self.server.extra_permit(), &self.account, buffers);
                connection.insert(open.await?)
            }
        };
        let row = connection.select_row(b"SELECT @@GLOBAL.sql_mode").await?;
        if let Some(Some(sql_mode)) = row.into_iter().next() {
            self.server.set_sql_mode(String::from_utf8_lossy(&sql_mode).into_owned());
        }
        Ok(())
    }

    fn note(&self, result: Result<(), ConnectError>) {
        let server = &self.server.name;
        match result {
            Ok(()) => {
                if self.server.set_health(Health::Up) {
                    tracing::info!(server, address = %self.server.address, "server answers");
                }
            }
            Err(error) if error.is_down() => {
                if self.server.set_health(Health::Down) {
                    tracing::warn!(server, address = %self.server.address, %error, "server does not answer");
                }
            }
            // It is there; that it does not like the monitor's account says nothing about its clients.
            Err(error) => {
                if self.server.set_health(Health::Up) {
                    tracing::warn!(server, %error, "server answers, but not the monitor's account");
                }
            }
        }
    }
}
