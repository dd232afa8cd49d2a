//! Serial: each thread runs until it blocks, yields or ends. It is the default rule made a
//! strategy, so its schedules have no decisions. Tests are first run this way to see whether
//! they pass without any interleaving.

use crate::strategy::{Load, Strategy, View, default_pick};

/// See the module's description.
pub struct Serial;

impl Strategy for Serial {
    fn begin(&mut self, _seed: u64, _length: u64) {}

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        default_pick(view)
    }

    fn read(&mut self, _load: &Load) -> Option<usize> {
        Some(0)
    }

    fn decides_time(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Op, run};

    #[test]
    fn threads_run_until_they_block_or_yield_without_decisions() {
        let program = [
            vec![
                Op::Spawn(1),
                Op::Spawn(2),
                Op::Step,
                Op::SpinUntil(0),
                Op::Step,
            ],
            vec![Op::SpinUntil(1), Op::Set(0)],
            vec![Op::Step, Op::Set(1)],
        ];
        let run = run(&program, &mut Serial, 0, 0);
        assert!(!run.stuck);
        assert_eq!(run.decisions, []);
        let threads: Vec<usize> = run.order.iter().map(|&(thread, _)| thread).collect();
        assert_eq!(threads, [0, 0, 0, 2, 2, 1, 1, 0, 0]);
    }
}
