//! Embedded servers: a primary and two replicas inside this process, from memory, without anything installed.
//!
//! They know just enough SQL for the bench's own workloads (see [`statement`]), share one store, and count what they
//! are asked as a real server does, so that a split can be proved on them. Each has a thread and a runtime of its
//! own, so that it neither needs nor disturbs its caller's, and can be ended like a process: at once, connections
//! and all.

mod engine;
mod one_packet;
mod session;
mod show;
mod statement;
mod status_flags;
mod store;
#[cfg(test)]
mod tests;
mod token;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use opensrv_mysql::AsyncMysqlIntermediary;
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};

use self::engine::Engine;
use self::one_packet::OnePacketReader;
use self::session::Session;
use self::status_flags::StatusFlagsWriter;
use super::Role;
use super::error::LabError;

pub(crate) use self::engine::VERSION;
pub(crate) use self::store::Store;

/// One embedded server.
#[derive(Debug)]
pub(crate) struct EmbeddedServer {
    pub(crate) name: &'static str,
    engine: Arc<Engine>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl EmbeddedServer {
    pub(crate) fn new(
        name: &'static str,
        role: Role,
        server_id: u32,
        port: u16,
        store: Arc<Store>,
    ) -> EmbeddedServer {
        let (counters, suspended) = (show::Counters::default(), watch::Sender::new(false));
        let engine = Engine { role, server_id, port, store, counters, suspended };
        EmbeddedServer { name, engine: Arc::new(engine), running: Mutex::new(None) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.engine.port))
    }

    pub(crate) fn role(&self) -> Role {
        self.engine.role
    }

    pub(crate) fn server_id(&self) -> u32 {
        self.engine.server_id
    }

    pub(crate) fn is_running(&self) -> bool {
        self.slot().is_some()
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens and serves; returns when connections are accepted.
    pub(crate) fn start(&self) -> Result<(), LabError> {
        let mut slot = self.slot();
        if slot.is_some() {
            return Err(LabError::AlreadyRunning { server: self.name.into() });
        }
        let failed =
            |source| LabError::Embedded { server: self.name.to_owned(), address: self.address(), source };
        let listener = TcpListener::bind(self.address()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (stop, stopped) = oneshot::channel();
        let engine = Arc::clone(&self.engine);
        let thread = thread::Builder::new().name(format!("embedded-{}", self.name)).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    // Accepting fails for good only when the process has no file descriptors left.
                    _ = accept(listener, engine) => {}
                }
            });
            // Dropping the runtime closes every connection.
        });
        *slot = Some(Running { stop, thread: thread.map_err(failed)? });
        Ok(())
    }

    /// Answers no statement until [`EmbeddedServer::resume`]; connections stay open and new ones are accepted.
    pub(crate) fn suspend(&self) -> Result<(), LabError> {
        self.set_suspended(true)
    }

    pub(crate) fn resume(&self) -> Result<(), LabError> {
        self.set_suspended(false)
    }

    fn set_suspended(&self, suspended: bool) -> Result<(), LabError> {
        if !self.is_running() {
            return Err(LabError::NotRunning { server: self.name.into() });
        }
        self.engine.suspended.send_replace(suspended);
        Ok(())
    }

    /// Closes the listener and every connection.
    pub(crate) fn stop(&self) -> Result<(), LabError> {
        let running = self.slot().take().ok_or_else(|| LabError::NotRunning { server: self.name.into() })?;
        let _ = running.stop.send(());
        drop(running.thread.join());
        Ok(())
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        drop(self.stop());
    }
}

async fn accept(listener: TcpListener, engine: Arc<Engine>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let next_connection_id = AtomicU32::new(1);
    loop {
        let (stream, _) = listener.accept().await?;
        let connection_id = next_connection_id.fetch_add(1, Ordering::Relaxed);
        // Tracked by the runtime: it ends with the server.
        drop(tokio::spawn(serve(stream, Arc::clone(&engine), connection_id)));
    }
}

/// One client until it leaves; what ends it is told to nobody, as a server does not tell a client that is gone.
async fn serve(stream: TcpStream, engine: Arc<Engine>, connection_id: u32) {
    drop(stream.set_nodelay(true));
    let flags = Arc::new(AtomicU16::new(0));
    let (reader, writer) = stream.into_split();
    let reader = OnePacketReader::new(reader);
    let writer = StatusFlagsWriter::new(writer, Arc::clone(&flags));
    drop(AsyncMysqlIntermediary::run_on(Session::new(engine, connection_id, flags), reader, writer).await);
}
