//! Where a reply ends: the only place that knows.
//!
//! ```text
//!            ┌────────────────────── more results ──────────────────────────┐
//!            ▼                                                              │
//!  ──────► First ──column count──► Definitions ──(EOF)──► Rows ──EOF/OK──► end?──► Last
//!            │ ▲                        ▲   └─cursor──────────────────────►  │
//!            │ └─ file sent ─ LocalInfile│                                   │
//!            ├─prepared head────────────┘                                    │
//!            └─OK, ERR─────────────────────────────────────────────────────►─┘
//! ```
//! Fed the header and the first byte of each packet; asks for the whole payload only where a packet can end
//! something. Rows and definitions pass unseen. "Protocol::ProtocolText::Resultset",
//! "Protocol::COM_STMT_PREPARE Response" and "Protocol::OK_Packet" of the MySQL source documentation.

use super::command::ReplyShape;
use super::packet::{Header, MAX_PAYLOAD};
use super::wire::{Malformed, Reader};
use super::{CapabilityFlags, StatusFlags};

/// What a packet was, as far as anyone after the walk needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// A row, a definition, a column count, or the continuation of a long packet.
    Content,
    /// An OK packet, also one that ends a result set under DEPRECATE_EOF.
    Ok(StatusFlags),
    /// An EOF packet.
    Eof(StatusFlags),
    /// An ERR packet.
    Err,
    /// COM_STMT_PREPARE's head.
    Prepared(PreparedHead),
    /// The server asks the client for a file: packets go the other way until an empty one.
    LocalInfile,
}

/// What COM_STMT_PREPARE's first packet says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreparedHead {
    /// The server's statement id.
    pub id: u32,
    /// Number of columns of the result set, 0 when there is none.
    pub columns: u16,
    /// Number of parameters.
    pub parameters: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first packet of a reply or of one of its results.
    First,
    /// Column or parameter definitions: `left` to come, then perhaps an EOF packet, then `then`.
    Definitions { left: u64, then: After },
    /// The EOF packet behind definitions, where the client did not ask to do without.
    DefinitionsEof { then: After },
    /// Rows up to an EOF packet, or an OK packet with the header 0xFE.
    Rows,
    /// COM_FIELD_LIST: definitions up to an EOF packet.
    Fields,
    /// The reply is complete.
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Rows,
    ColumnDefinitions(u16),
    Last,
}

/// Follows the reply to one command, packet by packet.
#[derive(Debug, Clone)]
pub struct ReplyState {
    phase: Phase,
    shape: ReplyShape,
    deprecate_eof: bool,
    continued: bool,
    rows: bool,
}

impl ReplyState {
    /// The state before the first packet of a reply of this shape, on a connection with these capabilities.
    pub fn new(shape: ReplyShape, capabilities: CapabilityFlags) -> Self {
        let phase = match shape {
            ReplyShape::Nothing => Phase::Last,
            ReplyShape::Fields => Phase::Fields,
            ReplyShape::Rows => Phase::Rows,
            _ => Phase::First,
        };
        let deprecate_eof = capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        Self { phase, shape, deprecate_eof, continued: false, rows: false }
    }

    /// Whether the reply is complete.
    pub fn is_last(&self) -> bool {
        self.phase == Phase::Last
    }

    /// Whether it has, or had, a result set.
    pub fn has_rows(&self) -> bool {
        self.rows
    }

    /// Whether [`Self::packet`] must see this packet's whole payload, which begins with `first`.
    pub fn needs_whole(&self, header: Header, first: u8) -> bool {
        if self.continued || header.len == MAX_PAYLOAD {
            return false;
        }
        match self.phase {
            Phase::First | Phase::DefinitionsEof { .. } => true,
            Phase::Rows | Phase::Fields => first == 0xFF || self.ends_rows(header, first),
            Phase::Definitions { .. } => first == 0xFF,
            Phase::Last => false,
        }
    }

    /// 0xFE is also the first byte of a row whose first value is 16 MiB or longer: only the length tells.
    fn ends_rows(&self, header: Header, first: u8) -> bool {
        first == 0xFE && header.len < if self.deprecate_eof { MAX_PAYLOAD } else { 9 }
    }

    /// Takes the next packet; `payload` is whole where [`Self::needs_whole`] said so, else it may be cut anywhere.
    ///
    /// # Errors
    /// A packet that no server sends in this place: the connection's state is unknown from here on.
    pub fn packet(&mut self, header: Header, payload: &[u8]) -> Result<Packet, Malformed> {
        if std::mem::replace(&mut self.continued, header.is_continued()) {
            return Ok(Packet::Content);
        }
        let first = payload.first().copied();
        if first == Some(0xFF) && self.phase != Phase::Last {
            self.phase = Phase::Last;
            return Ok(Packet::Err);
        }
        match self.phase {
            Phase::First => self.first(payload),
            Phase::Definitions { left, then } => {
                self.definitions(left - 1, then);
                Ok(Packet::Content)
            }
            Phase::DefinitionsEof { then } => self.definitions_eof(payload, then),
            Phase::Rows | Phase::Fields if self.ends_rows(header, first.unwrap_or(0)) => {
                self.end_of_rows(payload)
            }
            Phase::Rows | Phase::Fields => Ok(Packet::Content),
            Phase::Last => Err(Malformed("a packet behind the end of a reply")),
        }
    }

    fn first(&mut self, payload: &[u8]) -> Result<Packet, Malformed> {
        let Some(&first) = payload.first() else {
            return Err(Malformed("an empty packet where a reply begins"));
        };
        match (self.shape, first) {
            (ReplyShape::Prepared, 0x00) => self.prepared_head(payload),
            (ReplyShape::Results | ReplyShape::ResultsOrCursor, 0xFB) => Ok(Packet::LocalInfile),
            (ReplyShape::Results | ReplyShape::ResultsOrCursor, 0x01..=0xFA | 0xFC..=0xFD) => {
                let left = Reader::new(payload).lenenc()?;
                if left == 0 {
                    return Err(Malformed("a result set without columns"));
                }
                self.phase = Phase::Definitions { left, then: After::Rows };
                self.rows = true;
                Ok(Packet::Content)
            }
            (_, 0x00) => {
                let status = ok_status(payload)?;
                self.end_of_result(status);
                Ok(Packet::Ok(status))
            }
            (_, 0xFE) => self.end_of_rows(payload),
            (ReplyShape::One, _) => {
                self.phase = Phase::Last;
                Ok(Packet::Content)
            }
            _ => Err(Malformed("an unknown first packet of a reply")),
        }
    }

    fn prepared_head(&mut self, payload: &[u8]) -> Result<Packet, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let head = PreparedHead { id: reader.u32()?, columns: reader.u16()?, parameters: reader.u16()? };
        if head.parameters > 0 {
            let then = After::ColumnDefinitions(head.columns);
            self.phase = Phase::Definitions { left: u64::from(head.parameters), then };
        } else {
            self.after(After::ColumnDefinitions(head.columns));
        }
        Ok(Packet::Prepared(head))
    }

    fn definitions(&mut self, left: u64, then: After) {
        if left > 0 {
            self.phase = Phase::Definitions { left, then };
        } else if self.deprecate_eof {
            self.after(then);
        } else {
            self.phase = Phase::DefinitionsEof { then };
        }
    }

    fn after(&mut self, then: After) {
        self.phase = match then {
            After::Rows => Phase::Rows,
            After::ColumnDefinitions(0) | After::Last => Phase::Last,
            After::ColumnDefinitions(n) => Phase::Definitions { left: u64::from(n), then: After::Last },
        };
    }

    fn definitions_eof(&mut self, payload: &[u8], then: After) -> Result<Packet, Malformed> {
        let status = eof_status(payload)?;
        // The flag alone says nothing: a procedure's own cursors raise it too.
        let cursor = status.contains(StatusFlags::SERVER_STATUS_CURSOR_EXISTS);
        if then == After::Rows && cursor && self.shape == ReplyShape::ResultsOrCursor {
            self.end_of_result(status); // the rows wait for COM_STMT_FETCH
        } else {
            self.after(then);
        }
        Ok(Packet::Eof(status))
    }

    fn end_of_rows(&mut self, payload: &[u8]) -> Result<Packet, Malformed> {
        if self.deprecate_eof {
            let status = ok_status(payload)?;
            self.end_of_result(status);
            Ok(Packet::Ok(status))
        } else {
            let status = eof_status(payload)?;
            self.end_of_result(status);
            Ok(Packet::Eof(status))
        }
    }

    fn end_of_result(&mut self, status: StatusFlags) {
        let more =
            self.shape == ReplyShape::Results && status.contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS);
        self.phase = if more { Phase::First } else { Phase::Last };
    }
}

/// The status flags of an OK packet, whatever its first byte.
fn ok_status(payload: &[u8]) -> Result<StatusFlags, Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    reader.lenenc()?;
    reader.lenenc()?;
    reader.u16().map(StatusFlags::from_bits_retain)
}

/// The status flags of an EOF packet.
fn eof_status(payload: &[u8]) -> Result<StatusFlags, Malformed> {
    let mut reader = Reader::new(payload);
    if reader.u8()? != 0xFE {
        return Err(Malformed("no EOF packet behind the definitions"));
    }
    reader.u16()?;
    reader.u16().map(StatusFlags::from_bits_retain)
}

#[cfg(test)]
pub(crate) mod tests;
