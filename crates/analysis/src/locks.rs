//! Which locks a thread holds, by acquisition.
//!
//! A lock that is released and acquired again is held by another acquisition: that makes the
//! difference between a window that others can enter and one that they cannot. Acquiring again
//! what the thread has already (a recursive lock) is the same acquisition.

use raddle_trace::event::{Location, LockStep, ThreadId};
use std::collections::HashMap;
use std::rc::Rc;

/// Number of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockId(pub u32);

/// A lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Held {
    /// Which.
    pub lock: LockId,
    /// Whether others may share it.
    pub shared: bool,
    /// Place of the acquisition in the trace.
    pub acquired: u32,
}

impl Held {
    /// Whether nobody can hold it like this while somebody holds `other`.
    pub fn excludes(&self, other: &Self) -> bool {
        self.lock == other.lock && !(self.shared && other.shared)
    }
}

/// All locks that a thread holds at some time.
pub type Holding = Rc<[Held]>;

#[derive(Clone, Debug, Default)]
struct ThreadLocks {
    held: Vec<(Held, u32)>,
    /// The same, until it changes.
    snapshot: Option<Holding>,
}

/// Reads lock events and keeps who holds what.
#[derive(Debug, Default)]
pub struct Locks {
    threads: Vec<ThreadLocks>,
    ids: HashMap<Location, LockId>,
    places: Vec<Location>,
}

impl Locks {
    /// Nobody holds anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a lock event, at its place in the trace. Returns the lock if it was not held by the
    /// thread before and is now.
    pub fn read(
        &mut self,
        thread: ThreadId,
        step: LockStep,
        place: Location,
        shared: bool,
        at: u32,
    ) -> Option<Held> {
        let lock = self.id(place);
        match step {
            LockStep::Want => None,
            LockStep::Acquire => self.acquire(thread, lock, shared, at),
            LockStep::Release => {
                self.release(thread, lock);
                None
            }
        }
    }

    /// What a thread holds.
    pub fn holding(&mut self, thread: ThreadId) -> Holding {
        let locks = self.thread(thread);
        let snapshot = locks
            .snapshot
            .get_or_insert_with(|| locks.held.iter().map(|(held, _)| *held).collect());
        Rc::clone(snapshot)
    }

    /// Where a lock is.
    pub fn place(&self, lock: LockId) -> Location {
        self.places[lock.0 as usize]
    }

    /// The lock at a place.
    pub fn id(&mut self, place: Location) -> LockId {
        let places = &mut self.places;
        *self.ids.entry(place).or_insert_with(|| {
            places.push(place);
            LockId(places.len() as u32 - 1)
        })
    }

    fn thread(&mut self, thread: ThreadId) -> &mut ThreadLocks {
        let index = usize::from(thread.0);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, ThreadLocks::default());
        }
        &mut self.threads[index]
    }

    fn acquire(&mut self, thread: ThreadId, lock: LockId, shared: bool, at: u32) -> Option<Held> {
        let mine = &mut self.thread(thread).held;
        if let Some((_, depth)) = mine
            .iter_mut()
            .find(|(held, _)| held.lock == lock && held.shared == shared)
        {
            *depth += 1;
            return None;
        }
        // Who gets a lock proves that nobody else excludes it any more: a release that was not
        // seen is made good here.
        let new = Held {
            lock,
            shared,
            acquired: at,
        };
        for other in &mut self.threads {
            let before = other.held.len();
            other.held.retain(|(held, _)| !held.excludes(&new));
            if other.held.len() != before {
                other.snapshot = None;
            }
        }
        let mine = self.thread(thread);
        mine.held.push((new, 1));
        mine.snapshot = None;
        Some(new)
    }

    fn release(&mut self, thread: ThreadId, lock: LockId) {
        let holds =
            |locks: &ThreadLocks| locks.held.iter().rposition(|(held, _)| held.lock == lock);
        let own = usize::from(thread.0);
        self.thread(thread);
        // A guard may be released by another thread than the one that took it.
        let owner = match holds(&self.threads[own]) {
            Some(place) => Some((own, place)),
            None => self
                .threads
                .iter()
                .enumerate()
                .find_map(|(index, locks)| Some((index, holds(locks)?))),
        };
        if let Some((owner, place)) = owner {
            let locks = &mut self.threads[owner];
            locks.held[place].1 -= 1;
            if locks.held[place].1 == 0 {
                locks.held.remove(place);
                locks.snapshot = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_trace::event::Action;
    use raddle_trace::text;

    /// What every access has: `lock@acquired`, with `s` for shared.
    fn check(events: &str, expected: &[&str]) {
        let text = format!("raddle trace 2\nthread\nthread\nstatic path \"S\"\n{events}\nend\n");
        let text: String = text
            .lines()
            .map(|line| line.trim().to_owned() + "\n")
            .collect();
        let trace = text::parse(&text).unwrap();
        let mut locks = Locks::new();
        let mut found = Vec::new();
        for (at, event) in trace.events.iter().enumerate() {
            match event.action {
                Action::Lock { step, lock, shared } => {
                    locks.read(event.thread, step, lock, shared, at as u32);
                }
                _ => {
                    let holding = locks.holding(event.thread);
                    let names = holding.iter().map(|held| {
                        let mode = if held.shared { "s" } else { "" };
                        let place = locks.place(held.lock).offset;
                        format!("{place}{mode}@{}", held.acquired)
                    });
                    found.push(names.collect::<Vec<_>>().join(" "));
                }
            }
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn a_lock_acquired_again_is_another_acquisition() {
        check(
            "lock step acquire
             access
             lock step release
             access
             lock step acquire
             access",
            &["0@0", "", "0@4"],
        );
    }

    #[test]
    fn a_recursive_lock_is_held_until_the_last_release() {
        check(
            "lock step acquire
             lock step acquire
             lock step release
             access
             lock step release
             access",
            &["0@0", ""],
        );
    }

    #[test]
    fn readers_share_and_a_writer_proves_that_they_are_gone() {
        check(
            "lock step acquire mode shared
             lock thread 1 step acquire mode shared
             access
             access thread 1
             lock thread 1 step release mode shared
             lock thread 1 step acquire
             access
             access thread 1",
            &["0s@0", "0s@1", "", "0@5"],
        );
    }

    #[test]
    fn a_guard_may_be_released_elsewhere() {
        check(
            "lock step acquire offset 8
             lock step acquire
             lock thread 1 step release offset 8
             access",
            &["0@1"],
        );
    }
}
