//! Follows recorded switches, and the default rule between them.
//!
//! A switch is anchored to the step before which its thread stands: by the number of that
//! step, or by the key of its site and how often the thread has passed that site, which
//! survives edits elsewhere in the program. Threads are recognised by where they were started.
//! Switches are taken in order; one that never comes, or names a thread that cannot run,
//! stops the ones behind it, and its index is what [`Strategy::diverged`] tells. Loads that
//! read an old value stand among them, and deadlines that pass although a thread can run.

use crate::passes::Passes;
use crate::strategy::{Load, Strategy, TIME, View, default_pick};
use crate::thread_names::ThreadNames;
use alloc::vec::Vec;
use raddle_abi::plan::{Choice, Switch, ThreadAnchor};

/// See the module's description.
pub struct Replay {
    switches: Vec<Switch>,
    threads: ThreadNames,
    /// How often each thread has passed the sites of switches.
    passes: Passes,
    /// What each thread stood before when it was last picked.
    standing: Vec<u64>,
    /// Index of the switch to take next.
    next: usize,
    /// The next switch came up but could not be taken.
    stuck: bool,
}

impl Replay {
    /// Follows `switches`, whose threads `anchors` name.
    pub fn new(anchors: &[ThreadAnchor], switches: &[Switch]) -> Self {
        Self {
            switches: switches.to_vec(),
            threads: ThreadNames::new(anchors),
            passes: Passes::of(switches.iter().map(|switch| switch.site_key)),
            standing: Vec::new(),
            next: 0,
            stuck: false,
        }
    }

    fn note_picked(&mut self, view: &View<'_>, thread: usize) {
        if self.standing.len() <= thread {
            self.standing.resize(thread + 1, 0);
        }
        self.standing[thread] = view.site_key(thread);
    }

    fn is_due(&self, switch: &Switch, view: &View<'_>) -> bool {
        let is_load = matches!(Choice::of(switch.to), Choice::OldValue(_));
        if is_load || usize::from(self.threads.actual(switch.from)) != view.current {
            return false;
        }
        if switch.site_key == 0 {
            return view.steps.get(view.current) == Some(&switch.occurrence);
        }
        let key = view.site_key(view.current);
        key == switch.site_key && self.passes.count(view.current, key) == switch.occurrence
    }
}

impl Replay {
    /// What the next switch says, if it is due here and can be taken.
    fn follow(&mut self, view: &View<'_>) -> Option<usize> {
        let next = self.switches.get(self.next).filter(|_| !self.stuck);
        let switch = next.filter(|switch| self.is_due(switch, view))?;
        let picked = match Choice::of(switch.to) {
            Choice::Time { .. } => view.expiry.map(|_| TIME),
            _ => {
                let thread = usize::from(self.threads.actual(switch.to));
                Some(thread).filter(|&thread| view.is_enabled(thread))
            }
        };
        match picked {
            Some(_) => self.next += 1,
            None => self.stuck = true,
        }
        picked
    }
}

impl Strategy for Replay {
    fn begin(&mut self, _seed: u64, _length: u64) {
        self.threads.begin();
        self.passes.clear();
        self.standing.clear();
        self.next = 0;
        self.stuck = false;
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        self.threads.started(thread, parent, site_key);
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        if let Some(key) = self.standing.get_mut(view.current) {
            // The thread that ran has passed what it stood before when it was picked.
            let key = core::mem::take(key);
            self.passes.note(view.current, key);
        }
        let picked = self.follow(view).unwrap_or_else(|| default_pick(view));
        if !self.passes.is_empty() && picked != TIME {
            self.note_picked(view, picked);
        }
        picked
    }

    fn read(&mut self, load: &Load) -> Option<usize> {
        let newest = Some(0);
        let Some(switch) = self.switches.get(self.next).filter(|_| !self.stuck) else {
            return newest;
        };
        let Choice::OldValue(age) = Choice::of(switch.to) else {
            return newest;
        };
        let from = self.threads.actual(switch.from);
        let key = self.standing.get(load.thread).copied().unwrap_or(0);
        let is_due = match switch.site_key {
            0 => load.step == switch.occurrence,
            // This pass is counted at the next pick.
            _ => key == switch.site_key && self.passes.count(load.thread, key) == switch.occurrence,
        };
        if usize::from(from) != load.thread || !is_due {
            return newest;
        }
        if usize::from(age) >= load.choices {
            self.stuck = true;
            return newest;
        }
        self.next += 1;
        Some(usize::from(age))
    }

    fn decides_time(&self) -> bool {
        true
    }

    fn diverged(&self) -> Option<usize> {
        (self.next < self.switches.len()).then_some(self.next)
    }

    fn needs_site_keys(&self) -> bool {
        !self.passes.is_empty() || !self.threads.is_empty()
    }

    fn needs_operations(&self) -> bool {
        // Whoever made the decisions may have been asked everywhere.
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::{anchor_threads, switches_by_site, switches_by_step};
    use crate::list::parse;
    use crate::simulator::{Op, Run, key_of, run};
    use raddle_abi::plan::{READS_OLD, TIME_ADVANCES};

    /// Locks, spins and threads that start threads; may deadlock.
    fn program() -> Vec<Vec<Op>> {
        let locks = |first, second| {
            vec![
                Op::Lock(first),
                Op::Step,
                Op::Lock(second),
                Op::Unlock(second),
                Op::Unlock(first),
                Op::Set(0),
            ]
        };
        vec![
            vec![
                Op::Spawn(1),
                Op::Step,
                Op::Spawn(2),
                Op::Step,
                Op::SpinUntil(0),
                Op::Step,
            ],
            [vec![Op::Spawn(3)], locks(0, 1)].concat(),
            locks(1, 0),
            vec![Op::Step, Op::SpinUntil(0), Op::Step],
        ]
    }

    fn explore(seed: u64) -> Run {
        run(&program(), &mut *parse("random+pct(3)").unwrap(), seed, 30)
    }

    #[test]
    fn a_replay_by_step_repeats_everything() {
        for seed in 0..500 {
            let original = explore(seed);
            let mut replay = Replay::new(&[], &switches_by_step(&original.decisions));
            assert_eq!(run(&program(), &mut replay, 0, 0), original);
            assert_eq!(replay.diverged(), None);
        }
    }

    #[test]
    fn a_replay_by_site_repeats_everything() {
        let mut deadlocks = 0;
        for seed in 0..500 {
            let original = explore(seed);
            let threads = anchor_threads(original.spawns.iter().copied());
            let passed = original.passed.iter().copied();
            let switches = switches_by_site(&original.decisions, passed, key_of);
            let by_site = switches
                .iter()
                .filter(|switch| switch.site_key != 0)
                .count();
            assert_eq!(by_site, switches.len());
            let mut replay = Replay::new(&threads, &switches);
            assert_eq!(run(&program(), &mut replay, 0, 0), original);
            assert_eq!(replay.diverged(), None);
            deadlocks += u32::from(original.stuck);
        }
        assert!(deadlocks > 10, "{deadlocks}");
    }

    #[test]
    fn a_replay_by_site_survives_added_steps() {
        let mut edited = program();
        for (thread, place) in [(0, 0), (0, 3), (1, 2), (2, 0), (3, 1)] {
            edited[thread].insert(place, Op::Added);
        }
        for seed in 0..500 {
            let original = explore(seed);
            let threads = anchor_threads(original.spawns.iter().copied());
            let passed = original.passed.iter().copied();
            let switches = switches_by_site(&original.decisions, passed, key_of);
            let mut replay = Replay::new(&threads, &switches);
            let repeated = run(&edited, &mut replay, 0, 0);
            assert_eq!(replay.diverged(), None);
            assert_eq!(repeated.stuck, original.stuck);
        }
    }

    #[test]
    fn threads_are_recognised_by_where_they_were_started() {
        let program = [
            vec![Op::Spawn(2), Op::Spawn(1), Op::Step],
            vec![Op::Step],
            vec![Op::Step],
        ];
        let anchor = |thread, site_key| ThreadAnchor {
            thread,
            parent: 0,
            occurrence: 0,
            site_key,
        };
        // In the schedule, the thread of the first spawn is number 1.
        let switch = Switch {
            from: 0,
            to: 1,
            occurrence: 0,
            site_key: 201,
        };
        let mut replay = Replay::new(&[anchor(1, 1), anchor(2, 101)], &[switch]);
        let order = run(&program, &mut replay, 0, 0).order;
        assert_eq!(order[2], (2, 0));
        assert_eq!(replay.diverged(), None);
    }

    #[test]
    fn a_deadline_passes_before_the_step_that_the_schedule_names() {
        let program = [
            vec![Op::Spawn(1), Op::Sleep(10), Op::Load(0)],
            vec![Op::Step, Op::Step, Op::Store(0), Op::Step],
        ];
        let by_default = run(&program, &mut Replay::new(&[], &[]), 0, 0);
        assert_eq!(by_default.decisions, []);
        let time = |site_key, occurrence| Switch {
            from: 1,
            to: TIME_ADVANCES,
            occurrence,
            site_key,
        };
        let to_main = Switch {
            to: 0,
            ..time(201, 0)
        };
        for switches in [[time(0, 2), to_main], [time(201, 0), to_main]] {
            let mut replay = Replay::new(&[], &switches);
            let early = run(&program, &mut replay, 0, 0);
            assert_eq!(replay.diverged(), None);
            assert_eq!(early.order.len(), 7);
            assert_eq!(early.order[4], (0, 2), "{:?}", early.order);
            assert_eq!(switches_by_step(&early.decisions)[0], time(0, 2));
        }
        let mut replay = Replay::new(&[], &[time(0, 2), time(0, 2)]);
        run(&program, &mut replay, 0, 0);
        assert_eq!(replay.diverged(), Some(1), "only one thread sleeps");
    }

    #[test]
    fn an_old_value_is_read_by_the_load_that_read_it() {
        let switch = |from, to, occurrence| Switch {
            from,
            to,
            occurrence,
            site_key: 0,
        };
        let old = switch(1, READS_OLD | 2, 4);
        let mut replay = Replay::new(&[], &[old, switch(1, READS_OLD | 1, 6)]);
        let mut read = |thread, step, choices| {
            let load = Load {
                thread,
                step,
                address: 8,
                choices,
            };
            (replay.read(&load), replay.diverged())
        };
        assert_eq!(read(1, 3, 4), (Some(0), Some(0)));
        assert_eq!(read(2, 4, 4), (Some(0), Some(0)));
        assert_eq!(read(1, 4, 4), (Some(2), Some(1)));
        assert_eq!(read(1, 6, 2), (Some(1), None));
        let mut replay = Replay::new(&[], &[old, switch(1, 0, 5)]);
        let load = Load {
            thread: 1,
            step: 4,
            address: 8,
            choices: 2,
        };
        assert_eq!(replay.read(&load), Some(0));
        assert_eq!(replay.diverged(), Some(0));
    }

    #[test]
    fn the_first_switch_that_cannot_be_followed_is_told() {
        let program = [
            vec![Op::Spawn(1), Op::Step, Op::Step],
            vec![Op::Step, Op::Step],
        ];
        let step = |from, to, occurrence| Switch {
            from,
            to,
            occurrence,
            site_key: 0,
        };
        let diverged = |switches: &[Switch]| {
            let mut replay = Replay::new(&[], switches);
            run(&program, &mut replay, 0, 0);
            replay.diverged()
        };
        assert_eq!(diverged(&[step(0, 1, 2), step(1, 0, 1)]), None);
        assert_eq!(
            diverged(&[step(0, 1, 2), step(1, 0, 9), step(0, 1, 3)]),
            Some(1)
        );
        assert_eq!(diverged(&[step(0, 5, 2)]), Some(0));
        let unknown = Switch {
            from: 0,
            to: 1,
            occurrence: 0,
            site_key: 77,
        };
        assert_eq!(diverged(&[unknown]), Some(0));
    }
}
