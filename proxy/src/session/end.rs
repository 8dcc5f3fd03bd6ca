//! Why a session ended.

use crate::io::StreamError;
use crate::protocol::error_code::ServerError;
use crate::protocol::{CapabilityFlags, Malformed};

/// Whose doing it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The client's.
    Client,
    /// Telamon's.
    Proxy,
    /// A server's.
    Backend,
}

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    /// COM_QUIT.
    #[error("the client said goodbye")]
    Quit,
    /// The client's connection ended or failed.
    #[error("client: {0}")]
    Client(#[from] StreamError),
    /// A check on a load balancer's part, or a port scan: connected and left before saying a word.
    #[error("the client left before it logged in")]
    Silent,
    /// The session ends with this ERR packet.
    #[error("{}", .0.message)]
    Error(Box<ServerError>, CapabilityFlags, Side),
    /// A server's own ERR packet was the last word, and it is sent already.
    #[error("the server refused the session")]
    Refused,
    /// A server's connection failed in the middle of a reply: nothing can follow.
    #[error("server {server}: {reason}")]
    Backend {
        /// The server's name.
        server: String,
        /// What failed.
        reason: String,
    },
    /// COMMIT RELEASE, ROLLBACK RELEASE.
    #[error("the statement released the session")]
    Released,
    /// KILL CONNECTION.
    #[error("killed")]
    Killed,
}

impl End {
    /// The session ends with an ERR packet for which `side` is to blame.
    pub(super) fn error(error: ServerError, capabilities: CapabilityFlags, side: Side) -> Self {
        Self::Error(Box::new(error), capabilities, side)
    }

    /// Whose doing it was.
    pub(super) fn side(&self) -> Side {
        match self {
            Self::Error(_, _, side) => *side,
            Self::Refused | Self::Backend { .. } => Side::Backend,
            Self::Killed => Side::Proxy,
            Self::Quit | Self::Client(_) | Self::Silent | Self::Released => Side::Client,
        }
    }

    /// Whether it needs nobody's attention.
    pub(super) fn is_expected(&self) -> bool {
        matches!(self, Self::Quit | Self::Silent | Self::Released | Self::Client(StreamError::Closed))
    }

    /// The ERR packet to end with.
    pub(super) fn error_packet(&self) -> Option<(ServerError, CapabilityFlags)> {
        match self {
            Self::Error(error, capabilities, _) => Some(((**error).clone(), *capabilities)),
            _ => None,
        }
    }
}

/// What a client did that no session survives, as the error it gets for it.
pub(super) fn protocol_error(error: &StreamError) -> Option<ServerError> {
    match error {
        StreamError::OutOfOrder => Some(ServerError::packets_out_of_order()),
        StreamError::TooLong(_) => Some(ServerError::bad_handshake()),
        _ => None,
    }
}

impl From<Malformed> for ServerError {
    fn from(_: Malformed) -> Self {
        Self::malformed_packet()
    }
}
