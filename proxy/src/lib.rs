//! Telamon: a read/write-splitting MySQL proxy.
//!
//! The rooms, and what each may use (arrows never go back):
//!
//! | room | what | may use |
//! |---|---|---|
//! | [`protocol`] | bytes ↔ values | nothing of ours |

pub mod io;
pub mod protocol;
