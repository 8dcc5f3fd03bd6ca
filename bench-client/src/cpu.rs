//! CPU time, as the kernel counts it in `/proc`.

use std::fs;
use std::time::Duration;

/// CPU time of the whole machine since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machine {
    /// All but idle and waiting for disks.
    pub busy: Duration,
    /// Cores times time.
    pub total: Duration,
}

/// User and system time of all threads of a process, also of those that have ended; None where it is not running.
#[must_use]
pub fn of_process(pid: u32) -> Option<Duration> {
    process_ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// User and system time of this process.
#[must_use]
pub fn of_this_process() -> Duration {
    of_process(std::process::id()).unwrap_or_default()
}

/// The machine's.
#[must_use]
pub fn of_machine() -> Option<Machine> {
    machine_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

/// "proc_pid_stat(5)": the name in brackets may hold anything; utime and stime are the 12th and 13th field behind it.
fn process_ticks(stat: &str) -> Option<Duration> {
    let behind_name = stat.rsplit_once(')')?.1;
    let mut fields = behind_name.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(ticks(next()? + next()?))
}

/// "proc_stat(5)": user, nice, system, idle, iowait, irq, softirq, steal.
fn machine_ticks(stat: &str) -> Option<Machine> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let fields: Vec<u64> =
        line.split_whitespace().skip(1).take(8).filter_map(|field| field.parse().ok()).collect();
    let total: u64 = fields.iter().sum();
    let idle = fields.get(3)? + fields.get(4)?;
    Some(Machine { busy: ticks(total - idle), total: ticks(total) })
}

fn ticks(count: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_nanos(count.saturating_mul(1_000_000_000 / per_second))
}

/// The process that listens on a TCP port of this machine, where this user may see it.
#[must_use]
pub fn listener_of(port: u16) -> Option<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let sockets: Vec<String> = tables
        .iter()
        .flat_map(|table| listening_inodes(table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    let pids =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut pids = pids.filter(|pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
        links.any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
    });
    pids.next()
}

/// "proc_pid_net(5)": local address, state 0A for listening, and the inode in the tenth field.
fn listening_inodes(table: &str, port: u16) -> Vec<&str> {
    let suffix = format!(":{port:04X}");
    let lines = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = fields.get(1)?.ends_with(&suffix) && *fields.get(3)? == "0A";
        listens.then(|| fields.get(9).copied())?
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_whose_name_has_brackets_and_blanks_is_read() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194304 100 0 0 0 250 150 0 0 20 0 1 0 5 0 0";
        assert_eq!(process_ticks(stat), Some(Duration::from_secs(4)));
        assert_eq!(process_ticks("nonsense"), None);
    }

    #[test]
    fn waiting_for_disks_is_idle() {
        let machine = machine_ticks("cpu  100 0 100 500 300 0 0 0 0 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!((machine.busy, machine.total), (Duration::from_secs(2), Duration::from_secs(10)));
    }

    #[test]
    fn this_process_and_its_listener_are_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listener_of(port), Some(std::process::id()));
        drop(listener);
        assert_eq!(listener_of(port), None);
        assert!(of_process(std::process::id()).is_some() && of_machine().is_some());
        assert_eq!(of_process(u32::MAX), None);
    }
}
