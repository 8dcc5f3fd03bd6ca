//! Lines of any length, of which a bounded part is kept.

use std::io::{self, BufRead};

/// Reads the next line into `line`, without its end; false at the end of the input. Bytes beyond `most` are
/// read and dropped.
///
/// # Errors
/// As the system gives them.
pub(super) fn next(input: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        line.extend_from_slice(&part[..part.len().min(most.saturating_sub(line.len()))]);
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_and_long_ones_are_cut() {
        let mut input = io::BufReader::with_capacity(3, &b"ab\r\n\nabcdefgh\nlast"[..]);
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while next(&mut input, &mut line, 5).unwrap() {
            lines.push(String::from_utf8(line.clone()).unwrap());
        }
        assert_eq!(lines, ["ab", "", "abcde", "last"]);
    }
}
