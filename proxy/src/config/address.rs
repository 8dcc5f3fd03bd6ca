//! Addresses in the forms a configuration file writes them; each refusal says what to write instead.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ipnet::IpNet;

/// What a path to a Unix socket may measure: `sun_path` of `sockaddr_un` without its closing NUL.
const UNIX_PATH_BYTES: usize = 107;

/// Where Telamon listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// An IP address and a port; port 0 takes a free one.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix_path(path).map(Self::Unix);
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Tcp(address));
        }
        let (host, port) = host_and_port(text, "1234")?;
        match (host.parse::<IpAddr>(), host) {
            (Ok(ip), _) => Ok(Self::Tcp(SocketAddr::new(ip, port))),
            (Err(_), "*") => Err(format!("write \"0.0.0.0:{port}\" or \"[::]:{port}\" for every interface")),
            (Err(_), "localhost") => Err(format!("needs an IP address: write \"127.0.0.1:{port}\"")),
            (Err(_), _) => Err("needs the IP address of an interface, not a host name".to_owned()),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ServerAddress {
    /// A host name or IP address (IPv6 without its brackets), and a port.
    Tcp {
        /// Resolved at each connect, so that a name may move.
        host: String,
        /// Never 0.
        port: u16,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

impl ServerAddress {
    /// The host as an IP address, where it is one; `localhost` counts as 127.0.0.1.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp { host, .. } if host.eq_ignore_ascii_case("localhost") => {
                Some(IpAddr::from([127, 0, 0, 1]))
            }
            Self::Tcp { host, .. } => host.parse().ok(),
            Self::Unix(_) => None,
        }
    }
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix_path(path).map(Self::Unix);
        }
        let (host, port) = host_and_port(text, "3306")?;
        if port == 0 {
            return Err("port 0 is no server's port; MySQL's own is 3306".to_owned());
        }
        Ok(Self::Tcp { host: host.to_owned(), port })
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// One entry of a user's client list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAddress {
    /// A network; a single address is a network of one.
    Net(IpNet),
    /// Clients of the Unix socket.
    Localhost,
}

impl ClientAddress {
    /// Whether every client that `other` means is meant too.
    pub fn takes_in(self, other: Self) -> bool {
        match (self, other) {
            (Self::Net(net), Self::Net(other)) => net.contains(&other),
            (Self::Localhost, Self::Localhost) => true,
            _ => false,
        }
    }

    /// Whether a client from here is meant; `None` is a client of the Unix socket. An IPv4 client that arrives
    /// at an IPv6 listener counts as the IPv4 client it is.
    pub fn matches(self, client: Option<IpAddr>) -> bool {
        match (self, client) {
            (Self::Net(net), Some(ip)) => net.contains(&ip.to_canonical()),
            (Self::Localhost, None) => true,
            (Self::Net(_), None) | (Self::Localhost, Some(_)) => false,
        }
    }
}

impl FromStr for ClientAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "localhost" {
            return Ok(Self::Localhost);
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self::Net(IpNet::from(ip.to_canonical())));
        }
        if let Ok(net) = text.parse::<IpNet>() {
            return Ok(Self::Net(net.trunc()));
        }
        Err("is neither an address (\"10.0.0.7\", \"fd00::7\"), nor a network (\"10.0.0.0/8\", \"fd00::/8\"), \
             nor \"localhost\" (the Unix socket)"
            .to_owned())
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(net) => net.fmt(f),
            Self::Localhost => f.write_str("localhost"),
        }
    }
}

/// Splits `host:port`; the brackets of an IPv6 address are taken off.
fn host_and_port<'a>(text: &'a str, usual_port: &str) -> Result<(&'a str, u16), String> {
    if text.is_empty() {
        return Err(format!("is empty; write \"HOST:{usual_port}\" or \"unix:/PATH\""));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(format!(
            "an IPv6 address goes in brackets before its port: write \"[{text}]:{usual_port}\""
        ));
    }
    if text.starts_with('/') {
        return Err(format!("write \"unix:{text}\" for a Unix socket"));
    }
    let Some((host, port)) = text.rsplit_once(':').filter(|_| !text.ends_with(']')) else {
        return Err(format!("has no port: write \"{text}:{usual_port}\""));
    };
    let host = match host.strip_prefix('[') {
        None => host,
        Some(rest) => match rest.strip_suffix(']') {
            Some(v6) if v6.parse::<Ipv6Addr>().is_ok() => v6,
            _ => return Err("what stands in brackets is no IPv6 address".to_owned()),
        },
    };
    let port = match port.parse() {
        Ok(number) if port.bytes().all(|b| b.is_ascii_digit()) => number,
        _ => return Err("the port is no number from 1 to 65535".to_owned()),
    };
    if !text.starts_with('[') && !is_host(host) {
        return Err(format!(
            "the host is neither a name nor an address: write \"HOST:{port}\" or \"[IPV6]:{port}\""
        ));
    }
    Ok((host, port))
}

/// Whether this can be a host name or IPv4 address (or the `*` that a listener answers with advice).
fn is_host(host: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    host == "*" || (!host.is_empty() && host.len() <= 253 && host.bytes().all(legal))
}

/// A path that the kernel can bind or connect to.
fn unix_path(path: &str) -> Result<PathBuf, String> {
    if !Path::new(path).is_absolute() {
        return Err("a Unix socket needs an absolute path: \"unix:/PATH\"".to_owned());
    }
    if path.len() > UNIX_PATH_BYTES {
        return Err(format!("the path of a Unix socket has {UNIX_PATH_BYTES} bytes at most"));
    }
    if path.contains('\0') {
        return Err("a path cannot hold a NUL byte".to_owned());
    }
    Ok(PathBuf::from(path))
}
