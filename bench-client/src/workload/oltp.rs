//! sysbench's `oltp_*`: the same statements in the same order and numbers, on the same tables.

use super::{Effect, Event, Ids, Kind, Random, Template, Workload};
use crate::plan::{Mix, Plan};

/// One kind of statement; each table has one template of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
}

impl Part {
    const RANGES: [Part; 4] = [Part::SimpleRange, Part::SumRange, Part::OrderRange, Part::DistinctRange];
    const WRITES: [Part; 3] = [Part::IndexUpdate, Part::NonIndexUpdate, Part::Delete];

    fn template(self, table: u32) -> Template {
        let t = format!("sbtest{table}");
        let (effect, sql) = match self {
            Part::PointSelect => (Effect::Read, format!("SELECT c FROM {t} WHERE id=?")),
            Part::SimpleRange => (Effect::Read, format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ?")),
            Part::SumRange => (Effect::Read, format!("SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?")),
            Part::OrderRange => {
                (Effect::Read, format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"))
            }
            Part::DistinctRange => {
                (Effect::Read, format!("SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"))
            }
            Part::IndexUpdate => (Effect::Write, format!("UPDATE {t} SET k=k+1 WHERE id=?")),
            Part::NonIndexUpdate => (Effect::Write, format!("UPDATE {t} SET c=? WHERE id=?")),
            Part::Delete => (Effect::Write, format!("DELETE FROM {t} WHERE id=?")),
            Part::Insert => (Effect::Write, format!("INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)")),
        };
        Template::new(effect, sql)
    }

    /// How often an event has it.
    fn times(self, mix: &Mix) -> u32 {
        match self {
            Part::PointSelect => mix.point_selects,
            Part::SimpleRange => mix.simple_ranges,
            Part::SumRange => mix.sum_ranges,
            Part::OrderRange => mix.order_ranges,
            Part::DistinctRange => mix.distinct_ranges,
            Part::IndexUpdate => mix.index_updates,
            Part::NonIndexUpdate => mix.non_index_updates,
            Part::Delete | Part::Insert => mix.delete_inserts,
        }
    }
}

/// The parts of a workload's event, in order.
fn parts(kind: Kind, mix: &Mix) -> Vec<Part> {
    let ranges = if mix.range_selects { &Part::RANGES[..] } else { &[] };
    let reads = [&[Part::PointSelect], ranges].concat();
    match kind {
        Kind::OltpReadWrite => [&reads[..], &Part::WRITES].concat(),
        Kind::OltpReadOnly => reads,
        Kind::OltpWriteOnly => Part::WRITES.to_vec(),
        Kind::OltpUpdateIndex => vec![Part::IndexUpdate],
        Kind::OltpUpdateNonIndex => vec![Part::NonIndexUpdate],
        Kind::OltpDelete => vec![Part::Delete],
        _ => vec![Part::PointSelect],
    }
}

/// Every `oltp_*` workload but `oltp_insert`, and the ones whose events are a point select.
#[derive(Debug)]
pub(super) struct Oltp {
    templates: Vec<Template>,
    parts: Vec<(Part, u32)>,
    // Where `parts[n]` begins among the templates: there is one for each table.
    starts: Vec<usize>,
    insert_start: Option<usize>,
    trx: Option<[usize; 2]>,
    tables: u32,
    range_size: u32,
    ids: Ids,
}

impl Oltp {
    pub(super) fn new(plan: &Plan) -> Oltp {
        let (kind, mix) = (plan.workload, &plan.mix);
        let parts = parts(kind, mix);
        let mut templates = Vec::new();
        let mut add = |part: Part| {
            let start = templates.len();
            templates.extend((1..=plan.tables.count).map(|table| part.template(table)));
            start
        };
        let starts = parts.iter().map(|part| add(*part)).collect();
        let puts_back = kind != Kind::OltpDelete && parts.contains(&Part::Delete);
        let insert_start = puts_back.then(|| add(Part::Insert));
        let trx = plan.in_transactions().then(|| {
            let at = templates.len();
            templates.extend(["BEGIN", "COMMIT"].map(|sql| Template::new(Effect::Transaction, sql)));
            [at, at + 1]
        });
        // These have one statement in each event, whatever --point-selects says.
        let single = !kind.has_transactions();
        let times = |part: Part| match part {
            Part::PointSelect | Part::Delete if single => 1,
            _ => part.times(mix),
        };
        let parts = parts.iter().map(|part| (*part, times(*part))).collect();
        let (tables, range_size) = (plan.tables.count, mix.range_size);
        let ids = Ids::new(&plan.rand, plan.tables.size);
        Oltp { templates, parts, starts, insert_start, trx, tables, range_size, ids }
    }

    fn call(&self, part: Part, template: usize, random: &mut Random, event: &mut Event) {
        match part {
            Part::PointSelect | Part::IndexUpdate => event.integer(self.ids.draw(random)),
            Part::SimpleRange | Part::SumRange | Part::OrderRange | Part::DistinctRange => {
                let first = self.ids.draw(random);
                event.integer(first);
                event.integer(first.saturating_add(self.range_size.saturating_sub(1)));
            }
            Part::NonIndexUpdate => {
                event.digits(random, C_GROUPS);
                event.integer(self.ids.draw(random));
            }
            Part::Delete | Part::Insert => event.integer(self.ids.draw(random)),
        }
        event.call(template);
    }

    /// The row that is deleted is put back with other content.
    fn delete_and_insert(&self, table: usize, delete: usize, random: &mut Random, event: &mut Event) {
        let id = self.ids.draw(random);
        event.integer(id);
        event.call(delete);
        if let Some(start) = self.insert_start {
            event.integer(id);
            event.integer(self.ids.draw(random));
            event.digits(random, C_GROUPS);
            event.digits(random, PAD_GROUPS);
            event.call(start + table);
        }
    }
}

/// Groups of digits in column `c`.
pub(crate) const C_GROUPS: usize = 10;
/// Groups of digits in column `pad`.
pub(crate) const PAD_GROUPS: usize = 5;

impl Workload for Oltp {
    fn templates(&self) -> &[Template] {
        &self.templates
    }

    fn event(&mut self, random: &mut Random, event: &mut Event) {
        if let Some([begin, _]) = self.trx {
            event.call(begin);
        }
        for ((part, times), start) in self.parts.iter().zip(&self.starts) {
            // One table for all statements of a kind, as sysbench does.
            let table = random.up_to(self.tables) as usize - 1;
            for _ in 0..*times {
                match part {
                    Part::Delete => self.delete_and_insert(table, start + table, random, event),
                    _ => self.call(*part, start + table, random, event),
                }
            }
        }
        if let Some([_, commit]) = self.trx {
            event.call(commit);
        }
    }
}

/// `oltp_insert`: sent as text, as sysbench does.
#[derive(Debug)]
pub(super) struct Insert {
    templates: Vec<Template>,
    ids: Ids,
    tables: u32,
    // The next id where the server gives none; threads take every `step`th.
    next: Option<u32>,
    step: u32,
}

impl Insert {
    pub(super) fn new(plan: &Plan, thread: u32) -> Insert {
        let templates = (1..=plan.tables.count).map(|table| Part::Insert.template(table).as_text()).collect();
        let next = (!plan.auto_inc).then(|| plan.tables.size + 1 + thread);
        let (tables, step) = (plan.tables.count, plan.threads.max(1));
        Insert { templates, ids: Ids::new(&plan.rand, plan.tables.size), tables, next, step }
    }
}

impl Workload for Insert {
    fn templates(&self) -> &[Template] {
        &self.templates
    }

    fn event(&mut self, random: &mut Random, event: &mut Event) {
        let table = random.up_to(self.tables) as usize - 1;
        event.integer(self.next.unwrap_or(0));
        self.next = self.next.map(|next| next.saturating_add(self.step));
        event.integer(self.ids.draw(random));
        event.digits(random, C_GROUPS);
        event.digits(random, PAD_GROUPS);
        event.call(table);
    }
}
