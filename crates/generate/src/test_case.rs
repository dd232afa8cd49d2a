//! A test as data: which objects, what is called before, at the same time and after.

use std::ops::Range;

/// Equal calls of a thread that follow on each other, in tests that are not large.
const REPEATED: usize = 16;

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    /// Number of the operation.
    pub operation: u16,
    /// What its arguments are made of.
    pub bytes: Vec<u8>,
}

/// A test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TestCase {
    /// Number of the constructor.
    pub constructor: u8,
    /// What its arguments are made of.
    pub bytes: Vec<u8>,
    /// Called before there are threads.
    pub prefix: Vec<Call>,
    /// Called by each thread.
    pub threads: Vec<Vec<Call>>,
    /// Called when all threads have ended.
    pub after: Vec<Call>,
}

/// The call with this number: prefix, threads and what comes after are numbered in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before there are threads.
    Prefix(usize),
    /// In a thread: which, and its which call.
    Thread(usize, usize),
    /// When all threads have ended.
    After(usize),
}

/// How orders are run. What calls return in them should not depend on it: where it does, the results are not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner(u8);

impl Manner {
    /// One thread makes all calls, without a pause.
    pub const PLAIN: Self = Self(0);
    /// Time passes after each call, in which others do what is left to do.
    pub const PAUSED: Self = Self(1);
    /// Each thread of the test makes its own calls, and ends when all calls were made.
    pub const OWN_THREADS: Self = Self(2);
    /// Each thread of the test makes its own calls, and ends with the last of them: others may get its id.
    pub const ENDED_EARLY: Self = Self(2 | 4);
    /// Objects of each order lie elsewhere in memory.
    pub const MOVED: Self = Self(8);
    /// Each look at the clock takes longer, as it does where others look at it too.
    pub const SLOW_CLOCK: Self = Self(16);
    /// Each thread of the test makes its own calls, and others go on while one waits.
    pub const WAITING: Self = Self(2 | 32);
    /// All in which time passes otherwise.
    pub const IN_TIME: [Self; 2] = [Self::PAUSED, Self::SLOW_CLOCK];
    /// All in which other threads make the calls.
    pub const BY_THREADS: [Self; 2] = [Self::OWN_THREADS, Self::ENDED_EARLY];
    /// All but the first.
    pub const OTHERS: [Self; 4] = [
        Self::OWN_THREADS,
        Self::ENDED_EARLY,
        Self::PAUSED,
        Self::MOVED,
    ];
}

impl TestCase {
    /// Where the call with this number stands.
    pub fn position(&self, id: usize) -> Option<Position> {
        if id < self.prefix.len() {
            return Some(Position::Prefix(id));
        }
        let mut left = id - self.prefix.len();
        for (thread, calls) in self.threads.iter().enumerate() {
            match left.checked_sub(calls.len()) {
                None => return Some(Position::Thread(thread, left)),
                Some(rest) => left = rest,
            }
        }
        (left < self.after.len()).then_some(Position::After(left))
    }

    /// The call with this number.
    pub fn call(&self, id: usize) -> Option<&Call> {
        match self.position(id)? {
            Position::Prefix(index) => self.prefix.get(index),
            Position::Thread(thread, index) => self.threads[thread].get(index),
            Position::After(index) => self.after.get(index),
        }
    }

    /// The same, to be changed.
    pub fn call_mut(&mut self, id: usize) -> Option<&mut Call> {
        match self.position(id)? {
            Position::Prefix(index) => self.prefix.get_mut(index),
            Position::Thread(thread, index) => self.threads[thread].get_mut(index),
            Position::After(index) => self.after.get_mut(index),
        }
    }

    /// Whether a thread makes a call again and again.
    pub fn is_large(&self) -> bool {
        let mut runs = self.threads.iter().flat_map(|calls| runs(calls));
        runs.any(|run| run.len() > REPEATED)
    }

    /// Operations that threads call.
    pub fn operations(&self) -> impl Iterator<Item = u16> + '_ {
        self.threads.iter().flatten().map(|call| call.operation)
    }

    /// How many calls threads make.
    pub fn concurrent_calls(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// The bytes that the program reads. With orders, the calls of threads are made one after the
    /// other instead, once per order: an order says whose turn it is.
    pub fn encode(&self, orders: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![self.constructor];
        block(&mut bytes, &self.bytes);
        calls(&mut bytes, &self.prefix);
        bytes.push(small(self.threads.len()));
        for thread in &self.threads {
            calls(&mut bytes, thread);
        }
        calls(&mut bytes, &self.after);
        let count = u16::try_from(orders.len()).unwrap_or(u16::MAX);
        bytes.extend(count.to_le_bytes());
        for order in orders {
            block(&mut bytes, order);
        }
        bytes
    }

    /// The same, with orders that are run in some manner.
    pub fn encode_in(&self, orders: &[Vec<u8>], manner: Manner) -> Vec<u8> {
        let mut bytes = self.encode(orders);
        bytes.extend(Some(manner.0).filter(|manner| *manner != 0));
        bytes
    }
}

/// Calls that are made again and again: each range is of equal ones that follow on each other.
pub fn runs(calls: &[Call]) -> Vec<Range<usize>> {
    let mut start = 0;
    let of_one = calls.chunk_by(|one, next| one == next).map(|run| {
        let range = start..start + run.len();
        start = range.end;
        range
    });
    of_one.collect()
}

fn small(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn block(bytes: &mut Vec<u8>, block: &[u8]) {
    let block = &block[..block.len().min(usize::from(u8::MAX))];
    bytes.push(small(block.len()));
    bytes.extend(block);
}

fn calls(bytes: &mut Vec<u8>, calls: &[Call]) {
    bytes.push(small(calls.len()));
    for call in calls.iter().take(usize::from(u8::MAX)) {
        bytes.extend(call.operation.to_le_bytes());
        block(bytes, &call.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Position, TestCase};

    fn call(operation: u16) -> Call {
        Call {
            operation,
            bytes: vec![7],
        }
    }

    #[test]
    fn calls_are_numbered_in_a_row() {
        let test = TestCase {
            prefix: vec![call(1)],
            threads: vec![vec![call(2), call(3)], vec![], vec![call(4)]],
            after: vec![call(5)],
            ..TestCase::default()
        };
        let positions: Vec<_> = (0..6).map(|id| test.position(id)).collect();
        let expected = [
            Some(Position::Prefix(0)),
            Some(Position::Thread(0, 0)),
            Some(Position::Thread(0, 1)),
            Some(Position::Thread(2, 0)),
            Some(Position::After(0)),
            None,
        ];
        assert_eq!(positions, expected);
        assert_eq!(test.call(3).map(|call| call.operation), Some(4));
        assert!(!test.is_large());
        let large = TestCase {
            threads: vec![vec![call(2); 20]],
            ..test
        };
        assert!(large.is_large());
    }

    #[test]
    fn the_bytes_are_those_that_the_program_reads() {
        let test = TestCase {
            constructor: 2,
            bytes: vec![9],
            prefix: vec![call(258)],
            threads: vec![vec![call(3)]],
            ..TestCase::default()
        };
        let expected = [2, 1, 9, 1, 2, 1, 1, 7, 1, 1, 3, 0, 1, 7, 0, 1, 0, 2, 0, 0];
        assert_eq!(test.encode(&[vec![0, 0]]), expected);
    }
}
