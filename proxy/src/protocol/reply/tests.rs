use super::*;
use crate::protocol::packet::{HEADER_LEN, put_packet};
use proptest::prelude::*;

const EOF: CapabilityFlags = CapabilityFlags::empty();
const NO_EOF: CapabilityFlags = CapabilityFlags::CLIENT_DEPRECATE_EOF;

/// One legal reply: what the command was, whether the client does without EOF packets, and the payloads.
struct Reply {
    name: &'static str,
    shape: ReplyShape,
    capabilities: CapabilityFlags,
    payloads: Vec<Vec<u8>>,
    /// What the last packet was.
    end: Packet,
}

const AUTOCOMMIT: StatusFlags = StatusFlags::SERVER_STATUS_AUTOCOMMIT;

fn reply(
    name: &'static str,
    shape: ReplyShape,
    capabilities: CapabilityFlags,
    payloads: &[&[u8]],
    end: Packet,
) -> Reply {
    Reply { name, shape, capabilities, payloads: payloads.iter().map(|p| p.to_vec()).collect(), end }
}

const OK: &[u8] = b"\x00\x00\x00\x02\x00\x00\x00";
const OK_MORE: &[u8] = b"\x00\x00\x00\x0a\x00\x00\x00";
const ERR: &[u8] = b"\xff\x48\x04#HY000No tables used";
const EOF_PACKET: &[u8] = b"\xfe\x00\x00\x02\x00";
const EOF_MORE: &[u8] = b"\xfe\x00\x00\x0a\x00";
const EOF_CURSOR: &[u8] = b"\xfe\x00\x00\x42\x00";
/// The OK packet that ends a result set where there are no EOF packets.
const OK_END: &[u8] = b"\xfe\x00\x00\x02\x00\x00\x00";
const OK_END_MORE: &[u8] = b"\xfe\x00\x00\x0a\x00\x00\x00";
const OK_CURSOR: &[u8] = b"\xfe\x00\x00\x42\x00\x00\x00";
/// `SELECT 1` of MariaDB 10.11: the definition of its column.
const COLUMN: &[u8] = b"\x03def\x00\x00\x00\x011\x00\x0c\x3f\x00\x01\x00\x00\x00\x03\x81\x00\x00\x00\x00";
const ROW: &[u8] = b"\x011";
const NULL_ROW: &[u8] = b"\xfb";
const BINARY_ROW: &[u8] = b"\x00\x00\x01\x00\x00\x00";
/// Statement 1, one column, two parameters.
const PREPARED: &[u8] = b"\x00\x01\x00\x00\x00\x01\x00\x02\x00\x00\x00\x00";
const PREPARED_BARE: &[u8] = b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";

/// Every shape of reply × with and without EOF packets × every way it can end.
fn matrix() -> Vec<Reply> {
    use ReplyShape::{Fields, One, Prepared, Results, ResultsOrCursor, Rows};
    let cursor = AUTOCOMMIT | StatusFlags::SERVER_STATUS_CURSOR_EXISTS;
    let (ok, eof) = (Packet::Ok(AUTOCOMMIT), Packet::Eof(AUTOCOMMIT));
    let bare = Packet::Prepared(PreparedHead { id: 1, columns: 0, parameters: 0 });
    vec![
        reply("OK to a ping", One, EOF, &[OK], ok),
        reply("EOF to COM_SET_OPTION", One, EOF, &[EOF_PACKET], eof),
        reply("OK in EOF's place", One, NO_EOF, &[OK_END], ok),
        reply("ERR to COM_INIT_DB", One, EOF, &[ERR], Packet::Err),
        reply("COM_STATISTICS", One, EOF, &[b"Uptime: 5  Threads: 1"], Packet::Content),
        reply("OK", Results, EOF, &[OK], ok),
        reply("ERR", Results, NO_EOF, &[ERR], Packet::Err),
        reply("rows", Results, EOF, &[b"\x01", COLUMN, EOF_PACKET, ROW, NULL_ROW, EOF_PACKET], eof),
        reply("rows, no EOF", Results, NO_EOF, &[b"\x01", COLUMN, ROW, NULL_ROW, OK_END], ok),
        reply("no rows", Results, EOF, &[b"\x02", COLUMN, COLUMN, EOF_PACKET, EOF_PACKET], eof),
        reply("no rows, no EOF", Results, NO_EOF, &[b"\x02", COLUMN, COLUMN, OK_END], ok),
        reply("ERR among rows", Results, EOF, &[b"\x01", COLUMN, EOF_PACKET, ROW, ERR], Packet::Err),
        reply("ERR among rows, no EOF", Results, NO_EOF, &[b"\x01", COLUMN, ROW, ERR], Packet::Err),
        reply("ERR among definitions", Results, EOF, &[b"\x02", COLUMN, ERR], Packet::Err),
        reply("two OKs", Results, EOF, &[OK_MORE, OK], ok),
        reply(
            "CALL with two results",
            Results,
            EOF,
            &[b"\x01", COLUMN, EOF_PACKET, ROW, EOF_MORE, b"\x01", COLUMN, EOF_PACKET, EOF_MORE, OK],
            ok,
        ),
        reply(
            "CALL with two results, no EOF",
            Results,
            NO_EOF,
            &[b"\x01", COLUMN, ROW, OK_END_MORE, b"\x01", COLUMN, OK_END_MORE, OK],
            ok,
        ),
        reply("ERR in the second result", Results, EOF, &[OK_MORE, ERR], Packet::Err),
        reply("a procedure's own cursor", Results, EOF, &[b"\x01", COLUMN, EOF_CURSOR, ROW, EOF_PACKET], eof),
        reply(
            "binary rows",
            ResultsOrCursor,
            EOF,
            &[b"\x01", COLUMN, EOF_PACKET, BINARY_ROW, EOF_PACKET],
            eof,
        ),
        reply("a cursor", ResultsOrCursor, EOF, &[b"\x01", COLUMN, EOF_CURSOR], Packet::Eof(cursor)),
        reply("a cursor, no EOF", ResultsOrCursor, NO_EOF, &[b"\x01", COLUMN, OK_CURSOR], Packet::Ok(cursor)),
        reply("fetched rows", Rows, EOF, &[BINARY_ROW, BINARY_ROW, EOF_CURSOR], Packet::Eof(cursor)),
        reply("fetched rows, no EOF", Rows, NO_EOF, &[BINARY_ROW, OK_CURSOR], Packet::Ok(cursor)),
        reply("nothing fetched", Rows, EOF, &[ERR], Packet::Err),
        reply("fields", Fields, EOF, &[COLUMN, COLUMN, EOF_PACKET], eof),
        reply("fields, no EOF", Fields, NO_EOF, &[COLUMN, OK_END], ok),
        reply("no such table", Fields, EOF, &[ERR], Packet::Err),
        reply("prepared, nothing to say", Prepared, EOF, &[PREPARED_BARE], bare),
        reply("prepared", Prepared, EOF, &[PREPARED, COLUMN, COLUMN, EOF_PACKET, COLUMN, EOF_PACKET], eof),
        reply("prepared, no EOF", Prepared, NO_EOF, &[PREPARED, COLUMN, COLUMN, COLUMN], Packet::Content),
        reply("not prepared", Prepared, EOF, &[ERR], Packet::Err),
    ]
}

/// Feeds a reply's packets; answers what the last one was.
fn walk(reply: &Reply) -> (ReplyState, Packet) {
    let mut state = ReplyState::new(reply.shape, reply.capabilities);
    let mut last = Packet::Content;
    for (i, payload) in reply.payloads.iter().enumerate() {
        assert!(!state.is_last(), "{}: over before packet {i}", reply.name);
        let header = Header { len: payload.len(), sequence: 0 };
        let seen = if state.needs_whole(header, payload[0]) { payload } else { &payload[..1] };
        last = state.packet(header, seen).unwrap_or_else(|e| panic!("{}: packet {i}: {e}", reply.name));
    }
    (state, last)
}

#[test]
fn every_legal_reply_ends_with_its_last_packet_and_not_before() {
    for reply in matrix() {
        let (state, last) = walk(&reply);
        assert!(state.is_last(), "{}: it does not end", reply.name);
        assert_eq!(last, reply.end, "{}", reply.name);
    }
}

#[test]
fn a_command_without_reply_is_over_at_once() {
    assert!(ReplyState::new(ReplyShape::Nothing, EOF).is_last());
}

#[test]
fn a_row_that_begins_with_0xfe_is_an_end_only_when_it_is_short() {
    for capabilities in [EOF, NO_EOF] {
        let mut state = ReplyState::new(ReplyShape::Rows, capabilities);
        let long = Header { len: MAX_PAYLOAD, sequence: 0 };
        assert!(!state.needs_whole(long, 0xFE));
        assert_eq!(state.packet(long, b"\xfe"), Ok(Packet::Content));
        // What continues it may begin with anything, also with what would be an ERR packet.
        let rest = Header { len: 5, sequence: 1 };
        assert!(!state.needs_whole(rest, 0xFF));
        assert_eq!(state.packet(rest, b"\xff"), Ok(Packet::Content));
        assert!(!state.is_last());
    }
    let mut state = ReplyState::new(ReplyShape::Rows, EOF);
    assert_eq!(
        state.packet(Header { len: 9, sequence: 0 }, b"\xfe"),
        Ok(Packet::Content),
        "too long for an EOF"
    );
}

#[test]
fn a_request_for_a_local_file_leaves_the_reply_open() {
    let mut state = ReplyState::new(ReplyShape::Results, EOF);
    let header = Header { len: 6, sequence: 1 };
    assert_eq!(state.packet(header, b"\xfb/file"), Ok(Packet::LocalInfile));
    assert!(!state.is_last());
    assert_eq!(state.packet(Header { len: OK.len(), sequence: 4 }, OK), Ok(Packet::Ok(AUTOCOMMIT)));
    assert!(state.is_last());
}

proptest! {
    #[test]
    fn random_packets_never_panic(
        shape in 0usize..6,
        deprecate in any::<bool>(),
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..12),
    ) {
        use ReplyShape::{Fields, One, Prepared, Results, ResultsOrCursor, Rows};
        let shape = [One, Results, ResultsOrCursor, Prepared, Fields, Rows][shape];
        let mut state = ReplyState::new(shape, if deprecate { NO_EOF } else { EOF });
        for payload in payloads {
            let header = Header { len: payload.len(), sequence: 0 };
            if state.packet(header, &payload).is_err() {
                break;
            }
        }
    }
}

/// All packets of a reply as they are on the wire.
pub(crate) fn wire(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sequence = 1;
    for payload in payloads {
        sequence = put_packet(&mut bytes, sequence, payload);
    }
    assert!(bytes.len() >= payloads.len() * HEADER_LEN);
    bytes
}

/// The matrix as bytes, for whoever walks over them: name, shape, capabilities, bytes.
pub(crate) fn wire_matrix() -> Vec<(&'static str, ReplyShape, CapabilityFlags, Vec<u8>)> {
    matrix().into_iter().map(|r| (r.name, r.shape, r.capabilities, wire(&r.payloads))).collect()
}
