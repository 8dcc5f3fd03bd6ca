//! The connection phase: greeting, TLS, authentication by Telamon itself.

use super::context::Context;
use super::end::{End, Side, protocol_error};
use super::handle::Handle;
use crate::backend::Account;
use crate::config::User;
use crate::io::{PacketStream, StreamError, tls};
use crate::protocol::auth::{self, AuthError, FAST_AUTH_OK, FULL_AUTH, PUBLIC_KEY_REQUEST, Plugin};
use crate::protocol::error_code::ServerError;
use crate::protocol::handshake::{ChangeUser, Greeting, NONCE_LEN, Response, auth_switch};
use crate::protocol::{CapabilityFlags as Flags, capability};
use crate::routing::Dialect;
use crate::topology::Identity;
use mysql_common::collations::{Collation, CollationId};
use std::net::IpAddr;
use std::time::Duration;

/// A client's packets before it is logged in: 64 KiB of attributes, and the rest of the response.
const MAX_PACKET: usize = (1 << 16) + 4096;

/// Who a client is.
#[derive(Debug)]
pub(super) struct Client {
    /// With what its backend connections log in.
    pub(super) account: Account,
    /// Its address; `None` for the Unix socket.
    pub(super) address: Option<IpAddr>,
}

impl Client {
    /// In which dialect its statements are read, before it changes anything.
    pub(super) fn dialect(&self, identity: &Identity) -> Dialect {
        let dialect = Dialect::from_server_version(&identity.version);
        let collation = Collation::from(CollationId::from(u16::from(self.account.collation)));
        dialect.with_sql_mode(&identity.sql_mode).with_character_set(collation.charset())
    }

    /// The account's name for logs and messages.
    pub(super) fn name(&self) -> String {
        String::from_utf8_lossy(&self.account.user).into_owned()
    }
}

/// A client's address as MySQL's messages have it.
fn host(address: Option<IpAddr>) -> String {
    address.map_or_else(|| "localhost".to_owned(), |ip| ip.to_canonical().to_string())
}

/// Greets a client and finds out who it is. Its OK packet is not sent yet.
///
/// # Errors
/// Why there is no session.
pub(super) async fn run(
    context: &Context,
    handle: &Handle,
    client: &mut PacketStream,
    address: Option<IpAddr>,
) -> Result<Client, End> {
    let capabilities = Flags::empty();
    Phase { context, handle, client, address, capabilities }
        .within_limit(async |phase| phase.run().await)
        .await
}

/// COM_CHANGE_USER: finds out who the client is from now on, always by a switch to a new nonce.
///
/// # Errors
/// Why the session ends: after a refusal MySQL closes the connection too.
pub(super) async fn change_user(
    context: &Context,
    handle: &Handle,
    client: &mut PacketStream,
    before: &Client,
    change: ChangeUser,
) -> Result<Client, End> {
    let (address, capabilities) = (before.address, before.account.capabilities);
    let response = Response {
        capabilities,
        mariadb: before.account.mariadb,
        max_packet: before.account.max_packet,
        collation: change.collation.unwrap_or(before.account.collation),
        user: change.user,
        auth: Vec::new(),
        schema: change.schema,
        plugin: Some(Vec::new()), // none that is known: authentication begins with a switch
        attributes: before.account.attributes.clone(),
    };
    let phase = Phase { context, handle, client, address, capabilities };
    phase.within_limit(async |phase| phase.authenticate(&response, auth::nonce()).await).await
}

struct Phase<'a> {
    context: &'a Context,
    handle: &'a Handle,
    client: &'a mut PacketStream,
    address: Option<IpAddr>,
    /// What the client answered; empty until then, so that an early ERR packet has no SQLSTATE.
    capabilities: Flags,
}

impl Phase<'_> {
    async fn within_limit(
        mut self,
        run: impl AsyncFnOnce(&mut Self) -> Result<Client, End>,
    ) -> Result<Client, End> {
        let limit = Duration::from_millis(self.context.config.client.connect_timeout_ms);
        match tokio::time::timeout(limit, run(&mut self)).await {
            Ok(done) => done,
            Err(_) => Err(self.fail(ServerError::read_timeout())),
        }
    }

    fn fail(&self, error: ServerError) -> End {
        End::error(error, self.capabilities, Side::Client)
    }

    async fn send(&mut self, payload: &[u8]) -> Result<(), End> {
        self.client.queue_packet(payload);
        Ok(self.client.flush().await?)
    }

    async fn read(&mut self) -> Result<Vec<u8>, End> {
        match self.client.read_packet(MAX_PACKET).await {
            Ok(payload) => Ok(payload),
            Err(error) => Err(protocol_error(&error).map_or(End::Client(error), |e| self.fail(e))),
        }
    }

    /// The plugin that a client is asked to use: the primary's, where Telamon speaks it.
    fn plugin(&self) -> Plugin {
        Plugin::from_name(self.context.topology.identity().plugin.as_bytes()).unwrap_or(Plugin::Native)
    }

    async fn run(&mut self) -> Result<Client, End> {
        let identity = self.context.topology.identity();
        if !self.context.config.users.iter().any(|user| user.allows(self.address)) {
            let error = ServerError::host_not_privileged(&host(self.address), identity.product());
            return Err(self.fail(error));
        }
        let nonce = auth::nonce();
        let tls = self.context.acceptor.is_some();
        let greeting = Greeting {
            server_version: identity.version.clone(),
            connection_id: self.handle.id(),
            nonce: nonce.map_err(|e| self.fail(ServerError::telamon(e.to_string())))?,
            capabilities: capability::offered_to_client(identity.capabilities, tls),
            mariadb: identity.mariadb & capability::MARIADB_RELAYED,
            collation: identity.collation,
            status: identity.status,
            plugin: self.plugin().name().to_owned(),
        };
        self.send(&greeting.encode()).await.map_err(|_| End::Silent)?;
        let response = self.response(&greeting).await?;
        self.authenticate(&response, nonce).await
    }

    /// The client's response, over TLS where it asked for that.
    async fn response(&mut self, greeting: &Greeting) -> Result<Response, End> {
        let first = match self.client.read_packet(MAX_PACKET).await {
            Ok(payload) => payload,
            Err(StreamError::Closed | StreamError::Io(_)) => return Err(End::Silent),
            // Whatever this is, it does not speak the protocol: MySQL's answer to that is 1043.
            Err(StreamError::OutOfOrder | StreamError::TooLong(_)) => {
                return Err(self.fail(ServerError::bad_handshake()));
            }
            Err(error) => return Err(End::Client(error)),
        };
        let payload = if is_tls_request(&first) { self.begin_tls().await? } else { first };
        let mut response = Response::parse(&payload).map_err(|_| self.fail(ServerError::bad_handshake()))?;
        let compressed = response.capabilities.contains(Flags::CLIENT_COMPRESS);
        response.capabilities &= greeting.capabilities | Flags::CLIENT_LONG_PASSWORD;
        response.mariadb &= greeting.mariadb;
        self.capabilities = response.capabilities;
        if !capability::is_spoken(response.capabilities) {
            return Err(self.fail(ServerError::bad_handshake()));
        }
        if compressed {
            // It was not offered, yet some drivers go on as if it had been.
            return Err(self.fail(ServerError::compression()));
        }
        if self.context.tls_required() && !self.client.is_private() {
            return Err(self.fail(ServerError::tls_required()));
        }
        Ok(response)
    }

    async fn begin_tls(&mut self) -> Result<Vec<u8>, End> {
        let acceptor =
            self.context.acceptor.clone().ok_or_else(|| self.fail(ServerError::bad_handshake()))?;
        self.client.upgrade(|socket| async move { tls::accept(&acceptor, socket).await }).await?;
        self.read().await
    }

    async fn authenticate(
        &mut self,
        response: &Response,
        nonce: Result<[u8; NONCE_LEN], AuthError>,
    ) -> Result<Client, End> {
        let nonce = nonce.map_err(|e| self.fail(ServerError::telamon(e.to_string())))?;
        let host = host(self.address);
        let offered = response.plugin.as_deref().map_or(Some(Plugin::Native), Plugin::from_name);
        let name = String::from_utf8_lossy(&response.user).into_owned();
        let user = self.context.config.user(&name).filter(|user| user.allows(self.address)).cloned();
        let (plugin, answer) = match offered {
            Some(plugin) => (plugin, response.auth.clone()),
            None => {
                let default = self.plugin();
                self.send(&auth_switch(default.name(), &nonce)).await?;
                (default, self.read().await?)
            }
        };
        let given = !matches!(answer.as_slice(), [] | [0]);
        let known = self.proves(user.as_ref(), plugin, &nonce, &answer).await?;
        let Some(user) = user.filter(|_| known) else {
            return Err(self.fail(ServerError::access_denied(&name, &host, given)));
        };
        self.handle.set_user(&response.user);
        Ok(Client { account: account(&user, response), address: self.address })
    }

    /// Whether the client knows the account's password. An unknown account takes the same steps as a known one.
    async fn proves(
        &mut self,
        user: Option<&User>,
        plugin: Plugin,
        nonce: &[u8; NONCE_LEN],
        answer: &[u8],
    ) -> Result<bool, End> {
        let password = user.map(|user| user.password.expose().as_bytes().to_vec());
        let accepted = password.as_ref().is_some_and(|p| plugin.accepts(nonce, p, answer));
        if plugin != Plugin::CachingSha2 || matches!(answer, [] | [0]) {
            return Ok(accepted);
        }
        if accepted {
            self.send(&FAST_AUTH_OK).await?;
            return Ok(true);
        }
        let clear = self.full_authentication(nonce).await?;
        Ok(clear.is_some_and(|clear| password.is_some_and(|p| auth::is_same(&p, &clear))))
    }

    /// caching_sha2_password's second chance, as MySQL gives it: the client sends the password itself, over TLS as
    /// it is, else sealed by RSA.
    async fn full_authentication(&mut self, nonce: &[u8; NONCE_LEN]) -> Result<Option<Vec<u8>>, End> {
        self.send(&FULL_AUTH).await?;
        let mut payload = self.read().await?;
        if self.client.is_private() {
            return Ok((payload.pop() == Some(0)).then_some(payload));
        }
        if payload == PUBLIC_KEY_REQUEST {
            let rsa = self.context.rsa.clone();
            self.send(&[&[1], rsa.public_pem()].concat()).await?;
            payload = self.read().await?;
        }
        Ok(self.context.rsa.decrypt(nonce, &payload))
    }
}

/// A request for TLS is the first 32 bytes of a response, and nothing more.
fn is_tls_request(payload: &[u8]) -> bool {
    let flags = payload.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    payload.len() == crate::protocol::handshake::SSL_REQUEST_LEN
        && Flags::from_bits_retain(flags).contains(Flags::CLIENT_SSL)
}

fn account(user: &User, response: &Response) -> Account {
    let default_schema = || user.schema.as_ref().map(|s| s.clone().into_bytes());
    Account {
        user: response.user.clone(),
        password: user.password.clone(),
        schema: response.schema.clone().or_else(default_schema),
        collation: response.collation,
        capabilities: response.capabilities,
        mariadb: response.mariadb,
        max_packet: response.max_packet,
        attributes: response.attributes.clone(),
    }
}
