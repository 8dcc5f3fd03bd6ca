//! The buffers of one worker, shared by its sessions.
//!
//! A session that waits holds none: bytes are read into the worker's one large buffer, and what must outlive the
//! read (half a packet, a command on its way, a reply that a slow peer does not take) moves into a small buffer
//! that is borrowed from here and comes back empty.

use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of one read where nothing else is configured, and so of what a session can hold for a slow client.
pub const READ_LEN: usize = 64 * 1024;
/// A returned buffer larger than this is freed instead of kept.
const KEEP_LEN: usize = READ_LEN;
/// Returned buffers kept at most.
const KEEP_COUNT: usize = 256;

/// One worker's buffers. Cheap to clone; every clone is the same set.
#[derive(Debug, Clone)]
pub struct Buffers {
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Shared {
    read: RefCell<Box<[u8]>>,
    spare: RefCell<Vec<Vec<u8>>>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new(READ_LEN)
    }
}

impl Buffers {
    /// Buffers for reads of at most `read_len` bytes.
    pub fn new(read_len: usize) -> Self {
        let read = RefCell::new(vec![0; read_len].into_boxed_slice());
        Self { shared: Rc::new(Shared { read, spare: RefCell::default() }) }
    }

    /// Lends the read buffer to `use_it`, which must not ask for it again.
    pub fn with_read_buffer<T>(&self, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
        use_it(&mut self.shared.read.borrow_mut())
    }

    /// An empty buffer.
    pub fn take(&self) -> Vec<u8> {
        self.shared.spare.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a buffer back, whatever is in it, and leaves one without memory in its place.
    pub fn give_back(&self, buffer: &mut Vec<u8>) {
        let mut buffer = std::mem::take(buffer);
        let mut spare = self.shared.spare.borrow_mut();
        if buffer.capacity() > 0 && buffer.capacity() <= KEEP_LEN && spare.len() < KEEP_COUNT {
            buffer.clear();
            spare.push(buffer);
        }
    }
}
