//! The reference, the file in `config/` and the examples say what the code does.

use super::super::keys::KEYS;
use super::super::{Config, reference};
use super::{no_env, parse, problems};

#[test]
fn the_file_in_config_is_the_reference() {
    let file = include_str!("../../../../config/telamon.toml");
    for (number, (written, generated)) in file.lines().zip(reference().lines()).enumerate() {
        assert_eq!(written, generated, "line {}; telamon config-reference prints the right text", number + 1);
    }
    assert_eq!(file.len(), reference().len());
}

#[test]
fn the_reference_is_the_defaults_but_for_its_servers_user_and_rule() {
    let config = parse(&reference());
    assert_eq!((config.servers.len(), config.replicas().count(), config.users.len()), (3, 2, 1));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert!(config.rules.iter().all(|rule| !rule.rule.enabled));
    let config = Config { servers: Vec::new(), users: Vec::new(), rules: Vec::new(), ..config };
    assert_eq!(config, Config::default());
}

fn section_start(text: &str, section: &str) -> usize {
    text.find(&format!("\n[{section}]\n")).or_else(|| text.find(&format!("\n[[{section}]]\n"))).unwrap()
}

#[test]
fn the_reference_describes_every_key_that_is_read_and_no_other() {
    let text = reference();
    for key in KEYS {
        let header = if key.section().is_empty() { 0 } else { section_start(&text, key.section()) };
        let start = header + text[header..].find(&format!("\n{} = ", key.name())).unwrap() + 1;
        let end = start + text[start..].find('\n').unwrap();
        let wrong = format!("{}{} = 1979-05-27{}", &text[..start], key.name(), &text[end..]);
        let path = key
            .path
            .replace("servers.", "servers[0].")
            .replace("users.", "users[0].")
            .replace("rules.", "rules[0].");
        let lines = problems(&wrong);
        assert!(lines[0].contains(&format!(": {path}: must be ")), "{path} is not read: {lines:?}");
        assert!(lines[0].ends_with("found a date or time"), "{lines:?}");
    }
}

#[test]
fn no_line_of_the_reference_is_too_long_to_read() {
    assert!(reference().lines().all(|line| line.len() <= 110));
}

#[test]
fn the_minimal_example_is_ten_lines_and_good() {
    let text = include_str!("../../../../config/examples/minimal.toml");
    assert_eq!(text.lines().count(), 10);
    assert_eq!(parse(text).replicas().count(), 2);
}

#[test]
fn the_example_of_weights_is_good() {
    let text = include_str!("../../../../config/examples/weighted-replicas.toml");
    let config = Config::parse(text, |name| (name == "APP_PASSWORD").then(|| "x".to_owned())).unwrap();
    assert_eq!(config.replicas().map(|server| server.weight).collect::<Vec<_>>(), [3, 1, 0]);
    assert!(config.warnings.is_empty());
}

#[test]
fn the_example_of_rules_is_good() {
    let text = include_str!("../../../../config/examples/rules.toml");
    let config = Config::parse(text, |_| Some("x".to_owned())).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.rules.len(), 4);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[test]
fn the_example_of_tls_lacks_only_the_files_it_names() {
    let text = include_str!("../../../../config/examples/tls.toml");
    let lines = problems(text);
    assert_eq!(lines.len(), 4, "{lines:?}");
    let directory = tempfile::tempdir().unwrap();
    let mut here = text.to_owned();
    for path in [
        "/run/secrets/app-password",
        "/etc/telamon/server-cert.pem",
        "/etc/telamon/server-key.pem",
        "/etc/telamon/ca.pem",
    ] {
        let file = directory.path().join(path.rsplit('/').next().unwrap());
        std::fs::write(&file, "x").unwrap();
        here = here.replace(path, file.to_str().unwrap());
    }
    Config::parse(&here, no_env).unwrap_or_else(|errors| panic!("{errors}"));
}
