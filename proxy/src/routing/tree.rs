//! The second judge: sqlparser's tree, walked whole. Where a node is not known here, it is no read.
//!
//! The tree is only built when it cannot become deep: parsing, walking and dropping it recurse, and a
//! left-deep chain of 100,000 operators would overflow a thread's stack.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArguments, ObjectName, ObjectNamePart, Query, Select, SetExpr, Statement, TableFactor,
    Visit, Visitor, WindowType,
};
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::{Parser, ParserOptions};

use super::class::{StatementKind, TableName};
use super::dialect::Dialect;
use super::functions;
use super::reader::Shape;

/// Longer texts are left to the first judge.
const MAX_BYTES: usize = 16 * 1024;
const MAX_TOKENS: usize = 8 * 1024;
/// Levels the tree may have by operators, and by parentheses.
const MAX_OPERATORS: usize = 160;
const MAX_NESTING: usize = 24;
/// More names are not kept: the class stays small.
pub(super) const MAX_TABLES: usize = 64;

/// What the tree says.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// `None` where the parser cannot follow.
    pub(super) is_read: Option<bool>,
    /// Those of queries; elsewhere the walk ends early, or the tree holds a table as a mere name.
    pub(super) tables: Option<Vec<TableName>>,
}

/// Parses and walks the text, where that is safe.
pub(super) fn judge(sql: &[u8], shape: Shape, dialect: &Dialect) -> Verdict {
    let shallow = sql.len() <= MAX_BYTES
        && shape.tokens <= MAX_TOKENS
        && shape.operators <= MAX_OPERATORS
        && shape.deepest <= MAX_NESTING;
    if !shallow {
        return Verdict::default();
    }
    // Bytes that are no UTF-8 stand in strings only: elsewhere the scan has made a write of the text.
    let text = String::from_utf8_lossy(sql);
    let mysql = MySqlDialect {};
    let parsed = Parser::new(&mysql)
        .with_options(ParserOptions::new().with_unescape(false))
        .try_with_sql(&text)
        .and_then(|mut parser| parser.parse_statements());
    let Ok(statements) = parsed else { return Verdict::default() };
    let mut walk = Walk { dialect, tables: Vec::new() };
    let is_read = !statements.is_empty()
        && statements.iter().all(is_reading_statement)
        && statements.visit(&mut walk).is_continue();
    let queries = is_read && statements.iter().all(is_query);
    Verdict { is_read: Some(is_read), tables: queries.then_some(walk.tables) }
}

fn is_query(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(_) | Statement::Explain { .. })
}

fn is_reading_statement(statement: &Statement) -> bool {
    match statement {
        Statement::Query(_)
        | Statement::ExplainTable { .. }
        | Statement::ShowFunctions { .. }
        | Statement::ShowVariable { .. }
        | Statement::ShowStatus { .. }
        | Statement::ShowVariables { .. }
        | Statement::ShowCreate { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowProcessList { .. }
        | Statement::ShowCharset(_)
        | Statement::ShowTables { .. }
        | Statement::ShowViews { .. }
        | Statement::ShowCollation { .. } => true,
        Statement::Explain { statement, .. } => matches!(**statement, Statement::Query(_)),
        _ => false,
    }
}

fn note_table(tables: &mut Vec<TableName>, relation: &ObjectName) {
    let mut parts = relation.0.iter().rev().map_while(|part| match part {
        ObjectNamePart::Identifier(ident) => Some(ident.value.as_str()),
        ObjectNamePart::Function(_) => None,
    });
    if let Some(table) = parts.next() {
        let name = TableName { schema: parts.next().map(Into::into), table: table.into() };
        if tables.len() < MAX_TABLES && !tables.contains(&name) {
            tables.push(name);
        }
    }
}

/// Breaks at the first node that is not known to read.
struct Walk<'d> {
    dialect: &'d Dialect,
    tables: Vec<TableName>,
}

impl Walk<'_> {
    fn allow(&self, allowed: bool) -> ControlFlow<()> {
        if allowed { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn is_harmless_call(&self, function: &sqlparser::ast::Function) -> bool {
        let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return false };
        let empty = match &function.args {
            FunctionArguments::None => true,
            FunctionArguments::List(list) => list.args.is_empty(),
            FunctionArguments::Subquery(_) => false,
        };
        // A row constructor, which the parser takes for a call.
        let is_row = name.value.eq_ignore_ascii_case("ROW");
        let known = functions::called(name.value.as_bytes(), false, empty, self.dialect);
        (is_row || known.kind < StatementKind::Write)
            && name.quote_style.is_none()
            && matches!(function.parameters, FunctionArguments::None)
            && function
                .over
                .as_ref()
                .is_none_or(|over| matches!(over, WindowType::WindowSpec(_) | WindowType::NamedWindow(_)))
    }
}

/// Set operations are walked by hand: only queries, not their bodies, are visited as such. The table of
/// `TABLE t` is no relation to the visitor.
fn reads_only(body: &SetExpr, tables: &mut Vec<TableName>) -> bool {
    let mut open = vec![body];
    while let Some(body) = open.pop() {
        match body {
            SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => {}
            SetExpr::Table(named) => {
                let names = [&named.schema_name, &named.table_name].into_iter().flatten().cloned();
                note_table(tables, &ObjectName(names.map(ObjectNamePart::Identifier).collect()));
            }
            SetExpr::SetOperation { left, right, .. } => open.extend([left.as_ref(), right.as_ref()]),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => return false,
        }
    }
    true
}

impl Visitor for Walk<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let reads_only = reads_only(&query.body, &mut self.tables);
        self.allow(
            query.locks.is_empty()
                && query.for_clause.is_none()
                && query.settings.is_none()
                && query.format_clause.is_none()
                && query.pipe_operators.is_empty()
                && reads_only,
        )
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.allow(
            select.into.is_none()
                && select.top.is_none()
                && select.lateral_views.is_empty()
                && select.connect_by.is_empty()
                && select.prewhere.is_none()
                && select.qualify.is_none(),
        )
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        note_table(&mut self.tables, relation);
        self.allow(relation.0.iter().all(|part| matches!(part, ObjectNamePart::Identifier(_))))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.allow(match factor {
            TableFactor::Table { args, .. } => args.is_none(),
            TableFactor::Derived { .. } | TableFactor::NestedJoin { .. } | TableFactor::JsonTable { .. } => {
                true
            }
            _ => false,
        })
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        self.allow(is_reading_statement(statement))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.allow(match expr {
            Expr::Function(function) => self.is_harmless_call(function),
            Expr::BinaryOp { op, .. } => *op != sqlparser::ast::BinaryOperator::Assignment,
            Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::CompoundFieldAccess { .. }
            | Expr::JsonAccess { .. }
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::In { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::RLike { .. }
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. }
            | Expr::UnaryOp { .. }
            | Expr::Convert { .. }
            | Expr::Cast { .. }
            | Expr::Extract { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Position { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Collate { .. }
            | Expr::Nested(_)
            | Expr::Value(_)
            | Expr::Prefixed { .. }
            | Expr::TypedString(_)
            | Expr::Case { .. }
            | Expr::Exists { .. }
            | Expr::Subquery(_)
            | Expr::Tuple(_)
            | Expr::Dictionary(_)
            | Expr::Interval(_)
            | Expr::MatchAgainst { .. }
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(..)
            | Expr::MemberOf(_) => true,
            _ => false,
        })
    }
}
