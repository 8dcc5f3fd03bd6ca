//! Bytes ↔ values of the MySQL client/server protocol.
//!
//! What it knows: how packets, commands and replies are laid out, and where a reply ends.
//! What it must not know: sockets, time, logging, configuration. Nothing here panics on any bytes.

pub mod auth;
pub mod capability;
pub mod command;
pub mod error_code;
pub mod handshake;
pub mod packet;
pub mod prepared_statement;
pub mod reply;
pub mod response;
pub mod session_track;
pub mod wire;

pub use mysql_common::constants::{CapabilityFlags, StatusFlags};
pub use wire::Malformed;
