//! OK, ERR and EOF packets: those that Telamon sends itself, and the few fields it reads of a server's.

use super::error_code::ServerError;
use super::wire::{Malformed, Reader, put_lenenc};
use super::{CapabilityFlags, StatusFlags};

/// The status flags that describe the session; the others describe the statement whose reply had them.
pub const SESSION_STATUS: StatusFlags = StatusFlags::SERVER_STATUS_IN_TRANS
    .union(StatusFlags::SERVER_STATUS_IN_TRANS_READONLY)
    .union(StatusFlags::SERVER_STATUS_AUTOCOMMIT)
    .union(StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES)
    .union(StatusFlags::SERVER_STATUS_ANSI_QUOTES);

/// A payload for an OK packet without text. "Protocol::OK_Packet".
pub fn ok(status: StatusFlags) -> Vec<u8> {
    let status = status & SESSION_STATUS;
    let mut payload = vec![0x00];
    put_lenenc(&mut payload, 0);
    put_lenenc(&mut payload, 0);
    payload.extend_from_slice(&status.bits().to_le_bytes());
    payload.extend_from_slice(&0u16.to_le_bytes());
    payload
}

/// A payload for an ERR packet. "Protocol::ERR_Packet". Before the client's capabilities are known there is no
/// SQLSTATE in it.
pub fn err(error: &ServerError, capabilities: CapabilityFlags) -> Vec<u8> {
    let mut payload = vec![0xFF];
    payload.extend_from_slice(&error.code.to_le_bytes());
    if capabilities.contains(CapabilityFlags::CLIENT_PROTOCOL_41) {
        payload.push(b'#');
        payload.extend_from_slice(error.sql_state.as_bytes());
    }
    payload.extend_from_slice(error.message.as_bytes());
    payload
}

/// A server's ERR packet as far as logs and decisions need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrPacket {
    /// MySQL's error number.
    pub code: u16,
    /// The text, without SQLSTATE.
    pub message: String,
}

impl ErrPacket {
    /// Reads the payload of an ERR packet, header byte included.
    ///
    /// # Errors
    /// [`Malformed`] when it is not one.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != 0xFF {
            return Err(Malformed("not an ERR packet"));
        }
        let code = reader.u16()?;
        let rest = reader.rest();
        let text = if rest.first() == Some(&b'#') { rest.get(6..).unwrap_or_default() } else { rest };
        Ok(Self { code, message: String::from_utf8_lossy(text).into_owned() })
    }

    /// ER_BAD_DB_ERROR.
    pub fn is_unknown_schema(&self) -> bool {
        self.code == 1049
    }

    /// ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED: there would be room later.
    pub fn is_too_many_connections(&self) -> bool {
        [1040, 1203, 1226].contains(&self.code)
    }
}

/// What an OK or EOF packet says that a client may ask the connection about later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Whether there is an insert id.
    pub insert_id: bool,
    /// Warnings of the statement.
    pub warnings: u16,
}

impl Counts {
    /// Of an OK packet, or of an EOF packet, which knows no insert id. Nothing where it ends too early.
    pub fn of(payload: &[u8], eof: bool) -> Self {
        let mut reader = Reader::new(payload);
        let mut read = || -> Result<Self, Malformed> {
            reader.u8()?;
            if eof {
                return Ok(Self { insert_id: false, warnings: reader.u16()? });
            }
            reader.lenenc()?;
            let insert_id = reader.lenenc()? != 0;
            reader.u16()?;
            Ok(Self { insert_id, warnings: reader.u16()? })
        };
        read().unwrap_or_default()
    }
}

/// A server's OK packet, whatever its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// The session's status after the statement.
    pub status: StatusFlags,
    /// Where the payload's information text and session-state report begin: what stands before has a fixed meaning.
    pub head_len: usize,
    /// Where the status flags stand in the payload.
    pub status_at: usize,
    /// The human-readable text.
    pub info: &'a [u8],
    /// The session-state report, empty when nothing changed.
    pub track: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// Reads the payload of an OK packet sent on a connection with CLIENT_SESSION_TRACK.
    ///
    /// # Errors
    /// [`Malformed`] when it ends too early.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        reader.lenenc()?;
        reader.lenenc()?;
        let status_at = payload.len() - reader.rest().len();
        let status = StatusFlags::from_bits_retain(reader.u16()?);
        reader.u16()?;
        let head_len = payload.len() - reader.rest().len();
        let info = if reader.is_empty() { &[][..] } else { reader.lenenc_bytes()? };
        let changed = status.contains(StatusFlags::SERVER_SESSION_STATE_CHANGED);
        let track = if changed && !reader.is_empty() { reader.lenenc_bytes()? } else { &[][..] };
        Ok(Self { status, head_len, status_at, info, track })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_sqlstate_only_for_a_client_of_protocol_41() {
        let error = ServerError::unknown_command();
        assert_eq!(err(&error, CapabilityFlags::CLIENT_PROTOCOL_41), b"\xff\x17\x04#08S01Unknown command");
        assert_eq!(err(&error, CapabilityFlags::empty()), b"\xff\x17\x04Unknown command");
        let back = ErrPacket::parse(b"\xff\x17\x04#08S01Unknown command").expect("an ERR packet");
        assert_eq!(back, ErrPacket { code: 1047, message: "Unknown command".into() });
    }

    #[test]
    fn counts_are_where_each_packet_has_them() {
        let counts = |insert_id, warnings| Counts { insert_id, warnings };
        assert_eq!(Counts::of(b"\x00\x01\x07\x02\x00\x03\x00", false), counts(true, 3));
        assert_eq!(Counts::of(b"\x00\x01\x00\x02\x00\x00\x00", false), counts(false, 0));
        assert_eq!(Counts::of(b"\xfe\x03\x00\x02\x00", true), counts(false, 3));
        assert_eq!(Counts::of(b"\x00", false), Counts::default());
    }

    #[test]
    fn an_ok_packet_is_as_long_as_a_servers() {
        assert_eq!(ok(StatusFlags::SERVER_STATUS_AUTOCOMMIT), [0, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn the_report_of_a_use_statement_is_found_behind_the_empty_text() {
        // MariaDB 10.11.19's answer to USE sbtest with session_track_schema=1
        let payload = b"\x00\x00\x00\x02\x40\x00\x00\x00\x09\x01\x07\x06sbtest";
        let ok = OkPacket::parse(payload).expect("an OK packet");
        assert_eq!(
            (ok.head_len, ok.status_at, ok.info, ok.track),
            (7, 3, &b""[..], &b"\x01\x07\x06sbtest"[..])
        );
    }
}
