//! The telamon program.
fn main() {}
