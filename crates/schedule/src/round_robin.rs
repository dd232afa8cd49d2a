//! Round robin: after every scheduling point the next thread that can run. The seed shifts the
//! order by letting the first thread go that many points before the turns begin.

use crate::strategy::{Strategy, View};

/// Points of the longest head start.
const HEAD_STARTS: u64 = 16;

/// See the module's description.
pub struct RoundRobin {
    head_start: u64,
}

impl RoundRobin {
    /// Turns without a head start.
    pub const fn new() -> Self {
        Self { head_start: 0 }
    }
}

impl Strategy for RoundRobin {
    fn begin(&mut self, seed: u64, _length: u64) {
        self.head_start = seed % HEAD_STARTS;
    }

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        if view.may_continue() && view.enabled.len() > 1 && self.head_start > 0 {
            self.head_start -= 1;
            return view.current;
        }
        view.enabled_after(view.current)
    }
}
