//! One session of the target with the workload's statements prepared.

use std::sync::Arc;

use super::error::DriverError;
use super::sample::Counts;
use crate::client::{ClientError, Connection, Patience, Prepared};
use crate::plan::{IgnoreErrors, PsMode};
use crate::target::Target;
use crate::workload::{Effect, Event, Template};

/// ER_UNSUPPORTED_PS: a statement that this server cannot prepare is sent as text, as sysbench does.
const CANNOT_BE_PREPARED: u16 = 1295;

/// A connection and what is prepared on it, by the templates' numbers.
#[derive(Debug)]
pub(super) struct Session {
    target: Arc<Target>,
    connection: Connection,
    prepared: Vec<Option<Prepared>>,
}

/// How an event ended.
#[derive(Debug)]
pub(super) enum End {
    /// Every statement was answered.
    Completed,
    /// An error that is passed over ended it.
    PassedOver,
    /// The connection is gone, which is passed over too.
    Lost,
}

impl Session {
    pub(super) fn open(
        target: &Arc<Target>,
        templates: &[Template],
        ps_mode: PsMode,
        patience: &Patience,
    ) -> Result<Session, DriverError> {
        let failed =
            |source| DriverError::Connect { name: target.name.clone(), address: target.shown(), source };
        let mut connection = Connection::open(target, patience).map_err(failed)?;
        let mut prepared = vec![None; templates.len()];
        if ps_mode == PsMode::Auto {
            for (slot, template) in prepared.iter_mut().zip(templates).filter(|(_, t)| !t.text_only) {
                match connection.prepare(&template.sql) {
                    Ok(statement) => *slot = Some(statement),
                    Err(ClientError::Server { code: CANNOT_BE_PREPARED, .. }) => {}
                    Err(source) => return Err(refused(target, &template.sql, source)),
                }
            }
        }
        Ok(Session { target: Arc::clone(target), connection, prepared })
    }

    pub(super) fn quit(self) {
        self.connection.quit();
    }

    /// Sends an event's statements one after the other; counts them in `counts`.
    pub(super) fn send(
        &mut self,
        templates: &[Template],
        event: &Event,
        ignored: &IgnoreErrors,
        counts: &mut Counts,
    ) -> Result<End, DriverError> {
        let in_transaction =
            event.calls().first().is_some_and(|call| templates[call.template].effect == Effect::Transaction);
        for call in event.calls() {
            let template = &templates[call.template];
            let answer = match &mut self.prepared[call.template] {
                Some(prepared) => self.connection.execute(prepared, event, call),
                None => self.connection.query_call(template, event, call),
            };
            match template.effect {
                Effect::Read => counts.reads += 1,
                Effect::Write => counts.writes += 1,
                Effect::Transaction => counts.others += 1,
            }
            let Err(error) = answer else { continue };
            if !error.code().is_some_and(|code| ignored.passes(code)) {
                return Err(refused(&self.target, &template.sql, error));
            }
            counts.errors += 1;
            if !error.is_servers() {
                return Ok(End::Lost);
            }
            if in_transaction {
                counts.others += 1;
                let undone = self.connection.query("ROLLBACK");
                undone.map_err(|source| refused(&self.target, "ROLLBACK", source))?;
                return Ok(End::PassedOver);
            }
        }
        Ok(End::Completed)
    }
}

fn refused(target: &Target, statement: &str, source: ClientError) -> DriverError {
    let statement = statement.chars().take(120).collect();
    DriverError::Statement { name: target.name.clone(), statement, source }
}
