//! The client's half of the connection phase.

use super::connection::{Account, ConnectError};
use crate::io::PacketStream;
use crate::protocol::auth::{FAST_AUTH_OK, FULL_AUTH, PUBLIC_KEY_REQUEST, Plugin, encrypt_password};
use crate::protocol::handshake::{Greeting, Response, parse_auth_switch};
use crate::protocol::response::{ErrPacket, OkPacket};
use crate::protocol::wire::put_lenenc_bytes;
use crate::protocol::{CapabilityFlags as Flags, StatusFlags, capability};

/// Packets of a server's connection phase are never longer.
const MAX_PACKET: usize = 1 << 16;
/// Rounds of authentication before a server is taken for broken.
const MAX_ROUNDS: usize = 8;

/// Reads the server's greeting, or its refusal to greet.
pub(super) async fn greeting(stream: &mut PacketStream) -> Result<Greeting, ConnectError> {
    let payload = not_refused(stream.read_packet(MAX_PACKET).await?)?;
    Ok(Greeting::parse(&payload)?)
}

/// An ERR packet's payload as an error, everything else as it is.
pub(super) fn not_refused(payload: Vec<u8>) -> Result<Vec<u8>, ConnectError> {
    match ErrPacket::parse(&payload) {
        Ok(error) => Err(ConnectError::Refused { payload, error }),
        Err(_) => Ok(payload),
    }
}

/// What Telamon answers the greeting; `None` where the server lacks what the client was promised.
pub(super) fn response(greeting: &Greeting, account: &Account) -> Option<Response> {
    let mut capabilities = capability::asked_of_server(account.capabilities, greeting.capabilities)?;
    if account.mariadb & !greeting.mariadb != 0 {
        return None;
    }
    capabilities.set(Flags::CLIENT_CONNECT_WITH_DB, account.schema.is_some());
    let plugin = Plugin::from_name(greeting.plugin.as_bytes()).unwrap_or(Plugin::Native);
    Some(Response {
        capabilities,
        mariadb: account.mariadb,
        max_packet: account.max_packet,
        collation: account.collation,
        user: account.user.clone(),
        auth: plugin.scramble(&greeting.nonce, account.password.expose().as_bytes()),
        schema: account.schema.clone(),
        plugin: capabilities.contains(Flags::CLIENT_PLUGIN_AUTH).then(|| plugin.name().into()),
        attributes: attributes(&account.attributes),
    })
}

/// The client's own attributes, and by whom they come.
fn attributes(client: &[u8]) -> Vec<u8> {
    let mut all = client.to_vec();
    put_lenenc_bytes(&mut all, b"_proxy_name");
    put_lenenc_bytes(&mut all, b"telamon");
    all
}

/// The TLS to begin before logging in, if any.
pub(super) fn wants_tls<'a>(
    tls: &'a Option<tokio_rustls::TlsConnector>,
    required: bool,
    stream: &PacketStream,
    greeting: &Greeting,
) -> Result<Option<&'a tokio_rustls::TlsConnector>, ConnectError> {
    if stream.is_private() && !required {
        return Ok(None); // a Unix socket
    }
    match tls {
        Some(tls) if greeting.capabilities.contains(Flags::CLIENT_SSL) => Ok(Some(tls)),
        Some(_) if required => Err(ConnectError::NoTls),
        _ => Ok(None),
    }
}

/// Proves the account's password by whatever plugin the server asks for; answers the new session's status.
pub(super) async fn authenticate(
    stream: &mut PacketStream,
    greeting: &Greeting,
    response: &Response,
    account: &Account,
) -> Result<StatusFlags, ConnectError> {
    let password = account.password.expose().as_bytes();
    let mut nonce = greeting.nonce.to_vec();
    stream.queue_packet(&response.encode());
    for _ in 0..MAX_ROUNDS {
        stream.flush().await?;
        let payload = not_refused(stream.read_packet(MAX_PACKET).await?)?;
        match payload.as_slice() {
            [0x00, ..] => return Ok(OkPacket::parse(&payload)?.status),
            [0xFE, ..] => {
                let (name, fresh) = parse_auth_switch(&payload)?;
                let plugin = Plugin::from_name(name.as_bytes()).ok_or_else(|| unknown_plugin(&name))?;
                nonce = fresh;
                let answer = plugin.scramble(&nonce, password);
                let nothing = plugin == Plugin::CachingSha2 && answer.is_empty();
                stream.queue_packet(if nothing { &[0] } else { &answer });
            }
            bytes if bytes == FAST_AUTH_OK => {}
            bytes if bytes == FULL_AUTH && stream.is_private() => {
                stream.queue_packet(&[password, &[0]].concat());
            }
            bytes if bytes == FULL_AUTH => stream.queue_packet(&PUBLIC_KEY_REQUEST),
            [0x01, pem @ ..] => {
                let sealed = encrypt_password(pem, &nonce, password);
                stream.queue_packet(&sealed.map_err(|e| ConnectError::Auth(e.to_string()))?);
            }
            _ => return Err(ConnectError::Auth("an unknown packet during authentication".into())),
        }
    }
    Err(ConnectError::Auth("the server never ends authentication".into()))
}

fn unknown_plugin(name: &str) -> ConnectError {
    ConnectError::Auth(format!(
        "the account uses the authentication plugin {name}, which Telamon does not speak; \
         give it caching_sha2_password or mysql_native_password"
    ))
}
