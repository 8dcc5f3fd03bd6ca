//! The room as a whole: a text in, a configuration or its problems out.

mod hostile;
mod problems;
mod reference;
mod rules;
mod values;

use super::{Config, ConfigErrors};

/// The least that a file must hold.
const LEAST: &str = "\
[[servers]]
name = \"db1\"
address = \"127.0.0.1:3306\"
role = \"primary\"
[[users]]
name = \"app\"
password = \"\"
";

fn no_env(_: &str) -> Option<String> {
    None
}

fn parse(text: &str) -> Config {
    Config::parse(text, no_env).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The lines that a text is refused with.
fn problems(text: &str) -> Vec<String> {
    let errors = Config::parse(text, no_env).expect_err("the text has problems");
    errors.to_string().lines().map(str::to_owned).collect()
}

/// The lines that some text before and some after the least file is refused with. The least file has seven lines.
fn problems_around(before: &str, after: &str) -> Vec<String> {
    problems(&format!("{before}{LEAST}{after}"))
}

fn warnings(text: &str) -> Vec<String> {
    parse(text).warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn the_least_file_is_the_defaults_with_its_server_and_user() {
    let config = parse(LEAST);
    assert_eq!(config.primary().map(|server| server.name.as_str()), Some("db1"));
    assert_eq!(config.monitor_account().map(|(user, _)| user), Some("app"));
    assert!(config.user("app").is_some() && config.user("APP").is_none());
    assert!(config.warnings.is_empty());
    assert_eq!(Config { servers: Vec::new(), users: Vec::new(), ..config }, Config::default());
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("none.toml");
    for path in [directory.path(), &missing] {
        let error = Config::load(path).unwrap_err();
        assert!(matches!(&error, ConfigErrors::Read { path: named, .. } if named == path), "{error}");
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    }
    let endless = Config::load("/dev/zero".as_ref()).unwrap_err();
    assert!(endless.to_string().contains("longer than"), "{endless}");
}

#[test]
fn bytes_that_are_not_utf_8_are_placed_on_their_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("latin1.toml");
    std::fs::write(&path, b"workers = 1\n# caf\xe9\n").unwrap();
    let error = Config::load(&path).unwrap_err().to_string();
    assert_eq!(error, format!("{}:2: not UTF-8, which TOML demands", path.display()));
}

#[test]
fn a_file_on_disk_loads_as_its_text_does() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("telamon.toml");
    std::fs::write(&path, LEAST).unwrap();
    assert_eq!(Config::load(&path).unwrap(), parse(LEAST));
    assert_eq!(Config::find(Some(&path)).unwrap().0, path);
}
