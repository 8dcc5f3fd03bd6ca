//! TCP, Unix sockets and TLS behind one blocking stream.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};

/// A peer that says nothing for so long is a failed test.
const SILENCE: Duration = Duration::from_secs(30);

/// Where a server listens.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// IPv4 or IPv6.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Endpoint::Tcp(address)
    }
}

trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// A connected stream; it reads from a buffer and writes at once.
pub struct Socket {
    // Taken only for the moment of the upgrade to TLS.
    stream: Option<Box<dyn Stream>>,
    buffer: Vec<u8>,
    start: usize,
}

impl Socket {
    /// Connects.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn connect(endpoint: &Endpoint) -> io::Result<Socket> {
        let stream: Box<dyn Stream> = match endpoint {
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(SILENCE))?;
                stream.set_write_timeout(Some(SILENCE))?;
                Box::new(stream)
            }
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(SILENCE))?;
                stream.set_write_timeout(Some(SILENCE))?;
                Box::new(stream)
            }
        };
        Ok(Socket { stream: Some(stream), buffer: Vec::new(), start: 0 })
    }

    /// Goes on in TLS. Any certificate will do: what a server proves is not the client's question here.
    ///
    /// # Errors
    /// A peer that does not speak TLS, at the latest with the first read.
    pub fn upgrade(&mut self) -> io::Result<()> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let stream = self.stream.take().ok_or_else(|| io::Error::other("no stream"))?;
        self.stream = Some(Box::new(StreamOwned::new(connection, stream)));
        Ok(())
    }

    fn stream(&mut self) -> io::Result<&mut (dyn Stream + '_)> {
        match &mut self.stream {
            Some(stream) => Ok(stream.as_mut()),
            None => Err(io::Error::other("an upgrade to TLS failed")),
        }
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stream = self.stream()?;
        stream.write_all(bytes)?;
        stream.flush()
    }

    /// Reads exactly `len` bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] where the peer closed before.
    pub fn read_exact(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(len);
        while out.len() < len {
            if self.start == self.buffer.len() {
                self.fill()?;
            }
            let take = (len - out.len()).min(self.buffer.len() - self.start);
            out.extend_from_slice(&self.buffer[self.start..self.start + take]);
            self.start += take;
        }
        Ok(out)
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(64 * 1024, 0);
        let got = self.stream()?.read(&mut buffer)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.truncate(got);
        (self.buffer, self.start) = (buffer, 0);
        Ok(())
    }
}

/// Takes every certificate for good, but checks that the peer has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
