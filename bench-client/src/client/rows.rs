//! Results as text, for what the bench asks a server about itself. Not for the hot loop.

use telamon::protocol::wire::Reader;

use super::connection::Connection;
use super::error::ClientError;

/// A row's values; None is NULL.
pub type Row = Vec<Option<String>>;

impl Connection {
    /// Runs a statement and answers its rows, without their names.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Row>, ClientError> {
        self.named_rows(sql).map(|(_, rows)| rows)
    }

    /// The first value of the first row.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn first(&mut self, sql: &str) -> Result<Option<String>, ClientError> {
        Ok(self.rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Runs a statement and answers its columns' names and its rows.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn named_rows(&mut self, sql: &str) -> Result<(Vec<String>, Vec<Row>), ClientError> {
        let malformed = |error: telamon::protocol::Malformed| ClientError::Protocol(error.to_string());
        let mut packets = Vec::new();
        self.query_packets(sql, |payload| packets.push(payload.to_vec()))?;
        let mut packets = packets.into_iter();
        let Some(head) = packets.next().filter(|head| head.first() != Some(&0)) else {
            return Ok((Vec::new(), Vec::new())); // OK: no result
        };
        let columns = Reader::new(&head).lenenc().map_err(malformed)?;
        let mut names = Vec::new();
        for _ in 0..columns {
            let definition = packets.next().unwrap_or_default();
            let mut reader = Reader::new(&definition);
            // Catalog, schema, table, original table; then the name.
            for _ in 0..4 {
                reader.lenenc_bytes().map_err(malformed)?;
            }
            names.push(text(reader.lenenc_bytes().map_err(malformed)?));
        }
        let mut rows = Vec::new();
        for payload in packets.filter(|payload| !is_eof(payload)) {
            let mut reader = Reader::new(&payload);
            let mut row = Vec::with_capacity(names.len());
            for _ in &names {
                if reader.rest().first() == Some(&0xFB) {
                    reader.u8().map_err(malformed)?;
                    row.push(None);
                } else {
                    row.push(Some(text(reader.lenenc_bytes().map_err(malformed)?)));
                }
            }
            rows.push(row);
        }
        Ok((names, rows))
    }
}

/// This client does not ask for DEPRECATE_EOF, so EOF packets stand behind definitions and rows.
fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&0xFE) && payload.len() < 9
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
