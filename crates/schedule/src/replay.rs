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
    by_site: bool,
    /// The thread of this execution for each recorded number.
    actual: Vec<u16>,
    /// How often (parent, site key) has started a thread.
    spawned: Vec<(u16, u64, u32)>,
    /// What each thread stood before when it was last picked, and that pick's step.
    standing: Vec<(u32, u64)>,
    /// How often (thread, site key) was passed, for the sites of switches only.
    passed: Vec<(u16, u64, u32)>,
    /// Index of the switch to take next.
    next: usize,
    /// The next switch came up but could not be taken.
    stuck: bool,
}

impl Replay {
    /// Follows `switches`, whose threads `anchors` name.
    pub fn new(anchors: &[ThreadAnchor], switches: &[Switch]) -> Self {
        Self {
            anchors: anchors.to_vec(),
            switches: switches.to_vec(),
            by_site: switches.iter().any(|switch| switch.site_key != 0),
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

    fn count(counts: &mut Vec<(u16, u64, u32)>, thread: u16, key: u64) -> u32 {
        for (counted, counted_key, count) in counts.iter_mut() {
            if *counted == thread && *counted_key == key {
                *count += 1;
                return *count - 1;
            }
        }
        counts.push((thread, key, 1));
        0
    }

    fn times_passed(&self, thread: u16, key: u64) -> u32 {
        self.passed
            .iter()
            .find(|(counted, counted_key, _)| *counted == thread && *counted_key == key)
            .map_or(0, |&(_, _, count)| count)
    }

    /// The current thread has passed what it stood before when it was picked.
    fn note_passed(&mut self, view: &View<'_>) {
        let Some(&(step, key)) = self.standing.get(view.current) else {
            return;
        };
        let now = view.steps.get(view.current).copied().unwrap_or(0);
        if key != 0 && now > step && self.switches.iter().any(|switch| switch.site_key == key) {
            Self::count(&mut self.passed, view.current as u16, key);
        }
    }

    fn note_picked(&mut self, view: &View<'_>, thread: usize) {
        if self.standing.len() <= thread {
            self.standing.resize(thread + 1, (0, 0));
        }
        let step = view.steps.get(thread).copied().unwrap_or(0);
        let key = view
            .pending
            .get(thread)
            .map_or(0, |pending| pending.site_key);
        self.standing[thread] = (step, key);
    }

    fn is_due(&self, switch: &Switch, view: &View<'_>) -> bool {
        if usize::from(self.actual(switch.from)) != view.current {
            return false;
        }
        if switch.site_key == 0 {
            return view.steps.get(view.current) == Some(&switch.occurrence);
        }
        let key = view
            .pending
            .get(view.current)
            .map_or(0, |pending| pending.site_key);
        key == switch.site_key && self.times_passed(view.current as u16, key) == switch.occurrence
    }
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
        let occurrence = Self::count(&mut self.spawned, parent as u16, site_key);
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
        if self.by_site {
            self.note_passed(view);
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
        if self.by_site {
            self.note_picked(view, picked);
        }
        picked
    }

    fn diverged(&self) -> Option<usize> {
        (self.next < self.switches.len()).then_some(self.next)
    }

    fn needs_site_keys(&self) -> bool {
        self.by_site || !self.anchors.is_empty()
    }
}
