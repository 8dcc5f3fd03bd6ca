//! The keys of `[[rules]]` and `[firewall]`: see [`super::keys::KEYS`].

use super::keys::{Key, key, list, quoted, word};
use super::rules::action_word;
use super::words::choices;
use super::{Config, FirewallMode};
use crate::routing::{Hazard, StatementKind};

use super::keys::Values::{Described, Words};

/// A key of `[firewall]`.
const fn firewall(path: &'static str, what: &'static str, shown: fn(&Config) -> String) -> Key {
    key(path, what, Words(choices::<FirewallMode>), shown)
}

fn mode(config: &Config, hazard: Hazard) -> String {
    word(config.firewall.mode(hazard))
}

pub(super) const NAME: Key = key(
        "rules.name",
        "Rules tune where statements go. They are asked in the file's order, the first that matches decides, and \
         what a rule names must all hold. No rule moves a write, a transaction or a session that must keep its \
         connection to a replica, and a hint stands before it. The name is what telamon explain, traces and \
         metrics call the rule; unique.",
        Described("letters, digits, '_', '.', '-'; 64 bytes at most"),
        |c| quoted(&c.rules[0].rule.name),
    )
    .default("none, required");

pub(super) const ENABLED: Key =
    key("rules.enabled", "Whether the rule is asked.", Described("true or false"), |c| {
        c.rules[0].rule.enabled.to_string()
    })
    .default("true");

pub(super) const USER: Key = key(
    "rules.user",
    "Accounts whose statements it is for. Empty is all; so for the keys below.",
    Described("a name of [[users]] or a list of them"),
    |c| list(&c.rules[0].users),
);

pub(super) const CLIENT: Key = key(
    "rules.client",
    "Where the clients are whose statements it is for.",
    Described("an address, a network in CIDR form or \"localhost\" for the Unix socket, or a list of them"),
    |c| list(&c.rules[0].clients),
);

pub(super) const SCHEMA: Key = key(
    "rules.schema",
    "Schemas that a table of the statement lies in. A statement whose tables are not known counts as one of \
         the session's schema. Names of schemas and tables are compared without regard to case.",
    Described("a name or a list of them"),
    |c| list(&c.rules[0].rule.matcher.schemas),
);

pub(super) const TABLE: Key = key(
    "rules.table",
    "Tables and views that the statement names. Without a schema: in any.",
    Described("\"table\" or \"schema.table\", or a list of them"),
    |c| list(&c.rules[0].rule.matcher.tables),
);

pub(super) const KIND: Key =
    key("rules.kind", "Kinds that the statement is of.", Words(choices::<StatementKind>), |c| {
        list(&c.rules[0].rule.matcher.kinds)
    })
    .default("[]");

pub(super) const FINGERPRINT: Key = key(
    "rules.fingerprint",
    "Fingerprints that the statement has, as telamon explain prints them.",
    Described("16 hex digits or a list of them"),
    |c| list(&c.rules[0].rule.matcher.fingerprints),
);

pub(super) const REGEX: Key = key(
    "rules.regex",
    "Regular expression for the statement's normal form, which telamon explain shows: words in lower case, ? \
         for literals, no comments. Matches anywhere in it, whatever the case; ^ and $ are its ends.",
    Described("regular expression; linear time, so without back-references and look-around"),
    |c| quoted(&c.rules[0].rule.matcher.regex.as_ref().map_or(String::new(), ToString::to_string)),
);

pub(super) const ACTION: Key = key(
    "rules.action",
    "What becomes of the statement: the primary runs it, a replica does, a server with a label does (of any \
         weight; with none usable routing.fallback decides), its client gets error 1105, or its kind decides \
         and neither later rules nor the firewall are asked.",
    Described("\"primary\", \"replica\", \"label:NAME\", \"reject\" or \"allow\""),
    |c| quoted(&action_word(&c.rules[0].rule.action)),
)
.default("none, required");

pub(super) const MESSAGE: Key =
    key("rules.message", "What the client of a rejected statement is told.", Described("text"), |_| {
        quoted(&String::new())
    });

pub(super) const FIREWALL_DELETE_WITHOUT_WHERE: Key = firewall(
    "firewall.delete_without_where",
    "DELETE without a WHERE. What the firewall rejects gets error 1105, in transactions and as prepared \
         statements too; a rule with action \"allow\" that matches lets it pass.",
    |c| mode(c, Hazard::DeleteWithoutWhere),
);

pub(super) const FIREWALL_UPDATE_WITHOUT_WHERE: Key =
    firewall("firewall.update_without_where", "UPDATE without a WHERE.", |c| {
        mode(c, Hazard::UpdateWithoutWhere)
    });

pub(super) const FIREWALL_SLEEP: Key =
    firewall("firewall.sleep", "Calls of SLEEP() and BENCHMARK().", |c| mode(c, Hazard::Sleep));

pub(super) const FIREWALL_DROP: Key = firewall(
    "firewall.drop",
    "DROP TABLE (not of a temporary one), DROP DATABASE, DROP PARTITION, and CREATE OR REPLACE of a table or \
         database.",
    |c| mode(c, Hazard::Drop),
);

pub(super) const FIREWALL_TRUNCATE: Key =
    firewall("firewall.truncate", "TRUNCATE of a table or partition.", |c| mode(c, Hazard::Truncate));

pub(super) const FIREWALL_UNREAD: Key = firewall(
    "firewall.unread",
    "Statements that the keys above cannot judge: longer than limits.classify_bytes, prepared from a variable \
         or expression, or of bytes whose meaning the character set leaves open.",
    |c| mode(c, Hazard::Unread),
);
