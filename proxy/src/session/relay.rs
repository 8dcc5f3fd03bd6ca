//! One command forward, its reply back.
//!
//! Between two peers there is one buffer, the worker's, and never more of a reply in memory than one read of it.
//! A slow client stops the reading from the server.

use super::exchange::NOT_PREPARED;
use super::handle::{Handle, Signal};
use super::walk::{Look, Observation, Progress, Walk};
use crate::io::buffers::READ_LEN;
use crate::io::packet_stream::Taken;
use crate::io::{PacketStream, StreamError};
use crate::protocol::Malformed;
use crate::protocol::packet::{HEADER_LEN, Header};
use crate::protocol::session_track::{Change, Changes};
use crate::topology::{Server, Topology};
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Why a reply did not reach the client whole.
#[derive(Debug, thiserror::Error)]
pub(super) enum RelayError {
    /// The client failed or left.
    #[error("client: {0}")]
    Client(StreamError),
    /// The server failed or left.
    #[error(transparent)]
    Backend(StreamError),
    /// The server sent what no server sends.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The session was killed.
    #[error("killed")]
    Killed,
}

impl From<StreamError> for RelayError {
    fn from(error: StreamError) -> Self {
        Self::Backend(error)
    }
}

/// The client's side of a relay, and what is noted on the way.
pub(super) struct Relay<'a> {
    pub(super) client: &'a mut PacketStream,
    pub(super) handle: &'a Handle,
    pub(super) seen: &'a mut Observation,
    pub(super) write_timeout: Duration,
    /// What is kept from the client, as long as it has got nothing yet.
    pub(super) withholds: Withholds,
    /// Whether a client that has closed its side need not be answered: its read is ended. A write that was sent runs
    /// to its end, as on one server.
    pub(super) ends_with_client: bool,
    /// Where writes are made known.
    pub(super) topology: &'a Topology,
    /// When the command was sent, and the server that wants to know how long its reply takes to begin.
    pub(super) timed: Option<(Instant, &'a Server)>,
}

/// Errors that are kept from the client, because the statement will run in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Withholds {
    /// None.
    Nothing,
    /// A server's refusal to write, and all of [`Self::NotPrepared`]: the primary will answer.
    RefusedWrites,
    /// That the server does not know the prepared statement: it will be prepared again.
    NotPrepared,
}

impl Withholds {
    fn includes(self, code: u16) -> bool {
        match self {
            Self::Nothing => false,
            Self::RefusedWrites => REFUSALS_TO_WRITE.contains(&code) || NOT_PREPARED.contains(&code),
            Self::NotPrepared => NOT_PREPARED.contains(&code),
        }
    }
}

/// ER_OPTION_PREVENTS_STATEMENT, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE
const REFUSALS_TO_WRITE: [u16; 3] = [1290, 1792, 1836];

impl Relay<'_> {
    /// Relays the reply that `walk` follows.
    pub(super) async fn reply(
        &mut self,
        backend: &mut PacketStream,
        walk: &mut Walk,
    ) -> Result<Progress, RelayError> {
        if walk.is_over() {
            return Ok(Progress::Last);
        }
        // Bytes that came together with the reply before, to a command of Telamon's own.
        let mut there = poll_fn(|cx| Poll::Ready(self.look_at_input(cx, backend, walk))).await?;
        loop {
            let progress = match there.take() {
                Some(progress) => progress,
                None => poll_fn(|cx| self.poll_reply(cx, backend, walk)).await?,
            };
            if self.client.has_output() {
                self.client.flush_within(self.write_timeout).await.map_err(RelayError::Client)?;
            }
            if progress != Progress::More {
                return Ok(progress);
            }
        }
    }

    fn look_at_input(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut PacketStream,
        walk: &mut Walk,
    ) -> Result<Option<Progress>, RelayError> {
        backend.take_input(|bytes| self.hand_over(cx, bytes, walk))
    }

    /// Hands everything that is the client's to the client.
    fn hand_over(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &mut [u8],
        walk: &mut Walk,
    ) -> Result<Taken<Progress>, RelayError> {
        if let Some((sent, server)) = self.timed.take() {
            server.observe_latency(sent.elapsed());
        }
        let Look { span, progress } = walk.look(bytes, self.seen)?;
        let done = span.end;
        self.publish_writes();
        if self.seen.error.is_some_and(|code| self.withholds.includes(code)) {
            self.seen.withheld = true;
            return Ok(Taken { done, value: progress });
        }
        if !span.is_empty() {
            self.withholds = Withholds::Nothing;
        }
        self.client.write_or_queue(cx, &bytes[span]).map_err(RelayError::Client)?;
        Ok(Taken { done, value: progress })
    }

    /// Makes a write known before its client can tell anybody of it.
    fn publish_writes(&mut self) {
        for (change, _) in Changes::new(&self.seen.track[self.seen.published..]).flatten() {
            match change {
                Change::SystemVariable { name: b"last_gtid", value: gtid } | Change::Gtids(gtid)
                    if !gtid.is_empty() =>
                {
                    self.topology.note_write(gtid);
                }
                _ => {}
            }
        }
        self.seen.published = self.seen.track.len();
    }

    /// Reads once from the server and hands everything that is the client's to the client.
    fn poll_reply(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut PacketStream,
        walk: &mut Walk,
    ) -> Poll<Result<Progress, RelayError>> {
        let polled = backend.poll_take(cx, |cx, bytes| self.hand_over(cx, bytes, walk));
        if polled.is_ready() {
            return polled;
        }
        let Self { client, handle, ends_with_client, .. } = self;
        if client.poll_gone(cx, *ends_with_client).is_ready() {
            return Poll::Ready(Err(RelayError::Client(StreamError::Closed)));
        }
        handle.poll_signal(cx, |signal| signal == Signal::Kill).map(|_| Err(RelayError::Killed))
    }

    /// Takes the command off the client's input: what follows there is the file that the server asked for.
    pub(super) fn drop_command(&mut self) {
        if !std::mem::replace(&mut self.seen.asked_for_file, true) {
            consume_front(self.client);
        }
    }

    /// Hands the client's file to the server, up to and with the empty packet that ends it; answers the id of the
    /// packet that follows.
    pub(super) async fn file(&mut self, backend: &mut PacketStream) -> Result<u8, RelayError> {
        loop {
            let header = next_header(self.client).await?;
            forward(self.client, &mut Some(backend), HEADER_LEN + header.len).await?;
            if header.len == 0 {
                return Ok(header.sequence.wrapping_add(1));
            }
        }
    }
}

/// Takes a whole command off the front of the input.
pub(super) fn consume_front(client: &mut PacketStream) {
    if let Some(header) = Header::peek(client.input()) {
        client.consume(HEADER_LEN + header.len);
    }
}

/// The header at the front of the client's input.
pub(super) async fn next_header(client: &mut PacketStream) -> Result<Header, RelayError> {
    loop {
        if let Some(header) = Header::peek(client.input()) {
            return Ok(header);
        }
        client.fill(READ_LEN).await.map_err(RelayError::Client)?;
    }
}

/// Takes the next `len` bytes from the client, to the server where there is one.
async fn forward(
    client: &mut PacketStream,
    backend: &mut Option<&mut PacketStream>,
    len: usize,
) -> Result<(), RelayError> {
    let mut left = len;
    while left > 0 {
        if client.input().is_empty() {
            client.fill(READ_LEN).await.map_err(RelayError::Client)?;
        }
        let now = left.min(client.input().len());
        if let Some(backend) = backend {
            backend.queue(&client.input()[..now]);
        }
        client.consume(now);
        left -= now;
        if let Some(backend) = backend {
            backend.flush().await?;
        }
    }
    Ok(())
}

/// Streams a command too long to be held, or drops it where there is no server; answers the id of its reply's
/// first packet.
pub(super) async fn stream_command(
    client: &mut PacketStream,
    mut backend: Option<&mut PacketStream>,
) -> Result<u8, RelayError> {
    loop {
        let header = next_header(client).await?;
        forward(client, &mut backend, HEADER_LEN + header.len).await?;
        if !header.is_continued() {
            return Ok(header.sequence.wrapping_add(1));
        }
    }
}

/// Reads one reply for nobody: of a command that Telamon sent on its own, or that must not be seen.
pub(super) async fn discard_reply(
    backend: &mut PacketStream,
    walk: &mut Walk,
    seen: &mut Observation,
) -> Result<(), RelayError> {
    loop {
        if let Some(progress) = backend.take_input(|bytes| {
            let Look { span, progress } = walk.look(bytes, seen)?;
            Ok::<_, RelayError>(Taken { done: span.end, value: progress })
        })? && progress != Progress::More
        {
            return Ok(());
        }
        backend.fill(READ_LEN).await?;
    }
}
