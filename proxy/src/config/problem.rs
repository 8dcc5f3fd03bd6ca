//! What is wrong with a file: one problem is one line of output, and all of them come at once.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Problems kept of one file; a file with more is not a configuration, and the rest is only counted.
pub(super) const PROBLEMS_KEPT: usize = 100;

/// One thing that is wrong (or, as a warning, surely not meant) in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, from 1; `None` where something is missing from the whole file.
    pub line: Option<usize>,
    /// Path of the key, such as `pool.max_connections` or `servers[1].address`; empty where no key is meant.
    pub key: String,
    /// What is wrong with it, and the mend.
    pub text: String,
}

impl fmt::Display for Problem {
    /// The problem after the file's name: `:14: pool.max_conections: unknown key …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, ":{line}: ")?,
            None => f.write_str(": ")?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.text)
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigErrors {
    /// No file was named, and none lies where one is looked for.
    #[error("no configuration file: {} do not exist; name one with --config FILE", .looked_at.join(" and "))]
    NoFile {
        /// The paths that were looked at.
        looked_at: Vec<String>,
    },
    /// The file could not be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The file was read, and this is wrong in it.
    #[error("{}", Listed { path, problems, more: *.more })]
    Problems {
        /// The file.
        path: PathBuf,
        /// What is wrong, in the order of lines.
        problems: Vec<Problem>,
        /// How many problems there are beyond those kept.
        more: usize,
    },
}

/// Writes one line for each problem.
struct Listed<'a> {
    path: &'a PathBuf,
    problems: &'a [Problem],
    more: usize,
}

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{}{problem}", self.path.display())?;
        }
        if self.more > 0 {
            write!(f, "\n{}: and {} more problems", self.path.display(), self.more)?;
        }
        Ok(())
    }
}
