//! Writes tests for a pair of methods.
//!
//! For each selected pair two: one whose object is as it was made, and one with up to five calls
//! before that change it. Threads then call the two methods in turn, beginning with different
//! ones. In the end come calls that show what has become of the object. A pair whose methods were
//! not seen to have to do with each other gets the first of the two only when it is selected for the
//! first time, so that all pairs are soon covered.
//!
//! The paper leaves open which calls change the object: most of ours are such that the pair's methods
//! notice ([`effects`](crate::effects)), and most tests of two methods that have to do with each other
//! begin where that was seen ([`meetings`](crate::meetings)). A few have large objects (`bulk`), or
//! call a third method (`guests`).

use std::collections::BTreeSet;

use raddle_schedule::rng::Rng;

use crate::constants::FIRST;
use crate::literal::FED;
use crate::pairs::Pair;
use crate::program::{Meeting, Method, Program};
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
/// Most calls without arguments, and with some, that look at the object when threads have ended.
const AFTER: (usize, usize) = (8, 6);
/// One of so many calls before there are threads is any that changes the object, whether or not
/// the pair's methods notice.
const UNNOTICED: u64 = 4;
/// One of so many tests of a pair begins in any state, though some are known in which its methods
/// have to do with each other.
const STRANGERS: u64 = 4;
/// One of so many tests of a pair that was tried before has three threads, unless the number is said.
const THREE: u64 = 4;
/// One of so many bytes means what an earlier call returned, where that may be an argument.
const RETURNED: u64 = 3;

/// Writes tests.
pub struct Composer<'a> {
    /// What can be called.
    pub program: &'a Program,
    /// What decides about pairs.
    pub guidance: Guidance,
    /// How many threads tests have, if that is said; two otherwise, and in some three.
    pub threads: Option<usize>,
}

impl Composer<'_> {
    /// The tests of a pair that was selected so many times.
    pub fn tests(&self, pair: Pair, tried: u32, rng: &mut Rng) -> Vec<TestCase> {
        let plain = self.test(pair, tried, 0, rng);
        if self.guidance == Guidance::Pairs && tried == 1 && !self.program.have_met(pair) {
            return vec![plain];
        }
        let large = self.bulk(pair, tried, rng);
        let large = large.or_else(|| self.at_an_edge(pair, tried, rng));
        let prepared = large.unwrap_or_else(|| {
            let changed = 1 + rng.below(PREFIX);
            self.test(pair, tried, changed, rng)
        });
        vec![plain, prepared]
    }

    /// How many threads a test of a pair has that was selected so many times.
    pub(crate) fn thread_count(&self, tried: u32, rng: &mut Rng) -> usize {
        match self.threads {
            Some(threads) => threads,
            // Others do as the paper does.
            None if self.guidance != Guidance::Pairs || tried < 2 => 2,
            None if rng.below(THREE) == 0 => 3,
            None => 2,
        }
    }

    pub(crate) fn test(&self, pair: Pair, tried: u32, prefix: u64, rng: &mut Rng) -> TestCase {
        let thread_count = self.thread_count(tried, rng);
        // Of three threads with many calls each there are too many orders.
        let is_short = tried <= SHORT || (thread_count > 2 && self.threads.is_none());
        let count = if is_short { CALLS.0 } else { CALLS.1 };
        let methods = [pair.0, pair.1].map(|method| u16::try_from(method).unwrap_or(u16::MAX));
        // The thread that is started first is ahead of the others: either method may have it.
        let turned = rng.below(2) as usize;
        let first = [methods[turned], methods[1 - turned]];
        let threads = (0..thread_count).map(|thread| {
            let calls = (0..count).map(|index| match self.guidance {
                Guidance::Random => self.any(rng),
                _ => first[(thread + index) % 2],
            });
            calls.collect()
        });
        let wanted: Vec<Vec<u16>> = threads.collect();
        let possible = self.program.possible(wanted, first, rng);
        let threads = possible.into_iter().map(|calls| {
            let calls = calls.into_iter();
            calls.map(|operation| self.call(operation, rng)).collect()
        });
        let mut threads: Vec<Vec<Call>> = threads.collect();
        let before = self.prefix(first, prefix, rng);
        let (constructor, bytes) = self.object(rng);
        let meeting = self.meeting(methods, prefix > 0, rng);
        if let Some(meeting) = meeting {
            Self::introduce(&mut threads, meeting, turned, rng);
        }
        self.invite(&mut threads, first, tried, rng);
        TestCase {
            prefix: meeting.map_or(before, |meeting| meeting.prefix.clone()),
            constructor: meeting.map_or(constructor, |meeting| meeting.constructor),
            bytes: meeting.map_or(bytes, |meeting| meeting.bytes.clone()),
            after: self.after(&threads),
            threads,
        }
    }

    /// Makes the first calls of two threads those of a meeting, and some of the others too. Where a
    /// thread cannot make the call of the pair, it makes another one, which stays.
    fn introduce(threads: &mut [Vec<Call>], meeting: &Meeting, turned: usize, rng: &mut Rng) {
        for (thread, calls) in threads.iter_mut().enumerate() {
            for (index, call) in calls.iter_mut().enumerate() {
                let met = &meeting.calls[(thread + index + turned) % 2];
                let is_first = index == 0 && thread < meeting.calls.len();
                if met.operation == call.operation && (is_first || rng.below(2) == 0) {
                    call.clone_from(met);
                }
            }
        }
    }

    /// A state in which the first calls of a pair have to do with each other, in most tests of
    /// pairs of which one is known.
    fn meeting(&self, pair: [u16; 2], is_prepared: bool, rng: &mut Rng) -> Option<&Meeting> {
        // There is no pair.
        if self.guidance == Guidance::Random {
            return None;
        }
        let known = self.program.meetings.get(&(pair[0], pair[1]))?;
        let known: Vec<&Meeting> = known
            .iter()
            .filter(|meeting| meeting.prefix.is_empty() != is_prepared)
            .collect();
        if known.is_empty() || rng.below(STRANGERS) == 0 {
            return None;
        }
        known.get(rng.below(known.len() as u64) as usize).copied()
    }

    /// Calls that change the object.
    fn prefix(&self, pair: [u16; 2], count: u64, rng: &mut Rng) -> Vec<Call> {
        let changing = self.program.numbers(|method| {
            let returns = !method.calibration.blocks && !method.calibration.panics;
            method.changes() && returns && !method.access.is_loose()
        });
        let is_noticed = |one: &u16| pair.iter().any(|other| self.program.affects(*one, *other));
        let noticed = changing.iter().copied().filter(is_noticed);
        let noticed: Vec<u16> = match self.guidance {
            // There is no pair.
            Guidance::Random => Vec::new(),
            _ => noticed.collect(),
        };
        let calls = (0..count).filter_map(|_| {
            let from = match noticed.is_empty() || rng.below(UNNOTICED) == 0 {
                true => &changing,
                false => &noticed,
            };
            let operation = from.get(rng.below(from.len() as u64) as usize)?;
            Some(self.call(*operation, rng))
        });
        calls.collect()
    }

    /// The number of a constructor, and what its arguments are made of.
    pub(crate) fn object(&self, rng: &mut Rng) -> (u8, Vec<u8>) {
        (self.constructor(rng), self.bytes(rng))
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

    /// Calls that show what the object has become.
    pub(crate) fn after(&self, threads: &[Vec<Call>]) -> Vec<Call> {
        let program = self.program;
        let called = || threads.iter().flatten();
        let changes = |call: &&Call| {
            let method = program.methods.get(&call.operation);
            method.is_none_or(Method::changes)
        };
        let unknown = |call: &Call| {
            let method = program.methods.get(&call.operation);
            method.is_none_or(|method| method.shown_by.is_empty())
        };
        // All that is known of some is that they change something.
        let is_open = called().filter(changes).any(unknown);
        let is_changed =
            |number: u16| is_open || called().any(|call| program.affects(call.operation, number));
        let given = program.given_away(threads);
        let methods = program.methods.iter().filter(|(number, method)| {
            let is_there = !given.contains(&method.part) && !method.access.is_loose();
            let is_plain = is_there && method.is_quiet() && !method.name.contains('.');
            is_plain && is_changed(**number)
        });
        let (asked, mut plain): (Vec<_>, Vec<_>) =
            methods.partition(|(_, method)| method.has_arguments);
        // What only looks comes before what takes things out.
        plain.sort_by_key(|(_, method)| method.changes());
        // Of two objects both are looked at.
        let objects: &[&[u8]] = match program.is_paired {
            true => &[&[], &[1]],
            false => &[&[]],
        };
        let plain = plain.into_iter().take(AFTER.0).flat_map(|(number, _)| {
            objects.iter().map(|bytes| Call {
                operation: *number,
                bytes: bytes.to_vec(),
            })
        });
        // What is asked about is what was changed: keys come first among arguments.
        let asked = asked.into_iter().filter(|(_, method)| !method.changes());
        let asked = asked.flat_map(|(number, _)| {
            let calls = called().filter(|call| program.affects(call.operation, *number));
            let bytes: BTreeSet<&Vec<u8>> = calls.map(|call| &call.bytes).collect();
            bytes.into_iter().map(|bytes| Call {
                operation: *number,
                bytes: bytes.clone(),
            })
        });
        asked.take(AFTER.1).chain(plain).collect()
    }

    /// A call with arguments by chance.
    pub fn call(&self, operation: u16, rng: &mut Rng) -> Call {
        let method = self.program.methods.get(&operation);
        let takes = method.is_some_and(|one| one.has_arguments);
        let mut bytes = if takes { self.bytes(rng) } else { Vec::new() };
        let fed = self.program.fed(operation);
        for byte in bytes.iter_mut().filter(|_| fed > 0) {
            if rng.below(RETURNED) == 0 {
                *byte = FED + rng.below(fed.into()) as u8;
            }
        }
        if self.program.is_paired {
            let takes_other = method.is_some_and(|one| one.takes_other);
            let of = if takes_other { 2 } else { SECOND_OBJECT };
            bytes.insert(0, u8::from(rng.below(of) == 0));
        }
        Call { operation, bytes }
    }

    fn bytes(&self, rng: &mut Rng) -> Vec<u8> {
        let constants = self.program.constants as u64;
        let mut byte = || match rng.below(VALUES + u64::from(constants > 0)) {
            VALUES => FIRST.saturating_add(rng.below(constants) as u8),
            value => value as u8,
        };
        (0..BYTES).map(|_| byte()).collect()
    }
}
