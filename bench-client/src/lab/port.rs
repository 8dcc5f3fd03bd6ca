//! Free TCP ports that stay free: below the range from which the kernel takes ports for outgoing connections, so
//! that a server which is killed and started again finds its port unused.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};

use super::error::LabError;

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// `wanted` different ports on 127.0.0.1 that nothing listens on, in no order.
pub(crate) fn free_ports(wanted: usize) -> Result<Vec<u16>, LabError> {
    // RandomState is seeded by the operating system: clusters started at once begin at different places.
    let seed = RandomState::new().build_hasher().finish();
    let start = u16::try_from(seed % u64::from(COUNT)).expect("the remainder is below COUNT");
    let candidates = (0..COUNT).map(|step| FIRST + (start + step) % COUNT);
    // All are held until all are found, so that none is found twice.
    let held: Vec<(u16, TcpListener)> = candidates
        .filter_map(|port| Some((port, TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?)))
        .take(wanted)
        .collect();
    if held.len() < wanted {
        return Err(LabError::NoFreePort { range: format!("{FIRST}..{}", FIRST + COUNT) });
    }
    Ok(held.into_iter().map(|(port, _)| port).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_can_be_bound() {
        let mut ports = free_ports(5).unwrap();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 5);
        assert!(ports.iter().all(|port| (FIRST..FIRST + COUNT).contains(port)));
    }
}
