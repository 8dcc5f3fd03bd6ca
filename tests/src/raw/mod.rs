//! A client that shows each byte of the protocol: sends exactly what it is told, keeps each packet it got.
//!
//! It knows as little as it can of what replies mean: where they end, by the manual's rules and on its own, so that
//! it does not share a mistake with what it tests. Layouts: "Client/Server Protocol" of the MySQL source
//! documentation.

mod client;
mod execute;
mod login;
mod reply;
mod socket;

pub use client::{Client, Shape};
pub use execute::Value;
pub use login::{Login, Refused, Tls};
pub use reply::{Packet, Reply, ServerError};
pub use socket::{Endpoint, Socket};

pub use telamon::protocol::{CapabilityFlags as Flags, StatusFlags};
