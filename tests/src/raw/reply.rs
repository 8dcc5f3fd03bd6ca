//! What a client got for a command.

use std::fmt;

use telamon::protocol::StatusFlags;
use telamon::protocol::wire::Reader;

/// One packet as it came: a part of a payload where that is longer than 0xFF_FFFF bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Its sequence id.
    pub sequence: u8,
    /// What follows the header.
    pub payload: Vec<u8>,
}

/// An ERR packet's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE; empty where the packet has none.
    pub sql_state: String,
    /// The text.
    pub message: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sql_state, self.message)
    }
}

impl ServerError {
    /// Reads an ERR packet's payload.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<ServerError> {
        let [0xFF, low, high, rest @ ..] = payload else { return None };
        let (sql_state, message) = match rest {
            [b'#', rest @ ..] if rest.len() >= 5 => rest.split_at(5),
            _ => rest.split_at(0),
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let code = u16::from_le_bytes([*low, *high]);
        Some(ServerError { code, sql_state: text(sql_state), message: text(message) })
    }
}

/// All packets that answer one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// In the order in which they came.
    pub packets: Vec<Packet>,
}

/// One cell of a row in the text protocol; `None` is NULL.
pub(crate) type Cell = Option<String>;

impl Reply {
    /// The payloads, put together where they were split.
    #[must_use]
    pub fn payloads(&self) -> Vec<Vec<u8>> {
        let mut payloads: Vec<Vec<u8>> = Vec::new();
        let mut continued = false;
        for packet in &self.packets {
            match payloads.last_mut().filter(|_| continued) {
                Some(last) => last.extend_from_slice(&packet.payload),
                None => payloads.push(packet.payload.clone()),
            }
            continued = packet.payload.len() == 0xFF_FFFF;
        }
        payloads
    }

    /// The ERR packet that it is, or that ends it.
    #[must_use]
    pub fn error(&self) -> Option<ServerError> {
        ServerError::parse(&self.packets.last()?.payload)
    }

    /// Checks that it does not end in an ERR packet.
    ///
    /// # Panics
    /// It does.
    pub fn expect_ok(&self) -> &Reply {
        if let Some(error) = self.error() {
            panic!("{error}");
        }
        self
    }

    /// The error's number.
    ///
    /// # Panics
    /// There is no error.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.error().unwrap_or_else(|| panic!("an error was expected: {:?}", self.packets.first())).code
    }

    /// The status flags of its last packet.
    ///
    /// # Panics
    /// That is neither OK nor EOF.
    #[must_use]
    pub fn status(&self) -> StatusFlags {
        let last = &self.expect_ok().packets.last().expect("a reply has packets").payload;
        let mut reader = Reader::new(last);
        let read = |reader: &mut Reader<'_>| {
            if reader.u8()? == 0xFE && last.len() == 5 {
                reader.u16()?;
            } else {
                reader.lenenc()?;
                reader.lenenc()?;
            }
            reader.u16()
        };
        StatusFlags::from_bits_retain(read(&mut reader).expect("an OK or EOF packet"))
    }

    /// The rows of its first result set, in the text protocol.
    ///
    /// # Panics
    /// It is no result set.
    #[must_use]
    pub fn rows(&self) -> Vec<Vec<Cell>> {
        let payloads = self.expect_ok().payloads();
        let columns = usize::from(*payloads[0].first().expect("a column count"));
        assert!(columns > 0 && payloads.len() > columns, "no result set: {:?}", self.packets.first());
        let ends = |payload: &Vec<u8>| payload.first() == Some(&0xFE) && payload.len() < 0xFF_FFFF;
        let rest = &payloads[1 + columns..];
        // Without CLIENT_DEPRECATE_EOF the column definitions end in an EOF packet too.
        let with_eof = rest.len() > 1 && ends(&rest[0]) && rest[0].len() == 5;
        let rows = rest.iter().skip(usize::from(with_eof)).take_while(|payload| !ends(payload));
        rows.map(|row| cells(row)).collect()
    }

    /// The first row's first cell.
    ///
    /// # Panics
    /// There is no row, or it is NULL.
    #[must_use]
    pub fn text(&self) -> String {
        let rows = self.rows();
        let cell = rows.first().and_then(|row| row.first().cloned()).flatten();
        cell.unwrap_or_else(|| panic!("a value was expected: {rows:?}"))
    }

    /// The same as a number.
    ///
    /// # Panics
    /// It is none.
    #[must_use]
    pub fn number<T: std::str::FromStr<Err: fmt::Debug>>(&self) -> T {
        self.text().parse().expect("a number")
    }
}

fn cells(row: &[u8]) -> Vec<Cell> {
    let mut reader = Reader::new(row);
    let mut cells = Vec::new();
    while !reader.is_empty() {
        if reader.rest()[0] == 0xFB {
            reader.u8().expect("it is there");
            cells.push(None);
        } else {
            let text = reader.lenenc_bytes().expect("a row of the text protocol");
            cells.push(Some(String::from_utf8_lossy(text).into_owned()));
        }
    }
    cells
}
