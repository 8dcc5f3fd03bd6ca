//! Packet headers, and the split of long payloads.
//!
//! "Protocol::Packet": three bytes of length, one of sequence id. A payload of 0xFF_FFFF bytes and more goes on in
//! further packets; the last one is shorter than 0xFF_FFFF, if need be empty.

/// Length of a packet header in bytes.
pub const HEADER_LEN: usize = 4;
/// The longest payload of one packet, in bytes; a packet of this length is continued by the next.
pub const MAX_PAYLOAD: usize = 0xFF_FFFF;

/// The four bytes before each payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the payload in bytes, at most [`MAX_PAYLOAD`].
    pub len: usize,
    /// Counts the packets of one command and its reply, modulo 256.
    pub sequence: u8,
}

impl Header {
    /// Reads a header from the front of `bytes`; `None` while fewer than four are there.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, sequence] = *bytes.first_chunk::<HEADER_LEN>()?;
        Some(Self { len: u32::from_le_bytes([a, b, c, 0]) as usize, sequence })
    }

    /// The header's bytes. Lengths over [`MAX_PAYLOAD`] do not exist: see [`put_packet`].
    pub fn bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, ..] = self.len.to_le_bytes();
        [a, b, c, self.sequence]
    }

    /// Whether the payload goes on in the next packet.
    pub fn is_continued(self) -> bool {
        self.len == MAX_PAYLOAD
    }
}

/// Appends `payload` as one or more packets, the first with id `sequence`; answers the id after the last.
pub fn put_packet(out: &mut Vec<u8>, sequence: u8, payload: &[u8]) -> u8 {
    let mut sequence = sequence;
    let mut rest = payload;
    loop {
        let (now, later) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        out.extend_from_slice(&Header { len: now.len(), sequence }.bytes());
        out.extend_from_slice(now);
        sequence = sequence.wrapping_add(1);
        if now.len() < MAX_PAYLOAD {
            return sequence;
        }
        rest = later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_exactly_the_maximum_is_followed_by_an_empty_packet() {
        let mut out = Vec::new();
        let next = put_packet(&mut out, 255, &vec![7; MAX_PAYLOAD]);
        assert_eq!(next, 1, "two packets, counted modulo 256");
        assert_eq!(Header::peek(&out), Some(Header { len: MAX_PAYLOAD, sequence: 255 }));
        assert_eq!(Header::peek(&out[HEADER_LEN + MAX_PAYLOAD..]), Some(Header { len: 0, sequence: 0 }));
        assert_eq!(out.len(), 2 * HEADER_LEN + MAX_PAYLOAD);
    }

    #[test]
    fn a_header_needs_four_bytes() {
        assert_eq!(Header::peek(&[1, 0, 0]), None);
        assert_eq!(Header::peek(&[1, 0, 0, 9, 5]), Some(Header { len: 1, sequence: 9 }));
    }
}
