//! The settings of one session on a server: what makes two connections of one account differ, where they are clean.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// Distinct settings a worker remembers before it forgets those that nobody has.
const REMEMBERED: usize = 1024;

/// Everything that a clean connection was told since its login. Empty is the login's own state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Settings {
    /// The default schema.
    pub schema: Option<Box<[u8]>>,
    /// Session variables that were set, with the values that the server reported.
    pub variables: BTreeMap<Box<str>, Box<[u8]>>,
    /// User variables that were set to literals, with the literals' text.
    pub user_variables: BTreeMap<Box<[u8]>, Box<[u8]>>,
    /// What COM_SET_OPTION asked for last. No reset undoes it.
    pub option: Option<u16>,
    /// autocommit, where it was set to something else than the server's default.
    pub autocommit: Option<bool>,
    /// After a COM_RESET_CONNECTION of the client's: the character set is the server's default then, not the login's.
    pub was_reset: bool,
}

/// Variables that say what a statement's text means at the time when it is prepared.
pub const MEANING_OF_TEXT: [&str; 4] =
    ["sql_mode", "character_set_client", "character_set_connection", "collation_connection"];

impl Settings {
    /// The part of them that a prepared statement keeps from the time when it was prepared.
    #[must_use]
    pub fn of_text(&self) -> Self {
        let named = |name: &str| MEANING_OF_TEXT.contains(&name);
        Self {
            schema: self.schema.clone(),
            variables: self
                .variables
                .iter()
                .filter(|(n, _)| named(n))
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect(),
            user_variables: BTreeMap::new(),
            option: None,
            autocommit: None,
            was_reset: self.was_reset,
        }
    }

    /// These settings, with the meaning of texts that `then` had.
    #[must_use]
    pub fn with_text_of(&self, then: &Self) -> Self {
        let named = |name: &str| MEANING_OF_TEXT.contains(&name);
        let mut variables = then.variables.clone();
        variables
            .extend(self.variables.iter().filter(|(n, _)| !named(n)).map(|(n, v)| (n.clone(), v.clone())));
        Self { schema: then.schema.clone(), variables, was_reset: then.was_reset, ..self.clone() }
    }

    /// Whether a connection with these settings can only get to `wanted` by a reset: it has something that cannot be
    /// unset one by one.
    #[must_use]
    pub fn needs_reset_for(&self, wanted: &Self) -> bool {
        self.was_reset != wanted.was_reset
            || (self.autocommit.is_some() && wanted.autocommit.is_none())
            || self.user_variables.keys().any(|name| !wanted.user_variables.contains_key(name))
            || self.variables.keys().any(|name| !wanted.variables.contains_key(name))
    }

    /// What a COM_RESET_CONNECTION, of the client's where `was_reset`, leaves of them.
    #[must_use]
    pub fn after_reset(&self, was_reset: bool) -> Self {
        Self { schema: self.schema.clone(), option: self.option, was_reset, ..Self::default() }
    }

    /// Whether not even a reset leads to `wanted`: no command leaves a schema for none.
    #[must_use]
    pub fn cannot_become(&self, wanted: &Self) -> bool {
        self.schema.is_some() && wanted.schema.is_none()
    }
}

/// One `Rc` for equal settings, so that equality is a comparison of pointers.
#[derive(Debug, Default)]
pub struct Interner {
    known: RefCell<HashSet<Rc<Settings>>>,
}

impl Interner {
    /// The one `Rc` of settings equal to these.
    pub fn intern(&self, settings: Settings) -> Rc<Settings> {
        let mut known = self.known.borrow_mut();
        if let Some(there) = known.get(&settings) {
            return there.clone();
        }
        if known.len() >= REMEMBERED {
            known.retain(|settings| Rc::strong_count(settings) > 1);
        }
        let new = Rc::new(settings);
        known.insert(new.clone());
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Settings {
        let pair = |(name, value): &(&str, &str)| ((*name).into(), value.as_bytes().into());
        Settings { variables: variables.iter().map(pair).collect(), ..Settings::default() }
    }

    #[test]
    fn equal_settings_are_one() {
        let interner = Interner::default();
        let first = interner.intern(with(&[("sql_mode", "")]));
        assert!(Rc::ptr_eq(&first, &interner.intern(with(&[("sql_mode", "")]))));
        assert!(!Rc::ptr_eq(&first, &interner.intern(with(&[]))));
    }

    #[test]
    fn settings_that_nobody_has_are_forgotten() {
        let interner = Interner::default();
        let kept = interner.intern(with(&[("a", "kept")]));
        for i in 0..3 * REMEMBERED {
            interner.intern(with(&[("a", &i.to_string())]));
        }
        assert!(interner.known.borrow().len() <= REMEMBERED);
        assert!(Rc::ptr_eq(&kept, &interner.intern(with(&[("a", "kept")]))));
    }

    #[test]
    fn a_variable_too_many_needs_a_reset_and_another_value_does_not() {
        let set = with(&[("sql_mode", "ANSI"), ("wait_timeout", "7")]);
        assert!(set.needs_reset_for(&with(&[("sql_mode", "ANSI")])));
        assert!(!set.needs_reset_for(&with(&[("sql_mode", ""), ("wait_timeout", "8")])));
        assert!(!with(&[]).needs_reset_for(&set));
    }

    #[test]
    fn a_prepared_statement_keeps_what_its_text_meant_and_nothing_else() {
        let then = with(&[("sql_mode", "ANSI"), ("wait_timeout", "7")]);
        assert_eq!(then.of_text(), with(&[("sql_mode", "ANSI")]));
        let now = with(&[("sql_mode", ""), ("wait_timeout", "8")]);
        assert_eq!(now.with_text_of(&then.of_text()), with(&[("sql_mode", "ANSI"), ("wait_timeout", "8")]));
    }
}
