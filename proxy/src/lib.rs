//! Telamon: a read/write-splitting MySQL proxy.
