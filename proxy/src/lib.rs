//! Telamon: a read/write-splitting MySQL proxy.

pub mod cli;
pub mod config;
