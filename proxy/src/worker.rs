//! One worker: one thread, its runtime, its sessions and all they use. Nothing on its data path is shared with
//! another thread.

use crate::backend::{Connector, Pools, TICK};
use crate::config::Config;
use crate::io::{Buffers, Socket};
use crate::protocol::auth::RsaKey;
use crate::routing::{Balancer, ClassCache, RouteCounts, Rules};
use crate::session::{self, Ask, Context, Handle, KillAnswer, KillRequest, Killer, Signal};
use crate::topology::Topology;
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::LocalSet;

/// Statements whose class a worker remembers.
const CLASSES: usize = 10_000;

/// A client's socket on its way to a worker. It is registered with the worker's own runtime there.
#[derive(Debug)]
pub enum Accepted {
    /// TCP.
    Tcp(std::net::TcpStream, IpAddr),
    /// The Unix socket.
    Unix(std::os::unix::net::UnixStream),
}

/// A client for a worker.
#[derive(Debug)]
pub struct Intake {
    /// The client's socket.
    pub socket: Accepted,
    /// The id of the session it will have.
    pub id: u32,
    /// Counts the session as long as it lives.
    pub place: Place,
}

/// A session's place in the counts of its worker and of the whole server; given back when dropped.
#[derive(Debug)]
pub struct Place {
    counts: [Arc<AtomicUsize>; 2],
}

impl Place {
    /// Takes a place in both counts.
    pub fn take(counts: [Arc<AtomicUsize>; 2]) -> Self {
        for count in &counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Self { counts }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for count in &self.counts {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What all workers are made from.
#[derive(Clone)]
pub struct Shared {
    /// The loaded configuration.
    pub config: Arc<Config>,
    /// What is known of the servers.
    pub topology: Arc<Topology>,
    /// How connections to servers are made.
    pub connector: Connector,
    /// How clients get TLS.
    pub acceptor: Option<tokio_rustls::TlsAcceptor>,
    /// How clients without TLS may send a password.
    pub rsa: Arc<RsaKey>,
    /// The user's rules and the firewall.
    pub rules: Arc<Rules>,
    /// The way to every worker.
    pub killer: Killer,
    /// Turns true when sessions are to end.
    pub drain: watch::Receiver<bool>,
}

/// What reaches one worker.
pub struct Inbox {
    /// New clients.
    pub intake: mpsc::UnboundedReceiver<Intake>,
    /// Questions about its sessions.
    pub kills: mpsc::UnboundedReceiver<KillRequest>,
    /// Where it counts why its statements went where they went.
    pub routes: Arc<RouteCounts>,
}

/// The sessions of one worker.
#[derive(Clone, Default)]
struct Sessions {
    list: Rc<RefCell<HashMap<u32, Rc<Handle>>>>,
    ended: Rc<Notify>,
}

impl Sessions {
    /// Waits until the last of them is over.
    async fn are_over(&self) {
        while !self.list.borrow().is_empty() {
            self.ended.notified().await;
        }
    }
}

/// Serves clients on this thread until a drain, and until every session is over then.
///
/// # Errors
/// The runtime cannot be made.
pub fn run(shared: Shared, inbox: Inbox) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve(shared, inbox));
    Ok(())
}

async fn serve(shared: Shared, mut inbox: Inbox) {
    let sessions = Sessions::default();
    let mut drain = shared.drain.clone();
    let buffers = Buffers::new(shared.config.limits.relay_buffer_bytes);
    let pools = Pools::new(&shared.config, &shared.topology, shared.connector.clone(), buffers.clone());
    tend(&pools, &shared.topology);
    let context = Rc::new(Context {
        pools: pools.clone(),
        config: shared.config,
        topology: shared.topology,
        connector: shared.connector,
        acceptor: shared.acceptor,
        rsa: shared.rsa,
        killer: shared.killer,
        buffers,
        classes: RefCell::new(ClassCache::with_rules(CLASSES, shared.rules.clone())),
        rules: shared.rules,
        routes: inbox.routes.clone(),
        balancer: RefCell::new(Balancer::new()),
    });
    loop {
        tokio::select! {
            Some(intake) = inbox.intake.recv() => begin(&context, &sessions, intake),
            Some(request) = inbox.kills.recv() => answer(&sessions, request),
            _ = drain.changed() => {
                while let Ok(intake) = inbox.intake.try_recv() {
                    begin(&context, &sessions, intake); // accepted before the drain, so it is told too
                }
                break;
            }
        }
    }
    for handle in sessions.list.borrow().values() {
        handle.send(Signal::Drain);
    }
    sessions.are_over().await;
    pools.quit().await;
}

/// Ends what is idle for too long, opens what is to be ready, and gives places to sessions of other workers.
fn tend(pools: &Rc<Pools>, topology: &Arc<Topology>) {
    for server in topology.servers() {
        let (pools, server) = (pools.clone(), server.clone());
        tokio::task::spawn_local(async move {
            loop {
                server.wanted().await;
                pools.make_room(server.index);
            }
        });
    }
    let (pools, topology) = (pools.clone(), topology.clone());
    tokio::task::spawn_local(async move {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            pools.tick();
            let primary = topology.primary().index;
            for server in topology.servers() {
                pools.make_ready(server.index, server.index != primary);
            }
        }
    });
}

/// Begins a session.
fn begin(context: &Rc<Context>, sessions: &Sessions, intake: Intake) {
    let Intake { socket, id, place } = intake;
    let (socket, address) = match registered(socket) {
        Ok(registered) => registered,
        Err(error) => return tracing::debug!(session = id, %error, "client gone before it was greeted"),
    };
    let handle = Rc::new(Handle::new(id));
    sessions.list.borrow_mut().insert(id, handle.clone());
    let listed = Listed { sessions: sessions.clone(), id };
    let context = context.clone();
    tokio::task::spawn_local(async move {
        let _ends_with_the_task = (listed, place);
        session::serve(context, handle, socket, address).await;
    });
}

/// A session in its worker's list; taken off when dropped, also by a panic.
struct Listed {
    sessions: Sessions,
    id: u32,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.sessions.list.borrow_mut().remove(&self.id);
        self.sessions.ended.notify_one();
    }
}

fn registered(socket: Accepted) -> std::io::Result<(Socket, Option<IpAddr>)> {
    Ok(match socket {
        Accepted::Tcp(stream, address) => (Socket::tcp(TcpStream::from_std(stream)?)?, Some(address)),
        Accepted::Unix(stream) => (Socket::Unix(UnixStream::from_std(stream)?), None),
    })
}

fn answer(sessions: &Sessions, request: KillRequest) {
    let sessions = sessions.list.borrow();
    let found = match sessions.get(&request.id) {
        None => KillAnswer::Unknown,
        Some(handle) => {
            match request.what {
                Ask::Hold => handle.hold(),
                Ask::LetGo => handle.let_go(),
                Ask::Tell(signal) => handle.send(signal),
            }
            let (running, waiting) = (handle.running(), handle.is_waiting());
            KillAnswer::Found { same_user: handle.is_of(&request.user), running, waiting }
        }
    };
    // The asker may have left meanwhile.
    let _ = request.answer.send(found);
}
