//! What a statement's class costs: from the cache, and judged anew.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use telamon::routing::{ClassCache, Dialect, ReplicaFacts, SessionFacts, Verdict, classify, route, scan};

const POINT_SELECT: &str = "SELECT c FROM sbtest1 WHERE id = 501234 AND k = 7712 LIMIT 1";

/// A select of about this many bytes: columns, conditions and strings as applications write them.
fn select_of(bytes: usize) -> String {
    let mut sql = String::from("SELECT `u`.`id`, `u`.`name` FROM `users` AS `u` WHERE `u`.`state` = 'new'");
    let mut column = 0;
    while sql.len() < bytes {
        sql.push_str(&format!(" AND `u`.`column_{column}` = 'value {column}'"));
        column += 1;
    }
    sql.truncate(sql[..bytes.min(sql.len())].rfind(" AND").unwrap_or(sql.len()));
    sql
}

fn hits(c: &mut Criterion) {
    let dialect = Dialect::default();
    let mut group = c.benchmark_group("routing/hit");
    for (name, sql) in [("60_bytes", POINT_SELECT.to_owned()), ("1000_bytes", select_of(1_000))] {
        let mut cache = ClassCache::new(1_000);
        group.throughput(Throughput::Bytes(sql.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| cache.classify(black_box(sql.as_bytes()), black_box(&dialect)));
        });
    }
    group.finish();
    c.bench_function("routing/scan_1000_bytes", |b| {
        let sql = select_of(1_000);
        b.iter(|| scan(black_box(sql.as_bytes()), &dialect));
    });
}

fn misses(c: &mut Criterion) {
    let dialect = Dialect::default();
    c.bench_function("routing/miss_point_select", |b| {
        b.iter(|| classify(black_box(POINT_SELECT.as_bytes()), &dialect));
    });
    c.bench_function("routing/miss_1000_bytes", |b| {
        let sql = select_of(1_000);
        b.iter(|| classify(black_box(sql.as_bytes()), &dialect));
    });
}

fn decision(c: &mut Criterion) {
    let class = classify(POINT_SELECT.as_bytes(), &Dialect::default());
    let replicas = ReplicaFacts { usable: 2, ..ReplicaFacts::default() };
    c.bench_function("routing/route", |b| {
        b.iter(|| route(black_box(&class), None, &SessionFacts::default(), &replicas, Verdict::None));
    });
}

criterion_group!(benches, hits, misses, decision);
criterion_main!(benches);
