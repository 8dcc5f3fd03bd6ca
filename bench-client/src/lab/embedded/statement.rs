//! The statements that an embedded server knows: sysbench's, the bench's own, and what drivers and Telamon's monitor
//! ask when they connect.

use super::token::Token::{self, Number, Placeholder, Symbol, Text, Variable, Word};

/// A value in the text, or the place of one that comes with the execution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Integer(i64),
    Text(String),
    /// Counted from 0.
    Parameter(usize),
}

/// What a SELECT from a sysbench table answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    C,
    DistinctC,
    SumK,
    Count,
    CountK,
    Whole,
}

/// Which rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    All,
    Id(Operand),
    IdBetween(Operand, Operand),
    KIn(Vec<Operand>),
    /// Any of these ranges.
    KBetween(Vec<(Operand, Operand)>),
}

/// A table as written: with or without its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) schema: Option<String>,
    pub(crate) table: String,
}

/// A recognised statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Statement {
    Select {
        table: Name,
        output: Output,
        filter: Filter,
        order_by_c: bool,
    },
    /// SELECT of system variables, constants and session functions: name of the column, and what is asked.
    SelectValues(Vec<(String, Asked)>),
    Insert {
        table: Name,
        columns: Vec<String>,
        rows: Vec<Vec<Operand>>,
    },
    /// `SET k = k + 1`
    UpdateK {
        table: Name,
        id: Operand,
    },
    UpdateC {
        table: Name,
        c: Operand,
        id: Operand,
    },
    Delete {
        table: Name,
        id: Operand,
    },
    CreateTable {
        table: Name,
        if_not_exists: bool,
    },
    DropTables {
        tables: Vec<Name>,
        if_exists: bool,
    },
    CreateSchema {
        schema: String,
        if_not_exists: bool,
    },
    DropSchema {
        schema: String,
        if_exists: bool,
    },
    Begin,
    Commit,
    Rollback,
    Autocommit(bool),
    /// SET of anything else, CREATE INDEX, ANALYZE: answered OK, changes nothing.
    Accepted(&'static str),
    /// SHOW GLOBAL STATUS LIKE
    Status(String),
    /// SHOW VARIABLES LIKE
    Variables(String),
    ReplicaStatus,
    /// SHOW WARNINGS and the like.
    Nothing,
}

/// One value of a [`Statement::SelectValues`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Variable(String),
    Constant(i64),
    Version,
    Schema,
    ConnectionId,
}

impl Statement {
    /// The statement that these tokens are, or None where it is not one of the known.
    pub(crate) fn recognise(tokens: &[Token<'_>]) -> Option<Statement> {
        Some(match tokens {
            [Word("select"), rest @ ..] => return select(rest),
            [Word("insert"), Word("into"), rest @ ..] => return insert(rest),
            [Word("update"), rest @ ..] => return update(rest),
            [Word("delete"), Word("from"), rest @ ..] => {
                let (table, rest) = name(rest)?;
                let Filter::Id(id) = filter(rest, 0)? else { return None };
                Statement::Delete { table, id }
            }
            [Word("create" | "drop" | "truncate" | "analyze" | "optimize"), ..] => return definition(tokens),
            [Word("begin")] | [Word("begin"), Word("work")] => Statement::Begin,
            [Word("start"), Word("transaction"), ..] => Statement::Begin,
            [Word("commit"), ..] => Statement::Commit,
            [Word("rollback"), ..] => Statement::Rollback,
            [Word("set"), rest @ ..] => set(rest),
            [Word("show"), rest @ ..] => return show(rest),
            _ => return None,
        })
    }

    /// The number of placeholders in these tokens.
    pub(crate) fn parameters(tokens: &[Token<'_>]) -> usize {
        tokens.iter().filter(|token| **token == Placeholder).count()
    }
}

fn select(tokens: &[Token<'_>]) -> Option<Statement> {
    let (output, rest) = match tokens {
        [Word("c"), Word("from"), rest @ ..] => (Output::C, rest),
        [Word("distinct"), Word("c"), Word("from"), rest @ ..] => (Output::DistinctC, rest),
        [Word("sum"), Symbol('('), Word("k"), Symbol(')'), Word("from"), rest @ ..] => (Output::SumK, rest),
        [Word("count"), Symbol('('), Symbol('*'), Symbol(')'), Word("from"), rest @ ..] => {
            (Output::Count, rest)
        }
        [Word("count"), Symbol('('), Word("k"), Symbol(')'), Word("from"), rest @ ..] => {
            (Output::CountK, rest)
        }
        [Symbol('*'), Word("from"), rest @ ..] => (Output::Whole, rest),
        [
            Word("id"),
            Symbol(','),
            Word("k"),
            Symbol(','),
            Word("c"),
            Symbol(','),
            Word("pad"),
            Word("from"),
            rest @ ..,
        ] => (Output::Whole, rest),
        _ => return select_values(tokens),
    };
    let (table, rest) = name(rest)?;
    let (rest, order_by_c) = match rest {
        [rest @ .., Word("order"), Word("by"), Word("c")] => (rest, true),
        _ => (rest, false),
    };
    Some(Statement::Select { table, output, filter: filter(rest, 0)?, order_by_c })
}

fn select_values(tokens: &[Token<'_>]) -> Option<Statement> {
    let tokens = match tokens {
        [rest @ .., Word("limit"), Number(1)] => rest,
        _ => tokens,
    };
    let mut asked = Vec::new();
    for item in tokens.split(|token| *token == Symbol(',')) {
        let (item, alias) = match item {
            [item @ .., Word("as"), Word(alias)] => (item, Some(*alias)),
            _ => (item, None),
        };
        let (column, value) = match item {
            [Variable(variable)] => (format!("@@{variable}"), Asked::Variable((*variable).to_owned())),
            [Number(number)] => (number.to_string(), Asked::Constant(*number)),
            [Word("version"), Symbol('('), Symbol(')')] => ("version()".to_owned(), Asked::Version),
            [Word("database" | "schema"), Symbol('('), Symbol(')')] => {
                ("database()".to_owned(), Asked::Schema)
            }
            [Word("connection_id"), Symbol('('), Symbol(')')] => {
                ("connection_id()".to_owned(), Asked::ConnectionId)
            }
            _ => return None,
        };
        asked.push((alias.map_or(column, str::to_owned), value));
    }
    Some(Statement::SelectValues(asked))
}

/// A WHERE clause to the statement's end; `first` is the number of its first placeholder.
fn filter(tokens: &[Token<'_>], first: usize) -> Option<Filter> {
    Some(match tokens {
        [] => Filter::All,
        [Word("where"), Word("id"), Symbol('='), id] => Filter::Id(operand(id, first)?),
        [Word("where"), Word("id"), Word("between"), low, Word("and"), high] => {
            let next = first + usize::from(*low == Placeholder);
            Filter::IdBetween(operand(low, first)?, operand(high, next)?)
        }
        [Word("where"), Word("k"), Word("in"), Symbol('('), list @ .., Symbol(')')] => {
            Filter::KIn(operands(list, first)?)
        }
        [Word("where"), ranges @ ..] => Filter::KBetween(k_ranges(ranges, first)?),
        _ => return None,
    })
}

/// `k BETWEEN low AND high`, with OR between several.
fn k_ranges(tokens: &[Token<'_>], first: usize) -> Option<Vec<(Operand, Operand)>> {
    let mut next = first;
    let mut take = |token: &Token<'_>| {
        let operand = operand(token, next);
        next += usize::from(*token == Placeholder);
        operand
    };
    let ranges = tokens.split(|token| *token == Word("or")).map(|range| match range {
        [Word("k"), Word("between"), low, Word("and"), high] => Some((take(low)?, take(high)?)),
        _ => None,
    });
    ranges.collect()
}

fn operand(token: &Token<'_>, parameter: usize) -> Option<Operand> {
    match token {
        Number(number) => Some(Operand::Integer(*number)),
        Text(text) => Some(Operand::Text(text.clone())),
        Placeholder => Some(Operand::Parameter(parameter)),
        Word(_) | Variable(_) | Symbol(_) => None,
    }
}

/// Values with commas between them.
fn operands(tokens: &[Token<'_>], first: usize) -> Option<Vec<Operand>> {
    let mut next = first;
    let mut found = Vec::with_capacity(tokens.len() / 2 + 1);
    for item in tokens.split(|token| *token == Symbol(',')) {
        let [value] = item else { return None };
        found.push(operand(value, next)?);
        next += usize::from(*value == Placeholder);
    }
    Some(found)
}

/// A table's name and what follows it.
fn name<'a, 'b>(tokens: &'b [Token<'a>]) -> Option<(Name, &'b [Token<'a>])> {
    match tokens {
        [Word(schema), Symbol('.'), Word(table), rest @ ..] => {
            Some((Name { schema: Some((*schema).to_owned()), table: (*table).to_owned() }, rest))
        }
        [Word(table), rest @ ..] => Some((Name { schema: None, table: (*table).to_owned() }, rest)),
        _ => None,
    }
}

fn insert(tokens: &[Token<'_>]) -> Option<Statement> {
    let (table, mut rest) = name(tokens)?;
    let mut columns: Vec<String> = ["id", "k", "c", "pad"].map(str::to_owned).to_vec();
    if let [Symbol('('), list @ ..] = rest {
        let end = list.iter().position(|token| *token == Symbol(')'))?;
        columns = list[..end]
            .iter()
            .filter_map(|token| if let Word(column) = token { Some((*column).to_owned()) } else { None })
            .collect();
        rest = &list[end + 1..];
    }
    let [Word("values"), tuples @ ..] = rest else { return None };
    let mut rows = Vec::new();
    let mut parameters = 0;
    for tuple in tuples.split_inclusive(|token| *token == Symbol(')')) {
        let tuple = tuple.strip_prefix(&[Symbol(',')]).unwrap_or(tuple);
        let [Symbol('('), values @ .., Symbol(')')] = tuple else { return None };
        rows.push(operands(values, parameters).filter(|row| row.len() == columns.len())?);
        parameters += Statement::parameters(values);
    }
    let known = columns.iter().all(|column| matches!(column.as_str(), "id" | "k" | "c" | "pad"));
    known.then_some(Statement::Insert { table, columns, rows })
}

fn update(tokens: &[Token<'_>]) -> Option<Statement> {
    let (table, rest) = name(tokens)?;
    match rest {
        [Word("set"), Word("k"), Symbol('='), Word("k"), Symbol('+'), Number(1), rest @ ..] => {
            let Filter::Id(id) = filter(rest, 0)? else { return None };
            Some(Statement::UpdateK { table, id })
        }
        [Word("set"), Word("c"), Symbol('='), value, rest @ ..] => {
            let Filter::Id(id) = filter(rest, usize::from(*value == Placeholder))? else { return None };
            Some(Statement::UpdateC { table, c: operand(value, 0)?, id })
        }
        _ => None,
    }
}

fn definition(tokens: &[Token<'_>]) -> Option<Statement> {
    Some(match tokens {
        [Word("create"), Word("database" | "schema"), rest @ ..] => {
            let (rest, if_not_exists) = without_if_not_exists(rest);
            let [Word(schema), ..] = rest else { return None };
            Statement::CreateSchema { schema: (*schema).to_owned(), if_not_exists }
        }
        [Word("drop"), Word("database" | "schema"), rest @ ..] => {
            let (rest, if_exists) = without_if_exists(rest);
            let [Word(schema)] = rest else { return None };
            Statement::DropSchema { schema: (*schema).to_owned(), if_exists }
        }
        [Word("create"), Word("table"), rest @ ..] => {
            let (rest, if_not_exists) = without_if_not_exists(rest);
            let (table, rest) = name(rest)?;
            let is_sysbench = ["id", "k", "c", "pad"].iter().all(|column| rest.contains(&Word(column)));
            if !is_sysbench {
                return None;
            }
            Statement::CreateTable { table, if_not_exists }
        }
        [Word("drop"), Word("table"), rest @ ..] => {
            let (rest, if_exists) = without_if_exists(rest);
            let tables = rest.split(|token| *token == Symbol(',')).map(|item| Some(name(item)?.0));
            Statement::DropTables { tables: tables.collect::<Option<_>>()?, if_exists }
        }
        [Word("create" | "drop"), Word("index"), ..] => Statement::Accepted("create_index"),
        [Word("analyze" | "optimize"), Word("table"), ..] => Statement::Accepted("analyze"),
        _ => return None,
    })
}

fn without_if_not_exists<'a, 'b>(tokens: &'b [Token<'a>]) -> (&'b [Token<'a>], bool) {
    match tokens {
        [Word("if"), Word("not"), Word("exists"), rest @ ..] => (rest, true),
        _ => (tokens, false),
    }
}

fn without_if_exists<'a, 'b>(tokens: &'b [Token<'a>]) -> (&'b [Token<'a>], bool) {
    match tokens {
        [Word("if"), Word("exists"), rest @ ..] => (rest, true),
        _ => (tokens, false),
    }
}

fn set(tokens: &[Token<'_>]) -> Statement {
    let tokens = match tokens {
        [Word("session" | "local"), rest @ ..] => rest,
        _ => tokens,
    };
    match tokens {
        [Word("autocommit") | Variable("autocommit"), Symbol('='), Number(0) | Word("off" | "false")] => {
            Statement::Autocommit(false)
        }
        [Word("autocommit") | Variable("autocommit"), Symbol('='), Number(1) | Word("on" | "true")] => {
            Statement::Autocommit(true)
        }
        _ => Statement::Accepted("set_option"),
    }
}

fn show(tokens: &[Token<'_>]) -> Option<Statement> {
    let tokens = match tokens {
        [Word("global" | "session"), rest @ ..] => rest,
        _ => tokens,
    };
    Some(match tokens {
        [Word("status")] => Statement::Status("%".into()),
        [Word("status"), Word("like"), Text(pattern)] => Statement::Status(pattern.clone()),
        [Word("variables")] => Statement::Variables("%".into()),
        [Word("variables"), Word("like"), Text(pattern)] => Statement::Variables(pattern.clone()),
        [Word("replica" | "slave"), Word("status")] => Statement::ReplicaStatus,
        [Word("warnings" | "errors"), ..] => Statement::Nothing,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn recognise(text: &str) -> Option<Statement> {
        Statement::recognise(&tokens(text, &text.to_ascii_lowercase()))
    }

    fn sbtest1() -> Name {
        Name { schema: None, table: "sbtest1".into() }
    }

    #[test]
    fn placeholders_are_numbered_in_the_order_of_the_text() {
        let update = recognise("UPDATE sbtest1 SET c=? WHERE id=?").unwrap();
        let expected =
            Statement::UpdateC { table: sbtest1(), c: Operand::Parameter(0), id: Operand::Parameter(1) };
        assert_eq!(update, expected);
        let insert =
            recognise("INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, 5, ?, ''), (?, ?, ?, ?)").unwrap();
        let Statement::Insert { rows, .. } = insert else { panic!("{insert:?}") };
        assert_eq!(rows[0][2], Operand::Parameter(1));
        assert_eq!(rows[1][3], Operand::Parameter(5));
    }

    #[test]
    fn the_statements_of_sysbench_are_known() {
        for text in [
            "SELECT c FROM sbtest1 WHERE id=1",
            "SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 100",
            "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
            "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, 3)",
            "SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN 3 AND 8",
            "UPDATE sbtest1 SET k=k+1 WHERE id=7",
            "DELETE FROM sbtest1 WHERE id=7",
            "INSERT INTO sbtest1(k, c, pad) VALUES(1, 'a', 'b'),(2, 'c', 'd')",
            "CREATE TABLE sbtest1( id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) \
             DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id) ) /*! ENGINE = innodb */ ",
            "CREATE INDEX k_1 ON sbtest1(k)",
            "DROP TABLE IF EXISTS sbtest1",
            "BEGIN",
            "COMMIT",
        ] {
            assert!(recognise(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_whole_is_not_answered() {
        for text in [
            "SELECT c FROM sbtest1 WHERE id=1 FOR UPDATE",
            "SELECT c FROM sbtest1 WHERE id=1 OR id=2",
            "SELECT count(k) FROM sbtest1 WHERE k BETWEEN 1 AND 2 OR id=3",
            "DELETE FROM sbtest1",
            "INSERT INTO sbtest1 (id, k) VALUES (1)",
            "CREATE TABLE other (x INT)",
            "SELECT SLEEP(1)",
        ] {
            assert_eq!(recognise(text), None, "{text}");
        }
    }
}
