//! The tables of a text that the parser does not prove a read: every name in a place for tables.
//!
//! For rules alone. It may take a name too many for a table (`EXTRACT(DAY FROM a)`), so that no table is
//! missed; nothing about reads and writes is concluded from it.

use super::class::TableName;
use super::dialect::Dialect;
use super::lex::{Kind, Token};
use super::reader::{Reader, unquoted};
use super::tree::MAX_TABLES;

/// Words behind which a table stands, or a list of them.
const BEFORE: [&str; 10] =
    ["FROM", "JOIN", "STRAIGHT_JOIN", "INTO", "UPDATE", "TABLE", "TABLES", "DESC", "DESCRIBE", "TRUNCATE"];

/// Words that may stand between.
const BETWEEN: [&str; 10] =
    ["IF", "NOT", "EXISTS", "ONLY", "LATERAL", "LOW_PRIORITY", "IGNORE", "TABLE", "DELAYED", "HIGH_PRIORITY"];

/// Words behind which a comma does not lead to another table.
const ENDS: [&str; 14] = [
    "WHERE",
    "SET",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "VALUES",
    "VALUE",
    "SELECT",
    "WINDOW",
    "FOR",
    "UNION",
    "RETURNING",
    "PARTITION",
];

/// The tables that the text names, in their order, each once.
pub(super) fn tables(sql: &[u8], dialect: &Dialect) -> Vec<TableName> {
    let mut reader = Reader::new(sql, dialect);
    let mut tables = Vec::new();
    // The depth of the list of tables that is being read, and whether the next of them is due.
    let mut list: Option<usize> = None;
    let mut due = false;
    while let Some(token) = reader.this {
        let is_word = token.kind == Kind::Word;
        if due && (reader.at(Kind::Open) || is_word && reader.at_any(&BETWEEN)) {
            list = list.map(|_| reader.depth + usize::from(token.kind == Kind::Open));
        } else if is_word && (reader.at_any(&BEFORE) || at_verb(&reader)) {
            (list, due) = (Some(reader.depth), true);
        } else if is_word && reader.at_any(&ENDS) {
            (list, due) = (None, false);
        } else if reader.at(Kind::Comma) && list == Some(reader.depth) {
            due = true;
        } else {
            if due {
                note(&mut tables, name_at(&mut reader, &token));
            }
            due = false;
        }
        reader.bump();
    }
    tables
}

/// INSERT or REPLACE, which need no INTO, and are functions too.
fn at_verb(reader: &Reader<'_>) -> bool {
    reader.at_any(&["INSERT", "REPLACE", "HANDLER"]) && !reader.next_is(Kind::Open)
}

/// The name that begins with this token, of which the last part becomes the reader's token.
fn name_at(reader: &mut Reader<'_>, first: &Token<'_>) -> Option<TableName> {
    let first = text(first)?;
    if !reader.next_is(Kind::Dot) {
        return Some(TableName { schema: None, table: first.into() });
    }
    reader.bump();
    reader.bump();
    let table = text(&reader.this?)?;
    Some(TableName { schema: Some(first.into()), table: table.into() })
}

fn text<'a>(token: &Token<'a>) -> Option<&'a str> {
    let is_name = matches!(token.kind, Kind::Word | Kind::QuotedName | Kind::NameAfterDot);
    std::str::from_utf8(unquoted(token.text)).ok().filter(|_| is_name)
}

fn note(tables: &mut Vec<TableName>, name: Option<TableName>) {
    if let Some(name) = name.filter(|name| tables.len() < MAX_TABLES && !tables.contains(name)) {
        tables.push(name);
    }
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
}
