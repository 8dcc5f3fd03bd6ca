//! Ends connections that nobody uses: too old, idle for too long, closed by their server, or wanted elsewhere.

use super::Pools;
use std::collections::VecDeque;

impl Pools {
    /// Ends what has been idle or open for too long or was closed by its server; called once a [`super::TICK`].
    pub fn tick(&self) {
        self.now.set(self.now.get().wrapping_add(1));
        for server in 0..self.servers.len() {
            let now = self.now.get();
            let mut lists = self.servers[server].lists.borrow_mut();
            let spare = lists.idle.len().saturating_sub(self.share_of_min_idle());
            let (mut ended, mut kept) = (Vec::new(), VecDeque::new());
            for mut idle in lists.idle.drain(..) {
                let too_long = now.wrapping_sub(idle.since) >= self.limits.idle_ticks && ended.len() < spare;
                if too_long || self.is_old(&idle) || idle.parts.connection.stream.is_closed_by_peer() {
                    ended.push(idle);
                } else {
                    kept.push_back(idle);
                }
            }
            lists.idle = kept;
            drop(lists);
            if self.servers[server].server.starving() > 0 {
                self.make_room(server);
            }
            ended.into_iter().for_each(Self::discard);
        }
    }

    /// Somebody of another worker waits for a connection to this server: an idle one of this worker's gives its place.
    pub fn make_room(&self, server: usize) {
        let mut lists = self.servers[server].lists.borrow_mut();
        if self.servers[server].waiting.get() > 0 {
            return;
        }
        let urgent = self.servers[server].server.is_urgent();
        let at = lists.idle.iter().position(|idle| !idle.is_firm()).or(urgent.then_some(0));
        let idle = at.and_then(|at| lists.idle.remove(at));
        drop(lists);
        if let Some(idle) = idle {
            Self::discard(idle);
        }
    }

    /// Says goodbye on all idle connections.
    pub async fn quit(&self) {
        for pool in &self.servers {
            let idle = std::mem::take(&mut pool.lists.borrow_mut().idle);
            for idle in idle {
                idle.parts.connection.quit().await;
            }
        }
    }
}
