//! Steers towards reads-from pairs, and combinations of them, that have not been seen: Wolff, Shi,
//! Duck, Mathur and Roychoudhury, "Greybox Fuzzing for Concurrency Testing" (ASPLOS 2024).
//!
//! Every execution adds to what is known: which places write and read an object, and which read
//! has read from which write. The next one gets a few constraints out of that (see
//! [`Corpus`]). A thread that stands before a read waits until the wanted write is the last one,
//! then reads at once, and other writes wait meanwhile. Between, and where that gets stuck,
//! partial order sampling picks.
//!
//! Deviations from the paper:
//! 1. Locks and other synchronisation count as reads and writes of their object.
//! 2. A constraint is met once; the paper keeps it up for all events at its places.
//! 3. Of two kept sets of constraints, the one used less is changed, instead of a power schedule.
//! 4. Kept sets are seldom used as long as there are unseen pairs that were hardly tried.

use crate::constraints::{Constraint, Corpus};
use crate::experience::{Experience, Learnt};
use crate::known::Known;
use crate::last_writes::LastWrites;
use crate::log::Log;
use crate::pos::Pos;
use crate::rng::{Rng, mix};
use crate::strategy::{Pending, Strategy, View};
use crate::surw::Surw;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use raddle_abi::site::{Operation, SiteId};

/// Yields, and picks, after which constraints are given up.
const MAX_YIELDS: u32 = 64;
const MAX_PICKS: u32 = 1 << 13;
/// Changes the seed, so that which base picks says nothing about what it draws.
const SALT: u64 = 0x6261_7365;
/// Places known at most, over all objects.
const MOST: usize = 4096;

/// See the module's description.
pub struct ReadsFrom {
    base: Pos,
    /// Takes the place of the base in some executions, if there is one.
    other_base: Option<Surw>,
    /// It does in the execution under way.
    is_other: bool,
    /// A constraint made the last pick.
    is_due: bool,
    log: Log,
    corpus: Corpus,
    /// Places that touch each object, and whether they write and read.
    places: BTreeMap<(usize, SiteId), Touch>,
    /// Those that the execution under way has added. They count as learnt when it is over,
    /// wherever it runs: it may be broken off and begun again.
    fresh: BTreeMap<(usize, SiteId), Touch>,
    /// What was drawn for the execution under way.
    drawn: Vec<Constraint>,
    /// Which kept constraints that was made of.
    origin: Option<usize>,
    /// What is not met yet of that.
    open: Vec<Constraint>,
    written: LastWrites<SiteId>,
    /// The pairs of the execution under way, and a hash over them in any order.
    pairs: Known,
    combination: u64,
    free: Vec<u16>,
    yields: u32,
    picks: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Touch {
    writes: bool,
    reads: bool,
}

/// What a thread stands before, as far as constraints are concerned.
#[derive(PartialEq, Eq)]
enum Standing {
    Free,
    /// It would meet a constraint.
    Due,
    /// It waits for the sake of the constraint with this index.
    Held(usize),
}

/// Words of the log come in twos; the first one has a tag in its upper bits.
mod tag {
    pub const SHIFT: u32 = 34;
    /// A write and a read of it.
    pub const PAIR: u64 = 0;
    /// A place and an object that it touches.
    pub const PLACE: u64 = 1;
    /// The combination of pairs of the whole execution.
    pub const COMBINATION: u64 = 2;
}

fn object(pending: &Pending) -> Option<usize> {
    (pending.address != 0 && pending.site != 0).then_some(pending.address)
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
            other_base: None,
            is_other: false,
            is_due: false,
            log: Log::new(),
            corpus: Corpus::new(),
            places: BTreeMap::new(),
            fresh: BTreeMap::new(),
            drawn: Vec::new(),
            origin: None,
            open: Vec::new(),
            written: LastWrites::new(),
            pairs: Known::new(),
            combination: 0,
            free: Vec::new(),
            yields: 0,
            picks: 0,
        }
    }

    /// Reads-from feedback, where every other execution follows a selectively uniform random walk
    /// between the constraints.
    pub fn with_two_bases() -> Self {
        Self {
            other_base: Some(Surw::new()),
            ..Self::new()
        }
    }

    /// Picks without regard to constraints.
    fn pick_base(&mut self, view: &View<'_>) -> usize {
        match &mut self.other_base {
            Some(other) if self.is_other => other.pick(view),
            _ => self.base.pick(view),
        }
    }

    fn can(&self, object: usize, site: SiteId, what: impl Fn(&Touch) -> bool) -> bool {
        let place = (object, site);
        let fresh = self.fresh.get(&place);
        fresh.or_else(|| self.places.get(&place)).is_some_and(what)
    }

    /// Whether something can still be the last write: what was there before cannot.
    fn can_write(&self, object: usize, site: SiteId) -> bool {
        site != 0 && self.can(object, site, |touch| touch.writes)
    }

    fn standing(&self, pending: &Pending) -> Standing {
        let Some(object) = object(pending) else {
            return Standing::Free;
        };
        let last = self.written.get(object);
        let reads = touch(pending).reads;
        for (index, &Constraint { pair, wanted }) in self.open.iter().enumerate() {
            let (write, read) = pair;
            if pending.site == read && reads {
                match (last == write, wanted) {
                    (true, true) => return Standing::Due,
                    (true, false) => return Standing::Held(index),
                    (false, true) if self.can_write(object, write) => {
                        return Standing::Held(index);
                    }
                    _ => {}
                }
            } else if wanted && last == write && pending.write && pending.site != write {
                // It would destroy what is to be read.
                if self.can(object, read, |touch| touch.reads) {
                    return Standing::Held(index);
                }
            }
        }
        Standing::Free
    }

    fn note(&mut self, pending: &Pending) {
        let Some(object) = object(pending) else {
            return;
        };
        let (site, touch) = (pending.site, touch(pending));
        let place = (object, site);
        if self.places.get(&place) != Some(&touch)
            && self.fresh.get(&place) != Some(&touch)
            && self.places.len() + self.fresh.len() < MOST
        {
            self.fresh.insert(place, touch);
            let flags = u64::from(touch.writes) << 33 | u64::from(touch.reads) << 32;
            self.push(tag::PLACE, flags | u64::from(site), object as u64);
        }
        if touch.reads {
            let last = self.written.get(object);
            self.open.retain(|constraint| constraint.pair.1 != site);
            let hash = mix(u64::from(last) << 32 | u64::from(site));
            if self.pairs.insert(Known::entry(hash, 0, 0)) {
                self.combination = self.combination.wrapping_add(hash);
                if !self.corpus.is_seen((last, site)) {
                    self.push(tag::PAIR, u64::from(last), u64::from(site));
                }
            }
        }
        if touch.writes {
            self.written.set(object, site);
        }
    }

    fn push(&mut self, tag: u64, first: u64, second: u64) {
        // What does not fit is learnt another time.
        let _ = self.log.push(tag << tag::SHIFT | first) && self.log.push(second);
    }

    /// Picks one who need not wait.
    fn choose(&mut self, view: &View<'_>) -> usize {
        self.yields += u32::from(view.yielded);
        self.picks += 1;
        if self.yields > MAX_YIELDS || self.picks > MAX_PICKS {
            self.open.clear();
        }
        let mut free = core::mem::take(&mut self.free);
        self.is_due = false;
        let picked = loop {
            if self.open.is_empty() {
                break self.pick_base(view);
            }
            free.clear();
            let (mut due, mut holder) = (None, 0);
            for &thread in view.enabled {
                match self.standing(&view.pending[usize::from(thread)]) {
                    Standing::Due => due = due.or(Some(thread)),
                    Standing::Free => free.push(thread),
                    Standing::Held(index) => holder = index,
                }
            }
            self.is_due = due.is_some();
            if let Some(due) = due {
                break usize::from(due);
            }
            // Who spins may wait for one who is held.
            let is_spinning = view.yielded && free[..] == [view.current as u16];
            let is_alone = view.enabled.len() == free.len();
            if !free.is_empty() && (is_alone || !is_spinning) {
                break self.pick_base(&view.among(&free));
            }
            // Everybody waits: one of the constraints cannot be met now.
            self.open.swap_remove(holder);
        };
        self.free = free;
        picked
    }

    /// Adds the pairs that a place makes possible.
    fn pair_up(&mut self, object: usize, site: SiteId, touch: Touch) {
        if touch.reads {
            self.corpus.add_possible((0, site));
        }
        let others = self.places.range((object, 0)..=(object, SiteId::MAX));
        for (&(_, other), with) in others {
            if touch.writes && with.reads {
                self.corpus.add_possible((site, other));
            }
            if touch.reads && with.writes {
                self.corpus.add_possible((other, site));
            }
        }
    }
}

impl Learnt for Touch {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.writes.pass(experience);
        self.reads.pass(experience);
    }
}

impl Strategy for ReadsFrom {
    fn begin(&mut self, seed: u64, length: u64) {
        self.begin_watching();
        self.base.begin(seed, length);
        self.is_other = mix(seed ^ SALT) & 1 == 0;
        if let Some(other) = self.other_base.as_mut().filter(|_| self.is_other) {
            other.begin(seed, length);
        }
        // Begun again, an execution is the same: trying is counted when it is over.
        self.origin = self.corpus.draw(&mut Rng::new(!seed), &mut self.drawn);
        self.open.clone_from(&self.drawn);
    }

    fn begin_watching(&mut self) {
        // What was seen in an execution that was broken off is seen again.
        self.log.clear();
        self.fresh.clear();
        self.written.clear();
        self.pairs.clear();
        self.combination = 0;
        (self.yields, self.picks) = (0, 0);
        self.drawn.clear();
        self.open.clear();
        self.origin = None;
        self.is_other = false;
        if let Some(other) = &mut self.other_base {
            other.begin_watching();
        }
    }

    fn watch(&mut self, thread: usize, pending: &Pending) {
        self.note(pending);
        if let Some(other) = &mut self.other_base {
            other.watch(thread, pending);
        }
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        if let Some(other) = &mut self.other_base {
            other.thread_started(thread, parent, site_key);
        }
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        let picked = self.choose(view);
        let is_other = self.is_other && !self.is_due;
        self.note(&view.pending[picked]);
        // Where it picked itself it has noted that.
        if let Some(other) = self.other_base.as_mut().filter(|_| !is_other) {
            other.watch(picked, &view.pending[picked]);
        }
        picked
    }

    fn end(&mut self) {
        self.push(tag::COMBINATION, 0, self.combination);
    }

    fn learn(&mut self) {
        self.corpus.add_tried(&self.drawn, self.origin);
        let mut index = 0;
        while let (Some(first), Some(second)) = (self.log.get(index), self.log.get(index + 1)) {
            index += 2;
            let site = first as SiteId;
            match first >> tag::SHIFT {
                tag::PLACE => {
                    let touch = Touch {
                        writes: first >> 33 & 1 != 0,
                        reads: first >> 32 & 1 != 0,
                    };
                    self.places.insert((second as usize, site), touch);
                    self.pair_up(second as usize, site, touch);
                }
                tag::PAIR => self.corpus.add_seen((site, second as SiteId)),
                _ => self.corpus.add_combination(second, &self.drawn),
            }
        }
        self.log.clear();
        if let Some(other) = &mut self.other_base {
            other.learn();
        }
    }

    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.corpus.pass(experience);
        self.places.pass(experience);
        if let Some(other) = &mut self.other_base {
            other.pass(experience);
        }
    }

    fn logs(&mut self, visit: &mut dyn FnMut(&mut Log)) {
        visit(&mut self.log);
        if let Some(other) = &mut self.other_base {
            other.logs(visit);
        }
    }

    fn needs_site_keys(&self) -> bool {
        // Every operation counts.
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Op, row, run};

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
        let row = || row(&program, &mut ReadsFrom::new(), 0..200);
        assert_eq!(row(), row());
    }
}
