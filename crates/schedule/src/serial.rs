//! Serial: each thread runs until it blocks, yields or ends. It is the default rule made a
//! strategy, so its schedules have no decisions. Tests are first run this way to see whether
//! they pass without any interleaving.

use crate::strategy::{Strategy, View, default_pick};

/// See the module's description.
pub struct Serial;

impl Strategy for Serial {
    fn begin(&mut self, _seed: u64, _length: u64) {}

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        default_pick(view)
    }
}
