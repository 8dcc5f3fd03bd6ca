//! The protocol's basic types: fixed and length-encoded integers, length-encoded and NUL-ended strings.
//!
//! Layouts: "Protocol::FixedLengthInteger", "Protocol::LengthEncodedInteger" and "Protocol::LengthEncodedString"
//! of the MySQL source documentation.

/// Bytes that do not follow the protocol; the text names what was being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed packet: {0}")]
pub struct Malformed(pub &'static str);

/// A cursor over one payload that never reads past its end.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True when all bytes have been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(Malformed("it ends too early"))?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformed("it ends too early"))?;
        self.rest = tail;
        Ok(*head)
    }

    /// A one-byte integer.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[b]| b)
    }

    /// A two-byte little-endian integer.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// A four-byte little-endian integer.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length-encoded integer. 0xFB (NULL) and 0xFF are not integers here.
    pub fn lenenc(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            short @ 0..=0xFA => Ok(u64::from(short)),
            0xFC => self.u16().map(u64::from),
            0xFD => self.array::<3>().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xFE => self.array().map(u64::from_le_bytes),
            _ => Err(Malformed("not a length-encoded integer")),
        }
    }

    /// A length-encoded string.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.lenenc()?;
        self.bytes(usize::try_from(len).map_err(|_| Malformed("a length beyond memory"))?)
    }

    /// A string up to a NUL byte, which is consumed.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.rest.iter().position(|b| *b == 0).ok_or(Malformed("a string without its NUL"))?;
        let text = self.bytes(end)?;
        self.u8()?;
        Ok(text)
    }

    /// A string up to a NUL byte or the end of the payload: what servers and clients accept for a last field.
    pub fn nul_or_end_bytes(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| std::mem::take(&mut self.rest))
    }
}

/// Appends a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xFA => out.extend_from_slice(&bytes[..1]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a length-encoded string.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, text: &[u8]) {
    put_lenenc(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Appends a string and its NUL byte.
pub fn put_nul_bytes(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_length_encoded_integer_survives_the_round_trip(value in any::<u64>(), shift in 0u32..64) {
            let mut bytes = Vec::new();
            put_lenenc(&mut bytes, value >> shift);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.lenenc(), Ok(value >> shift));
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Reader::new(&bytes);
            while reader.lenenc_bytes().is_ok() && !reader.is_empty() {}
            let _ = reader.nul_bytes();
            let _ = reader.nul_or_end_bytes();
        }
    }

    #[test]
    fn the_borders_of_the_length_encoding_are_those_of_the_manual() {
        for (value, len) in
            [(250u64, 1), (251, 3), (0xFFFF, 3), (0x1_0000, 4), (0xFF_FFFF, 4), (0x100_0000, 9)]
        {
            let mut bytes = Vec::new();
            put_lenenc(&mut bytes, value);
            assert_eq!(bytes.len(), len, "{value}");
        }
    }
}
