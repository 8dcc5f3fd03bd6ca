//! Eight bytes of a text at a time, in one number: which of them end a word, a run of digits or a string.
//!
//! Each answer has the highest bit of those bytes set that the name says; the first byte of the text is the
//! lowest of the number.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x80 * ONES;

/// The eight bytes from `at` on, with zeros for those behind the end of the text.
#[inline]
pub(super) fn eight_at(text: &[u8], at: usize) -> u64 {
    match text.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => at_the_end(text, at),
    }
}

#[cold]
#[inline(never)]
fn at_the_end(text: &[u8], at: usize) -> u64 {
    text.iter().skip(at).rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte))
}

/// Of `eight`, the first `length` bytes, at most seven; zeros for the others.
#[inline]
pub(super) fn first_bytes(eight: u64, length: usize) -> u64 {
    debug_assert!(length < 8);
    eight & !(u64::MAX << (8 * length))
}

/// How many bytes stand before the first that an answer names; 8 when it names none.
#[inline]
pub(super) fn bytes_before(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}

/// The bytes that cannot be part of an unquoted name: all but letters, digits, `_`, `$` and those above 0x7F.
#[inline]
pub(super) fn not_of_word(eight: u64) -> u64 {
    let low = eight & !HIGHS;
    let letter = between(low | (0x20 * ONES), b'a', b'z');
    let word = letter | between(low, b'0', b'9') | is(low, b'_') | is(low, b'$') | eight;
    !word & HIGHS
}

/// The bytes that are no digits.
#[inline]
pub(super) fn not_of_number(eight: u64) -> u64 {
    !between(eight & !HIGHS, b'0', b'9') & HIGHS | eight & HIGHS
}

/// The bytes above 0x7F.
#[inline]
pub(super) fn high(eight: u64) -> u64 {
    eight & HIGHS
}

/// The first byte that is one of two, exactly; what it says of those behind it is not to be relied on.
#[inline]
pub(super) fn first_of(eight: u64, one: u8, other: u8) -> u64 {
    let zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes & HIGHS;
    zero(eight ^ (u64::from(one) * ONES)) | zero(eight ^ (u64::from(other) * ONES))
}

/// A word's bytes without ASCII's case: alike for no other two words, though `_` is not itself any more.
#[inline]
pub(super) fn fold_word(eight: u64) -> u64 {
    eight | ((!eight & HIGHS) >> 2)
}

/// The bytes from `first` to `last`, for bytes below 0x80; the lower bits are not to be relied on.
#[inline]
fn between(low: u64, first: u8, last: u8) -> u64 {
    let from = low + (u64::from(0x80 - first) * ONES);
    let beyond = low + (u64::from(0x80 - last - 1) * ONES);
    from & !beyond
}

/// The bytes that are `byte`, for bytes below 0x80; the lower bits are not to be relied on.
#[inline]
fn is(low: u64, byte: u8) -> u64 {
    !((low ^ (u64::from(byte) * ONES)) + (0x7f * ONES))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each byte, at each place among neighbours that would carry over, what an answer says of it.
    fn all(answer: impl Fn(u64) -> u64, expected: impl Fn(u8) -> bool) {
        for byte in 0..=u8::MAX {
            for neighbour in [0, b' ', b'a', b'9', 0x7f, 0x80, 0xff] {
                for place in 0..8 {
                    let mut bytes = [neighbour; 8];
                    bytes[place] = byte;
                    let found = answer(u64::from_le_bytes(bytes)).to_le_bytes();
                    assert!(found.iter().all(|bits| bits & 0x7f == 0));
                    assert_eq!(found[place] != 0, expected(byte), "{byte:#x} by {neighbour:#x}");
                }
            }
        }
    }

    #[test]
    fn every_byte_is_told_apart_whatever_stands_beside_it() {
        all(not_of_word, |byte| {
            !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte > 0x7f)
        });
        all(not_of_number, |byte| !byte.is_ascii_digit());
        all(high, |byte| byte > 0x7f);
    }

    #[test]
    fn the_first_of_two_bytes_is_found_exactly() {
        for (text, place) in
            [(b"abc'e\\'h", 3), (b"\\bcdefg'", 0), (b"abcdefgh", 8), (b"(&\\'\x80\xff\xa7\xdc", 2)]
        {
            let found = first_of(u64::from_le_bytes(*text), b'\'', b'\\');
            assert_eq!(bytes_before(found), place, "{text:?}");
        }
        for byte in 0..=u8::MAX {
            let found = first_of(u64::from_le_bytes([byte; 8]), b'\'', b'\\');
            assert_eq!(found != 0, byte == b'\'' || byte == b'\\', "{byte:#x}");
        }
    }

    #[test]
    fn behind_the_end_of_the_text_there_are_zeros() {
        let text = b"0123456789";
        for at in 0..14 {
            let mut expected = [0; 8];
            let rest = &text[at.min(10)..];
            let length = rest.len().min(8);
            expected[..length].copy_from_slice(&rest[..length]);
            assert_eq!(eight_at(text, at).to_le_bytes(), expected, "{at}");
        }
        assert_eq!(first_bytes(u64::MAX, 0), 0);
        assert_eq!(first_bytes(u64::MAX, 3), 0xff_ffff);
    }

    #[test]
    fn words_that_differ_by_more_than_case_stay_different() {
        let words = (0..=u8::MAX).filter(|byte| not_of_word(u64::from_le_bytes([*byte; 8])) == 0);
        let folded: std::collections::HashMap<u64, u8> =
            words.map(|byte| (fold_word(u64::from_le_bytes([byte; 8])), byte.to_ascii_lowercase())).collect();
        assert_eq!(folded.len(), 26 + 10 + 2 + 128);
        for (fold, byte) in folded {
            assert_eq!(fold_word(u64::from_le_bytes([byte.to_ascii_uppercase(); 8])), fold, "{byte:#x}");
            assert_ne!(fold, fold_word(0), "{byte:#x} is no padding");
        }
    }
}
