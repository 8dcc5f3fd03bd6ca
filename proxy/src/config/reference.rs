//! The reference: a whole file with every key, its meaning, default, unit and values. `config/telamon.toml` is this
//! text, and a test keeps the two equal.

use std::fmt::Write as _;

use super::keys::{KEYS, Key, Values};
use super::{Config, Role, Rule, Secret, Server, ServerAddress, User};
use crate::routing::{self, Action, Matcher, StatementKind};

/// Columns of a comment.
const WIDTH: usize = 108;

/// When a change of a key takes effect. The file is read at start and at no other time, so this holds for each key.
const TAKES_EFFECT: &str = "restart";

const HEAD: &str = "\
# Telamon: every key, with its default unless said otherwise. Only [[servers]] and [[users]] are needed.
# `telamon check --config FILE` names each problem of a file, `telamon config-reference` prints this text.
# Relative paths start at the working directory. The word at the end of each description says when a change of
# the key takes effect: *restart* is at the next start.
";

/// Servers beyond the first, whose table explains each key.
const MORE_SERVERS: &str = "
[[servers]]
name = \"db2\"
address = \"127.0.0.1:3307\"
role = \"replica\"

[[servers]]
name = \"db3\"
address = \"127.0.0.1:3308\"
role = \"replica\"
";

/// The full TOML text with each key's default, unit, values, and whether a change needs a restart.
pub fn reference() -> String {
    let config = example();
    let mut text = HEAD.to_owned();
    let mut section = "";
    for key in KEYS {
        if key.section() != section {
            if section == "servers" {
                text.push_str(MORE_SERVERS);
            }
            section = key.section();
            text.push_str(&header(section));
        } else {
            text.push('\n');
        }
        describe(key, &config, &mut text);
    }
    text
}

fn header(section: &str) -> String {
    if matches!(section, "servers" | "users" | "rules") {
        format!("\n[[{section}]]\n")
    } else {
        format!("\n[{section}]\n")
    }
}

fn describe(key: &Key, config: &Config, text: &mut String) {
    let shown = (key.shown)(config);
    let mut facts = format!("Default: {}.", key.default.unwrap_or(&shown));
    if !key.unit.is_empty() {
        write!(facts, " Unit: {}.", key.unit).expect("a String takes all");
    }
    let values = match &key.values {
        Values::Number(least, most) => format!("{least} to {most}"),
        Values::Words(words) => words(),
        Values::Described(sentence) => (*sentence).to_owned(),
    };
    write!(facts, " Values: {values}. *{TAKES_EFFECT}*").expect("a String takes all");
    comment(key.what, text);
    comment(&facts, text);
    writeln!(text, "{} = {shown}", key.name()).expect("a String takes all");
}

/// Appends a comment, its lines broken between words.
fn comment(sentence: &str, text: &mut String) {
    let mut column = 0;
    for word in sentence.split_whitespace() {
        if column > 0 && column + 1 + word.len() <= WIDTH {
            text.push(' ');
            column += 1;
        } else {
            text.push_str(if column > 0 { "\n# " } else { "# " });
            column = 2;
        }
        text.push_str(word);
        column += word.len();
    }
    text.push('\n');
}

/// The defaults, with the first server and the user that the reference explains their keys on.
fn example() -> Config {
    Config {
        servers: vec![Server {
            name: "db1".to_owned(),
            address: ServerAddress::Tcp { host: "127.0.0.1".to_owned(), port: 3306 },
            role: Role::Primary,
            weight: Role::Primary.default_weight(),
            labels: Vec::new(),
        }],
        users: vec![User {
            name: "app".to_owned(),
            password: Secret::new("change-me"),
            clients: Vec::new(),
            schema: None,
        }],
        rules: vec![Rule {
            users: Vec::new(),
            clients: Vec::new(),
            rule: routing::Rule {
                name: "example".to_owned(),
                enabled: false,
                matcher: Matcher { kinds: vec![StatementKind::Read], ..Matcher::default() },
                action: Action::Primary,
            },
        }],
        ..Config::default()
    }
}
