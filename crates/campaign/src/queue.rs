//! Which test comes next: first those that had no turn yet, in their order, then those that
//! were postponed, turn by turn, and at last those that have explored something and want more.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::course::Course;

/// The tests that wait for a turn.
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    /// Bytes that paused workers may hold together.
    memory: u64,
}

struct Waiting {
    fresh: Range<usize>,
    postponed: Vec<Course>,
}

impl Queue {
    /// All of `tests` wait. Those that are in the middle of something may hold so much memory.
    pub fn new(tests: usize, memory: u64) -> Self {
        Self {
            memory,
            waiting: Mutex::new(Waiting {
                fresh: 0..tests,
                postponed: Vec::new(),
            }),
        }
    }

    /// The next test, and among how many of its kind, itself included, the time is to be
    /// shared: nobody gets less for those that come a second time.
    pub fn take(&self) -> Option<(Course, usize)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_behind = |course: &&Course| course.tally.explored == 0;
        let behind = waiting.postponed.iter().filter(is_behind).count();
        let count = match waiting.fresh.len() + behind {
            0 => waiting.postponed.len(),
            behind => behind,
        };
        if let Some(index) = waiting.fresh.next() {
            return Some((Course::new(index), count));
        }
        let postponed = &mut waiting.postponed;
        let next = (0..postponed.len()).min_by_key(|&at| postponed[at].rank())?;
        Some((postponed.remove(next), count))
    }

    /// Lets a test wait for its next turn, with its worker if there is room for it.
    pub fn postpone(&self, mut course: Course) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let paused = waiting.postponed.iter().chain([&course]);
        let held: u64 = paused
            .filter_map(|course| course.paused.as_ref())
            .map(|paused| paused.bytes)
            .sum();
        if held > self.memory {
            course.paused = None;
        }
        waiting.postponed.push(course);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postponed_tests_come_last_and_those_with_fewer_turns_first() {
        let queue = Queue::new(3, 0);
        for turns in [2, 1] {
            let (mut course, _) = queue.take().unwrap();
            course.turns = turns;
            queue.postpone(course);
        }
        let order: Vec<(usize, usize)> =
            std::iter::from_fn(|| queue.take().map(|(course, count)| (course.index, count)))
                .collect();
        assert_eq!(order, [(2, 3), (1, 2), (0, 1)]);
    }

    #[test]
    fn tests_that_want_more_come_after_all_others_and_take_no_time_from_them() {
        let queue = Queue::new(3, 0);
        for explored in [7, 5, 0] {
            let (mut course, _) = queue.take().unwrap();
            course.tally.explored = explored;
            queue.postpone(course);
        }
        let order: Vec<(usize, usize)> =
            std::iter::from_fn(|| queue.take().map(|(course, count)| (course.index, count)))
                .collect();
        assert_eq!(order, [(2, 1), (0, 2), (1, 1)]);
    }
}
