//! Writes tests for a pair of methods.
//!
//! For each selected pair two: one whose object is as it was made, and one with up to five calls
//! before that change it. Threads then call the two methods in turn, beginning with different
//! ones.

use raddle_schedule::rng::Rng;

use crate::pairs::Pair;
use crate::program::Program;
use crate::select::Guidance;
use crate::test_case::{Call, TestCase};

/// Most calls before there are threads.
const PREFIX: u64 = 5;
/// Calls of each thread at first, and when a pair was tried often.
const CALLS: (usize, usize) = (2, 5);
/// Times a pair is tried before its tests get longer.
const SHORT: u32 = 5;
/// Bytes from which the arguments of a call are made.
const BYTES: u64 = 6;
/// Bytes take so many values: more would only be more names for the same.
const VALUES: u64 = 12;
/// Of two objects the second gets one of so many calls, if they take no other.
const SECOND_OBJECT: u64 = 4;
/// Most calls that look at the object when threads have ended.
const AFTER: usize = 8;

/// Writes tests.
pub struct Composer<'a> {
    /// What can be called.
    pub program: &'a Program,
    /// What decides about pairs.
    pub guidance: Guidance,
    /// How many threads tests have.
    pub threads: usize,
}

impl Composer<'_> {
    /// The two tests of a pair that was selected so many times.
    pub fn tests(&self, pair: Pair, tried: u32, rng: &mut Rng) -> [TestCase; 2] {
        let changed = 1 + rng.below(PREFIX);
        [
            self.test(pair, tried, 0, rng),
            self.test(pair, tried, changed, rng),
        ]
    }

    fn test(&self, pair: Pair, tried: u32, prefix: u64, rng: &mut Rng) -> TestCase {
        let count = if tried <= SHORT { CALLS.0 } else { CALLS.1 };
        let first = [pair.0, pair.1].map(|method| u16::try_from(method).unwrap_or(u16::MAX));
        let threads = (0..self.threads).map(|thread| {
            let calls = (0..count).map(|index| match self.guidance {
                Guidance::Random => self.any(rng),
                _ => first[(thread + index) % 2],
            });
            let calls: Vec<u16> = calls.collect();
            calls
                .into_iter()
                .map(|operation| self.call(operation, rng))
                .collect()
        });
        let threads = threads.collect();
        let changing = self.changing();
        let prefix = (0..prefix).filter_map(|_| {
            let operation = changing.get(rng.below(changing.len() as u64) as usize)?;
            Some(self.call(*operation, rng))
        });
        TestCase {
            prefix: prefix.collect(),
            threads,
            constructor: self.constructor(rng),
            bytes: bytes(rng),
            after: self.after(),
        }
    }

    fn constructor(&self, rng: &mut Rng) -> u8 {
        let constructors = &self.program.constructors;
        // The simplest one is used in half of the tests.
        let index = rng.below(2 * constructors.len() as u64) as usize;
        constructors
            .get(index)
            .or(constructors.first())
            .copied()
            .unwrap_or(0)
    }

    fn any(&self, rng: &mut Rng) -> u16 {
        let index = rng.below(self.program.methods.len() as u64) as usize;
        self.program.methods.keys().nth(index).copied().unwrap_or(0)
    }

    /// Operations that change the object and return.
    fn changing(&self) -> Vec<u16> {
        let methods = self.program.methods.iter();
        methods
            .filter(|(_, method)| {
                method.changes() && !method.calibration.blocks && !method.calibration.panics
            })
            .map(|(number, _)| *number)
            .collect()
    }

    /// Calls that show what the object has become.
    fn after(&self) -> Vec<Call> {
        let methods = self.program.methods.iter().filter(|(_, method)| {
            method.is_quiet() && !method.has_arguments && !method.name.contains('.')
        });
        let mut methods: Vec<_> = methods.collect();
        // What only looks comes before what takes things out.
        methods.sort_by_key(|(_, method)| method.changes());
        // Of two objects both are looked at.
        let objects: &[&[u8]] = match self.program.is_paired {
            true => &[&[], &[1]],
            false => &[&[]],
        };
        let calls = methods.into_iter().take(AFTER).flat_map(|(number, _)| {
            objects.iter().map(|bytes| Call {
                operation: *number,
                bytes: bytes.to_vec(),
            })
        });
        calls.collect()
    }

    /// A call with arguments by chance.
    pub fn call(&self, operation: u16, rng: &mut Rng) -> Call {
        let method = self.program.methods.get(&operation);
        let takes = method.is_some_and(|one| one.has_arguments);
        let mut bytes = if takes { bytes(rng) } else { Vec::new() };
        if self.program.is_paired {
            let takes_other = method.is_some_and(|one| one.takes_other);
            let of = if takes_other { 2 } else { SECOND_OBJECT };
            bytes.insert(0, u8::from(rng.below(of) == 0));
        }
        Call { operation, bytes }
    }
}

fn bytes(rng: &mut Rng) -> Vec<u8> {
    (0..BYTES).map(|_| rng.below(VALUES) as u8).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Composer;
    use crate::program::{Method, Program, Weakness};
    use crate::select::Guidance;
    use raddle_schedule::rng::Rng;

    fn program() -> Program {
        let method = |name: &str, weakness: Weakness| Method {
            name: name.to_owned(),
            part: 0,
            weakness,
            calibration: Default::default(),
            has_arguments: name == "push",
            takes_other: name == "pop",
            may_hold: false,
            may_panic: false,
        };
        let methods = [
            (0, method("len", Weakness::Observer)),
            (1, method("push", Weakness::None)),
            (2, method("pop", Weakness::None)),
        ];
        Program {
            methods: BTreeMap::from(methods),
            constructors: vec![0],
            is_paired: false,
        }
    }

    #[test]
    fn threads_call_the_pair_in_turn() {
        let program = program();
        let composer = Composer {
            program: &program,
            guidance: Guidance::Pairs,
            threads: 3,
        };
        let mut rng = Rng::new(3);
        let [plain, prepared] = composer.tests((1, 2), 1, &mut rng);
        let methods: Vec<Vec<u16>> = plain
            .threads
            .iter()
            .map(|calls| calls.iter().map(|call| call.operation).collect())
            .collect();
        assert_eq!(methods, [[1, 2], [2, 1], [1, 2]]);
        assert!(plain.prefix.is_empty());
        assert!((1..=5).contains(&prepared.prefix.len()));
        assert!(prepared.prefix.iter().all(|call| call.operation != 0));
        // Two objects need a byte that says which is meant.
        assert!(plain.threads[0].iter().any(|call| call.bytes.is_empty()));
        let paired = Program {
            is_paired: true,
            ..program.clone()
        };
        let on_two = Composer {
            program: &paired,
            ..composer
        };
        let [both, _] = on_two.tests((1, 2), 1, &mut rng);
        assert!(
            both.threads
                .iter()
                .flatten()
                .all(|call| !call.bytes.is_empty())
        );
        assert_eq!(both.after.len(), 2 * plain.after.len());
        let composer = Composer {
            program: &program,
            ..on_two
        };
        let [long, _] = composer.tests((1, 2), 6, &mut rng);
        assert_eq!(long.threads[0].len(), 5);
    }
}
