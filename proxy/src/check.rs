//! `telamon check --connect`: does each server answer each account?

use crate::backend::{Account, Connection, Connector};
use crate::config::{Config, User};
use crate::io::Buffers;
use crate::protocol::capability;
use crate::server::StartError;
use crate::topology::{Server, Topology};
use std::fmt::Write;
use std::sync::Arc;

/// Logs in to every server with every account; answers what to print, and whether all went well.
///
/// # Errors
/// Nothing could be tried at all.
pub fn connect(config: &Config) -> Result<(String, bool), StartError> {
    let connector = Connector::new(config)?;
    let topology = Topology::new(config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut text = String::new();
    let mut all = true;
    for server in topology.servers() {
        for user in &config.users {
            let (line, ok) = runtime.block_on(try_one(&connector, server, user));
            all &= ok;
            // Writing to a String does not fail.
            let _ = writeln!(text, "{line}");
        }
    }
    Ok((text, all))
}

async fn try_one(connector: &Connector, server: &Arc<Server>, user: &User) -> (String, bool) {
    let account = Account {
        user: user.name.clone().into_bytes(),
        password: user.password.clone(),
        schema: user.schema.clone().map(String::into_bytes),
        collation: 45,
        capabilities: capability::plain_client(),
        mariadb: 0,
        max_packet: 1 << 24,
        attributes: Vec::new(),
    };
    let (name, address) = (&server.name, &server.address);
    let head = format!("{name} ({address}), user {}", user.name);
    match Connection::open(connector, server.extra_permit(), &account, &Buffers::default()).await {
        Ok(connection) => {
            connection.quit().await;
            let version = server.identity().map(|i| i.version.clone()).unwrap_or_default();
            (format!("{head}: ok, {version}"), true)
        }
        Err(error) => (format!("{head}: {error}"), false),
    }
}
