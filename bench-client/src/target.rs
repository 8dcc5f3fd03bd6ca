//! Where a workload is sent.

use std::net::SocketAddr;

use mysql_async::{Opts, OptsBuilder};
use thiserror::Error;

use crate::lab::{APP_PASSWORD, APP_USER};
use crate::schema::SCHEMA;

/// A named endpoint with the account to use there.
#[derive(Debug, Clone)]
pub struct Target {
    /// The name in reports: `direct`, `telamon`.
    pub name: String,
    /// Address, account and schema.
    pub opts: Opts,
}

/// A target's text that could not be read.
#[derive(Debug, Error)]
#[error("cannot read target {text:?}: {source}; write it as NAME=mysql://USER:PASSWORD@HOST:PORT/SCHEMA")]
pub struct TargetError {
    text: String,
    source: mysql_async::UrlError,
}

impl Target {
    /// The lab's application account at an address, in the bench's schema.
    #[must_use]
    pub fn lab(name: &str, address: SocketAddr) -> Target {
        let opts = OptsBuilder::default()
            .ip_or_hostname(address.ip().to_string())
            .tcp_port(address.port())
            .user(Some(APP_USER))
            .pass(Some(APP_PASSWORD))
            .db_name(Some(SCHEMA));
        Target { name: name.to_owned(), opts: plain(opts) }
    }

    /// Reads `NAME=mysql://USER:PASSWORD@HOST:PORT/SCHEMA`; name and scheme may be left out.
    ///
    /// # Errors
    /// [`TargetError`] naming the text and the form it should have.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', ':', '@']));
        let (name, url) = named.unwrap_or(("target", text));
        let url = if url.contains("://") { url.to_owned() } else { format!("mysql://{url}") };
        let opts = Opts::from_url(&url).map_err(|source| TargetError { text: text.to_owned(), source })?;
        let schema = opts.db_name().unwrap_or(SCHEMA).to_owned();
        Ok(Target { name: name.to_owned(), opts: plain(OptsBuilder::from_opts(opts).db_name(Some(schema))) })
    }
}

/// Over TCP even where a faster way is offered, and without the driver's own statement cache: the target is measured
/// as it was named.
fn plain(opts: OptsBuilder) -> Opts {
    opts.prefer_socket(false).stmt_cache_size(0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_read_with_and_without_name_and_scheme() {
        let target = Target::parse("proxy=mysql://app:secret@127.0.0.1:1234/shop").unwrap();
        assert_eq!((target.name.as_str(), target.opts.tcp_port()), ("proxy", 1234));
        assert_eq!(target.opts.db_name(), Some("shop"));
        let target = Target::parse("app:a=b@localhost:3306").unwrap();
        assert_eq!((target.name.as_str(), target.opts.pass()), ("target", Some("a=b")));
        assert_eq!(target.opts.db_name(), Some(SCHEMA));
    }

    #[test]
    fn a_target_that_cannot_be_read_is_named_with_the_right_form() {
        let error = Target::parse("http://example").unwrap_err().to_string();
        assert!(error.contains("http://example") && error.contains("NAME=mysql://"), "{error}");
    }
}
