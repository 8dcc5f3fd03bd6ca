//! Where log lines go, and in which form.

use crate::config::{Log, LogFormat};
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error. `TELAMON_LOG` overrides the configured level, in tracing's own syntax.
pub fn init(log: &Log) {
    let configured = || EnvFilter::new(format!("telamon={}", log.level));
    let filter = EnvFilter::try_from_env("TELAMON_LOG").unwrap_or_else(|_| configured());
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match log.format {
        LogFormat::Text => lines.with_ansi(false).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
}
