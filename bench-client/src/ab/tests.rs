//! Targets in turns.
