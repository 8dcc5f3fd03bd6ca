//! Where a workload is sent.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use mysql_async::Opts;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::lab::{APP_PASSWORD, APP_USER, ROOT_PASSWORD, ROOT_USER, Server};
use crate::schema::SCHEMA;

/// Where a server or proxy listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A name or address, and a port.
    Tcp {
        /// The name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Address {
    /// The host's name; that of a socket is this machine's.
    #[must_use]
    pub fn host(&self) -> &str {
        match self {
            Address::Tcp { host, .. } => host,
            Address::Unix(_) => "localhost",
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::Tcp { host: address.ip().to_string(), port: address.port() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Whether connections are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// Never.
    Off,
    /// Always; certificates are not checked.
    Required,
}

/// A named endpoint with the account to use there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name in reports: `direct`, `telamon`.
    pub name: String,
    /// Where it listens.
    pub address: Address,
    /// The account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The schema to start in.
    pub schema: Option<String>,
    /// Whether connections are encrypted.
    pub tls: Tls,
}

/// A target's text that could not be read.
#[derive(Debug, Error)]
#[error(
    "cannot read target {text:?}: {source}; write it as NAME=mysql://USER:PASSWORD@HOST:PORT/SCHEMA, \
     for a Unix socket with ?socket=PATH behind it, for TLS with ?tls=required"
)]
pub struct TargetError {
    text: String,
    source: mysql_async::UrlError,
}

impl Target {
    /// The lab's application account at an address, in the bench's schema.
    #[must_use]
    pub fn lab(name: &str, address: SocketAddr) -> Target {
        Target {
            name: name.to_owned(),
            address: address.into(),
            user: APP_USER.to_owned(),
            password: APP_PASSWORD.to_owned(),
            schema: Some(SCHEMA.to_owned()),
            tls: Tls::Off,
        }
    }

    /// The administrator of one of the lab's servers, in no schema.
    #[must_use]
    pub fn lab_root(server: &Server) -> Target {
        let target = Target::lab(server.name(), server.address());
        Target { user: ROOT_USER.to_owned(), password: ROOT_PASSWORD.to_owned(), schema: None, ..target }
    }

    /// Reads `NAME=mysql://USER:PASSWORD@HOST:PORT/SCHEMA`; name and scheme may be left out.
    ///
    /// # Errors
    /// [`TargetError`] naming the text and the form it should have.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', ':', '@', '?']));
        let (name, url) = named.unwrap_or(("target", text));
        let url = if url.contains("://") { url.to_owned() } else { format!("mysql://{url}") };
        let (url, tls) = without_tls(&url);
        let opts = Opts::from_url(&url).map_err(|source| TargetError { text: text.to_owned(), source })?;
        let address = match opts.socket() {
            Some(path) => Address::Unix(path.into()),
            None => Address::Tcp { host: opts.ip_or_hostname().to_owned(), port: opts.tcp_port() },
        };
        Ok(Target {
            name: name.to_owned(),
            address,
            user: opts.user().unwrap_or_default().to_owned(),
            password: opts.pass().unwrap_or_default().to_owned(),
            schema: Some(opts.db_name().unwrap_or(SCHEMA).to_owned()),
            tls,
        })
    }

    /// The schema that the tables are in.
    #[must_use]
    pub fn schema_name(&self) -> &str {
        self.schema.as_deref().unwrap_or(SCHEMA)
    }

    /// The same endpoint and account, in no schema: it may not be there yet.
    #[must_use]
    pub fn bare(&self) -> Target {
        Target { schema: None, ..self.clone() }
    }

    /// The target without its password, as it may be shown.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{}@{}/{}", self.user, self.address, self.schema_name())
    }
}

/// Takes `tls=required` out of a URL's parameters.
fn without_tls(url: &str) -> (String, Tls) {
    let Some((base, parameters)) = url.split_once('?') else { return (url.to_owned(), Tls::Off) };
    let (tls, others): (Vec<&str>, Vec<&str>) =
        parameters.split('&').partition(|parameter| *parameter == "tls=required");
    let tls = if tls.is_empty() { Tls::Off } else { Tls::Required };
    let url = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
    (url, tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_read_with_and_without_name_and_scheme() {
        let target = Target::parse("proxy=mysql://app:secret@127.0.0.1:1234/shop").unwrap();
        assert_eq!((target.name.as_str(), target.address.to_string()), ("proxy", "127.0.0.1:1234".into()));
        assert_eq!(target.schema.as_deref(), Some("shop"));
        let target = Target::parse("app:a=b@localhost:3306").unwrap();
        assert_eq!((target.name.as_str(), target.password.as_str()), ("target", "a=b"));
        assert_eq!((target.schema_name(), target.tls), (SCHEMA, Tls::Off));
    }

    #[test]
    fn a_socket_and_tls_are_parameters_of_the_url() {
        let target = Target::parse("d=mysql://u:p%40@localhost/s?socket=/run/my.sock&tls=required").unwrap();
        assert_eq!(target.address, Address::Unix("/run/my.sock".into()));
        assert_eq!((target.tls, target.password.as_str()), (Tls::Required, "p@"));
        assert_eq!(target.shown(), "u@/run/my.sock/s");
    }

    #[test]
    fn a_target_that_cannot_be_read_is_named_with_the_right_form() {
        let error = Target::parse("http://example").unwrap_err().to_string();
        assert!(error.contains("http://example") && error.contains("NAME=mysql://"), "{error}");
        assert!(Target::parse("mysql://u:p@h/s?tls=maybe").is_err());
    }
}
