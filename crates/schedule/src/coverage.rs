//! Tells whether an execution was worth its time: whether it showed a reads-from pair, or a
//! class of executions, that no execution before it has shown.
//!
//! A class is a hash over what each thread read and wrote, and whose writes it saw. Both are
//! kept in tables of fixed size, so that two may rarely be taken for one.

use crate::experience::{Experience, Learnt};
use crate::known::Known;
use crate::last_writes::LastWrites;
use crate::log::Log;
use crate::rng::mix;
use crate::strategy::Pending;
use alloc::vec::Vec;
use raddle_abi::site::{Operation, SiteId};

/// Reads-from pairs that can be told apart; a power of two.
const PAIRS: usize = 1 << 16;
/// Set in the word of the log that has the class; the others have pairs.
const CLASS: u64 = 1 << 63;

/// See the module's description.
pub struct Coverage {
    /// One bit for each pair that was seen.
    pairs: Vec<u64>,
    classes: Known,
    log: Log,
    /// The execution under way: what each thread has done.
    threads: Vec<u64>,
    written: LastWrites<(SiteId, u64)>,
}

/// What was new about an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// A read has read from a write for the first time.
    pub pair: bool,
    /// Nothing before was equivalent to it.
    pub class: bool,
}

impl Coverage {
    /// Nothing was seen.
    pub const fn new() -> Self {
        Self {
            pairs: Vec::new(),
            classes: Known::new(),
            log: Log::new(),
            threads: Vec::new(),
            written: LastWrites::new(),
        }
    }

    /// An execution begins.
    pub fn begin(&mut self) {
        self.pairs.resize(PAIRS / 64, 0);
        // What an execution showed that was broken off is shown again.
        let mut index = 0;
        while let Some(word) = self.log.get(index) {
            index += 1;
            if word & CLASS == 0 {
                *self.bits(word) &= !(1 << (word % 64));
            }
        }
        self.log.clear();
        self.threads.clear();
        self.written.clear();
    }

    /// `thread` does what it stands before.
    pub fn step(&mut self, thread: usize, pending: &Pending) {
        if pending.address == 0 {
            return;
        }
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, 0);
        }
        let (site, event) = self.written.get(pending.address);
        let past = self.threads[thread];
        let event = mix(past ^ event.rotate_left(17) ^ u64::from(pending.site));
        self.threads[thread] = event;
        let writes_only = matches!(
            pending.operation,
            Operation::AtomicStore | Operation::VolatileWrite | Operation::Write
        );
        if !writes_only {
            let pair = mix(u64::from(site) << 32 | u64::from(pending.site)) % PAIRS as u64;
            let (bits, bit) = (self.bits(pair), 1 << (pair % 64));
            if *bits & bit == 0 {
                *bits |= bit;
                self.log.push(pair);
            }
        }
        if pending.write {
            self.written.set(pending.address, (pending.site, event));
        }
    }

    /// The execution has ended, wherever it ran.
    pub fn end(&mut self) {
        let threads = self.threads.iter().enumerate();
        let class = threads.fold(0, |sum: u64, (thread, &past)| {
            sum.wrapping_add(mix(past ^ mix(thread as u64)))
        });
        self.log.push(class | CLASS);
    }

    /// Says what was new about the execution that ended.
    pub fn learn(&mut self) -> News {
        let (mut news, mut index) = (News::default(), 0);
        while let Some(word) = self.log.get(index) {
            index += 1;
            if word & CLASS != 0 {
                news.class = self.classes.insert(Known::entry(word, 0, 0));
            } else {
                news.pair = true;
                *self.bits(word) |= 1 << (word % 64);
            }
        }
        self.log.clear();
        news
    }

    /// The word of the table in which a pair has its bit.
    fn bits(&mut self, pair: u64) -> &mut u64 {
        &mut self.pairs[pair as usize / 64 % (PAIRS / 64)]
    }

    /// Where an execution writes down what it sees.
    pub fn log(&mut self) -> &mut Log {
        &mut self.log
    }
}

impl Learnt for Coverage {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.pairs.pass(experience);
        self.classes.pass(experience);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(coverage: &mut Coverage, steps: &[(usize, bool, usize)]) -> News {
        coverage.begin();
        for &(thread, write, address) in steps {
            let pending = Pending {
                operation: match write {
                    true => Operation::AtomicStore,
                    false => Operation::AtomicLoad,
                },
                write,
                address,
                site: (address * 2 + thread * 100 + usize::from(write)) as u32,
                ..Pending::UNKNOWN
            };
            coverage.step(thread, &pending);
        }
        coverage.end();
        coverage.learn()
    }

    #[test]
    fn only_what_reads_something_else_is_new() {
        let mut coverage = Coverage::new();
        let (write, read, other) = ((0, true, 64), (1, false, 64), (2, true, 128));
        let both = News {
            pair: true,
            class: true,
        };
        assert_eq!(news(&mut coverage, &[write, read, other]), both);
        let same = news(&mut coverage, &[other, write, read]);
        assert_eq!(same, News::default());
        assert_eq!(news(&mut coverage, &[read, write, other]), both);
        // Known pairs, in another combination.
        let twice = news(&mut coverage, &[read, write, read, other]);
        assert_eq!((twice.pair, twice.class), (false, true));
    }
}
