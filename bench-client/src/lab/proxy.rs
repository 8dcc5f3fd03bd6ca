//! The proxy as a process: started with a configuration, ended with its parent.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use thiserror::Error;
use tokio::net::TcpStream;

use super::directory::{LabDirectory, lab_base};
use super::error::LabError;
use super::process::{ChildProcess, bound_command};

const START_LIMIT: Duration = Duration::from_secs(20);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// Why the proxy could not be started.
#[derive(Debug, Error)]
pub enum ProxyError {
    /// No program.
    #[error(
        "no telamon program found: looked for {looked_for}; build it with `cargo build --release`, or name it with --telamon PATH"
    )]
    Missing {
        /// The places that were tried.
        looked_for: String,
    },
    /// The port is in use.
    #[error(
        "cannot listen on {address}: {source}; end the program that uses the port (`ss -ltnp` names it) or choose another with --port"
    )]
    PortTaken {
        /// The address the proxy should listen on.
        address: SocketAddr,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// The lab's directory.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Its configuration or log could not be written, or the program not run.
    #[error("cannot {action} {path}: {source}")]
    Start {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// It ended by itself.
    #[error("{program} ended while starting ({status}); it said:\n{log}")]
    Died {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: String,
        /// The end of its output.
        log: String,
    },
    /// It runs but does not listen.
    #[error("{program} did not listen on {address} within {seconds} s; it said:\n{log}")]
    Timeout {
        /// The program.
        program: PathBuf,
        /// The address it should listen on.
        address: SocketAddr,
        /// How long was waited, in seconds.
        seconds: u64,
        /// The end of its output.
        log: String,
    },
}

/// A running `telamon run`.
#[derive(Debug)]
pub struct Proxy {
    child: ChildProcess,
    program: PathBuf,
    address: SocketAddr,
    // The configuration and the log; removed with this.
    directory: LabDirectory,
}

impl Proxy {
    /// The program to start: the one named, or the one beside this program, or the one in PATH.
    ///
    /// # Errors
    /// [`ProxyError::Missing`] where there is none.
    pub fn find(named: Option<&Path>) -> Result<PathBuf, ProxyError> {
        let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("telamon")));
        let in_path = std::env::var_os("PATH").unwrap_or_default();
        let candidates: Vec<PathBuf> = match named {
            Some(path) => vec![path.to_owned()],
            None => beside
                .iter()
                .cloned()
                .chain(std::env::split_paths(&in_path).map(|d| d.join("telamon")))
                .collect(),
        };
        candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| ProxyError::Missing {
            looked_for: match (named, beside) {
                (Some(path), _) => path.display().to_string(),
                (None, Some(beside)) => format!("{}, and telamon in PATH", beside.display()),
                (None, None) => "telamon in PATH".to_owned(),
            },
        })
    }

    /// Whether `address` can be listened on now.
    ///
    /// # Errors
    /// [`ProxyError::PortTaken`] with the operating system's reason.
    pub fn check_port(address: SocketAddr) -> Result<(), ProxyError> {
        TcpListener::bind(address).map(drop).map_err(|source| ProxyError::PortTaken { address, source })
    }

    /// Starts `program run --config FILE` with this configuration and waits until `address` accepts connections.
    ///
    /// # Errors
    /// Why it did not come to listen.
    pub async fn start(
        program: &Path,
        configuration: &str,
        address: SocketAddr,
    ) -> Result<Proxy, ProxyError> {
        Proxy::check_port(address)?;
        // Blocking: another process may hold the lock while it makes a template.
        let made = tokio::task::spawn_blocking(|| LabDirectory::create(&lab_base())).await;
        let directory = made.expect("making a directory does not panic")?;
        let config_path = directory.path().join("telamon.toml");
        fs::write(&config_path, configuration).map_err(start_error("write", &config_path))?;
        let log_path = directory.path().join("telamon.log");
        let log = File::create(&log_path).map_err(start_error("create", &log_path))?;
        let second = log.try_clone().map_err(start_error("open", &log_path))?;
        let mut command = bound_command(program);
        command.arg("run").arg("--config").arg(&config_path).stdout(log).stderr(second);
        let child = ChildProcess::spawn(command).map_err(start_error("run setpriv for", program))?;
        let proxy = Proxy { child, program: program.to_owned(), address, directory };
        proxy.wait_until_it_listens().await?;
        Ok(proxy)
    }

    async fn wait_until_it_listens(&self) -> Result<(), ProxyError> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let (program, log) = (|| self.program.clone(), || self.log_tail());
            if let Some(status) = self.child.exit_status() {
                return Err(ProxyError::Died { program: program(), status: status.to_string(), log: log() });
            }
            if TcpStream::connect(self.address).await.is_ok() {
                return Ok(());
            }
            if Instant::now() > deadline {
                let (address, seconds) = (self.address, START_LIMIT.as_secs());
                return Err(ProxyError::Timeout { program: program(), address, seconds, log: log() });
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The operating system's number of its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// The configuration it was started with.
    #[must_use]
    pub fn config_path(&self) -> PathBuf {
        self.directory.path().join("telamon.toml")
    }

    /// The last lines of what it wrote.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let text = fs::read(self.directory.path().join("telamon.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() {
            return "(nothing)".to_owned();
        }
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Ends it by SIGTERM, by SIGKILL where it has not drained after 10 s, and waits for its end.
    pub async fn stop(self) {
        // A process that is gone needs no signal.
        drop(self.child.signal(Signal::TERM));
        if self.child.wait(STOP_LIMIT).await.is_none() {
            drop(self.child.signal(Signal::KILL));
            self.child.wait(STOP_LIMIT).await;
        }
    }
}

fn start_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ProxyError {
    let path = path.to_owned();
    move |source| ProxyError::Start { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Proxy::find(Some(Path::new("/nonexistent/telamon"))).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/telamon") && error.contains("--telamon"), "{error}");
    }

    #[test]
    fn a_taken_port_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let error = Proxy::check_port(address).unwrap_err().to_string();
        assert!(error.contains(&address.to_string()) && error.contains("--port"), "{error}");
    }

    #[tokio::test]
    async fn a_proxy_that_ends_at_once_is_reported_with_what_it_said() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("telamon");
        fs::write(&program, "#!/bin/sh\necho \"unknown key in $3\"\nexit 2\n").unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let port = super::super::port::free_ports(1).unwrap()[0];
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let error = Proxy::start(&program, "listen = []", address).await.unwrap_err().to_string();
        assert!(error.contains("exit status: 2") && error.contains("unknown key in"), "{error}");
    }
}
