//! One connection's socket, whatever it is made of.

use super::tls::TlsStream;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connected stream of bytes.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TLS over one of the others.
    Tls(Box<TlsStream>),
    /// No stream: what is left while another socket is being made out of this one, or if that failed.
    Closed,
    /// An in-memory pipe, for tests of what is above.
    #[cfg(test)]
    Duplex(tokio::io::DuplexStream),
}

impl Socket {
    /// A TCP stream, with the options that a request-and-reply protocol needs.
    ///
    /// # Errors
    /// The peer is gone already.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        // A peer whose machine vanished is noticed in minutes, not never; the times are the system's.
        socket2::SockRef::from(&stream).set_keepalive(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Whether passwords may cross it in clear: TLS, or never outside this machine's kernel.
    pub fn is_private(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::Unix(_))
    }
}

/// Calls the same function of whatever stream is inside.
macro_rules! inside {
    ($socket:expr, $stream:ident => $call:expr) => {
        match $socket.get_mut() {
            Socket::Tcp($stream) => $call,
            Socket::Unix($stream) => $call,
            Socket::Tls(boxed) => {
                let $stream = &mut **boxed;
                $call
            }
            Socket::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            #[cfg(test)]
            Socket::Duplex($stream) => $call,
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        inside!(self, stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        inside!(self, stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        inside!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        inside!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
