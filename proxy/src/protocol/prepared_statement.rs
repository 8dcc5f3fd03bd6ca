//! Heads of COM_STMT_*: the statement id, and where an execute's parameter types stand.

use super::wire::{Malformed, Reader};

/// The statement id in the payload of COM_STMT_EXECUTE, CLOSE, RESET, FETCH and SEND_LONG_DATA.
///
/// # Errors
/// [`Malformed`] when the payload ends before it.
pub fn statement_id(payload: &[u8]) -> Result<u32, Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    reader.u32()
}

/// Puts another statement id into such a payload, or into the head of COM_STMT_PREPARE's reply.
pub fn set_statement_id(payload: &mut [u8], id: u32) {
    if let Some(place) = payload.get_mut(1..5) {
        place.copy_from_slice(&id.to_le_bytes());
    }
}

/// The parameter a piece of long data belongs to, and the data. "Protocol::COM_STMT_SEND_LONG_DATA".
///
/// # Errors
/// [`Malformed`] when the payload ends before it.
pub fn long_data(payload: &[u8]) -> Result<(u16, &[u8]), Malformed> {
    let mut reader = Reader::new(payload);
    reader.bytes(5)?;
    Ok((reader.u16()?, reader.rest()))
}

/// Where the parts of a COM_STMT_EXECUTE stand. "Protocol::COM_STMT_EXECUTE".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute {
    /// The cursor type asked for; 0 is none.
    pub cursor: u8,
    /// Where the new-parameters-bound flag stands; `None` for a statement without parameters.
    pub bound_flag_at: Option<usize>,
    /// Whether the types of the parameters follow that flag.
    pub has_types: bool,
}

/// Length of an execute's fixed head: command, id, cursor type, iteration count.
const EXECUTE_HEAD: usize = 10;

impl Execute {
    /// Reads the head of an execute of a statement with `parameters` parameters.
    ///
    /// # Errors
    /// [`Malformed`] when it ends before the flag.
    pub fn parse(payload: &[u8], parameters: u16) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.bytes(5)?;
        let cursor = reader.u8()?;
        reader.u32()?;
        if parameters == 0 {
            return Ok(Self { cursor, bound_flag_at: None, has_types: false });
        }
        let bitmap = usize::from(parameters).div_ceil(8);
        reader.bytes(bitmap)?;
        let has_types = reader.u8()? == 1;
        Ok(Self { cursor, bound_flag_at: Some(EXECUTE_HEAD + bitmap), has_types })
    }

    /// The types in the payload, two bytes a parameter; `None` where it has none.
    pub fn types(self, payload: &[u8], parameters: u16) -> Option<&[u8]> {
        let at = self.bound_flag_at.filter(|_| self.has_types)? + 1;
        payload.get(at..at + 2 * usize::from(parameters))
    }

    /// The payload with `types` put in, for a connection where they were never bound.
    pub fn with_types(self, payload: &[u8], types: &[u8]) -> Vec<u8> {
        let at = self.bound_flag_at.unwrap_or(payload.len()).min(payload.len());
        let (head, tail) = payload.split_at(at);
        let mut out = Vec::with_capacity(payload.len() + types.len());
        out.extend_from_slice(head);
        out.push(1);
        out.extend_from_slice(types);
        out.extend_from_slice(tail.get(1..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Execute of statement 7 with two parameters, types LONG and VAR_STRING, values 5 and "ab".
    const FULL: &[u8] = b"\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x03\0\xfd\0\x05\0\0\0\x02ab";
    /// The same without types: they were bound before.
    const SHORT: &[u8] = b"\x17\x07\0\0\0\0\x01\0\0\0\0\0\x05\0\0\0\x02ab";

    #[test]
    fn an_execute_without_types_becomes_one_with_the_remembered_types() {
        let full = Execute::parse(FULL, 2).expect("well-formed");
        let types = full.types(FULL, 2).expect("it has types");
        assert_eq!(types, b"\x03\0\xfd\0");
        let short = Execute::parse(SHORT, 2).expect("well-formed");
        assert_eq!(short.types(SHORT, 2), None);
        assert_eq!(short.with_types(SHORT, types), FULL);
    }

    #[test]
    fn an_id_can_be_read_and_changed() {
        let mut payload = FULL.to_vec();
        set_statement_id(&mut payload, 0x0102_0304);
        assert_eq!(statement_id(&payload), Ok(0x0102_0304));
        assert!(statement_id(&payload[..4]).is_err());
        assert_eq!(long_data(b"\x18\x01\0\0\0\x02\0xyz"), Ok((2, &b"xyz"[..])));
    }

    #[test]
    fn a_cut_execute_is_an_error_and_not_a_panic() {
        for end in 0..FULL.len() {
            if let Ok(head) = Execute::parse(&FULL[..end], 2) {
                let _ = head.types(&FULL[..end], 2);
                let _ = head.with_types(&FULL[..end], b"abcd");
            }
        }
    }
}
