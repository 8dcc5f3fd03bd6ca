//! The room's entrance: from a path or a text to a [`Config`].

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::file::{self, Env};
use super::problem::ConfigErrors;
use super::reader::Report;
use super::validate::validate;
use super::{Config, Problem};

/// Where a configuration is looked for when none is named.
const DEFAULT_PATHS: [&str; 2] = ["config/telamon.toml", "/etc/telamon/telamon.toml"];

/// What a file may measure, in bytes. Far beyond any cluster, and bounded should the path be a device.
const FILE_BYTES: u64 = 16 << 20;

/// The file to use when none is named: the first that exists of `config/telamon.toml` in the working directory and
/// `/etc/telamon/telamon.toml`.
pub fn default_path() -> Option<PathBuf> {
    DEFAULT_PATHS.iter().map(PathBuf::from).find(|path| path.exists())
}

impl Config {
    /// Reads a file, and what it points to: environment variables, password files. Certificates are only looked for.
    ///
    /// # Errors
    /// The file cannot be read, or has problems: all of them at once.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        let bytes = read_file(path).map_err(|source| ConfigErrors::Read { path: path.to_owned(), source })?;
        match String::from_utf8(bytes) {
            Ok(text) => parse(path, &text, &|name| std::env::var(name).ok()),
            Err(error) => {
                let (valid, _) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
                let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
                let text = "not UTF-8, which TOML demands".to_owned();
                let problems = vec![Problem { line: Some(line), key: String::new(), text }];
                Err(ConfigErrors::Problems { path: path.to_owned(), problems, more: 0 })
            }
        }
    }

    /// Reads the named file, or the first that exists of the default ones; says which it was.
    ///
    /// # Errors
    /// As [`Config::load`], and where none is named and none exists.
    pub fn find(named: Option<&Path>) -> Result<(PathBuf, Self), ConfigErrors> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => default_path().ok_or_else(|| ConfigErrors::NoFile {
                looked_at: DEFAULT_PATHS.map(str::to_owned).to_vec(),
            })?,
        };
        Self::load(&path).map(|config| (path, config))
    }

    /// Reads a text as if it were the file `telamon.toml`, with an environment of its own.
    ///
    /// # Errors
    /// Every problem of the text.
    pub fn parse(text: &str, env: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigErrors> {
        parse(Path::new("telamon.toml"), text, &env)
    }
}

fn parse(path: &Path, text: &str, env: Env<'_>) -> Result<Config, ConfigErrors> {
    let report = Report::new(text);
    let draft = file::read(text, env, &report);
    if let Some(draft) = &draft {
        validate(draft, &report);
    }
    let (problems, more, warnings) = report.into_parts();
    match draft {
        Some(draft) if problems.is_empty() => Ok(Config { warnings, ..draft.complete() }),
        _ => Err(ConfigErrors::Problems { path: path.to_owned(), problems, more }),
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if read as u64 > FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {FILE_BYTES} bytes")));
    }
    Ok(bytes)
}
