//! The forms of the general and the slow log, of MySQL and of MariaDB, as events of connections.
//!
//! Both are written line by line, and a statement of several lines is just that: it goes on until a line
//! that begins another entry. Nothing but the entry at hand is kept.

use std::io::{self, BufRead};
use std::net::IpAddr;

use super::lines;

/// Something that happened on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) connection: u64,
    pub(super) event: Event,
}

/// What happened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The server began to write, with this version. Not of a connection.
    Started(String),
    /// A client logged in, or changed its user.
    Connect { user: String, client: Option<IpAddr>, schema: Option<String> },
    /// The slow log says whose statement comes next, and in which schema.
    Caller { user: String, client: Option<IpAddr>, schema: Option<String> },
    /// A statement as text.
    Query(Vec<u8>),
    /// A prepared statement runs; its parameters are filled in.
    Execute(Vec<u8>),
    /// A statement is prepared, not run.
    Prepare,
    /// COM_INIT_DB.
    InitDb(Vec<u8>),
    /// COM_RESET_CONNECTION.
    Reset,
    /// The connection ends.
    Quit,
}

/// Reads a log entry by entry.
pub(super) struct LogReader<R> {
    input: R,
    /// Bytes of a statement that are kept.
    most: usize,
    line: Vec<u8>,
    pending: Pending,
    /// Entries that are whole, the next at the end.
    ready: Vec<Entry>,
}

/// The entry whose lines are being read.
enum Pending {
    None,
    /// Of the general log.
    General {
        connection: u64,
        command: Vec<u8>,
        argument: Vec<u8>,
    },
    /// Of the slow log: its head, and then its text.
    Slow(Slow),
}

#[derive(Default)]
struct Slow {
    connection: u64,
    caller: Option<Event>,
    schema: Option<Vec<u8>>,
    /// A command that has no text.
    command: Option<Event>,
    text: Vec<u8>,
}

impl<R: BufRead> LogReader<R> {
    /// A reader that keeps `most` bytes of a statement.
    pub(super) fn new(input: R, most: usize) -> Self {
        Self { input, most, line: Vec::new(), pending: Pending::None, ready: Vec::new() }
    }

    /// The next entry; `None` at the log's end.
    ///
    /// # Errors
    /// As the system gives them.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        loop {
            if let Some(entry) = self.ready.pop() {
                return Ok(Some(entry));
            }
            let mut line = std::mem::take(&mut self.line);
            let more = lines::next(&mut self.input, &mut line, self.most)?;
            self.line = line;
            if !more {
                self.finish();
                return Ok(self.ready.pop());
            }
            self.take_line();
        }
    }

    /// The line begins an entry, or goes on with the one at hand.
    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(version) = version_of(&line) {
            self.finish();
            self.add(0, Event::Started(version));
        } else if is_heading(&line) {
            self.finish();
        } else if let Some((connection, command, argument)) = general_line(&line) {
            self.finish();
            let (command, argument) = (command.to_vec(), argument.to_vec());
            self.pending = Pending::General { connection, command, argument };
        } else {
            let in_general = matches!(self.pending, Pending::General { .. });
            let is_head = !in_general && line.starts_with(b"# ") && self.slow_head(&line);
            if !is_head {
                self.go_on(&line);
            }
        }
        self.line = line;
    }

    fn go_on(&mut self, line: &[u8]) {
        let text = match &mut self.pending {
            Pending::None => return, // before the first entry, as in a log that was cut
            Pending::General { argument, .. } => argument,
            Pending::Slow(Slow { schema, text, .. }) => {
                if text.is_empty() && is_addition(line, schema) {
                    return;
                }
                text
            }
        };
        if !text.is_empty() || matches!(self.pending, Pending::General { .. }) {
            self.push(b"\n");
        }
        self.push(line);
    }

    fn push(&mut self, bytes: &[u8]) {
        let most = self.most;
        if let Pending::General { argument: text, .. } | Pending::Slow(Slow { text, .. }) = &mut self.pending
        {
            text.extend_from_slice(&bytes[..bytes.len().min(most.saturating_sub(text.len()))]);
        }
    }

    /// Takes in a line of the slow log's head; false for what may be a comment of a statement.
    fn slow_head(&mut self, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        if text.starts_with("# Time: ") || text.starts_with("# User@Host: ") {
            let begun =
                matches!(&self.pending, Pending::Slow(slow) if slow.text.is_empty() && slow.caller.is_none());
            if !begun {
                self.finish();
                self.pending = Pending::Slow(Slow::default());
            }
        }
        let Pending::Slow(slow) = &mut self.pending else { return false };
        if !slow.text.is_empty() {
            return false;
        }
        if let Some(account) = text.strip_prefix("# User@Host: ") {
            slow.caller = Some(slow_account(account));
        }
        if let Some(id) = number_behind(&text, "Id:").or(number_behind(&text, "Thread_id:")) {
            slow.connection = id;
        }
        let in_schema = text.split_once("Schema:").and_then(|(_, rest)| rest.split_whitespace().next());
        if let Some(name) = in_schema.filter(|name| !name.ends_with(':')) {
            slow.schema = Some(name.as_bytes().to_vec());
        }
        slow.command = match text.strip_prefix("# administrator command: ") {
            Some("Quit;") => Some(Event::Quit),
            Some("Reset Connection;") => Some(Event::Reset),
            _ => None,
        };
        true
    }

    /// The entry at hand is whole.
    fn finish(&mut self) {
        match std::mem::replace(&mut self.pending, Pending::None) {
            Pending::None => {}
            Pending::General { connection, command, argument } => {
                // 0 is the server itself.
                if let Some(event) = general_event(&command, argument).filter(|_| connection != 0) {
                    self.add(connection, event);
                }
            }
            Pending::Slow(slow) => self.finish_slow(slow),
        }
    }

    fn finish_slow(&mut self, slow: Slow) {
        let connection = slow.connection;
        let schema = slow.schema.map(|schema| String::from_utf8_lossy(&schema).into_owned());
        if let Some(Event::Caller { user, client, .. }) = slow.caller {
            self.add(connection, Event::Caller { user, client, schema });
        }
        if let Some(command) = slow.command {
            self.add(connection, command);
        }
        let mut sql = slow.text;
        sql.truncate(sql.trim_ascii_end().len());
        if sql.last() == Some(&b';') {
            sql.pop();
        }
        if !sql.is_empty() {
            self.add(connection, Event::Query(sql));
        }
    }

    fn add(&mut self, connection: u64, event: Event) {
        self.ready.insert(0, Entry { connection, event });
    }
}

/// The version in `/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:`.
fn version_of(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok().filter(|text| text.ends_with("started with:"))?;
    let (_, rest) = text.split_once(", Version: ")?;
    rest.split([' ', '(']).next().map(str::to_owned)
}

/// The two lines behind the version.
fn is_heading(line: &[u8]) -> bool {
    line.starts_with(b"Tcp port: ")
        || line.starts_with(b"TCP Port: ")
        || line.starts_with(b"Time ") && line.ends_with(b"Argument")
        || line.starts_with(b"Time\t") && line.ends_with(b"Argument")
}

/// `TIME<tab>  ID COMMAND<tab>ARGUMENT`, where MariaDB leaves the time out within one second.
fn general_line(line: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let rest = match line.strip_prefix(b"\t\t") {
        Some(rest) => rest,
        None => behind_time(line)?,
    };
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let id = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let rest = rest[digits..].strip_prefix(b" ")?;
    let tab = rest.iter().take(24).position(|byte| *byte == b'\t').unwrap_or(rest.len().min(24));
    let (command, argument) = rest.split_at(tab);
    is_command(command).then(|| (id, command, argument.strip_prefix(b"\t").unwrap_or(argument)))
}

/// What follows `261201  3:11:38<tab>` or `2026-12-01T03:11:38.123456Z<tab>`.
fn behind_time(line: &[u8]) -> Option<&[u8]> {
    let tab = line.iter().take(40).position(|byte| *byte == b'\t')?;
    let (time, rest) = line.split_at(tab);
    let legal =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b':' | b'-' | b'T' | b'.' | b'Z' | b'+');
    let is_time =
        time.len() >= 14 && time[0].is_ascii_digit() && time.contains(&b':') && time.iter().all(legal);
    is_time.then_some(&rest[1..])
}

/// The commands that servers write.
const COMMANDS: [&str; 32] = [
    "Sleep",
    "Quit",
    "Init DB",
    "Query",
    "Field List",
    "Create DB",
    "Drop DB",
    "Refresh",
    "Shutdown",
    "Statistics",
    "Processlist",
    "Connect",
    "Kill",
    "Debug",
    "Ping",
    "Time",
    "Delayed insert",
    "Change user",
    "Binlog Dump",
    "Table Dump",
    "Connect Out",
    "Register Slave",
    "Register Replica",
    "Prepare",
    "Execute",
    "Long Data",
    "Close stmt",
    "Reset stmt",
    "Set option",
    "Fetch",
    "Daemon",
    "Binlog Dump GTID",
];

fn is_command(command: &[u8]) -> bool {
    let is = |known: &str| command.eq_ignore_ascii_case(known.as_bytes());
    COMMANDS.into_iter().any(is) || is("Reset Connection") || is("Bulk_execute") || is("Stmt_bulk_execute")
}

fn general_event(command: &[u8], argument: Vec<u8>) -> Option<Event> {
    Some(match command.to_ascii_lowercase().as_slice() {
        b"query" => Event::Query(argument),
        b"execute" => Event::Execute(argument),
        b"prepare" => Event::Prepare,
        b"init db" => Event::InitDb(argument),
        b"connect" | b"change user" => return login(&String::from_utf8_lossy(&argument)),
        b"reset connection" => Event::Reset,
        b"quit" => Event::Quit,
        _ => return None,
    })
}

/// `app@localhost on shop using TCP/IP`; a refused login has another form.
fn login(text: &str) -> Option<Event> {
    let (account, rest) = text.split_once(" on ").or_else(|| Some((text.strip_suffix(" on")?, "")))?;
    let account = account.split_once(" as ").map_or(account, |(account, _)| account);
    let (user, host) = account.rsplit_once('@')?;
    let schema = rest.split_once("using ").map_or(rest, |(schema, _)| schema).trim();
    let over_socket = rest.ends_with("using Socket");
    let schema = (!schema.is_empty()).then(|| schema.to_owned());
    Some(Event::Connect { user: user.to_owned(), client: address(host, over_socket), schema })
}

/// Logs have host names where the server resolved them; only that of the machine itself is known here.
fn address(host: &str, over_socket: bool) -> Option<IpAddr> {
    let loopback = (host == "localhost" && !over_socket).then_some(IpAddr::from([127, 0, 0, 1]));
    host.parse().ok().or(loopback)
}

/// `app[app] @ localhost [127.0.0.1]  Id:     8`.
fn slow_account(text: &str) -> Event {
    let user = text.split('[').next().unwrap_or_default().trim().to_owned();
    let host = text.split_once('@').map_or("", |(_, host)| host);
    let (name, rest) = host.split_once('[').unwrap_or((host, ""));
    let ip = rest.split(']').next().unwrap_or_default();
    let client = ip.parse().ok().or_else(|| address(name.trim(), ip.is_empty()));
    Event::Caller { user, client, schema: None }
}

fn number_behind(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    rest.split_whitespace().next()?.parse().ok()
}

/// What the slow log itself puts before a statement: `use db;`, `SET timestamp=…;`, and the word of a
/// command that has no text.
fn is_addition(line: &[u8], schema: &mut Option<Vec<u8>>) -> bool {
    let Some(statement) = line.strip_suffix(b";") else { return line.trim_ascii().is_empty() };
    if let Some(name) = statement.strip_prefix(b"use ") {
        let bare = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name);
        *schema = Some(bare.to_vec());
        return true;
    }
    statement.starts_with(b"SET timestamp=")
        || statement.starts_with(b"SET last_insert_id=")
        || statement.starts_with(b"SET insert_id=")
        || statement.starts_with(b"# administrator command: ")
}
