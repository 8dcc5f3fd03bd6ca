//! The options of `telamon explain`.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::routing::Dialect;

/// What to explain, and for whom.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// Configuration file [default: config/telamon.toml, then /etc/telamon/telamon.toml, then none: no
    /// rules, one replica]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One JSON object a line, with sql, target, class, reason, rule, effects, fingerprint and normal_form
    #[arg(long)]
    pub json: bool,
    /// General or slow log of MySQL or MariaDB ("-" is standard input); a summary, or with --json each
    /// statement
    #[arg(long, value_name = "FILE", conflicts_with = "sql")]
    pub log: Option<PathBuf>,
    /// Statements that the summary of a log lists at the most
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub most: usize,
    /// Account whose rules hold; a log names it itself [default: the first of `users`]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Address of the client, or "localhost" for the Unix socket, for rules; a log names it itself
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub client: Client,
    /// Schema of the session; a log names it itself
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// sql_mode that the session begins with, as ANSI_QUOTES,NO_BACKSLASH_ESCAPES
    #[arg(long, value_name = "MODES", default_value = "")]
    pub sql_mode: String,
    /// Version of the server, as 8.4.0 or 10.11.6-MariaDB; a log names it itself [default: 8.0.36]
    #[arg(long, value_name = "VERSION")]
    pub server_version: Option<String>,
    /// Statements, as one session sends them [default: standard input, one a line]
    #[arg(value_name = "SQL")]
    pub sql: Vec<OsString>,
}

/// Where a client connects from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Over TCP.
    Tcp(IpAddr),
    /// Over the Unix socket.
    Socket,
}

impl Client {
    /// As rules ask for it.
    pub(super) fn address(self) -> Option<IpAddr> {
        match self {
            Self::Tcp(address) => Some(address),
            Self::Socket => None,
        }
    }
}

impl FromStr for Client {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "localhost" => Ok(Self::Socket),
            _ => text.parse().map(Self::Tcp).map_err(|_| {
                "expected is an address such as 10.0.0.7 or fd00::7, or localhost for the Unix socket"
                    .to_owned()
            }),
        }
    }
}

impl ExplainArgs {
    /// The dialect that a session begins with.
    pub(super) fn dialect(&self) -> Dialect {
        let of_server = self.server_version.as_deref().map(Dialect::from_server_version);
        of_server.unwrap_or_default().with_sql_mode(&self.sql_mode)
    }
}
