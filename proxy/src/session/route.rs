//! Where the session's next statement goes: its class, what rules and firewall say, and the connection.

use super::Session;
use super::asks::Asks;
use super::backends::Slot;
use super::connection_phase::Client;
use super::context::Context;
use crate::config;
use crate::protocol::error_code::ServerError;
use crate::routing::{
    Asked, Fallback, Hint, PinReason, ReplicaFacts, Route, RouteReason, RuleSet, StatementClass, Target,
    Verdict, Wish, route,
};
use std::rc::Rc;

/// The rules for the statements of this client.
pub(super) fn rules_for(context: &Context, who: &Client) -> RuleSet {
    let all = context.config.rules.iter().enumerate();
    let meant = all.filter(|(_, rule)| rule.is_for(&who.account.user, who.address));
    context.rules.chosen(meant.map(|(at, _)| at))
}

/// Where a routed statement runs.
pub fn runs_on(decided: &Route) -> Target {
    match (decided.target, decided.reason) {
        // Inside it the client may do things that a replica's connection cannot do for the session: begin another
        // transaction, run DDL, take locks, set variables.
        (Target::Replica, RouteReason::ReadOnlyTransaction) => Target::Primary,
        (target, _) => target,
    }
}

impl Session {
    /// The class of a statement's text, in the session's dialect.
    pub(super) fn classify(&self, sql: &[u8]) -> (Rc<StatementClass>, Option<Hint>) {
        self.context.classes.borrow_mut().classify(sql, &self.state.dialect)
    }

    /// What rules and firewall say of a statement with this text.
    pub(super) fn judge(&self, class: &StatementClass, sql: &[u8]) -> Verdict {
        let text = Some((sql, &self.state.dialect));
        let schema = self.state.schema();
        self.context.rules.judge(&Asked { class, text, schema }, &self.rules)
    }

    /// The error for a refused statement. The session and its transaction go on.
    pub(super) fn refusal(&self, class: &StatementClass, verdict: Verdict) -> Option<ServerError> {
        let text = self.context.rules.refusal(verdict)?;
        let decided = route(class, None, &self.state.facts(), &ReplicaFacts::default(), verdict);
        self.note(&decided, verdict);
        Some(ServerError::telamon(text))
    }

    /// The connection that a statement goes to.
    pub(super) fn slot_for(
        &mut self,
        class: &StatementClass,
        hint: Option<Hint>,
        verdict: Verdict,
        asks: Asks,
    ) -> Slot {
        let fallback = match self.context.config.routing.fallback {
            config::Fallback::Primary => Fallback::Primary,
            config::Fallback::Error => Fallback::Error,
        };
        let labelled = match verdict {
            Verdict::Rule(id, Wish::Label) => Some(id),
            _ => None,
        };
        let usable = match labelled.and_then(|id| self.context.rules.label(id)) {
            Some(label) => self.context.topology.labelled(label).count(),
            None => self.context.topology.readable().count(),
        };
        let mut decided =
            route(class, hint, &self.state.facts(), &ReplicaFacts { usable, fallback }, verdict);
        decided.target = runs_on(&decided);
        self.note(&decided, verdict);
        let labelled = labelled.filter(|_| !decided.rule_ignored);
        match (decided.target, decided.reason) {
            (Target::Primary, _) => Slot::Primary,
            (Target::Replica, _) => self.read_slot(labelled),
            // With no replica, opening one finds the error that routing.fallback asks for.
            (Target::Own, _) => {
                self.read_slot(labelled); // leaves the connection that other reads had
                Slot::Replica
            }
            (Target::Held, RouteReason::Held(PinReason::LastStatement)) => self.previous_slot(asks),
            (Target::Held, _) => Slot::Primary,
        }
    }

    /// Counts and traces a decision.
    fn note(&self, decided: &Route, verdict: Verdict) {
        let (id, rules) = (self.handle.id(), &self.context.rules);
        self.context.routes.note(decided.reason);
        tracing::trace!(
            session = id,
            target = %decided.target,
            reason = %decided.reason,
            rule = rules.deciding(verdict, decided),
            "routed"
        );
        if rules.count(verdict, !decided.rule_ignored) {
            let rule = rules.name(verdict);
            tracing::warn!(
                rule,
                reason = %decided.reason,
                "a rule was not followed, as the statement may not go where it wishes; from now on this is only counted"
            );
        }
    }

    /// Where the answer to a question about the previous statement is. Insert ids come from the primary alone.
    fn previous_slot(&self, asks: Asks) -> Slot {
        match asks {
            Asks { insert_id: true, .. } => Slot::Primary,
            Asks { warnings: true, .. } => self.state.warnings_at,
            _ => self.state.previous,
        }
    }

    /// The connection for a command that only reads and has no text.
    pub(super) fn slot_for_read(&mut self) -> Slot {
        if self.state.held().is_some() { Slot::Primary } else { self.read_slot(None) }
    }
}
