//! What the measuring commands share: who is asked for counters, and where reports go.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use telamon_bench::client::Patience;
use telamon_bench::counters::Counters;
use telamon_bench::live::Style;
use telamon_bench::report::{self, Document, html, shown_command};
use telamon_bench::target::Target;
use tokio::signal::unix::{SignalKind, signal};

use super::Failure;

/// Where results go.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Report")]
pub(super) struct OutputOptions {
    /// Store everything as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the picture page, one file that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Progress as JSON objects, one a line
    #[arg(long)]
    pub(super) json_lines: bool,
}

/// The servers behind the targets.
#[derive(Debug, Clone, Args)]
pub(super) struct ServerOptions {
    /// A server whose own counters are read: NAME=mysql://ADMIN:PASSWORD@HOST:PORT, once for each
    #[arg(long = "server", value_name = "SERVER")]
    servers: Vec<String>,
    /// Processes of servers on this machine, whose CPU time is told: numbers with commas
    #[arg(long, value_name = "PIDS", value_delimiter = ',')]
    pub(super) server_pids: Vec<u32>,
}

impl ServerOptions {
    /// Connections to the servers that were named; None where none was.
    pub(super) fn counters(&self, user: &str, patience: &Patience) -> Result<Option<Counters>, Failure> {
        if self.servers.is_empty() {
            return Ok(None);
        }
        let servers = self.servers.iter().map(|text| Target::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let connected = Counters::connect(&servers, user, patience);
        connected.map(Some).map_err(|(server, error)| format!("server {server}: {error}").into())
    }
}

impl OutputOptions {
    pub(super) fn style(&self) -> Style {
        if self.json_lines { Style::JsonLines } else { Style::Human }
    }

    /// An empty report of this command.
    pub(super) fn document() -> Document {
        Document::new(shown_command())
    }

    /// Shows the report and stores it where that was asked for.
    pub(super) fn deliver(&self, document: &Document) -> Result<(), Failure> {
        if !self.json_lines {
            print!("{}", report::text::document(document));
        }
        self.store(document)
    }

    /// Stores the report where that was asked for.
    pub(super) fn store(&self, document: &Document) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            document.write(path)?;
            self.told("report", path);
        }
        if let Some(path) = &self.html {
            report::write(path, html::page(std::slice::from_ref(document)).as_bytes())?;
            self.told("page  ", path);
        }
        Ok(())
    }

    fn told(&self, what: &str, path: &std::path::Path) {
        if !self.json_lines {
            println!("{what}  {}", path.display());
        }
    }
}

/// Patience that the first Ctrl-C or SIGTERM ends; a second one ends the program.
pub(super) fn interruptible() -> Result<Patience, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let (mut interrupted, mut terminated) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let told = Arc::clone(&stop);
    drop(tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
            if told.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            eprintln!("ending; once more to end at once");
        }
    }));
    Ok(Patience { stop, ..Patience::default() })
}
