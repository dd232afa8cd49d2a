//! What a strategy has learnt, as words: written out in one process and taken in by another, in
//! which the search then goes on as if nothing had happened.
//!
//! Writing and taking in are one pass over the same fields in the same order, so that neither
//! can know of a field that the other does not. Words that no strategy has written are taken
//! in as far as they make sense: it never fails, but then the search is another one.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Room for words, and how many were written. More than there is room for are counted only.
pub struct Words<'a> {
    room: &'a mut [u64],
    count: usize,
}

impl<'a> Words<'a> {
    /// None yet.
    pub fn new(room: &'a mut [u64]) -> Self {
        Self { room, count: 0 }
    }

    /// How many there are, if there was room for them.
    pub fn count(&self) -> Option<usize> {
        (self.count <= self.room.len()).then_some(self.count)
    }

    fn push(&mut self, word: u64) {
        if let Some(place) = self.room.get_mut(self.count) {
            *place = word;
        }
        self.count += 1;
    }
}

/// See the module's description.
pub enum Experience<'a> {
    /// Is written, to these words.
    Written(Words<'a>),
    /// Is taken in, from these words.
    Taken(&'a [u64]),
}

/// Part of what a strategy has learnt.
pub trait Learnt {
    /// Writes itself out, or takes itself in.
    fn pass(&mut self, experience: &mut Experience<'_>);
}

impl Experience<'_> {
    /// Passes a number.
    pub fn word(&mut self, word: &mut u64) {
        match self {
            Self::Written(words) => words.push(*word),
            Self::Taken(words) => {
                if let Some((first, rest)) = words.split_first() {
                    (*word, *words) = (*first, rest);
                }
            }
        }
    }

    /// Passes the number of entries that follow, `count` where they are written. An entry has
    /// one word at least.
    fn count(&mut self, count: usize) -> usize {
        let mut word = count as u64;
        self.word(&mut word);
        match self {
            Self::Written(_) => count,
            Self::Taken(words) => usize::try_from(word).unwrap_or(0).min(words.len()),
        }
    }

    /// Passes a list of so many entries: calls `add` for each that is taken in.
    pub fn list<T: Learnt + Default>(
        &mut self,
        count: usize,
        entries: impl Iterator<Item = T>,
        mut add: impl FnMut(T),
    ) {
        let count = self.count(count);
        match self {
            Self::Written(_) => entries.for_each(|mut entry| entry.pass(self)),
            Self::Taken(_) => {
                for _ in 0..count {
                    let mut entry = T::default();
                    entry.pass(self);
                    add(entry);
                }
            }
        }
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Learnt for $number {
            fn pass(&mut self, experience: &mut Experience<'_>) {
                let mut word = *self as u64;
                experience.word(&mut word);
                *self = word as Self;
            }
        }
    )*};
}

numbers!(u16, u32, u64, usize);

impl Learnt for bool {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        let mut word = u64::from(*self);
        experience.word(&mut word);
        *self = word != 0;
    }
}

impl<A: Learnt, B: Learnt> Learnt for (A, B) {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.0.pass(experience);
        self.1.pass(experience);
    }
}

impl<T: Learnt + Default + Clone> Learnt for Vec<T> {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        let mut taken = Vec::new();
        experience.list(self.len(), self.iter().cloned(), |entry| taken.push(entry));
        if let Experience::Taken(_) = experience {
            *self = taken;
        }
    }
}

impl<T: Learnt + Default + Clone + Ord> Learnt for BTreeSet<T> {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        let mut taken = Self::new();
        experience.list(self.len(), self.iter().cloned(), |entry| {
            taken.insert(entry);
        });
        if let Experience::Taken(_) = experience {
            *self = taken;
        }
    }
}

impl<K: Learnt + Default + Clone + Ord, V: Learnt + Default + Clone> Learnt for BTreeMap<K, V> {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        let mut taken = Self::new();
        let entries = self.iter().map(|(key, value)| (key.clone(), value.clone()));
        experience.list(self.len(), entries, |(key, value)| {
            taken.insert(key, value);
        });
        if let Experience::Taken(_) = experience {
            *self = taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{ALL, parse};
    use crate::rng::Rng;
    use crate::simulator::{self, Op, Run, run};
    use crate::strategy::Strategy;

    fn written(strategy: &mut dyn Strategy) -> Vec<u64> {
        let mut room = vec![0; 1 << 20];
        let mut experience = Experience::Written(Words::new(&mut room));
        strategy.pass(&mut experience);
        let count = match experience {
            Experience::Written(words) => words.count().expect("there is room"),
            Experience::Taken(_) => unreachable!("it is written"),
        };
        room.truncate(count);
        room
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut room = [0; 2];
        let mut words = Words::new(&mut room);
        words.push(5);
        words.push(6);
        assert_eq!(words.count(), Some(2));
        words.push(7);
        assert_eq!(words.count(), None);
        assert_eq!(room, [5, 6]);
    }

    fn program() -> Vec<Vec<Op>> {
        let count = [Op::Load(0), Op::Store(0), Op::Lock(0), Op::Set(1)];
        let count = [&count[..], &[Op::Unlock(0), Op::Load(1), Op::Store(1)]].concat();
        vec![
            [vec![Op::Spawn(1), Op::Spawn(2)], count.clone()].concat(),
            [count.clone(), vec![Op::Step; 3]].concat(),
            count.repeat(2),
        ]
    }

    /// Executions with these seeds, each of which is learnt from.
    fn row(strategy: &mut dyn Strategy, seeds: std::ops::Range<u64>) -> Vec<Run> {
        simulator::row(&program(), strategy, seeds)
    }

    #[test]
    fn whoever_takes_in_what_was_written_goes_on_alike() {
        for entry in ALL {
            for cut in [0, 7, 100] {
                let mut whole = parse(entry.name).unwrap();
                row(&mut *whole, 0..cut);
                let words = written(&mut *whole);
                let mut other = parse(entry.name).unwrap();
                other.pass(&mut Experience::Taken(&words));
                let seeds = cut..cut + 100;
                let (whole, other) = (row(&mut *whole, seeds.clone()), row(&mut *other, seeds));
                assert_eq!(other, whole, "{} {cut}", entry.name);
            }
        }
    }

    /// What an execution in a child wrote down arrives at its parent.
    fn carry_logs(child: &mut dyn Strategy, parent: &mut dyn Strategy) {
        let mut logs = Vec::new();
        child.logs(&mut |log| logs.push((0..).map_while(|at| log.get(at)).collect::<Vec<_>>()));
        let mut logs = logs.into_iter();
        parent.logs(&mut |log| {
            log.clear();
            for word in logs.next().unwrap_or_default() {
                log.push(word);
            }
        });
    }

    #[test]
    fn executions_in_forked_children_are_learnt_from_alike() {
        let program = program();
        for entry in ALL {
            let mut parent = parse(entry.name).unwrap();
            let mut runs = Vec::new();
            for seed in 0..120 {
                let words = written(&mut *parent);
                parent.begin(seed, 30);
                let mut child = parse(entry.name).unwrap();
                child.pass(&mut Experience::Taken(&words));
                runs.push(run(&program, &mut *child, seed, 30));
                carry_logs(&mut *child, &mut *parent);
                parent.learn();
            }
            let here = row(&mut *parse(entry.name).unwrap(), 0..120);
            assert!(runs == here, "{}", entry.name);
        }
    }

    #[test]
    fn what_is_learnt_makes_a_difference() {
        for name in ["portfolio", "reads-from", "surw", "exhaustive(2)"] {
            let mut whole = parse(name).unwrap();
            row(&mut *whole, 0..200);
            let went_on = row(&mut *whole, 200..400);
            let anew = row(&mut *parse(name).unwrap(), 200..400);
            assert!(went_on != anew, "{name}");
        }
    }

    #[test]
    fn several_that_take_turns_go_on_alike() {
        let name = "surw+reads-from";
        let mut whole = parse(name).unwrap();
        row(&mut *whole, 0..50);
        let words = written(&mut *whole);
        let mut other = parse(name).unwrap();
        other.pass(&mut Experience::Taken(&words));
        assert_eq!(row(&mut *other, 50..90), row(&mut *whole, 50..90));
    }

    #[test]
    fn words_that_nobody_wrote_do_no_harm() {
        let mut rng = Rng::new(3);
        for entry in ALL {
            let mut strategy = parse(entry.name).unwrap();
            row(&mut *strategy, 0..60);
            let words = written(&mut *strategy);
            for round in 0..16 {
                let mut words = words.clone();
                words.truncate(rng.below(words.len() as u64 + 1) as usize);
                for _ in 0..round % 4 {
                    let at = rng.below(words.len() as u64) as usize;
                    if let Some(word) = words.get_mut(at) {
                        *word = rng.next() >> rng.below(64);
                    }
                }
                let mut other = parse(entry.name).unwrap();
                other.pass(&mut Experience::Taken(&words));
                for run in row(&mut *other, 0..20) {
                    assert!(!run.order.is_empty());
                }
            }
        }
    }
}
