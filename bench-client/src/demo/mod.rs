//! `telamon-bench demo`: brings up a cluster, prepares tables, starts Telamon in front, shows by the servers' own
//! counters that reads and writes split, and measures what the proxy costs.

mod measure;
mod show;
mod split;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use thiserror::Error;

use self::measure::Measured;
use self::split::Counters;
use crate::client::Patience;
use crate::driver::{Driver, DriverError};
use crate::lab::{Cluster, Flavor, LabError, Options, Proxy, ProxyError};
use crate::plan::{Plan, PsMode, Tables};
use crate::schema::{self, SchemaError};
use crate::target::Target;
use crate::workload::Kind;

/// What the demo is asked to do.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// The cluster's flavor; None takes the best that is installed.
    pub flavor: Option<Flavor>,
    /// The telamon program; None looks beside this program and in PATH.
    pub telamon: Option<PathBuf>,
    /// Where Telamon listens.
    pub listen: SocketAddr,
    /// Measuring time of each workload.
    pub time: Duration,
    /// Connections of each side.
    pub threads: u32,
    /// sysbench's tables.
    pub tables: Tables,
    /// Leaves cluster and Telamon up until the program is interrupted.
    pub keep: bool,
}

/// Why the demo ended early.
#[derive(Debug, Error)]
pub enum DemoError {
    /// The cluster.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The proxy's process.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The tables.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The workload, direct to a server.
    #[error(transparent)]
    Direct(#[from] DriverError),
    /// The workload, through the proxy.
    #[error("through telamon: {source}; telamon's last words:\n{log}")]
    Through {
        /// What failed.
        source: DriverError,
        /// The end of telamon's log.
        log: String,
    },
}

/// Runs the demo and prints what it finds; true where the split is proved.
///
/// # Errors
/// The first step that failed, with what to do about it.
pub async fn run(options: &DemoOptions) -> Result<bool, DemoError> {
    // What is wrong with the arguments is said before anything is started.
    let program = Proxy::find(options.telamon.as_deref())?;
    Proxy::check_port(options.listen)?;

    let cluster = start_cluster(options.flavor).await?;
    let direct = Target::lab("direct", cluster.primary().address());
    prepare(&direct, options.tables)?;
    cluster.wait_for_replicas().await?;

    let configuration = cluster.telamon_toml(options.listen.port());
    let proxy = Proxy::start(&program, &configuration, options.listen).await?;
    println!("telamon  {} on {} (pid {})", program.display(), proxy.address(), proxy.pid());

    let results = measure_all(options, &cluster, &direct, &proxy).await?;
    let proved = show::print(&cluster, &results);

    if options.keep {
        keep(&cluster, &proxy).await;
    }
    proxy.stop().await;
    cluster.stop().await?;
    Ok(proved)
}

async fn start_cluster(asked: Option<Flavor>) -> Result<Cluster, DemoError> {
    let flavor = asked.unwrap_or_else(Flavor::best);
    if asked.is_none() && flavor == Flavor::Embedded {
        println!(
            "no mariadbd or mysqld found, so the servers are embedded: they show the proxy's pure cost."
        );
        println!("For real servers: apt-get install mariadb-server\n");
    }
    let start = Instant::now();
    let cluster = Cluster::start(flavor, Options::default()).await?;
    let seconds = start.elapsed().as_secs_f64();
    println!("cluster  {flavor} {}, up in {seconds:.1} s", cluster.version());
    for server in cluster.servers() {
        println!("         {:<8}  {}", server.name(), server.address());
    }
    Ok(cluster)
}

fn prepare(target: &Target, tables: Tables) -> Result<(), DemoError> {
    let start = Instant::now();
    let bar = ProgressBar::new(u64::from(tables.count) * u64::from(tables.size));
    if let Ok(style) = ProgressStyle::with_template("tables   {bar:40} {pos}/{len} rows") {
        bar.set_style(style);
    }
    let plan = Plan { tables, threads: 4, ..Plan::new(Kind::OltpReadWrite) };
    tokio::task::block_in_place(|| {
        schema::prepare(target, &plan, &Patience::default(), &|rows| bar.inc(rows))
    })?;
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    println!("tables   {} of {} rows each, in {seconds:.1} s", tables.count, tables.size);
    Ok(())
}

/// Autocommit reads; autocommit reads and writes; transactions.
const WORKLOADS: [(Kind, bool); 3] =
    [(Kind::OltpPointSelect, true), (Kind::OltpReadWrite, true), (Kind::OltpReadWrite, false)];

async fn measure_all(
    options: &DemoOptions,
    cluster: &Cluster,
    direct: &Target,
    proxy: &Proxy,
) -> Result<Vec<Measured>, DemoError> {
    let through = |source| DemoError::Through { source, log: proxy.log_tail() };
    let target = Target::lab("telamon", proxy.address());
    let mut counters = Counters::connect(cluster).await?;
    let mut results = Vec::new();
    for (kind, skip_trx) in WORKLOADS {
        let (tables, threads, time) = (options.tables, options.threads, options.time);
        let plan = Plan { skip_trx, tables, threads, time, ps_mode: PsMode::Disable, ..Plan::new(kind) };
        let patience = Patience::default();
        let mut by_proxy = Driver::connect(&target, &plan, &patience).map_err(through)?;
        let mut by_direct = Driver::connect(direct, &plan, &patience)?;
        println!("running  {} for {:.0} s", plan.name(), time.as_secs_f64());
        let measured = measure::measure(&plan, &mut by_proxy, &mut by_direct, &mut counters).await;
        results.push(measured.map_err(|error| match error {
            DemoError::Direct(source) if source.target() == target.name => through(source),
            other => other,
        })?);
        by_proxy.disconnect();
        by_direct.disconnect();
    }
    Ok(results)
}

/// Tells how to use what is up, and waits for Ctrl-C or SIGTERM, which the caller turns into the end.
async fn keep(cluster: &Cluster, proxy: &Proxy) {
    println!("\nCluster and Telamon stay up until you press Ctrl-C. Try them:");
    println!("  mysql --protocol=tcp -h 127.0.0.1 -P {} -u app -papp sbtest", proxy.address().port());
    for server in cluster.servers() {
        let (name, port) = (server.name(), server.address().port());
        println!("  mysql --protocol=tcp -h 127.0.0.1 -P {port} -u app -papp sbtest   # {name}");
    }
    println!("  configuration: {}", proxy.config_path().display());
    std::future::pending::<()>().await;
}
