//! Replies that Telamon gives itself.

use super::Session;
use super::end::End;
use super::relay::{RelayError, stream_command};
use crate::protocol::error_code::ServerError;
use crate::protocol::packet::{HEADER_LEN, Header};
use crate::protocol::response;
use std::time::Duration;

impl Session {
    /// How long a client may take nothing.
    pub(super) fn write_timeout(&self) -> Duration {
        Duration::from_millis(self.context.config.client.write_timeout_ms)
    }

    /// The error for a client whose server went away in the middle of something.
    pub(super) fn server_lost(&self, server: &str) -> ServerError {
        let name: &[u8] = b"\x0alibmariadb"; // _client_name in the connection attributes
        let is_libmariadb = self.who.account.attributes.windows(name.len()).any(|window| window == name);
        ServerError::server_lost(server, is_libmariadb)
    }

    /// Takes the command that stands at the front of the input off it, whole or not.
    pub(super) async fn drop_command(&mut self) -> Result<(), End> {
        let whole = Header::peek(self.client.input())
            .filter(|h| !h.is_continued() && self.client.input().len() >= HEADER_LEN + h.len);
        let sequence = match whole {
            Some(header) => {
                self.client.consume(HEADER_LEN + header.len);
                1
            }
            None => match stream_command(&mut self.client, None).await {
                Ok(sequence) => sequence,
                Err(RelayError::Client(error)) => return Err(End::Client(error)),
                Err(_) => return Err(End::Killed),
            },
        };
        self.client.set_sequence(sequence);
        Ok(())
    }

    /// Answers the command at the front of the input with this payload.
    pub(super) async fn answer(&mut self, payload: &[u8]) -> Result<(), End> {
        self.drop_command().await?;
        self.client.queue_packet(payload);
        Ok(self.client.flush_within(self.write_timeout()).await?)
    }

    /// Answers with an OK packet that has the session's status.
    pub(super) async fn answer_ok(&mut self) -> Result<(), End> {
        self.answer(&response::ok(self.state.status)).await
    }

    /// Answers with an ERR packet; the session goes on.
    pub(super) async fn answer_error(&mut self, error: &ServerError) -> Result<(), End> {
        let payload = response::err(error, self.capabilities());
        self.answer(&payload).await
    }
}
