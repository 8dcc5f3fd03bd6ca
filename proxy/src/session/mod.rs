//! One client's stay, from its greeting to its end: the connection phase, then the command phase.
//!
//! What it knows: all of the rooms below it. What it must not know: listeners, threads, other sessions (but for
//! the ids that KILL names).

mod answer;
mod asks;
mod backends;
mod bring;
mod command_phase;
mod connection_phase;
mod context;
mod end;
mod exchange;
mod handle;
mod kill;
mod pins;
mod plain;
mod prepared;
mod relay;
mod replay;
mod route;
mod state;
mod statement_map;
mod walk;

pub use context::Context;
pub use handle::{Handle, Signal};
pub use kill::{Ask, FIRST_ID, KillAnswer, KillRequest, Killer, Running};
pub use route::runs_on;

use crate::backend::Account;
use crate::io::{PacketStream, Socket};
use crate::protocol::CapabilityFlags;
use crate::routing::RuleSet;
use backends::{Backends, Slot};
use connection_phase::Client;
use end::End;
use state::SessionState;
use statement_map::StatementMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;
use walk::Observation;

/// A client that takes no goodbye within this time is left alone.
const GOODBYE: Duration = Duration::from_secs(2);

/// One client's stay.
pub(crate) struct Session {
    context: Rc<Context>,
    handle: Rc<Handle>,
    client: PacketStream,
    who: Client,
    /// The account under which it gets connections, shared with all sessions that can take turns with it.
    group: Rc<Account>,
    state: SessionState,
    statements: StatementMap,
    backends: Backends,
    /// The rules for this user and client.
    rules: RuleSet,
    /// What the last reply said.
    seen: Observation,
}

impl Session {
    /// Ends what still runs for a session that is over, and its connections.
    async fn leave_servers(&mut self) {
        if let Some(running) = self.handle.running() {
            self.kill_running(running).await;
            // The rest of its reply is on the way: that connection is of no use to anybody.
            Slot::ALL.into_iter().for_each(|slot| self.backends.drop_slot(slot));
        }
        self.handle.set_running(None);
        self.leave_backends().await;
    }

    /// The capabilities that the client and Telamon agreed on.
    fn capabilities(&self) -> CapabilityFlags {
        self.who.account.capabilities
    }
}

/// Serves one client to its end. `address` is `None` for a client of the Unix socket.
pub async fn serve(context: Rc<Context>, handle: Rc<Handle>, socket: Socket, address: Option<IpAddr>) {
    let mut client = PacketStream::new(socket, context.buffers.clone());
    let who = match connection_phase::run(&context, &handle, &mut client, address).await {
        Ok(who) => who,
        Err(end) => return say_goodbye(&handle, "", client, end).await,
    };
    let user = who.name();
    let mut session = Session::new(context, handle.clone(), client, who);
    let end = match session.begin().await {
        Ok(()) => session.command_phase().await,
        Err(end) => end,
    };
    session.leave_servers().await;
    say_goodbye(&handle, &user, session.client, end).await;
}

/// The one closing line of a session, and its ERR packet where it has one.
async fn say_goodbye(handle: &Handle, user: &str, mut client: PacketStream, end: End) {
    let (id, side, reason) = (handle.id(), end.side(), end.to_string());
    if end.is_expected() {
        tracing::debug!(session = id, user, ?side, reason, "session ended");
    } else {
        tracing::info!(session = id, user, ?side, reason, "session ended");
    }
    match end.error_packet() {
        Some((error, capabilities)) => {
            client.queue_packet(&crate::protocol::response::err(&error, capabilities));
            client.shutdown_lingering(GOODBYE).await;
        }
        None => client.shutdown(GOODBYE).await,
    }
}
