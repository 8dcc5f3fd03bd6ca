//! The demo's tables and its verdict.

use super::measure::{Measured, ROUNDS, median};
use super::split::{Proxied, objection};
use crate::driver::Sample;
use crate::lab::Cluster;
use crate::report::{Align, Table, thousands};

/// Prints what was found; true where the split is proved.
pub(super) fn print(cluster: &Cluster, results: &[Measured]) -> bool {
    println!("\nStatements of account app, as each server counted them itself");
    println!("(reads: SELECT; writes: INSERT, UPDATE, DELETE)\n");
    println!("{}", counts_table(cluster, results));
    let objections: Vec<String> =
        results.iter().filter_map(|result| objection(&proxied(cluster, result))).collect();
    if objections.is_empty() {
        println!(
            "The split is proved: through Telamon every write ran on the primary, none on a replica; reads"
        );
        println!("outside transactions ran on the replicas; transactions stayed whole on the primary.");
    } else {
        println!("The split is NOT proved:");
        for objection in &objections {
            println!("  {objection}");
        }
    }
    println!("\nThe same statements through Telamon and direct to the primary, in turns\n");
    println!("{}", speed_table(results));
    println!(
        "Ratio: queries a second through Telamon / direct; the median of {ROUNDS} rounds, with the lowest"
    );
    println!("and highest. p95 is the time of an event (one select, or sysbench's 18 statements).");
    objections.is_empty()
}

fn counts_table(cluster: &Cluster, results: &[Measured]) -> Table {
    let mut table = Table::new(&[
        ("workload", Align::Left),
        ("server", Align::Left),
        ("telamon reads", Align::Right),
        ("telamon writes", Align::Right),
        ("direct reads", Align::Right),
        ("direct writes", Align::Right),
    ]);
    for result in results {
        for (at, server) in cluster.servers().iter().enumerate() {
            let (proxy, direct) = (result.proxy.received[at], result.direct.received[at]);
            let name = if at == 0 { result.plan.name() } else { String::new() };
            let numbers = [proxy.reads, proxy.writes, direct.reads, direct.writes].map(thousands);
            table.row([name, server.name().to_owned()].into_iter().chain(numbers));
        }
    }
    table
}

fn proxied(cluster: &Cluster, result: &Measured) -> Proxied {
    let roles = cluster.servers().iter().map(|server| server.role());
    Proxied {
        workload: result.plan.name(),
        in_transactions: result.plan.in_transactions(),
        sent: result.proxy.sent(),
        received: roles.zip(result.proxy.received.iter().copied()).collect(),
    }
}

fn speed_table(results: &[Measured]) -> Table {
    let mut table = Table::new(&[
        ("workload", Align::Left),
        ("threads", Align::Right),
        ("telamon q/s", Align::Right),
        ("direct q/s", Align::Right),
        ("ratio", Align::Right),
        ("min-max", Align::Right),
        ("telamon p95", Align::Right),
        ("direct p95", Align::Right),
    ]);
    for result in results {
        let rate = |sample: &Sample| thousands_of(sample.qps());
        let ratios = &result.ratios;
        let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = ratios.iter().copied().fold(0.0, f64::max);
        table.row([
            result.plan.name(),
            result.plan.threads.to_string(),
            rate(&result.proxy.sample),
            rate(&result.direct.sample),
            format!("{:.2}", median(ratios)),
            format!("{lowest:.2}-{highest:.2}"),
            p95(&result.proxy.sample),
            p95(&result.direct.sample),
        ]);
    }
    table
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is positive and far below 2^64"
)]
fn thousands_of(rate: f64) -> String {
    thousands(rate.round() as u64)
}

fn p95(sample: &Sample) -> String {
    format!("{:.2} ms", sample.latency.percentile_ms(95.0))
}
