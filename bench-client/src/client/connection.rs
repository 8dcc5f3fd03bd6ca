//! One connection: statements out, replies in, counted and passed over.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telamon::protocol::CapabilityFlags;
use telamon::protocol::command::ReplyShape;
use telamon::protocol::packet::{HEADER_LEN, Header, put_packet};
use telamon::protocol::reply::{Packet, ReplyState};
use telamon::protocol::response::ErrPacket;
use telamon::protocol::wire::put_lenenc_bytes;

use super::error::ClientError;
use super::socket::Socket;
use crate::target::Target;
use crate::workload::{Call, Event, Template, Value};

/// How often a wait looks whether it should go on.
const TICK: Duration = Duration::from_millis(200);
const BUFFER: usize = 16 * 1024;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_PING: u8 = 0x0E;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const MYSQL_TYPE_LONG: u8 = 0x03;
const MYSQL_TYPE_STRING: u8 = 0xFE;

/// How long an answer is waited for, and what ends the wait.
#[derive(Debug, Clone)]
pub struct Patience {
    /// The longest wait.
    pub limit: Duration,
    /// Ends every wait when set.
    pub stop: Arc<AtomicBool>,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { limit: Duration::from_secs(60), stop: Arc::default() }
    }
}

/// What a reply consisted of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reply {
    /// Its packets.
    pub packets: u64,
    /// Its bytes, headers included.
    pub bytes: u64,
}

/// A statement that the server has prepared on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    id: u32,
    // The parameters' types go with the first execution only.
    typed: bool,
}

/// What of a reply is looked at.
enum Look<F> {
    /// Where it ends.
    End,
    /// Every packet.
    All(F),
}

const PASS: Look<fn(&[u8])> = Look::End;

/// A logged-in connection.
#[derive(Debug)]
pub struct Connection {
    // Taken only for the moment of the upgrade to TLS.
    socket: Option<Socket>,
    pub(super) capabilities: CapabilityFlags,
    // opensrv-mysql, which the embedded servers stand on, misreads an execution without its parameters' types.
    pub(super) types_always: bool,
    patience: Patience,
    sequence: u8,
    output: Vec<u8>,
    input: Vec<u8>,
    start: usize,
    end: usize,
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// The system's refusal, the server's, or an authentication that this client does not know.
    pub fn open(target: &Target, patience: &Patience) -> Result<Connection, ClientError> {
        let socket = Socket::connect(&target.address, TICK).map_err(ClientError::Connect)?;
        let mut connection = Connection {
            socket: Some(socket),
            capabilities: CapabilityFlags::empty(),
            types_always: false,
            patience: patience.clone(),
            sequence: 0,
            output: Vec::with_capacity(1024),
            input: vec![0; BUFFER],
            start: 0,
            end: 0,
        };
        connection.log_in(target)?;
        Ok(connection)
    }

    /// How long the operating system takes to connect, without a login.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn connect_time(target: &Target) -> io::Result<Duration> {
        let begin = Instant::now();
        Socket::connect(&target.address, TICK).map(|_| begin.elapsed())
    }

    /// The TLS version and cipher suite in use.
    #[must_use]
    pub fn cipher(&self) -> Option<String> {
        self.socket.as_ref().and_then(Socket::cipher)
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn query(&mut self, sql: &str) -> Result<Reply, ClientError> {
        self.begin(COM_QUERY);
        self.output.extend_from_slice(sql.as_bytes());
        self.finish(ReplyShape::Results)
    }

    /// Runs a call of a template, its values put into the text.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn query_call(
        &mut self,
        template: &Template,
        event: &Event,
        call: &Call,
    ) -> Result<Reply, ClientError> {
        self.begin(COM_QUERY);
        template.write(event, call, &mut self.output);
        self.finish(ReplyShape::Results)
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn prepare(&mut self, sql: &str) -> Result<Prepared, ClientError> {
        self.begin(COM_STMT_PREPARE);
        self.output.extend_from_slice(sql.as_bytes());
        self.send()?;
        let mut first = None;
        let head = |payload: &[u8]| {
            first.get_or_insert_with(|| payload.to_vec());
        };
        self.read_reply(ReplyShape::Prepared, Look::All(head))?;
        let id = first.as_deref().and_then(|head| head.get(1..5)?.try_into().ok()).map(u32::from_le_bytes);
        let id = id.ok_or_else(|| ClientError::Protocol("a prepared statement without an id".into()))?;
        Ok(Prepared { id, typed: false })
    }

    /// Executes a call of a template that was prepared here.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn execute(
        &mut self,
        prepared: &mut Prepared,
        event: &Event,
        call: &Call,
    ) -> Result<Reply, ClientError> {
        let values = event.values(call);
        self.begin(COM_STMT_EXECUTE);
        let out = &mut self.output;
        out.extend_from_slice(&prepared.id.to_le_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor, one iteration
        if !values.is_empty() {
            out.resize(out.len() + values.len().div_ceil(8), 0); // no NULLs
            out.push(u8::from(!prepared.typed));
            if !prepared.typed {
                for value in values {
                    out.extend_from_slice(&match value {
                        Value::Integer(_) => [MYSQL_TYPE_LONG, 0],
                        Value::Text(_) => [MYSQL_TYPE_STRING, 0],
                    });
                }
                prepared.typed = !self.types_always;
            }
            for value in values {
                match value {
                    Value::Integer(number) => out.extend_from_slice(&number.to_le_bytes()),
                    Value::Text(range) => put_lenenc_bytes(out, event.text(range)),
                }
            }
        }
        self.finish(ReplyShape::Results)
    }

    /// COM_PING.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn ping(&mut self) -> Result<(), ClientError> {
        self.begin(COM_PING);
        self.finish(ReplyShape::One).map(|_| ())
    }

    /// Says goodbye; what becomes of it is nobody's concern.
    pub fn quit(mut self) {
        self.begin(COM_QUIT);
        drop(self.send());
    }

    /// Begins a command's packet, whose header is filled in when it is sent.
    fn begin(&mut self, command: u8) {
        self.output.clear();
        self.output.extend_from_slice(&[0; HEADER_LEN]);
        self.output.push(command);
    }

    /// Runs a statement and shows each packet of its reply, whole.
    pub(super) fn query_packets(&mut self, sql: &str, see: impl FnMut(&[u8])) -> Result<(), ClientError> {
        self.begin(COM_QUERY);
        self.output.extend_from_slice(sql.as_bytes());
        self.send()?;
        self.read_reply(ReplyShape::Results, Look::All(see)).map(|_| ())
    }

    fn finish(&mut self, shape: ReplyShape) -> Result<Reply, ClientError> {
        self.send()?;
        self.read_reply(shape, PASS)
    }

    fn send(&mut self) -> Result<(), ClientError> {
        let header = Header { len: self.output.len() - HEADER_LEN, sequence: 0 };
        self.output[..HEADER_LEN].copy_from_slice(&header.bytes());
        let Some(socket) = &mut self.socket else { return Err(no_socket()) };
        socket.write_all(&self.output).map_err(ClientError::Lost)?;
        socket.flush().map_err(ClientError::Lost)
    }

    fn read_reply(
        &mut self,
        shape: ReplyShape,
        mut look: Look<impl FnMut(&[u8])>,
    ) -> Result<Reply, ClientError> {
        let mut state = ReplyState::new(shape, self.capabilities);
        let mut reply = Reply::default();
        while !state.is_last() {
            self.need(HEADER_LEN)?;
            let header = Header::peek(self.available()).expect("four bytes are there");
            let length = HEADER_LEN + header.len;
            self.need(HEADER_LEN + header.len.min(1))?;
            let first = self.available().get(HEADER_LEN).copied().unwrap_or(0);
            if matches!(look, Look::All(_)) || state.needs_whole(header, first) {
                self.need(length)?;
            }
            let whole = &self.available()[HEADER_LEN..self.available().len().min(length)];
            let packet = state.packet(header, whole).map_err(|e| ClientError::Protocol(e.to_string()))?;
            if packet == Packet::Err {
                let error = server_error(whole);
                self.skip(length)?;
                return Err(error);
            }
            if let Look::All(see) = &mut look {
                see(whole);
            }
            self.skip(length)?;
            reply.packets += 1;
            reply.bytes += length as u64;
        }
        Ok(reply)
    }

    fn available(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    /// Waits until `count` bytes are there.
    fn need(&mut self, count: usize) -> Result<(), ClientError> {
        while self.end - self.start < count {
            if self.start > 0 {
                self.input.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.input.len() < count {
                self.input.resize(count, 0);
            }
            self.fill()?;
        }
        Ok(())
    }

    /// Passes over `count` bytes, which need not be there yet.
    fn skip(&mut self, count: usize) -> Result<(), ClientError> {
        let mut left = count;
        loop {
            let now = left.min(self.end - self.start);
            self.start += now;
            left -= now;
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
            }
            if left == 0 {
                return Ok(());
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), ClientError> {
        let Some(socket) = &mut self.socket else { return Err(no_socket()) };
        let mut waiting_since = None;
        loop {
            match socket.read(&mut self.input[self.end..]) {
                Ok(0) => return Err(ClientError::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    self.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let since = *waiting_since.get_or_insert_with(Instant::now);
                    if self.patience.stop.load(Ordering::Relaxed) {
                        return Err(ClientError::Interrupted);
                    }
                    if since.elapsed() + TICK > self.patience.limit {
                        return Err(ClientError::NoAnswer { seconds: self.patience.limit.as_secs() });
                    }
                }
                Err(error) => return Err(ClientError::Lost(error)),
            }
        }
    }

    /// One payload of the connection phase; a refusal is an error.
    pub(super) fn read_payload(&mut self) -> Result<Vec<u8>, ClientError> {
        self.need(HEADER_LEN)?;
        let header = Header::peek(self.available()).expect("four bytes are there");
        self.need(HEADER_LEN + header.len)?;
        let payload = self.available()[HEADER_LEN..HEADER_LEN + header.len].to_vec();
        self.skip(HEADER_LEN + header.len)?;
        self.sequence = header.sequence.wrapping_add(1);
        if payload.first() == Some(&0xFF) {
            return Err(server_error(&payload));
        }
        Ok(payload)
    }

    /// Answers the payload read last, in the connection phase.
    pub(super) fn write_payload(&mut self, payload: &[u8]) -> Result<(), ClientError> {
        self.output.clear();
        self.sequence = put_packet(&mut self.output, self.sequence, payload);
        let Some(socket) = &mut self.socket else { return Err(no_socket()) };
        socket.write_all(&self.output).map_err(ClientError::Lost)?;
        socket.flush().map_err(ClientError::Lost)
    }

    pub(super) fn is_private(&self) -> bool {
        self.socket.as_ref().is_some_and(Socket::is_private)
    }

    pub(super) fn upgrade(&mut self, host: &str) -> Result<(), ClientError> {
        let socket = self.socket.take().ok_or_else(no_socket)?;
        self.socket = Some(socket.upgrade(host).map_err(ClientError::Lost)?);
        Ok(())
    }
}

fn no_socket() -> ClientError {
    ClientError::Lost(io::Error::other("the change to TLS failed"))
}

fn server_error(payload: &[u8]) -> ClientError {
    match ErrPacket::parse(payload) {
        Ok(error) => ClientError::Server { code: error.code, message: error.message },
        Err(error) => ClientError::Protocol(error.to_string()),
    }
}
