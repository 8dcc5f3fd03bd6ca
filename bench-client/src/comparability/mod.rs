//! Whether targets can be compared: runs whose servers, tables, settings or ways differ prove nothing. Each target is
//! asked the same questions through its own door; what differs is told first.

mod ask;

use serde::{Deserialize, Serialize};

use crate::client::Patience;
use crate::driver::DriverError;
use crate::plan::Plan;
use crate::target::Target;

/// How much a difference matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Runs that differ in this do not measure the same work.
    Must,
    /// A splitting proxy differs in this by design; the reader must know.
    Known,
    /// A measured figure, for the reader.
    Figure,
}

/// One question and each target's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was asked.
    pub name: String,
    /// The answers, in the targets' order.
    pub values: Vec<String>,
    /// How much a difference matters.
    pub weight: Weight,
}

impl Check {
    /// Whether all answers are the same, or need not be.
    #[must_use]
    pub fn same(&self) -> bool {
        self.weight == Weight::Figure || self.values.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// All checks of some targets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparability {
    /// The checks, what differs first.
    pub checks: Vec<Check>,
    /// What was different after the run from before, each in a line.
    pub changed: Vec<String>,
}

impl Comparability {
    /// Asks every target.
    ///
    /// # Errors
    /// A target that cannot be asked, or that lacks the tables.
    pub fn ask(targets: &[Target], plan: &Plan, patience: &Patience) -> Result<Comparability, DriverError> {
        let mut all = Vec::new();
        for target in targets {
            all.push(ask::answers(target, plan, patience)?);
        }
        Ok(Comparability { checks: aligned(&all), changed: Vec::new() })
    }

    /// The checks in which targets differ.
    pub fn differences(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| !check.same())
    }

    /// Notes what is different in `after`, asked after the run.
    pub fn note_changes(&mut self, after: &Comparability, targets: &[String]) {
        for check in self.checks.iter().filter(|check| check.weight != Weight::Figure) {
            let later = after.checks.iter().find(|later| later.name == check.name);
            let Some(later) = later else { continue };
            for ((target, before), now) in targets.iter().zip(&check.values).zip(&later.values) {
                let moves = check.name.starts_with(ask::ROWS) || check.weight == Weight::Known;
                if before != now && !moves {
                    self.changed.push(format!("{} of {target} was {before}, now {now}", check.name));
                }
            }
        }
    }
}

/// One target's answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    name: String,
    value: String,
    weight: Weight,
}

/// The answers question by question, what differs first; a question that one target cannot answer is "-" there.
fn aligned(all: &[Vec<Answer>]) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for (at, answers) in all.iter().enumerate() {
        for answer in answers {
            let known = checks.iter().position(|check| check.name == answer.name);
            let place = known.unwrap_or_else(|| {
                let values = vec!["-".to_owned(); all.len()];
                checks.push(Check { name: answer.name.clone(), values, weight: answer.weight });
                checks.len() - 1
            });
            checks[place].values[at].clone_from(&answer.value);
        }
    }
    checks.sort_by_key(|check| (check.same(), check.weight != Weight::Must));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(name: &str, value: &str, weight: Weight) -> Answer {
        Answer { name: name.to_owned(), value: value.to_owned(), weight }
    }

    #[test]
    fn what_differs_stands_first_and_figures_never_differ() {
        let one = vec![
            answer("sql_mode", "A", Weight::Must),
            answer("ping", "0.1 ms", Weight::Figure),
            answer("reads reach", "1", Weight::Known),
            answer("sync_binlog", "1", Weight::Must),
        ];
        let mut two = one.clone();
        two[1].value = "0.2 ms".into();
        two[2].value = "2, 3".into();
        two[3].value = "0".into();
        let checks = aligned(&[one, two]);
        let shown: Vec<(&str, bool)> = checks.iter().map(|c| (c.name.as_str(), c.same())).collect();
        assert_eq!(
            shown,
            [("sync_binlog", false), ("reads reach", false), ("sql_mode", true), ("ping", true)]
        );
    }

    #[test]
    fn an_answer_that_one_target_lacks_is_a_difference() {
        let checks = aligned(&[vec![answer("query_cache_size", "0", Weight::Must)], vec![]]);
        assert_eq!(checks[0].values, ["0", "-"]);
        assert!(!checks[0].same());
    }

    #[test]
    fn a_setting_that_changed_meanwhile_is_noted() {
        let of = |value: &str| Comparability {
            checks: aligned(&[vec![answer("sync_binlog", value, Weight::Must)]]),
            changed: vec![],
        };
        let mut before = of("1");
        before.note_changes(&of("0"), &["direct".to_owned()]);
        assert_eq!(before.changed, ["sync_binlog of direct was 1, now 0"]);
    }
}
