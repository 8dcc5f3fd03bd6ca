//! sysbench's `select_random_points` and `select_random_ranges`, and `large_result`.

use super::{Effect, Event, Ids, Random, Template, Workload};
use crate::plan::Plan;

/// The part of a table that one thread selects from: threads do not share rows.
fn share(plan: &Plan, thread: u32) -> Ids {
    let (size, threads) = (u64::from(plan.tables.size), u64::from(plan.threads.max(1)));
    let at = |thread: u64| u32::try_from(size * thread / threads).unwrap_or(u32::MAX);
    let thread = u64::from(thread) % threads;
    Ids::between(&plan.rand, at(thread), at(thread + 1))
}

/// `select_random_points`: rows by a list of values of the indexed column.
#[derive(Debug)]
pub(super) struct RandomPoints {
    templates: [Template; 1],
    ids: Ids,
}

impl RandomPoints {
    pub(super) fn new(plan: &Plan, thread: u32) -> RandomPoints {
        let places = vec!["?"; plan.mix.random_points.max(1) as usize].join(", ");
        let sql = format!("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({places})");
        RandomPoints { templates: [Template::new(Effect::Read, sql)], ids: share(plan, thread) }
    }
}

impl Workload for RandomPoints {
    fn templates(&self) -> &[Template] {
        &self.templates
    }

    fn event(&mut self, random: &mut Random, event: &mut Event) {
        for _ in 0..self.templates[0].parameters() {
            event.integer(self.ids.draw(random));
        }
        event.call(0);
    }
}

/// `select_random_ranges`: rows counted in some ranges of the indexed column.
#[derive(Debug)]
pub(super) struct RandomRanges {
    templates: [Template; 1],
    ids: Ids,
    delta: u32,
}

impl RandomRanges {
    pub(super) fn new(plan: &Plan, thread: u32) -> RandomRanges {
        let ranges = vec!["k BETWEEN ? AND ?"; plan.mix.number_of_ranges.max(1) as usize].join(" OR ");
        let sql = format!("SELECT count(k) FROM sbtest1 WHERE {ranges}");
        let templates = [Template::new(Effect::Read, sql)];
        RandomRanges { templates, ids: share(plan, thread), delta: plan.mix.delta }
    }
}

impl Workload for RandomRanges {
    fn templates(&self) -> &[Template] {
        &self.templates
    }

    fn event(&mut self, random: &mut Random, event: &mut Event) {
        for _ in 0..self.templates[0].parameters() / 2 {
            let first = self.ids.draw(random);
            event.integer(first);
            event.integer(first.saturating_add(self.delta));
        }
        event.call(0);
    }
}

/// `large_result`: one answer of many whole rows.
#[derive(Debug)]
pub(super) struct LargeResult {
    templates: Vec<Template>,
    tables: u32,
    rows: u32,
    last_start: u32,
}

impl LargeResult {
    pub(super) fn new(plan: &Plan) -> LargeResult {
        let rows = plan.mix.result_rows.clamp(1, plan.tables.size.max(1));
        let sql = |table| format!("SELECT id, k, c, pad FROM sbtest{table} WHERE id BETWEEN ? AND ?");
        let tables = plan.tables.count;
        let templates = (1..=tables).map(|table| Template::new(Effect::Read, sql(table))).collect();
        LargeResult { templates, tables, rows, last_start: plan.tables.size.max(1) - rows + 1 }
    }
}

impl Workload for LargeResult {
    fn templates(&self) -> &[Template] {
        &self.templates
    }

    fn event(&mut self, random: &mut Random, event: &mut Event) {
        let table = random.up_to(self.tables) as usize - 1;
        let first = random.up_to(self.last_start);
        event.integer(first);
        event.integer(first + self.rows - 1);
        event.call(table);
    }
}
