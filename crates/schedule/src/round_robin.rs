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

    fn decides_time(&self) -> bool {
        // Its turns are all that it decides.
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Op, run};

    #[test]
    fn threads_take_turns_after_the_head_start() {
        let program = [
            vec![Op::Spawn(1), Op::Step, Op::Step, Op::Step],
            vec![Op::Step; 2],
        ];
        let threads = |seed| -> Vec<usize> {
            let run = run(&program, &mut RoundRobin::new(), seed, 0);
            run.order.iter().map(|&(thread, _)| thread).collect()
        };
        assert_eq!(threads(0), [0, 1, 0, 1, 0, 0]);
        assert_eq!(threads(1), [0, 0, 1, 0, 1, 0]);
    }
}
