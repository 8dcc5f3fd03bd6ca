//! Rules that cannot be meant: labels that no server has, and rules that can never match.

use std::collections::HashMap;

use super::file::{Draft, DraftUser};
use super::reader::Report;
use super::rules::{DraftRule, MOST_RULES};
use super::suggest::nearest;
use super::validate::{listens, unique};
use super::{ClientAddress, ListenAddress};
use crate::routing::{Action, Pattern, StatementKind, covers, is_wider};

/// Reports what is wrong with the rules, and warns of what is surely not meant.
pub(super) fn rules(draft: &Draft, report: &Report) {
    if draft.rules.len() > MOST_RULES {
        report
            .problem("rules", format!("there are {} of them; {MOST_RULES} are the most", draft.rules.len()));
        return;
    }
    let names =
        draft.rules.iter().filter_map(|rule| Some((format!("{}.name", rule.path), rule.name.as_ref()?)));
    unique(names, |key, first| report.problem(key, format!("the same name as {first}; names are unique")));
    for rule in &draft.rules {
        label(rule, draft, report);
    }
    let enabled: Vec<_> = draft.rules.iter().filter(|rule| rule.enabled).collect();
    for (at, rule) in enabled.iter().enumerate() {
        users(rule, draft, report);
        clients(rule, draft, report);
        matcher(rule, report);
        let (earlier, later) = (&enabled[..at], &enabled[at + 1..]);
        if rule.action == Some(Action::Allow) && later.is_empty() && draft.config.firewall.rejects.is_empty()
        {
            let text = "has no effect: no rule comes after it, and the firewall is off";
            report.warning(&format!("{}.action", rule.path), text);
        }
        if let Some(wide) = earlier.iter().find(|wide| takes_all_of(wide, rule)) {
            let name = wide.name.as_deref().unwrap_or("");
            let text = format!(
                "never matches: {} ({name:?}) stands before it and takes all of its statements",
                wide.path
            );
            report.warning(&rule.path, text);
        }
    }
}

fn label(rule: &DraftRule, draft: &Draft, report: &Report) {
    let Some(Action::Label(label)) = &rule.action else { return };
    let labels = || draft.servers.iter().flat_map(|server| &server.labels);
    if !labels().any(|known| known == label) {
        let advice = match nearest(label, labels().map(String::as_str)) {
            Some(near) => format!("did you mean \"label:{near}\"?"),
            None => format!("write labels = [{label:?}] in one of [[servers]]"),
        };
        report.problem(
            &format!("{}.action", rule.path),
            format!("no server has the label {label:?}; {advice}"),
        );
    }
}

fn users(rule: &DraftRule, draft: &Draft, report: &Report) {
    let known: HashMap<&str, ()> =
        draft.users.iter().filter_map(|user| Some((user.name.as_deref()?, ()))).collect();
    let unknown: Vec<_> = rule.users.iter().filter(|name| !known.contains_key(name.as_str())).collect();
    for name in &unknown {
        let near = nearest(name, known.keys().copied());
        let advice = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
        let all = if unknown.len() == rule.users.len() { ", so the rule never matches" } else { "" };
        report.warning(&format!("{}.user", rule.path), format!("none of [[users]] is {name:?}{all}{advice}"));
    }
}

/// A rule for clients from where its users may not connect.
fn clients(rule: &DraftRule, draft: &Draft, report: &Report) {
    let is_meant = |user: &&DraftUser| {
        rule.users.is_empty() || user.name.as_ref().is_some_and(|name| rule.users.contains(name))
    };
    let mut meant = draft.users.iter().filter(is_meant).peekable();
    if rule.clients.contains(&ClientAddress::Localhost) && !listens_on_socket(draft) {
        let none = rule.clients.iter().all(|client| *client == ClientAddress::Localhost);
        let begin = if none { "never matches: " } else { "" };
        let text = format!(
            "{begin}no address of listen is a Unix socket, and clients over TCP are none of \"localhost\"; write \
             \"127.0.0.1\" or \"::1\""
        );
        report.warning(&format!("{}.client", rule.path), text);
        if none {
            return;
        }
    }
    if rule.clients.is_empty() || meant.peek().is_none() {
        return;
    }
    let may_come = |user: &DraftUser| {
        user.clients.is_empty() || user.clients.iter().any(|own| rule.clients.iter().any(|c| meet(*c, *own)))
    };
    if !meant.any(may_come) {
        let text = "never matches: the clients of [[users]] leave none of these in";
        report.warning(&format!("{}.client", rule.path), text);
    }
}

fn listens_on_socket(draft: &Draft) -> bool {
    listens(draft).any(|(_, listen)| matches!(listen, ListenAddress::Unix(_)))
}

fn meet(one: ClientAddress, other: ClientAddress) -> bool {
    one.takes_in(other) || other.takes_in(one)
}

fn matcher(rule: &DraftRule, report: &Report) {
    let kinds = &rule.matcher.kinds;
    let to_replica = matches!(rule.action, Some(Action::Replica | Action::Label(_)));
    if to_replica && !kinds.is_empty() && !kinds.contains(&StatementKind::Read) {
        let text = "is never followed: only statements of kind \"read\" run on replicas";
        report.warning(&format!("{}.kind", rule.path), text);
    }
    if let Some(why) = rule.matcher.regex.as_ref().and_then(Pattern::why_never) {
        let text = format!("never matches: {why}; telamon explain shows the text");
        report.warning(&format!("{}.regex", rule.path), text);
    }
}

fn takes_all_of(wide: &DraftRule, narrow: &DraftRule) -> bool {
    covers(&wide.users, &narrow.users, |a, b| a == b)
        && covers(&wide.clients, &narrow.clients, |a, b| a.takes_in(*b))
        && is_wider(&wide.matcher, &narrow.matcher)
}
