//! Spinning that ends: a lock that spins a hundred times, then says that it waits and sleeps.
//!
//! Every strategy lets others go first when a thread spins. So a thread that others make wait hardly
//! gets to the end of a loop that counts its rounds, and what it does behind the loop (the flag "a writer
//! waits" of a read-write lock, a bit "threads are parked") is not seen by those that it waits for. In a
//! share of the executions a spinning thread may go on for more rounds than such loops have.

use crate::rng::{Rng, mix};
use crate::strategy::View;

/// Changes the seed, so that this does not depend on what the strategy draws.
const SALT: u64 = 0x626f_756e_6465_6473;
/// In one of so many executions spinning threads may go on.
const EXECUTIONS: u64 = 8;
/// Of so many threads that begin to spin, one gives way at once.
const GIVES_WAY: u64 = 4;
/// Points for which a thread may go on. A loop of the usual locks has about a hundred rounds, with a hint
/// and a load in each.
const POINTS: u32 = 320;
/// Threads that begin to spin, in one execution, of which it is drawn whether they go on.
const MOST: u32 = 6;

/// See the module's description.
pub struct BoundedSpins {
    rng: Rng,
    /// The thread that spins, and how many points it may still go on.
    spins: Option<(usize, u32)>,
    left: u32,
}

impl BoundedSpins {
    /// Before the first execution.
    pub const fn new() -> Self {
        Self {
            rng: Rng::new(SALT),
            spins: None,
            left: 0,
        }
    }

    /// An execution begins; `may` says whether spinning threads may go on in it at all.
    pub fn begin(&mut self, seed: u64, may: bool) {
        self.rng = Rng::new(mix(seed ^ SALT));
        self.spins = None;
        let is_drawn = self.rng.below(EXECUTIONS) == 0;
        self.left = if may && is_drawn { MOST } else { 0 };
    }

    /// Whether the current thread goes on although it spins and others could run.
    pub fn goes_on(&mut self, view: &View<'_>) -> bool {
        if self.left == 0 && self.spins.is_none() {
            return false;
        }
        if !view.yielded || !view.current_enabled || view.may_continue() {
            // Between two hints there are loads. A step of another thread ends the spin.
            let is_same = self
                .spins
                .is_some_and(|(thread, _)| thread == view.current && view.current_enabled);
            if !is_same {
                self.spins = None;
            }
            return false;
        }
        let points = match self.spins {
            Some((thread, points)) if thread == view.current => points,
            _ if self.left == 0 => return false,
            _ => {
                self.left -= 1;
                match self.rng.below(GIVES_WAY) {
                    0 => 0,
                    _ => POINTS,
                }
            }
        };
        self.spins = Some((view.current, points.saturating_sub(1)));
        points > 0
    }
}

impl Default for BoundedSpins {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points for which thread 1 goes on where it always spins.
    fn points(seed: u64, may: bool) -> u32 {
        let view = View {
            current: 1,
            current_enabled: true,
            enabled: &[0, 1],
            arrivals: None,
            pending: &[],
            steps: &[],
            point: 0,
            last_change: 0,
            yielded: true,
            expiry: None,
        };
        let mut spins = BoundedSpins::new();
        spins.begin(seed, may);
        (0..10 * POINTS)
            .take_while(|_| spins.goes_on(&view))
            .count() as u32
    }

    #[test]
    fn in_a_share_of_executions_threads_go_on_for_longer_than_locks_spin_and_not_for_ever() {
        let long = (0..4000).filter(|&seed| points(seed, true) == POINTS);
        let long = long.count();
        assert!((300..450).contains(&long), "{long}");
        assert!((0..4000).all(|seed| [0, POINTS].contains(&points(seed, true))));
        assert!((0..4000).all(|seed| points(seed, false) == 0));
        assert!((0..100).all(|seed| points(seed, true) == points(seed, true)));
    }
}
