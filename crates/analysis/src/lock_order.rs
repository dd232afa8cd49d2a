//! Predicts deadlocks by lock order: threads each of which holds what the next one wants.
//!
//! After Havelund: "Using runtime analysis to guide model checking of Java programs" (SPIN 2000).
//! An edge is an acquisition while others are held. A cycle of edges of different threads is a
//! potential deadlock unless a lock that two of them hold besides (a gate) keeps them apart, or
//! relaxed happens-before orders two of them.
//!
//! Limits: cycles of more than [`MAX_LENGTH`] threads are not looked for, and of edges that differ
//! in nothing but the time, the first of each segment is kept.

use crate::happens_before::{HappensBefore, SegmentId};
use crate::locks::{Held, Holding, LockId, Locks};
use raddle_trace::event::{Action, Location, SiteIndex, ThreadId, Trace};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Threads in a cycle.
pub const MAX_LENGTH: usize = 4;

/// A lock that is acquired while another one is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Who.
    pub thread: ThreadId,
    /// What is held.
    pub holds: Location,
    /// Place in the trace where that was acquired.
    pub held_since: u32,
    /// What is wanted.
    pub wants: Location,
    /// Place in the trace where it was acquired.
    pub at: u32,
    /// Where in the source.
    pub site: Option<SiteIndex>,
}

/// Threads that may wait for each other forever: each wants what the next one holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// In the order of the cycle, beginning with the lowest lock.
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug)]
struct Wanted {
    thread: ThreadId,
    holds: Held,
    wants: Held,
    at: u32,
    site: Option<SiteIndex>,
    segment: SegmentId,
    /// Everything that is held.
    holding: Holding,
}

/// Predicts from one trace.
pub fn predict(trace: &Trace) -> Vec<Deadlock> {
    let mut search = Search::read(trace);
    let starts: Vec<LockId> = search.edges.keys().copied().collect();
    for start in starts {
        for edge in search.edges[&start].clone() {
            search.follow(start, &mut vec![edge]);
        }
    }
    search.found
}

struct Search<'a> {
    trace: &'a Trace,
    order: HappensBefore,
    locks: Locks,
    /// By the lock that is held.
    edges: BTreeMap<LockId, Vec<Wanted>>,
    seen: BTreeSet<Vec<u64>>,
    found: Vec<Deadlock>,
}

impl<'a> Search<'a> {
    fn read(trace: &'a Trace) -> Self {
        let mut search = Self {
            trace,
            order: HappensBefore::new(trace),
            locks: Locks::new(),
            edges: BTreeMap::new(),
            seen: BTreeSet::new(),
            found: Vec::new(),
        };
        let mut known = HashSet::new();
        for (at, event) in trace.events.iter().enumerate() {
            let segment = search.order.read(event).segment;
            let Action::Lock { step, lock, shared } = event.action else {
                continue;
            };
            let holding = search.locks.holding(event.thread);
            let new = search
                .locks
                .read(event.thread, step, lock, shared, at as u32);
            let Some(wants) = new else { continue };
            let names: Vec<_> = holding
                .iter()
                .map(|held| (held.lock, held.shared))
                .collect();
            for holds in holding.iter() {
                let kind = (
                    holds.lock,
                    wants.lock,
                    shared,
                    segment,
                    event.site,
                    names.clone(),
                );
                if holds.lock != wants.lock && known.insert(kind) {
                    search.edges.entry(holds.lock).or_default().push(Wanted {
                        thread: event.thread,
                        holds: *holds,
                        wants,
                        at: at as u32,
                        site: event.site,
                        segment,
                        holding: holding.clone(),
                    });
                }
            }
        }
        search
    }

    /// Goes on from the last edge of a path; a cycle is found at its lowest lock.
    fn follow(&mut self, start: LockId, path: &mut Vec<Wanted>) {
        let Some(last) = path.last() else { return };
        if last.wants.lock == start {
            if path.len() > 1 && last.wants.excludes(&path[0].holds) {
                self.keep(path);
            }
            return;
        }
        if path.len() >= MAX_LENGTH || last.wants.lock < start {
            return;
        }
        let wants = last.wants;
        let Some(next) = self.edges.get(&wants.lock) else {
            return;
        };
        let fitting: Vec<_> = next
            .iter()
            .filter(|next| wants.excludes(&next.holds) && self.fits(path, next))
            .cloned()
            .collect();
        for edge in fitting {
            path.push(edge);
            self.follow(start, path);
            path.pop();
        }
    }

    /// Whether an edge can be there at the same time as all others of a path.
    fn fits(&self, path: &[Wanted], next: &Wanted) -> bool {
        path.iter().all(|edge| {
            let is_gated = edge
                .holding
                .iter()
                .any(|held| next.holding.iter().any(|other| held.excludes(other)));
            edge.thread != next.thread
                && !is_gated
                && !self.order.is_before(edge.segment, next.segment)
                && !self.order.is_before(next.segment, edge.segment)
        })
    }

    fn keep(&mut self, path: &[Wanted]) {
        let key = |site: Option<SiteIndex>| {
            let site = site.and_then(|site| self.trace.sites.get(site.0 as usize));
            site.map_or(0, |site| site.key)
        };
        let mut keys: Vec<u64> = path.iter().map(|edge| key(edge.site)).collect();
        keys.sort_unstable();
        if self.seen.insert(keys) {
            let edges = path.iter().map(|edge| Edge {
                thread: edge.thread,
                holds: self.locks.place(edge.holds.lock),
                held_since: edge.holds.acquired,
                wants: self.locks.place(edge.wants.lock),
                at: edge.at,
                site: edge.site,
            });
            self.found.push(Deadlock {
                edges: edges.collect(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::story;

    /// Cycles as `thread:holds>wants`.
    fn check(steps: &str, expected: &[&str]) {
        let trace = story(steps);
        let found: Vec<_> = predict(&trace)
            .iter()
            .map(|deadlock| {
                let edges = deadlock.edges.iter().map(|edge| {
                    let (holds, wants) = (edge.holds.offset, edge.wants.offset);
                    format!("{}:{holds}>{wants}", edge.thread.0)
                });
                edges.collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(found, expected, "{steps}");
    }

    #[test]
    fn two_threads_that_lock_in_opposite_orders() {
        check("1+0 1+8 1-8 1-0 2+8 2+0 2-0 2-8", &["1:0>8 2:8>0"]);
        check("1+0 1+8 1-8 1-0 2+0 2+8 2-8 2-0", &[]);
        check("1+0 1+8 1-8 1-0 1+8 1+0 1-0 1-8", &[]);
    }

    #[test]
    fn a_gate_and_an_order_keep_them_apart() {
        check("1+4 1+0 1+8 1-8 1-0 1-4 2+4 2+8 2+0 2-0 2-8 2-4", &[]);
        check("1+0 1+8 1-8 1-0 1! 2? 2+8 2+0 2-0 2-8", &[]);
    }

    #[test]
    fn readers_do_not_wait_for_readers() {
        check("1s0 1+8 1-8 1-0 2+8 2s0 2-0 2-8", &[]);
        check("1s0 1+8 1-8 1-0 2+8 2+0 2-0 2-8", &["1:0>8 2:8>0"]);
    }

    #[test]
    fn three_threads_in_a_circle_are_found_once() {
        check(
            "0+0 0+8 0-8 0-0 1+8 1+16 1-16 1-8 2+16 2+0 2-0 2-16",
            &["0:0>8 1:8>16 2:16>0"],
        );
    }
}
