//! sysbench's `oltp_point_select` and `oltp_read_write`: the same statements in the same numbers, with ids drawn
//! evenly (sysbench's `--rand-type=uniform`).

use super::{Effect, Random, Statement, Workload};
use crate::plan::Tables;

const POINT_SELECTS: u32 = 10;
const RANGE_SIZE: u32 = 100;

/// `oltp_point_select`.
#[derive(Debug)]
pub struct PointSelect {
    tables: Tables,
}

impl PointSelect {
    /// On these tables.
    #[must_use]
    pub fn new(tables: Tables) -> PointSelect {
        PointSelect { tables }
    }
}

impl Workload for PointSelect {
    fn event(&mut self, random: &mut Random) -> Vec<Statement> {
        vec![point_select(self.tables, random)]
    }
}

/// `oltp_read_write`.
#[derive(Debug)]
pub struct ReadWrite {
    tables: Tables,
    skip_trx: bool,
}

impl ReadWrite {
    /// On these tables; `skip_trx` leaves out BEGIN and COMMIT.
    #[must_use]
    pub fn new(tables: Tables, skip_trx: bool) -> ReadWrite {
        ReadWrite { tables, skip_trx }
    }
}

impl Workload for ReadWrite {
    fn event(&mut self, random: &mut Random) -> Vec<Statement> {
        let mut statements = Vec::with_capacity(20);
        if !self.skip_trx {
            statements.push(Statement { sql: "BEGIN".into(), effect: Effect::Transaction });
        }
        statements.extend((0..POINT_SELECTS).map(|_| point_select(self.tables, random)));
        for (columns, order) in
            [("c", ""), ("SUM(k)", ""), ("c", " ORDER BY c"), ("DISTINCT c", " ORDER BY c")]
        {
            let (table, first) = (random.up_to(self.tables.count), random.up_to(self.tables.size));
            let last = first + RANGE_SIZE - 1;
            let sql =
                format!("SELECT {columns} FROM sbtest{table} WHERE id BETWEEN {first} AND {last}{order}");
            statements.push(Statement { sql, effect: Effect::Read });
        }
        statements.extend(self.writes(random).map(|sql| Statement { sql, effect: Effect::Write }));
        if !self.skip_trx {
            statements.push(Statement { sql: "COMMIT".into(), effect: Effect::Transaction });
        }
        statements
    }
}

impl ReadWrite {
    fn writes(&self, random: &mut Random) -> [String; 4] {
        let mut place = || (random.up_to(self.tables.count), random.up_to(self.tables.size));
        let [(index_table, index_id), (text_table, text_id), (table, id)] = [place(), place(), place()];
        let (c, k) = (random.digits(10), random.up_to(self.tables.size));
        let (new_c, pad) = (random.digits(10), random.digits(5));
        [
            format!("UPDATE sbtest{index_table} SET k=k+1 WHERE id={index_id}"),
            format!("UPDATE sbtest{text_table} SET c='{c}' WHERE id={text_id}"),
            format!("DELETE FROM sbtest{table} WHERE id={id}"),
            format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({id}, {k}, '{new_c}', '{pad}')"),
        ]
    }
}

fn point_select(tables: Tables, random: &mut Random) -> Statement {
    let (table, id) = (random.up_to(tables.count), random.up_to(tables.size));
    Statement { sql: format!("SELECT c FROM sbtest{table} WHERE id={id}"), effect: Effect::Read }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(event: &[Statement], effect: Effect) -> usize {
        event.iter().filter(|statement| statement.effect == effect).count()
    }

    #[test]
    fn a_read_write_event_has_sysbenchs_numbers_of_statements() {
        let event = ReadWrite::new(Tables::default(), false).event(&mut Random::new(1, 1));
        assert_eq!((count(&event, Effect::Read), count(&event, Effect::Write)), (14, 4));
        assert_eq!(event.first().map(|statement| statement.sql.as_str()), Some("BEGIN"));
        assert_eq!(event.last().map(|statement| statement.sql.as_str()), Some("COMMIT"));
        let bare = ReadWrite::new(Tables::default(), true).event(&mut Random::new(1, 1));
        assert_eq!(bare[..], event[1..19]);
    }

    #[test]
    fn the_row_that_is_deleted_is_put_back() {
        let mut random = Random::new(3, 1);
        for _ in 0..100 {
            let [_, _, delete, insert] = ReadWrite::new(Tables::default(), true).writes(&mut random);
            let (table, id) = delete.strip_prefix("DELETE FROM ").unwrap().split_once(" WHERE id=").unwrap();
            assert!(
                insert.starts_with(&format!("INSERT INTO {table} (id, k, c, pad) VALUES ({id}, ")),
                "{insert}"
            );
        }
    }
}
