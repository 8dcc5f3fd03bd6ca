//! Finds the server programs of this machine.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Flavor;
use super::error::LabError;

/// A server program that was found and asked for its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// The version as the program prints it, "10.11.19-MariaDB-0+deb12u1" or "9.7.4-2".
    pub version: String,
}

impl Program {
    /// Finds a program of `flavor`: the environment's variable first, then PATH, then the usual directories.
    ///
    /// # Errors
    /// [`LabError::ProgramMissing`] where there is none, or where the flavor needs none.
    pub fn find(flavor: Flavor) -> Result<Program, LabError> {
        let (variable, names, mend): (_, &[&str], _) = match flavor {
            Flavor::MariaDb => (
                "TELAMON_MARIADBD",
                &["mariadbd", "mysqld"],
                "apt-get install mariadb-server, or set TELAMON_MARIADBD to a mariadbd",
            ),
            Flavor::Mysql => (
                "TELAMON_MYSQLD",
                &["mysqld"],
                "run tests/mysql-root.sh /opt/telamon-mysql, or set TELAMON_MYSQLD to a mysqld",
            ),
            Flavor::Embedded => ("", &[], "the embedded flavor needs no server program"),
        };
        let named = env::var_os(variable).map(PathBuf::from);
        let found = match &named {
            Some(path) => accept(flavor, path),
            None => directories()
                .iter()
                .flat_map(|directory| names.iter().map(move |name| directory.join(name)))
                .find_map(|path| accept(flavor, &path)),
        };
        found.ok_or_else(|| LabError::ProgramMissing {
            flavor: flavor.name(),
            looked_for: match named {
                Some(path) => format!("{variable}={}", path.display()),
                None => format!("{variable}, and {} in PATH, /usr/sbin, {MYSQL_ROOT}", names.join(" or ")),
            },
            mend,
        })
    }

    /// The version's first numbers: (10, 11, 19).
    #[must_use]
    pub fn version_numbers(&self) -> (u32, u32, u32) {
        let mut numbers = self.version.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        (next(), next(), next())
    }

    /// Another program of the same installation ("mariadb-install-db"), by name.
    pub(crate) fn sibling(names: &[&str]) -> PathBuf {
        let candidates = names.iter().flat_map(|name| directories().into_iter().map(move |d| d.join(name)));
        candidates.into_iter().find(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(names[0]))
    }
}

/// Where `tests/mysql-root.sh` puts a MySQL on machines whose distribution has none.
const MYSQL_ROOT: &str = "/opt/telamon-mysql";

fn directories() -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
    directories
        .extend(["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/libexec", MYSQL_ROOT].map(PathBuf::from));
    directories
}

/// The program, if it is there, runs, and is of this flavor: Debian's `mysqld` is a MariaDB.
fn accept(flavor: Flavor, path: &Path) -> Option<Program> {
    if !path.is_file() {
        return None;
    }
    let output = Command::new(path).args(["--no-defaults", "--version"]).output().ok()?;
    let version = parse_version(&String::from_utf8_lossy(&output.stdout))?;
    let is_mariadb = version.contains("MariaDB");
    (is_mariadb == (flavor == Flavor::MariaDb)).then(|| Program { path: path.to_owned(), version })
}

/// The word after "Ver" in what `--version` prints.
fn parse_version(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|word| *word != "Ver");
    words.nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_both_families() {
        let mariadb = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(parse_version(mariadb).unwrap(), "10.11.19-MariaDB-0+deb12u1");
        let mysql = "/usr/sbin/mysqld  Ver 8.4.5 for Linux on x86_64 (MySQL Community Server - GPL)";
        let program = Program { path: PathBuf::new(), version: parse_version(mysql).unwrap() };
        assert_eq!(program.version_numbers(), (8, 4, 5));
        assert_eq!(parse_version("no version here"), None);
    }

    #[test]
    fn the_embedded_flavor_has_no_program() {
        let error = Program::find(Flavor::Embedded).unwrap_err();
        assert!(error.to_string().contains("needs no server program"), "{error}");
    }
}
