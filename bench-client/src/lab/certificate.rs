//! A throw-away certificate authority and one certificate for the cluster's servers.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use super::error::LabError;

/// The PEM files that the servers are started with.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The authority's certificate: what a client that checks the servers must trust.
    pub ca: PathBuf,
    /// The servers' certificate, for 127.0.0.1 and localhost.
    pub certificate: PathBuf,
    /// The servers' private key.
    pub key: PathBuf,
}

impl Certificate {
    /// Where the files are in a directory.
    pub(crate) fn in_directory(directory: &Path) -> Certificate {
        Certificate {
            ca: directory.join("ca.pem"),
            certificate: directory.join("server-cert.pem"),
            key: directory.join("server-key.pem"),
        }
    }

    /// Makes a new authority, and a certificate signed by it, in `directory`.
    pub(crate) fn create(directory: &Path) -> Result<Certificate, LabError> {
        let files = Certificate::in_directory(directory);
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.distinguished_name.push(DnType::CommonName, "Telamon lab authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority_key = KeyPair::generate()?;
        let authority_certificate = authority.self_signed(&authority_key)?;

        let mut server = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        server.distinguished_name.push(DnType::CommonName, "Telamon lab server");
        server.use_authority_key_identifier_extension = true;
        let server_key = KeyPair::generate()?;
        let certificate = server.signed_by(&server_key, &Issuer::new(authority, authority_key))?;

        let write = |path: &Path, text: String| fs::write(path, text).map_err(LabError::file("write", path));
        write(&files.ca, authority_certificate.pem())?;
        write(&files.certificate, certificate.pem())?;
        write(&files.key, server_key.serialize_pem())?;
        Ok(files)
    }
}
