//! TLS on both sides, by rustls.

use super::Socket;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A TLS stream of either side over either kind of socket.
pub type TlsStream = tokio_rustls::TlsStream<Socket>;

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A PEM file cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The certificate and its key cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Certificate(#[from] rustls::Error),
    /// No certificate could be made.
    #[error("no certificate could be generated: {0}")]
    Generate(#[from] rcgen::Error),
    /// The authorities given cannot verify anything.
    #[error("no server can be verified: {0}")]
    Verifier(#[from] rustls::client::VerifierBuilderError),
}

fn file_error(path: &Path, reason: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { path: path.to_owned(), reason: reason.to_string() }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// The TLS that clients get: the certificate and key of these PEM files.
///
/// # Errors
/// A file that cannot be read or used, naming it.
pub fn acceptor_from_files(cert: &Path, key: &Path) -> Result<tokio_rustls::TlsAcceptor, TlsError> {
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(cert).and_then(Iterator::collect).map_err(|e| file_error(cert, &e))?;
    if chain.is_empty() {
        return Err(file_error(cert, &"no certificate in PEM form in it"));
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(|e| file_error(key, &e))?;
    acceptor(chain, key)
}

/// The TLS that clients get where no certificate was given: one that Telamon makes and signs itself, kept in
/// `directory` where one is named, so that clients that pin it are not surprised by a restart.
///
/// # Errors
/// A directory that cannot be written, or files in it that cannot be used.
pub fn acceptor_generated(directory: Option<&Path>) -> Result<tokio_rustls::TlsAcceptor, TlsError> {
    let Some(directory) = directory else {
        let own = self_signed()?;
        let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
        return acceptor(vec![own.cert.der().clone()], key);
    };
    let (cert, key) = (directory.join("server-cert.pem"), directory.join("server-key.pem"));
    if !cert.exists() || !key.exists() {
        let own = self_signed()?;
        std::fs::create_dir_all(directory).map_err(|e| file_error(directory, &e))?;
        write_private(&key, &own.signing_key.serialize_pem()).map_err(|e| file_error(&key, &e))?;
        std::fs::write(&cert, own.cert.pem()).map_err(|e| file_error(&cert, &e))?;
    }
    acceptor_from_files(&cert, &key)
}

fn self_signed() -> Result<rcgen::CertifiedKey<rcgen::KeyPair>, rcgen::Error> {
    rcgen::generate_simple_self_signed(["localhost".into(), "127.0.0.1".into(), "::1".into()])
}

/// Writes a file that only its owner can read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

fn acceptor(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<tokio_rustls::TlsAcceptor, TlsError> {
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(tokio_rustls::TlsAcceptor::from(Arc::new(config)))
}

/// How much is asked of a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Nothing: the connection is encrypted, and that is all.
    Nothing,
    /// That one of the given authorities signed it.
    Authority,
    /// That, and that it names the host connected to.
    Identity,
}

/// The TLS that Telamon uses towards servers.
///
/// # Errors
/// An authorities file that cannot be read or used, naming it.
pub fn connector(verify: Verify, ca: Option<&Path>) -> Result<tokio_rustls::TlsConnector, TlsError> {
    let provider = provider();
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let authorities = match ca {
        Some(path) if verify != Verify::Nothing => Some(authorities(path, &provider)?),
        _ => None,
    };
    let verifier = Verifier { authorities, verify, algorithms: provider.signature_verification_algorithms };
    let config =
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
    Ok(tokio_rustls::TlsConnector::from(Arc::new(config)))
}

fn authorities(path: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for cert in CertificateDer::pem_file_iter(path).map_err(|e| file_error(path, &e))? {
        roots.add(cert.map_err(|e| file_error(path, &e))?).map_err(|e| file_error(path, &e))?;
    }
    Ok(WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()?)
}

/// MySQL's --ssl-mode: from "encrypt only" to "the certificate names the host".
#[derive(Debug)]
struct Verifier {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    verify: Verify,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let verdict = authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp, now);
        match verdict {
            Err(rustls::Error::InvalidCertificate(
                rustls::CertificateError::NotValidForName
                | rustls::CertificateError::NotValidForNameContext { .. },
            )) if self.verify == Verify::Authority => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Turns a plain socket into a TLS one, as the server.
///
/// # Errors
/// The handshake failed.
pub async fn accept(acceptor: &tokio_rustls::TlsAcceptor, socket: Socket) -> io::Result<Socket> {
    let stream = acceptor.accept(socket).await?;
    Ok(Socket::Tls(Box::new(stream.into())))
}

/// Turns a plain socket into a TLS one, as the client of a server called `host`.
///
/// # Errors
/// The handshake failed, or the server's certificate is not accepted.
pub async fn connect(
    connector: &tokio_rustls::TlsConnector,
    host: ServerName<'static>,
    socket: Socket,
) -> io::Result<Socket> {
    let stream = connector.connect(host, socket).await?;
    Ok(Socket::Tls(Box::new(stream.into())))
}
