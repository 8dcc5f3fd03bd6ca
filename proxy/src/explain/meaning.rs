//! Each reason in words, for those who ask why a statement went where it went.

use crate::routing::{PinReason, Reason, RouteReason};

/// What a reason means.
pub(super) const fn meaning(reason: RouteReason) -> &'static str {
    match reason {
        RouteReason::Held(pin) => of_pin(pin),
        RouteReason::Class(reason) => of_class(reason),
        RouteReason::Hint => "the hint in its leading comment",
        RouteReason::Isolation => "the session's isolation level needs the primary's rows and locks",
        RouteReason::SystemSchema => "the session's schema has tables that are each server's own",
        RouteReason::ReadOnlyTransaction => "a read-only transaction begins",
        RouteReason::NoUsableReplica => "it may read anywhere, and no server for reads is usable",
        RouteReason::Rule(_) => "a rule of the configuration",
        RouteReason::Firewall(_) => "the firewall of the configuration refuses it",
    }
}

const fn of_pin(pin: PinReason) -> &'static str {
    match pin {
        PinReason::Transaction => "a transaction is open",
        PinReason::AutocommitOff => "autocommit is off, so a transaction is always open",
        PinReason::NextTransaction => "SET TRANSACTION waits for the next transaction",
        PinReason::Xa => "an XA transaction is open",
        PinReason::TemporaryTable => "the session has temporary tables",
        PinReason::LockedTables => "the session has locked tables",
        PinReason::NamedLock => "the session has a named lock",
        PinReason::Handler => "the session has a HANDLER open",
        PinReason::UserVariable => "the session has user variables of unknown value",
        PinReason::PreparedByName => "the session has statements prepared by name",
        PinReason::LongData => "long data was sent for a prepared statement",
        PinReason::Cursor => "a cursor is open",
        PinReason::LastStatement => "it asks about the statement before it",
        PinReason::Isolation => "the isolation level ties the session's reads together",
        PinReason::UnknownState => "the session has state that only its own connection has",
    }
}

const fn of_class(reason: Reason) -> &'static str {
    match reason {
        Reason::ProvedRead => "it is proved to read only",
        Reason::SessionVariable => "it reads a variable of the session",
        Reason::UserVariable => "it names a user variable, whose value one connection has",
        Reason::ConnectionId => "it asks for the connection's id",
        Reason::ServerRoleQuestion => {
            "it asks for the server's role or status, which decides whether to write"
        }
        Reason::SystemSchema => "it reads tables that are each server's own",
        Reason::ReplicationWait => "it waits for replication",
        Reason::FileAccess => "it reads a file of the server",
        Reason::LastStatement => "it asks about the statement before it",
        Reason::SetStatement => "it sets state of the session",
        Reason::TransactionControl => "it begins, ends or shapes a transaction",
        Reason::PreparedByName => "PREPARE, EXECUTE or DEALLOCATE as text",
        Reason::Kill => "KILL",
        Reason::LockingClause => "it locks the rows that it reads",
        Reason::IntoClause => "SELECT … INTO writes a file or a variable",
        Reason::UserVariableAssignment => "it assigns a user variable",
        Reason::NamedLock => "it takes, asks for or releases a named lock",
        Reason::Sequence => "it asks a sequence, or moves it on",
        Reason::InsertIdSet => "LAST_INSERT_ID(…) sets what LAST_INSERT_ID() gives",
        Reason::UnknownFunction => "it calls a function that is not known to be harmless",
        Reason::NotARead => "it writes, locks or administers",
        Reason::Empty => "nothing but blanks and comments",
        Reason::AmbiguousCharset => "its bytes may be read in two ways under the session's character set",
        Reason::NotUnderstood => "it is not understood, or too long to be read",
        Reason::JudgesDisagree => "Telamon's own reading and the parser's tree disagree",
    }
}
