//! What brings a connection to the session's state, in the fewest commands.

use super::Session;
use super::backends::Slot;
use super::relay::{RelayError, discard_reply};
use super::walk::{Observation, Walk};
use crate::backend::{ConnectError, Parts, PooledConnection, Settings};
use crate::io::StreamError;
use crate::protocol::command::ReplyShape;
use crate::protocol::packet::put_packet;
use crate::protocol::reply::ReplyState;
use crate::routing::ServerFamily;
use crate::topology::Gtid;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Commands that bring a connection to the session's state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Replay {
    pub(super) packets: Vec<u8>,
    pub(super) replies: Replies,
}

/// The replies that a [`Replay`] has, in this order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replies {
    /// A row with the insert id of the session that had the connection before.
    pub(super) rescue: bool,
    /// A row that says whether the server has the session's last write.
    pub(super) wait: bool,
    /// Replies of one packet that must be OK.
    pub(super) oks: usize,
}

/// What the replies to a replay said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Replayed {
    /// The connection is where the session is.
    Done,
    /// The server does not have the session's last write yet.
    Behind,
    /// Something of the session's state cannot be had there: the server's ERR packet.
    Refused(Vec<u8>),
}

/// What a connection is to be brought to.
#[derive(Debug)]
pub(super) struct Goal<'a> {
    pub(super) settings: &'a Rc<Settings>,
    /// A write that its server must have, and how many milliseconds that is waited for.
    pub(super) wait: Option<(&'a Gtid, u64)>,
    /// The session's last insert id, where the statement may ask for it and the connection has another.
    pub(super) insert_id: Option<&'a [u8]>,
    /// The statement asks about the one before it, of which nothing is left to be told.
    pub(super) nothing_before: bool,
    /// Whether the connection may be reset: it has nothing of the session's but settings.
    pub(super) may_reset: bool,
    pub(super) family: ServerFamily,
}

impl<'a> Goal<'a> {
    /// These settings, and nothing else: what else the session has there stays.
    pub(super) fn settings(settings: &'a Rc<Settings>) -> Self {
        let family = ServerFamily::default();
        Self { settings, wait: None, insert_id: None, nothing_before: false, may_reset: false, family }
    }
}

/// The commands that bring the connection to `goal`.
pub(super) fn replay(connection: &PooledConnection, goal: &Goal<'_>) -> Replay {
    let mut replay = Replay::default();
    if connection.robbed.is_some() {
        put_packet(&mut replay.packets, 0, b"\x03SELECT LAST_INSERT_ID()");
        replay.replies.rescue = true;
    }
    if let Some((gtid, wait_ms)) = goal.wait {
        replay.wait_for(gtid.text(), goal.family, wait_ms);
    }
    if !Rc::ptr_eq(&connection.settings, goal.settings) {
        replay.settings(connection, goal);
    }
    if let Some(id) = goal.insert_id {
        replay.push(0x03, &[b"SET SESSION last_insert_id=", id].concat());
    }
    if goal.nothing_before {
        replay.push(0x03, LEAVE_NOTHING);
    }
    replay
}

/// Leaves no warning, no row count, and nothing else to be asked about. It uses a table because MariaDB keeps the list
/// of warnings until one is used.
const LEAVE_NOTHING: &[u8] = b"DO (SELECT 1 FROM (SELECT 1) AS x)";

/// How many temporary tables MariaDB has made for the session, by statements or within procedures.
const TEMPORARY_TABLES: &str = "(SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS \
    WHERE VARIABLE_NAME = 'COM_CREATE_TEMPORARY_TABLE')";

/// What SET NAMES sets.
const NAMES: [&str; 4] =
    ["character_set_client", "character_set_connection", "character_set_results", "collation_connection"];

/// The character set and collation of a SET NAMES that has the same effect. It is not the same as setting the four
/// variables: the collation is also that of the results' column definitions.
fn set_names<'a>(from: &Variables, to: &'a Variables) -> Option<(&'a [u8], &'a [u8])> {
    let value = |name: &str| to.get(name).map(AsRef::as_ref);
    let charset = value(NAMES[0])?;
    let same = value(NAMES[1]) == Some(charset) && value(NAMES[2]) == Some(charset);
    let news = NAMES.iter().any(|name| from.get(*name) != to.get(*name));
    let collation = value(NAMES[3])?;
    (same && news).then_some((charset, collation))
}

type Variables = BTreeMap<Box<str>, Box<[u8]>>;

impl Replay {
    /// What leads from the connection's settings to these.
    fn settings(&mut self, connection: &Parts, goal: &Goal<'_>) {
        let (mut from, to) = (&*connection.settings, &**goal.settings);
        let bare;
        if !goal.may_reset {
            self.defaults(connection, to);
        } else if from.needs_reset_for(to) {
            let login = (!to.was_reset).then(|| connection.account().as_ref());
            for command in connection.connection.reset_commands(login, connection.is_read_only()) {
                put_packet(&mut self.packets, 0, &command);
                self.replies.oks += 1;
            }
            bare = from.after_reset(to.was_reset);
            from = &bare;
        }
        if let Some(schema) = to.schema.as_deref().filter(|_| from.schema != to.schema) {
            self.push(0x02, schema);
        }
        if from.option != to.option {
            let option = to.option.unwrap_or_else(|| connection.account().option());
            self.push(0x1B, &option.to_le_bytes());
        }
        let autocommit =
            to.autocommit.filter(|_| from.autocommit != to.autocommit && !connection.is_read_only());
        self.variables(&from.variables, &to.variables, autocommit);
        let mut set = Vec::new();
        let news =
            to.user_variables.iter().filter(|(name, value)| from.user_variables.get(*name) != Some(value));
        for (name, value) in news {
            set.extend_from_slice(if set.is_empty() { b"SET " } else { b", " });
            set.extend_from_slice(&[name, b"=".as_slice(), value].concat());
        }
        if !set.is_empty() {
            self.push(0x03, &set);
        }
    }

    /// What gives variables that `to` does not name the value of a new session's, one by one.
    fn defaults(&mut self, connection: &Parts, to: &Settings) {
        let lacks = |name: &&str| !to.variables.contains_key(*name);
        let names = connection.settings.variables.keys().map(AsRef::as_ref).filter(lacks);
        let (of_text, others): (Vec<_>, Vec<_>) = names.partition(|name| NAMES.contains(name));
        if !of_text.is_empty() {
            self.push(0x03, connection.account().set_names().as_bytes());
        }
        let set: Vec<_> = others.iter().map(|name| format!("SESSION {name}=DEFAULT")).collect();
        if !set.is_empty() {
            self.push(0x03, format!("SET {}", set.join(", ")).as_bytes());
        }
    }

    fn variables(&mut self, from: &Variables, to: &Variables, autocommit: Option<bool>) {
        let names = set_names(from, to);
        if let Some((charset, collation)) = &names {
            let mut sql = b"SET NAMES ".to_vec();
            literal(&mut sql, "", charset);
            sql.extend_from_slice(b" COLLATE ");
            literal(&mut sql, "", collation);
            self.push(0x03, &sql);
        }
        let is_left = |name: &str| names.is_none() || !NAMES.contains(&name);
        let mut set = Vec::new();
        let mut add = |name: &str, value: &[u8]| {
            set.extend_from_slice(if set.is_empty() { b"SET SESSION " } else { b", SESSION " });
            set.extend_from_slice(name.as_bytes());
            set.push(b'=');
            literal(&mut set, name, value);
        };
        for (name, value) in to.iter().filter(|(name, value)| is_left(name) && from.get(*name) != Some(value))
        {
            add(name, value);
        }
        if let Some(autocommit) = autocommit {
            add("autocommit", if autocommit { b"1" } else { b"0" });
        }
        if !set.is_empty() {
            self.push(0x03, &set);
        }
    }

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

/// Whether a value can be written into a SET statement so that it means the same on every connection.
pub(super) fn is_replayable(value: &[u8]) -> bool {
    value.iter().all(|b| b.is_ascii_graphic() || *b == b' ') && !value.contains(&b'\\')
}

/// Writes a value as the server reported it: numbers bare, for many variables take nothing else, all else quoted.
fn literal(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    let is_number = !value.is_empty()
        && value.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'))
        && std::str::from_utf8(value).is_ok_and(|text| text.parse::<f64>().is_ok());
    if is_number {
        out.extend_from_slice(value);
    } else if value.is_empty() && name == "character_set_results" {
        out.extend_from_slice(b"NULL");
    } else {
        out.push(b'\'');
        for byte in value {
            out.extend(std::iter::repeat_n(*byte, if *byte == b'\'' { 2 } else { 1 }));
        }
        out.push(b'\'');
    }
}

/// Reads the replies to a replay.
pub(super) async fn read_replies(
    connection: &mut PooledConnection,
    replies: Replies,
) -> Result<Replayed, RelayError> {
    let mut done = Replayed::Done;
    if replies.rescue {
        let row = read_row(connection).await?;
        let id = row.into_iter().next().flatten();
        if let (Some(claim), Some(id)) = (connection.robbed.take(), id) {
            claim.rescue(id);
        }
    }
    if replies.wait && read_row(connection).await?.first().and_then(Option::as_deref) != Some(b"0") {
        done = Replayed::Behind;
    }
    let capabilities = connection.connection.capabilities;
    for _ in 0..replies.oks {
        let mut seen = Observation::default();
        let mut walk = Walk::new(ReplyState::new(ReplyShape::One, capabilities), 1, capabilities);
        discard_reply(&mut connection.connection.stream, &mut walk, &mut seen).await?;
        if let Some(error) = seen.error_packet.filter(|_| done == Replayed::Done) {
            done = Replayed::Refused(error);
        }
    }
    Ok(done)
}

/// The row of an answer; without any where the server refused.
async fn read_row(connection: &mut PooledConnection) -> Result<Vec<Option<Vec<u8>>>, RelayError> {
    match connection.connection.read_row().await {
        Ok(row) => Ok(row),
        Err(ConnectError::Refused { .. }) => Ok(Vec::new()),
        Err(ConnectError::Unreachable(error)) => Err(RelayError::Backend(error)),
        Err(_) => Err(RelayError::Backend(StreamError::Closed)),
    }
}

impl Session {
    /// Asks the primary what it has written, by whomever: the session's last write is among that. False when it does
    /// not answer.
    pub(super) async fn ask_last_write(&mut self) -> bool {
        if self.open(Slot::Primary).await.is_err() {
            return false;
        }
        let Some(backend) = self.backends.get_mut(Slot::Primary) else { return false };
        let row = backend.connection.select_row(b"SELECT @@GLOBAL.gtid_binlog_pos").await;
        let Some(gtids) = row.ok().and_then(|row| row.into_iter().next().flatten()) else { return false };
        self.state.must_ask_last_write = false;
        self.state.wrote(&gtids);
        true
    }

    /// Asks the primary's connection for the variables that changed without a report. Its diagnostics are lost by
    /// that, as they are for the client, whose next statement is about to run elsewhere.
    pub(super) async fn ask_unreported(&mut self) {
        let names = std::mem::take(&mut self.state.unreported);
        let up_to_date = self.has_settings(Slot::Primary);
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
            let known = self.backends.get(Slot::Primary).map_or(0, |backend| backend.temporary_tables);
            self.state.counted_temporary_tables(&made, known);
        }
        for (name, value) in names.iter().zip(values) {
            self.state.answered(name, &value.unwrap_or_default());
        }
        if up_to_date {
            self.note_settings(Slot::Primary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Variables {
        variables.iter().map(|(name, value)| ((*name).into(), value.as_bytes().into())).collect()
    }

    fn statements(from: &[(&str, &str)], to: &[(&str, &str)]) -> Vec<u8> {
        let mut replay = Replay::default();
        replay.variables(&with(from), &with(to), None);
        replay.packets
    }

    #[test]
    fn only_what_a_connection_lacks_is_sent_and_in_one_statement() {
        let wanted = [("sql_mode", "A'B"), ("wait_timeout", "77"), ("lock_wait_timeout", "5")];
        let packets = statements(&[("lock_wait_timeout", "5"), ("wait_timeout", "9")], &wanted);
        assert_eq!(&packets[5..], b"SET SESSION sql_mode='A''B', SESSION wait_timeout=77");
        assert_eq!(statements(&wanted, &wanted), b"", "nothing is sent twice");
    }

    #[test]
    fn a_replica_waits_for_the_sessions_last_write() {
        let mut replay = Replay::default();
        replay.wait_for(b"0-1-7", ServerFamily::MariaDb, 500);
        assert_eq!(&replay.packets[5..], b"SELECT MASTER_GTID_WAIT('0-1-7',0.500)");
        assert_eq!(replay.replies, Replies { wait: true, ..Replies::default() });
    }

    #[test]
    fn one_character_set_for_all_is_replayed_as_set_names_with_its_collation() {
        let wanted = [
            ("character_set_client", "greek"),
            ("character_set_connection", "greek"),
            ("character_set_results", "greek"),
            ("collation_connection", "greek_bin"),
        ];
        assert_eq!(&statements(&[], &wanted)[5..], b"SET NAMES 'greek' COLLATE 'greek_bin'");
    }

    #[test]
    fn a_value_that_depends_on_the_sql_mode_is_not_replayed() {
        assert!(!is_replayable(b"x\\") && !is_replayable(b"\xE4"));
        assert!(is_replayable(b"it's plain"));
    }
}
