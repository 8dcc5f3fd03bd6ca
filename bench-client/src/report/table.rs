//! Aligned tables of text.

use std::fmt;

/// On which side a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table with a heading; columns are as wide as their widest cell.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    #[must_use]
    pub fn new(heading: &[(&str, Align)]) -> Table {
        let columns = heading.iter().map(|(_, align)| *align).collect();
        let rows = vec![heading.iter().map(|(name, _)| (*name).to_owned()).collect()];
        Table { columns, rows }
    }

    /// Adds a row; cells that are missing are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| self.rows.iter().map(|row| cell(row, at).chars().count()).max().unwrap_or(0))
            .collect();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (at, (align, width)) in self.columns.iter().zip(&widths).enumerate() {
                let text = cell(row, at);
                line.push_str("  ");
                match align {
                    Align::Left => line.push_str(&format!("{text:<width$}")),
                    Align::Right => line.push_str(&format!("{text:>width$}")),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                writeln!(f, "  {}", rules.join("  "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_and_numbers_right() {
        let mut table = Table::new(&[("server", Align::Left), ("reads", Align::Right)]);
        table.row(["primary".to_owned(), "7".to_owned()]);
        table.row(["r1".to_owned(), "1,234".to_owned()]);
        table.row(["r2".to_owned()]);
        let expected = "  server   reads\n  -------  -----\n  primary      7\n  r1       1,234\n  r2\n";
        assert_eq!(table.to_string(), expected);
    }
}
