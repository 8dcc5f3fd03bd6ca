//! Settings and their values.

use std::str::FromStr;

use thiserror::Error;

use crate::client::{ClientError, Connection};

/// One setting with the values that are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Its name; `semi_sync` stands for whatever the server calls it.
    pub name: String,
    /// The values, the first for the row that the others are compared with.
    pub values: Vec<String>,
}

/// A text that is not NAME=VALUE,VALUE.
#[derive(Debug, Error)]
#[error("cannot read {0:?}; write NAME=VALUE,VALUE, such as sync_binlog=1,0")]
pub struct AxisError(String);

impl FromStr for Axis {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<Axis, AxisError> {
        let wrong = || AxisError(text.to_owned());
        let (name, values) = text.split_once('=').ok_or_else(wrong)?;
        let word = |text: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
            !text.is_empty() && text.chars().all(plain)
        };
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        let name = name.trim().replace('-', "_");
        if word(&name) && values.iter().all(|value| word(value)) {
            Ok(Axis { name, values })
        } else {
            Err(wrong())
        }
    }
}

/// A setting of this server with its value before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAxis {
    pub(super) name: String,
    pub(super) values: Vec<String>,
    pub(super) before: String,
}

/// Why settings cannot be tried.
pub(super) enum Problem {
    Unknown(String),
    Client(ClientError),
}

/// The names that servers give `semi_sync`: MariaDB and MySQL before 8.0.26, MySQL since.
const SEMI_SYNC: [&str; 2] = ["rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"];

/// The settings by the server's names, with their values before.
pub(super) fn resolved(axes: &[Axis], connection: &mut Connection) -> Result<Vec<ServerAxis>, Problem> {
    let mut found = Vec::new();
    for axis in axes {
        let names: &[&str] = if axis.name == "semi_sync" { &SEMI_SYNC } else { &[&axis.name] };
        let mut known = None;
        for name in names {
            let sql = format!("SHOW GLOBAL VARIABLES LIKE '{}'", name.replace('_', "\\_"));
            let rows = connection.rows(&sql).map_err(Problem::Client)?;
            let row = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
            known = known.or(row.map(|before| ((*name).to_owned(), before)));
        }
        let (name, before) = known.ok_or_else(|| Problem::Unknown(axis.name.clone()))?;
        found.push(ServerAxis { name, values: axis.values.clone(), before });
    }
    Ok(found)
}

/// Every combination, the values of the last setting changing first.
#[must_use]
pub fn combinations(axes: &[ServerAxis]) -> Vec<Vec<(String, String)>> {
    axes.iter().fold(vec![Vec::new()], |shorter, axis| {
        let longer = shorter.iter().flat_map(|settings| {
            axis.values.iter().map(|value| {
                let mut settings = settings.clone();
                settings.push((axis.name.clone(), value.clone()));
                settings
            })
        });
        longer.collect()
    })
}

/// The statement that sets it: numbers bare, words as strings.
pub(super) fn assignment(name: &str, value: &str) -> String {
    let bare = value.parse::<f64>().is_ok() || matches!(value.to_ascii_lowercase().as_str(), "on" | "off");
    if bare {
        format!("SET GLOBAL {name} = {value}")
    } else {
        format!("SET GLOBAL {name} = '{}'", value.replace('\\', "\\\\").replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_name_and_values() {
        let axis: Axis = "sync-binlog=1, 1000,0".parse().unwrap();
        assert_eq!((axis.name.as_str(), axis.values.join(" ")), ("sync_binlog", "1 1000 0".into()));
        for wrong in ["sync_binlog", "=1", "a=", "a=1,,2", "a=1;DROP"] {
            assert!(wrong.parse::<Axis>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_combination_is_tried_once() {
        let axis = |name: &str, values: &[&str]| ServerAxis {
            name: name.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            before: String::new(),
        };
        let all = combinations(&[axis("a", &["1", "0"]), axis("b", &["x", "y", "z"])]);
        let shown: Vec<String> = all.iter().map(|settings| super::super::shown(settings)).collect();
        assert_eq!(shown, ["a=1 b=x", "a=1 b=y", "a=1 b=z", "a=0 b=x", "a=0 b=y", "a=0 b=z"]);
    }

    #[test]
    fn words_are_quoted_and_numbers_are_not() {
        assert_eq!(assignment("a", "1"), "SET GLOBAL a = 1");
        assert_eq!(assignment("a", "ON"), "SET GLOBAL a = ON");
        assert_eq!(assignment("a", "O_DIRECT"), "SET GLOBAL a = 'O_DIRECT'");
    }
}
