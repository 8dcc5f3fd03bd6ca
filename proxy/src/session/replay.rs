//! What brings a connection to the session's state, in the fewest commands.

use super::Session;
use super::backends::Slot;
use super::relay::{RelayError, discard_reply};
use super::state::{SessionState, Version};
use super::walk::{Observation, Walk};
use crate::io::PacketStream;
use crate::protocol::CapabilityFlags;
use crate::protocol::command::ReplyShape;
use crate::protocol::packet::put_packet;
use crate::protocol::reply::ReplyState;

/// How much of the session's state a connection has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Brought {
    pub(super) schema: Version,
    pub(super) variables: Version,
}

impl Brought {
    /// The connection is where the session is.
    pub(super) fn all(version: Version) -> Self {
        Self { schema: version, variables: version }
    }

    pub(super) fn is_up_to(self, version: Version) -> bool {
        self.schema == version && self.variables == version
    }
}

/// Commands that bring a connection to the session's state, each of them a packet with a reply of one packet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Replay {
    pub(super) packets: Vec<u8>,
    pub(super) replies: usize,
}

/// A value that cannot be written into a SET statement so that it means the same on every connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotReplayable;

/// The commands that a connection needs which was brought to `brought`.
pub(super) fn replay(state: &SessionState, brought: Brought) -> Result<Replay, NotReplayable> {
    let mut replay = Replay::default();
    if brought.schema < state.schema_since {
        // A connection cannot be without a schema again once it had one; the server would answer 1046 there.
        let schema = state.schema.as_deref().ok_or(NotReplayable)?;
        replay.push(0x02, schema);
    }
    if let Some(option) = state.option.filter(|_| brought.variables < state.option_since) {
        replay.push(0x1B, &option.to_le_bytes());
    }
    let mut set = Vec::new();
    for (name, variable) in state.variables.iter().filter(|(_, v)| v.since > brought.variables) {
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

impl Replay {
    fn push(&mut self, command: u8, text: &[u8]) {
        put_packet(&mut self.packets, 0, &[&[command], text].concat());
        self.replies += 1;
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

/// Reads the replies to a replay; answers whether all of them were OK.
pub(super) async fn read_replies(
    backend: &mut PacketStream,
    capabilities: CapabilityFlags,
    replies: usize,
) -> Result<bool, RelayError> {
    let mut all = true;
    for _ in 0..replies {
        let mut seen = Observation::default();
        let mut walk = Walk::new(ReplyState::new(ReplyShape::One, capabilities), 1, capabilities);
        discard_reply(backend, &mut walk, &mut seen).await?;
        all &= seen.error.is_none();
    }
    Ok(all)
}

impl Session {
    /// Asks the primary's connection for the variables that changed without a report. Its diagnostics are lost by
    /// that, as they are for the client, whose next statement is about to run elsewhere.
    pub(super) async fn ask_unreported(&mut self) {
        let names = std::mem::take(&mut self.state.unreported);
        let up_to_date = self.is_up_to_date(Slot::Primary);
        let list: Vec<_> = names.iter().map(|name| format!("@@SESSION.{name}")).collect();
        let sql = format!("SELECT {}", list.join(","));
        let values = match self.backends.get_mut(Slot::Primary) {
            Some(backend) => backend.connection.select_row(sql.as_bytes()).await.ok(),
            None => None,
        };
        let Some(values) = values.filter(|values| values.len() == names.len()) else {
            return self.state.give_up();
        };
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
    use crate::routing::{Dialect, Effects};

    fn state_after(track: &[u8]) -> SessionState {
        let mut state =
            SessionState::new(StatusFlags::SERVER_STATUS_AUTOCOMMIT, None, Dialect::default());
        let seen = Observation { track: track.to_vec(), ..Observation::default() };
        state.observe(Slot::Primary, Effects::SETS_SESSION_VARIABLES, &seen);
        state
    }

    #[test]
    fn only_what_a_connection_lacks_is_sent_and_in_one_statement() {
        let state = state_after(b"\x00\x0d\x08sql_mode\x03A'B\x00\x10\x0dwait_timeout\x0277");
        let brought = Brought { schema: state.version, variables: 0 };
        let replay = replay(&state, brought).expect("plain values");
        assert_eq!(replay.replies, 1);
        assert_eq!(&replay.packets[5..], b"SET SESSION sql_mode='A''B', SESSION wait_timeout=77");
        let all = Brought::all(state.version);
        assert_eq!(super::replay(&state, all), Ok(Replay::default()), "nothing is sent twice");
    }

    #[test]
    fn a_value_that_depends_on_the_sql_mode_is_not_replayed() {
        let state = state_after(b"\x00\x05\x01a\x02x\\");
        assert_eq!(replay(&state, Brought { schema: state.version, variables: 0 }), Err(NotReplayable));
    }
}
