//! What can happen to a statement.

use std::io;

use thiserror::Error;

/// Why a statement, or a connection, came to nothing.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The server refused; the connection lives.
    #[error("ERROR {code}: {message}")]
    Server {
        /// MySQL's error number.
        code: u16,
        /// The server's text.
        message: String,
    },
    /// The connection could not be made.
    #[error("{0}")]
    Connect(io::Error),
    /// The connection was closed or failed.
    #[error("the connection was lost: {0}")]
    Lost(io::Error),
    /// No answer for too long.
    #[error("no answer within {seconds} s")]
    NoAnswer {
        /// How long was waited, in seconds.
        seconds: u64,
    },
    /// The run was interrupted while waiting for the answer.
    #[error("interrupted")]
    Interrupted,
    /// The server wants what this client does not do, or says what the protocol does not know.
    #[error("{0}")]
    Protocol(String),
}

impl ClientError {
    /// The error's number: the server's, or the one that client libraries give a lost connection.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            ClientError::Server { code, .. } => Some(*code),
            ClientError::Lost(_) | ClientError::Connect(_) => Some(crate::plan::CONNECTION_LOST),
            ClientError::NoAnswer { .. } | ClientError::Interrupted | ClientError::Protocol(_) => None,
        }
    }

    /// Whether the connection can be used on.
    #[must_use]
    pub fn is_servers(&self) -> bool {
        matches!(self, ClientError::Server { .. })
    }
}
