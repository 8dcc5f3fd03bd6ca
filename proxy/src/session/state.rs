//! What a session is, apart from its connections: status, schema, variables, and what binds it to the primary.
//!
//! Learned from the server first (status flags, session-state reports), from the statement's text where the server
//! says nothing.

use super::backends::Slot;
use super::exchange::Plan;
use super::pins::Pins;
use super::plain::Cause;
use super::replay::is_replayable;
use super::walk::Observation;
use crate::backend::{Interner, MEANING_OF_TEXT, Settings};
use crate::protocol::StatusFlags;
use crate::protocol::session_track::{Change, Changes};
use crate::routing::{Dialect, Effects, Isolation, PinReason, ServerFamily, SessionFacts, UserVariable};
use crate::topology::Gtid;
use std::rc::Rc;
use std::sync::Arc;

/// What a session is, apart from its connections.
#[derive(Debug)]
pub(super) struct SessionState {
    /// The status flags of the last reply that had any.
    pub(super) status: StatusFlags,
    /// The schema, variables and the like that every connection of the session is brought to.
    settings: Settings,
    /// The same, as connections are compared with it; made when it is asked for.
    image: Option<Rc<Settings>>,
    /// Variables that were set to something the server did not report.
    pub(super) unreported: Vec<String>,
    /// Hidden code may have made a temporary table; the primary is asked before the next use of another server.
    pub(super) must_count_temporary_tables: bool,
    /// The session may have written something whose GTID nobody reported.
    pub(super) must_ask_last_write: bool,
    /// The GTID of the session's last write, as its server reported it.
    pub(super) last_write: Option<Arc<Gtid>>,
    /// Where the answer to LAST_INSERT_ID() is.
    pub(super) insert_id: InsertId,
    /// Whether there are warnings or errors to be shown, and by which connection.
    pub(super) left_warnings: bool,
    pub(super) warnings_at: Slot,
    /// Whether the last statement counted rows for FOUND_ROWS().
    counted_rows: bool,
    /// Whether any statement has run.
    pub(super) has_run: bool,
    /// Telamon itself has asked the connection something since: what a SET leaves to be told, a DO leaves too.
    pub(super) was_asked: bool,
    /// No replica can have the session's state.
    pub(super) reads_on_primary: bool,
    /// autocommit as a new session on the primary has it.
    base_autocommit: bool,
    /// Where the previous statement ran, for statements that ask about it.
    pub(super) previous: Slot,
    pub(super) dialect: Dialect,
    pins: Pins,
    isolation: Isolation,
    in_system_schema: bool,
}

/// Where the answer to LAST_INSERT_ID() is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InsertId {
    /// The session has none: 0.
    Zero,
    /// On the session's connection to the primary, kept or claimed.
    Here,
    /// That connection serves another session, and said this before.
    Known(Vec<u8>),
    /// That connection is gone, and nobody asked it.
    Lost,
}

/// MariaDB's variable with the GTID of a session's last write.
const LAST_WRITE: &str = "last_gtid";

/// Variables that are reported and are no settings: MySQL's statement_id comes with every reply.
const NO_SETTINGS: [&str; 3] = ["autocommit", "insert_id", "statement_id"];

/// Variables that matter to writes alone: no replica needs them, and no other connection to the primary is given them.
const OF_WRITES: [&str; 12] = [
    "binlog_format",
    "binlog_row_image",
    "gtid_domain_id",
    "gtid_seq_no",
    "pseudo_slave_mode",
    "pseudo_thread_id",
    "server_id",
    "skip_replication",
    "sql_log_bin",
    "sql_log_off",
    "transaction_read_only",
    "tx_read_only",
];

/// Variables whose value moves on by itself, so that no other connection can be given it.
const NOT_REPEATABLE: [&str; 2] = ["rand_seed1", "rand_seed2"];

/// Effects that are lost with the connection and are no setting.
const IRREPLACEABLE: Effects =
    Effects::SETS_USER_VARIABLES.with(Effects::PREPARES_STATEMENT).with(Effects::MAY_CALL_UNKNOWN);

/// Effects of which the text does not tell all.
const MAY_HIDE_STATE: Effects = Effects::MAY_CALL_UNKNOWN.with(Effects::EXECUTES_STATEMENT);

/// Effects of statements that set something a report names.
const MAY_SET: Effects = Effects::SETS_SESSION_VARIABLES
    .with(Effects::USES_SCHEMA)
    .with(Effects::BEGINS_TRANSACTION)
    .with(Effects::ENDS_TRANSACTION)
    .with(Effects::SETS_NEXT_TRANSACTION);

impl SessionState {
    /// A fresh session's state.
    pub(super) fn new(status: StatusFlags, schema: Option<Vec<u8>>, dialect: Dialect) -> Self {
        let mut state = Self {
            status,
            settings: Settings::default(),
            image: None,
            unreported: Vec::new(),
            must_count_temporary_tables: false,
            must_ask_last_write: false,
            last_write: None,
            insert_id: InsertId::Zero,
            left_warnings: false,
            warnings_at: Slot::Primary,
            counted_rows: false,
            has_run: false,
            was_asked: false,
            reads_on_primary: false,
            base_autocommit: status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT),
            previous: Slot::Primary,
            dialect,
            pins: Pins::default(),
            isolation: Isolation::default(),
            in_system_schema: false,
        };
        state.set_schema(schema);
        state
    }

    /// COM_RESET_CONNECTION: everything is forgotten but the schema and COM_SET_OPTION's setting.
    pub(super) fn reset(&mut self, status: StatusFlags) {
        let base = Dialect { ansi_quotes: false, no_backslash_escapes: false, ..self.dialect };
        let mut fresh = Self::new(status, None, base);
        fresh.settings = self.settings.after_reset(true);
        fresh.in_system_schema = self.in_system_schema;
        fresh.last_write = self.last_write.take();
        *self = fresh;
    }

    /// The default schema.
    pub(super) fn schema(&self) -> Option<&[u8]> {
        self.settings.schema.as_deref()
    }

    fn set_schema(&mut self, schema: Option<Vec<u8>>) {
        self.in_system_schema = schema.as_deref().is_some_and(SessionFacts::is_system_schema);
        self.change().schema = schema.map(Into::into);
    }

    /// The settings, to be changed.
    fn change(&mut self) -> &mut Settings {
        self.image = None;
        &mut self.settings
    }

    /// The settings that a connection of the session has to have.
    pub(super) fn image(&mut self, interner: &Interner) -> Rc<Settings> {
        let Self { settings, image, .. } = self;
        image.get_or_insert_with(|| interner.intern(settings.clone())).clone()
    }

    /// A write with this GTID went before: no read of the session may show less.
    pub(super) fn wrote(&mut self, gtid: &[u8]) {
        if !gtid.is_empty() && self.last_write.as_ref().is_none_or(|known| known.text() != gtid) {
            self.last_write = Some(Arc::new(Gtid::new(gtid)));
        }
    }

    /// The default schema was dropped, by whomever.
    pub(super) fn lost_schema(&mut self) {
        self.set_schema(None);
    }

    /// User variables were set to literals.
    pub(super) fn set_user_variables(&mut self, variables: Vec<UserVariable>) {
        self.change().user_variables.extend(variables);
    }

    /// What COM_SET_OPTION asked for last.
    pub(super) fn option(&self) -> Option<u16> {
        self.settings.option
    }

    /// COM_SET_OPTION was answered with OK.
    pub(super) fn set_option(&mut self, option: Option<u16>) {
        self.change().option = option;
    }

    /// USE or COM_INIT_DB was answered with OK. Where the server reported it, this is no news.
    pub(super) fn entered(&mut self, schema: &[u8]) {
        if self.schema() != Some(schema) && !self.is_same_schema_as_reported(schema) {
            self.set_schema(Some(schema.to_vec()));
        }
    }

    /// Servers with lower_case_table_names report the name as they keep it.
    fn is_same_schema_as_reported(&self, schema: &[u8]) -> bool {
        self.schema().is_some_and(|s| s.eq_ignore_ascii_case(schema))
    }

    /// What routing must know.
    pub(super) fn facts(&self) -> SessionFacts {
        SessionFacts {
            held: self.held(),
            keeps_previous: true,
            isolation: self.isolation,
            in_system_schema: self.in_system_schema,
        }
    }

    /// What binds the next statement to the primary's connection.
    pub(super) fn held(&self) -> Option<PinReason> {
        if self.pins.xa {
            return Some(PinReason::Xa);
        }
        if self.in_transaction() {
            return Some(PinReason::Transaction);
        }
        if !self.status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT) {
            return Some(PinReason::AutocommitOff);
        }
        self.pins.first()
    }

    pub(super) fn in_transaction(&self) -> bool {
        self.status.contains(StatusFlags::SERVER_STATUS_IN_TRANS)
    }

    /// Whether the session can go on over a new connection as if nothing had happened.
    pub(super) fn survives_loss_of(&self, slot: Slot) -> bool {
        // With autocommit off and no transaction begun there is nothing but the setting, which any connection can have.
        let nothing_there = !self.in_transaction() && self.pins.first().is_none() && !self.pins.irreplaceable;
        slot == Slot::Replica || nothing_there
    }

    /// Whether a reset of the connection leaves nothing of the session on its server.
    pub(super) fn is_undone_by_reset(&self) -> bool {
        self.pins.are_undone_by_reset()
    }

    /// Whether the session is as its login made it.
    pub(super) fn is_untouched(&self) -> bool {
        self.held().is_none() && self.settings.variables.is_empty() && self.settings.autocommit.is_none()
    }

    /// A session on the primary has this status from the start.
    pub(super) fn begins_with(&mut self, status: StatusFlags) {
        self.status = status & !StatusFlags::SERVER_SESSION_STATE_CHANGED;
        self.base_autocommit = status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT);
    }

    /// Learns from a reply. `effects` are those of the statement; none for a command without one.
    pub(super) fn observe(
        &mut self,
        slot: Slot,
        effects: Effects,
        cause: Option<&Cause>,
        seen: &Observation,
    ) {
        // Transactions are the primary's alone: a replica's flags say nothing of the session.
        if let Some(status) = seen.status.filter(|_| slot == Slot::Primary) {
            self.observe_status(status);
        }
        let may_give = effects.intersects(Effects::SETS_INSERT_ID.with(Effects::MAY_CALL_UNKNOWN));
        if slot == Slot::Primary && (seen.gave_insert_id || may_give) {
            self.insert_id = InsertId::Here;
        }
        if slot == Slot::Primary && effects.intersects(IRREPLACEABLE) {
            self.pins.irreplaceable = true;
        }
        if slot == Slot::Primary && effects.intersects(MAY_HIDE_STATE) {
            self.observe_hidden(seen);
        }
        // A read changes nothing: what the server reports behind it is about the server.
        let about_session = slot == Slot::Primary || effects.intersects(MAY_SET.with(MAY_HIDE_STATE));
        let reported = about_session && self.observe_report(&seen.track);
        // Of several statements, those before the one that failed have had their effect.
        if seen.error.is_none() || effects.contains(Effects::MULTI_STATEMENT) {
            self.observe_text(effects, cause, reported, seen);
        }
    }

    /// What the statement leaves to be asked about.
    pub(super) fn observe_left(&mut self, plan: &Plan, seen: &Observation) {
        if plan.asks.is_question && (plan.asks.counts || plan.asks.warnings) {
            return;
        }
        self.has_run = true;
        self.was_asked = false;
        self.counted_rows = plan.effects.contains(Effects::FOUND_ROWS_WANTED);
        let warnings = seen.warnings > 0 || seen.error.is_some();
        if warnings || plan.asks.clears_warnings {
            self.left_warnings = warnings;
            self.warnings_at = plan.slot;
        }
    }

    /// Whether the connection in `slot` has something to tell that no other has.
    pub(super) fn left_something(&self, slot: Slot) -> bool {
        (self.left_warnings && self.warnings_at == slot) || (self.counted_rows && self.previous == slot)
    }

    fn observe_status(&mut self, status: StatusFlags) {
        let autocommit = status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT);
        if autocommit != self.status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT) {
            self.change().autocommit = (autocommit != self.base_autocommit).then_some(autocommit);
        }
        self.status = status;
    }

    /// Code that the text does not show has run.
    fn observe_hidden(&mut self, seen: &Observation) {
        self.pins.may_have_renamed();
        match self.dialect.family {
            // It reports variables by name, but not every temporary table that a procedure makes. It counts them.
            ServerFamily::MariaDb => self.must_count_temporary_tables = true,
            // A change that is reported may be any.
            ServerFamily::MySql => self.pins.unknown |= seen.hidden_change || !seen.track.is_empty(),
        }
    }

    /// The server has made this many temporary tables on the session's connection, of which `known` were not made by
    /// hidden code.
    pub(super) fn counted_temporary_tables(&mut self, made: &[u8], known: u32) {
        self.must_count_temporary_tables = false;
        if made != known.to_string().as_bytes() {
            self.pins.has_unknown_tables();
        }
    }

    /// Whether the session has temporary tables.
    pub(super) fn has_temporary_tables(&self) -> bool {
        self.pins.temporary_tables.is_any()
    }

    /// Whether the session's time stands still.
    pub(super) fn has_fixed_time(&self) -> bool {
        self.pins.fixed_time
    }

    /// Takes in a session-state report; answers whether it named a variable.
    fn observe_report(&mut self, track: &[u8]) -> bool {
        let mut named = false;
        for (change, _) in Changes::new(track).flatten() {
            match change {
                Change::SystemVariable { name, value } => {
                    named = true;
                    self.observe_variable(&String::from_utf8_lossy(name), value);
                }
                Change::Gtids(gtids) => self.wrote(gtids),
                Change::Schema(schema) => {
                    named = true;
                    self.set_schema((!schema.is_empty()).then(|| schema.to_vec()));
                }
                Change::TransactionCharacteristics(text) => {
                    self.pins.next_transaction = !text.is_empty() && !self.in_transaction();
                }
                Change::TransactionState(letters) => self.pins.tracked_lock = letters.contains(&b'L'),
                _ => {}
            }
        }
        named
    }

    fn observe_variable(&mut self, name: &str, value: &[u8]) {
        if name == LAST_WRITE {
            self.must_ask_last_write = false;
            return self.wrote(value);
        }
        if NO_SETTINGS.contains(&name) || name.starts_with("session_track_") {
            return;
        }
        if name == "last_insert_id" || name == "identity" {
            self.insert_id = InsertId::Here;
            return;
        }
        // With sql_auto_is_null a WHERE may ask for the last insert id without a word of it.
        let asks_unsaid = name == "sql_auto_is_null" && !matches!(value, b"0" | b"OFF");
        if !is_replayable(value) || asks_unsaid {
            self.pins.unknown = true;
            return;
        }
        if OF_WRITES.contains(&name) {
            self.pins.irreplaceable = true;
            return;
        }
        if name == "timestamp" {
            self.pins.fixed_time = true; // a SET to DEFAULT is known by its text
            return;
        }
        if NOT_REPEATABLE.contains(&name) {
            self.pins.unknown = true;
            return;
        }
        match name {
            // Names in square brackets: no text can be followed.
            "sql_mode" if value.windows(5).any(|word| word == b"MSSQL") => self.pins.unknown = true,
            "sql_mode" => self.dialect = self.dialect.with_sql_mode(&String::from_utf8_lossy(value)),
            "character_set_client" => {
                self.dialect = self.dialect.with_character_set(&String::from_utf8_lossy(value));
            }
            "tx_isolation" | "transaction_isolation" => {
                // An unknown level is treated like the strictest one.
                let level = Isolation::from_name(&String::from_utf8_lossy(value));
                self.isolation = level.unwrap_or(Isolation::Serializable);
            }
            // Servers do not report the collation that comes with a character set.
            "character_set_connection" => self.must_ask("collation_connection"),
            "collation_connection" => self.unreported.retain(|n| n != name),
            _ => {}
        }
        let has_strings = self.settings.user_variables.values().any(|value| value.starts_with(b"'"));
        if has_strings && MEANING_OF_TEXT.contains(&name) {
            self.pins.irreplaceable = true; // their strings keep the character set of the time when they were set
        }
        self.change().variables.insert(name.into(), value.into());
    }

    /// A variable has a value that only the primary can tell; it is asked before the next use of another server.
    pub(super) fn must_ask(&mut self, name: &str) {
        if !self.unreported.iter().any(|n| n == name) {
            self.unreported.push(name.to_owned());
        }
    }

    /// Whether the primary has to be asked something before another server may be used.
    pub(super) fn must_ask_primary(&self) -> bool {
        self.must_count_temporary_tables || !self.unreported.is_empty()
    }

    /// A reply without room for a report may have been that of a write.
    pub(super) fn may_have_written(&mut self) {
        self.must_ask_last_write |= self.dialect.family == ServerFamily::MariaDb;
    }

    /// What [`Self::must_ask`] was for.
    pub(super) fn answered(&mut self, name: &str, value: &[u8]) {
        self.unreported.retain(|n| n != name);
        self.observe_variable(name, value);
    }

    /// Nothing more is known for sure: the primary's connection is the only one that is right.
    pub(super) fn give_up(&mut self) {
        self.pins.unknown = true;
    }

    fn observe_text(&mut self, effects: Effects, cause: Option<&Cause>, reported: bool, seen: &Observation) {
        if effects.contains(Effects::SETS_SESSION_VARIABLES)
            && !reported
            && cause != Some(&Cause::LetsTimeRun)
        {
            self.pins.unknown = true;
        }
        self.pins.observe_text(effects, cause);
        let ends = effects.contains(Effects::ENDS_TRANSACTION) && !effects.contains(Effects::MULTI_STATEMENT);
        if ends && seen.status.is_some() && !self.in_transaction() {
            self.pins.xa = false;
        }
    }
}

#[cfg(test)]
mod tests;
