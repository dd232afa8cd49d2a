//! Predicts what AtomFuzzer looks for: inside of an atomic block, a thread gives a lock up and
//! acquires it again, and another thread acquires it in between.
//!
//! After Park, Sen: "Randomized active atomicity violation detection in concurrent programs" (FSE
//! 2008), one of the systems that atomic-set prediction is compared with. As there, a block that
//! holds some other lock is meant to be atomic. What the paper's own example shows is missed,
//! because nothing is held around its two steps.

use crate::happens_before::{HappensBefore, SegmentId};
use crate::locks::{Held, Holding, LockId, Locks};
use raddle_trace::event::{Action, Location, SiteIndex, ThreadId, Trace};
use std::collections::{BTreeMap, HashMap, HashSet};

/// An acquisition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// Who.
    pub thread: ThreadId,
    /// Place in the trace.
    pub at: u32,
    /// Where in the source.
    pub site: Option<SiteIndex>,
}

/// A lock that another thread may acquire while a block is in the middle of its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The lock.
    pub lock: Location,
    /// The lock that makes the block atomic.
    pub block: Location,
    /// The block acquires it,
    pub first: Acquisition,
    /// another thread does,
    pub between: Acquisition,
    /// and the block does again.
    pub again: Acquisition,
}

#[derive(Clone, Debug)]
struct Taken {
    thread: ThreadId,
    at: u32,
    site: Option<SiteIndex>,
    segment: SegmentId,
    /// What was held before.
    holding: Holding,
}

/// Two acquisitions of a lock in one block.
#[derive(Clone, Debug)]
struct Twice {
    block: Held,
    first: Taken,
    again: Taken,
}

/// Predicts from one trace.
pub fn predict(trace: &Trace) -> Vec<Broken> {
    let mut order = HappensBefore::new(trace);
    let mut locks = Locks::new();
    let mut taken: BTreeMap<LockId, Vec<Taken>> = BTreeMap::new();
    let mut twice: BTreeMap<LockId, Vec<Twice>> = BTreeMap::new();
    // The first acquisition of a lock in a block, by the block's own acquisition.
    let mut firsts: HashMap<(u32, LockId), Taken> = HashMap::new();
    let mut known = HashSet::new();
    for (at, event) in trace.events.iter().enumerate() {
        let segment = order.read(event).segment;
        let Action::Lock { step, lock, shared } = event.action else {
            continue;
        };
        let holding = locks.holding(event.thread);
        let Some(held) = locks.read(event.thread, step, lock, shared, at as u32) else {
            continue;
        };
        let new = Taken {
            thread: event.thread,
            at: at as u32,
            site: event.site,
            segment,
            holding: holding.clone(),
        };
        let names: Vec<_> = holding
            .iter()
            .map(|held| (held.lock, held.shared))
            .collect();
        if known.insert((held.lock, segment, event.site, names)) {
            taken.entry(held.lock).or_default().push(new.clone());
        }
        for block in holding.iter() {
            match firsts.get(&(block.acquired, held.lock)) {
                Some(first) => twice.entry(held.lock).or_default().push(Twice {
                    block: *block,
                    first: first.clone(),
                    again: new.clone(),
                }),
                None => {
                    firsts.insert((block.acquired, held.lock), new.clone());
                }
            }
        }
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (lock, blocks) in twice {
        for broken in &blocks {
            for between in &taken[&lock] {
                let sites = [broken.first.site, between.site, broken.again.site];
                if !seen.contains(&sites) && fits(&order, broken, between) {
                    seen.insert(sites);
                    let acquisition = |taken: &Taken| Acquisition {
                        thread: taken.thread,
                        at: taken.at,
                        site: taken.site,
                    };
                    found.push(Broken {
                        lock: locks.place(lock),
                        block: locks.place(broken.block.lock),
                        first: acquisition(&broken.first),
                        between: acquisition(between),
                        again: acquisition(&broken.again),
                    });
                }
            }
        }
    }
    found
}

/// Whether another thread can get in between.
fn fits(order: &HappensBefore, twice: &Twice, between: &Taken) -> bool {
    between.thread != twice.first.thread
        && !order.is_before(between.segment, twice.first.segment)
        && !order.is_before(twice.again.segment, between.segment)
        && !between.holding.iter().any(|held| {
            // What the block holds all the time.
            let kept = twice.first.holding.iter();
            kept.filter(|kept| twice.again.holding.contains(kept))
                .any(|kept| kept.excludes(held))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::story;

    /// `block: first between again`, by the numbers of the steps from 1.
    fn check(steps: &str, expected: &[&str]) {
        let found: Vec<_> = predict(&story(steps))
            .iter()
            .map(|broken| {
                let [first, between, again] =
                    [&broken.first, &broken.between, &broken.again].map(|taken| taken.at + 1);
                format!("{}: {first} {between} {again}", broken.block.offset)
            })
            .collect();
        assert_eq!(found, expected, "{steps}");
    }

    #[test]
    fn a_lock_given_up_inside_of_a_block_can_be_taken() {
        check("1+0 1+8 1-8 1+8 1-8 1-0 2+8 2-8", &["0: 2 7 4"]);
    }

    #[test]
    fn nothing_is_atomic_without_a_block() {
        check("1+8 1-8 1+8 1-8 2+8 2-8", &[]);
        check("1+0 1+8 1-8 1-0 1+0 1+8 1-8 1-0 2+8 2-8", &[]);
    }

    #[test]
    fn the_block_itself_and_an_order_keep_others_out() {
        check("1+0 1+8 1-8 1+8 1-8 1-0 2+0 2+8 2-8 2-0", &[]);
        check("1+0 1+8 1-8 1+8 1-8 1-0 1! 2? 2+8 2-8", &[]);
    }
}
