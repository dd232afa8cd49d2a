//! Tests of objects that are large, or were: buffers grow when they are full, and shrink again when little
//! is left in them, and what threads still have of the old ones must not be used any more.
//!
//! What puts something in is called many times before there are threads. One thread then calls, half as often
//! to as often, the method of the pair that takes something out, and puts a few in again; the others call the
//! other method. Calls that are repeated have the same arguments, so that a test says them once. Such a test takes
//! as long as dozens of others, and comes when all pairs have had some of these.

use raddle_schedule::rng::Rng;

use crate::compose::Composer;
use crate::pairs::Pair;
use crate::select::{FIRST, Guidance};
use crate::test_case::{Call, TestCase};

/// One of so many tests of a prepared object has a large one, once its pair was tried a few times.
const RATE: u64 = 3;
/// How often a call is repeated: as often as there is room for in rings and blocks of usual sizes, of which some need a slot
/// for themselves, and once more or less.
const SIZES: [usize; 6] = [31, 32, 33, 63, 64, 65];
/// One of so many tests of a prepared object begins where a ring or block is full, once its pair was tried.
const EDGE_RATE: u64 = 4;
/// Most calls by which it is a little less than full.
const BELOW: u64 = 2;
/// Most calls that make the object larger again.
const AGAIN: u64 = 6;
/// Most calls of each other thread.
const OTHERS: u64 = 2;

impl Composer<'_> {
    /// A test with a large object, sometimes, if the pair can make one smaller.
    pub(crate) fn bulk(&self, pair: Pair, tried: u32, rng: &mut Rng) -> Option<TestCase> {
        // Others do as the paper does.
        if tried <= FIRST || self.guidance != Guidance::Pairs || rng.below(RATE) != 0 {
            return None;
        }
        let pair = [pair.0, pair.1].map(|method| u16::try_from(method).unwrap_or(u16::MAX));
        let (growing, shrinking) = (self.operations(true), self.operations(false));
        let shrinking = shrinking.into_iter().filter(|one| pair.contains(one));
        let grow = any(&growing, rng)?;
        let shrink = any(&shrinking.collect::<Vec<_>>(), rng)?;
        let other = pair.into_iter().find(|one| *one != shrink);
        let size = any(&SIZES, rng)?;
        let repeated = size - rng.below(size as u64 / 2) as usize;
        let again = 1 + rng.below(AGAIN) as usize;
        let calls = [vec![shrink; repeated], vec![grow; again]].concat();
        let others = (1..self.thread_count(tried, rng))
            .map(|_| vec![other.unwrap_or(shrink); 1 + rng.below(OTHERS) as usize]);
        let wanted = [calls].into_iter().chain(others).collect();
        let possible = self.program.possible(wanted, pair, rng);
        let calls = possible.iter().map(|calls| self.alike(calls, rng));
        let threads: Vec<_> = calls.collect();
        let (_, bytes) = self.object(rng);
        Some(TestCase {
            // The simplest objects need not be those with buffers.
            constructor: any(&self.program.constructors, rng)?,
            bytes,
            prefix: self.alike(&vec![grow; size], rng),
            after: self.after(&threads),
            threads,
        })
    }

    /// A test that begins, sometimes, where what the object is made of is full or empty again: the call that puts something in
    /// was repeated, and in half of the tests what was put in was taken out again.
    pub(crate) fn at_an_edge(&self, pair: Pair, tried: u32, rng: &mut Rng) -> Option<TestCase> {
        if tried < 2 || self.guidance != Guidance::Pairs || rng.below(EDGE_RATE) != 0 {
            return None;
        }
        let methods = [pair.0, pair.1].map(|method| u16::try_from(method).unwrap_or(u16::MAX));
        let is_noticed = |one: &u16| {
            let mut pair = methods.iter();
            pair.any(|other| one == other || self.program.affects(*one, *other))
        };
        let growing: Vec<u16> = self
            .operations(true)
            .into_iter()
            .filter(is_noticed)
            .collect();
        let grow = any(&growing, rng)?;
        let size = any(&SIZES, rng)? - rng.below(BELOW + 1) as usize;
        let mut calls = vec![grow; size];
        let shrinking: Vec<u16> = self
            .operations(false)
            .into_iter()
            .filter(is_noticed)
            .collect();
        let shrink = any(&shrinking, rng).filter(|_| rng.below(2) == 0);
        if let Some(shrink) = shrink {
            calls.extend(vec![shrink; size - rng.below(BELOW + 1) as usize]);
        }
        let plain = self.test(pair, 1, 0, rng);
        Some(TestCase {
            constructor: any(&self.program.constructors, rng)?,
            prefix: self.alike(&calls, rng),
            ..plain
        })
    }

    /// What may make an object larger, or smaller: what is put in is an argument, and nothing can be taken
    /// out of a new object.
    fn operations(&self, puts_in: bool) -> Vec<u16> {
        self.program.numbers(|method| {
            let calibration = method.calibration;
            let returns = !calibration.blocks && !calibration.panics;
            let is_such = match puts_in {
                true => method.has_arguments && calibration.changes_new,
                false => !calibration.changes_new,
            };
            is_such && method.changes() && returns && !method.access.is_loose()
        })
    }

    /// Calls of these operations; those that follow on one of the same operation are the same.
    fn alike(&self, operations: &[u16], rng: &mut Rng) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        for operation in operations {
            let call = match calls.last().filter(|last| last.operation == *operation) {
                Some(last) => last.clone(),
                None => self.call(*operation, rng),
            };
            calls.push(call);
        }
        calls
    }
}

fn any<T: Copy>(of: &[T], rng: &mut Rng) -> Option<T> {
    of.get(rng.below(of.len().max(1) as u64) as usize).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use raddle_schedule::rng::Rng;

    use crate::compose::Composer;
    use crate::program::{Calibration, Method, Program};
    use crate::select::{FIRST, Guidance};
    use crate::test_case::TestCase;

    #[test]
    fn a_large_object_is_made_by_what_takes_arguments_and_emptied_beside_others() {
        let method = |name: &str| Method {
            name: name.to_owned(),
            has_arguments: name != "pop",
            calibration: Calibration {
                changes_new: name == "push",
                ..Calibration::default()
            },
            ..Method::default()
        };
        let program = Program {
            methods: BTreeMap::from([
                (0, method("pop")),
                (1, method("push")),
                (2, method("steal")),
            ]),
            constructors: vec![0],
            ..Program::default()
        };
        let composer = Composer {
            program: &program,
            guidance: Guidance::Pairs,
            threads: Some(2),
        };
        let mut rng = Rng::new(1);
        assert!((0..100).all(|_| composer.bulk((0, 2), FIRST, &mut rng).is_none()));
        let tests: Vec<_> = (0..200)
            .filter_map(|_| composer.bulk((0, 2), FIRST + 1, &mut rng))
            .collect();
        assert!((40..100).contains(&tests.len()), "{}", tests.len());
        for test in &tests {
            assert!(test.prefix.len() > 30);
            assert!(test.prefix.iter().all(|call| *call == test.prefix[0]));
            assert_eq!(test.prefix[0].operation, 1);
            let first = test.threads[0][0].operation;
            assert!(
                first != 1
                    && test.threads[1]
                        .iter()
                        .all(|call| call.operation == 2 - first)
            );
            assert!(2 * test.threads[0].len() > test.prefix.len());
            assert_eq!(test.threads[0].last().unwrap().operation, 1);
        }
        let edges: Vec<_> = (0..400)
            .filter_map(|_| composer.at_an_edge((0, 1), 2, &mut rng))
            .collect();
        assert!((60..140).contains(&edges.len()), "{}", edges.len());
        let pushed = |test: &TestCase| {
            test.prefix
                .iter()
                .filter(|call| call.operation == 1)
                .count()
        };
        for size in [31, 32, 63, 64] {
            assert!(edges.iter().any(|test| pushed(test) == size), "{size}");
        }
        assert!((0..100).all(|_| composer.at_an_edge((0, 1), 1, &mut rng).is_none()));
        // Nothing is smaller after a call of `push`.
        assert!((0..100).all(|_| composer.bulk((1, 1), FIRST + 1, &mut rng).is_none()));
    }
}
