//! What a statement does to its session: the bits a session acts on without reading the text again.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of session effects. The effects hold if the server answers OK; the server's status flags
/// and session tracking judge before them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Effects(u64);

macro_rules! effects {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal;)*) => {
        impl Effects {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*

            /// Each single effect with its name in `explain`, traces and metrics.
            pub const NAMES: &[(Self, &str)] = &[$((Self::$name, $text)),*];
        }
    };
}

effects! {
    /// `USE db`: the class's `schema` names it.
    USES_SCHEMA = 0, "uses_schema";
    /// A session variable is set (`SET x =`, `SET NAMES`, `SET SESSION TRANSACTION`).
    SETS_SESSION_VARIABLES = 1, "sets_session_variables";
    /// A user variable is set: `SET @v`, `@v :=`, `INTO @v`.
    SETS_USER_VARIABLES = 2, "sets_user_variables";
    /// A user variable is read, or at least named.
    READS_USER_VARIABLES = 3, "reads_user_variables";
    /// A transaction begins: `BEGIN`, `START TRANSACTION`, `… AND CHAIN`. Also set for a read-only one.
    BEGINS_TRANSACTION = 4, "begins_transaction";
    /// The transaction that begins is READ ONLY. Always together with `BEGINS_TRANSACTION`.
    BEGINS_READ_ONLY_TRANSACTION = 5, "begins_read_only_transaction";
    /// `COMMIT` or `ROLLBACK` (not to a savepoint), also of an XA transaction.
    ENDS_TRANSACTION = 6, "ends_transaction";
    /// `SET TRANSACTION` without a scope: characteristics of the next transaction only.
    SETS_NEXT_TRANSACTION = 7, "sets_next_transaction";
    /// The session's autocommit is set to 0, or to something that cannot be named from the text.
    AUTOCOMMIT_OFF = 8, "autocommit_off";
    /// The session's autocommit is set to 1.
    AUTOCOMMIT_ON = 9, "autocommit_on";
    /// `CREATE TEMPORARY TABLE`.
    CREATES_TEMPORARY_TABLE = 10, "creates_temporary_table";
    /// `DROP TEMPORARY TABLE`.
    DROPS_TEMPORARY_TABLE = 11, "drops_temporary_table";
    /// `LOCK TABLES`, `FLUSH TABLES … WITH READ LOCK`, `FLUSH TABLES … FOR EXPORT`.
    LOCKS_TABLES = 12, "locks_tables";
    /// `UNLOCK TABLES`.
    UNLOCKS_TABLES = 13, "unlocks_tables";
    /// `GET_LOCK()`.
    TAKES_NAMED_LOCK = 14, "takes_named_lock";
    /// `RELEASE_LOCK()` or `RELEASE_ALL_LOCKS()`.
    RELEASES_NAMED_LOCK = 15, "releases_named_lock";
    /// `HANDLER … OPEN`.
    OPENS_HANDLER = 16, "opens_handler";
    /// `HANDLER … CLOSE`.
    CLOSES_HANDLER = 17, "closes_handler";
    /// An XA statement that binds its connection.
    XA = 18, "xa";
    /// `PREPARE s FROM …`.
    PREPARES_STATEMENT = 19, "prepares_statement";
    /// `EXECUTE s`.
    EXECUTES_STATEMENT = 20, "executes_statement";
    /// `DEALLOCATE PREPARE s`, `DROP PREPARE s`.
    DEALLOCATES_STATEMENT = 21, "deallocates_statement";
    /// More than one statement in the text.
    MULTI_STATEMENT = 22, "multi_statement";
    /// `KILL`: the class's `kill` names the target where the text does.
    KILLS = 23, "kills";
    /// `CONNECTION_ID()` is called.
    CALLS_CONNECTION_ID = 24, "calls_connection_id";
    /// `SQL_CALC_FOUND_ROWS`: `FOUND_ROWS()` will be asked of this connection.
    FOUND_ROWS_WANTED = 25, "found_rows_wanted";
    /// Code that the text does not show may run (`CALL`, stored or loadable functions, compound
    /// statements, `EXECUTE IMMEDIATE`), with any effect on the session.
    MAY_CALL_UNKNOWN = 26, "may_call_unknown";
    /// The session's last insert id is asked for: `LAST_INSERT_ID()`, `@@identity`.
    ASKS_INSERT_ID = 27, "asks_insert_id";
    /// `LAST_INSERT_ID(expr)`: the value that `LAST_INSERT_ID()` gives from now on.
    SETS_INSERT_ID = 28, "sets_insert_id";
    /// Session state that no variable names or that cannot be repeated elsewhere: `SET ROLE`,
    /// `sql_log_bin`, `insert_id`, `gtid_next`, `LOCK INSTANCE FOR BACKUP`, ….
    SETS_UNTRACKED_STATE = 29, "sets_untracked_state";
    /// `COMMIT RELEASE`, `ROLLBACK RELEASE`: the server ends the session.
    ENDS_SESSION = 30, "ends_session";
    /// How many rows the previous statement changed or found is asked for: `ROW_COUNT()`, `FOUND_ROWS()`.
    ASKS_COUNTS = 31, "asks_counts";
    /// What else the previous statement left is asked for: `SHOW WARNINGS`, `GET DIAGNOSTICS`,
    /// `@@warning_count`, `@@last_gtid`, `SHOW PROFILES`.
    ASKS_DIAGNOSTICS = 32, "asks_diagnostics";
    /// Rows are inserted, for which the server may make ids: `INSERT`, `REPLACE`, `LOAD DATA`.
    INSERTS = 33, "inserts";
}

impl Effects {
    /// No effect.
    pub const NONE: Self = Self(0);

    /// Whether every effect of `other` is in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any effect of `other` is in this set.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// This set without the effects of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// This set with the effects of `other`; `|` in constant expressions.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set as a number, one bit an effect.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The names of the effects in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().filter(move |(effect, _)| self.contains(*effect)).map(|(_, name)| *name)
    }
}

impl BitOr for Effects {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitOrAssign for Effects {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Display for Effects {
    /// The names, joined by commas; nothing for the empty set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.names().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Effects({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_effect_has_a_bit_and_a_name_of_its_own() {
        for (i, (effect, name)) in Effects::NAMES.iter().enumerate() {
            assert_eq!(effect.bits().count_ones(), 1, "{name}");
            assert!(
                Effects::NAMES[..i].iter().all(|(other, other_name)| other != effect && other_name != name)
            );
        }
    }

    #[test]
    fn a_set_shows_its_names() {
        let set = Effects::KILLS | Effects::USES_SCHEMA;
        assert_eq!(set.to_string(), "uses_schema,kills");
        assert_eq!(set.without(Effects::KILLS), Effects::USES_SCHEMA);
        assert!(set.intersects(Effects::KILLS) && !set.contains(Effects::KILLS | Effects::XA));
        assert!(Effects::NONE.is_empty());
    }
}
