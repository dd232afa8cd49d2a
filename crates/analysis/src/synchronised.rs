//! The order that atomics make: happens-before with edges from release to acquire.
//!
//! Prediction does without these edges ([`crate::happens_before`]), because a store and the load
//! that reads it may well come in another order. But often they are how one thread waits for
//! another, and then what is predicted against them cannot happen. So it is tried last.
//!
//! Lock words are left out: what locks rule out is known better. Fences count for nothing.

use crate::predict::Violation;
use raddle_trace::event::{Access, Action, Location, Message, Order, ThreadId, Trace};
use std::collections::{HashMap, HashSet};

/// For each thread, the place of its last event that comes before; none yet is 0.
type Clock = Vec<u32>;

/// Says of each violation whether atomics order its accesses against the pattern.
pub fn mark(violations: &mut [Violation], trace: &Trace) {
    let accesses = violations.iter().flat_map(|violation| &violation.accesses);
    let wanted: HashSet<u32> = accesses.map(|access| access.at).collect();
    let known = clocks(trace, &wanted);
    let none = Clock::new();
    let is_before = |earlier: u32, later: u32| {
        let thread = trace.events[earlier as usize].thread;
        let clock = known.get(&later).unwrap_or(&none);
        let seen = clock.get(usize::from(thread.0)).copied().unwrap_or(0);
        seen > earlier
    };
    for violation in violations {
        let accesses = &violation.accesses;
        violation.is_ordered = (1..accesses.len()).any(|later| {
            (0..later).any(|earlier| {
                accesses[earlier].who != accesses[later].who
                    && is_before(accesses[later].at, accesses[earlier].at)
            })
        });
    }
}

/// What comes before each of these events.
fn clocks(trace: &Trace, wanted: &HashSet<u32>) -> HashMap<u32, Clock> {
    let locks: HashSet<Location> = trace
        .events
        .iter()
        .filter_map(|event| match event.action {
            Action::Lock { lock, .. } => Some(lock),
            _ => None,
        })
        .collect();
    let mut reader = Reader {
        threads: vec![vec![0; trace.threads.len()]; trace.threads.len()],
        messages: HashMap::new(),
        releases: HashMap::new(),
        locks,
    };
    let mut known = HashMap::new();
    if wanted.is_empty() {
        return known;
    }
    for (at, event) in trace.events.iter().enumerate() {
        let at = at as u32;
        reader.read(event.thread, &event.action, at);
        if wanted.contains(&at) {
            let clock = reader.threads[usize::from(event.thread.0)].clone();
            known.insert(at, clock);
        }
    }
    known
}

struct Reader {
    threads: Vec<Clock>,
    messages: HashMap<Message, Clock>,
    releases: HashMap<Location, Clock>,
    locks: HashSet<Location>,
}

impl Reader {
    fn read(&mut self, thread: ThreadId, action: &Action, at: u32) {
        let own = usize::from(thread.0);
        self.threads[own][own] = at + 1;
        match action {
            Action::Send(message) => {
                self.messages.insert(*message, self.threads[own].clone());
            }
            Action::Receive(message) => join(&mut self.threads[own], self.messages.get(message)),
            Action::Access {
                access,
                location,
                order,
                ..
            } if access.is_atomic() && !self.locks.contains(location) => {
                if matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst)
                    && *access != Access::AtomicStore
                {
                    join(&mut self.threads[own], self.releases.get(location));
                }
                if matches!(order, Order::Release | Order::AcqRel | Order::SeqCst)
                    && access.writes()
                {
                    let clock = self.threads[own].clone();
                    // A read-modify-write goes on with what was released before.
                    match self.releases.get_mut(location) {
                        Some(before) if *access == Access::AtomicRmw => {
                            join(before, Some(&clock));
                        }
                        _ => {
                            self.releases.insert(*location, clock);
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

fn join(clock: &mut Clock, other: Option<&Clock>) {
    for (own, other) in clock.iter_mut().zip(other.into_iter().flatten()) {
        *own = (*own).max(*other);
    }
}

#[cfg(test)]
mod tests {
    use crate::predict::{Options, predict};
    use crate::testing::scene;

    /// Whether what is predicted is ordered by atomics, with a flag at `a::S` between the units.
    fn is_ordered(store: &str, load: &str) -> Vec<bool> {
        let (trace, map) = scene(&format!(
            "enter thread 1 site 1
             access thread 1 kind write offset 0 size 8
             access thread 1 kind write offset 8 size 8
             leave thread 1 site 1
             access thread 1 kind atomic-store object 2 size 8 order {store}
             access thread 2 kind atomic-load object 2 size 8 order {load}
             enter thread 2 site 2
             access thread 2 kind read offset 0 size 8
             access thread 2 kind read offset 8 size 8
             leave thread 2 site 2"
        ));
        let violations = predict(&trace, &map, Options::default()).violations;
        assert!(!violations.is_empty());
        violations.iter().map(|one| one.is_ordered).collect()
    }

    #[test]
    fn a_release_that_is_acquired_orders_and_a_relaxed_one_does_not() {
        assert!(is_ordered("release", "acquire").iter().all(|one| *one));
        assert!(is_ordered("relaxed", "acquire").iter().all(|one| !*one));
        assert!(is_ordered("release", "relaxed").iter().all(|one| !*one));
    }
}
