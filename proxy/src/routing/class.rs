//! The class of a statement: all that routing and session state need to know of its text.

use std::fmt;

use super::effects::Effects;
use super::firewall::{Hazard, Hazards};
use super::rules::RuleSet;

/// Where a statement may run, from the most to the least free. The order is the strength: of several
/// statements in one text the strongest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatementKind {
    /// Proved to read schema objects and data only: any usable replica.
    Read,
    /// Reads the session's own state (system variables, user variables, its connection id): the
    /// primary, or a connection to which that state has been brought.
    SessionRead,
    /// Changes nothing, but only the primary can answer: questions about the server's role and
    /// status, system schemas, accounts, named locks.
    PrimaryRead,
    /// Asks about the previous statement: the connection that one ran on.
    LastStatement,
    /// Sets session state: variables, names, schema.
    SessionSet,
    /// Begins, ends or shapes a transaction; the effects say which.
    Transaction,
    /// PREPARE, EXECUTE and DEALLOCATE as text; the effects say which.
    Prepared,
    /// KILL.
    Kill,
    /// Everything else, and everything not understood: the primary.
    Write,
}

impl StatementKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::SessionRead,
        Self::PrimaryRead,
        Self::LastStatement,
        Self::SessionSet,
        Self::Transaction,
        Self::Prepared,
        Self::Kill,
        Self::Write,
    ];

    /// The name in `explain`, traces, metrics and rules.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::SessionRead => "session_read",
            Self::PrimaryRead => "primary_read",
            Self::LastStatement => "last_statement",
            Self::SessionSet => "session_set",
            Self::Transaction => "transaction",
            Self::Prepared => "prepared",
            Self::Kill => "kill",
            Self::Write => "write",
        }
    }

    /// Whether the statement changes neither data nor session state, so that a lost one may run again.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        matches!(self, Self::Read | Self::SessionRead | Self::PrimaryRead)
    }
}

impl fmt::Display for StatementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a statement has its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Both judges, or the scan where the parser cannot follow, prove a read.
    ProvedRead,
    /// A system variable of the session, or what depends on it.
    SessionVariable,
    /// A user variable is named: its value lives on one connection.
    UserVariable,
    /// `CONNECTION_ID()` and its like.
    ConnectionId,
    /// A question about the server's role or status: `@@read_only`, `SHOW STATUS`, ….
    ServerRoleQuestion,
    /// `mysql`, `sys`, `performance_schema`, the tables of `information_schema` that are per server, accounts.
    SystemSchema,
    /// A wait for replication: `SOURCE_POS_WAIT()` and its like.
    ReplicationWait,
    /// `LOAD_FILE()`: a file of one server.
    FileAccess,
    /// Asks about the previous statement.
    LastStatement,
    /// `SET` of session state, `USE`.
    SetStatement,
    /// Transaction control.
    TransactionControl,
    /// PREPARE, EXECUTE, DEALLOCATE as text.
    PreparedByName,
    /// `KILL`.
    Kill,
    /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
    LockingClause,
    /// `INTO OUTFILE`, `INTO DUMPFILE`, `INTO @v`.
    IntoClause,
    /// `@v := expr` inside an expression.
    UserVariableAssignment,
    /// `GET_LOCK()` and its like.
    NamedLock,
    /// A sequence is advanced or asked: `NEXTVAL()`, `NEXT VALUE FOR`, ….
    Sequence,
    /// `LAST_INSERT_ID(expr)`.
    InsertIdSet,
    /// A function that is not a built-in known to be harmless: it may write.
    UnknownFunction,
    /// A statement known to write, to lock or to administer.
    NotARead,
    /// Nothing but blanks and comments: the server's error 1065.
    Empty,
    /// Bytes above 0x7F under a character set that makes them ambiguous.
    AmbiguousCharset,
    /// The text cannot be followed: an unclosed string or comment, an unknown statement, a NUL byte.
    NotUnderstood,
    /// The scan finds a read, the parser's tree does not.
    JudgesDisagree,
}

impl Reason {
    /// Every one, in the order of their declaration.
    pub const ALL: [Self; 25] = [
        Self::ProvedRead,
        Self::SessionVariable,
        Self::UserVariable,
        Self::ConnectionId,
        Self::ServerRoleQuestion,
        Self::SystemSchema,
        Self::ReplicationWait,
        Self::FileAccess,
        Self::LastStatement,
        Self::SetStatement,
        Self::TransactionControl,
        Self::PreparedByName,
        Self::Kill,
        Self::LockingClause,
        Self::IntoClause,
        Self::UserVariableAssignment,
        Self::NamedLock,
        Self::Sequence,
        Self::InsertIdSet,
        Self::UnknownFunction,
        Self::NotARead,
        Self::Empty,
        Self::AmbiguousCharset,
        Self::NotUnderstood,
        Self::JudgesDisagree,
    ];

    /// The name in `explain`, traces and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProvedRead => "proved_read",
            Self::SessionVariable => "session_variable",
            Self::UserVariable => "user_variable",
            Self::ConnectionId => "connection_id",
            Self::ServerRoleQuestion => "server_role_question",
            Self::SystemSchema => "system_schema",
            Self::ReplicationWait => "replication_wait",
            Self::FileAccess => "file_access",
            Self::LastStatement => "last_statement",
            Self::SetStatement => "set_statement",
            Self::TransactionControl => "transaction_control",
            Self::PreparedByName => "prepared_by_name",
            Self::Kill => "kill",
            Self::LockingClause => "locking_clause",
            Self::IntoClause => "into_clause",
            Self::UserVariableAssignment => "user_variable_assignment",
            Self::NamedLock => "named_lock",
            Self::Sequence => "sequence",
            Self::InsertIdSet => "insert_id_set",
            Self::UnknownFunction => "unknown_function",
            Self::NotARead => "not_a_read",
            Self::Empty => "empty",
            Self::AmbiguousCharset => "ambiguous_charset",
            Self::NotUnderstood => "not_understood",
            Self::JudgesDisagree => "judges_disagree",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A table that a statement names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    /// The schema, where the text names it; else the session's own.
    pub schema: Option<Box<str>>,
    /// The table, view or common table expression.
    pub table: Box<str>,
}

/// What a KILL is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KillTarget {
    /// `KILL QUERY`: end the statement, keep the session.
    pub query_only: bool,
    /// The connection id the client names, where it is a plain number.
    pub connection_id: Option<u64>,
}

/// The answer of classification: the same for all texts of one fingerprint and dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementClass {
    /// Where it may run.
    pub kind: StatementKind,
    /// Why.
    pub reason: Reason,
    /// What it does to the session.
    pub effects: Effects,
    /// Hash of the text without its literals, blanks, comments and the case of unquoted words. Stable
    /// across runs and processes of one version of Telamon.
    pub fingerprint: u64,
    /// The tables named: of a read that the parser could follow just those, of others whatever stands in a place for
    /// tables. Of a text that is not looked at, none.
    pub tables: Vec<TableName>,
    /// The schema of `USE`.
    pub schema: Option<Box<[u8]>>,
    /// The target of `KILL`.
    pub kill: Option<KillTarget>,
    /// What the firewall may refuse it for.
    pub hazards: Hazards,
    /// The user's rules that its text may be for; empty where no rules were asked.
    pub rules: RuleSet,
}

impl StatementClass {
    /// The class of a text that is not looked at, because it is too long: it may be anything.
    #[must_use]
    pub fn not_read() -> Self {
        Self {
            kind: StatementKind::Write,
            reason: Reason::NotUnderstood,
            effects: Effects::MAY_CALL_UNKNOWN,
            fingerprint: 0,
            tables: Vec::new(),
            schema: None,
            kill: None,
            hazards: Hazards::NONE.with(Hazard::Unread),
            rules: RuleSet::default(),
        }
    }

    /// Whether a replica may run it.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.kind == StatementKind::Read
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.table),
            None => f.write_str(&self.table),
        }
    }
}
