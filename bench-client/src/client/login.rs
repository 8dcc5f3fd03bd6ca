//! The client's half of the connection phase.

use telamon::protocol::CapabilityFlags as Flags;
use telamon::protocol::auth::{FAST_AUTH_OK, FULL_AUTH, PUBLIC_KEY_REQUEST, Plugin, encrypt_password};
use telamon::protocol::handshake::{Greeting, Response, parse_auth_switch};

use super::connection::Connection;
use super::error::ClientError;
use crate::lab::EMBEDDED_VERSION;
use crate::target::{Target, Tls};

/// What the C client library of MariaDB, which sysbench uses, asks for.
const ASKED: Flags = Flags::CLIENT_LONG_PASSWORD
    .union(Flags::CLIENT_LONG_FLAG)
    .union(Flags::CLIENT_PROTOCOL_41)
    .union(Flags::CLIENT_TRANSACTIONS)
    .union(Flags::CLIENT_SECURE_CONNECTION)
    .union(Flags::CLIENT_MULTI_RESULTS)
    .union(Flags::CLIENT_PS_MULTI_RESULTS)
    .union(Flags::CLIENT_PLUGIN_AUTH);

/// utf8mb4_general_ci
const COLLATION: u8 = 45;
/// Rounds of authentication before a server is taken for broken.
const MAX_ROUNDS: usize = 8;

impl Connection {
    /// From the greeting to the first OK packet.
    pub(super) fn log_in(&mut self, target: &Target) -> Result<(), ClientError> {
        let greeting = self.read_payload()?;
        let greeting =
            Greeting::parse(&greeting).map_err(|error| ClientError::Protocol(error.to_string()))?;
        let schema = target.schema.as_ref().map(|schema| schema.clone().into_bytes());
        let plugin = Plugin::from_name(greeting.plugin.as_bytes()).unwrap_or(Plugin::Native);
        let mut capabilities = ASKED & (greeting.capabilities | Flags::CLIENT_LONG_PASSWORD);
        capabilities.set(Flags::CLIENT_CONNECT_WITH_DB, schema.is_some());
        let offered = greeting.capabilities.contains(Flags::CLIENT_SSL);
        if target.tls == Tls::Required && !offered {
            return Err(ClientError::Protocol("it does not offer TLS, and --tls asks for it".into()));
        }
        capabilities.set(Flags::CLIENT_SSL, target.tls == Tls::Required);
        let response = Response {
            capabilities,
            mariadb: 0,
            max_packet: 1 << 30,
            collation: COLLATION,
            user: target.user.clone().into_bytes(),
            auth: plugin.scramble(&greeting.nonce, target.password.as_bytes()),
            schema,
            plugin: capabilities.contains(Flags::CLIENT_PLUGIN_AUTH).then(|| plugin.name().into()),
            attributes: Vec::new(),
        };
        self.capabilities = capabilities;
        self.types_always = greeting.server_version == EMBEDDED_VERSION;
        if target.tls == Tls::Required {
            self.write_payload(&response.head())?;
            self.upgrade(target.address.host())?;
        }
        self.write_payload(&response.encode())?;
        self.authenticate(&greeting.nonce, target.password.as_bytes())
    }

    /// Proves the password by whatever plugin the server asks for.
    fn authenticate(&mut self, nonce: &[u8], password: &[u8]) -> Result<(), ClientError> {
        let mut nonce = nonce.to_vec();
        for _ in 0..MAX_ROUNDS {
            let payload = self.read_payload()?;
            match payload.as_slice() {
                [0x00, ..] => return Ok(()),
                [0xFE, ..] => {
                    let switch = parse_auth_switch(&payload);
                    let (name, fresh) = switch.map_err(|error| ClientError::Protocol(error.to_string()))?;
                    let plugin = Plugin::from_name(name.as_bytes()).ok_or_else(|| unknown_plugin(&name))?;
                    nonce = fresh;
                    self.write_payload(&plugin.scramble(&nonce, password))?;
                }
                bytes if bytes == FAST_AUTH_OK => {}
                bytes if bytes == FULL_AUTH && self.is_private() => {
                    self.write_payload(&[password, &[0]].concat())?;
                }
                bytes if bytes == FULL_AUTH => self.write_payload(&PUBLIC_KEY_REQUEST)?,
                [0x01, pem @ ..] => {
                    let sealed = encrypt_password(pem, &nonce, password);
                    let sealed = sealed.map_err(|error| ClientError::Protocol(error.to_string()))?;
                    self.write_payload(&sealed)?;
                }
                _ => return Err(ClientError::Protocol("an unknown packet during authentication".into())),
            }
        }
        Err(ClientError::Protocol("the server never ends authentication".into()))
    }
}

fn unknown_plugin(name: &str) -> ClientError {
    ClientError::Protocol(format!(
        "the account uses the authentication plugin {name}; give it caching_sha2_password or mysql_native_password"
    ))
}
