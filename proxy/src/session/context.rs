//! What the sessions of one worker share.

use crate::backend::{Connector, Pools};
use crate::config::{Config, TlsClientMode};
use crate::io::Buffers;
use crate::protocol::auth::RsaKey;
use crate::routing::{Balancer, ClassCache, RouteCounts, Rules};
use crate::session::kill::Killer;
use crate::topology::Topology;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What the sessions of one worker share.
pub struct Context {
    /// The loaded configuration.
    pub config: Arc<Config>,
    /// What is known of the servers.
    pub topology: Arc<Topology>,
    /// Connections to servers, shared by the worker's sessions.
    pub pools: Rc<Pools>,
    /// How connections to servers are made that no session waits for.
    pub connector: Connector,
    /// How clients get TLS; `None` where it is off.
    pub acceptor: Option<tokio_rustls::TlsAcceptor>,
    /// How clients without TLS may send a password.
    pub rsa: Arc<RsaKey>,
    /// How sessions of every worker are found by their id.
    pub killer: Killer,
    /// The worker's buffers.
    pub buffers: Buffers,
    /// The classes of statements seen before.
    pub classes: RefCell<ClassCache>,
    /// The user's rules and the firewall.
    pub rules: Arc<Rules>,
    /// Why the worker's statements went where they went.
    pub routes: Arc<RouteCounts>,
    /// Whose turn it is to serve a read.
    pub balancer: RefCell<Balancer>,
}

impl Context {
    /// Whether clients are only served over TLS.
    pub fn tls_required(&self) -> bool {
        self.config.tls.client.mode == TlsClientMode::Required
    }
}
