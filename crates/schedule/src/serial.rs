//! Serial: each thread runs until it blocks, yields or ends. It is the default rule made a
//! strategy, so its schedules have no decisions. Tests are first run this way to see whether
//! they pass without any interleaving.

use crate::experience::Experience;
use crate::log::Log;
use crate::strategy::{Load, Strategy, View, default_pick};
use alloc::boxed::Box;

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

/// The same, while another strategy looks on and learns.
pub struct WatchedSerial {
    watcher: Box<dyn Strategy>,
}

impl WatchedSerial {
    /// Teaches this strategy.
    pub fn new(watcher: Box<dyn Strategy>) -> Self {
        Self { watcher }
    }
}

impl Strategy for WatchedSerial {
    fn begin(&mut self, _seed: u64, _length: u64) {
        self.watcher.begin_watching();
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        self.watcher.thread_started(thread, parent, site_key);
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        let picked = default_pick(view);
        self.watcher.watch(picked, &view.pending[picked]);
        picked
    }

    fn read(&mut self, _load: &Load) -> Option<usize> {
        Some(0)
    }

    fn decides_time(&self) -> bool {
        true
    }

    fn values_may_be_old(&mut self, may_be: bool) {
        self.watcher.values_may_be_old(may_be);
    }

    fn end(&mut self) {
        self.watcher.end();
    }

    fn learn(&mut self) {
        self.watcher.learn();
    }

    fn points_changed(&mut self) {
        self.watcher.points_changed();
    }

    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.watcher.pass(experience);
    }

    fn logs(&mut self, visit: &mut dyn FnMut(&mut Log)) {
        self.watcher.logs(visit);
    }

    fn needs_site_keys(&self) -> bool {
        self.watcher.needs_site_keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::parse;
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

    #[test]
    fn another_strategy_learns_from_it_and_changes_nothing() {
        let count = [Op::Load(0), Op::Store(0)];
        let program = [
            vec![Op::Spawn(1), Op::Spawn(2)],
            [vec![Op::Step; 9], count.to_vec()].concat(),
            count.to_vec(),
        ];
        // Executions until the second thread's count comes before the first one's.
        let until_reversed = |name: &str, is_taught: bool| -> u64 {
            let search = |search: u64| {
                let mut strategy = parse(name).unwrap();
                if is_taught {
                    let mut serial = WatchedSerial::new(strategy);
                    let watched = run(&program, &mut serial, 0, 0);
                    assert_eq!(watched, run(&program, &mut Serial, 0, 0));
                    serial.learn();
                    strategy = serial.watcher;
                }
                let is_reversed = |&execution: &u64| {
                    let run = run(&program, &mut *strategy, search << 32 | execution, 0);
                    strategy.learn();
                    let last = run.order.iter().rfind(|&&(thread, _)| thread > 0);
                    last == Some(&(1, 10)) && run.memory[0] == 1
                };
                (0..100).find(is_reversed).unwrap_or(100)
            };
            (0..200).map(search).sum()
        };
        let (untaught, taught) = (
            until_reversed("portfolio", false),
            until_reversed("portfolio", true),
        );
        assert!(taught < untaught, "{taught} {untaught}");
    }
}
