//! telamon-bench: measures what Telamon costs.
