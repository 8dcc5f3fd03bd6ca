//! What brings a connection to the session's state, in the fewest commands.

use super::Session;
use super::backends::Slot;
use super::relay::{RelayError, discard_reply};
use super::state::{SessionState, Version};
use super::walk::{Observation, Walk};
use crate::backend::{ConnectError, Connection};
use crate::io::StreamError;
use crate::protocol::command::ReplyShape;
use crate::protocol::packet::put_packet;
use crate::protocol::reply::ReplyState;
use crate::routing::ServerFamily;

/// How much of the session's state a connection has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Brought {
    pub(super) schema: Version,
    pub(super) variables: Version,
    pub(super) writes: Version,
}

impl Brought {
    /// The connection is where the session is.
    pub(super) fn all(version: Version) -> Self {
        Self { schema: version, variables: version, writes: version }
    }

    pub(super) fn is_up_to(self, version: Version) -> bool {
        self == Self::all(version)
    }
}

/// Commands that bring a connection to the session's state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Replay {
    pub(super) packets: Vec<u8>,
    pub(super) replies: Replies,
}

/// The replies that a [`Replay`] has, in this order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replies {
    /// A row that says whether the server has the session's last write.
    pub(super) wait: bool,
    /// Replies of one packet that must be OK.
    pub(super) oks: usize,
}

/// What the replies to a replay said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replayed {
    /// The connection is where the session is.
    Done,
    /// The server does not have the session's last write yet.
    Behind,
    /// Something of the session's state cannot be had there.
    Failed,
}

/// A value that cannot be written into a SET statement so that it means the same on every connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotReplayable;

/// The commands that a connection needs which was brought to `brought`.
///
/// # Errors
/// A value that cannot be brought there.
pub(super) fn replay(
    state: &SessionState,
    slot: Slot,
    brought: Brought,
    wait_ms: Option<u64>,
) -> Result<Replay, NotReplayable> {
    let mut replay = Replay::default();
    if let Some(gtid) = state.last_write.as_deref().filter(|_| brought.writes < state.last_write_since)
        && slot == Slot::Replica
        && let Some(wait_ms) = wait_ms
    {
        replay.wait_for(gtid, state.dialect.family, wait_ms);
    }
    if brought.schema < state.schema_since {
        match state.schema.as_deref() {
            Some(schema) => replay.push(0x02, schema),
            None if brought.schema == 0 => {} // it has none either
            // A connection cannot be without a schema again once it had one; the server would answer 1046 there.
            None => return Err(NotReplayable),
        }
    }
    if let Some(option) = state.option.filter(|_| brought.variables < state.option_since) {
        replay.push(0x1B, &option.to_le_bytes());
    }
    let names = set_names(state, brought);
    if let Some((charset, collation)) = &names {
        let mut sql = b"SET NAMES ".to_vec();
        literal(&mut sql, "", charset)?;
        sql.extend_from_slice(b" COLLATE ");
        literal(&mut sql, "", collation)?;
        replay.push(0x03, &sql);
    }
    let is_left = |name: &str| names.is_none() || !NAMES.contains(&name);
    let mut set = Vec::new();
    for (name, variable) in state.variables.iter().filter(|(n, v)| v.since > brought.variables && is_left(n))
    {
        set.extend_from_slice(if set.is_empty() { b"SET SESSION " } else { b", SESSION " });
        set.extend_from_slice(name.as_bytes());
        set.push(b'=');
        literal(&mut set, name, &variable.value)?;
    }
    if !set.is_empty() {
        replay.push(0x03, &set);
    }
    Ok(replay)
}

/// How many temporary tables MariaDB has made for the session, by statements or within procedures.
const TEMPORARY_TABLES: &str = "(SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS \
    WHERE VARIABLE_NAME = 'COM_CREATE_TEMPORARY_TABLE')";

/// What SET NAMES sets.
const NAMES: [&str; 4] =
    ["character_set_client", "character_set_connection", "character_set_results", "collation_connection"];

/// The character set and collation of a SET NAMES that has the same effect. It is not the same as setting the four
/// variables: the collation is also that of the results' column definitions.
fn set_names(state: &SessionState, brought: Brought) -> Option<(&[u8], &[u8])> {
    let value = |name: &str| state.variables.get(name).map(|v| v.value.as_slice());
    let charset = value(NAMES[0])?;
    let same = value(NAMES[1]) == Some(charset) && value(NAMES[2]) == Some(charset);
    let news =
        NAMES.iter().any(|name| state.variables.get(*name).is_some_and(|v| v.since > brought.variables));
    let collation = value(NAMES[3])?;
    (same && news).then_some((charset, collation))
}

impl Replay {
    fn push(&mut self, command: u8, text: &[u8]) {
        put_packet(&mut self.packets, 0, &[&[command], text].concat());
        self.replies.oks += 1;
    }

    /// Waits until the server has what `gtid` names; it comes first, so that all else sees that state.
    fn wait_for(&mut self, gtid: &[u8], family: ServerFamily, wait_ms: u64) {
        let function = match family {
            ServerFamily::MariaDb => "MASTER_GTID_WAIT",
            ServerFamily::MySql => "WAIT_FOR_EXECUTED_GTID_SET",
        };
        let mut sql = b"\x03SELECT ".to_vec();
        sql.extend_from_slice(function.as_bytes());
        sql.extend_from_slice(b"('");
        sql.extend(gtid.iter().filter(|b| b.is_ascii_graphic() && **b != b'\''));
        sql.extend_from_slice(format!("',{}.{:03})", wait_ms / 1000, wait_ms % 1000).as_bytes());
        put_packet(&mut self.packets, 0, &sql);
        self.replies.wait = true;
    }
}

/// Writes a value as the server reported it: numbers bare, for many variables take nothing else, all else quoted.
fn literal(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), NotReplayable> {
    let is_number = !value.is_empty()
        && value.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'))
        && std::str::from_utf8(value).is_ok_and(|text| text.parse::<f64>().is_ok());
    if is_number {
        out.extend_from_slice(value);
    } else if value.is_empty() && name == "character_set_results" {
        out.extend_from_slice(b"NULL");
    } else if value.iter().all(|b| b.is_ascii_graphic() || *b == b' ') && !value.contains(&b'\\') {
        out.push(b'\'');
        for byte in value {
            out.extend(std::iter::repeat_n(*byte, if *byte == b'\'' { 2 } else { 1 }));
        }
        out.push(b'\'');
    } else {
        return Err(NotReplayable);
    }
    Ok(())
}

/// Reads the replies to a replay.
pub(super) async fn read_replies(
    connection: &mut Connection,
    replies: Replies,
) -> Result<Replayed, RelayError> {
    let mut done = Replayed::Done;
    if replies.wait {
        let row = match connection.read_row().await {
            Ok(row) => row,
            Err(ConnectError::Refused { .. }) => Vec::new(),
            Err(ConnectError::Unreachable(error)) => return Err(RelayError::Backend(error)),
            Err(_) => return Err(RelayError::Backend(StreamError::Closed)),
        };
        if row.first().and_then(Option::as_deref) != Some(b"0") {
            done = Replayed::Behind;
        }
    }
    let capabilities = connection.capabilities;
    for _ in 0..replies.oks {
        let mut seen = Observation::default();
        let mut walk = Walk::new(ReplyState::new(ReplyShape::One, capabilities), 1, capabilities);
        discard_reply(&mut connection.stream, &mut walk, &mut seen).await?;
        if seen.error.is_some() && done == Replayed::Done {
            done = Replayed::Failed;
        }
    }
    Ok(done)
}

impl Session {
    /// Asks the primary's connection for the variables that changed without a report. Its diagnostics are lost by
    /// that, as they are for the client, whose next statement is about to run elsewhere.
    pub(super) async fn ask_unreported(&mut self) {
        let names = std::mem::take(&mut self.state.unreported);
        let up_to_date = self.is_up_to_date(Slot::Primary);
        let count = self.state.must_count_temporary_tables.then(|| TEMPORARY_TABLES.to_owned());
        let list: Vec<_> = names.iter().map(|name| format!("@@SESSION.{name}")).chain(count).collect();
        let sql = format!("SELECT {}", list.join(","));
        let values = match self.backends.get_mut(Slot::Primary) {
            Some(backend) => backend.connection.select_row(sql.as_bytes()).await.ok(),
            None => None,
        };
        let Some(mut values) = values.filter(|values| values.len() == list.len()) else {
            return self.state.give_up();
        };
        if list.len() > names.len() {
            let made = values.pop().flatten().unwrap_or_default();
            self.state.counted_temporary_tables(&made);
        }
        for (name, value) in names.iter().zip(values) {
            self.state.answered(name, &value.unwrap_or_default());
        }
        if up_to_date {
            self.brought_up_to_date(Slot::Primary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::StatusFlags;
    use crate::routing::{Dialect, Effects, ServerFamily};

    fn state_after(track: &[u8]) -> SessionState {
        let mut state = SessionState::new(StatusFlags::SERVER_STATUS_AUTOCOMMIT, None, Dialect::default());
        let seen = Observation { track: track.to_vec(), ..Observation::default() };
        state.observe(Slot::Primary, Effects::SETS_SESSION_VARIABLES, &seen);
        state
    }

    #[test]
    fn only_what_a_connection_lacks_is_sent_and_in_one_statement() {
        let state = state_after(b"\x00\x0d\x08sql_mode\x03A'B\x00\x10\x0cwait_timeout\x0277");
        let brought = Brought { variables: 0, ..Brought::all(state.version) };
        let replay = replay(&state, Slot::Replica, brought, Some(500)).expect("plain values");
        assert_eq!(replay.replies, Replies { wait: false, oks: 1 });
        assert_eq!(&replay.packets[5..], b"SET SESSION sql_mode='A''B', SESSION wait_timeout=77");
        let all = Brought::all(state.version);
        assert_eq!(
            super::replay(&state, Slot::Replica, all, Some(500)),
            Ok(Replay::default()),
            "nothing is sent twice"
        );
    }

    #[test]
    fn a_replica_waits_for_the_sessions_last_write_before_anything_else() {
        let mut state = state_after(b"\x00\x10\x09last_gtid\x050-1-7");
        state.dialect.family = ServerFamily::MariaDb;
        let brought = Brought { writes: 0, ..Brought::all(state.version) };
        let on_replica = replay(&state, Slot::Replica, brought, Some(500)).expect("plain values");
        assert_eq!(&on_replica.packets[5..], b"SELECT MASTER_GTID_WAIT('0-1-7',0.500)");
        assert_eq!(on_replica.replies, Replies { wait: true, oks: 0 });
        assert_eq!(
            replay(&state, Slot::Primary, brought, Some(500)),
            Ok(Replay::default()),
            "it wrote it itself"
        );
    }

    #[test]
    fn one_character_set_for_all_is_replayed_as_set_names_with_its_collation() {
        let mut state = state_after(
            b"\x00\x1b\x14character_set_client\x05greek\x00\x1f\x18character_set_connection\x05greek\
              \x00\x1c\x15character_set_results\x05greek",
        );
        state.answered("collation_connection", b"greek_bin");
        let brought = Brought { variables: 0, ..Brought::all(state.version) };
        let replay = replay(&state, Slot::Replica, brought, None).expect("plain values");
        assert_eq!(&replay.packets[5..], b"SET NAMES 'greek' COLLATE 'greek_bin'");
    }

    #[test]
    fn a_value_that_depends_on_the_sql_mode_is_not_replayed() {
        let state = state_after(b"\x00\x05\x01a\x02x\\");
        assert_eq!(
            replay(&state, Slot::Replica, Brought { variables: 0, ..Brought::all(state.version) }, None),
            Err(NotReplayable)
        );
    }
}
