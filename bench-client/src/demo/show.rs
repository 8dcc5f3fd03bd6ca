//! The demo's tables and its verdict.

use super::split::{Proxied, objection};
use crate::counters::ServerCounts;
use crate::lab::Role;
use crate::report::text::shown_ratio;
use crate::report::{Align, Run, Table, thousands, thousands_of};

/// Prints what was found; true where the split is proved.
pub(super) fn print(roles: &[Role], runs: &[Run]) -> bool {
    println!("\nStatements of account app, as each server counted them itself");
    println!("(reads: SELECT; writes: INSERT, UPDATE, DELETE)\n");
    println!("{}", counts_table(runs));
    let objections: Vec<String> = runs.iter().filter_map(|run| objection(&proxied(roles, run)?)).collect();
    let whole = |run: &Run| run.split.is_some() && run.ended_early.is_none();
    let proved = objections.is_empty() && !runs.is_empty() && runs.iter().all(whole);
    if proved {
        println!(
            "The split is proved: through Telamon every write ran on the primary, none on a replica; reads"
        );
        println!("outside transactions ran on the replicas; transactions stayed whole on the primary.");
    } else {
        println!("The split is NOT proved:");
        for objection in &objections {
            println!("  {objection}");
        }
        for run in runs.iter().filter(|run| !whole(run)) {
            println!("  {} was not run to its end", run.title);
        }
    }
    println!("\nThe same statements through Telamon and direct to the primary, in turns\n");
    println!("{}", speed_table(runs));
    println!(
        "Ratio: transactions a second through Telamon / direct, the median of the rounds, with its 95 %"
    );
    println!("interval. p95 is the time of a transaction (one select, or sysbench's 18 statements).");
    proved
}

/// The second target is the proxy.
const PROXY: usize = 1;

fn counts_table(runs: &[Run]) -> Table {
    let mut table = Table::new(&[
        ("workload", Align::Left),
        ("server", Align::Left),
        ("telamon reads", Align::Right),
        ("telamon writes", Align::Right),
        ("direct reads", Align::Right),
        ("direct writes", Align::Right),
    ]);
    for run in runs {
        let Some(split) = &run.split else { continue };
        let counted = |target: usize, server: usize| {
            split.counts.get(target).and_then(|counts| counts.get(server)).copied().unwrap_or_default()
        };
        for (at, server) in split.servers.iter().enumerate() {
            let (proxy, direct) = (counted(PROXY, at), counted(0, at));
            let name = if at == 0 { run.title.clone() } else { String::new() };
            let numbers = [proxy.reads, proxy.writes, direct.reads, direct.writes].map(thousands);
            table.row([name, server.clone()].into_iter().chain(numbers));
        }
    }
    table
}

fn proxied(roles: &[Role], run: &Run) -> Option<Proxied> {
    let sent = &run.targets.get(PROXY)?.total;
    let received = run.split.as_ref()?.counts.get(PROXY)?;
    Some(Proxied {
        workload: run.title.clone(),
        in_transactions: run.plan.in_transactions(),
        sent: ServerCounts { reads: sent.reads, writes: sent.writes },
        received: roles.iter().copied().zip(received.iter().copied()).collect(),
    })
}

fn speed_table(runs: &[Run]) -> Table {
    let mut table = Table::new(&[
        ("workload", Align::Left),
        ("telamon q/s", Align::Right),
        ("direct q/s", Align::Right),
        ("ratio", Align::Right),
        ("", Align::Left),
        ("telamon p95 ms", Align::Right),
        ("direct p95 ms", Align::Right),
        ("telamon CPU us/query", Align::Right),
    ]);
    for run in runs {
        let [direct, proxy, ..] = &run.targets[..] else { continue };
        let (ratio, verdict) = match run.comparisons.first() {
            Some(comparison) => (shown_ratio(&comparison.throughput), comparison.verdict.words()),
            None => ("-".to_owned(), ""),
        };
        table.row([
            run.title.clone(),
            thousands_of(proxy.total.qps),
            thousands_of(direct.total.qps),
            ratio,
            verdict.to_owned(),
            format!("{:.3}", proxy.total.p95_ms),
            format!("{:.3}", direct.total.p95_ms),
            proxy.cpu.map_or("-".to_owned(), |cpu| format!("{:.1}", cpu.us_per_query)),
        ]);
    }
    table
}
