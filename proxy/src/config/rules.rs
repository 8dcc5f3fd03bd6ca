//! `[[rules]]` and `[firewall]`: their types, and how they are read.

use std::net::IpAddr;
use std::str::FromStr;

use super::ClientAddress;
use super::reader::{Report, Section};
use super::suggest;
use super::words::{Word, choices};
use crate::routing::{self, Action, Hazard, Hazards, Matcher, Pattern, StatementKind, TableName};

/// Rules at the most: far more than anybody can keep in order.
pub(super) const MOST_RULES: usize = 1000;

/// One rule: `[[rules]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The accounts whose statements it is for; empty is all.
    pub users: Vec<String>,
    /// The clients whose statements it is for; empty is all.
    pub clients: Vec<ClientAddress>,
    /// All else.
    pub rule: routing::Rule,
}

impl Rule {
    /// Whether it is for the statements of this user from this address; `None` is the Unix socket.
    pub fn is_for(&self, user: &[u8], client: Option<IpAddr>) -> bool {
        let user = self.users.is_empty() || self.users.iter().any(|name| name.as_bytes() == user);
        user && (self.clients.is_empty() || self.clients.iter().any(|address| address.matches(client)))
    }
}

/// What is refused whatever the rules say, unless one allows it: `[firewall]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Firewall {
    /// What is refused.
    pub rejects: Hazards,
}

impl Firewall {
    /// What becomes of statements with a hazard.
    pub fn mode(&self, hazard: Hazard) -> FirewallMode {
        if self.rejects.contains(hazard) { FirewallMode::Reject } else { FirewallMode::Off }
    }
}

/// What becomes of statements with a hazard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirewallMode {
    /// They pass.
    Off,
    /// Their client gets an error.
    Reject,
}

/// One `[[rules]]` table, as far as it could be read.
pub(super) struct DraftRule {
    /// Where it stands: `rules[0]`.
    pub(super) path: String,
    pub(super) name: Option<String>,
    pub(super) action: Option<Action>,
    pub(super) users: Vec<String>,
    pub(super) clients: Vec<ClientAddress>,
    pub(super) enabled: bool,
    pub(super) matcher: Matcher,
}

impl DraftRule {
    /// The rule of a draft in which nothing was found wrong.
    pub(super) fn complete(self) -> Rule {
        const WHOLE: &str = "a rule without name or action was reported";
        let rule = routing::Rule {
            name: self.name.expect(WHOLE),
            enabled: self.enabled,
            matcher: self.matcher,
            action: self.action.expect(WHOLE),
        };
        Rule { users: self.users, clients: self.clients, rule }
    }
}

pub(super) fn rule(mut table: Section<'_>, report: &Report) -> DraftRule {
    let texts = |texts: Vec<Text>| texts.into_iter().map(|text| text.0).collect();
    let read = DraftRule {
        path: table.path().to_owned(),
        name: table.text("name").and_then(|name| rule_name(&table, name, report)),
        enabled: table.flag("enabled").unwrap_or(true),
        users: texts(table.one_or_more("user")),
        clients: table.one_or_more("client"),
        matcher: Matcher {
            schemas: texts(table.one_or_more("schema")),
            tables: table.one_or_more::<Table>("table").into_iter().map(|table| table.0).collect(),
            kinds: table.one_or_more::<Kind>("kind").into_iter().map(|kind| kind.0).collect(),
            fingerprints: table
                .one_or_more::<Print>("fingerprint")
                .into_iter()
                .map(|print| print.0)
                .collect(),
            regex: table.filled::<Pattern>("regex"),
        },
        action: action(&mut table, report),
    };
    for (name, advice) in [("name", "any unique word will do"), ("action", ACTIONS)] {
        if !table.has(name) {
            table.missing(name, advice);
        }
    }
    table.finish();
    read
}

fn rule_name(table: &Section<'_>, name: &str, report: &Report) -> Option<String> {
    let legal = super::file::label_name(table, name, report)?;
    if legal.starts_with("firewall.") {
        report.problem(&table.key("name"), "\"firewall.\" begins the names of the firewall's own rules");
        return None;
    }
    Some(legal)
}

const ACTIONS: &str = "write \"primary\", \"replica\", \"label:NAME\", \"reject\" or \"allow\"";

/// What is said to the client of a refused statement where the file says nothing.
const NOT_ALLOWED: &str = "it is not allowed";

fn action(table: &mut Section<'_>, report: &Report) -> Option<Action> {
    let message = table.text("message").filter(|message| !message.is_empty()).map(str::to_owned);
    let action = table.parsed::<ParsedAction>("action")?.0;
    match (action, message) {
        (Action::Reject(_), Some(message)) => Some(Action::Reject(message)),
        (action, None) => Some(action),
        (_, Some(_)) => {
            report.problem(&table.key("message"), "only action = \"reject\" has a message");
            None
        }
    }
}

pub(super) fn firewall(mut table: Section<'_>) -> Firewall {
    let rejects =
        Hazard::ALL.into_iter().filter(|hazard| table.word(hazard.as_str()) == Some(FirewallMode::Reject));
    let rejects = rejects.collect::<Vec<_>>().into_iter().fold(Hazards::NONE, Hazards::with);
    table.finish();
    Firewall { rejects }
}

struct ParsedAction(Action);

impl FromStr for ParsedAction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "primary" => Action::Primary,
            "replica" => Action::Replica,
            "reject" => Action::Reject(NOT_ALLOWED.to_owned()),
            "allow" => Action::Allow,
            _ => match text.strip_prefix("label:") {
                Some(label) if !label.is_empty() => Action::Label(label.to_owned()),
                _ => return Err(format!("no action; {ACTIONS}")),
            },
        }))
    }
}

/// An action as the file writes it; the message of a refusal is a key of its own.
pub(super) fn action_word(action: &Action) -> String {
    match action {
        Action::Primary => "primary".to_owned(),
        Action::Replica => "replica".to_owned(),
        Action::Label(label) => format!("label:{label}"),
        Action::Reject(_) => "reject".to_owned(),
        Action::Allow => "allow".to_owned(),
    }
}

/// Any text but none.
pub(super) struct Text(pub(super) String);

impl FromStr for Text {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("is empty".to_owned()) } else { Ok(Self(text.to_owned())) }
    }
}

/// `table` or `schema.table`, each part bare or in backticks.
struct Table(TableName);

impl FromStr for Table {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "is neither \"table\" nor \"schema.table\" (a name with a dot goes in backticks)".to_owned();
        let (first, rest) = name_of(text).ok_or_else(wrong)?;
        if rest.is_empty() {
            return Ok(Self(TableName { schema: None, table: first.into() }));
        }
        match rest.strip_prefix('.').and_then(name_of) {
            Some((second, "")) => Ok(Self(TableName { schema: Some(first.into()), table: second.into() })),
            _ => Err(wrong()),
        }
    }
}

/// The name at the beginning of a text, and what follows it.
fn name_of(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = match text.strip_prefix('`') {
        Some(quoted) => quoted.split_once('`')?,
        None => text.split_at(text.find('.').unwrap_or(text.len())),
    };
    (!name.is_empty() && !name.contains('`')).then_some((name, rest))
}

struct Kind(StatementKind);

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = <StatementKind as Word>::WORDS;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, kind)| Self(*kind)).ok_or_else(|| {
            let nearest = suggest::nearest(text, words.iter().map(|(word, _)| *word));
            let advice = nearest.map_or(String::new(), |word| format!("; did you mean \"{word}\"?"));
            format!("is not {}{advice}", choices::<StatementKind>())
        })
    }
}

struct Print(u64);

impl FromStr for Print {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hex = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let parsed = u64::from_str_radix(text, 16).ok().filter(|_| hex);
        parsed.map(Self).ok_or_else(|| "is not 16 hex digits as telamon explain prints them".to_owned())
    }
}
