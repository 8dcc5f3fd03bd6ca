//! Packets over one socket: read whole where they matter, shown in passing where they do not.
//!
//! Every function is cancel-safe: what was read is kept, what was not written stays queued.

use super::buffers::{Buffers, READ_LEN};
use super::socket::Socket;
use crate::protocol::packet::{HEADER_LEN, Header, put_packet};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of a client's next commands that are read while the reply to the last one is awaited.
const READ_AHEAD: usize = 16 * 1024;
/// The request for TLS with its header. Nothing behind it may be read, for it belongs to TLS.
const FIRST_READ: usize = HEADER_LEN + crate::protocol::handshake::SSL_REQUEST_LEN;

/// Why no more packets come from or go to a peer.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The peer closed the connection, with everything before it complete.
    #[error("the connection was closed")]
    Closed,
    /// The peer closed the connection in the middle of a packet.
    #[error("the connection was closed inside a packet")]
    Cut,
    /// A sequence id that cannot follow the one before.
    #[error("packets out of order")]
    OutOfOrder,
    /// A packet longer than this phase allows.
    #[error("a packet of {0} bytes where none is that long")]
    TooLong(usize),
    /// The peer took nothing for too long.
    #[error("the peer takes no bytes")]
    WriteTimeout,
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What a look at received bytes came to: how many of them are done with, and a result.
pub struct Taken<T> {
    /// Bytes that need not be kept.
    pub done: usize,
    /// The result.
    pub value: T,
}

/// Packets over one socket.
#[derive(Debug)]
pub struct PacketStream {
    socket: Socket,
    buffers: Buffers,
    /// Read and not yet done with. Without memory while the peer is idle.
    input: Vec<u8>,
    /// Queued for the peer from `written` on. Without memory once it is taken.
    output: Vec<u8>,
    written: usize,
    /// TLS took bytes that it may still hold.
    unflushed: bool,
    sequence: u8,
}

impl PacketStream {
    /// Packets over `socket`, the first with sequence id 0.
    pub fn new(socket: Socket, buffers: Buffers) -> Self {
        Self {
            socket,
            buffers,
            input: Vec::new(),
            output: Vec::new(),
            written: 0,
            unflushed: false,
            sequence: 0,
        }
    }

    /// Whether passwords may cross the connection in clear.
    pub fn is_private(&self) -> bool {
        self.socket.is_private()
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        matches!(self.socket, Socket::Tls(_))
    }

    /// The sequence id of the next packet, of either side.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Sets the sequence id of the next packet; a new command begins with 0.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Replaces the socket, for the change to TLS in the connection phase.
    ///
    /// # Errors
    /// Bytes were sent in clear behind the request for TLS: somebody may have put them there. Or the change failed,
    /// and nothing can be sent any more.
    pub async fn upgrade<F>(&mut self, upgrade: impl FnOnce(Socket) -> F) -> Result<(), StreamError>
    where
        F: Future<Output = io::Result<Socket>>,
    {
        if !self.input.is_empty() {
            return Err(StreamError::OutOfOrder);
        }
        let plain = std::mem::replace(&mut self.socket, Socket::Closed);
        self.socket = upgrade(plain).await?;
        Ok(())
    }

    /// Bytes read and not yet done with.
    pub fn input(&self) -> &[u8] {
        &self.input
    }

    /// The same, to be changed in place.
    pub fn input_mut(&mut self) -> &mut [u8] {
        &mut self.input
    }

    /// Puts `bytes` in the place of the first `n` bytes of the input.
    pub fn replace_front(&mut self, n: usize, bytes: &[u8]) {
        self.input.splice(..n.min(self.input.len()), bytes.iter().copied());
    }

    /// Forgets the first `n` bytes of the input.
    pub fn consume(&mut self, n: usize) {
        if n >= self.input.len() {
            self.buffers.give_back(&mut self.input);
        } else {
            self.input.drain(..n);
        }
    }

    /// Reads at most `limit` bytes (and at most one buffer) onto the input; 0 is the peer's end of stream.
    fn poll_fill(&mut self, cx: &mut Context<'_>, limit: usize) -> Poll<io::Result<usize>> {
        let Self { socket, buffers, input, .. } = self;
        buffers.with_read_buffer(|shared| {
            let limit = limit.min(shared.len());
            let n = ready!(poll_read(socket, cx, &mut shared[..limit]))?;
            if n > 0 && input.capacity() == 0 {
                *input = buffers.take();
            }
            input.extend_from_slice(&shared[..n]);
            Poll::Ready(Ok(n))
        })
    }

    /// Reads more bytes onto the input, at most `limit`.
    ///
    /// # Errors
    /// [`StreamError::Closed`] or [`StreamError::Cut`] at the end of the stream, [`StreamError::Io`].
    pub async fn fill(&mut self, limit: usize) -> Result<(), StreamError> {
        match poll_fn(|cx| self.poll_fill(cx, limit)).await? {
            0 if self.input.is_empty() => Err(StreamError::Closed),
            0 => Err(StreamError::Cut),
            _ => Ok(()),
        }
    }

    /// Waits for the peer's next bytes or for `stop` to be ready, whichever comes first.
    ///
    /// # Errors
    /// As [`Self::fill`].
    pub async fn fill_unless<T>(
        &mut self,
        mut stop: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Result<Option<T>, StreamError> {
        // What the peer has sent already comes first.
        let (read, stopped) = poll_fn(|cx| match self.poll_fill(cx, READ_LEN) {
            Poll::Ready(Ok(n)) => Poll::Ready((n, None)),
            Poll::Ready(Err(_)) => Poll::Ready((0, None)),
            Poll::Pending => stop(cx).map(|value| (0, Some(value))),
        })
        .await;
        match stopped {
            Some(value) => Ok(Some(value)),
            None if read > 0 => Ok(None),
            None if self.input.is_empty() => Err(StreamError::Closed),
            None => Err(StreamError::Cut),
        }
    }

    /// Reads one payload of at most `max_len` bytes, joined where it came in several packets.
    ///
    /// # Errors
    /// All of [`StreamError`] but the timeout.
    pub async fn read_packet(&mut self, max_len: usize) -> Result<Vec<u8>, StreamError> {
        let mut payload = Vec::new();
        loop {
            while self.input.len() < HEADER_LEN {
                self.fill(FIRST_READ - self.input.len()).await?;
            }
            let header = Header::peek(&self.input).ok_or(StreamError::Cut)?;
            if header.sequence != self.sequence {
                return Err(StreamError::OutOfOrder);
            }
            if payload.len() + header.len > max_len {
                return Err(StreamError::TooLong(payload.len() + header.len));
            }
            let end = HEADER_LEN + header.len;
            while self.input.len() < end {
                self.fill(end - self.input.len()).await?;
            }
            payload.extend_from_slice(&self.input[HEADER_LEN..end]);
            self.consume(end);
            self.sequence = header.sequence.wrapping_add(1);
            if !header.is_continued() {
                return Ok(payload);
            }
        }
    }

    /// Reads once and shows `look` everything that is there; what it is not done with is kept.
    ///
    /// # Errors
    /// As [`Self::fill`], and whatever `look` says.
    pub fn poll_take<T, E: From<StreamError>>(
        &mut self,
        cx: &mut Context<'_>,
        look: impl FnOnce(&mut Context<'_>, &mut [u8]) -> Result<Taken<T>, E>,
    ) -> Poll<Result<T, E>> {
        if !self.input.is_empty() {
            return self.poll_take_behind_input(cx, look);
        }
        let Self { socket, buffers, input, .. } = self;
        buffers.with_read_buffer(|shared| {
            let n = ready!(poll_read(socket, cx, shared)).map_err(StreamError::Io)?;
            if n == 0 {
                return Poll::Ready(Err(StreamError::Closed.into()));
            }
            let taken = look(cx, &mut shared[..n])?;
            if taken.done < n {
                *input = buffers.take();
                input.extend_from_slice(&shared[taken.done..n]);
            }
            Poll::Ready(Ok(taken.value))
        })
    }

    /// Shows `look` what is left from before, if anything; what it is not done with is kept.
    ///
    /// # Errors
    /// Whatever `look` says.
    pub fn take_input<T, E>(
        &mut self,
        look: impl FnOnce(&mut [u8]) -> Result<Taken<T>, E>,
    ) -> Result<Option<T>, E> {
        if self.input.is_empty() {
            return Ok(None);
        }
        let taken = look(&mut self.input)?;
        self.consume(taken.done);
        Ok(Some(taken.value))
    }

    /// The same where bytes are left from before: half a header, or a packet that is wanted whole.
    fn poll_take_behind_input<T, E: From<StreamError>>(
        &mut self,
        cx: &mut Context<'_>,
        look: impl FnOnce(&mut Context<'_>, &mut [u8]) -> Result<Taken<T>, E>,
    ) -> Poll<Result<T, E>> {
        if ready!(self.poll_fill(cx, READ_LEN)).map_err(StreamError::Io)? == 0 {
            return Poll::Ready(Err(StreamError::Cut.into()));
        }
        let taken = look(cx, &mut self.input)?;
        self.consume(taken.done);
        Poll::Ready(Ok(taken.value))
    }

    /// Whether the peer is gone, found while something else is waited for; `half_closed` says whether a peer that will
    /// send no more counts as gone. What it sends meanwhile is kept, up to a bound; beyond it the peer is no longer
    /// watched.
    pub fn poll_gone(&mut self, cx: &mut Context<'_>, half_closed: bool) -> Poll<()> {
        while self.input.len() < READ_AHEAD {
            match ready!(self.poll_fill(cx, READ_AHEAD)) {
                Ok(0) if !half_closed => return Poll::Pending,
                Ok(n) if n > 0 => {}
                _ => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// Whether a peer that has nothing to say has closed the connection, or is about to: a server's last word before
    /// it closes an idle connection counts. Costs no system call while nothing has arrived.
    pub fn is_closed_by_peer(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        self.poll_fill(&mut cx, READ_AHEAD).is_ready()
    }

    /// Takes what has arrived and not been read yet; false when that is nothing.
    pub fn fill_now(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        matches!(self.poll_fill(&mut cx, READ_LEN), Poll::Ready(Ok(n)) if n > 0)
    }

    /// Queues bytes that are packets already.
    pub fn queue(&mut self, packets: &[u8]) {
        if self.output.capacity() == 0 {
            self.output = self.buffers.take();
        }
        self.output.extend_from_slice(packets);
    }

    /// Queues a payload as the next packet, or packets.
    pub fn queue_packet(&mut self, payload: &[u8]) {
        if self.output.capacity() == 0 {
            self.output = self.buffers.take();
        }
        self.sequence = put_packet(&mut self.output, self.sequence, payload);
    }

    /// Whether bytes are queued that the peer has not taken.
    pub fn has_output(&self) -> bool {
        !self.output.is_empty() || self.unflushed
    }

    /// Hands packets to the peer at once as far as it takes them, and queues the rest.
    ///
    /// # Errors
    /// The socket failed.
    pub fn write_or_queue(&mut self, cx: &mut Context<'_>, packets: &[u8]) -> Result<(), StreamError> {
        let mut rest = packets;
        if self.output.is_empty()
            && let Poll::Ready(written) = Pin::new(&mut self.socket).poll_write(cx, rest)
        {
            rest = &rest[written?..];
            self.unflushed = self.is_tls();
        }
        if !rest.is_empty() {
            self.queue(rest);
        }
        Ok(())
    }

    /// Writes what is queued and these packets behind it, in one write if the peer takes it.
    ///
    /// # Errors
    /// The socket failed.
    pub async fn write(&mut self, packets: &[u8]) -> Result<(), StreamError> {
        if self.has_output() {
            self.queue(packets);
        } else {
            poll_fn(|cx| Poll::Ready(self.write_or_queue(cx, packets))).await?;
        }
        if self.has_output() { self.flush().await } else { Ok(()) }
    }

    /// Writes what is queued; ready when the peer has taken all of it.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        while self.written < self.output.len() {
            let n = ready!(Pin::new(&mut self.socket).poll_write(cx, &self.output[self.written..]))?;
            if n == 0 {
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::WriteZero).into()));
            }
            self.written += n;
        }
        self.written = 0;
        self.buffers.give_back(&mut self.output);
        if self.is_tls() {
            ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what is queued, however long it takes.
    ///
    /// # Errors
    /// The socket failed.
    pub async fn flush(&mut self) -> Result<(), StreamError> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Writes what is queued, and gives up on a peer that takes nothing at all for `limit`.
    ///
    /// # Errors
    /// [`StreamError::WriteTimeout`], or the socket failed.
    pub async fn flush_within(&mut self, limit: Duration) -> Result<(), StreamError> {
        // No timer is made unless the peer is slow.
        if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(self.poll_flush(cx))).await {
            return done;
        }
        loop {
            let before = self.written;
            match tokio::time::timeout(limit, self.flush()).await {
                Ok(done) => return done,
                Err(_) if self.written == before => return Err(StreamError::WriteTimeout),
                Err(_) => {}
            }
        }
    }

    /// Says goodbye and closes; a peer that does not take it in time is left alone.
    pub async fn shutdown(mut self, limit: Duration) {
        let goodbye = async {
            self.flush().await?;
            poll_fn(|cx| Pin::new(&mut self.socket).poll_shutdown(cx)).await?;
            Ok::<(), StreamError>(())
        };
        let _ = tokio::time::timeout(limit, goodbye).await;
    }

    /// Closes after an ERR packet: sends it, then takes and drops what the peer is still sending, so that the
    /// peer's system does not throw the packet away together with the connection.
    pub async fn shutdown_lingering(mut self, limit: Duration) {
        let linger = async {
            self.flush().await?;
            poll_fn(|cx| Pin::new(&mut self.socket).poll_shutdown(cx)).await?;
            loop {
                self.input.clear();
                self.fill(READ_LEN).await?;
            }
            #[allow(unreachable_code, reason = "gives the block its type")]
            Ok::<(), StreamError>(())
        };
        let _ = tokio::time::timeout(limit, linger).await;
    }
}

/// Reads what is there, at most `buffer`; 0 is the peer's end of stream.
fn poll_read(socket: &mut Socket, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
    let mut buffer = ReadBuf::new(buffer);
    ready!(Pin::new(socket).poll_read(cx, &mut buffer))?;
    Poll::Ready(Ok(buffer.filled().len()))
}
