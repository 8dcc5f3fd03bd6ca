//! The command line of `telamon`, and the commands that need no server.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage or configuration (clap's own choice for the former).

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::config::{Config, ConfigErrors, Role};
use crate::explain::ExplainArgs;

/// A read/write-splitting MySQL proxy.
#[derive(Debug, Parser)]
#[command(name = "telamon", version, about, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve clients until SIGTERM or SIGINT, which let sessions finish
    Run {
        /// Configuration file [default: config/telamon.toml, then /etc/telamon/telamon.toml]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Name every problem of a configuration file, with its line and the mend
    Check {
        /// Configuration file [default: config/telamon.toml, then /etc/telamon/telamon.toml]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Also log in to each server, and say whether it answers
        #[arg(long)]
        connect: bool,
    },
    /// Say where statements would go, and why, without a server
    Explain(ExplainArgs),
    /// Print a configuration file with every key, its default, unit and values
    ConfigReference,
}

/// `telamon check`, as far as the file goes: the configuration, with which `--connect` goes on, and the text to
/// print: one line for each warning, and a last one that says what the file sets up.
///
/// # Errors
/// The problems of the file, one a line, for the caller to print and end with exit code 2.
pub fn check(named: Option<&Path>) -> Result<(Config, String), ConfigErrors> {
    let (path, config) = Config::find(named)?;
    let path = path.display();
    let warnings: String =
        config.warnings.iter().map(|warning| format!("{path}{warning} (warning)\n")).collect();
    let primaries = config.servers.iter().filter(|server| server.role == Role::Primary).count();
    let rules = config.rules.iter().filter(|rule| rule.rule.enabled).count();
    let text = format!(
        "{warnings}{path}: ok, {}, {}, {}{}\n",
        counted(primaries, "primary", "primaries"),
        counted(config.replicas().count(), "replica", "replicas"),
        counted(config.users.len(), "user", "users"),
        if rules == 0 { String::new() } else { format!(", {}", counted(rules, "rule", "rules")) }
    );
    Ok((config, text))
}

/// Writes a command's output. A reader that has seen enough (`telamon config-reference | head`) is no error.
///
/// # Errors
/// `out` takes no more.
pub fn print(out: &mut impl Write, text: &str) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_what_clap_can_work_with() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_is_read_with_its_options() {
        let parsed = |line: &str| Cli::try_parse_from(line.split(' ')).map(|cli| cli.command);
        assert!(matches!(parsed("telamon run"), Ok(Command::Run { config: None })));
        assert!(matches!(parsed("telamon run --config f"), Ok(Command::Run { config: Some(_) })));
        assert!(matches!(parsed("telamon check --config f"), Ok(Command::Check { connect: false, .. })));
        assert!(matches!(
            parsed("telamon check --config f --connect"),
            Ok(Command::Check { connect: true, .. })
        ));
        assert!(matches!(parsed("telamon explain --json --schema s DO"), Ok(Command::Explain(_))));
        assert!(matches!(parsed("telamon config-reference"), Ok(Command::ConfigReference)));
        for wrong in [
            "telamon",
            "telamon serve",
            "telamon run --conf f",
            "telamon check f",
            "telamon explain --log f DO",
        ] {
            assert_eq!(parsed(wrong).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }

    #[test]
    fn a_good_file_is_summed_up_after_its_warnings() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("telamon.toml");
        std::fs::write(
            &path,
            crate::config::reference().replace("\ntimeout_ms = 1000\n", "\ntimeout_ms = 3000\n"),
        )
        .unwrap();
        let (config, text) = check(Some(&path)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), config.warnings.len() + 1);
        assert!(lines[0].contains("monitor.timeout_ms: ") && lines[0].ends_with("(warning)"), "{text}");
        assert_eq!(lines[1], format!("{}: ok, 1 primary, 2 replicas, 1 user", path.display()));
    }

    #[test]
    fn a_reader_that_has_seen_enough_is_no_error() {
        struct Closed(io::ErrorKind);
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(print(&mut Closed(io::ErrorKind::BrokenPipe), "text").is_ok());
        assert!(print(&mut Closed(io::ErrorKind::StorageFull), "text").is_err());
    }
}
