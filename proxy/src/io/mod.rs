//! Sockets ↔ packets.
//!
//! What it knows: how bytes reach and leave a peer, plain or through TLS, and how they are cut into packets.
//! What it must not know: what a command or a reply means, where a statement goes, whose session it is.

pub mod buffers;
pub mod packet_stream;
pub mod socket;
pub mod tls;

pub use buffers::Buffers;
pub use packet_stream::{PacketStream, StreamError};
pub use socket::Socket;
