//! Connections to servers, on which Telamon is the client.
//!
//! What it knows: how to connect, log in, prepare a connection for a session, and end it. What it must not know:
//! which statement runs and why.

pub mod connection;
mod login;

pub use connection::{Account, ConnectError, Connection, Connector};
