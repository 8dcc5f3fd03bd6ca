//! A cluster that outlives the command that started it: `cluster up`, `status` and `down`.
//!
//! `up` starts this program again as a *keeper*, which holds the cluster, writes what is up to a state file, and
//! waits for SIGTERM. A lock that the keeper holds says whether it lives, so `down` can only ever end a keeper.
//!
//! ```text
//!   up ──starts──▶ keeper: lock ▶ start servers ▶ state file ▶ "ready" ▶ … SIGTERM ▶ end servers ▶ no state file
//!   down ─────────SIGTERM, then waits for the lock
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};

use crate::lab::{Cluster, Flavor, LabError, Options, lab_base};
use crate::report::{Align, Table};

/// What is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The keeper's process.
    pub keeper_pid: u32,
    /// The flavor's name.
    pub flavor: String,
    /// The servers' version.
    pub version: String,
    /// The servers, primary first.
    pub servers: Vec<ServerState>,
    /// A ready configuration for `telamon run`.
    pub telamon_toml: PathBuf,
}

/// One server that is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// `primary` or `replica`.
    pub role: String,
    /// Its TCP address.
    pub address: String,
    /// Its Unix socket; None where it is embedded.
    pub socket: Option<PathBuf>,
    /// Its process; None where it is embedded.
    pub pid: Option<u32>,
}

/// Why a background cluster could not be started, seen or ended.
#[derive(Debug, Error)]
pub enum BackgroundError {
    /// A file of the keeper.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Another flavor is up.
    #[error("a cluster of flavor {running} is up; end it first with `telamon-bench cluster down`")]
    OtherFlavor {
        /// The flavor that is up.
        running: String,
    },
    /// A keeper holds the lock, but has not written its state.
    #[error("another `cluster up` is at work (or one is ending); try again in a few seconds")]
    Busy,
    /// The keeper gave up.
    #[error("{0}")]
    Keeper(String),
    /// The cluster.
    #[error(transparent)]
    Lab(#[from] LabError),
}

struct Files {
    lock: PathBuf,
    state: PathBuf,
    toml: PathBuf,
}

impl Files {
    fn new(base: &Path) -> Files {
        Files {
            lock: base.join("background.lock"),
            state: base.join("background.json"),
            toml: base.join("telamon.toml"),
        }
    }

    /// Opens the lock file.
    fn open_lock(&self) -> Result<File, BackgroundError> {
        let base = self.lock.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(base).map_err(failed("create", base))?;
        File::create(&self.lock).map_err(failed("create", &self.lock))
    }

    /// What is up, or None where no keeper lives.
    fn running(&self) -> Result<Option<State>, BackgroundError> {
        match self.open_lock()?.try_lock() {
            Ok(()) => Ok(None),
            Err(TryLockError::Error(source)) => Err(failed("lock", &self.lock)(source)),
            Err(TryLockError::WouldBlock) => {
                let text = fs::read(&self.state).map_err(|_| BackgroundError::Busy)?;
                serde_json::from_slice(&text).map(Some).map_err(|_| BackgroundError::Busy)
            }
        }
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackgroundError {
    let path = path.to_owned();
    move |source| BackgroundError::File { action, path, source }
}

/// The cluster that is up, if one is.
///
/// # Errors
/// [`BackgroundError::Busy`] while one is starting or ending.
pub fn status() -> Result<Option<State>, BackgroundError> {
    Files::new(&lab_base()).running()
}

/// Starts a cluster that stays up; one of this flavor that is up already is the answer. None takes the flavor that
/// is up, or the best that is installed.
///
/// # Errors
/// Another flavor is up, or why it did not start.
pub fn up(asked: Option<Flavor>) -> Result<State, BackgroundError> {
    if let Some(state) = status()? {
        return match asked {
            Some(flavor) if flavor.name() != state.flavor => {
                Err(BackgroundError::OtherFlavor { running: state.flavor })
            }
            _ => Ok(state),
        };
    }
    let flavor = asked.unwrap_or_else(Flavor::best);
    let program = std::env::current_exe().map_err(failed("find", Path::new("this program")))?;
    // A session of its own: the end of this terminal is not the end of the cluster.
    let mut command = Command::new("setsid");
    command.arg(&program).args(["cluster", "keep", "--flavor", flavor.name()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut keeper =
        command.spawn().map_err(failed("run setsid (apt-get install util-linux) for", &program))?;
    let mut words = String::new();
    if let Some(output) = keeper.stdout.take() {
        let mut output = BufReader::new(output);
        // The keeper says "ready" and goes on, or says why not, in as many lines as it takes, and ends.
        while output.read_line(&mut words).is_ok_and(|read| read > 0) && words.trim() != READY {}
    }
    if words.trim() == READY {
        return status()?.ok_or(BackgroundError::Busy);
    }
    // It has closed its output, so it is ending.
    drop(keeper.wait());
    let words = words.trim();
    let words = if words.is_empty() { "the cluster's keeper ended without a word" } else { words };
    Err(BackgroundError::Keeper(words.to_owned()))
}

const READY: &str = "ready";

/// Ends the cluster that is up and waits until it is gone; false where none was up.
///
/// # Errors
/// [`BackgroundError::Busy`] while one is starting.
pub fn down() -> Result<bool, BackgroundError> {
    let files = Files::new(&lab_base());
    let Some(state) = files.running()? else { return Ok(false) };
    if let Some(pid) = i32::try_from(state.keeper_pid).ok().and_then(Pid::from_raw) {
        // The keeper held the lock a moment ago. If it has ended since, that is what was wanted.
        let _ = kill_process(pid, Signal::TERM);
    }
    files.open_lock()?.lock().map_err(failed("wait for", &files.lock))?;
    Ok(true)
}

/// The keeper: holds a cluster until SIGTERM or SIGINT. Says "ready" on stdout when it is up.
///
/// # Errors
/// Another keeper lives, or why the cluster did not start.
pub async fn keep(flavor: Flavor) -> Result<(), BackgroundError> {
    let files = Files::new(&lab_base());
    let lock = files.open_lock()?;
    lock.try_lock().map_err(|_| BackgroundError::Busy)?;
    // What a keeper that was killed left behind.
    drop(fs::remove_file(&files.state));
    let listen = |kind| signal(kind).map_err(failed("listen for", Path::new("signals")));
    let (mut terminated, mut interrupted) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let cluster = tokio::select! {
        started = Cluster::start(flavor, Options::default()) => started?,
        _ = terminated.recv() => return Ok(()),
        _ = interrupted.recv() => return Ok(()),
    };
    fs::write(&files.toml, cluster.telamon_toml(1234)).map_err(failed("write", &files.toml))?;
    let text = serde_json::to_vec_pretty(&state(&cluster, &files)).expect("plain text and numbers");
    let partial = files.state.with_extension("partial");
    fs::write(&partial, text).map_err(failed("write", &partial))?;
    fs::rename(&partial, &files.state).map_err(failed("rename to", &files.state))?;
    // Where the one who asked has gone, the cluster still is wanted.
    drop(writeln!(io::stdout(), "{READY}"));
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    drop(fs::remove_file(&files.state));
    cluster.stop().await?;
    drop(lock);
    Ok(())
}

fn state(cluster: &Cluster, files: &Files) -> State {
    let server = |server: &crate::lab::Server| ServerState {
        name: server.name().to_owned(),
        role: server.role().name().to_owned(),
        address: server.address().to_string(),
        socket: server.socket(),
        pid: server.pid(),
    };
    State {
        keeper_pid: std::process::id(),
        flavor: cluster.flavor().name().to_owned(),
        version: cluster.version().to_owned(),
        servers: cluster.servers().iter().map(server).collect(),
        telamon_toml: files.toml.clone(),
    }
}

/// What a user needs to know of a cluster that is up.
#[must_use]
pub fn describe(state: &State) -> String {
    let mut table = Table::new(&[
        ("server", Align::Left),
        ("role", Align::Left),
        ("address", Align::Left),
        ("pid", Align::Right),
        ("socket", Align::Left),
    ]);
    for server in &state.servers {
        table.row([
            server.name.clone(),
            server.role.clone(),
            server.address.clone(),
            server.pid.map_or("-".to_owned(), |pid| pid.to_string()),
            server.socket.as_ref().map_or("-".to_owned(), |path| path.display().to_string()),
        ]);
    }
    let mut accounts =
        Table::new(&[("account", Align::Left), ("password", Align::Left), ("for", Align::Left)]);
    for (user, password, what) in [
        ("app", "app", "applications: all privileges"),
        ("root", "root", "administration; over the socket without password"),
        ("monitor", "monitor", "Telamon's monitor: looks, changes nothing"),
    ] {
        accounts.row([user.to_owned(), password.to_owned(), what.to_owned()]);
    }
    let (flavor, version) = (&state.flavor, &state.version);
    let toml = state.telamon_toml.display();
    format!(
        "cluster: {flavor} {version}, kept by pid {}\n\n{table}\n{accounts}\nready configuration: {toml}\n  telamon run --config {toml}\n",
        state.keeper_pid
    )
}
