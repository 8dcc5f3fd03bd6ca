//! The client of the hot loop: one blocking connection, two system calls a statement, no allocation.
//!
//! mysql_async costs about a quarter more CPU for a point select, about what sysbench's C client does; a driver must be
//! lighter than what it measures. It stands on the packet floor of the proxy (`telamon::protocol`): what a reply
//! looks like is known in one place. It must not know what a statement is for, nor what is measured.

mod connection;
mod error;
mod login;
mod rows;
mod socket;
#[cfg(test)]
mod tests;

pub use connection::{Connection, Patience, Prepared, Reply};
pub use error::ClientError;
pub use rows::Row;
