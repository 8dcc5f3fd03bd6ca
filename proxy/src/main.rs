//! The telamon program: arguments → configuration → run.

use clap::Parser;
use std::io;
use std::process::ExitCode;
use telamon::cli::{self, Cli, Command};
use telamon::config::{self, Config};
use telamon::explain::{self, ExplainArgs};
use telamon::{check, log, server};

/// Wrong usage or configuration.
const WRONG: u8 = 2;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run { config } => run(config.as_deref()),
        Command::Check { config, connect } => check(config.as_deref(), connect),
        Command::Explain(args) => explain(&args),
        Command::ConfigReference => print(&config::reference()),
    };
    done.unwrap_or_else(|text| {
        eprintln!("{text}");
        ExitCode::from(WRONG)
    })
}

fn run(named: Option<&std::path::Path>) -> Result<ExitCode, String> {
    let (_, config) = Config::find(named).map_err(|e| e.to_string())?;
    log::init(&config.log);
    server::run(config).map_err(|e| format!("telamon: {e}"))?;
    Ok(ExitCode::SUCCESS)
}

fn check(named: Option<&std::path::Path>, connect: bool) -> Result<ExitCode, String> {
    let (config, text) = cli::check(named).map_err(|e| e.to_string())?;
    print(&text)?;
    if !connect {
        return Ok(ExitCode::SUCCESS);
    }
    let (text, all_answer) = check::connect(&config).map_err(|e| format!("telamon: {e}"))?;
    print(&text)?;
    Ok(if all_answer { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn explain(args: &ExplainArgs) -> Result<ExitCode, String> {
    match explain::run(args, &mut io::BufWriter::new(io::stdout().lock())) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if error.is_usage() => Err(error.to_string()),
        Err(error) => {
            eprintln!("telamon: {error}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn print(text: &str) -> Result<ExitCode, String> {
    cli::print(&mut io::stdout().lock(), text).map_err(|e| format!("telamon: cannot write: {e}"))?;
    Ok(ExitCode::SUCCESS)
}
