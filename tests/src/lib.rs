//! What the integration tests share: a cluster of real servers, the real `telamon` program in front of it, and a
//! client that shows each byte.
//!
//! Each file under `tests/` is one theme and one process. Its tests run on threads and share one cluster
//! ([`cluster`]), started when the first of them needs it, in about two seconds; each test works in schemas of its
//! own ([`Schema`]), so that they run side by side. A cluster shared by all the processes would save those seconds
//! and cost a server that one theme may kill under another. Tests that end servers start a cluster of their own.
//!
//! The clients block: a test is a sequence of commands, and reads as one.

pub mod differential;
mod lab;
pub mod program;
pub mod raw;
mod telamon;
mod wait;

pub use lab::{Schema, account, cluster, new_cluster, on_each_server, root, wait_for_replicas, who_answers};
pub use telamon::{Telamon, command, free_port};
pub use wait::{wait_for, within};
