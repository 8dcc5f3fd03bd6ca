//! Telamon: a read/write-splitting MySQL proxy.

pub mod routing;
