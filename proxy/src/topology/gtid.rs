//! The name of one write, as its server reported it.

/// The GTID of one write: MariaDB's `0-1-7`, MySQL's `uuid:7`. Writes of one origin are numbered in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gtid {
    text: Box<[u8]>,
    /// Where the number begins.
    origin: usize,
    number: u64,
}

impl Gtid {
    /// As a server writes it. Text without a number at its end is its own origin, and has only itself.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        let origin = text.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |at| at + 1);
        let number = std::str::from_utf8(&text[origin..]).ok().and_then(|n| n.parse().ok());
        let (origin, number) = number.map_or((text.len(), 0), |number| (origin, number));
        Self { text: text.into(), origin, number }
    }

    /// As it was given.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether a server that has this write is known to have `other` too.
    #[must_use]
    pub fn has(&self, other: &Self) -> bool {
        self.number >= other.number && self.text[..self.origin] == other.text[..other.origin]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_write_of_the_same_origin_has_the_earlier_one_and_no_other() {
        let gtid = |text: &str| Gtid::new(text.as_bytes());
        assert!(gtid("0-1-10").has(&gtid("0-1-9")));
        assert!(!gtid("0-1-9").has(&gtid("0-1-10")));
        assert!(!gtid("0-2-10").has(&gtid("0-1-9")), "another server was promoted");
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:";
        assert!(gtid(&format!("{uuid}23")).has(&gtid(&format!("{uuid}5"))));
        assert!(!gtid("").has(&gtid("0-1-1")));
    }
}
