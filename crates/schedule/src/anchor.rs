//! Ties the decisions of one execution to events, so that they survive edits of the program.
//!
//! The runtime notes decisions by step number. A recording of the same execution tells which
//! site each step stood at; a switch is then named by site and occurrence. Where the recording
//! and the decision disagree, the step number stays: such a switch is right for this build.

use raddle_abi::plan::{Decision, Switch, ThreadAnchor};
use raddle_abi::site::{Operation, SiteId};
use raddle_trace::outcome::RawRecording;
use raddle_trace::site_table::SiteTable;
use std::collections::HashMap;

/// A thread being started, in the order of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawn {
    /// Who started it.
    pub parent: u16,
    /// Its number.
    pub thread: u16,
    /// Key of the site where, or 0.
    pub site_key: u64,
}

/// A scheduling point being passed, in the order of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Who passed it.
    pub thread: u16,
    /// Key of its site, or 0.
    pub site_key: u64,
}

/// Thread names and switches by site of an execution that was recorded while it made
/// `decisions`.
pub fn anchor(
    decisions: &[Decision],
    recording: &RawRecording,
    sites: &SiteTable,
) -> (Vec<ThreadAnchor>, Vec<Switch>) {
    let mut keys = HashMap::new();
    let mut key_of = |site| {
        *keys
            .entry(site)
            .or_insert_with(|| sites.key(site).unwrap_or(0))
    };
    let spawns: Vec<_> = recording
        .events
        .iter()
        .filter(|event| event.operation == Operation::Spawn as u16)
        .map(|event| Spawn {
            parent: event.thread,
            thread: event.address as u16,
            site_key: key_of(event.site),
        })
        .collect();
    let passed: Vec<_> = recording
        .picks
        .iter()
        .map(|&(thread, site)| Passed {
            thread,
            site_key: key_of(site),
        })
        .collect();
    let switches = switches_by_site(decisions, passed, key_of);
    (anchor_threads(spawns), switches)
}

/// Names threads by where they were started.
pub fn anchor_threads(spawns: impl IntoIterator<Item = Spawn>) -> Vec<ThreadAnchor> {
    let mut counts = HashMap::new();
    let anchors = spawns.into_iter().map(|spawn| {
        let count = counts.entry((spawn.parent, spawn.site_key)).or_insert(0);
        *count += 1;
        ThreadAnchor {
            thread: spawn.thread,
            parent: spawn.parent,
            occurrence: *count - 1,
            site_key: spawn.site_key,
        }
    });
    anchors.collect()
}

/// Switches that name steps by number, as decisions do. They hold for the same build only.
pub fn switches_by_step(decisions: &[Decision]) -> Vec<Switch> {
    decisions.iter().map(by_step).collect()
}

fn by_step(decision: &Decision) -> Switch {
    Switch {
        from: decision.from,
        to: decision.to,
        occurrence: decision.step,
        site_key: 0,
    }
}

/// Switches that name steps by site and occurrence. `passed` are the points of the execution
/// that made the decisions; `key_of` gives a site's key, 0 if it has none.
pub fn switches_by_site(
    decisions: &[Decision],
    passed: impl IntoIterator<Item = Passed>,
    mut key_of: impl FnMut(SiteId) -> u64,
) -> Vec<Switch> {
    let mut keys: HashMap<u16, Vec<u64>> = HashMap::new();
    for point in passed {
        keys.entry(point.thread).or_default().push(point.site_key);
    }
    // Decisions of a thread come in ascending order of steps: count on from the one before.
    let mut counted: HashMap<u16, (usize, HashMap<u64, u32>)> = HashMap::new();
    let switches = decisions.iter().map(|decision| {
        let step = decision.step as usize;
        let key = key_of(decision.site);
        let keys = keys.get(&decision.from).map_or(&[][..], Vec::as_slice);
        let (upto, counts) = counted.entry(decision.from).or_default();
        while *upto < step.min(keys.len()) {
            *counts.entry(keys[*upto]).or_default() += 1;
            *upto += 1;
        }
        // The last step of a thread is stood before, but never passed.
        let agrees = *upto == step && keys.get(step).is_none_or(|&passed| passed == key);
        if key == 0 || !agrees {
            return by_step(decision);
        }
        let occurrence = counts.get(&key).copied().unwrap_or(0);
        Switch {
            from: decision.from,
            to: decision.to,
            occurrence,
            site_key: key,
        }
    });
    switches.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(from: u16, step: u32, site: SiteId) -> Decision {
        Decision {
            from,
            to: 9,
            step,
            site,
            point: 0,
        }
    }

    fn passed(thread: u16, keys: &[u64]) -> Vec<Passed> {
        keys.iter()
            .map(|&site_key| Passed { thread, site_key })
            .collect()
    }

    fn key_of(site: SiteId) -> u64 {
        u64::from(site) * 10
    }

    #[test]
    fn occurrences_count_passes_of_the_same_site_by_the_same_thread() {
        let points = [passed(1, &[10, 20, 10, 10]), passed(2, &[10, 10])].concat();
        let decisions = [
            decision(1, 0, 1),
            decision(1, 3, 1),
            decision(2, 1, 1),
            decision(2, 2, 1),
        ];
        let switches = switches_by_site(&decisions, points, key_of);
        let named: Vec<_> = switches
            .iter()
            .map(|s| (s.from, s.site_key, s.occurrence))
            .collect();
        assert_eq!(named, [(1, 10, 0), (1, 10, 2), (2, 10, 1), (2, 10, 2)]);
    }

    #[test]
    fn what_the_recording_does_not_confirm_stays_a_step() {
        let points = passed(1, &[10, 20]);
        let decisions = [
            decision(1, 1, 1),
            decision(1, 7, 1),
            decision(3, 4, 1),
            decision(1, 1, 0),
        ];
        let switches = switches_by_site(&decisions, points, key_of);
        let named: Vec<_> = switches
            .iter()
            .map(|s| (s.site_key, s.occurrence))
            .collect();
        assert_eq!(named, [(0, 1), (0, 7), (0, 4), (0, 1)]);
    }

    #[test]
    fn threads_are_counted_per_parent_and_site() {
        let spawn = |parent, thread, site_key| Spawn {
            parent,
            thread,
            site_key,
        };
        let anchors = anchor_threads([
            spawn(0, 1, 5),
            spawn(0, 2, 5),
            spawn(1, 3, 5),
            spawn(0, 4, 6),
        ]);
        let occurrences: Vec<_> = anchors.iter().map(|anchor| anchor.occurrence).collect();
        assert_eq!(occurrences, [0, 1, 0, 0]);
    }
}
