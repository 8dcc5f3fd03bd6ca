//! The tables of a text that the parser does not prove a query: every name in a place for tables.
//!
//! For rules, and for what a statement that uses tables ends. It may take a name too many for a table
//! (`EXTRACT(DAY FROM a)`), so that no table is missed; nothing about reads and writes is concluded from it.

use super::class::TableName;
use super::dialect::Dialect;
use super::inner::{self, Source};
use super::lex::{Kind, Token};
use super::reader::{Reader, unquoted};
use super::tree::MAX_TABLES;

/// Words behind which a table stands, or a list of them, in any statement.
const BEFORE: [&str; 10] = [
    "FROM",
    "JOIN",
    "STRAIGHT_JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "TABLES",
    "TRUNCATE",
    "HANDLER",
    "REFERENCES",
];

/// Those of them that may be a table's own name, and others that end a list where they are none.
const MAY_BE_NAMES: [&str; 6] = ["TABLES", "TRUNCATE", "HANDLER", "VIEW", "SEQUENCE", "VALUE"];

/// Words that may stand between.
const BETWEEN: [&str; 11] = [
    "IF",
    "NOT",
    "EXISTS",
    "LATERAL",
    "LOW_PRIORITY",
    "IGNORE",
    "TABLE",
    "DELAYED",
    "HIGH_PRIORITY",
    "TO",
    "AS",
];

/// Words behind which a comma does not lead to another table.
const ENDS: [&str; 15] = [
    "WHERE",
    "SET",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "VALUES",
    "VALUE",
    "SELECT",
    "WITH",
    "WINDOW",
    "FOR",
    "UNION",
    "RETURNING",
    "PARTITION",
];

/// The tables that the text names, in their order, each once.
pub(super) fn tables(sql: &[u8], dialect: &Dialect) -> Vec<TableName> {
    let mut search = Search::default();
    search.text(sql, dialect);
    search.tables
}

/// Statements in which tables stand in places of their own.
#[derive(Clone, Copy, PartialEq, Default)]
enum Head {
    #[default]
    Other,
    Create,
    Alter,
    Drop,
    Delete,
    /// DESC, DESCRIBE, EXPLAIN.
    Explain,
    /// GRANT and REVOKE.
    Grant,
    /// RENAME TABLE.
    Rename,
    Show,
}

/// What is known at a place in the text.
#[derive(Default)]
struct Search {
    tables: Vec<TableName>,
    /// The schema of a USE earlier in the text.
    schema: Option<Box<str>>,
    head: Head,
    /// The depths of the lists of tables that are being read.
    lists: Vec<usize>,
    /// A table is due here.
    due: bool,
    /// The token before was a table.
    named: bool,
    /// The ON of an index or trigger is to come.
    on: bool,
    /// The text stands in a string.
    in_string: bool,
}

impl Search {
    fn text(&mut self, sql: &[u8], dialect: &Dialect) {
        let mut reader = Reader::new(sql, dialect);
        while let Some(token) = reader.this {
            if let Some(Source::Literal(literal)) = inner::source(&reader).filter(|_| !self.in_string) {
                let schema = self.schema.clone();
                let tables = std::mem::take(&mut self.tables);
                let mut within = Self { tables, schema, in_string: true, ..Self::default() };
                within.text(&inner::content(literal, dialect), dialect);
                self.tables = within.tables;
            }
            self.token(&mut reader, token);
            reader.bump();
        }
    }

    fn token(&mut self, reader: &mut Reader<'_>, token: Token<'_>) {
        if reader.last.is_none() || reader.last_is(Kind::Semicolon) {
            self.begin(reader);
        }
        let (named, depth) = (std::mem::take(&mut self.named), reader.depth);
        match token.kind {
            Kind::Semicolon => self.begin(reader),
            Kind::Open if self.due => {
                if self.lists.last() == Some(&depth) {
                    self.lists.push(depth + 1);
                }
            }
            Kind::Comma => {
                self.lists.retain(|list| *list <= depth);
                self.due = self.lists.last() == Some(&depth);
            }
            Kind::Word if self.due && (reader.at_any(&MAY_BE_NAMES) || self.is_option(reader)) => {
                self.name(reader, token);
            }
            Kind::Word if self.due && reader.at_any(&BETWEEN) => {}
            Kind::Word if self.leads(reader, named) => {
                self.lists.retain(|list| *list < depth);
                if self.leads_to_list(reader) {
                    self.lists.push(depth);
                }
                self.due = true;
            }
            Kind::Word if reader.at_any(&ENDS) => self.end(reader),
            _ => self.name(reader, token),
        }
    }

    /// A statement begins here.
    fn begin(&mut self, reader: &Reader<'_>) {
        let text = std::mem::take(&mut self.schema);
        let used = reader.next.filter(|_| reader.at_word("USE"));
        self.schema = used.and_then(|token| name_of(&token).map(Into::into)).or(text);
        self.lists.clear();
        self.on = false;
        let mut buffer = [0; 32];
        self.head = match reader.keyword(&mut buffer) {
            "CREATE" => Head::Create,
            "ALTER" => Head::Alter,
            "DROP" => Head::Drop,
            "DELETE" => Head::Delete,
            "DESC" | "DESCRIBE" | "EXPLAIN" => Head::Explain,
            "GRANT" | "REVOKE" => Head::Grant,
            "RENAME" if reader.next_is_word("TABLE") || reader.next_is_word("TABLES") => Head::Rename,
            "SHOW" => Head::Show,
            _ => Head::Other,
        };
        self.due = false;
    }

    /// Whether a table is due behind this word. `named`: the word stands behind one.
    fn leads(&mut self, reader: &Reader<'_>, named: bool) -> bool {
        let next_is = |words: &[&str]| words.iter().any(|word| reader.next_is_word(word));
        match self.head {
            Head::Grant => return reader.at_word("ON") && !next_is(&["PROCEDURE", "FUNCTION", "PACKAGE"]),
            Head::Show => return leads_in_show(reader),
            Head::Explain if reader.at_any(&["DESC", "DESCRIBE", "EXPLAIN"]) => {
                return reader.last.is_none() || reader.last_is(Kind::Semicolon);
            }
            Head::Rename if reader.at_word("TO") => return true,
            Head::Delete if reader.at_word("USING") => return !reader.next_is(Kind::Open),
            Head::Alter if reader.at_word("RENAME") => return !next_is(&["COLUMN", "INDEX", "KEY"]),
            Head::Create if reader.at_word("LIKE") => {
                return named || reader.depth == 1 && reader.last_is(Kind::Open);
            }
            Head::Create | Head::Alter | Head::Drop if reader.depth == 0 => {
                if reader.at_any(&["VIEW", "SEQUENCE"]) {
                    return true;
                }
                self.on |= self.head != Head::Alter && reader.at_any(&["INDEX", "TRIGGER"]);
                if reader.at_word("ON") && std::mem::take(&mut self.on) {
                    return true;
                }
            }
            _ => {}
        }
        if reader.at_word("UPDATE") {
            let is_clause = reader.last_is_word("KEY") || reader.last_is_word("ON");
            return !is_clause && !reader.next_is_word("ON");
        }
        reader.at_any(&BEFORE) || at_verb(reader)
    }

    /// Whether a comma behind the table leads to another one.
    fn leads_to_list(&self, reader: &Reader<'_>) -> bool {
        let defines = matches!(self.head, Head::Create | Head::Alter);
        let defined = ["TABLE", "VIEW", "SEQUENCE", "LIKE", "ON", "RENAME"];
        !(reader.at_word("REFERENCES") || defines && reader.at_any(&defined))
    }

    /// An option of EXPLAIN that may be a table's name, with nothing behind it.
    fn is_option(&self, reader: &Reader<'_>) -> bool {
        self.head == Head::Explain
            && reader.at_any(&["EXTENDED", "PARTITIONS", "FORMAT"])
            && reader.next.is_none_or(|next| matches!(next.kind, Kind::Semicolon | Kind::Dot))
    }

    /// At a word of [`ENDS`], which may belong to a table of the list.
    fn end(&mut self, reader: &mut Reader<'_>) {
        self.due = false;
        if self.head == Head::Show && reader.at_word("WHERE") {
            self.head = Head::Other;
        }
        if reader.at_word("FOR") && (reader.last_is_word("INDEX") || reader.last_is_word("KEY")) {
            reader.bump(); // USE INDEX FOR JOIN, ORDER BY, GROUP BY
            return;
        }
        let of_table = reader.at_word("FOR") && reader.next_is_word("SYSTEM_TIME")
            || reader.at_word("PARTITION") && reader.next_is(Kind::Open);
        if !of_table {
            self.lists.retain(|list| *list < reader.depth);
        }
    }

    /// Takes the name that begins here, if one is due.
    fn name(&mut self, reader: &mut Reader<'_>, first: Token<'_>) {
        if !std::mem::take(&mut self.due) {
            return;
        }
        if self.head == Head::Explain && first.kind == Kind::Word && self.skips(reader) {
            return;
        }
        let Some(mut name) = name_at(reader, &first) else { return };
        self.named = true;
        if self.head == Head::Show && (reader.next_is_word("FROM") || reader.next_is_word("IN")) {
            reader.bump();
            reader.bump();
            name.schema = reader.this.and_then(|token| name_of(&token).map(Into::into)).or(name.schema);
        }
        name.schema = name.schema.or_else(|| self.schema.clone());
        if self.tables.len() < MAX_TABLES && !self.tables.contains(&name) {
            self.tables.push(name);
        }
    }

    /// What stands before the statement that EXPLAIN explains, and the word that begins it.
    fn skips(&mut self, reader: &mut Reader<'_>) -> bool {
        let behind_is = |sign: &[u8]| reader.next.is_some_and(|token| token.text == sign);
        if reader.at_word("FORMAT") && behind_is(b"=") {
            reader.bump();
            reader.bump();
            self.due = true;
        } else if reader.at_any(&["ANALYZE", "EXTENDED", "PARTITIONS"]) && !self.is_option(reader) {
            self.due = true;
        } else if reader.at_word("DELETE") {
            self.head = Head::Delete;
        } else {
            return false;
        }
        true
    }
}

/// Before the table that is shown. Of a list of tables the schema is not taken for one.
fn leads_in_show(reader: &Reader<'_>) -> bool {
    if reader.last_is_word("CREATE") {
        return reader.at_any(&["TABLE", "VIEW", "SEQUENCE"]);
    }
    let of_table = ["COLUMNS", "FIELDS", "INDEX", "INDEXES", "KEYS"];
    reader.at_any(&["FROM", "IN"]) && of_table.iter().any(|word| reader.last_is_word(word))
}

/// INSERT or REPLACE, which need no INTO, and are functions, events and options too.
fn at_verb(reader: &Reader<'_>) -> bool {
    reader.at_any(&["INSERT", "REPLACE"])
        && !reader.next_is(Kind::Open)
        && !reader.next_is_word("ON")
        && !reader.last_is_word("OR")
}

/// The name that begins with this token, of which the last part becomes the reader's token.
fn name_at(reader: &mut Reader<'_>, first: &Token<'_>) -> Option<TableName> {
    let first = name_of(first)?;
    if !reader.next_is(Kind::Dot) {
        return Some(TableName { schema: None, table: first.into() });
    }
    reader.bump();
    reader.bump();
    let table = name_of(&reader.this?)?;
    Some(TableName { schema: Some(first.into()), table: table.into() })
}

fn name_of<'a>(token: &Token<'a>) -> Option<&'a str> {
    let is_name = matches!(token.kind, Kind::Word | Kind::QuotedName | Kind::NameAfterDot);
    std::str::from_utf8(unquoted(token.text)).ok().filter(|_| is_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::ServerFamily;

    #[test]
    fn names_are_found_where_tables_stand() {
        let dialect = Dialect { family: ServerFamily::MariaDb, version: 101_106, ..Dialect::default() };
        for (sql, expected) in [
            ("SELECT a FROM t, `s`.`u` AS x JOIN v ON a = b, w WHERE c = d, e", "t s.u v w"),
            ("SELECT 1 FROM (a, (b JOIN c)) LIMIT 1", "a b c"),
            ("SELECT a, b FROM t WHERE x IN (SELECT y, z FROM u ORDER BY 1, 2)", "t u"),
            ("INSERT IGNORE INTO s.t (a, b) SELECT c, d FROM u", "s.t u"),
            ("REPLACE t SELECT REPLACE(a, b, c) FROM u", "t u"),
            ("HANDLER t OPEN", "t"),
            ("UPDATE LOW_PRIORITY a, b SET c = 1, d = 2", "a b"),
            ("DELETE FROM t", "t"),
            ("CREATE TABLE IF NOT EXISTS t (a INT, b INT)", "t"),
            ("DROP TABLE a, s.b", "a s.b"),
            ("TRUNCATE t", "t"),
            ("TRUNCATE TABLE t", "t"),
            ("LOAD DATA INFILE 'x' INTO TABLE t", "t"),
            ("LOCK TABLES a READ, b WRITE", "a b"),
            ("SHOW CREATE TABLE s.t", "s.t"),
            ("SHOW CREATE VIEW v", "v"),
            ("SHOW FULL COLUMNS FROM t FROM s LIKE 'a'", "s.t"),
            ("SHOW INDEX IN t IN s WHERE a IN (SELECT b FROM u)", "s.t u"),
            ("SHOW KEYS FROM s.t", "s.t"),
            ("SHOW TABLES FROM s", ""),
            ("DESC t", "t"),
            ("DESCRIBE s.t a", "s.t"),
            ("EXPLAIN t", "t"),
            ("EXPLAIN partitions", "partitions"),
            ("EXPLAIN PARTITIONS SELECT a FROM t", "t"),
            ("EXPLAIN FORMAT = JSON DELETE FROM t WHERE a = 1", "t"),
            ("EXPLAIN EXTENDED UPDATE t SET a = 1", "t"),
            ("CREATE TABLE a LIKE s.b", "a s.b"),
            ("CREATE TABLE IF NOT EXISTS a (LIKE b)", "a b"),
            ("CREATE TABLE a (b INT REFERENCES t (x), c INT) ENGINE = x, COMMENT = 'y'", "a t"),
            ("CREATE TABLE a (INDEX (b), c TIMESTAMP ON UPDATE NOW(), CHECK (c LIKE d)) AS SELECT 1", "a"),
            ("CREATE UNIQUE INDEX i USING BTREE ON s.t (a, b)", "s.t"),
            ("DROP INDEX i ON t", "t"),
            ("CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW UPDATE u SET a = 1", "t u"),
            ("CREATE OR REPLACE VIEW v AS SELECT a, b FROM t JOIN u ON t.a = u.a", "v t u"),
            ("DROP VIEW IF EXISTS v, w", "v w"),
            ("ALTER TABLE a ADD b INT, ADD c INT, RENAME TO s.d", "a s.d"),
            ("ALTER TABLE a RENAME COLUMN b TO c", "a"),
            ("RENAME TABLE a TO b, s.c TO d", "a b s.c d"),
            ("RENAME USER a TO b", ""),
            ("GRANT SELECT (a), INSERT, UPDATE, REFERENCES ON s.t TO u", "s.t"),
            ("GRANT ALL ON TABLE t TO u", "t"),
            ("GRANT EXECUTE ON PROCEDURE p TO u", ""),
            ("REVOKE ALL ON *.* FROM u", ""),
            ("REVOKE DELETE ON t FROM u", "t"),
            ("SELECT 1 FROM a WHERE b IN (TABLE t)", "a t"),
            ("SELECT 1 FROM (a JOIN b), c", "a b c"),
            ("UPDATE a JOIN (SELECT x FROM u WHERE y = 1) v, w SET b = 1", "a u w"),
            (
                "SELECT 1 FROM a FOR SYSTEM_TIME ALL, b PARTITION (p, q), c USE INDEX FOR ORDER BY (i), d",
                "a b c d",
            ),
            ("SELECT a FROM t ORDER BY b DESC, c", "t"),
            ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1, b = 2", "t"),
            ("DELETE FROM x USING orders AS x, u", "x orders u"),
            ("SELECT 1 FROM tables, value", "tables value"),
            ("PREPARE s FROM 'DELETE FROM t'", "t"),
            ("EXECUTE IMMEDIATE 'SELECT ''FROM a'' FROM s.t, u' USING 1", "s.t u"),
            ("PREPARE s FROM @a; SELECT 'DELETE FROM t'", ""),
            ("SELECT 1 FROM a; USE s; SELECT 1 FROM b, z.c; PREPARE s FROM 'DELETE FROM d'", "a s.b z.c s.d"),
            ("SELECT 'FROM a', `from` b", ""),
            ("SELECT 1 FROM 5", ""),
        ] {
            let found = tables(sql.as_bytes(), &dialect);
            let names: Vec<_> = found.iter().map(ToString::to_string).collect();
            assert_eq!(names.join(" "), expected, "{sql}");
        }
    }

    #[test]
    fn a_text_that_the_parser_cannot_follow_has_its_tables_all_the_same() {
        let sql = b"SELECT a FROM shop.orders PROCEDURE ANALYSE() /*!50000 WHERE b = 1 */";
        let class = crate::routing::classify(sql, &Dialect::default());
        assert_eq!(class.tables[0].to_string(), "shop.orders");
    }

    #[test]
    fn tables_that_the_parser_takes_for_mere_names_are_found() {
        for (sql, expected) in [
            ("SHOW CREATE TABLE t", "t"),
            ("SHOW COLUMNS FROM t FROM s", "s.t"),
            ("DESC t", "t"),
            ("SELECT 1 FROM a WHERE b IN (TABLE t)", "a t"),
            ("TABLE s.t", "s.t"),
            ("SELECT EXTRACT(DAY FROM a) FROM t", "t"),
        ] {
            let class = crate::routing::classify(sql.as_bytes(), &Dialect::default());
            let names: Vec<_> = class.tables.iter().map(ToString::to_string).collect();
            assert_eq!(names.join(" "), expected, "{sql}");
        }
    }
}
