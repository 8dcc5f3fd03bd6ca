//! Where clients connect: TCP, IPv4 and IPv6, and the Unix socket.

use crate::config::ListenAddress;
use crate::worker::Accepted;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::task::{Context, Poll, ready};
use tokio::net::{TcpListener, UnixListener};

/// Connections that wait to be accepted, at most.
const BACKLOG: i32 = 4096;

/// A listener cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("listen = {address}: {reason}")]
pub struct ListenError {
    address: String,
    reason: String,
}

/// One open listener.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket, and its file, which goes with the listener.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Opens the listener.
    ///
    /// # Errors
    /// The port or the path is taken or may not be used; the text says so.
    pub fn bind(address: &ListenAddress) -> Result<Self, ListenError> {
        let bound = match address {
            ListenAddress::Tcp(address) => bind_tcp(*address).map(Self::Tcp),
            ListenAddress::Unix(path) => bind_unix(path).map(|l| Self::Unix(l, path.clone())),
        };
        bound.map_err(|error| {
            let reason = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "another program listens there; end it, or choose another address".to_owned()
                }
                io::ErrorKind::PermissionDenied => {
                    "not allowed; ports below 1024 and foreign directories need privileges".to_owned()
                }
                _ => error.to_string(),
            };
            ListenError { address: address.to_string(), reason }
        })
    }

    /// The next client.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        Poll::Ready(match self {
            Self::Tcp(listener) => {
                let (stream, address) = ready!(listener.poll_accept(cx))?;
                Ok(Accepted::Tcp(stream.into_std()?, address.ip()))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = ready!(listener.poll_accept(cx))?;
                Ok(Accepted::Unix(stream.into_std()?))
            }
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // Best effort: the next start removes a stale file too.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?; // so that 0.0.0.0 and [::] can both be listed
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?; // left over by a server that was killed
    }
    let listener = UnixListener::bind(path)?;
    // As MySQL's: whoever knows an account's password may connect.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    Ok(listener)
}
