//! The whole server: listeners, workers, signals, drain.

use crate::backend::Connector;
use crate::config::{Config, ListenAddress, TlsClientMode};
use crate::io::tls::{self, TlsError};
use crate::listener::{ListenError, Listener};
use crate::monitor;
use crate::protocol::auth::{AuthError, RsaKey};
use crate::protocol::error_code::ServerError;
use crate::protocol::packet::put_packet;
use crate::protocol::{CapabilityFlags, response};
use crate::routing::{RouteCounts, Rules};
use crate::session::{FIRST_ID, Killer};
use crate::topology::{Health, Topology};
use crate::worker::{self, Accepted, Inbox, Intake, Place, Shared};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener cannot be opened.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A certificate cannot be used.
    #[error("tls: {0}")]
    Tls(#[from] TlsError),
    /// No keys or random numbers.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// Threads or signals cannot be had.
    #[error("the system refuses what a server needs: {0}")]
    System(#[from] io::Error),
}

/// One worker as the acceptor sees it.
struct Desk {
    intake: mpsc::UnboundedSender<Intake>,
    sessions: Arc<AtomicUsize>,
    routes: Arc<RouteCounts>,
    next_id: u32,
}

/// Serves until a signal ends it.
///
/// # Errors
/// [`StartError`]; once it serves, it ends without one.
pub fn run(config: Config) -> Result<(), StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    local.block_on(&runtime, serve(Arc::new(config)))
}

async fn serve(config: Arc<Config>) -> Result<(), StartError> {
    let acceptor = acceptor(&config)?;
    let connector = Connector::new(&config)?;
    let rsa = Arc::new(RsaKey::generate()?);
    let listeners = config.listen.iter().map(Listener::bind).collect::<Result<Vec<_>, _>>()?;
    let topology = Arc::new(Topology::new(&config));
    let mut ends = Ends::new()?;
    let (drain, draining) = watch::channel(false);
    let (killer, kills) = killers(config.worker_threads());
    let shared = Shared {
        config: config.clone(),
        topology: topology.clone(),
        connector: connector.clone(),
        acceptor,
        rsa,
        rules: Arc::new(rules(&config)),
        killer,
        drain: draining,
    };
    let (mut desks, threads) = start_workers(&shared, kills)?;
    tokio::task::spawn_local(monitor::run(config.clone(), topology, connector));
    know_primary(&config, &shared.topology).await;
    announce(&config, desks.len());

    let all = Arc::new(AtomicUsize::new(0));
    let limit = config.client.max_connections as usize;
    loop {
        tokio::select! {
            accepted = accept_any(&listeners) => match accepted {
                Ok(socket) => admit(socket, &mut desks, &all, limit),
                Err(error) => {
                    tracing::error!(%error, "no client can be accepted for now");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            name = ends.next() => {
                tracing::info!(signal = name, sessions = all.load(Ordering::Relaxed), "draining");
                break;
            }
        }
    }
    drop(listeners);
    let routes: Vec<_> = desks.into_iter().map(|desk| desk.routes).collect();
    let _ = drain.send(true);
    drained(&config, &all, &mut ends).await;
    drop(drain);
    if all.load(Ordering::Relaxed) == 0 {
        for thread in threads {
            let _ = thread.join();
        }
    }
    let statements: u64 = routes.iter().flat_map(|counts| counts.all()).map(|(_, count)| count).sum();
    tracing::info!(statements, "stopped");
    Ok(())
}

/// Waits until the primary's greeting is known, so that the first client is greeted like all others; not for long.
async fn know_primary(config: &Config, topology: &Topology) {
    let limit = Duration::from_millis(config.monitor.timeout_ms);
    let known = async {
        while topology.primary().identity().is_none() && topology.primary().health() != Health::Down {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = tokio::time::timeout(limit, known).await;
}

/// The rules of the file, and what its firewall refuses.
fn rules(config: &Config) -> Rules {
    Rules::new(config.rules.iter().map(|rule| rule.rule.clone()).collect(), config.firewall.rejects)
}

fn acceptor(config: &Config) -> Result<Option<tokio_rustls::TlsAcceptor>, TlsError> {
    let client = &config.tls.client;
    match (client.mode, &client.cert, &client.key) {
        (TlsClientMode::Off, _, _) => Ok(None),
        (_, Some(cert), Some(key)) => tls::acceptor_from_files(cert, key).map(Some),
        _ => tls::acceptor_generated(client.directory.as_deref()).map(Some),
    }
}

type Threads = Vec<std::thread::JoinHandle<io::Result<()>>>;
type Kills = Vec<mpsc::UnboundedReceiver<crate::session::KillRequest>>;

fn killers(workers: usize) -> (Killer, Kills) {
    let (senders, receivers) = (0..workers).map(|_| mpsc::unbounded_channel()).unzip();
    (Killer::new(senders), receivers)
}

fn start_workers(shared: &Shared, kills: Kills) -> io::Result<(Vec<Desk>, Threads)> {
    let mut desks = Vec::new();
    let mut threads = Vec::new();
    for (index, kills) in kills.into_iter().enumerate() {
        let (intake, inbox) = mpsc::unbounded_channel();
        let (shared, routes) = (shared.clone(), Arc::<RouteCounts>::default());
        let inbox = Inbox { intake: inbox, kills, routes: routes.clone() };
        let run = move || worker::run(shared, inbox);
        threads.push(std::thread::Builder::new().name(format!("worker-{index}")).spawn(run)?);
        desks.push(Desk { intake, sessions: Arc::default(), routes, next_id: 1 });
    }
    Ok((desks, threads))
}

fn announce(config: &Config, workers: usize) {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let listen: Vec<_> = config.listen.iter().map(ListenAddress::to_string).collect();
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, listen = listen.join(", "), workers, servers = config.servers.len(), "serving");
}

async fn accept_any(listeners: &[Listener]) -> io::Result<Accepted> {
    std::future::poll_fn(|cx| {
        let ready = listeners.iter().find_map(|listener| match listener.poll_accept(cx) {
            std::task::Poll::Ready(accepted) => Some(accepted),
            std::task::Poll::Pending => None,
        });
        ready.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
    })
    .await
}

/// Hands a client to the worker with the fewest sessions, or turns it away.
fn admit(socket: Accepted, desks: &mut [Desk], all: &Arc<AtomicUsize>, limit: usize) {
    if all.load(Ordering::Relaxed) >= limit {
        tracing::warn!(limit, "client turned away: client.max_connections sessions are open");
        return turn_away(socket);
    }
    let workers = u32::try_from(desks.len()).unwrap_or(1);
    let fewest = desks.iter_mut().enumerate().min_by_key(|(_, desk)| desk.sessions.load(Ordering::Relaxed));
    let Some((index, desk)) = fewest else { return };
    // What is left of an id behind FIRST_ID, modulo the number of workers, is its worker.
    let id = FIRST_ID + desk.next_id * workers + u32::try_from(index).unwrap_or(0);
    desk.next_id = (desk.next_id + 1) % (FIRST_ID / workers);
    let place = Place::take([desk.sessions.clone(), all.clone()]);
    if desk.intake.send(Intake { socket, id, place }).is_err() {
        tracing::error!(worker = index, "worker is gone");
    }
}

/// Sends error 1040; a client that would have to be waited for gets nothing.
fn turn_away(socket: Accepted) {
    let payload = response::err(&ServerError::too_many_connections(), CapabilityFlags::empty());
    let mut packet = Vec::new();
    put_packet(&mut packet, 0, &payload);
    let _ = match socket {
        Accepted::Tcp(mut stream, _) => stream.write(&packet),
        Accepted::Unix(mut stream) => stream.write(&packet),
    };
}

/// Waits until every session is over, the time for it is, or a second signal comes.
async fn drained(config: &Config, all: &AtomicUsize, ends: &mut Ends) {
    let limit = tokio::time::sleep(Duration::from_millis(config.client.drain_timeout_ms));
    tokio::pin!(limit);
    while all.load(Ordering::Relaxed) > 0 {
        tokio::select! {
            () = &mut limit => {
                let left = all.load(Ordering::Relaxed);
                return tracing::warn!(sessions = left, "client.drain_timeout_ms is over; ending what is left");
            }
            name = ends.next() => return tracing::warn!(signal = name, "ending at once"),
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
        }
    }
}

/// The signals that end the server.
struct Ends {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Ends {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hang_up.recv() => {
                    tracing::warn!("SIGHUP ignored: every key of the configuration needs a restart");
                }
            }
        }
    }
}
