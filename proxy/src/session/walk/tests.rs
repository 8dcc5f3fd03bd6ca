use super::*;
use crate::protocol::command::ReplyShape;
use crate::protocol::packet::put_packet;
use crate::protocol::reply::tests::wire_matrix;
use proptest::prelude::*;

/// Walks over `bytes` as they would arrive in pieces that end at `cuts`; answers what the client gets.
fn relay(walk: &mut Walk, bytes: &[u8], cuts: &[usize], seen: &mut Observation) -> (Vec<u8>, Progress) {
    let mut out = Vec::new();
    let mut kept: Vec<u8> = Vec::new();
    let mut progress = Progress::More;
    let ends = cuts.iter().copied().chain([bytes.len()]);
    let mut from = 0;
    for end in ends {
        kept.extend_from_slice(&bytes[from..end]);
        from = end;
        let look = walk.look(&mut kept, seen).expect("a legal reply");
        out.extend_from_slice(&kept[look.span.clone()]);
        kept.drain(..look.span.end);
        progress = look.progress;
    }
    assert!(kept.is_empty() || progress != Progress::Last, "bytes behind the end");
    (out, progress)
}

fn walk(shape: ReplyShape, capabilities: CapabilityFlags) -> Walk {
    Walk::new(ReplyState::new(shape, capabilities), 1, capabilities)
}

#[test]
fn every_reply_passes_unchanged_wherever_it_is_cut_in_two() {
    for (name, shape, capabilities, bytes) in wire_matrix() {
        let whole = {
            let mut seen = Observation::default();
            let done = relay(&mut walk(shape, capabilities), &bytes, &[], &mut seen);
            assert_eq!(done, (bytes.clone(), Progress::Last), "{name}");
            (seen.status, seen.error)
        };
        for cut in 0..bytes.len() {
            let mut seen = Observation::default();
            let done = relay(&mut walk(shape, capabilities), &bytes, &[cut], &mut seen);
            assert_eq!(done, (bytes.clone(), Progress::Last), "{name}, cut at {cut}");
            assert_eq!((seen.status, seen.error), whole, "{name}, cut at {cut}");
        }
    }
}

proptest! {
    #[test]
    fn any_chunking_of_a_reply_gives_the_same_bytes(
        which in 0usize..30,
        mut cuts in proptest::collection::vec(0.0f64..1.0, 0..12),
    ) {
        let matrix = wire_matrix();
        let (_, shape, capabilities, bytes) = &matrix[which % matrix.len()];
        cuts.sort_by(f64::total_cmp);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let cuts: Vec<usize> = cuts.iter().map(|c| (c * bytes.len() as f64) as usize).collect();
        let done = relay(&mut walk(*shape, *capabilities), bytes, &cuts, &mut Observation::default());
        prop_assert_eq!(done, (bytes.clone(), Progress::Last));
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for shape in [ReplyShape::One, ReplyShape::Results, ReplyShape::Prepared, ReplyShape::Fields] {
            let mut bytes = bytes.clone();
            let _ = walk(shape, CapabilityFlags::empty()).look(&mut bytes, &mut Observation::default());
        }
    }
}

#[test]
fn a_packet_out_of_sequence_is_an_error() {
    let mut bytes = Vec::new();
    put_packet(&mut bytes, 2, b"\x00\x00\x00\x02\x00\x00\x00");
    let looked =
        walk(ReplyShape::One, CapabilityFlags::empty()).look(&mut bytes, &mut Observation::default());
    assert_eq!(looked, Err(Malformed("packets out of order")));
}

/// MariaDB 10.11.19's answer to `SET time_zone='+03:00', wait_timeout=66`, state change reported too.
const WITH_REPORT: &[u8] = b"\x00\x00\x00\x02\x40\x00\x00\x00\x28\
    \x00\x10\x0cwait_timeout\x0266\x00\x11\x09time_zone\x06+03:00\x02\x011";

fn rewritten(capabilities: CapabilityFlags, before: &[u8]) -> (Vec<u8>, Observation) {
    let mut bytes = before.to_vec();
    put_packet(&mut bytes, u8::try_from(before.len() / 11).expect("few packets") + 1, WITH_REPORT);
    let mut seen = Observation::default();
    let (out, progress) = relay(&mut walk(ReplyShape::Results, capabilities), &bytes, &[], &mut seen);
    assert_eq!(progress, Progress::Last);
    (out, seen)
}

#[test]
fn a_client_that_did_not_ask_for_session_tracking_gets_a_plain_ok() {
    let (out, seen) = rewritten(CapabilityFlags::empty(), b"");
    assert_eq!(out, b"\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00");
    assert_eq!(seen.track.len(), 0x28, "Telamon keeps the report");
}

#[test]
fn a_client_that_asked_for_session_tracking_gets_what_the_servers_defaults_report() {
    let (out, _) = rewritten(CapabilityFlags::CLIENT_SESSION_TRACK, b"");
    assert_eq!(out, b"\x1c\x00\x00\x01\x00\x00\x00\x02\x40\x00\x00\x00\x13\x00\x11\x09time_zone\x06+03:00");
}

#[test]
fn what_stands_before_a_shortened_packet_is_not_lost() {
    let first = b"\x07\x00\x00\x01\x00\x00\x00\x0a\x00\x00\x00"; // OK, more results exist
    let (out, _) = rewritten(CapabilityFlags::empty(), first);
    assert_eq!(out, [&first[..], b"\x07\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00"].concat());
}

#[test]
fn an_eof_packet_never_says_that_a_report_follows() {
    let mut bytes = Vec::new();
    let mut sequence = 1;
    for payload in [&b"\x01"[..], b"\x03def\x00", b"\xfe\x00\x00\x02\x40", b"\xfe\x00\x00\x02\x40"] {
        sequence = put_packet(&mut bytes, sequence, payload);
    }
    let mut walk = walk(ReplyShape::Results, CapabilityFlags::empty());
    let (out, _) = relay(&mut walk, &bytes, &[], &mut Observation::default());
    assert!(out.ends_with(b"\xfe\x00\x00\x02\x00"), "{out:?}");
}

#[test]
fn the_client_sees_telamons_statement_id_and_telamon_the_servers() {
    let mut bytes = Vec::new();
    put_packet(&mut bytes, 1, b"\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00");
    let mut walk = walk(ReplyShape::Prepared, CapabilityFlags::empty()).with_statement_id(Some(0x0102_0304));
    let mut seen = Observation::default();
    let (out, _) = relay(&mut walk, &bytes, &[], &mut seen);
    assert_eq!(&out[4..9], b"\x00\x04\x03\x02\x01");
    assert_eq!(seen.prepared.map(|head| head.id), Some(9));
}
