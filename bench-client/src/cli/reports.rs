//! `report` and `compare`: stored reports.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use telamon_bench::report::{self, Document, compare, html};

use super::Failure;

/// What `report` takes.
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// Stored reports
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the picture page of all of them
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

/// What `compare` takes.
#[derive(Debug, Args)]
pub(super) struct CompareArguments {
    /// The report from before
    before: PathBuf,
    /// The report from after
    after: PathBuf,
    /// Exit with 1 where a throughput fell below this share of what it was, as 0.97
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    fail_below: Option<f64>,
}

fn ratio(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|ratio: &f64| *ratio > 0.0 && ratio.is_finite());
    number.ok_or_else(|| "write a number such as 0.97".to_owned())
}

pub(super) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let documents = arguments.files.iter().map(|path| Document::read(path)).collect::<Result<Vec<_>, _>>()?;
    for (path, document) in arguments.files.iter().zip(&documents) {
        println!("{}", path.display());
        print!("{}", report::text::document(document));
    }
    if let Some(path) = &arguments.html {
        report::write(path, html::page(&documents).as_bytes())?;
        println!("page    {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn compare(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    let (before, after) = (Document::read(&arguments.before)?, Document::read(&arguments.after)?);
    let changes = compare::changes(&before, &after);
    if changes.is_empty() {
        return Err("the two reports have no workload and target in common".into());
    }
    print!("{}", compare::text(&before, &after, &changes));
    let Some(limit) = arguments.fail_below else { return Ok(ExitCode::SUCCESS) };
    let fallen: Vec<_> = changes.iter().filter(|change| change.ratio.median < limit).collect();
    for change in &fallen {
        println!(
            "below {limit}: {} of {} is {:.3} of before",
            change.target, change.title, change.ratio.median
        );
    }
    Ok(if fallen.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_positive_number() {
        assert_eq!(ratio("0.97"), Ok(0.97));
        assert!(ratio("0").is_err() && ratio("inf").is_err() && ratio("x").is_err());
    }
}
