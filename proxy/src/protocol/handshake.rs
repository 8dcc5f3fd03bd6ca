//! The connection phase's own packets: greeting, TLS request, response, COM_CHANGE_USER, auth switch.
//!
//! Layouts: "Protocol::HandshakeV10", "Protocol::SSLRequest", "Protocol::HandshakeResponse41", "COM_CHANGE_USER",
//! "Protocol::AuthSwitchRequest" of the MySQL source documentation; MariaDB's "Connecting" page for its use of the
//! reserved bytes.

use super::wire::{Malformed, Reader, put_lenenc, put_lenenc_bytes, put_nul_bytes};
use super::{CapabilityFlags as Flags, StatusFlags};

/// Length of the random bytes that passwords are scrambled with.
pub const NONCE_LEN: usize = 20;
/// Length of the fixed head of SSLRequest and of the response.
pub const SSL_REQUEST_LEN: usize = 32;

/// The server's first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The server's version text, as it is; MariaDB 10 puts "5.5.5-" before its own.
    pub server_version: String,
    /// The connection's id.
    pub connection_id: u32,
    /// What passwords are scrambled with.
    pub nonce: [u8; NONCE_LEN],
    /// The server's capability flags.
    pub capabilities: Flags,
    /// MariaDB's extended capability flags, in the last reserved bytes; 0 for MySQL.
    pub mariadb: u32,
    /// The low byte of the server's default collation id.
    pub collation: u8,
    /// The session's status.
    pub status: StatusFlags,
    /// The authentication plugin that the nonce is for.
    pub plugin: String,
}

impl Greeting {
    /// The payload that Telamon greets a client with.
    pub fn encode(&self) -> Vec<u8> {
        let [low0, low1, high0, high1] = self.capabilities.bits().to_le_bytes();
        let (part1, part2) = self.nonce.split_at(8);
        let mut out = vec![10];
        put_nul_bytes(&mut out, self.server_version.as_bytes());
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        put_nul_bytes(&mut out, part1);
        out.extend_from_slice(&[low0, low1, self.collation]);
        out.extend_from_slice(&self.status.bits().to_le_bytes());
        out.extend_from_slice(&[high0, high1, 21]); // 21: the nonce with the NUL behind it
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&self.mariadb.to_le_bytes());
        put_nul_bytes(&mut out, part2);
        put_nul_bytes(&mut out, self.plugin.as_bytes());
        out
    }

    /// Reads a server's greeting.
    ///
    /// # Errors
    /// [`Malformed`] when it is none of protocol version 10 with a nonce of 20 bytes.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != 10 {
            return Err(Malformed("a greeting of another protocol version than 10"));
        }
        let server_version = String::from_utf8_lossy(reader.nul_bytes()?).into_owned();
        let connection_id = reader.u32()?;
        let mut nonce = [0; NONCE_LEN];
        nonce[..8].copy_from_slice(reader.bytes(8)?);
        reader.u8()?;
        let low = reader.u16()?;
        let collation = reader.u8()?;
        let status = StatusFlags::from_bits_retain(reader.u16()?);
        let high = reader.u16()?;
        reader.bytes(7)?;
        let reserved = reader.u32()?;
        nonce[8..].copy_from_slice(reader.bytes(12)?);
        reader.u8()?;
        let capabilities = Flags::from_bits_retain(u32::from(low) | u32::from(high) << 16);
        let plugin = String::from_utf8_lossy(reader.nul_or_end_bytes()).into_owned();
        let mariadb = if capabilities.contains(Flags::CLIENT_LONG_PASSWORD) { 0 } else { reserved };
        Ok(Self { server_version, connection_id, nonce, capabilities, mariadb, collation, status, plugin })
    }
}

/// The client's answer to the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// What the client asks for.
    pub capabilities: Flags,
    /// MariaDB's extended capability flags, in the last reserved bytes; 0 for MySQL's clients.
    pub mariadb: u32,
    /// The client's largest packet, in bytes.
    pub max_packet: u32,
    /// The low byte of the client's collation id.
    pub collation: u8,
    /// The account's name.
    pub user: Vec<u8>,
    /// The scrambled password, or what the plugin uses in its place.
    pub auth: Vec<u8>,
    /// The schema to start in.
    pub schema: Option<Vec<u8>>,
    /// The plugin that made `auth`.
    pub plugin: Option<Vec<u8>>,
    /// Connection attributes as they stand in the packet, without their length.
    pub attributes: Vec<u8>,
}

impl Response {
    /// Reads a client's response. As servers do, it forgives a packet that ends before an optional last field.
    ///
    /// # Errors
    /// [`Malformed`] when the fixed fields are not all there.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let capabilities = Flags::from_bits_retain(reader.u32()?);
        if !capabilities.contains(Flags::CLIENT_PROTOCOL_41) {
            return Err(Malformed("a client older than MySQL 4.1"));
        }
        let max_packet = reader.u32()?;
        let collation = reader.u8()?;
        reader.bytes(19)?;
        let reserved = reader.u32()?;
        let mariadb = if capabilities.contains(Flags::CLIENT_LONG_PASSWORD) { 0 } else { reserved };
        let user = reader.nul_bytes()?.to_vec();
        let auth = if capabilities.contains(Flags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            reader.lenenc_bytes()?
        } else if capabilities.contains(Flags::CLIENT_SECURE_CONNECTION) {
            let len = reader.u8()?;
            reader.bytes(usize::from(len))?
        } else {
            reader.nul_or_end_bytes()
        };
        let auth = auth.to_vec();
        let with_schema = capabilities.contains(Flags::CLIENT_CONNECT_WITH_DB);
        let schema = if with_schema { some_text(reader.nul_or_end_bytes()) } else { None };
        let with_plugin = capabilities.contains(Flags::CLIENT_PLUGIN_AUTH);
        // An empty name is a plugin that nobody knows, which is not the same as a client too old to name one.
        let plugin = with_plugin.then(|| reader.nul_or_end_bytes().to_vec());
        let with_attributes = capabilities.contains(Flags::CLIENT_CONNECT_ATTRS) && !reader.is_empty();
        let attributes = if with_attributes { reader.lenenc_bytes()?.to_vec() } else { Vec::new() };
        Ok(Self { capabilities, mariadb, max_packet, collation, user, auth, schema, plugin, attributes })
    }

    /// The payload that Telamon answers a server's greeting with.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.head();
        put_nul_bytes(&mut out, &self.user);
        if self.capabilities.contains(Flags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            put_lenenc(&mut out, self.auth.len() as u64);
        } else {
            out.push(u8::try_from(self.auth.len()).unwrap_or(0));
        }
        out.extend_from_slice(&self.auth);
        if let Some(schema) = &self.schema {
            put_nul_bytes(&mut out, schema);
        }
        if let Some(plugin) = &self.plugin {
            put_nul_bytes(&mut out, plugin);
        }
        if self.capabilities.contains(Flags::CLIENT_CONNECT_ATTRS) {
            put_lenenc_bytes(&mut out, &self.attributes);
        }
        out
    }

    /// The first 32 bytes, which alone are the request for TLS.
    pub fn head(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&self.capabilities.bits().to_le_bytes());
        out.extend_from_slice(&self.max_packet.to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&self.mariadb.to_le_bytes());
        out
    }
}

fn some_text(text: &[u8]) -> Option<Vec<u8>> {
    (!text.is_empty()).then(|| text.to_vec())
}

/// COM_CHANGE_USER's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser {
    /// The account's name.
    pub user: Vec<u8>,
    /// Whether the client sent any authentication data.
    pub has_auth: bool,
    /// The schema to start in.
    pub schema: Option<Vec<u8>>,
    /// The low byte of the client's collation id, where it sent one.
    pub collation: Option<u8>,
}

impl ChangeUser {
    /// Reads the command's payload, command byte included.
    ///
    /// # Errors
    /// [`Malformed`] when the name or the authentication data is cut.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let user = reader.nul_bytes()?.to_vec();
        let auth_len = reader.u8()?;
        let has_auth = !reader.bytes(usize::from(auth_len))?.is_empty();
        let schema = some_text(reader.nul_or_end_bytes());
        let collation = reader.u8().ok();
        Ok(Self { user, has_auth, schema, collation })
    }
}

/// Asks the client to authenticate with another plugin.
pub fn auth_switch(plugin: &str, nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    let mut out = vec![0xFE];
    put_nul_bytes(&mut out, plugin.as_bytes());
    put_nul_bytes(&mut out, nonce);
    out
}

/// The plugin and the nonce of a server's request to switch; without a name it means the oldest plugin of all.
///
/// # Errors
/// [`Malformed`] when the payload has no plugin name.
pub fn parse_auth_switch(payload: &[u8]) -> Result<(String, Vec<u8>), Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    let plugin = String::from_utf8_lossy(reader.nul_bytes()?).into_owned();
    let nonce = reader.rest();
    Ok((plugin, nonce.strip_suffix(&[0]).unwrap_or(nonce).to_vec()))
}

#[cfg(test)]
mod tests;
