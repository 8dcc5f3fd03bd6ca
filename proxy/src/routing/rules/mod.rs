//! The user's rules: which statements they match, and what they wish for them.
//!
//! What a rule asks of the text alone is answered once for each cached class ([`Rules::matching`]), what
//! it asks of the session once for each session ([`Rules::chosen`]); for a statement there remain one AND
//! of two bit sets and, for rules that name schemas, a comparison. Without rules there is no cost.

mod matcher;
mod never;
mod pattern;
mod set;
mod shadow;

pub use matcher::{Asked, Matcher};
pub use pattern::Pattern;
pub use set::RuleSet;
pub use shadow::{covers, is_wider};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use regex::bytes::RegexSet;

use super::class::StatementClass;
use super::classify::classify;
use super::dialect::Dialect;
use super::facts::{Route, RouteReason};
use super::firewall::{self, Hazard, Hazards};
use super::inner;
use super::normal::normal_form;

/// What a rule wants done with the statements it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// They run on the primary.
    Primary,
    /// They run on a replica, where their class allows it.
    Replica,
    /// They run on a server that has this label, where their class allows a replica.
    Label(String),
    /// Their client gets an error with this text.
    Reject(String),
    /// Their class decides; no later rule and no firewall looks at them.
    Allow,
}

/// One rule: `[[rules]]`, without what it asks of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Unique; how `explain`, traces, metrics and the error of a refused statement call it.
    pub name: String,
    /// Whether it is looked at.
    pub enabled: bool,
    /// Which statements it is for.
    pub matcher: Matcher,
    /// What it wants done.
    pub action: Action,
}

/// A rule's place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuleId(u16);

/// What rules and firewall say of one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Verdict {
    /// No rule matches, and the firewall lets it pass.
    #[default]
    None,
    /// The first rule that matches wishes this.
    Rule(RuleId, Wish),
    /// No rule matches, or not one that allows it, and the firewall refuses it.
    Firewall(Hazard),
}

/// An [`Action`], without its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wish {
    /// The primary.
    Primary,
    /// Any replica.
    Replica,
    /// A server that has the rule's label.
    Label,
    /// An error.
    Reject,
    /// Whatever the class says.
    Allow,
}

/// How often a rule or a protection of the firewall had its say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleCount<'a> {
    /// The rule's name, or `firewall.` and the key of the protection.
    pub name: &'a str,
    /// Statements for which it was the first that matches.
    pub hits: u64,
    /// Those of them that went elsewhere than it wished: writes, transactions, hints.
    pub ignored: u64,
}

#[derive(Debug, Default)]
struct Count {
    hits: AtomicU64,
    ignored: AtomicU64,
    warned: AtomicBool,
}

/// All rules, ready to match, with their counts. Shared by all workers.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    /// The regexes of the rules that have one, and which rules those are.
    regexes: RegexSet,
    regex_of: Vec<usize>,
    firewall: Hazards,
    counts: Vec<Count>,
    refused: [AtomicU64; Hazard::ALL.len()],
}

impl Default for Rules {
    fn default() -> Self {
        Self::new(Vec::new(), Hazards::NONE)
    }
}

impl Rules {
    /// Rules in their order, and what the firewall refuses.
    ///
    /// # Panics
    /// Never for rules of a loaded configuration: it holds 1000 rules at the most, each pattern compiled
    /// before, and together they stay below the size at which a set is refused.
    #[must_use]
    pub fn new(rules: Vec<Rule>, firewall: Hazards) -> Self {
        let with_regex = |rule: &Rule| rule.enabled && rule.matcher.regex.is_some();
        let regex_of: Vec<usize> = (0..rules.len()).filter(|at| with_regex(&rules[*at])).collect();
        let patterns = regex_of.iter().filter_map(|at| rules[*at].matcher.regex.as_ref());
        let regexes =
            pattern::set(patterns).expect("each pattern was compiled, and a set has no limit of its own");
        let counts = rules.iter().map(|_| Count::default()).collect();
        Self { rules, regexes, regex_of, firewall, counts, refused: Default::default() }
    }

    /// Whether there is nothing to ask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.firewall.is_empty()
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[usize::from(id.0)]
    }

    /// A set of rules, by their places in the file.
    #[must_use]
    pub fn chosen(&self, places: impl IntoIterator<Item = usize>) -> RuleSet {
        let mut set = RuleSet::empty(self.rules.len());
        for at in places {
            set.insert(at);
        }
        set
    }

    /// The rules that this text, of this class, may be for: all but what they ask of the session.
    ///
    /// Those that refuse are also asked about the statements in strings of PREPARE and EXECUTE IMMEDIATE; the
    /// others only where the text is nothing but such a one, so that a harmless string lets nothing else pass.
    #[must_use]
    pub fn matching(&self, class: &StatementClass, sql: &[u8], dialect: &Dialect) -> RuleSet {
        let mut set = self.matching_text(class, sql, dialect);
        if self.rules.is_empty() || !class.hazards.hides_text() {
            return set;
        }
        let alone = inner::is_alone(sql, dialect);
        let looks_in = |at: &usize| alone || matches!(self.rules[*at].action, Action::Reject(_));
        for text in inner::texts(sql, dialect) {
            let within = self.matching_text(&classify(&text, dialect), &text, dialect);
            within.iter().filter(looks_in).for_each(|at| set.insert(at));
        }
        set
    }

    fn matching_text(&self, class: &StatementClass, sql: &[u8], dialect: &Dialect) -> RuleSet {
        let mut set = self.matching_unread(class);
        if self.regex_of.is_empty() {
            return set;
        }
        let by_class = |at: usize| self.rules[at].matcher.allows_class(class);
        if self.regex_of.iter().any(|at| by_class(*at)) {
            let matched = self.regexes.matches(&normal_form(sql, dialect));
            for (regex, at) in self.regex_of.iter().enumerate().filter(|(_, at)| by_class(**at)) {
                if matched.matched(regex) {
                    set.insert(*at);
                }
            }
        }
        set
    }

    /// The same for a text that is not looked at: no regex matches it.
    #[must_use]
    pub fn matching_unread(&self, class: &StatementClass) -> RuleSet {
        let places = self.rules.iter().enumerate().filter(|(_, rule)| {
            rule.enabled && rule.matcher.regex.is_none() && rule.matcher.allows_class(class)
        });
        self.chosen(places.map(|(at, _)| at))
    }

    /// What rules and firewall say of a statement. `chosen` are the rules for its session's user and
    /// client.
    #[must_use]
    pub fn judge(&self, asked: &Asked<'_>, chosen: &RuleSet) -> Verdict {
        if self.is_empty() {
            return Verdict::None;
        }
        let first = asked.class.rules.common(chosen).find(|at| {
            let matcher = &self.rules[*at].matcher;
            !matcher.asks_schema() || matcher.allows_schema(asked)
        });
        let verdict = first.map_or(Verdict::None, |at| Verdict::Rule(id(at), wish(&self.rules[at].action)));
        if matches!(verdict, Verdict::Rule(_, Wish::Allow | Wish::Reject)) {
            return verdict;
        }
        match self.hazard(asked) {
            Some(hazard) => Verdict::Firewall(hazard),
            None => verdict,
        }
    }

    fn hazard(&self, asked: &Asked<'_>) -> Option<Hazard> {
        if self.firewall.is_empty() {
            return None;
        }
        let found = asked.class.hazards;
        found.first_common(self.firewall).or_else(|| {
            let (sql, dialect) = asked.text.filter(|_| found.hides_text())?;
            firewall::in_strings(sql, dialect).first_common(self.firewall)
        })
    }

    /// The text of the error for a refused statement; `None` for any other verdict.
    #[must_use]
    pub fn refusal(&self, verdict: Verdict) -> Option<String> {
        match verdict {
            Verdict::Rule(id, Wish::Reject) => {
                let rule = self.rule(id);
                let Action::Reject(message) = &rule.action else { return None };
                Some(format!("Statement refused by rule {:?}: {message}", rule.name))
            }
            Verdict::Firewall(hazard) => {
                Some(format!("Statement refused by firewall.{hazard}: {}", hazard.advice()))
            }
            _ => None,
        }
    }

    /// The label that a rule names.
    #[must_use]
    pub fn label(&self, id: RuleId) -> Option<&str> {
        match &self.rule(id).action {
            Action::Label(label) => Some(label),
            _ => None,
        }
    }

    /// The rule that had its way in a route: none where a pin, a hint or the class decided.
    #[must_use]
    pub fn deciding(&self, verdict: Verdict, route: &Route) -> Option<&str> {
        let allows = matches!(verdict, Verdict::Rule(_, Wish::Allow));
        let decides = matches!(
            route.reason,
            RouteReason::Rule(_) | RouteReason::Firewall(_) | RouteReason::NoUsableReplica
        );
        self.name(verdict).filter(|_| allows || decides && !route.rule_ignored)
    }

    /// What `explain` and warnings call the rule of a verdict.
    #[must_use]
    pub fn name(&self, verdict: Verdict) -> Option<&str> {
        match verdict {
            Verdict::None => None,
            Verdict::Rule(id, _) => Some(&self.rule(id).name),
            Verdict::Firewall(hazard) => Some(firewall_name(hazard)),
        }
    }

    /// Counts a statement. True when its rule was not followed for the first time, which is worth a warning.
    pub fn count(&self, verdict: Verdict, followed: bool) -> bool {
        match verdict {
            Verdict::None => false,
            Verdict::Rule(id, _) => {
                let count = &self.counts[usize::from(id.0)];
                count.hits.fetch_add(1, Ordering::Relaxed);
                if followed {
                    return false;
                }
                count.ignored.fetch_add(1, Ordering::Relaxed);
                !count.warned.swap(true, Ordering::Relaxed)
            }
            Verdict::Firewall(hazard) => {
                self.refused[hazard as usize].fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }

    /// The counts of all rules, in the file's order, and behind them those of the firewall.
    pub fn counts(&self) -> impl Iterator<Item = RuleCount<'_>> {
        let of_rules = self.rules.iter().zip(&self.counts).map(|(rule, count)| RuleCount {
            name: &rule.name,
            hits: count.hits.load(Ordering::Relaxed),
            ignored: count.ignored.load(Ordering::Relaxed),
        });
        of_rules.chain(Hazard::ALL.into_iter().zip(&self.refused).map(|(hazard, hits)| RuleCount {
            name: firewall_name(hazard),
            hits: hits.load(Ordering::Relaxed),
            ignored: 0,
        }))
    }
}

fn id(at: usize) -> RuleId {
    RuleId(u16::try_from(at).expect("a configuration holds 1000 rules at the most"))
}

const fn wish(action: &Action) -> Wish {
    match action {
        Action::Primary => Wish::Primary,
        Action::Replica => Wish::Replica,
        Action::Label(_) => Wish::Label,
        Action::Reject(_) => Wish::Reject,
        Action::Allow => Wish::Allow,
    }
}

const fn firewall_name(hazard: Hazard) -> &'static str {
    match hazard {
        Hazard::DeleteWithoutWhere => "firewall.delete_without_where",
        Hazard::UpdateWithoutWhere => "firewall.update_without_where",
        Hazard::Sleep => "firewall.sleep",
        Hazard::Drop => "firewall.drop",
        Hazard::Truncate => "firewall.truncate",
        Hazard::Unread => "firewall.unread",
    }
}

#[cfg(test)]
mod tests;
