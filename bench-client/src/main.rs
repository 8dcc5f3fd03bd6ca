//! The telamon-bench program.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse_from(std::env::args_os().map(cli::with_hyphens));
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("telamon-bench: cannot start the runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(cli::run(arguments)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("telamon-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
