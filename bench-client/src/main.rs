//! The telamon-bench program.
fn main() {}
