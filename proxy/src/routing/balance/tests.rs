//! Turns by weight, and policies against simulated servers.

use std::time::Duration;

use super::*;
use crate::routing::Latency;

/// The next choice by round robin out of pairs of index and weight.
fn in_turn(balancer: &mut Balancer, usable: &[(usize, u32)]) -> Option<usize> {
    let candidate =
        |&(index, weight): &(usize, u32)| Candidate { index, weight, outstanding: 0, latency_us: None };
    balancer.choose_by(Policy::RoundRobin, usable.iter().map(candidate))
}

fn counts(balancer: &mut Balancer, usable: &[(usize, u32)], rounds: usize) -> Vec<usize> {
    let mut counts = vec![0; 8];
    for _ in 0..rounds {
        counts[in_turn(balancer, usable).unwrap()] += 1;
    }
    counts
}

#[test]
fn weights_three_and_one_give_three_to_one_in_every_window_of_four() {
    let mut balancer = Balancer::new();
    for _ in 0..100 {
        assert_eq!(counts(&mut balancer, &[(0, 3), (1, 1)], 4)[..2], [3, 1]);
    }
}

#[test]
fn choices_are_spread_not_bunched() {
    let mut balancer = Balancer::new();
    let chosen: Vec<_> = (0..8).filter_map(|_| in_turn(&mut balancer, &[(0, 3), (1, 1)])).collect();
    assert!(chosen.windows(4).all(|window| window.contains(&1)));
}

#[test]
fn the_weights_hold_among_those_left_while_another_is_down() {
    let mut balancer = Balancer::new();
    let all = [(0, 2), (1, 3), (2, 1)];
    counts(&mut balancer, &all, 5);
    let left = counts(&mut balancer, &all[1..], 4_000);
    assert!(left[1].abs_diff(3_000) <= 3 && left[2].abs_diff(1_000) <= 3, "{left:?}");
    let back = counts(&mut balancer, &all, 6_000);
    assert!(back[0].abs_diff(2_000) <= 6 && back[1].abs_diff(3_000) <= 6, "{back:?}");
}

#[test]
fn nothing_usable_and_weight_zero_give_none() {
    let mut balancer = Balancer::new();
    assert_eq!(in_turn(&mut balancer, &[]), None);
    assert_eq!(in_turn(&mut balancer, &[(0, 0)]), None);
    assert_eq!(in_turn(&mut balancer, &[(0, 0), (1, 1)]), Some(1));
    assert_eq!(in_turn(&mut balancer, &[(5, 1)]), Some(5));
}

/// A server that takes as long as it says for each statement and runs any number side by side.
struct Simulated {
    weight: u32,
    takes: Duration,
    /// When each running statement ends, and how long it took then.
    running: Vec<(Duration, Duration)>,
    latency: Latency,
    served: usize,
}

impl Simulated {
    fn new(weight: u32, takes_ms: u64) -> Self {
        let takes = Duration::from_millis(takes_ms);
        Self { weight, takes, running: Vec::new(), latency: Latency::default(), served: 0 }
    }
}

/// Sends a statement each `every`, from `now` on, and returns when the last was sent.
fn simulate(
    servers: &mut [Simulated],
    policy: Policy,
    (mut now, every): (Duration, Duration),
    statements: usize,
) -> Duration {
    let mut balancer = Balancer::new();
    for _ in 0..statements {
        now += every;
        for server in &mut *servers {
            let ended: Vec<_> = server.running.extract_if(.., |(end, _)| *end <= now).collect();
            for (end, took) in ended {
                server.latency = server.latency.observe(took, end);
            }
        }
        let candidates = servers.iter().enumerate().map(|(index, server)| Candidate {
            index,
            weight: server.weight,
            outstanding: u32::try_from(server.running.len()).unwrap(),
            latency_us: server.latency.at(now),
        });
        let chosen = &mut servers[balancer.choose_by(policy, candidates).unwrap()];
        chosen.running.push((now + chosen.takes, chosen.takes));
        chosen.served += 1;
    }
    now
}

fn share(server: &Simulated, statements: usize) -> usize {
    server.served * 100 / statements
}

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

#[test]
fn round_robin_looks_at_weights_alone() {
    let mut balancer = Balancer::new();
    let candidates = [(0, 3, 1_000, None), (1, 1, 0, Some(1)), (2, 0, 0, Some(0))]
        .map(|(index, weight, outstanding, latency_us)| Candidate { index, weight, outstanding, latency_us });
    for _ in 0..100 {
        let chosen: Vec<_> = (0..4)
            .filter_map(|_| balancer.choose_by(Policy::RoundRobin, candidates.iter().copied()))
            .collect();
        assert_eq!(chosen.iter().filter(|index| **index == 0).count(), 3, "{chosen:?}");
    }
    assert_eq!(balancer.choose_by(Policy::Latency, candidates[2..].iter().copied()), None);
}

#[test]
fn least_outstanding_gives_a_server_four_times_as_fast_four_times_as_much() {
    let mut servers = [Simulated::new(1, 10), Simulated::new(1, 40)];
    simulate(&mut servers, Policy::LeastOutstanding, (SECOND, MS / 4), 10_000);
    assert!(share(&servers[0], 10_000).abs_diff(80) <= 3, "{}", servers[0].served);
}

#[test]
fn least_outstanding_goes_by_weight_where_speeds_are_alike() {
    for every in [MS / 4, 100 * MS] {
        let mut servers = [Simulated::new(3, 20), Simulated::new(1, 20)];
        simulate(&mut servers, Policy::LeastOutstanding, (SECOND, every), 10_000);
        assert!(share(&servers[0], 10_000).abs_diff(75) <= 2, "{}", servers[0].served);
    }
}

#[test]
fn latency_leaves_a_slow_server_alone_and_comes_back_when_it_has_recovered() {
    let mut servers = [Simulated::new(1, 1), Simulated::new(1, 200)];
    let now = simulate(&mut servers, Policy::Latency, (SECOND, MS), 20_000);
    assert!((1..200).contains(&servers[1].served), "a slow server gets some, and few: {}", servers[1].served);

    servers[1].takes = MS;
    let now = simulate(&mut servers, Policy::Latency, (now, MS), 60_000);
    servers.iter_mut().for_each(|server| server.served = 0);
    simulate(&mut servers, Policy::Latency, (now, MS), 10_000);
    assert!(share(&servers[1], 10_000).abs_diff(50) <= 10, "{}", servers[1].served);
}

#[test]
fn latency_counts_what_would_run_before_the_new_statement_and_the_weight() {
    let candidate = |index, weight, outstanding, latency_us| Candidate {
        index,
        weight,
        outstanding,
        latency_us: Some(latency_us),
    };
    let mut balancer = Balancer::new();
    let mut choose = |candidates: [Candidate; 2]| balancer.choose_by(Policy::Latency, candidates.into_iter());
    assert_eq!(choose([candidate(0, 1, 3, 1_000), candidate(1, 1, 0, 2_000)]), Some(1));
    assert_eq!(choose([candidate(0, 1, 0, 1_000), candidate(1, 1, 0, 2_000)]), Some(0));
    assert_eq!(choose([candidate(0, 1, 0, 1_000), candidate(1, 3, 0, 2_000)]), Some(1));
}

#[test]
fn latency_tries_a_server_that_was_never_measured_once_at_a_time() {
    let mut balancer = Balancer::new();
    let mut choose = |outstanding| {
        let known = Candidate { index: 0, weight: 1, outstanding: 5, latency_us: Some(900) };
        let new = Candidate { index: 1, weight: 1, outstanding, latency_us: None };
        balancer.choose_by(Policy::Latency, [known, new].into_iter())
    };
    assert_eq!(choose(0), Some(1));
    assert_eq!(choose(1), Some(0));
}

#[test]
fn no_policy_starves_a_server_that_is_as_good_as_the_others() {
    for policy in [Policy::RoundRobin, Policy::LeastOutstanding, Policy::Latency] {
        for every in [MS / 4, 50 * MS] {
            let mut servers = [Simulated::new(1, 10), Simulated::new(1, 10), Simulated::new(1, 10)];
            simulate(&mut servers, policy, (SECOND, every), 9_000);
            assert!(servers.iter().all(|server| share(server, 9_000) >= 25), "{policy:?} {every:?}");
        }
    }
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let full =
        |index| Candidate { index, weight: u32::MAX, outstanding: u32::MAX, latency_us: Some(u32::MAX) };
    let mut balancer = Balancer::new();
    for policy in [Policy::RoundRobin, Policy::LeastOutstanding, Policy::Latency] {
        assert!(balancer.choose_by(policy, [full(0), full(1)].into_iter()).is_some());
    }
}
