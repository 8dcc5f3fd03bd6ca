//! `telamon-bench demo`: brings up a cluster, prepares tables, starts Telamon in front, shows by the servers' own
//! counters that reads and writes split, and measures what the proxy costs.

mod show;
mod split;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use thiserror::Error;

use crate::ab::{self, AbError, Contender, Effort, Setting};
use crate::client::{ClientError, Patience};
use crate::counters::Counters;
use crate::lab::{APP_USER, Cluster, Flavor, LabError, Options, Proxy, ProxyError, Role, lab_base};
use crate::live::{Live, Style};
use crate::plan::{Plan, Tables};
use crate::report::{self, Document, DocumentError, Run, html, shown_command};
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
    /// Where the report goes: a file for the page, beside it one that ends in `.json`; None: the lab's directory.
    pub html: Option<PathBuf>,
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
    /// A server's counters.
    #[error("cannot read the counters of {server}: {source}")]
    Counters {
        /// The server.
        server: String,
        /// Its answer.
        source: ClientError,
    },
    /// The report's files.
    #[error(transparent)]
    Report(#[from] DocumentError),
    /// The workload.
    #[error("{source}; telamon's last words:\n{log}")]
    Measure {
        /// What failed.
        source: AbError,
        /// The end of telamon's log.
        log: String,
    },
}

/// Runs the demo and prints what it finds; true where the split is proved and nothing ended early.
///
/// # Errors
/// The first step that failed, with what to do about it.
pub async fn run(options: &DemoOptions, patience: &Patience) -> Result<bool, DemoError> {
    // What is wrong with the arguments is said before anything is started.
    let program = Proxy::find(options.telamon.as_deref())?;
    Proxy::check_port(options.listen)?;
    let mut document = Document::new(shown_command());

    let cluster = start_cluster(options.flavor).await?;
    let direct = Target::lab("direct", cluster.primary().address());
    let (target, tables) = (direct.clone(), options.tables);
    let preparing = patience.clone();
    blocking(move || prepare(&target, tables, &preparing)).await?;
    cluster.wait_for_replicas().await?;

    let configuration = cluster.telamon_toml(options.listen.port());
    let proxy = Proxy::start(&program, &configuration, options.listen).await?;
    println!("telamon  {} on {} (pid {})", program.display(), proxy.address(), proxy.pid());

    for (kind, skip_trx) in WORKLOADS {
        if patience.stop.load(Ordering::Relaxed) {
            break;
        }
        let (tables, threads, time) = (options.tables, options.threads, options.time);
        let plan = Plan { skip_trx, tables, threads, time, warmup: SLICE * 2, ..Plan::new(kind) };
        let lab = Lab::of(&cluster, &direct, &proxy, patience)?;
        let patience = patience.clone();
        let measured = blocking(move || measure(&plan, lab, &patience)).await;
        let log = || proxy.log_tail();
        document.runs.push(measured.map_err(|source| DemoError::Measure { source, log: log() })?);
    }
    let roles: Vec<Role> = cluster.servers().iter().map(|server| server.role()).collect();
    let proved = show::print(&roles, &document.runs);
    let complete =
        document.runs.len() == WORKLOADS.len() && document.runs.iter().all(|run| run.ended_early.is_none());
    for why in document.runs.iter().filter_map(|run| run.ended_early.as_ref()) {
        println!("Ended early: {why}");
    }
    store(&document, options.html.as_deref())?;
    if options.keep && complete {
        keep(&cluster, &proxy, patience).await;
    }
    proxy.stop().await;
    cluster.stop().await?;
    Ok(proved && complete)
}

/// Runs what blocks beside the runtime, which goes on hearing signals.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("measuring does not panic")
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

fn prepare(target: &Target, tables: Tables, patience: &Patience) -> Result<(), SchemaError> {
    let start = Instant::now();
    let bar = ProgressBar::new(u64::from(tables.count) * u64::from(tables.size));
    if let Ok(style) = ProgressStyle::with_template("tables   {bar:40} {pos}/{len} rows") {
        bar.set_style(style);
    }
    let plan = Plan { tables, threads: 4, ..Plan::new(Kind::OltpReadWrite) };
    schema::prepare(target, &plan, patience, &|rows| bar.inc(rows))?;
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    println!("tables   {} of {} rows each, in {seconds:.1} s", tables.count, tables.size);
    Ok(())
}

/// Autocommit reads; autocommit reads and writes; transactions.
const WORKLOADS: [(Kind, bool); 3] =
    [(Kind::OltpPointSelect, true), (Kind::OltpReadWrite, true), (Kind::OltpReadWrite, false)];

/// Short, so that there are many rounds.
const SLICE: Duration = Duration::from_millis(250);

/// What is measured: both ways to the cluster, and who counts.
struct Lab {
    contenders: [Contender; 2],
    counters: Counters,
    server_pids: Vec<u32>,
}

impl Lab {
    fn of(cluster: &Cluster, direct: &Target, proxy: &Proxy, patience: &Patience) -> Result<Lab, DemoError> {
        let through = Target::lab("telamon", proxy.address());
        let contenders = [Contender::new(direct.clone(), None), Contender::new(through, Some(proxy.pid()))];
        let counters = Counters::of_lab(cluster, APP_USER, patience);
        let counters = counters.map_err(|(server, source)| DemoError::Counters { server, source })?;
        let server_pids = cluster.servers().iter().filter_map(|server| server.pid()).collect();
        Ok(Lab { contenders, counters, server_pids })
    }
}

fn measure(plan: &Plan, mut lab: Lab, patience: &Patience) -> Result<Run, AbError> {
    println!("running  {} for {:.0} s", plan.name(), plan.time.as_secs_f64());
    let mut live = Live::new(Style::Human, plan.time, plan);
    live.only_bar();
    let setting = Setting {
        plan,
        effort: Effort { max_time: plan.time, precision: None, slice: SLICE },
        patience,
        counters: Some(&mut lab.counters),
        server_pids: lab.server_pids,
        strict: false,
        watch: &mut |progress| live.show(&progress),
    };
    let run = ab::run(&mut lab.contenders, setting);
    live.finish();
    run
}

fn store(document: &Document, page: Option<&Path>) -> Result<(), DocumentError> {
    let page = page.map_or_else(|| lab_base().join("demo.html"), Path::to_owned);
    let json = page.with_extension("json");
    document.write(&json)?;
    report::write(&page, html::page(std::slice::from_ref(document)).as_bytes())?;
    println!("\nreport   {}\n         {}", page.display(), json.display());
    Ok(())
}

/// Tells how to use what is up, and waits for Ctrl-C or SIGTERM.
async fn keep(cluster: &Cluster, proxy: &Proxy, patience: &Patience) {
    println!("\nCluster and Telamon stay up until you press Ctrl-C. Try them:");
    println!("  mysql --protocol=tcp -h 127.0.0.1 -P {} -u app -papp sbtest", proxy.address().port());
    for server in cluster.servers() {
        let (name, port) = (server.name(), server.address().port());
        println!("  mysql --protocol=tcp -h 127.0.0.1 -P {port} -u app -papp sbtest   # {name}");
    }
    println!("  configuration: {}", proxy.config_path().display());
    while !patience.stop.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
