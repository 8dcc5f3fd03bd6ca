//! telamon-bench: measures what Telamon costs.

pub mod lab;
