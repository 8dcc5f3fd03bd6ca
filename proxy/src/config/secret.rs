//! Passwords: a type that does not show what it holds.

use std::fmt;
use std::fs::File;
use std::io::Read as _;

/// What a password file may measure, in bytes.
const FILE_BYTES: u64 = 65_536;

/// A password. Its `Debug` prints `***`, so that no log line or error can show it by accident.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Fetches a password from where the file says it is: `env:NAME`, `file:PATH`, or the text itself.
    ///
    /// # Errors
    /// What is missing, by its name; never the password.
    pub(super) fn fetch(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("env:") {
            let found = env(name).ok_or_else(|| format!("the environment variable {name:?} is not set"))?;
            return Ok(Self(found));
        }
        match text.strip_prefix("file:") {
            Some(path) => read_file(path).map_err(|why| format!("{path}: {why}")),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The password itself, for the authentication that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the account has no password.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The password in a file, without the newline that editors and `echo` leave at its end.
fn read_file(path: &str) -> Result<Secret, String> {
    let file = File::open(path).map_err(|why| why.to_string())?;
    let mut text = String::new();
    let read = file.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(|why| why.to_string())?;
    if read as u64 > FILE_BYTES {
        return Err(format!("is longer than a password may be ({FILE_BYTES} bytes)"));
    }
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Secret::new(text.strip_suffix('\r').unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_env(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn a_password_comes_from_the_text_the_environment_or_a_file() {
        let env = |name: &str| (name == "APP").then(|| "from env".to_owned());
        assert_eq!(Secret::fetch("plain", &env).unwrap().expose(), "plain");
        assert_eq!(Secret::fetch("env:APP", &env).unwrap().expose(), "from env");
        let directory = tempfile::tempdir().unwrap();
        for (content, password) in
            [("pw\n", "pw"), ("pw\r\n", "pw"), ("pw\n\n", "pw\n"), ("pw ", "pw "), ("", "")]
        {
            let path = directory.path().join("password");
            std::fs::write(&path, content).unwrap();
            assert_eq!(Secret::fetch(&format!("file:{}", path.display()), &env).unwrap().expose(), password);
        }
    }

    #[test]
    fn a_missing_source_of_a_password_is_named() {
        assert_eq!(
            Secret::fetch("env:NOPE", &no_env).unwrap_err(),
            "the environment variable \"NOPE\" is not set"
        );
        assert!(Secret::fetch("file:/nonexistent/pw", &no_env).unwrap_err().starts_with("/nonexistent/pw: "));
        assert!(Secret::fetch("file:/", &no_env).is_err());
        assert!(Secret::fetch("file:", &no_env).is_err());
        assert!(Secret::fetch("file:/dev/zero", &no_env).unwrap_err().contains("longer"));
    }

    #[test]
    fn a_secret_does_not_show_itself() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "***");
    }
}
