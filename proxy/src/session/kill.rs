//! KILL and COM_PROCESS_KILL: from a session's id to the backend connection that works for it.
//!
//! The id says which worker has the session; the worker answers where the session's statement runs. Whether the
//! killer may kill is the server's decision: the KILL is run there under the killer's own account.

use super::Session;
use super::handle::Signal;
use crate::backend::{Account, ConnectError, Connection};
use crate::protocol::error_code::ServerError;
use crate::protocol::response;
use crate::topology::Server;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The least id of a session. Servers count their connections from 1 and do not come this far, so that an id says
/// by itself whose it is.
pub const FIRST_ID: u32 = 1 << 30;

/// Where a session's statement runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The server's place in the topology.
    pub server: usize,
    /// The server's id of the backend connection.
    pub connection_id: u32,
}

/// A question to the worker that has the session.
#[derive(Debug)]
pub struct KillRequest {
    /// The session's id.
    pub id: u32,
    /// Who asks.
    pub user: Vec<u8>,
    /// What is to be done with the session.
    pub what: Ask,
    /// Where the answer goes.
    pub answer: oneshot::Sender<KillAnswer>,
}

/// What is to be done with a session that is to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Say where its statement runs, and keep its connection until [`Ask::LetGo`].
    Hold,
    /// The server has been told.
    LetGo,
    /// Tell it this; the asker may.
    Tell(Signal),
}

/// What the worker knows of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillAnswer {
    /// No session has this id.
    Unknown,
    /// The session is there, and of the same user or not; its statement runs here, or none does.
    Found {
        /// Whether killer and session have the same user.
        same_user: bool,
        /// Where its statement runs.
        running: Option<Running>,
        /// Whether its statement waits for a connection.
        waiting: bool,
    },
}

/// The way to every worker. What is left of a session's id behind [`FIRST_ID`], modulo the number of workers, is its
/// worker.
#[derive(Debug, Clone)]
pub struct Killer {
    workers: Arc<[mpsc::UnboundedSender<KillRequest>]>,
}

impl Killer {
    /// The way to these workers.
    pub fn new(workers: Vec<mpsc::UnboundedSender<KillRequest>>) -> Self {
        Self { workers: workers.into() }
    }

    async fn ask(&self, id: u32, user: &[u8], what: Ask) -> KillAnswer {
        let (answer, answered) = oneshot::channel();
        let worker = id.wrapping_sub(FIRST_ID) as usize % self.workers.len().max(1);
        let request = KillRequest { id, user: user.to_vec(), what, answer };
        let sent = self.workers.get(worker).is_some_and(|w| w.send(request).is_ok());
        if sent { answered.await.unwrap_or(KillAnswer::Unknown) } else { KillAnswer::Unknown }
    }
}

/// How many privileges the asker's own account has by which it may kill anybody's connection: MySQL's and MariaDB's.
const MAY_KILL_OTHERS: &str = "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES \
    WHERE PRIVILEGE_TYPE IN ('SUPER', 'CONNECTION_ADMIN', 'CONNECTION ADMIN') \
    AND GRANTEE = CONCAT(QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@', \
    QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))";

/// What is to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kill {
    /// KILL QUERY.
    Query,
    /// KILL, KILL CONNECTION and COM_PROCESS_KILL.
    Connection,
}

impl Session {
    /// Kills the session `id` or its statement; answers the reply's payload. `None`: the id is none that Telamon
    /// gives, so it is one of the primary's own, from its process list or from CONNECTION_ID().
    pub(super) async fn kill(&mut self, id: u64, what: Kill) -> Option<Vec<u8>> {
        if id < u64::from(FIRST_ID) {
            return None;
        }
        Some(match self.try_kill(id, what).await {
            Ok(()) => response::ok(self.state.status),
            Err(KillError::Own(error)) => response::err(&error, self.capabilities()),
            Err(KillError::Server(payload)) => payload,
        })
    }

    async fn try_kill(&mut self, id: u64, what: Kill) -> Result<(), KillError> {
        let unknown = || KillError::Own(ServerError::no_such_thread(id));
        let short = u32::try_from(id).map_err(|_| unknown())?;
        let user = self.who.account.user.clone();
        let killer = self.context.killer.clone();
        let KillAnswer::Found { same_user, running, waiting } = killer.ask(short, &user, Ask::Hold).await
        else {
            return Err(unknown());
        };
        let allowed = match running {
            Some(running) => self.kill_on_server(running).await,
            None if same_user || self.may_kill_others().await => Ok(()),
            None => Err(KillError::Own(ServerError::kill_denied(id))),
        };
        killer.ask(short, &user, Ask::LetGo).await;
        allowed?;
        match what {
            Kill::Connection => drop(killer.ask(short, &user, Ask::Tell(Signal::Kill)).await),
            Kill::Query if waiting => drop(killer.ask(short, &user, Ask::Tell(Signal::Interrupt)).await),
            Kill::Query => {}
        }
        Ok(())
    }

    /// Whether the server would let this account kill the connections of others.
    async fn may_kill_others(&self) -> bool {
        let account = Account { schema: None, ..self.who.account.clone() };
        let permit = self.context.topology.primary().extra_permit();
        let open = Connection::open(&self.context.connector, permit, &account, &self.context.buffers);
        let Ok(mut connection) = open.await else { return false };
        let row = connection.select_row(MAY_KILL_OTHERS.as_bytes()).await;
        connection.quit().await;
        let count = row.ok().and_then(|row| row.into_iter().next().flatten());
        count.is_some_and(|count| count != b"0")
    }

    /// Runs KILL QUERY under this session's own account, so that the server decides whether it may.
    async fn kill_on_server(&self, running: Running) -> Result<(), KillError> {
        let Some(server) = self.context.topology.servers().get(running.server) else { return Ok(()) };
        kill_query(&self.context, server, &self.who.account, running.connection_id).await.map_err(|error| {
            match error {
                ConnectError::Refused { payload, .. } => KillError::Server(payload),
                other => KillError::Own(ServerError::telamon(format!(
                    "the statement runs on server {}, which cannot be told to end it: {other}",
                    server.name
                ))),
            }
        })
    }
}

impl Session {
    /// Ends the statement that still runs for this session, whose client does not want its answer any more.
    pub(super) async fn kill_running(&self, running: Running) {
        let Some(server) = self.context.topology.servers().get(running.server) else { return };
        let killed = kill_query(&self.context, server, &self.who.account, running.connection_id).await;
        if let Err(error) = killed {
            tracing::warn!(session = self.handle.id(), server = server.name, %error, "statement left running");
        }
    }
}

enum KillError {
    Own(ServerError),
    Server(Vec<u8>),
}

/// Ends the statement of a backend connection, over another connection to the same server.
pub(super) async fn kill_query(
    context: &super::Context,
    server: &Arc<Server>,
    account: &Account,
    connection_id: u32,
) -> Result<(), ConnectError> {
    let account = Account { schema: None, ..account.clone() };
    let mut connection =
        Connection::open(&context.connector, server.extra_permit(), &account, &context.buffers).await?;
    connection.query(format!("KILL QUERY {connection_id}").as_bytes()).await?;
    connection.quit().await;
    Ok(())
}
