//! Published comparisons, as data with their source, and the shape of their workload.

use serde::{Deserialize, Serialize};

use crate::plan::{Plan, PsMode, RandType, Tables};
use crate::report::{Align, Table};
use crate::workload::Kind;

const DATA: &str = include_str!("../../assets/seeds.json");

/// A published comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seed {
    /// Its short name.
    pub name: String,
    /// What was compared.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// When.
    pub date: String,
    /// On what.
    pub setting: String,
    /// What the values are.
    pub figure: String,
    /// The values; the first is what the others are compared with.
    pub rows: Vec<Published>,
    /// What was sent.
    pub shape: Shape,
}

/// One published value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Of what.
    pub name: String,
    /// The value.
    pub value: f64,
}

/// A workload's shape, without its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// The workload.
    pub workload: Kind,
    /// Number of tables.
    pub tables: u32,
    /// Connections.
    pub threads: u32,
    /// How ids are drawn.
    pub rand_type: RandType,
    /// The percentile of latency that was shown.
    pub percentile: u32,
}

/// All of them.
#[must_use]
pub fn all() -> Vec<Seed> {
    serde_json::from_str(DATA).expect("the tests read it")
}

impl Seed {
    /// The published ratio of the second value to the first.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        match &self.rows[..] {
            [first, second, ..] => second.value / first.value,
            _ => 1.0,
        }
    }

    /// Its workload, with tables of `size` rows: sysbench 0.4 sent text where it was not told otherwise for writes, and
    /// a proxy that cannot prepare is not left out.
    #[must_use]
    pub fn plan(&self, size: u32) -> Plan {
        let shape = &self.shape;
        let mut plan = Plan::new(shape.workload);
        plan.tables = Tables { count: shape.tables, size };
        plan.threads = shape.threads;
        plan.rand.kind = shape.rand_type;
        plan.percentile = shape.percentile;
        plan.ps_mode = PsMode::Disable;
        plan
    }

    /// The published table.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table =
            Table::new(&[("", Align::Left), (&self.figure, Align::Right), ("of the first", Align::Right)]);
        for row in &self.rows {
            table.row([
                row.name.clone(),
                format!("{:.2}", row.value),
                format!("{:.3}", row.value / self.rows[0].value),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_ratio_is_68_percent() {
        let seeds = all();
        let atlas = seeds.iter().find(|seed| seed.name == "atlas").unwrap();
        assert!((atlas.ratio() - 0.681).abs() < 0.001);
        assert!(atlas.table().to_string().contains("65.66"));
    }

    #[test]
    fn every_seed_names_its_source_and_its_workload() {
        for seed in all() {
            assert!(seed.source.starts_with("http") && seed.rows.len() > 1, "{}", seed.name);
            assert!(seed.plan(1000).threads > 0);
        }
    }
}
