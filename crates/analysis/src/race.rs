//! Predicts data races: two accesses that neither relaxed happens-before nor a lock keeps apart.
//!
//! The hybrid of O'Callahan and Choi (PPoPP 2003) that RaceFuzzer begins with (Sen, PLDI 2008),
//! one of the systems that atomic-set prediction is compared with. One pair is kept of those at
//! the same two sites.
//!
//! Where the paper has fields of Java, whose accesses without a lock are races, Rust has atomics
//! with `Relaxed`, which say nothing about other data either. So a pair of such accesses counts
//! too, unless both read and write at once: their order makes no difference. Words of locks do not count.
//!
//! Limit: of the accesses to one word that differ in nothing but the time, the first of each
//! segment is kept, and of all accesses to one word at most [`MAX_ACCESSES`].

use crate::happens_before::{HappensBefore, SegmentId};
use crate::locks::{Holding, Locks};
use raddle_trace::event::{Access, Action, Location, Order, SiteIndex, ThreadId, Trace};
use std::collections::{HashMap, HashSet};

/// Accesses to one word of memory that are compared.
pub const MAX_ACCESSES: usize = 64;
/// Bytes of a word.
const WORD: u64 = 8;

/// An access that may race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Racing {
    /// Who.
    pub thread: ThreadId,
    /// Place in the trace.
    pub at: u32,
    /// Where in the source.
    pub site: Option<SiteIndex>,
    /// How.
    pub access: Access,
    /// Memory order.
    pub order: Order,
    /// Where in memory.
    pub location: Location,
    /// Bytes.
    pub size: u32,
}

/// Two accesses that may race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// In the order in which they happened.
    pub accesses: [Racing; 2],
}

#[derive(Clone, Debug)]
struct Known {
    racing: Racing,
    segment: SegmentId,
    holding: Holding,
}

/// Who touches a word.
#[derive(Clone, Copy)]
struct Word {
    by: ThreadId,
    is_shared: bool,
    is_written: bool,
}

/// Predicts from one trace.
pub fn predict(trace: &Trace) -> Vec<Race> {
    let shared = shared_words(trace);
    let mut order = HappensBefore::new(trace);
    let mut locks = Locks::new();
    let mut known: HashMap<(u32, u64), Vec<Known>> = HashMap::new();
    let mut kinds = HashSet::new();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (at, event) in trace.events.iter().enumerate() {
        let segment = order.read(event).segment;
        match event.action {
            Action::Lock { step, lock, shared } => {
                locks.read(event.thread, step, lock, shared, at as u32);
            }
            Action::Access {
                access,
                location,
                size,
                order: strength,
                ..
            } => {
                let holding = locks.holding(event.thread);
                let names: Vec<_> = holding
                    .iter()
                    .map(|held| (held.lock, held.shared))
                    .collect();
                let new = Known {
                    racing: Racing {
                        thread: event.thread,
                        at: at as u32,
                        site: event.site,
                        access,
                        order: strength,
                        location,
                        size,
                    },
                    segment,
                    holding,
                };
                for word in words(location, size).filter(|word| shared.contains(word)) {
                    let kind = (
                        word,
                        segment,
                        event.site,
                        access,
                        location.offset,
                        names.clone(),
                    );
                    let others = known.entry(word).or_default();
                    if others.len() >= MAX_ACCESSES || !kinds.insert(kind) {
                        continue;
                    }
                    for other in others.iter() {
                        let mut sites = [other.racing.site, new.racing.site];
                        sites.sort_unstable();
                        if is_race(&order, other, &new) && seen.insert(sites) {
                            found.push(Race {
                                accesses: [other.racing.clone(), new.racing.clone()],
                            });
                        }
                    }
                    others.push(new.clone());
                }
            }
            _ => {}
        }
    }
    found
}

fn words(location: Location, size: u32) -> impl Iterator<Item = (u32, u64)> {
    let last = location.offset.saturating_add(u64::from(size.max(1)) - 1);
    (location.offset / WORD..=last / WORD).map(move |word| (location.object.0, word))
}

/// Words that two threads touch and one writes, and that are no locks.
fn shared_words(trace: &Trace) -> HashSet<(u32, u64)> {
    let mut all: HashMap<(u32, u64), Word> = HashMap::new();
    for event in &trace.events {
        if let Action::Access {
            access,
            location,
            size,
            ..
        } = event.action
        {
            for word in words(location, size) {
                let word = all.entry(word).or_insert(Word {
                    by: event.thread,
                    is_shared: false,
                    is_written: false,
                });
                word.is_shared |= word.by != event.thread;
                word.is_written |= access.writes();
            }
        }
    }
    let shared = all
        .into_iter()
        .filter(|(_, word)| word.is_shared && word.is_written);
    let mut shared: HashSet<_> = shared.map(|(word, _)| word).collect();
    for event in &trace.events {
        if let Action::Lock { lock, .. } = event.action {
            for word in words(lock, 1) {
                shared.remove(&word);
            }
        }
    }
    shared
}

fn is_race(order: &HappensBefore, one: &Known, other: &Known) -> bool {
    let (first, second) = (&one.racing, &other.racing);
    let end = |racing: &Racing| {
        racing
            .location
            .offset
            .saturating_add(racing.size.max(1).into())
    };
    first.thread != second.thread
        && (first.access.writes() || second.access.writes())
        && may_race(first, second)
        && first.location.offset < end(second)
        && second.location.offset < end(first)
        && !order.is_before(one.segment, other.segment)
        && !one
            .holding
            .iter()
            .any(|held| other.holding.iter().any(|also| held.excludes(also)))
}

/// Whether atomic operations keep the two apart.
fn may_race(one: &Racing, other: &Racing) -> bool {
    let both = |is: fn(&Racing) -> bool| is(one) && is(other);
    let is_step = |racing: &Racing| matches!(racing.access, Access::AtomicRmw | Access::AtomicCas);
    !both(|racing| racing.access.is_atomic())
        || (both(|racing| racing.order == Order::Relaxed) && !both(is_step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::story;

    /// Pairs of steps, from 1.
    fn check(steps: &str, expected: &[&str]) {
        let found: Vec<_> = predict(&story(steps))
            .iter()
            .map(|race| {
                let [first, second] = &race.accesses;
                format!("{} {}", first.at + 1, second.at + 1)
            })
            .collect();
        assert_eq!(found, expected, "{steps}");
    }

    #[test]
    fn two_accesses_without_a_lock_race_if_one_writes() {
        check("1Wx 2Rx 1Ry 2Ry", &["1 2"]);
        check("1Wx 2Ry", &[]);
        check("1Wx 1Rx", &[]);
    }

    #[test]
    fn a_common_lock_and_an_order_keep_them_apart() {
        check("1+0 1Wx 1-0 2+0 2Rx 2-0", &[]);
        check("1+0 1Wx 1-0 2+8 2Rx 2-8", &["2 5"]);
        check("1s0 1Wx 1-0 2s0 2Wx 2-0", &["2 5"]);
        check("1Wx 1! 2? 2Rx", &[]);
        check("1! 1Wx 2? 2Rx", &["2 4"]);
    }

    #[test]
    fn atomic_accesses_race_with_each_other_only_if_they_are_relaxed() {
        check("1Ax 2Ax", &[]);
        check("1Ax 2Rx", &["1 2"]);
        check("1Lx 2Sx", &["1 2"]);
        check("1+0 1Sx 1-0 2+0 2Sx 2-0", &[]);
    }
}
