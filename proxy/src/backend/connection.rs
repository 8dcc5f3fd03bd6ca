//! One connection to one server: connect, TLS, log in, switch session tracking on.

use super::login;
use crate::config::{self, ServerAddress, TlsServerMode};
use crate::io::{Buffers, PacketStream, Socket, StreamError, tls};
use crate::protocol::command::ReplyShape;
use crate::protocol::packet::Header;
use crate::protocol::reply::{Packet, PreparedHead, ReplyState};
use crate::protocol::response::ErrPacket;
use crate::protocol::session_track::Wanted;
use crate::protocol::wire::Reader;
use crate::protocol::{CapabilityFlags, Malformed, StatusFlags, capability};
use crate::topology::{Permit, Server};
use mysql_common::collations::{Collation, CollationId};
use rustls::pki_types::ServerName;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};

/// Replies that Telamon reads for itself are never longer.
const MAX_OWN_REPLY: usize = 1 << 20;

/// What the session's state is learned from. Known to MySQL from 5.7 and MariaDB from 10.2 on.
const TRACK: &str = "SET SESSION session_track_system_variables='*', session_track_schema=1, \
    session_track_state_change=1, session_track_transaction_info='CHARACTERISTICS'";
/// What MySQL needs besides to report the GTIDs of writes; MariaDB reports them as a variable.
const TRACK_GTIDS: &str = ", session_track_gtids='OWN_GTID'";
const READ_ONLY: &[u8] = b"SET SESSION TRANSACTION READ ONLY";

/// How connections to servers are made.
#[derive(Clone)]
pub struct Connector {
    tls: Option<tokio_rustls::TlsConnector>,
    tls_required: bool,
    timeout: Duration,
}

impl Connector {
    /// As the configuration says.
    ///
    /// # Errors
    /// A certificate authorities file that cannot be used.
    pub fn new(config: &config::Config) -> Result<Self, tls::TlsError> {
        let server = &config.tls.server;
        let verify = match server.mode {
            TlsServerMode::Off | TlsServerMode::Preferred | TlsServerMode::Required => tls::Verify::Nothing,
            TlsServerMode::VerifyCa => tls::Verify::Authority,
            TlsServerMode::VerifyIdentity => tls::Verify::Identity,
        };
        let tls = match server.mode {
            TlsServerMode::Off => None,
            _ => Some(tls::connector(verify, server.ca.as_deref())?),
        };
        let tls_required = !matches!(server.mode, TlsServerMode::Off | TlsServerMode::Preferred);
        Ok(Self { tls, tls_required, timeout: Duration::from_millis(config.pool.connect_timeout_ms) })
    }
}

/// Who logs in, and how its session begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The account's name.
    pub user: Vec<u8>,
    /// Its password.
    pub password: config::Secret,
    /// The schema to start in.
    pub schema: Option<Vec<u8>>,
    /// The low byte of the collation id to start with.
    pub collation: u8,
    /// What the client and Telamon agreed on.
    pub capabilities: CapabilityFlags,
    /// The same of MariaDB's extended capabilities.
    pub mariadb: u32,
    /// The client's largest packet, in bytes.
    pub max_packet: u32,
    /// The client's connection attributes, as they stand in its packet.
    pub attributes: Vec<u8>,
}

impl Account {
    /// COM_SET_OPTION's number for what the login says of several statements in one text:
    /// MYSQL_OPTION_MULTI_STATEMENTS_ON or _OFF.
    #[must_use]
    pub fn option(&self) -> u16 {
        u16::from(!self.capabilities.contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS))
    }

    /// The same for all sessions that can take turns on one connection: without what belongs to one client alone, and
    /// without flags that only shape the login.
    #[must_use]
    pub fn shared(&self) -> Self {
        let capabilities = capability::of_commands(self.capabilities);
        Self { schema: None, attributes: Vec::new(), capabilities, ..self.clone() }
    }

    /// The statement that gives a connection the character set and collation of its login.
    pub fn set_names(&self) -> String {
        let collation = Collation::from(CollationId::from(u16::from(self.collation)));
        // The old name means the same to every server; the new one is unknown to older ones.
        let old = |name: &str| name.replace("utf8mb3", "utf8");
        format!("SET NAMES {} COLLATE {}", old(collation.charset()), old(collation.collation()))
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Every connection that pool.max_connections allows is in use.
    #[error("all connections that pool.max_connections allows are in use")]
    Limit,
    /// The server did not answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The server cannot be reached, or went away during the login.
    #[error(transparent)]
    Unreachable(#[from] StreamError),
    /// The server sent something that is no login.
    #[error(transparent)]
    Protocol(#[from] Malformed),
    /// TLS is asked for by the configuration and not offered by the server.
    #[error("the server offers no TLS and tls.server.mode asks for it")]
    NoTls,
    /// TLS failed.
    #[error("TLS: {0}")]
    Tls(std::io::Error),
    /// The server lacks a capability that the client was promised.
    #[error("the server is older than the primary and lacks a capability of the client's connection")]
    Capabilities,
    /// The server wants an authentication plugin that Telamon does not speak, or would send a password in clear.
    #[error("{0}")]
    Auth(String),
    /// The server said no; its ERR packet is the client's answer.
    #[error("{} ({})", .error.message, .error.code)]
    Refused {
        /// The packet's payload.
        payload: Vec<u8>,
        /// The same, read.
        error: ErrPacket,
    },
}

impl ConnectError {
    /// Whether it says that the server is not there, rather than that it did not like the login.
    pub fn is_down(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Unreachable(_))
    }
}

/// A connection that is logged in and between two commands.
#[derive(Debug)]
pub struct Connection {
    /// The packets.
    pub stream: PacketStream,
    /// What was agreed on with the server.
    pub capabilities: CapabilityFlags,
    /// The server's own id of the connection, as KILL wants it.
    pub connection_id: u32,
    /// The session's status after the last reply.
    pub status: StatusFlags,
    permit: Permit,
}

impl Connection {
    /// Connects and logs in to the permit's server.
    ///
    /// # Errors
    /// [`ConnectError`]
    pub async fn open(
        connector: &Connector,
        permit: Permit,
        account: &Account,
        buffers: &Buffers,
    ) -> Result<Self, ConnectError> {
        let open = Self::connect(connector, permit, account, buffers);
        match tokio::time::timeout(connector.timeout, open).await {
            Ok(done) => done,
            Err(_) => Err(ConnectError::Timeout(connector.timeout)),
        }
    }

    async fn connect(
        connector: &Connector,
        permit: Permit,
        account: &Account,
        buffers: &Buffers,
    ) -> Result<Self, ConnectError> {
        let server = permit.server().clone();
        let socket = dial(&server.address).await?;
        let mut stream = PacketStream::new(socket, buffers.clone());
        let greeting = login::greeting(&mut stream).await?;
        server.set_greeting(&greeting);
        let mut response = login::response(&greeting, account).ok_or(ConnectError::Capabilities)?;
        if let Some(tls) = login::wants_tls(&connector.tls, connector.tls_required, &stream, &greeting)? {
            response.capabilities |= CapabilityFlags::CLIENT_SSL;
            stream.queue_packet(&response.head());
            stream.flush().await?;
            let name = server_name(&server.address);
            stream.upgrade(|socket| tls::connect(tls, name, socket)).await.map_err(tls_error)?;
        }
        let status = login::authenticate(&mut stream, &greeting, &response, account).await?;
        let capabilities = response.capabilities;
        let connection_id = greeting.connection_id;
        let mut connection = Self { stream, capabilities, connection_id, status, permit };
        connection.track().await?;
        Ok(connection)
    }

    /// The server it leads to.
    pub fn server(&self) -> &Arc<Server> {
        self.permit.server()
    }

    /// Runs a command of Telamon's own whose reply is a single packet; answers the payload.
    ///
    /// # Errors
    /// [`ConnectError`]; the server's ERR packet as [`ConnectError::Refused`].
    pub async fn command(&mut self, payload: &[u8]) -> Result<Vec<u8>, ConnectError> {
        self.stream.set_sequence(0);
        self.stream.queue_packet(payload);
        self.stream.flush().await?;
        login::not_refused(self.stream.read_packet(MAX_OWN_REPLY).await?)
    }

    /// Runs a statement of Telamon's own that has no result set.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub async fn query(&mut self, sql: &[u8]) -> Result<(), ConnectError> {
        let mut payload = vec![0x03];
        payload.extend_from_slice(sql);
        self.command(&payload).await.map(drop)
    }

    /// Runs a statement of Telamon's own that answers one row of text; `None` is NULL.
    ///
    /// # Errors
    /// As [`Self::command`]; a reply of another shape as [`ConnectError::Protocol`].
    pub async fn select_row(&mut self, sql: &[u8]) -> Result<Vec<Option<Vec<u8>>>, ConnectError> {
        self.stream.set_sequence(0);
        self.stream.queue_packet(&[b"\x03", sql].concat());
        self.stream.flush().await?;
        self.read_row().await
    }

    /// Reads the reply to a statement that answers one row of text, sent before.
    ///
    /// # Errors
    /// As [`Self::select_row`].
    pub async fn read_row(&mut self) -> Result<Vec<Option<Vec<u8>>>, ConnectError> {
        self.stream.set_sequence(1);
        let head = login::not_refused(self.stream.read_packet(MAX_OWN_REPLY).await?)?;
        let columns = Reader::new(&head).lenenc()?;
        let eofs = u64::from(!self.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF));
        for _ in 0..columns + eofs {
            self.stream.read_packet(MAX_OWN_REPLY).await?;
        }
        let row = login::not_refused(self.stream.read_packet(MAX_OWN_REPLY).await?)?;
        let end = login::not_refused(self.stream.read_packet(MAX_OWN_REPLY).await?)?;
        if end.first() != Some(&0xFE) {
            return Err(Malformed("more than one row where one was asked for").into());
        }
        let mut reader = Reader::new(&row);
        let mut values = Vec::new();
        while let Some(first) = reader.rest().first() {
            values.push(if *first == 0xFB {
                reader.u8()?;
                None
            } else {
                Some(reader.lenenc_bytes()?.to_vec())
            });
        }
        Ok(values)
    }

    /// COM_INIT_DB.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub async fn init_db(&mut self, schema: &[u8]) -> Result<(), ConnectError> {
        self.command(&[b"\x02", schema].concat()).await.map(drop)
    }

    /// COM_STMT_PREPARE.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub async fn prepare(&mut self, sql: &[u8]) -> Result<PreparedHead, ConnectError> {
        let mut state = ReplyState::new(ReplyShape::Prepared, self.capabilities);
        let mut payload = self.command(&[b"\x16", sql].concat()).await?;
        let mut head = None;
        loop {
            let header = Header { len: payload.len(), sequence: 0 };
            if let Packet::Prepared(prepared) = state.packet(header, &payload)? {
                head = Some(prepared);
            }
            if state.is_last() {
                return head.ok_or(Malformed("no head in the reply to COM_STMT_PREPARE").into());
            }
            payload = self.stream.read_packet(MAX_OWN_REPLY).await?;
        }
    }

    /// COM_RESET_CONNECTION, and all that makes the connection what it was after its login.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub async fn reset_to_login(&mut self, account: &Account, read_only: bool) -> Result<(), ConnectError> {
        let commands = self.reset_commands(Some(account), read_only);
        self.stream.set_sequence(0);
        for command in &commands {
            self.stream.set_sequence(0);
            self.stream.queue_packet(command);
        }
        self.stream.flush().await?;
        for _ in &commands {
            self.stream.set_sequence(1);
            login::not_refused(self.stream.read_packet(MAX_OWN_REPLY).await?)?;
        }
        Ok(())
    }

    /// The commands of a reset, each answered by a single packet. Without the login's account the character set stays
    /// what COM_RESET_CONNECTION makes of it: the server's default.
    pub fn reset_commands(&self, login: Option<&Account>, read_only: bool) -> Vec<Vec<u8>> {
        let mut commands = vec![vec![0x1F]];
        let mut query = |sql: &[u8]| commands.push([b"\x03", sql].concat());
        if let Some(account) = login {
            query(account.set_names().as_bytes());
        }
        query(self.track_statement().as_bytes());
        if read_only {
            query(READ_ONLY);
        }
        commands
    }

    /// Switches session tracking on.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub async fn track(&mut self) -> Result<(), ConnectError> {
        let statement = self.track_statement();
        self.query(statement.as_bytes()).await
    }

    fn track_statement(&self) -> String {
        let is_mysql = self.server().identity().is_some_and(|identity| identity.product() == "MySQL");
        let gtids = if is_mysql { TRACK_GTIDS } else { "" };
        format!("{TRACK}{gtids}")
    }

    /// Makes every transaction on it read only: a read that turns out to write, by a function in a view, is refused.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub async fn read_only(&mut self) -> Result<(), ConnectError> {
        self.query(READ_ONLY).await
    }

    /// The client set these of [`Wanted::NAMES`] on this connection: they become part of `wanted`, and session
    /// tracking is as Telamon needs it again.
    ///
    /// # Errors
    /// As [`Self::select_row`].
    pub async fn track_for(&mut self, wanted: &mut Wanted, names: &[&str]) -> Result<(), ConnectError> {
        let list: Vec<_> = names.iter().map(|name| format!("@@{name}")).collect();
        let values = self.select_row(format!("SELECT {}", list.join(",")).as_bytes()).await?;
        self.track().await?;
        for (name, value) in names.iter().zip(values) {
            wanted.set(name, value.as_deref().unwrap_or_default());
        }
        Ok(())
    }

    /// Says COM_QUIT and waits until the server has closed: its place is free only then.
    pub async fn quit(mut self) {
        self.stream.set_sequence(0);
        self.stream.queue_packet(&[0x01]);
        self.stream.shutdown_lingering(Duration::from_secs(1)).await;
    }
}

fn tls_error(error: StreamError) -> ConnectError {
    match error {
        StreamError::Io(error) => ConnectError::Tls(error),
        other => ConnectError::Unreachable(other),
    }
}

async fn dial(address: &ServerAddress) -> Result<Socket, StreamError> {
    Ok(match address {
        ServerAddress::Tcp { host, port } => Socket::tcp(TcpStream::connect((host.as_str(), *port)).await?)?,
        ServerAddress::Unix(path) => Socket::Unix(UnixStream::connect(path).await?),
    })
}

fn server_name(address: &ServerAddress) -> ServerName<'static> {
    let host = match address {
        ServerAddress::Tcp { host, .. } => host.clone(),
        ServerAddress::Unix(_) => "localhost".to_owned(),
    };
    ServerName::try_from(host).unwrap_or_else(|_| {
        ServerName::try_from("invalid.invalid").expect("a name in the form of a DNS name")
    })
}
