//! Opens connections before anybody wants them, up to `pool.min_idle`.

use super::{Counted, Pools, Wish};
use crate::backend::settings::Settings;
use crate::topology::Health;
use std::rc::Rc;

/// Ticks for which a server that gave no connection is not asked for one in advance.
const PAUSE: u32 = 30;

impl Pools {
    /// Opens in the background what the server lacks of idle connections, under the account that logged in last among
    /// those that sessions or connections have; called once a [`super::TICK`]. Whoever waits for a connection comes
    /// first. `read_only` says whether sessions only read there.
    pub fn make_ready(self: &Rc<Self>, server: usize, read_only: bool) {
        let pool = &self.servers[server];
        let known = self.groups.borrow().iter().rev().find(|group| Rc::strong_count(group) > 1).cloned();
        let Some(account) = known.filter(|_| pool.server.health() == Health::Up) else { return };
        let paused = |refused: u32| self.now.get().wrapping_sub(refused) < PAUSE;
        if pool.refused_at.get().is_some_and(paused) {
            return;
        }
        let there = pool.lists.borrow().idle.len() + pool.opening.get();
        for _ in there..self.share_of_min_idle() {
            if pool.waiting.get() > 0 || pool.server.starving() > 0 {
                return;
            }
            let Some(permit) = pool.server.permit() else { return };
            let opening = Counted::new(&pool.opening);
            let (pools, account) = (self.clone(), account.clone());
            tokio::task::spawn_local(async move {
                let settings = pools.settings.intern(Settings::default());
                let wish = Wish { account: &account, settings: &settings, claim: None, read_only };
                let opened = pools.open(server, &wish, permit).await;
                drop(opening);
                let pool = &pools.servers[server];
                pool.refused_at.set(opened.is_err().then(|| pools.now.get())); // why is in the log
                if let Ok(connection) = opened {
                    connection.check_in(None, false);
                }
            });
        }
    }

    /// This worker's part of `pool.min_idle`.
    pub(super) fn share_of_min_idle(&self) -> usize {
        self.limits.min_idle.div_ceil(self.limits.workers)
    }
}
