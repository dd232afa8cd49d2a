//! Follows recorded switches, and the default rule between them.
//!
//! A switch is anchored to the step before which its thread stands: by the number of that
//! step, or by the key of its site and how often the thread has passed that site, which
//! survives edits elsewhere in the program. Threads are recognised by where they were started.
//! Switches are taken in order; one that never comes, or names a thread that cannot run,
//! stops the ones behind it, and its index is what [`Strategy::diverged`] tells.

use crate::strategy::{Strategy, View, default_pick};
use alloc::vec::Vec;
use raddle_abi::plan::{Switch, ThreadAnchor};

/// Marks a recorded thread that has not been started yet.
const UNBORN: u16 = u16::MAX;

/// See the module's description.
pub struct Replay {
    anchors: Vec<ThreadAnchor>,
    switches: Vec<Switch>,
    /// The site keys of switches, in ascending order.
    keys: Vec<u64>,
    /// The thread of this execution for each recorded number.
    actual: Vec<u16>,
    /// How often (parent, site key) has started a thread.
    spawned: Vec<(u16, u64, u32)>,
    /// What each thread stood before when it was last picked.
    standing: Vec<u64>,
    /// How often each thread has passed each of `keys`: one row per thread.
    passed: Vec<u32>,
    /// Index of the switch to take next.
    next: usize,
    /// The next switch came up but could not be taken.
    stuck: bool,
}

impl Replay {
    /// Follows `switches`, whose threads `anchors` name.
    pub fn new(anchors: &[ThreadAnchor], switches: &[Switch]) -> Self {
        let mut keys: Vec<u64> = switches.iter().map(|switch| switch.site_key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|&key| key != 0);
        Self {
            anchors: anchors.to_vec(),
            switches: switches.to_vec(),
            keys,
            actual: Vec::new(),
            spawned: Vec::new(),
            standing: Vec::new(),
            passed: Vec::new(),
            next: 0,
            stuck: false,
        }
    }

    /// The thread of this execution that the schedule calls `recorded`. Threads without an
    /// anchor have the same number.
    fn actual(&self, recorded: u16) -> u16 {
        self.actual
            .get(usize::from(recorded))
            .copied()
            .unwrap_or(recorded)
    }

    /// How many threads (parent, site) has started before this one.
    fn count_spawn(&mut self, parent: u16, key: u64) -> u32 {
        for (counted, counted_key, count) in &mut self.spawned {
            if *counted == parent && *counted_key == key {
                *count += 1;
                return *count - 1;
            }
        }
        self.spawned.push((parent, key, 1));
        0
    }

    /// The place of a count in `passed`, if the site is one of a switch.
    fn index(&self, thread: usize, key: u64) -> Option<usize> {
        let column = self.keys.binary_search(&key).ok()?;
        Some(thread * self.keys.len() + column)
    }

    fn times_passed(&self, thread: usize, key: u64) -> u32 {
        let index = self.index(thread, key);
        index
            .and_then(|index| self.passed.get(index))
            .copied()
            .unwrap_or(0)
    }

    /// The thread that ran has passed what it stood before when it was picked.
    fn note_passed(&mut self, thread: usize) {
        let key = self.standing.get(thread).copied().unwrap_or(0);
        let Some(index) = self.index(thread, key) else {
            return;
        };
        if self.passed.len() <= index {
            self.passed.resize((thread + 1) * self.keys.len(), 0);
        }
        self.passed[index] += 1;
    }

    fn note_picked(&mut self, view: &View<'_>, thread: usize) {
        if self.standing.len() <= thread {
            self.standing.resize(thread + 1, 0);
        }
        self.standing[thread] = site_key(view, thread);
    }

    fn is_due(&self, switch: &Switch, view: &View<'_>) -> bool {
        if usize::from(self.actual(switch.from)) != view.current {
            return false;
        }
        if switch.site_key == 0 {
            return view.steps.get(view.current) == Some(&switch.occurrence);
        }
        let key = site_key(view, view.current);
        key == switch.site_key && self.times_passed(view.current, key) == switch.occurrence
    }
}

fn site_key(view: &View<'_>, thread: usize) -> u64 {
    view.pending
        .get(thread)
        .map_or(0, |pending| pending.site_key)
}

impl Strategy for Replay {
    fn begin(&mut self, _seed: u64, _length: u64) {
        self.actual.clear();
        for anchor in &self.anchors {
            let recorded = usize::from(anchor.thread);
            while self.actual.len() <= recorded {
                self.actual.push(self.actual.len() as u16);
            }
        }
        for anchor in &self.anchors {
            self.actual[usize::from(anchor.thread)] = UNBORN;
        }
        self.spawned.clear();
        self.standing.clear();
        self.passed.clear();
        self.next = 0;
        self.stuck = false;
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        if self.anchors.is_empty() {
            return;
        }
        let occurrence = self.count_spawn(parent as u16, site_key);
        let anchor = self.anchors.iter().find(|anchor| {
            anchor.site_key == site_key
                && anchor.occurrence == occurrence
                && usize::from(self.actual(anchor.parent)) == parent
        });
        if let Some(&anchor) = anchor {
            self.actual[usize::from(anchor.thread)] = thread as u16;
        }
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        if !self.keys.is_empty() {
            self.note_passed(view.current);
        }
        let mut picked = default_pick(view);
        if let Some(switch) = self.switches.get(self.next)
            && !self.stuck
            && self.is_due(switch, view)
        {
            let to = usize::from(self.actual(switch.to));
            if view.is_enabled(to) {
                picked = to;
                self.next += 1;
            } else {
                self.stuck = true;
            }
        }
        if !self.keys.is_empty() {
            self.note_picked(view, picked);
        }
        picked
    }

    fn diverged(&self) -> Option<usize> {
        (self.next < self.switches.len()).then_some(self.next)
    }

    fn needs_site_keys(&self) -> bool {
        !self.keys.is_empty() || !self.anchors.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::{anchor_threads, switches_by_site, switches_by_step};
    use crate::list::parse;
    use crate::simulator::{Op, Run, key_of, run};

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
