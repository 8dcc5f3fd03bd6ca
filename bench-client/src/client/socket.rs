//! TCP, a Unix socket, or TLS over either, behind one blocking stream.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use telamon::io::tls::{Verify, connector};

use crate::target::Address;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// A stream as the operating system has it.
#[derive(Debug)]
pub(super) enum Plain {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Read for Plain {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => stream.read(bytes),
            Plain::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => stream.write(bytes),
            Plain::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connected stream.
#[derive(Debug)]
pub(super) enum Socket {
    Plain(Plain),
    Tls(Box<StreamOwned<ClientConnection, Plain>>),
}

impl Socket {
    /// Connects; a read that waits longer than `tick` answers [`io::ErrorKind::WouldBlock`].
    pub(super) fn connect(address: &Address, tick: Duration) -> io::Result<Socket> {
        let plain = match address {
            Address::Tcp { host, port } => {
                let stream = connect_tcp(host, *port)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(tick))?;
                Plain::Tcp(stream)
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(tick))?;
                Plain::Unix(stream)
            }
        };
        Ok(Socket::Plain(plain))
    }

    /// Whether nobody else can read along.
    pub(super) fn is_private(&self) -> bool {
        matches!(self, Socket::Plain(Plain::Unix(_)) | Socket::Tls(_))
    }

    /// The TLS version and cipher suite in use.
    pub(super) fn cipher(&self) -> Option<String> {
        let Socket::Tls(stream) = self else { return None };
        let suite = stream.conn.negotiated_cipher_suite()?.suite();
        Some(format!("{:?} {:?}", stream.conn.protocol_version()?, suite))
    }

    /// Goes on in TLS. Any certificate will do: whether a server is who it says is not what a bench measures.
    pub(super) fn upgrade(self, host: &str) -> io::Result<Socket> {
        let Socket::Plain(plain) = self else { return Ok(self) };
        let connector = connector(Verify::Nothing, None).map_err(io::Error::other)?;
        let localhost = || ServerName::try_from("localhost").map_err(io::Error::other);
        let name = ServerName::try_from(host.to_owned()).or_else(|_| localhost())?;
        let connection =
            ClientConnection::new(Arc::clone(connector.config()), name).map_err(io::Error::other)?;
        Ok(Socket::Tls(Box::new(StreamOwned::new(connection, plain))))
    }
}

fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Plain(stream) => stream.read(bytes),
            Socket::Tls(stream) => stream.read(bytes),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Plain(stream) => stream.write(bytes),
            Socket::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Socket::Plain(stream) => stream.flush(),
            Socket::Tls(stream) => stream.flush(),
        }
    }
}
