//! What the router is told of a session and of the servers, and what it answers.

use std::fmt;

use super::class::Reason;
use super::firewall::Hazard;
use super::rules::RuleId;

/// Why a session must keep the backend connection it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PinReason {
    /// A transaction is open.
    Transaction,
    /// autocommit is 0: a transaction that never ends.
    AutocommitOff,
    /// `SET TRANSACTION` waits for the next transaction.
    NextTransaction,
    /// An XA transaction is open.
    Xa,
    /// Temporary tables exist.
    TemporaryTable,
    /// `LOCK TABLES` or `FLUSH TABLES WITH READ LOCK`.
    LockedTables,
    /// `GET_LOCK()`.
    NamedLock,
    /// A HANDLER is open.
    Handler,
    /// User variables whose values are not known here.
    UserVariable,
    /// Statements prepared by name.
    PreparedByName,
    /// Long data has been sent for a prepared statement.
    LongData,
    /// A cursor is open.
    Cursor,
    /// The statement asks about the one before it.
    LastStatement,
    /// The isolation level ties the session's reads together.
    Isolation,
    /// The connection's state cannot be told, or cannot be repeated elsewhere.
    UnknownState,
}

impl PinReason {
    /// Every one, in the order of their declaration.
    pub const ALL: [Self; 15] = [
        Self::Transaction,
        Self::AutocommitOff,
        Self::NextTransaction,
        Self::Xa,
        Self::TemporaryTable,
        Self::LockedTables,
        Self::NamedLock,
        Self::Handler,
        Self::UserVariable,
        Self::PreparedByName,
        Self::LongData,
        Self::Cursor,
        Self::LastStatement,
        Self::Isolation,
        Self::UnknownState,
    ];

    /// The name in `explain`, traces and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::AutocommitOff => "autocommit_off",
            Self::NextTransaction => "next_transaction",
            Self::Xa => "xa",
            Self::TemporaryTable => "temporary_table",
            Self::LockedTables => "locked_tables",
            Self::NamedLock => "named_lock",
            Self::Handler => "handler",
            Self::UserVariable => "user_variable",
            Self::PreparedByName => "prepared_by_name",
            Self::LongData => "long_data",
            Self::Cursor => "cursor",
            Self::LastStatement => "last_statement",
            Self::Isolation => "isolation",
            Self::UnknownState => "unknown_state",
        }
    }
}

impl fmt::Display for PinReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The session's transaction isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Isolation {
    /// READ UNCOMMITTED: sees other sessions' uncommitted rows, so the primary.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ, the default.
    #[default]
    RepeatableRead,
    /// SERIALIZABLE: reads lock, so the primary.
    Serializable,
}

impl Isolation {
    /// The level, as `transaction_isolation` writes it (`READ-COMMITTED`) or SQL does (`READ COMMITTED`).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().replace(' ', "-").as_str() {
            "READ-UNCOMMITTED" => Some(Self::ReadUncommitted),
            "READ-COMMITTED" => Some(Self::ReadCommitted),
            "REPEATABLE-READ" => Some(Self::RepeatableRead),
            "SERIALIZABLE" => Some(Self::Serializable),
            _ => None,
        }
    }

    /// Whether a replica can answer this session's reads as the primary would.
    #[must_use]
    pub const fn allows_replica(self) -> bool {
        matches!(self, Self::ReadCommitted | Self::RepeatableRead)
    }
}

/// What routing must know of a session. Empty is true for a fresh session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionFacts {
    /// Why the session must keep its connection, where it must.
    pub held: Option<PinReason>,
    /// Whether the connection of the previous statement is still at hand, for statements that ask about it.
    pub keeps_previous: bool,
    /// The isolation level of the session's statements outside a transaction.
    pub isolation: Isolation,
    /// Whether the session's schema is `mysql`, `sys`, `performance_schema` or `information_schema`,
    /// whose tables need no qualifier then.
    pub in_system_schema: bool,
}

impl SessionFacts {
    /// Whether a schema's tables are per server, for [`SessionFacts::in_system_schema`].
    #[must_use]
    pub fn is_system_schema(schema: &[u8]) -> bool {
        ["mysql", "sys", "performance_schema", "information_schema"]
            .iter()
            .any(|name| schema.eq_ignore_ascii_case(name.as_bytes()))
    }
}

/// What happens to a read when no replica is usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// The primary answers it.
    #[default]
    Primary,
    /// The client gets an error that says so.
    Error,
}

/// What routing must know of the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplicaFacts {
    /// How many replicas are up, known not to lag over the limit, and of weight above 0.
    pub usable: usize,
    /// What to do when none is.
    pub fallback: Fallback,
}

/// Where a statement goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A connection to the primary.
    Primary,
    /// A connection to any usable replica.
    Replica,
    /// The connection the session holds, or the one of its previous statement.
    Held,
    /// No server: Telamon itself answers, here with an error.
    Own,
}

impl Target {
    /// The name in `explain`, traces and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Replica => "replica",
            Self::Held => "held",
            Self::Own => "self",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which step of the order of decision decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteReason {
    /// The session holds a connection.
    Held(PinReason),
    /// A hint in the leading comment.
    Hint,
    /// The session's isolation level keeps reads on the primary.
    Isolation,
    /// The session's schema is a system schema.
    SystemSchema,
    /// The statement's class.
    Class(Reason),
    /// START TRANSACTION READ ONLY.
    ReadOnlyTransaction,
    /// A replica was wanted and none is usable.
    NoUsableReplica,
    /// A rule of the user, by its place in the file.
    Rule(RuleId),
    /// The firewall.
    Firewall(Hazard),
}

impl RouteReason {
    /// The name in `explain`, traces and metrics: of the pin or the class's reason where one decided.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held(pin) => pin.as_str(),
            Self::Hint => "hint",
            Self::Isolation => "isolation",
            Self::SystemSchema => "system_schema",
            Self::Class(reason) => reason.as_str(),
            Self::ReadOnlyTransaction => "read_only_transaction",
            Self::NoUsableReplica => "no_usable_replica",
            Self::Rule(_) => "rule",
            Self::Firewall(_) => "firewall",
        }
    }

    /// The step of the order of decision: `rule`, `held`, `hint`, `session`, `class` or
    /// `servers`.
    #[must_use]
    pub const fn step(self) -> &'static str {
        match self {
            Self::Held(_) => "held",
            Self::Hint => "hint",
            Self::Isolation | Self::SystemSchema => "session",
            Self::Class(_) | Self::ReadOnlyTransaction => "class",
            Self::NoUsableReplica => "servers",
            Self::Rule(_) | Self::Firewall(_) => "rule",
        }
    }
}

impl fmt::Display for RouteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The router's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Where the statement goes.
    pub target: Target,
    /// Why.
    pub reason: RouteReason,
    /// A replica hint stood on a statement that no replica may run: ignored, to be counted.
    pub hint_ignored: bool,
    /// The first rule that matches wished another target than the statement may have, or than a hint asks
    /// for: ignored, to be counted.
    pub rule_ignored: bool,
}
