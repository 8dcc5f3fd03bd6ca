//! One server program of the cluster as a process: its data directory, its start, its signals, its end.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use rustix::process::Signal;

use super::directory::{self, Template};
use super::error::LabError;
use super::process::{ChildProcess, bound_command};
use super::program::Program;
use super::settings::ServerPlan;
use super::{Flavor, mariadb, mysql};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// A mysqld or mariadbd that may be started, ended and started again on the same port and data.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) flavor: Flavor,
    pub(crate) program: Program,
    pub(crate) plan: ServerPlan,
    child: Mutex<Option<Arc<ChildProcess>>>,
}

impl Daemon {
    pub(crate) fn new(flavor: Flavor, program: Program, plan: ServerPlan) -> Daemon {
        Daemon { flavor, program, plan, child: Mutex::new(None) }
    }

    /// The running child, or None.
    pub(crate) fn child(&self) -> Option<Arc<ChildProcess>> {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).clone();
        child.filter(|child| child.exit_status().is_none())
    }

    /// Starts the program and waits until it answers.
    pub(crate) async fn start(&self) -> Result<(), LabError> {
        if self.child().is_some() {
            return Err(LabError::AlreadyRunning { server: self.plan.name.into() });
        }
        let arguments = match self.flavor {
            Flavor::Mysql => mysql::arguments(&self.program, &self.plan),
            Flavor::MariaDb | Flavor::Embedded => mariadb::arguments(&self.plan),
        };
        self.launch(&arguments).await
    }

    async fn launch(&self, arguments: &[String]) -> Result<(), LabError> {
        let log_path = self.plan.log();
        let log = OpenOptions::new().create(true).append(true).open(&log_path);
        let log = log.map_err(LabError::file("create", &log_path))?;
        let second = log.try_clone().map_err(LabError::file("open", &log_path))?;
        let mut command = bound_command(&self.program.path);
        command
            .arg("--no-defaults")
            .args(arguments)
            .current_dir(&self.plan.directory)
            .stdout(log)
            .stderr(second);
        let child = ChildProcess::spawn(command).map_err(|source| LabError::HelperMissing {
            program: "setpriv".into(),
            mend: "apt-get install util-linux",
            source,
        })?;
        let child = Arc::new(child);
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&child));
        self.wait_until_it_answers(&child).await
    }

    async fn wait_until_it_answers(&self, child: &ChildProcess) -> Result<(), LabError> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            if let Some(status) = child.exit_status() {
                let server = self.plan.name.to_owned();
                return Err(LabError::ServerDied {
                    server,
                    status: status.to_string(),
                    log: self.log_tail(),
                });
            }
            if let Ok(connection) = Conn::new(self.root_over_socket()).await {
                drop(connection.disconnect().await);
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(self.timeout("answer", START_LIMIT));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// root over the Unix socket, without a password.
    pub(crate) fn root_over_socket(&self) -> Opts {
        OptsBuilder::default().socket(self.plan.socket().to_str()).user(Some("root")).into()
    }

    /// SIGTERM, and SIGKILL where that is not enough.
    pub(crate) async fn stop(&self) -> Result<(), LabError> {
        let child = self.running()?;
        self.signal(&child, Signal::TERM, "SIGTERM")?;
        if child.wait(STOP_LIMIT).await.is_none() {
            return self.kill().await;
        }
        Ok(())
    }

    /// SIGKILL, and waits until the process is gone.
    pub(crate) async fn kill(&self) -> Result<(), LabError> {
        let child = self.running()?;
        self.signal(&child, Signal::KILL, "SIGKILL")?;
        child.wait(STOP_LIMIT).await.map(|_| ()).ok_or_else(|| self.timeout("end after SIGKILL", STOP_LIMIT))
    }

    pub(crate) fn suspend(&self) -> Result<(), LabError> {
        self.signal(&*self.running()?, Signal::STOP, "SIGSTOP")
    }

    pub(crate) fn resume(&self) -> Result<(), LabError> {
        self.signal(&*self.running()?, Signal::CONT, "SIGCONT")
    }

    fn running(&self) -> Result<Arc<ChildProcess>, LabError> {
        self.child().ok_or_else(|| LabError::NotRunning { server: self.plan.name.into() })
    }

    fn signal(&self, child: &ChildProcess, signal: Signal, name: &'static str) -> Result<(), LabError> {
        let server = || self.plan.name.to_owned();
        child.signal(signal).map_err(|source| LabError::Signal {
            server: server(),
            signal: name,
            pid: child.pid(),
            source,
        })
    }

    fn timeout(&self, action: &'static str, limit: Duration) -> LabError {
        let server = self.plan.name.to_owned();
        LabError::Timeout { server, action, seconds: limit.as_secs(), log: self.log_tail() }
    }

    /// The last lines of the error log.
    fn log_tail(&self) -> String {
        let text = fs::read(self.plan.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Runs statements one by one as root over the socket.
    pub(crate) async fn run(&self, statements: &[impl AsRef<str>]) -> Result<(), LabError> {
        let mut root = self.connect().await?;
        for statement in statements {
            let done = root.query_drop(statement.as_ref()).await;
            done.map_err(|source| self.refused(statement.as_ref(), source))?;
        }
        drop(root.disconnect().await);
        Ok(())
    }

    async fn connect(&self) -> Result<Conn, LabError> {
        let connected = Conn::new(self.root_over_socket()).await;
        connected.map_err(|source| self.refused("connect as root", source))
    }

    fn refused(&self, statement: &str, source: mysql_async::Error) -> LabError {
        LabError::Statement { server: self.plan.name.to_owned(), statement: statement.to_owned(), source }
    }

    /// Makes this server a replica of the one on `port`.
    pub(crate) async fn follow(&self, port: u16) -> Result<(), LabError> {
        match self.flavor {
            Flavor::Mysql => self.run(&mysql::follow(port)).await,
            Flavor::MariaDb | Flavor::Embedded => self.run(&mariadb::follow(port)).await,
        }
    }

    /// Waits until this primary knows `wanted` semi-sync replicas; at once where the server has no semi-sync.
    pub(crate) async fn wait_for_semi_sync(&self, wanted: usize) -> Result<(), LabError> {
        let statement = match self.flavor {
            Flavor::Mysql => mysql::SEMI_SYNC_REPLICAS,
            Flavor::MariaDb | Flavor::Embedded => mariadb::SEMI_SYNC_REPLICAS,
        };
        let mut root = self.connect().await?;
        let deadline = Instant::now() + CATCH_UP_LIMIT;
        loop {
            let row: Option<(String, usize)> =
                root.query_first(statement).await.map_err(|source| self.refused(statement, source))?;
            if row.is_none_or(|(_, known)| known >= wanted) {
                drop(root.disconnect().await);
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(self.timeout("see its replicas", CATCH_UP_LIMIT));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// The GTIDs of all that this primary has written; empty before the first write.
    pub(crate) async fn position(&self) -> Result<String, LabError> {
        let statement = match self.flavor {
            Flavor::Mysql => mysql::POSITION,
            Flavor::MariaDb | Flavor::Embedded => mariadb::POSITION,
        };
        let mut root = self.connect().await?;
        let position: Option<String> =
            root.query_first(statement).await.map_err(|source| self.refused(statement, source))?;
        drop(root.disconnect().await);
        Ok(position.unwrap_or_default().replace('\n', ""))
    }

    /// Waits until this replica has applied all of `position`.
    pub(crate) async fn wait_for_position(&self, position: &str) -> Result<(), LabError> {
        let statement = match self.flavor {
            Flavor::Mysql => mysql::caught_up(position, CATCH_UP_LIMIT.as_secs()),
            Flavor::MariaDb | Flavor::Embedded => mariadb::caught_up(position, CATCH_UP_LIMIT.as_secs()),
        };
        let mut root = self.connect().await?;
        let answer: Option<i64> =
            root.query_first(&statement).await.map_err(|source| self.refused(&statement, source))?;
        drop(root.disconnect().await);
        match answer {
            Some(0) => Ok(()),
            _ => Err(self.timeout("catch up with the primary", CATCH_UP_LIMIT)),
        }
    }

    /// This program's template: a data directory with accounts, made here where it is missing.
    pub(crate) async fn template(&self, base: &Path) -> Result<PathBuf, LabError> {
        let version = self.program.version.replace(|c: char| !c.is_ascii_alphanumeric(), ".");
        let name = format!("{}-{version}-{LAYOUT}", self.flavor.name());
        let base = base.to_owned();
        // Blocking: another process may be making it.
        let found = tokio::task::spawn_blocking(move || directory::template(&base, &name)).await;
        match found.expect("looking for a file does not panic")? {
            Template::Ready(path) => Ok(path),
            Template::Missing(making) => {
                let plan = ServerPlan { directory: making.partial.clone(), ..self.plan.clone() };
                Daemon::new(self.flavor, self.program.clone(), plan).install().await?;
                making.finish()
            }
        }
    }

    /// Copies the template to this server's data directory.
    pub(crate) async fn make_data(&self, template: &Path) -> Result<(), LabError> {
        let (from, to) = (template.join("data"), self.plan.data());
        let copy = move || directory::copy_tree(&from, &to).map_err(LabError::file("copy to", &to));
        tokio::task::spawn_blocking(copy).await.expect("a copy does not panic")
    }

    /// Makes the system tables and the accounts, then removes what must not be the same in two servers.
    async fn install(self) -> Result<(), LabError> {
        let (mut arguments, accounts) = match self.flavor {
            Flavor::Mysql => {
                mysql::install(&self.program, &self.plan)?;
                (mysql::setup_arguments(&self.program, &self.plan), mysql::ACCOUNTS)
            }
            Flavor::MariaDb | Flavor::Embedded => {
                mariadb::install(&self.plan)?;
                (mariadb::setup_arguments(&self.plan), mariadb::ACCOUNTS)
            }
        };
        // Whole pages on disk, so that a copy needs no recovery.
        arguments.push("--innodb-fast-shutdown=0".to_owned());
        self.launch(&arguments).await?;
        self.run(accounts).await?;
        if self.flavor == Flavor::Mysql {
            if mysql::has_native_password(&self.program) {
                self.run(mysql::NATIVE_ACCOUNTS).await?;
            }
            for statement in mysql::OPTIONAL {
                drop(self.run(&[statement]).await);
            }
        }
        self.stop().await?;
        for file in ["auto.cnf", "server-cert.pem", "server-key.pem", "ca.pem"] {
            drop(fs::remove_file(self.plan.data().join(file)));
        }
        Ok(())
    }
}

/// Counts up when what a template contains changes.
const LAYOUT: u32 = 1;
