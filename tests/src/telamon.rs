//! The real program, as a child of the test.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use telamon_bench::lab::Cluster;
use tempfile::TempDir;

use crate::raw::{Client, Endpoint, Login, Refused};
use crate::{cluster, wait_for};

const START_LIMIT: Duration = Duration::from_secs(20);

/// The `telamon` program of this build, built first where it is not up to date. `TELAMON_BIN` names another.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(path) = std::env::var_os("TELAMON_BIN") {
            return path.into();
        }
        // target/PROFILE/deps/THEME-HASH is this process.
        let here = std::env::current_exe().expect("a process knows its program");
        let profile = here.parent().and_then(|deps| deps.parent()).expect("test programs are in deps/");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        // The whole workspace's features, as in the tests' own build: its dependencies are not built twice.
        let mut build = Command::new(cargo);
        build
            .args(["build", "--quiet", "--workspace", "--bin", "telamon"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        build.arg("--target-dir").arg(profile.parent().expect("a profile is in the target directory"));
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let built = build.status().expect("cargo can be run");
        assert!(built.success(), "telamon cannot be built: {built}");
        profile.join("telamon")
    })
}

/// `telamon` with these arguments, to be run to its end by the test.
#[must_use]
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments);
    command
}

/// A port on the loopback interface that nothing listens on: below those that the kernel gives to outgoing
/// connections, and apart from the lab's.
///
/// # Panics
/// All are taken.
#[must_use]
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let seed = u16::try_from(std::process::id() % 9_000).expect("below 9000");
    let mut candidates =
        (0..9_000).map(|_| 10_000 + (seed + NEXT.fetch_add(1, Ordering::Relaxed) % 9_000) % 9_000);
    let free = candidates.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.expect("one of nine thousand ports is free")
}

/// A running Telamon; it is killed when dropped, and at the end of this process.
pub struct Telamon {
    /// Where it listens.
    pub address: SocketAddr,
    /// For what a test keeps beside the configuration: `telamon.toml`, `log`.
    pub directory: TempDir,
    pid: u32,
    ended: Mutex<Receiver<ExitStatus>>,
}

impl Telamon {
    /// Starts it in front of the shared cluster. `additions` go to the end of the configuration, inside the
    /// `[[users]]` table of the application.
    ///
    /// # Panics
    /// It does not serve; the text is its log.
    #[must_use]
    pub fn start(additions: &str) -> Telamon {
        Telamon::in_front_of(cluster(), additions)
    }

    /// The same in front of a cluster of the test's own.
    #[must_use]
    pub fn in_front_of(cluster: &Cluster, additions: &str) -> Telamon {
        Telamon::with(|port, _| format!("{}{additions}", cluster.telamon_toml(port)))
    }

    /// Starts it with the configuration that `configure` makes of its port and of a directory for its files.
    #[must_use]
    pub fn with(configure: impl FnOnce(u16, &std::path::Path) -> String) -> Telamon {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let port = free_port();
        let file = directory.path().join("telamon.toml");
        fs::write(&file, configure(port, directory.path())).expect("the directory is ours");
        let log = File::create(directory.path().join("log")).expect("the directory is ours");
        let (pid, ended) = spawn(file, log);
        let telamon =
            Telamon { address: (Ipv4Addr::LOCALHOST, port).into(), directory, pid, ended: ended.into() };
        wait_for("telamon serves", START_LIMIT, || {
            if let Some(end) = telamon.end() {
                panic!("telamon ended with {end}:\n{}", telamon.log());
            }
            TcpStream::connect(telamon.address).ok()
        });
        telamon
    }

    /// Where clients connect.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.address.into()
    }

    /// A new client, logged in.
    ///
    /// # Panics
    /// It is refused.
    #[must_use]
    pub fn connect(&self, login: &Login) -> Client {
        self.try_connect(login).unwrap_or_else(|refused| panic!("{refused}\n{}", self.log()))
    }

    /// A new client.
    ///
    /// # Errors
    /// Telamon's or the server's refusal.
    pub fn try_connect(&self, login: &Login) -> Result<Client, Refused> {
        Client::connect(&self.endpoint(), login)
    }

    /// All that it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// The log's lines that contain `text`.
    #[must_use]
    pub fn log_lines(&self, text: &str) -> Vec<String> {
        self.log().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }

    /// Its resident memory in KiB.
    #[must_use]
    pub fn rss(&self) -> u64 {
        self.status_field("VmRSS:")
    }

    /// The most resident memory that it ever had, in KiB.
    #[must_use]
    pub fn peak_rss(&self) -> u64 {
        self.status_field("VmHWM:")
    }

    fn status_field(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).expect("telamon runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux gives it");
        line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
    }

    /// How many files and sockets it has open.
    #[must_use]
    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid)).expect("telamon runs").count()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// It does not run.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).expect("a process number");
        kill_process(pid, signal).expect("telamon runs");
    }

    /// How it ended, if it did and nobody has asked yet.
    fn end(&self) -> Option<ExitStatus> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It still runs after `limit`.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> ExitStatus {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.recv_timeout(limit).unwrap_or_else(|_| panic!("telamon runs after {limit:?}\n{}", self.log()))
    }
}

impl Drop for Telamon {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("telamon's log:\n{}", self.log());
        }
        // The child is not reaped before its end was taken from here, so that the number is still its own.
        if self.end().is_none()
            && let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
        {
            // It may end by itself in this moment.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Starts the program on a thread that lives as long as it: the kernel's parent-death signal, by which the program
/// ends with this process however that ends, is sent when the thread that started it ends.
fn spawn(config: PathBuf, log: File) -> (u32, Receiver<ExitStatus>) {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program()).arg("run").arg("--config").arg(config);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let (started, start) = mpsc::sync_channel(1);
    let (ended, end) = mpsc::channel();
    thread::spawn(move || {
        let mut child = command.spawn().expect("setpriv of util-linux can be run");
        // The receiver waits for nothing else.
        let _ = started.send(child.id());
        let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(0));
        // Nobody may be left who wants to know.
        let _ = ended.send(status);
    });
    (start.recv().expect("the child was started"), end)
}
