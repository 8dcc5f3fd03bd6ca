//! One child process that ends with its parent, however the parent ends.
//!
//! The kernel's parent-death signal (set by util-linux's `setpriv`, since setting it from here would need unsafe
//! code) is sent when the *thread* that forked ends. A runtime's worker threads come and go, so each child has a
//! thread of its own that forks it and waits for it: it lives exactly as long as the child or this process.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;

/// A running or ended child; the last handle kills it when dropped.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    pid: u32,
    exit: watch::Receiver<Option<ExitStatus>>,
}

/// A command that dies with the thread that spawns it. Ctrl-C in a terminal does not reach it: its own group.
pub(crate) fn bound_command(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program).stdin(Stdio::null()).process_group(0);
    command
}

impl ChildProcess {
    /// Starts `command` (made by [`bound_command`]) on a thread that lives as long as the child.
    pub(crate) fn spawn(mut command: Command) -> io::Result<ChildProcess> {
        let (started, start) = mpsc::sync_channel(1);
        let (ended, exit) = watch::channel(None);
        thread::Builder::new().name("lab-child".into()).spawn(move || match command.spawn() {
            Err(error) => drop(started.send(Err(error))),
            Ok(mut child) => {
                drop(started.send(Ok(child.id())));
                let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(0));
                ended.send_replace(Some(status));
            }
        })?;
        let pid = start.recv().map_err(io::Error::other)??;
        Ok(ChildProcess { pid, exit })
    }

    /// The operating system's number for the child.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// How the child ended, or None while it runs.
    pub(crate) fn exit_status(&self) -> Option<ExitStatus> {
        *self.exit.borrow()
    }

    /// Sends a signal; a child that has ended is no error.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        if self.exit_status().is_some() {
            return Ok(());
        }
        match i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            Some(pid) => Ok(kill_process(pid, signal)?),
            None => Ok(()),
        }
    }

    /// Waits for the child's end, at most `limit`; None where it still runs.
    pub(crate) async fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let mut exit = self.exit.clone();
        let ended = tokio::time::timeout(limit, exit.wait_for(Option::is_some)).await;
        ended.ok().and_then(|status| status.ok().and_then(|status| *status))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        drop(self.signal(Signal::KILL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_child_ends_by_the_signal_it_is_sent() {
        let mut command = bound_command(Path::new("sleep"));
        command.arg("60");
        let child = ChildProcess::spawn(command).unwrap();
        assert_eq!(child.exit_status(), None);
        child.signal(Signal::TERM).unwrap();
        let status = child.wait(Duration::from_secs(10)).await.unwrap();
        assert_eq!(status.signal(), Some(15));
        child.signal(Signal::TERM).unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_of_the_spawn() {
        let error = ChildProcess::spawn(Command::new("/nonexistent/mysqld")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_child_outlives_the_runtime_thread_that_started_it() {
        let child = thread::spawn(|| {
            let mut command = bound_command(Path::new("sleep"));
            command.arg("60");
            ChildProcess::spawn(command).unwrap()
        })
        .join()
        .unwrap();
        assert_eq!(child.wait(Duration::from_millis(100)).await, None);
    }
}
