//! Steers towards pairs of a write and a read of it that have not been seen, in the manner of
//! Wolff, Shi, Duck, Mathur and Roychoudhury, "Greybox Fuzzing for Concurrency Testing"
//! (ASPLOS 2024).
//!
//! Every execution adds to what is known: which places write and read an object, and which read
//! has read from which write. From what could be but has not been, one pair is drawn. A thread
//! that stands before the read waits until the write is the last one, then reads at once, and
//! other writes wait meanwhile. Between, and where that gets stuck, partial order sampling picks.
//!
//! Deviations from the paper: one pair per execution instead of a mutated set of them, and pairs
//! that were tried in vain are tried less often, instead of a power schedule.

use crate::log::Log;
use crate::pos::Pos;
use crate::rng::Rng;
use crate::strategy::{Pending, Strategy, View};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use raddle_abi::site::{Operation, SiteId};

/// Addresses that differ only in these low bits are one object.
const OBJECT_BITS: u32 = 3;
/// Yields, and picks, without the pair after which it is given up.
const MAX_YIELDS: u32 = 64;
const MAX_PICKS: u32 = 1 << 13;
/// Places known at most, over all objects.
const MOST: usize = 4096;
/// One in so many executions has no pair.
const WITHOUT: u64 = 4;

/// A write, or 0 for what was there before, and a read of it.
type Pair = (SiteId, SiteId);

/// See the module's description.
pub struct ReadsFrom {
    base: Pos,
    rng: Rng,
    log: Log,
    /// Places that touch each object, and whether they write and read.
    places: BTreeMap<(usize, SiteId), Touch>,
    seen: BTreeSet<Pair>,
    /// Pairs not seen, with the number of tries.
    unseen: BTreeMap<Pair, u32>,
    /// The execution under way.
    target: Option<Pair>,
    /// The last write to each object.
    written: BTreeMap<usize, SiteId>,
    free: Vec<u16>,
    yields: u32,
    picks: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Touch {
    writes: bool,
    reads: bool,
}

/// What a thread stands before, as far as the target is concerned.
#[derive(PartialEq, Eq)]
enum Standing {
    Free,
    /// It would realise the pair.
    Due,
    Held,
}

fn object(pending: &Pending) -> Option<usize> {
    (pending.address != 0 && pending.site != 0).then_some(pending.address >> OBJECT_BITS)
}

fn touch(pending: &Pending) -> Touch {
    use Operation::{AtomicStore, VolatileWrite, Write};
    Touch {
        writes: pending.write,
        reads: !matches!(pending.operation, AtomicStore | VolatileWrite | Write),
    }
}

impl ReadsFrom {
    /// Reads-from feedback.
    pub const fn new() -> Self {
        Self {
            base: Pos::new(),
            rng: Rng::new(0),
            log: Log::new(),
            places: BTreeMap::new(),
            seen: BTreeSet::new(),
            unseen: BTreeMap::new(),
            target: None,
            written: BTreeMap::new(),
            free: Vec::new(),
            yields: 0,
            picks: 0,
        }
    }

    fn last_write(&self, object: usize) -> SiteId {
        self.written.get(&object).copied().unwrap_or(0)
    }

    fn can(&self, object: usize, site: SiteId, what: impl Fn(&Touch) -> bool) -> bool {
        self.places.get(&(object, site)).is_some_and(what)
    }

    fn standing(&self, pending: &Pending) -> Standing {
        let (Some((write, read)), Some(object)) = (self.target, object(pending)) else {
            return Standing::Free;
        };
        let is_written = self.last_write(object) == write;
        if pending.site == read && touch(pending).reads {
            let is_possible = write != 0 && self.can(object, write, |touch| touch.writes);
            return match (is_written, is_possible) {
                (true, _) => Standing::Due,
                (false, true) => Standing::Held,
                (false, false) => Standing::Free,
            };
        }
        let destroys = is_written && pending.write && pending.site != write;
        match destroys && self.can(object, read, |touch| touch.reads) {
            true => Standing::Held,
            false => Standing::Free,
        }
    }

    /// Draws a pair: of two, the one that was tried less.
    fn draw(&mut self) -> Option<Pair> {
        if self.rng.below(WITHOUT) == 0 {
            return None;
        }
        let count = self.unseen.len() as u64;
        let draws = [self.rng.below(count), self.rng.below(count)];
        let drawn = draws.map(|draw| self.unseen.iter().nth(draw as usize));
        let drawn = drawn.into_iter().flatten().min_by_key(|entry| entry.1);
        drawn.map(|(&pair, _)| pair)
    }

    fn note(&mut self, pending: &Pending) {
        let Some(object) = object(pending) else {
            return;
        };
        let (site, touch) = (pending.site, touch(pending));
        if self.places.get(&(object, site)) != Some(&touch) && self.places.len() < MOST {
            self.places.insert((object, site), touch);
            let flags = u64::from(touch.writes) << 33 | u64::from(touch.reads) << 32;
            self.push(1 << 34 | flags | u64::from(site), object as u64);
        }
        if touch.reads {
            let pair = (self.last_write(object), site);
            if self.target == Some(pair) {
                self.target = None;
            }
            if self.seen.insert(pair) {
                self.push(u64::from(pair.0), u64::from(pair.1));
            }
        }
        if touch.writes {
            self.written.insert(object, site);
        }
    }

    fn push(&mut self, first: u64, second: u64) {
        // What does not fit is learnt another time.
        let _ = self.log.push(first) && self.log.push(second);
    }

    fn choose(&mut self, view: &View<'_>) -> usize {
        if self.target.is_none() {
            return self.base.pick(view);
        }
        let mut free = core::mem::take(&mut self.free);
        free.clear();
        for &thread in view.enabled {
            match self.standing(&view.pending[usize::from(thread)]) {
                Standing::Due => {
                    self.free = free;
                    return usize::from(thread);
                }
                Standing::Free => free.push(thread),
                Standing::Held => {}
            }
        }
        self.yields += u32::from(view.yielded);
        self.picks += 1;
        let is_over = self.yields > MAX_YIELDS || self.picks > MAX_PICKS;
        let picked = match free.is_empty() || is_over {
            true => {
                self.target = None;
                self.base.pick(view)
            }
            false => self.base.pick(&view.among(&free)),
        };
        self.free = free;
        picked
    }

    /// Adds the pairs that a place makes possible.
    fn pair_up(&mut self, object: usize, site: SiteId, touch: Touch) {
        let others = self.places.range((object, 0)..=(object, SiteId::MAX));
        let mut pairs: Vec<Pair> = Vec::new();
        for (&(_, other), with) in others {
            if touch.writes && with.reads {
                pairs.push((site, other));
            }
            if touch.reads && with.writes {
                pairs.push((other, site));
            }
        }
        for pair in pairs {
            if !self.seen.contains(&pair) && self.unseen.len() < MOST {
                self.unseen.entry(pair).or_insert(0);
            }
        }
    }
}

impl Strategy for ReadsFrom {
    fn begin(&mut self, seed: u64, length: u64) {
        self.base.begin(seed, length);
        self.rng = Rng::new(!seed);
        // What was seen in an execution that was broken off is seen again.
        self.log.clear();
        self.written.clear();
        (self.yields, self.picks) = (0, 0);
        self.target = self.draw();
        if let Some(tries) = self.target.and_then(|pair| self.unseen.get_mut(&pair)) {
            *tries += 1;
        }
    }

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        let picked = self.choose(view);
        self.note(&view.pending[picked]);
        picked
    }

    fn learn(&mut self) {
        let mut index = 0;
        while let (Some(first), Some(second)) = (self.log.get(index), self.log.get(index + 1)) {
            index += 2;
            let site = first as SiteId;
            if first >> 34 != 0 {
                let touch = Touch {
                    writes: first >> 33 & 1 != 0,
                    reads: first >> 32 & 1 != 0,
                };
                self.places.insert((second as usize, site), touch);
                self.pair_up(second as usize, site, touch);
            } else {
                self.seen.insert((site, second as SiteId));
            }
        }
        let seen = &self.seen;
        self.unseen.retain(|pair, _| !seen.contains(pair));
        self.log.clear();
    }

    fn log(&mut self) -> Option<&mut Log> {
        Some(&mut self.log)
    }

    fn needs_site_keys(&self) -> bool {
        // Every operation counts.
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Op, run};

    /// Executions until the late load of thread 2 reads the first of thread 1's stores, on
    /// average over 50 rows.
    fn until_seen(new: fn() -> Box<dyn Strategy>) -> u64 {
        let count = [Op::Load(0), Op::Store(0)];
        let program = [
            vec![Op::Spawn(1), Op::Spawn(2)],
            [vec![Op::Step; 3], count.to_vec(), count.to_vec()].concat(),
            [vec![Op::Step; 40], vec![Op::Load(0)]].concat(),
        ];
        let row = |row: u64| {
            let mut strategy = new();
            let is_seen = |execution: &u64| {
                let run = run(&program, &mut *strategy, row << 32 | execution, 0);
                strategy.learn();
                run.memory.last() == Some(&1)
            };
            (0..1_000).find(is_seen).unwrap_or(1_000)
        };
        (0..50).map(row).sum::<u64>() / 50
    }

    #[test]
    fn a_pair_that_chance_hardly_makes_is_seen_soon() {
        let steered = until_seen(|| Box::new(ReadsFrom::new()));
        let sampled = until_seen(|| Box::new(Pos::new()));
        assert!(steered < 10, "{steered}");
        assert!(sampled > 2 * steered, "{sampled} {steered}");
    }

    #[test]
    fn spin_loops_make_progress_and_the_row_of_seeds_decides_everything() {
        let program = [
            vec![Op::Spawn(1), Op::Spawn(2), Op::SpinUntil(0)],
            vec![Op::SpinUntil(1), Op::Lock(0), Op::Set(0), Op::Unlock(0)],
            vec![Op::Lock(0), Op::Set(1), Op::Unlock(0)],
        ];
        let row = || {
            let mut strategy = ReadsFrom::new();
            let run = |seed| {
                let run = run(&program, &mut strategy, seed, 0);
                strategy.learn();
                assert!(!run.stuck);
                run
            };
            (0..200).map(run).collect::<Vec<_>>()
        };
        assert_eq!(row(), row());
    }
}
