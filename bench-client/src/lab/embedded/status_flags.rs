//! The status flags that opensrv-mysql leaves at 0.
//!
//! It writes no flags in the greeting, in the packet that ends a result set, and in the OK of COM_PING and
//! COM_INIT_DB. A proxy judges by them whether a transaction is open, so they are filled in on the way out.
//!
//! ```text
//! greeting        10 | version 00 | thread id 4 | scramble 8 | 00 | capabilities 2 | charset 1 | STATUS 2 …
//! EOF             fe | warnings 2 | STATUS 2                        5 bytes
//! OK as EOF       fe | 00 | 00 | STATUS 2 | warnings 2              7 bytes
//! OK by opensrv   00 | 00 | 00 | STATUS 2 | warnings 2              7 bytes, all of them 0
//! ```
//! No row looks like one of these: text rows begin with a length below 0xfe, and the binary rows sent here hold a
//! number of eight bytes or a text.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// Gathers what is written until it is flushed, fills in the flags, and sends it in one write.
pub(crate) struct StatusFlagsWriter<W> {
    inner: W,
    pending: Vec<u8>,
    sent: usize,
    filled: bool,
    greeted: bool,
    flags: Arc<AtomicU16>,
}

impl<W> StatusFlagsWriter<W> {
    pub(crate) fn new(inner: W, flags: Arc<AtomicU16>) -> StatusFlagsWriter<W> {
        StatusFlagsWriter { inner, pending: Vec::new(), sent: 0, filled: false, greeted: false, flags }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for StatusFlagsWriter<W> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.pending.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.filled {
            let flags = this.flags.load(Ordering::Relaxed);
            this.greeted = fill(&mut this.pending, flags, this.greeted);
            this.filled = true;
        }
        while this.sent < this.pending.len() {
            let written = ready!(Pin::new(&mut this.inner).poll_write(context, &this.pending[this.sent..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            this.sent += written;
        }
        this.pending.clear();
        (this.sent, this.filled) = (0, false);
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Fills in the flags of all whole packets; returns whether the greeting has now been seen.
fn fill(bytes: &mut [u8], flags: u16, mut greeted: bool) -> bool {
    let flags = flags.to_le_bytes();
    let mut rest = bytes;
    while let Some((header, after)) = rest.split_first_chunk_mut::<4>() {
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let (payload, next) = after.split_at_mut(length.min(after.len()));
        let place = match payload {
            [10, version @ ..] if !greeted => version.iter().position(|byte| *byte == 0).map(|nul| nul + 18),
            [0xfe, _, _, _, _] | [0xfe, 0, 0, _, _, _, _] | [0, 0, 0, 0, 0, 0, 0] => Some(3),
            _ => None,
        };
        greeted = true;
        if let Some(status) = place.and_then(|place| payload.get_mut(place..place + 2)) {
            status.copy_from_slice(&flags);
        }
        rest = next;
    }
    greeted
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn flags_are_filled_in_where_a_packet_has_a_place_for_them() {
        let flags = Arc::new(AtomicU16::new(2));
        let mut written = Vec::new();
        let mut writer = StatusFlagsWriter::new(&mut written, Arc::clone(&flags));
        let mut greeting = vec![31, 0, 0, 0, 10, b'8', 0];
        greeting.extend([1; 4]);
        greeting.extend([7; 8]);
        greeting.extend([0, 0xff, 0xff, 33, 0, 0]);
        greeting.extend([9; 10]);
        writer.write_all(&greeting).await.unwrap();
        writer.flush().await.unwrap();
        writer.write_all(&[5, 0, 0, 1, 0xfe, 0, 0, 0, 0, 2, 0, 0, 2, 1, b'x']).await.unwrap();
        writer.write_all(&[7, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
        flags.store(3, Ordering::Relaxed);
        writer.flush().await.unwrap();
        assert_eq!(written[23..25], [2, 0], "{written:?}");
        assert_eq!(
            written[35..],
            [5, 0, 0, 1, 0xfe, 0, 0, 3, 0, 2, 0, 0, 2, 1, b'x', 7, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0]
        );
    }
}
