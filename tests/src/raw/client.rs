//! The command phase from the client's side.

use std::io;

use telamon::protocol::CapabilityFlags as Flags;
use telamon::protocol::StatusFlags;
use telamon::protocol::handshake::Greeting;
use telamon::protocol::packet::put_packet;
use telamon::protocol::wire::Reader;

use super::Value;
use super::execute::execute;
use super::login::{self, Login, Refused};
use super::reply::{Packet, Reply};
use super::socket::{Endpoint, Socket};

const MAX_PAYLOAD: usize = 0xFF_FFFF;

/// What kind of reply a command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// None at all.
    Nothing,
    /// One packet.
    One,
    /// OK, ERR, a request for a file, or result sets.
    Results,
    /// That of COM_STMT_PREPARE.
    Prepared,
    /// Definitions or rows up to an EOF.
    UpToEof,
}

/// A connected and logged-in client.
pub struct Client {
    pub(super) socket: Socket,
    sequence: u8,
    /// Whether nobody can listen in, so that a password is sent as it is.
    pub(super) is_local: bool,
    /// What was agreed on.
    pub capabilities: Flags,
    /// The server's first packet.
    pub greeting: Greeting,
    /// What the server said after the client's response, its OK packet last.
    pub auth_steps: Vec<Vec<u8>>,
    /// What a request for a local file is answered with; `None` is a file that cannot be opened.
    pub local_file: Option<Vec<u8>>,
    /// Each command and its reply, where they are kept.
    pub transcript: Option<Vec<(String, Reply)>>,
}

impl Client {
    /// Connects and logs in.
    ///
    /// # Errors
    /// The server's refusal, or a connection that failed.
    pub fn connect(endpoint: &Endpoint, login: &Login) -> Result<Client, Refused> {
        let mut client = Client {
            socket: Socket::connect(endpoint)?,
            sequence: 0,
            is_local: matches!(endpoint, Endpoint::Unix(_)),
            capabilities: Flags::empty(),
            greeting: Greeting {
                server_version: String::new(),
                connection_id: 0,
                nonce: [0; 20],
                capabilities: Flags::empty(),
                mariadb: 0,
                collation: 0,
                status: StatusFlags::empty(),
                plugin: String::new(),
            },
            auth_steps: Vec::new(),
            local_file: None,
            transcript: None,
        };
        client.greeting = login::greeting(&mut client)?;
        let greeting = client.greeting.clone();
        login::log_in(&mut client, &greeting, login)?;
        Ok(client)
    }

    /// The OK packet that ended the login.
    #[must_use]
    pub fn login_ok(&self) -> &[u8] {
        self.auth_steps.last().map_or(&[], Vec::as_slice)
    }

    /// Sends a payload as the next packets of the exchange that goes on.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn write_payload(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(payload.len() + 8);
        self.sequence = put_packet(&mut bytes, self.sequence, payload);
        self.socket.write_all(&bytes)
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Reads one packet; its sequence id must be the one that is due.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] where the server closed, [`io::ErrorKind::InvalidData`] for a wrong id.
    pub fn read_packet(&mut self) -> io::Result<Packet> {
        let header = self.socket.read_exact(4)?;
        let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        if header[3] != self.sequence {
            let text = format!("packet {} where {} was due", header[3], self.sequence);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.sequence = self.sequence.wrapping_add(1);
        Ok(Packet { sequence: header[3], payload: self.socket.read_exact(len)? })
    }

    /// Reads one payload, put together where it was split.
    ///
    /// # Errors
    /// As [`Client::read_packet`].
    pub fn read_payload(&mut self) -> io::Result<Vec<u8>> {
        self.read_into(&mut Reply::default())
    }

    /// The next payload; its packets go to `reply`.
    fn read_into(&mut self, reply: &mut Reply) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            let packet = self.read_packet()?;
            payload.extend_from_slice(&packet.payload);
            let last = packet.payload.len() < MAX_PAYLOAD;
            reply.packets.push(packet);
            if last {
                return Ok(payload);
            }
        }
    }

    /// Sends a command without waiting for its reply.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.sequence = 0;
        self.write_payload(payload)
    }

    /// Reads the reply of the command that was sent.
    ///
    /// # Errors
    /// As [`Client::read_packet`].
    pub fn receive(&mut self, shape: Shape) -> io::Result<Reply> {
        let mut reply = Reply::default();
        match shape {
            Shape::Nothing => {}
            Shape::One => drop(self.read_into(&mut reply)?),
            Shape::Results => self.read_results(&mut reply)?,
            Shape::Prepared => self.read_prepared(&mut reply)?,
            Shape::UpToEof => self.read_to_eof(&mut reply).map(drop)?,
        }
        Ok(reply)
    }

    fn deprecate_eof(&self) -> bool {
        self.capabilities.contains(Flags::CLIENT_DEPRECATE_EOF)
    }

    /// Reads definitions or rows; answers the status flags of the packet that ends them, or `None` for an ERR.
    fn read_to_eof(&mut self, reply: &mut Reply) -> io::Result<Option<StatusFlags>> {
        let longest = if self.deprecate_eof() { MAX_PAYLOAD } else { 9 };
        loop {
            let payload = self.read_into(reply)?;
            match payload.first() {
                Some(0xFF) => return Ok(None),
                Some(0xFE) if payload.len() < longest => return Ok(Some(status(&payload))),
                _ => {}
            }
        }
    }

    fn read_results(&mut self, reply: &mut Reply) -> io::Result<()> {
        loop {
            let payload = self.read_into(reply)?;
            let status = match payload.first() {
                Some(0xFF) => return Ok(()),
                Some(0x00) => status(&payload),
                Some(0xFB) => {
                    self.send_file()?;
                    continue;
                }
                _ => match self.read_result_set(&payload, reply)? {
                    Some(status) => status,
                    None => return Ok(()),
                },
            };
            if !status.contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS) {
                return Ok(());
            }
        }
    }

    fn read_result_set(&mut self, head: &[u8], reply: &mut Reply) -> io::Result<Option<StatusFlags>> {
        let columns = Reader::new(head).lenenc().map_err(io::Error::other)?;
        for _ in 0..columns {
            self.read_into(reply)?;
        }
        if !self.deprecate_eof() {
            let status = status(&self.read_into(reply)?);
            if status.contains(StatusFlags::SERVER_STATUS_CURSOR_EXISTS) {
                return Ok(Some(status)); // the rows are fetched
            }
        }
        self.read_to_eof(reply)
    }

    fn read_prepared(&mut self, reply: &mut Reply) -> io::Result<()> {
        let head = self.read_into(reply)?;
        let [0, _, _, _, _, c0, c1, p0, p1, ..] = head[..] else { return Ok(()) };
        for definitions in [u16::from_le_bytes([p0, p1]), u16::from_le_bytes([c0, c1])] {
            for _ in 0..definitions {
                self.read_into(reply)?;
            }
            if definitions > 0 && !self.deprecate_eof() {
                self.read_into(reply)?;
            }
        }
        Ok(())
    }

    fn send_file(&mut self) -> io::Result<()> {
        let file = self.local_file.clone().unwrap_or_default();
        // In odd pieces, as they come from a disk.
        for piece in file.chunks(100_003) {
            self.write_payload(piece)?;
        }
        self.write_payload(&[])
    }

    /// Sends a command and reads its reply.
    ///
    /// # Errors
    /// As [`Client::read_packet`].
    pub fn try_command(&mut self, payload: &[u8], shape: Shape) -> io::Result<Reply> {
        self.send(payload)?;
        let reply = self.receive(shape)?;
        if let Some(transcript) = &mut self.transcript {
            transcript.push((label(payload), without_id(shape, reply.clone())));
        }
        Ok(reply)
    }

    /// The same for a connection that must not fail.
    ///
    /// # Panics
    /// It failed.
    pub fn command(&mut self, payload: &[u8], shape: Shape) -> Reply {
        let head = String::from_utf8_lossy(&payload[..payload.len().min(80)]).into_owned();
        self.try_command(payload, shape).unwrap_or_else(|error| panic!("{head:?}: {error}"))
    }

    /// Sends several commands in one write, then reads their replies.
    ///
    /// # Errors
    /// As [`Client::read_packet`].
    pub fn pipeline(&mut self, commands: &[(&[u8], Shape)]) -> io::Result<Vec<Reply>> {
        let mut bytes = Vec::new();
        for (payload, _) in commands {
            put_packet(&mut bytes, 0, payload);
        }
        self.socket.write_all(&bytes)?;
        let mut replies = Vec::new();
        for (payload, shape) in commands {
            self.sequence = 1;
            let reply = self.receive(*shape)?;
            if let Some(transcript) = &mut self.transcript {
                transcript.push((label(payload), without_id(*shape, reply.clone())));
            }
            replies.push(reply);
        }
        Ok(replies)
    }

    /// COM_QUERY.
    ///
    /// # Panics
    /// The connection failed.
    pub fn query(&mut self, sql: &str) -> Reply {
        self.command(&[b"\x03", sql.as_bytes()].concat(), Shape::Results)
    }

    /// COM_QUERY.
    ///
    /// # Errors
    /// As [`Client::read_packet`].
    pub fn try_query(&mut self, sql: &str) -> io::Result<Reply> {
        self.try_command(&[b"\x03", sql.as_bytes()].concat(), Shape::Results)
    }

    /// COM_PING.
    pub fn ping(&mut self) -> Reply {
        self.command(&[0x0E], Shape::One)
    }

    /// COM_STMT_PREPARE; the statement's id, 0 for an error.
    pub fn prepare(&mut self, sql: &str) -> u32 {
        let reply = self.command(&[b"\x16", sql.as_bytes()].concat(), Shape::Prepared);
        match reply.packets[0].payload[..] {
            [0, a, b, c, d, ..] => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    /// COM_STMT_EXECUTE with parameter types and without a cursor.
    pub fn execute(&mut self, id: u32, values: &[Value<'_>]) -> Reply {
        self.command(&execute(id, 0, values, true), Shape::Results)
    }

    /// COM_STMT_EXECUTE as a client does it that has told the types before.
    pub fn execute_again(&mut self, id: u32, values: &[Value<'_>]) -> Reply {
        self.command(&execute(id, 0, values, false), Shape::Results)
    }

    /// COM_STMT_EXECUTE with a read-only cursor.
    pub fn open_cursor(&mut self, id: u32, values: &[Value<'_>]) -> Reply {
        self.command(&execute(id, 1, values, true), Shape::Results)
    }

    /// COM_STMT_FETCH.
    pub fn fetch(&mut self, id: u32, rows: u32) -> Reply {
        self.command(&[&[0x1C], &id.to_le_bytes()[..], &rows.to_le_bytes()].concat(), Shape::UpToEof)
    }

    /// COM_STMT_SEND_LONG_DATA.
    pub fn send_long_data(&mut self, id: u32, parameter: u16, data: &[u8]) {
        let head = [&[0x18], &id.to_le_bytes()[..], &parameter.to_le_bytes()].concat();
        self.command(&[&head, data].concat(), Shape::Nothing);
    }

    /// COM_STMT_RESET.
    pub fn reset_statement(&mut self, id: u32) -> Reply {
        self.command(&[&[0x1A], &id.to_le_bytes()[..]].concat(), Shape::One)
    }

    /// COM_STMT_CLOSE.
    pub fn close_statement(&mut self, id: u32) {
        self.command(&[&[0x19], &id.to_le_bytes()[..]].concat(), Shape::Nothing);
    }

    /// COM_CHANGE_USER.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn change_user(&mut self, login: &Login) -> Result<(), Refused> {
        let payload = login.change_user(&self.greeting.nonce, self.capabilities);
        self.send(&payload)?;
        let nonce = self.greeting.nonce;
        login::authenticate(self, &nonce, login).map(drop)
    }

    /// COM_QUIT; answers whether the server then closed the connection, as it must.
    pub fn quit(mut self) -> bool {
        self.send(&[0x01]).is_ok() && self.is_closed()
    }

    /// Whether the server has closed the connection, or does so now, without another word.
    pub fn is_closed(&mut self) -> bool {
        self.socket
            .read_exact(1)
            .is_err_and(|error| !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut))
    }
}

/// A command as a transcript names it: without a statement's id.
fn label(payload: &[u8]) -> String {
    let command = *payload.first().unwrap_or(&0);
    let skip = if (0x17..=0x1A).contains(&command) || command == 0x1C { 5 } else { 1 };
    let text = String::from_utf8_lossy(payload.get(skip..).unwrap_or_default());
    format!("{command:#04x} {:?}", text.chars().take(60).collect::<String>())
}

/// A reply as a transcript keeps it: the ids of statements are each side's own, in texts too.
fn without_id(shape: Shape, mut reply: Reply) -> Reply {
    if reply.error().is_some_and(|error| matches!(error.code, 1243 | 1421))
        && let Some(packet) = reply.packets.last_mut()
    {
        packet.payload.retain(|byte| !byte.is_ascii_digit());
    }
    if shape == Shape::Prepared
        && let Some([0, id @ ..]) = reply.packets.first_mut().map(|packet| &mut packet.payload[..])
    {
        id[..4].fill(0);
    }
    reply
}

/// The status flags of an OK or EOF packet.
fn status(payload: &[u8]) -> StatusFlags {
    let mut reader = Reader::new(payload);
    let read = |reader: &mut Reader<'_>| {
        if reader.u8()? == 0xFE && payload.len() == 5 {
            reader.u16()?;
        } else {
            reader.lenenc()?;
            reader.lenenc()?;
        }
        reader.u16()
    };
    StatusFlags::from_bits_retain(read(&mut reader).unwrap_or_default())
}
