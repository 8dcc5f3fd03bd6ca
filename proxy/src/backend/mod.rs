//! Connections to servers, on which Telamon is the client.
//!
//! What it knows: how to connect, log in, prepare a connection for a session, and end it. What it must not know:
//! which statement runs and why.

mod claim;
pub mod connection;
mod login;
mod pool;
mod pooled;
mod prepared_cache;
mod settings;

pub use claim::Claim;
pub use connection::{Account, ConnectError, Connection, Connector};
pub use pool::{Pools, TICK, Wish};
pub use pooled::{Parts, PooledConnection};
pub use prepared_cache::{Prepared, PreparedCache, PreparedKey};
pub use settings::{Interner, MEANING_OF_TEXT, Settings};
