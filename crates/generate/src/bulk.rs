//! Tests of objects that are large, or were: buffers grow when they are full, and shrink again when little
//! is left in them, and what threads still have of the old ones must not be used any more.
//!
//! One call is made many times before there are threads. One thread then calls a method of the pair about
//! as often, and a few times what made the object large; the others call the other method. Calls that are
//! repeated have the same arguments, so that a test says them once.

use raddle_schedule::rng::Rng;

use crate::compose::Composer;
use crate::pairs::Pair;
use crate::select::Guidance;
use crate::test_case::{Call, TestCase};

/// One of so many tests of a prepared object has a large one, once its pair was tried.
const RATE: u64 = 6;
/// How often a call is repeated: once more than there is room for, where room doubles.
const SIZES: [u64; 4] = [17, 33, 65, 129];
/// At most so many repetitions are left out by the thread.
const LEFT: u64 = 12;
/// Most calls that make the object larger again.
const AGAIN: u64 = 6;
/// Most calls of the other threads.
const OTHERS: u64 = 2;

impl Composer<'_> {
    /// A test with a large object, sometimes, if something makes one.
    pub(crate) fn bulk(&self, pair: Pair, tried: u32, rng: &mut Rng) -> Option<TestCase> {
        // A thread without a pair has nothing to repeat.
        if tried < 2 || self.guidance == Guidance::Random || rng.below(RATE) != 0 {
            return None;
        }
        let growing = self.growing();
        let grow = *growing.get(rng.below(growing.len().max(1) as u64) as usize)?;
        let size = SIZES[rng.below(SIZES.len() as u64) as usize];
        let [one, other] = match rng.below(2) {
            0 => [pair.0, pair.1],
            _ => [pair.1, pair.0],
        }
        .map(|method| u16::try_from(method).unwrap_or(u16::MAX));
        let repeated = size - rng.below(LEFT);
        let again = rng.below(AGAIN + 1);
        let changing = [repeated, again].map(|count| usize::try_from(count).unwrap_or(0));
        let changing = [vec![one; changing[0]], vec![grow; changing[1]]].concat();
        let others = (1..self.threads).map(|_| vec![other; 1 + rng.below(OTHERS) as usize]);
        let wanted = [changing].into_iter().chain(others).collect();
        let possible = self.program.possible(wanted, [one, other], rng);
        let threads: Vec<_> = possible
            .iter()
            .map(|calls| self.alike(calls, rng))
            .collect();
        let (constructor, bytes) = self.object(rng);
        Some(TestCase {
            constructor,
            bytes,
            prefix: self.alike(&vec![grow; size as usize], rng),
            after: self.after(&threads),
            threads,
        })
    }

    /// What may make an object large: whatever is put in is an argument.
    fn growing(&self) -> Vec<u16> {
        self.program.numbers(|method| {
            let returns = !method.calibration.blocks && !method.calibration.panics;
            method.changes() && method.has_arguments && returns && !method.access.is_loose()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use raddle_schedule::rng::Rng;

    use crate::compose::Composer;
    use crate::program::{Method, Program};
    use crate::select::Guidance;

    #[test]
    fn a_large_object_is_made_by_what_takes_arguments_and_emptied_beside_others() {
        let method = |name: &str| Method {
            name: name.to_owned(),
            has_arguments: name == "push",
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
            threads: 2,
        };
        let mut rng = Rng::new(1);
        assert!((0..100).all(|_| composer.bulk((0, 2), 1, &mut rng).is_none()));
        let tests: Vec<_> = (0..200)
            .filter_map(|_| composer.bulk((0, 2), 2, &mut rng))
            .collect();
        assert!((10..80).contains(&tests.len()), "{}", tests.len());
        for test in &tests {
            assert!(test.prefix.len() > 16);
            assert!(test.prefix.iter().all(|call| *call == test.prefix[0]));
            assert_eq!(test.prefix[0].operation, 1);
            let first = test.threads[0][0].operation;
            assert!(
                first != 1
                    && test.threads[1]
                        .iter()
                        .all(|call| call.operation == 2 - first)
            );
            assert!(test.threads[0].len() + 12 > test.prefix.len());
        }
        let grow_again = tests.iter().filter(|test| {
            let last = test.threads[0].last();
            last.is_some_and(|call| call.operation == 1)
        });
        assert!(grow_again.count() > tests.len() / 2);
    }
}
