//! Telamon: a read/write-splitting MySQL proxy.
//!
//! The rooms, and what each may use (arrows never go back):
//!
//! | room | what | may use |
//! |---|---|---|
//! | [`config`] | the TOML file, typed | the words of `routing` |
//! | [`protocol`] | bytes ↔ values | nothing of ours |
//! | [`io`] | sockets ↔ packets | `protocol` |
//! | [`topology`] | what is known of the servers | `config`, `protocol`, `routing`'s values |
//! | [`backend`] | connections to servers | `config`, `protocol`, `io`, `topology` |
//! | [`routing`] | where a statement goes | nothing of ours |
//! | [`session`] | one client's stay | all of the above |
//! | [`server`], [`worker`], [`listener`], [`monitor`] | threads, sockets, probes | all of the above |
//! | [`explain`] | where statements would go, without a server | `config`, `routing`, one function of `session` |
//! | [`cli`], [`check`], [`log`] | what the program's commands need | all of the above |

pub mod backend;
pub mod check;
pub mod cli;
pub mod config;
pub mod explain;
pub mod io;
pub mod listener;
pub mod log;
pub mod monitor;
pub mod protocol;
pub mod routing;
pub mod server;
pub mod session;
pub mod topology;
pub mod worker;
