//! One look at the bytes of a reply: what of them goes to the client, and what they say.
//!
//! Pure: bytes in, a span and a verdict out. Packet headers are walked in place; rows pass unseen. Only an OK packet
//! with a session-state report is changed (the report is Telamon's, the client gets what it would have got), and
//! the statement id in COM_STMT_PREPARE's head.

use crate::protocol::packet::{HEADER_LEN, Header};
use crate::protocol::prepared_statement::set_statement_id;
use crate::protocol::reply::{Packet, PreparedHead, ReplyState};
use crate::protocol::response::{Counts, ErrPacket, OkPacket};
use crate::protocol::session_track::{Changes, Wanted};
use crate::protocol::wire::put_lenenc_bytes;
use crate::protocol::{CapabilityFlags, Malformed, StatusFlags};
use std::ops::Range;

/// What a reply said, gathered packet by packet.
#[derive(Debug, Default)]
pub(super) struct Observation {
    /// The session's status after the reply; `None` where no packet had any.
    pub(super) status: Option<StatusFlags>,
    /// The number of the ERR packet that ended it.
    pub(super) error: Option<u16>,
    /// That packet's payload.
    pub(super) error_packet: Option<Vec<u8>>,
    /// Warnings that the statement had; of several, the most that one of them had.
    pub(super) warnings: u16,
    /// Whether it had a result set.
    pub(super) rows: bool,
    /// Whether it gave an insert id.
    pub(super) gave_insert_id: bool,
    /// COM_STMT_PREPARE's head, with the server's own statement id.
    pub(super) prepared: Option<PreparedHead>,
    /// The session-state reports, one behind the other.
    pub(super) track: Vec<u8>,
    /// How much of them has been looked through for writes.
    pub(super) published: usize,
    /// What of a report is for the client, if it asked for reports. Not part of the reply: it stays.
    pub(super) wanted: Wanted,
    /// Whether a cursor was left open.
    pub(super) cursor: bool,
    /// Whether it ended in an EOF packet, which has no room for a session-state report.
    pub(super) no_report: bool,
    /// Whether the whole reply was kept from the client.
    pub(super) withheld: bool,
    /// Whether an EOF packet said that the session's state changed, and could not say how.
    pub(super) hidden_change: bool,
    /// Whether the client was asked for a file, so that its command is no longer in its input.
    pub(super) asked_for_file: bool,
}

impl Observation {
    /// Forgets everything, but keeps its memory for the next reply.
    pub(super) fn clear(&mut self) {
        self.track.clear();
        self.published = 0;
        self.status = None;
        self.error = None;
        self.error_packet = None;
        self.warnings = 0;
        self.rows = false;
        self.gave_insert_id = false;
        self.prepared = None;
        self.cursor = false;
        self.no_report = false;
        self.withheld = false;
        self.hidden_change = false;
        self.asked_for_file = false;
    }
}

/// How far a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// More packets follow.
    More,
    /// The client is asked for a file; the packet that asks is in the span.
    LocalInfile,
    /// That was all.
    Last,
}

/// What one look came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// The bytes for the client. They may begin later than the bytes looked at where something was cut out.
    pub(super) span: Range<usize>,
    /// How far it has come.
    pub(super) progress: Progress,
}

/// The walk over one reply.
#[derive(Debug)]
pub(super) struct Walk {
    state: ReplyState,
    sequence: u8,
    /// Bytes of a passing packet's payload that are still to come.
    passing: usize,
    client: CapabilityFlags,
    /// The id that the client is to see in COM_STMT_PREPARE's head.
    statement_id: Option<u32>,
    started: bool,
}

impl Walk {
    /// Over a reply whose first packet has id `sequence`, for a client with these capabilities.
    pub(super) fn new(state: ReplyState, sequence: u8, client: CapabilityFlags) -> Self {
        Self { state, sequence, passing: 0, client, statement_id: None, started: false }
    }

    /// The same, with the statement id that the client is to see.
    pub(super) fn with_statement_id(self, id: Option<u32>) -> Self {
        Self { statement_id: id, ..self }
    }

    /// Whether the reply has a result set.
    pub(super) fn has_rows(&self) -> bool {
        self.state.has_rows()
    }

    /// Whether any of the reply has been seen.
    pub(super) fn has_started(&self) -> bool {
        self.started
    }

    /// The id of the next packet, for an ERR packet that must end the reply; `None` inside a packet.
    pub(super) fn next_sequence(&self) -> Option<u8> {
        (self.passing == 0).then_some(self.sequence)
    }

    /// The client has sent the file, ended by the packet before `sequence`.
    pub(super) fn file_sent(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Whether there is no reply to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.state.is_last() && self.passing == 0
    }

    /// Walks over `bytes`, which begin where the last look's span ended.
    ///
    /// # Errors
    /// Bytes that no server sends here. What is before them is lost with the connection.
    pub(super) fn look(&mut self, bytes: &mut [u8], seen: &mut Observation) -> Result<Look, Malformed> {
        let mut start = 0;
        let mut at = 0;
        let mut progress = Progress::More;
        while progress == Progress::More {
            let step = self.passing.min(bytes.len() - at);
            at += step;
            self.passing -= step;
            if self.passing > 0 {
                break;
            }
            if self.state.is_last() {
                progress = Progress::Last;
                break;
            }
            let Some(header) = self.next_header(bytes, at) else { break };
            self.started = true;
            self.sequence = check_sequence(header, self.sequence)?;
            let body = at + HEADER_LEN..(at + HEADER_LEN + header.len).min(bytes.len());
            let packet = self.state.packet(header, &bytes[body.clone()])?;
            at = body.start;
            self.passing = header.len;
            match packet {
                Packet::Content => {}
                Packet::LocalInfile => {
                    at = body.end;
                    self.passing = 0;
                    progress = Progress::LocalInfile;
                }
                other => {
                    let cut = self.note(other, &mut bytes[..body.end], body.start, seen);
                    if cut > 0 {
                        bytes.copy_within(start..body.end - cut, start + cut);
                        start += cut;
                    }
                }
            }
        }
        Ok(Look { span: start..at, progress })
    }

    /// The next packet's header, once enough of the packet is there.
    fn next_header(&self, bytes: &[u8], at: usize) -> Option<Header> {
        let rest = bytes.get(at..)?;
        let header = Header::peek(rest)?;
        let there = rest.len() - HEADER_LEN;
        let first = match rest.get(HEADER_LEN) {
            Some(first) => *first,
            None if header.len == 0 => 0,
            None => return None,
        };
        (there >= header.len || !self.state.needs_whole(header, first)).then_some(header)
    }

    /// Notes what a packet that ends something says. The packet's payload goes from `body` to the end of `bytes`;
    /// answers by how many bytes it is shorter now.
    fn note(&self, packet: Packet, bytes: &mut [u8], body: usize, seen: &mut Observation) -> usize {
        match packet {
            Packet::Ok(status) | Packet::Eof(status) => {
                seen.status = Some(status);
                let counts = Counts::of(&bytes[body..], matches!(packet, Packet::Eof(_)));
                seen.warnings = seen.warnings.max(counts.warnings);
                seen.gave_insert_id |= counts.insert_id;
                seen.no_report = matches!(packet, Packet::Eof(_));
                seen.cursor = status.contains(StatusFlags::SERVER_STATUS_CURSOR_EXISTS);
                let reported = status.contains(StatusFlags::SERVER_SESSION_STATE_CHANGED);
                if reported && seen.no_report {
                    seen.hidden_change = true;
                    let status = status & !StatusFlags::SERVER_SESSION_STATE_CHANGED;
                    bytes[body + 3..body + 5].copy_from_slice(&status.bits().to_le_bytes());
                } else if reported {
                    return self.without_report(bytes, body, seen);
                }
            }
            Packet::Err => {
                let error = ErrPacket::parse(&bytes[body..]);
                seen.error = Some(error.map_or(0, |e| e.code));
                seen.error_packet = Some(bytes[body..].to_vec());
            }
            Packet::Prepared(head) => {
                seen.prepared = Some(head);
                if let Some(id) = self.statement_id {
                    set_statement_id(&mut bytes[body..], id);
                }
            }
            Packet::Content | Packet::LocalInfile => {}
        }
        0
    }

    /// Takes out of an OK packet what is not the client's; answers by how many bytes it is shorter now.
    fn without_report(&self, bytes: &mut [u8], body: usize, seen: &mut Observation) -> usize {
        let Some(shorter) = rewritten_ok(&bytes[body..], self.client, seen) else { return 0 };
        let header = Header { len: shorter.len(), sequence: bytes[body - 1] };
        bytes[body - HEADER_LEN..body].copy_from_slice(&header.bytes());
        bytes[body..body + shorter.len()].copy_from_slice(&shorter);
        bytes.len() - body - shorter.len()
    }
}

fn check_sequence(header: Header, expected: u8) -> Result<u8, Malformed> {
    if header.sequence == expected {
        Ok(expected.wrapping_add(1))
    } else {
        Err(Malformed("packets out of order"))
    }
}

/// The OK packet as the client would have got it without Telamon's own session tracking; adds the report to
/// what was seen. `None` where it can stay as it is.
fn rewritten_ok(payload: &[u8], client: CapabilityFlags, seen: &mut Observation) -> Option<Vec<u8>> {
    let ok = OkPacket::parse(payload).ok()?;
    seen.track.extend_from_slice(ok.track);
    let mut kept = Vec::new();
    if client.contains(CapabilityFlags::CLIENT_SESSION_TRACK) {
        for (change, bytes) in Changes::new(ok.track).flatten() {
            if seen.wanted.includes(&change) {
                kept.extend_from_slice(bytes);
            }
        }
        if kept.len() == ok.track.len() {
            return None;
        }
    }
    let mut status = ok.status;
    status.set(StatusFlags::SERVER_SESSION_STATE_CHANGED, !kept.is_empty());
    let mut out = payload[..ok.head_len].to_vec();
    out[ok.status_at..ok.status_at + 2].copy_from_slice(&status.bits().to_le_bytes());
    if !ok.info.is_empty() || !kept.is_empty() {
        put_lenenc_bytes(&mut out, ok.info);
    }
    if !kept.is_empty() {
        put_lenenc_bytes(&mut out, &kept);
    }
    Some(out)
}

#[cfg(test)]
mod tests;
