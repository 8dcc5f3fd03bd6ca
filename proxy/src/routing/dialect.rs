//! Which SQL a session speaks: what decides how the same bytes are read.

/// The two families of servers, which read some comments and functions differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ServerFamily {
    /// MySQL and what keeps its version numbers (Percona Server, Aurora).
    #[default]
    MySql,
    /// MariaDB.
    MariaDb,
}

/// What `character_set_client` means for the bytes of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClientCharset {
    /// utf8mb3, utf8mb4, ascii, binary: no character contains a quote, a backslash or a blank.
    #[default]
    Utf8,
    /// Other character sets whose bytes above 0x7F never stand for ASCII, but may be blanks (latin1's 0xA0).
    OtherSafe,
    /// big5, cp932, gb18030, gbk, sjis: the second byte of a character may be a backslash.
    BackslashInside,
}

/// Server and session settings that change how a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// MySQL or MariaDB.
    pub family: ServerFamily,
    /// The server's version as one number, as executable comments write it: 80036, 101106.
    pub version: u32,
    /// sql_mode ANSI_QUOTES: `"` quotes a name, not a string.
    pub ansi_quotes: bool,
    /// sql_mode NO_BACKSLASH_ESCAPES: `\` in a string is a plain character.
    pub no_backslash_escapes: bool,
    /// sql_mode IGNORE_SPACE: `COUNT (*)` is the built-in, not a stored function named COUNT.
    pub ignore_space: bool,
    /// MariaDB's sql_mode ORACLE.
    pub oracle: bool,
    /// What the client's character set means for the bytes.
    pub charset: ClientCharset,
}

impl Default for Dialect {
    /// MySQL 8.0.36 with none of the modes, utf8mb4.
    fn default() -> Self {
        Self {
            family: ServerFamily::MySql,
            version: 80036,
            ansi_quotes: false,
            no_backslash_escapes: false,
            ignore_space: false,
            oracle: false,
            charset: ClientCharset::Utf8,
        }
    }
}

impl Dialect {
    /// The dialect of a server, from the version text of its greeting: `8.0.36`, `9.1.0-commercial`,
    /// `5.5.5-10.11.6-MariaDB-log`. A text without a number is read as version 0, which knows no
    /// executable comment with a number and no function that came later.
    #[must_use]
    pub fn from_server_version(text: &str) -> Self {
        let family =
            if contains_ignore_case(text, "mariadb") { ServerFamily::MariaDb } else { ServerFamily::MySql };
        // MariaDB puts 5.5.5- in front for replicas that stop at an unknown major version.
        let number = match (family, text.strip_prefix("5.5.5-")) {
            (ServerFamily::MariaDb, Some(rest)) => rest,
            _ => text,
        };
        Self { family, version: version_number(number), ..Self::default() }
    }

    /// The same dialect under another `sql_mode`, given as the server reports it (expanded or not).
    #[must_use]
    pub fn with_sql_mode(self, sql_mode: &str) -> Self {
        let mut dialect = Self {
            ansi_quotes: false,
            no_backslash_escapes: false,
            ignore_space: false,
            oracle: false,
            ..self
        };
        for mode in sql_mode.split(',') {
            dialect.add_mode(mode.trim());
        }
        dialect
    }

    /// The same dialect under another `character_set_client`.
    #[must_use]
    pub fn with_character_set(self, name: &str) -> Self {
        let charset = match name.to_ascii_lowercase().as_str() {
            "utf8" | "utf8mb3" | "utf8mb4" | "ascii" | "binary" => ClientCharset::Utf8,
            "big5" | "cp932" | "gb18030" | "gbk" | "sjis" => ClientCharset::BackslashInside,
            _ => ClientCharset::OtherSafe,
        };
        Self { charset, ..self }
    }

    fn add_mode(&mut self, mode: &str) {
        match mode.to_ascii_uppercase().as_str() {
            "ANSI_QUOTES" => self.ansi_quotes = true,
            "NO_BACKSLASH_ESCAPES" => self.no_backslash_escapes = true,
            "IGNORE_SPACE" => self.ignore_space = true,
            "ANSI" | "DB2" | "MAXDB" | "MSSQL" | "POSTGRESQL" => {
                self.ansi_quotes = true;
                self.ignore_space = true;
            }
            "ORACLE" => {
                self.ansi_quotes = true;
                self.ignore_space = true;
                self.oracle = self.family == ServerFamily::MariaDb;
            }
            _ => {}
        }
    }

    /// All fields in one number, for the cache's key.
    pub(super) fn bits(&self) -> u64 {
        u64::from(self.version)
            | u64::from(self.family == ServerFamily::MariaDb) << 32
            | u64::from(self.ansi_quotes) << 33
            | u64::from(self.no_backslash_escapes) << 34
            | u64::from(self.ignore_space) << 35
            | u64::from(self.oracle) << 36
            | (self.charset as u64) << 37
    }
}

fn contains_ignore_case(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

fn version_number(text: &str) -> u32 {
    let mut parts =
        text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0).min(999));
    let (major, minor, patch) =
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    major * 10_000 + minor.min(99) * 100 + patch.min(99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_versions_are_read_as_servers_write_them() {
        let of = |text| {
            let dialect = Dialect::from_server_version(text);
            (dialect.family, dialect.version)
        };
        assert_eq!(of("8.0.36"), (ServerFamily::MySql, 80036));
        assert_eq!(of("9.1.0-commercial"), (ServerFamily::MySql, 90100));
        assert_eq!(of("5.7.44-log"), (ServerFamily::MySql, 50744));
        assert_eq!(of("5.5.5-10.11.6-MariaDB-log"), (ServerFamily::MariaDb, 101106));
        assert_eq!(of("11.4.2-MariaDB-ubu2404"), (ServerFamily::MariaDb, 110402));
        assert_eq!(of(""), (ServerFamily::MySql, 0));
        assert_eq!(of("99999999999.x"), (ServerFamily::MySql, 0));
    }

    #[test]
    fn combined_modes_bring_their_parts() {
        let dialect = Dialect::default().with_sql_mode("ANSI,no_backslash_escapes");
        assert!(dialect.ansi_quotes && dialect.ignore_space && dialect.no_backslash_escapes);
        assert!(!dialect.with_sql_mode("STRICT_TRANS_TABLES").ansi_quotes);
        assert!(Dialect::from_server_version("11.4.2-MariaDB").with_sql_mode("ORACLE").oracle);
    }

    #[test]
    fn every_field_is_in_the_key() {
        let base = Dialect::default();
        let others = [
            Dialect { family: ServerFamily::MariaDb, ..base },
            Dialect { version: 1, ..base },
            Dialect { ansi_quotes: true, ..base },
            Dialect { no_backslash_escapes: true, ..base },
            Dialect { ignore_space: true, ..base },
            Dialect { oracle: true, ..base },
            base.with_character_set("gbk"),
            base.with_character_set("latin1"),
        ];
        let mut keys: Vec<u64> = others.iter().chain([&base]).map(Dialect::bits).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), others.len() + 1);
    }
}
