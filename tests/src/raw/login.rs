//! The connection phase from the client's side.

use std::fmt;
use std::io;

use telamon::protocol::CapabilityFlags as Flags;
use telamon::protocol::auth::{Plugin, encrypt_password};
use telamon::protocol::handshake::{Greeting, NONCE_LEN, Response, parse_auth_switch};
use telamon_bench::lab::{APP_PASSWORD, APP_USER};

use super::client::Client;
use super::reply::ServerError;

/// What every client of today asks for, but for the end of EOF packets.
const USUAL: Flags = Flags::CLIENT_LONG_PASSWORD
    .union(Flags::CLIENT_LONG_FLAG)
    .union(Flags::CLIENT_LOCAL_FILES)
    .union(Flags::CLIENT_PROTOCOL_41)
    .union(Flags::CLIENT_TRANSACTIONS)
    .union(Flags::CLIENT_SECURE_CONNECTION)
    .union(Flags::CLIENT_MULTI_STATEMENTS)
    .union(Flags::CLIENT_MULTI_RESULTS)
    .union(Flags::CLIENT_PS_MULTI_RESULTS)
    .union(Flags::CLIENT_PLUGIN_AUTH)
    .union(Flags::CLIENT_CONNECT_ATTRS)
    .union(Flags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA);

/// Whether a client asks for TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// It does not.
    Off,
    /// It does, and takes any certificate.
    On,
}

/// With what a client logs in.
#[derive(Debug, Clone)]
pub struct Login {
    /// The account's name.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The schema to start in.
    pub schema: Option<String>,
    /// What the client asks for; flags that the server does not offer are left out.
    pub capabilities: Flags,
    /// MariaDB's extended capability flags; not 0 makes it a client of MariaDB, which does not send
    /// `CLIENT_LONG_PASSWORD`.
    pub mariadb: u32,
    /// The plugin that the client begins with, whatever the greeting names.
    pub plugin: &'static str,
    /// Whether the first answer of caching_sha2_password is a wrong one, so that the server asks for the password.
    pub full_authentication: bool,
    /// Whether it asks for TLS.
    pub tls: Tls,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
}

impl Default for Login {
    /// The application's account in no schema.
    fn default() -> Login {
        Login::new(APP_USER, APP_PASSWORD)
    }
}

impl Login {
    /// An account, by mysql_native_password, without TLS.
    #[must_use]
    pub fn new(user: &str, password: &str) -> Login {
        Login {
            user: user.to_owned(),
            password: password.to_owned(),
            schema: None,
            capabilities: USUAL,
            mariadb: 0,
            plugin: "mysql_native_password",
            full_authentication: false,
            tls: Tls::Off,
            attributes: Vec::new(),
        }
    }

    /// With further capability flags.
    #[must_use]
    pub fn with(mut self, flags: Flags) -> Login {
        self.capabilities |= flags;
        self
    }

    /// Without these capability flags.
    #[must_use]
    pub fn without(mut self, flags: Flags) -> Login {
        self.capabilities &= !flags;
        self
    }

    /// In this schema.
    #[must_use]
    pub fn in_schema(mut self, schema: &str) -> Login {
        self.schema = Some(schema.to_owned());
        self
    }

    fn response(&self, greeting: &Greeting) -> Response {
        let mut capabilities = self.capabilities;
        capabilities.set(Flags::CLIENT_CONNECT_WITH_DB, self.schema.is_some());
        capabilities.set(Flags::CLIENT_SSL, self.tls == Tls::On);
        // What MariaDB does not offer but understands: that no extended capabilities follow.
        capabilities &= greeting.capabilities | Flags::CLIENT_LONG_PASSWORD | Flags::CLIENT_SSL;
        capabilities.set(Flags::CLIENT_LONG_PASSWORD, self.mariadb == 0);
        let mut attributes = Vec::new();
        for (name, value) in &self.attributes {
            telamon::protocol::wire::put_lenenc_bytes(&mut attributes, name.as_bytes());
            telamon::protocol::wire::put_lenenc_bytes(&mut attributes, value.as_bytes());
        }
        Response {
            capabilities,
            mariadb: self.mariadb & greeting.mariadb,
            max_packet: 1 << 30,
            collation: 45,
            user: self.user.clone().into_bytes(),
            auth: self.scramble(self.plugin, &greeting.nonce),
            schema: self.schema.clone().map(String::into_bytes),
            plugin: Some(self.plugin.as_bytes().to_vec()),
            attributes,
        }
    }

    fn scramble(&self, plugin: &str, nonce: &[u8]) -> Vec<u8> {
        match Plugin::from_name(plugin.as_bytes()) {
            Some(Plugin::CachingSha2) if self.full_authentication => vec![1; 32],
            Some(plugin) => plugin.scramble(nonce, self.password.as_bytes()),
            None => b"an answer of a plugin that nobody knows".to_vec(),
        }
    }

    /// COM_CHANGE_USER's payload on a connection that was greeted with `nonce`.
    #[must_use]
    pub fn change_user(&self, nonce: &[u8; NONCE_LEN], capabilities: Flags) -> Vec<u8> {
        let auth = self.scramble(self.plugin, nonce);
        let mut payload = vec![0x11];
        payload.extend_from_slice(self.user.as_bytes());
        payload.extend_from_slice(&[0, u8::try_from(auth.len()).expect("a scramble is short")]);
        payload.extend_from_slice(&auth);
        payload.extend_from_slice(self.schema.as_deref().unwrap_or_default().as_bytes());
        payload.extend_from_slice(&[0, 45, 0]);
        payload.extend_from_slice(self.plugin.as_bytes());
        payload.push(0);
        if capabilities.contains(Flags::CLIENT_CONNECT_ATTRS) {
            payload.push(0);
        }
        payload
    }
}

/// Why there is no session.
#[derive(Debug)]
pub enum Refused {
    /// An ERR packet.
    Error(ServerError),
    /// The connection failed or was closed without one.
    Io(io::Error),
    /// The server said what the protocol does not know.
    Nonsense(Vec<u8>),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Error(error) => write!(f, "{error}"),
            Refused::Io(error) => write!(f, "{error}"),
            Refused::Nonsense(payload) => write!(f, "not of the connection phase: {payload:?}"),
        }
    }
}

impl Refused {
    /// The ERR packet.
    ///
    /// # Panics
    /// There was none.
    #[must_use]
    pub fn error(self) -> ServerError {
        match self {
            Refused::Error(error) => error,
            other => panic!("an ERR packet was expected: {other}"),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Io(error)
    }
}

/// Reads the greeting; its refusal is a server's, of a client that it does not even greet.
pub(super) fn greeting(client: &mut Client) -> Result<Greeting, Refused> {
    let payload = client.read_payload()?;
    if let Some(error) = ServerError::parse(&payload) {
        return Err(Refused::Error(error));
    }
    Greeting::parse(&payload).map_err(|_| Refused::Nonsense(payload))
}

/// Answers the greeting and goes on to the OK packet.
pub(super) fn log_in(client: &mut Client, greeting: &Greeting, login: &Login) -> Result<Vec<u8>, Refused> {
    let response = login.response(greeting);
    client.capabilities = response.capabilities;
    if login.tls == Tls::On {
        client.write_payload(&response.head())?;
        client.socket.upgrade()?;
    }
    client.write_payload(&response.encode())?;
    authenticate(client, &greeting.nonce, login)
}

/// Answers what a server asks until it says OK or ERR.
pub(super) fn authenticate(client: &mut Client, nonce: &[u8], login: &Login) -> Result<Vec<u8>, Refused> {
    let mut nonce = nonce.to_vec();
    loop {
        let payload = client.read_payload()?;
        if let Some(error) = ServerError::parse(&payload) {
            return Err(Refused::Error(error));
        }
        client.auth_steps.push(payload.clone());
        match &payload[..] {
            [0, ..] => return Ok(payload),
            [0xFE, ..] => {
                let (plugin, new) = parse_auth_switch(&payload).map_err(|_| Refused::Nonsense(payload))?;
                let answer = login.scramble(&plugin, &new);
                nonce = new;
                client.write_payload(&answer)?;
            }
            [1, 3] => {}
            [1, 4] if login.tls == Tls::On || client.is_local => {
                client.write_payload(&[login.password.as_bytes(), &[0]].concat())?;
            }
            [1, 4] => client.write_payload(&[2])?,
            [1, pem @ ..] => {
                let sealed = encrypt_password(pem, &nonce, login.password.as_bytes());
                let sealed = sealed.map_err(|_| Refused::Nonsense(payload.clone()))?;
                client.write_payload(&sealed)?;
            }
            _ => return Err(Refused::Nonsense(payload)),
        }
    }
}
