//! What a session would know, taken from the text of its statements: each is taken to have succeeded.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Explained;
use super::log::Event;
use crate::routing::{
    Dialect, Effects, Isolation, PinReason, RuleSet, SessionFacts, StatementKind, Target, normal_form,
};

/// A session as far as statements tell of it.
#[derive(Debug)]
pub(super) struct Simulated {
    pub(super) dialect: Dialect,
    pub(super) schema: Option<Vec<u8>>,
    pub(super) rules: RuleSet,
    isolation: Isolation,
    in_transaction: bool,
    autocommit_off: bool,
    next_transaction: bool,
    locked_tables: bool,
    temporary_table: bool,
    xa: bool,
    unknown: bool,
    named_locks: u32,
    handlers: u32,
    /// The last statement was EXECUTE as text, whose own line may follow in a log.
    executes: bool,
    last_seen: u64,
}

impl Simulated {
    /// A session that has just begun.
    pub(super) fn new(dialect: Dialect, schema: Option<Vec<u8>>, rules: RuleSet) -> Self {
        Self {
            dialect,
            schema,
            rules,
            isolation: Isolation::default(),
            in_transaction: false,
            autocommit_off: false,
            next_transaction: false,
            locked_tables: false,
            temporary_table: false,
            xa: false,
            unknown: false,
            named_locks: 0,
            handlers: 0,
            executes: false,
            last_seen: 0,
        }
    }

    /// What routing must know.
    pub(super) fn facts(&self) -> SessionFacts {
        SessionFacts {
            held: self.held(),
            keeps_previous: true,
            isolation: self.isolation,
            in_system_schema: self.schema.as_deref().is_some_and(SessionFacts::is_system_schema),
        }
    }

    fn held(&self) -> Option<PinReason> {
        let pins = [
            (self.xa, PinReason::Xa),
            (self.in_transaction, PinReason::Transaction),
            (self.autocommit_off, PinReason::AutocommitOff),
            (self.next_transaction, PinReason::NextTransaction),
            (self.temporary_table, PinReason::TemporaryTable),
            (self.locked_tables, PinReason::LockedTables),
            (self.named_locks > 0, PinReason::NamedLock),
            (self.handlers > 0, PinReason::Handler),
            (self.unknown, PinReason::UnknownState),
        ];
        pins.into_iter().find(|(is, _)| *is).map(|(_, pin)| pin)
    }

    /// The statement that an event of a log is about; any other changes the session here.
    pub(super) fn statement<'a>(
        &mut self,
        event: &'a Event,
        rules: impl Fn(&str, Option<IpAddr>) -> RuleSet,
    ) -> Option<&'a [u8]> {
        match event {
            Event::Query(sql) => return Some(sql),
            Event::Execute(sql) if !std::mem::take(&mut self.executes) => return Some(sql),
            Event::Connect { user, client, schema } => {
                let schema = schema.clone().map(String::into_bytes);
                let base = self.dialect.with_sql_mode("");
                *self = Self { last_seen: self.last_seen, ..Self::new(base, schema, rules(user, *client)) };
            }
            Event::Caller { user, client, schema } => {
                self.rules = rules(user, *client);
                if let Some(schema) = schema {
                    self.schema = Some(schema.clone().into_bytes());
                }
            }
            Event::InitDb(schema) => self.schema = Some(schema.clone()),
            Event::Reset => {
                let (base, rules) = (self.dialect.with_sql_mode(""), std::mem::take(&mut self.rules));
                *self = Self { last_seen: self.last_seen, ..Self::new(base, self.schema.take(), rules) };
            }
            Event::Execute(_) | Event::Prepare | Event::Quit | Event::Started(_) => {}
        }
        None
    }

    /// The statement has run.
    pub(super) fn after(&mut self, explained: &Explained<'_>) {
        if explained.route.target == Target::Own {
            return; // refused
        }
        let effects = explained.class.effects;
        let has = |effect| effects.intersects(effect);
        self.executes = has(Effects::EXECUTES_STATEMENT);
        self.transaction(explained);
        self.temporary_table |= has(Effects::CREATES_TEMPORARY_TABLE);
        self.unknown |= has(Effects::SETS_UNTRACKED_STATE);
        self.xa =
            has(Effects::XA) && !has(Effects::ENDS_TRANSACTION) || self.xa && !has(Effects::ENDS_TRANSACTION);
        // A transaction that is begun by its own statement lets go of the tables, too.
        let unlocks = has(Effects::UNLOCKS_TABLES.with(Effects::BEGINS_TRANSACTION));
        self.locked_tables = (self.locked_tables || has(Effects::LOCKS_TABLES)) && !unlocks;
        self.named_locks += u32::from(has(Effects::TAKES_NAMED_LOCK));
        self.handlers += u32::from(has(Effects::OPENS_HANDLER));
        if !has(Effects::MULTI_STATEMENT) {
            self.named_locks -= u32::from(has(Effects::RELEASES_NAMED_LOCK)).min(self.named_locks);
            self.handlers -= u32::from(has(Effects::CLOSES_HANDLER)).min(self.handlers);
        }
        if let Some(schema) = explained.class.schema.as_deref().filter(|_| has(Effects::USES_SCHEMA)) {
            self.schema = Some(schema.to_vec());
        }
        if has(Effects::SETS_SESSION_VARIABLES) {
            self.variables(explained.sql);
        }
    }

    fn transaction(&mut self, explained: &Explained<'_>) {
        let effects = explained.class.effects;
        let has = |effect| effects.intersects(effect);
        if has(Effects::AUTOCOMMIT_ON) {
            self.autocommit_off = false;
            self.in_transaction = false;
        }
        self.autocommit_off |= has(Effects::AUTOCOMMIT_OFF);
        let begins = has(Effects::BEGINS_TRANSACTION);
        let ends = has(Effects::ENDS_TRANSACTION) || commits(explained);
        // With autocommit off the first statement that uses a table begins one.
        let uses_table = !explained.class.tables.is_empty();
        let begins = begins || self.autocommit_off && uses_table && !ends;
        self.in_transaction = match (begins, ends) {
            (true, true) if has(Effects::MULTI_STATEMENT) => last_begins(explained),
            (true, _) => true,
            (false, ends) => self.in_transaction && !ends,
        };
        // It is for the next transaction: one that begins, or the next statement that is one by itself.
        let shapes = has(Effects::SETS_NEXT_TRANSACTION);
        self.next_transaction = shapes || self.next_transaction && !begins && !ends && !uses_table;
    }

    /// What the text of a SET says of variables that change how other texts are read or routed.
    fn variables(&mut self, sql: &[u8]) {
        let text = String::from_utf8_lossy(sql);
        if let Some(modes) = value_of(&text, "sql_mode") {
            self.dialect = self.dialect.with_sql_mode(modes);
        }
        let charset = value_of(&text, "names").or(value_of(&text, "character_set_client"));
        if let Some(name) = charset.or(value_of(&text, "character set")) {
            self.dialect = self.dialect.with_character_set(name);
        }
        let level = value_of(&text, "isolation level").or(value_of(&text, "_isolation"));
        if let Some(level) = level.and_then(Isolation::from_name) {
            self.isolation = level;
        }
    }
}

/// The value that stands behind a name and perhaps a `=`: what is between quotes, else what may be one.
fn value_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let at = text.to_ascii_lowercase().find(name)? + name.len();
    let rest = text.get(at..)?.trim_start_matches([' ', '\t', '\n', ':', '=', '`']);
    let value = match rest.chars().next()? {
        quote @ ('\'' | '"') => rest[1..].split(quote).next()?,
        _ => rest.split([',', ';']).next()?,
    };
    Some(value.trim())
}

/// Whether the statement commits what went before, as DDL does.
fn commits(explained: &Explained<'_>) -> bool {
    if explained.class.kind != StatementKind::Write || explained.sql.len() > 1 << 16 {
        return false;
    }
    let form = normal_form(explained.sql, &explained.dialect);
    let mut words = form.split(|byte| *byte == b' ');
    match words.next() {
        Some(b"create" | b"drop") => words.next() != Some(b"temporary"),
        Some(
            b"alter" | b"truncate" | b"rename" | b"grant" | b"revoke" | b"lock" | b"optimize" | b"analyze"
            | b"repair" | b"check",
        ) => true,
        _ => false,
    }
}

/// Of several statements in one text: whether the last that begins or ends a transaction begins one.
fn last_begins(explained: &Explained<'_>) -> bool {
    let form = normal_form(explained.sql, &explained.dialect);
    let last = |word: &[u8]| form.windows(word.len()).rposition(|window| window == word);
    let begins = last(b"begin").max(last(b"start transaction")).max(last(b"and chain"));
    begins > last(b"commit").max(last(b"rollback"))
}

/// The sessions of a log, by their connection's id.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: HashMap<u64, Simulated>,
    seen: u64,
    events: u64,
    dialect: Option<Dialect>,
}

/// Sessions remembered at the most; a log without the ends of connections would have ever more.
const MOST_SESSIONS: usize = 100_000;

impl Sessions {
    /// The server was started, so that every session is over; it speaks this dialect.
    pub(super) fn restart(&mut self, dialect: Option<Dialect>) {
        self.open.clear();
        self.dialect = dialect.or(self.dialect);
    }

    /// The session of a connection.
    pub(super) fn of(&mut self, connection: u64, fresh: impl Fn() -> Simulated) -> &mut Simulated {
        self.events += 1;
        if self.open.len() >= MOST_SESSIONS {
            let old = self.events.saturating_sub(MOST_SESSIONS as u64 / 2);
            self.open.retain(|_, session| session.last_seen > old);
        }
        let dialect = self.dialect;
        let session = self.open.entry(connection).or_insert_with(|| {
            self.seen += 1;
            let fresh = fresh();
            Simulated { dialect: dialect.unwrap_or(fresh.dialect), ..fresh }
        });
        session.last_seen = self.events;
        session
    }

    /// The connection is over.
    pub(super) fn end(&mut self, connection: u64) {
        self.open.remove(&connection);
    }

    /// How many sessions are remembered.
    #[cfg(test)]
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// How many connections there were.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }
}
