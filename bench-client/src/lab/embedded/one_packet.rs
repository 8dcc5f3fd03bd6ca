//! Hands opensrv-mysql one packet at a time: of packets that a client sends in one write, it mistakes what follows the
//! first one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

const HEADER_LEN: usize = 4;

/// A reader whose reads never cross the end of a packet.
pub(super) struct OnePacketReader<R> {
    inner: R,
    header: [u8; HEADER_LEN],
    /// Bytes of the header that have come.
    known: usize,
    /// Bytes of the payload that are still to come.
    left: usize,
}

impl<R> OnePacketReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, header: [0; HEADER_LEN], known: 0, left: 0 }
    }

    /// Takes note of bytes that were read, none of them beyond the packet.
    fn note(&mut self, bytes: &[u8]) {
        if self.left > 0 {
            self.left -= bytes.len();
            return;
        }
        self.header[self.known..self.known + bytes.len()].copy_from_slice(bytes);
        self.known += bytes.len();
        if self.known == HEADER_LEN {
            let [a, b, c, _] = self.header;
            self.left = u32::from_le_bytes([a, b, c, 0]) as usize;
            self.known = 0;
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for OnePacketReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = if self.left > 0 { self.left } else { HEADER_LEN - self.known };
        let mut part = buf.take(most);
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut part))?;
        let read = part.filled().len();
        self.note(part.filled());
        // The part is a view into the same memory.
        let filled = buf.filled().len() + read;
        buf.initialize_unfilled_to(read);
        buf.set_filled(filled);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test(flavor = "current_thread")]
    async fn a_read_ends_where_its_packet_ends() {
        let bytes: &[u8] = b"\x02\0\0\0ab\0\0\0\0\x01\0\0\0c";
        let mut reader = OnePacketReader::new(bytes);
        let mut reads = Vec::new();
        let mut buffer = [0; 64];
        loop {
            match reader.read(&mut buffer).await.expect("it is in memory") {
                0 => break,
                n => reads.push(buffer[..n].to_vec()),
            }
        }
        let expected: [&[u8]; 5] = [b"\x02\0\0\0", b"ab", b"\0\0\0\0", b"\x01\0\0\0", b"c"];
        assert_eq!(reads, expected);
    }
}
