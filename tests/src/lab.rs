//! The cluster that a theme's tests share, and what they keep on it.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use telamon_bench::lab::{Cluster, Flavor, LabError, Options, ROOT_PASSWORD, ROOT_USER, Server};
use tokio::runtime::Runtime;

use crate::raw::{Client, Endpoint, Login};

/// Names the server that runs a statement: `SELECT id FROM whoami.t` is answered by its `server_id`, without a
/// function or variable that the router knows. Each server has its own row, which replication does not carry.
const WHO_AM_I: [&str; 4] = [
    "SET sql_log_bin = 0",
    "CREATE DATABASE whoami",
    "CREATE TABLE whoami.t (id INT PRIMARY KEY)",
    "INSERT INTO whoami.t SELECT @@server_id",
];

/// Runs what the lab does asynchronously.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("threads can be had")).block_on(future)
}

/// The cluster that this process's tests share: one primary and two replicas. Its servers end with the
/// process.
///
/// # Panics
/// It does not start; the text says why and what to install.
pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(new_cluster)
}

/// The product under the tests: MariaDB, or MySQL with `TELAMON_TEST_FLAVOR=mysql`.
#[must_use]
fn flavor() -> Flavor {
    match std::env::var("TELAMON_TEST_FLAVOR").as_deref() {
        Ok("mysql") => Flavor::Mysql,
        _ => Flavor::MariaDb,
    }
}

/// A cluster of a test's own, for what others would suffer from.
///
/// # Panics
/// It does not start; the text says why and what to install.
#[must_use]
pub fn new_cluster() -> Cluster {
    let cluster = done(block_on(Cluster::start(flavor(), Options::default())));
    for server in cluster.servers() {
        let mut root = root(server);
        let guarded = cluster.flavor() == Flavor::Mysql && server.name() != cluster.primary().name();
        if guarded {
            root.query("SET GLOBAL super_read_only = 0").expect_ok();
        }
        for statement in WHO_AM_I {
            root.query(statement).expect_ok();
        }
        if guarded {
            root.query("SET GLOBAL super_read_only = 1").expect_ok();
        }
    }
    cluster
}

fn done<T>(result: Result<T, LabError>) -> T {
    result.unwrap_or_else(|error| panic!("the lab: {error}"))
}

/// Waits until the replicas have all that the primary has written.
pub fn wait_for_replicas(cluster: &Cluster) {
    done(block_on(cluster.wait_for_replicas()));
}

/// Does the same to each server of the list, as with `on_each_server(&[primary], Server::kill)`.
pub fn on_each_server<'a, F>(servers: &[&'a Server], action: impl Fn(&'a Server) -> F)
where
    F: Future<Output = Result<(), LabError>>,
{
    for server in servers {
        done(block_on(action(server)));
    }
}

/// A new connection straight to a server as root.
#[must_use]
pub fn root(server: &Server) -> Client {
    Client::connect(&server.address().into(), &Login::new(ROOT_USER, ROOT_PASSWORD)).expect("root may log in")
}

/// Makes an account with all privileges on every server of the cluster; its password is its name.
pub fn account(cluster: &Cluster, name: &str) {
    let mut root = root(cluster.primary());
    root.query(&format!("CREATE USER {name}@'%' IDENTIFIED BY '{name}'")).expect_ok();
    root.query(&format!("GRANT ALL PRIVILEGES ON *.* TO {name}@'%'")).expect_ok();
    wait_for_replicas(cluster);
}

/// Which server answers a read of this session: its `server_id`.
pub fn who_answers(client: &mut Client) -> u32 {
    client.query("SELECT id FROM whoami.t").number()
}

/// A schema of one test's own on a cluster.
pub struct Schema<'a> {
    /// Its name.
    pub name: String,
    cluster: &'a Cluster,
}

impl Schema<'_> {
    /// An empty schema of a new name on the shared cluster, on all its servers.
    #[must_use]
    pub fn new() -> Schema<'static> {
        Schema::on(cluster())
    }

    /// Runs statements in the schema on the primary, and waits for the replicas.
    pub fn run(&self, statements: &[&str]) {
        let mut root = root(self.cluster.primary());
        root.query(&format!("USE {}", self.name)).expect_ok();
        for statement in statements {
            root.query(statement).expect_ok();
        }
        wait_for_replicas(self.cluster);
    }

    /// Makes it empty again.
    pub fn clear(&self) {
        let mut root = root(self.cluster.primary());
        root.query(&format!("DROP DATABASE IF EXISTS {}", self.name)).expect_ok();
        root.query(&format!("CREATE DATABASE {}", self.name)).expect_ok();
        wait_for_replicas(self.cluster);
    }

    /// How the application's account logs in to it.
    #[must_use]
    pub fn login(&self) -> Login {
        Login { schema: Some(self.name.clone()), ..Login::default() }
    }

    /// A connection straight to the primary, in the schema.
    #[must_use]
    pub fn direct(&self) -> Client {
        let endpoint = Endpoint::from(self.cluster.primary().address());
        Client::connect(&endpoint, &self.login()).expect("the application may log in")
    }
}

impl<'a> Schema<'a> {
    /// The same on a cluster of the test's own.
    #[must_use]
    pub fn on(cluster: &'a Cluster) -> Schema<'a> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let schema = Schema { name: format!("test{}", NEXT.fetch_add(1, Ordering::Relaxed)), cluster };
        schema.clear();
        schema
    }
}
