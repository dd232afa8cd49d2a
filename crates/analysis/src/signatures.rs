//! Units that are alike stand for each other.
//!
//! Two units have the same signature if they are the same function and touch the same places at
//! the same sites, in the same contexts, with locks held and acquired alike. In one segment of
//! one thread they are also ordered alike, so what one of them can take part in, all of them can.
//! The first and last few are kept, because a prediction is tried on them first.

use crate::happens_before::SegmentId;
use crate::instances::SetId;
use crate::locks::Held;
use crate::projection::Work;
use raddle_trace::event::ThreadId;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{Hash, Hasher};

/// Units of one signature, thread and segment that are kept from each end.
const KEPT: usize = 4;
/// Signatures of one set that are kept.
pub const MAX_SIGNATURES: usize = 256;

/// Units with the same signature.
#[derive(Debug, Default)]
pub struct Class {
    /// By thread, and in a thread by the segments of the first and the last access.
    threads: BTreeMap<ThreadId, BTreeMap<(SegmentId, SegmentId), Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    first: Vec<Work>,
    last: VecDeque<Work>,
}

impl Class {
    /// A unit that stands for all.
    pub fn any(&self) -> Option<&Work> {
        let mut threads = self.threads.values();
        threads.next()?.values().next()?.first.first()
    }

    /// The threads that have such units.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.threads.keys().copied()
    }

    /// One unit per pair of segments of a thread, in the thread's order.
    pub fn of_thread(&self, thread: ThreadId) -> Vec<&Work> {
        let kept = self
            .threads
            .get(&thread)
            .into_iter()
            .flat_map(BTreeMap::values);
        kept.filter_map(|kept| kept.first.first()).collect()
    }

    /// Every unit that was kept.
    pub fn all(&self) -> impl Iterator<Item = &Work> {
        let kept = self.threads.values().flat_map(BTreeMap::values);
        kept.flat_map(|kept| kept.first.iter().chain(&kept.last))
    }
}

/// The units of a trace, by set and signature.
#[derive(Debug, Default)]
pub struct Signatures {
    sets: BTreeMap<SetId, Vec<Class>>,
    ids: HashMap<(SetId, u64), usize>,
    /// Units that were left out, because their set had too many signatures already.
    pub left_out: u64,
}

impl Signatures {
    /// Takes a unit.
    pub fn add(&mut self, work: Work) {
        let (Some(first), Some(last)) = (work.touches.first(), work.touches.last()) else {
            return;
        };
        let segments = (first.segment, last.segment);
        let classes = self.sets.entry(work.set).or_default();
        let id = match self.ids.get(&(work.set, signature(&work))) {
            Some(&id) => id,
            None if classes.len() >= MAX_SIGNATURES => {
                self.left_out += 1;
                return;
            }
            None => {
                classes.push(Class::default());
                self.ids
                    .insert((work.set, signature(&work)), classes.len() - 1);
                classes.len() - 1
            }
        };
        let thread = classes[id].threads.entry(work.thread).or_default();
        let kept = thread.entry(segments).or_default();
        if kept.first.len() < KEPT {
            kept.first.push(work);
        } else {
            kept.last.push_back(work);
            if kept.last.len() > KEPT {
                kept.last.pop_front();
            }
        }
    }

    /// The classes of each set.
    pub fn sets(&self) -> impl Iterator<Item = (SetId, &[Class])> {
        self.sets.iter().map(|(set, classes)| (*set, &classes[..]))
    }
}

/// What units that stand for each other have in common.
fn signature(work: &Work) -> u64 {
    let mut hasher = DefaultHasher::new();
    work.function.0.hash(&mut hasher);
    let number = |held: &Held| {
        let own = work.acquired.iter();
        let mut own = own.enumerate();
        own.find(|(_, acquired)| acquired.acquired == held.acquired)
            .map_or(0, |(index, _)| index + 1)
    };
    let mut acquired = 0;
    for touch in &work.touches {
        while let Some(held) = work.acquired.get(acquired)
            && held.acquired < touch.at
        {
            (held.lock, held.shared).hash(&mut hasher);
            acquired += 1;
        }
        (touch.site.map(|site| site.0), touch.context).hash(&mut hasher);
        (touch.place, touch.manner, touch.atomic).hash(&mut hasher);
        for held in touch.holding.iter() {
            (held.lock, held.shared, number(held)).hash(&mut hasher);
        }
    }
    hasher.finish()
}
