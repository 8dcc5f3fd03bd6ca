//! What an OK packet says of the session's state.
//!
//! "Protocol::OK_Packet", section "Session State Information", of the MySQL source documentation.

use super::wire::{Malformed, Reader};

/// One entry of a session-state report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A session system variable has this value now.
    SystemVariable {
        /// The variable's name.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// The default schema; empty when there is none any more.
    Schema(&'a [u8]),
    /// Something of the session changed: a variable, the schema, a temporary table, a prepared statement.
    State(bool),
    /// GTIDs of what was committed (MySQL).
    Gtids(&'a [u8]),
    /// The statements that would start the transaction anew; empty when nothing is open or pending.
    TransactionCharacteristics(&'a [u8]),
    /// Eight letters about the open transaction.
    TransactionState(&'a [u8]),
    /// A kind of entry this version does not know.
    Other(u8),
}

/// What a client wants reported: its own session_track_* variables, which Telamon's hide from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// session_track_system_variables; `*` is every variable.
    pub variables: Vec<u8>,
    /// session_track_schema
    pub schema: bool,
    /// session_track_state_change
    pub state: bool,
    /// session_track_transaction_info: 0 is OFF, 1 STATE, 2 CHARACTERISTICS.
    pub transaction: u8,
}

impl Default for Wanted {
    /// The defaults of MySQL and of MariaDB.
    fn default() -> Self {
        let variables: &[u8] =
            b"autocommit,character_set_client,character_set_connection,character_set_results,time_zone";
        Self { variables: variables.to_vec(), schema: true, state: false, transaction: 0 }
    }
}

impl Wanted {
    /// The variables' values, in the order of the fields, as text.
    pub fn from_values(variables: &[u8], schema: &[u8], state: &[u8], transaction: &[u8]) -> Self {
        let transaction = match transaction {
            b"STATE" => 1,
            b"CHARACTERISTICS" => 2,
            _ => 0,
        };
        Self { variables: variables.to_vec(), schema: schema == b"1", state: state == b"1", transaction }
    }

    /// Whether this entry is for the client.
    pub fn includes(&self, change: &Change<'_>) -> bool {
        match change {
            Change::Schema(_) => self.schema,
            Change::State(_) => self.state,
            Change::TransactionState(_) => self.transaction > 0,
            Change::TransactionCharacteristics(_) => self.transaction > 1,
            Change::SystemVariable { name, .. } => {
                let listed = |n: &[u8]| n == b"*" || n.trim_ascii().eq_ignore_ascii_case(name);
                self.variables.split(|b| *b == b',').any(listed)
            }
            Change::Gtids(_) | Change::Other(_) => false,
        }
    }
}

/// The entries of one report, each with its own bytes.
#[derive(Debug, Clone, Copy)]
pub struct Changes<'a> {
    reader: Reader<'a>,
}

impl<'a> Changes<'a> {
    /// Walks the report found by [`super::response::OkPacket::track`].
    pub fn new(track: &'a [u8]) -> Self {
        Self { reader: Reader::new(track) }
    }

    fn read(&mut self) -> Result<(Change<'a>, &'a [u8]), Malformed> {
        let whole = self.reader.rest();
        let kind = self.reader.u8()?;
        let data = self.reader.lenenc_bytes()?;
        let mut inner = Reader::new(data);
        let change = match kind {
            0 => Change::SystemVariable { name: inner.lenenc_bytes()?, value: inner.lenenc_bytes()? },
            1 => Change::Schema(inner.lenenc_bytes()?),
            2 => Change::State(data == b"1"), // alone without a length of its own
            3 => {
                inner.u8()?; // encoding specification, always 0
                Change::Gtids(inner.lenenc_bytes()?)
            }
            4 => Change::TransactionCharacteristics(inner.lenenc_bytes()?),
            5 => Change::TransactionState(inner.lenenc_bytes()?),
            other => Change::Other(other),
        };
        let len = whole.len() - self.reader.rest().len();
        Ok((change, whole.get(..len).unwrap_or_default()))
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<(Change<'a>, &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let item = self.read();
        if item.is_err() {
            self.reader = Reader::new(&[]);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MariaDB 10.11.19's report of `BEGIN`, then of `SET NAMES latin1`'s last variable, then of `USE mysql`.
    const REPORT: &[u8] = b"\x05\x09\x08T_______\x04\x13\x12START TRANSACTION;\
        \x00\x1d\x15character_set_results\x06latin1\x01\x06\x05mysql\x02\x011";

    #[test]
    fn a_servers_report_is_read_entry_by_entry() {
        let changes: Vec<_> = Changes::new(REPORT).map(|c| c.expect("well-formed").0).collect();
        let latin1 = Change::SystemVariable { name: b"character_set_results", value: b"latin1" };
        assert_eq!(
            changes,
            [
                Change::TransactionState(b"T_______"),
                Change::TransactionCharacteristics(b"START TRANSACTION;"),
                latin1,
                Change::Schema(b"mysql"),
                Change::State(true),
            ]
        );
        let wanted = Wanted::default();
        assert!(wanted.includes(&latin1) && wanted.includes(&Change::Schema(b"mysql")));
        assert!(!wanted.includes(&Change::State(true)));
        assert!(Wanted::from_values(b"*", b"1", b"1", b"OFF").includes(&Change::State(true)));
        assert!(!Wanted::from_values(b"", b"1", b"1", b"OFF").includes(&latin1));
    }

    #[test]
    fn a_cut_report_ends_in_an_error_and_not_in_a_panic() {
        for end in 0..REPORT.len() {
            let _ = Changes::new(&REPORT[..end]).collect::<Vec<_>>();
        }
    }
}
