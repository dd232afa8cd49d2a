//! How long a test may run: its fair share of the time left.
//!
//! Nothing can be said about a test before its serial runs and its first explored execution
//! are done, and nobody knows before how long these take. So in its first turn a test gets a
//! small part of its share for them. If that is not enough, it is postponed, and its next turn
//! is twice as long: long tests do not take the time of short ones. It goes on where it was
//! (see [`crate::paused`]); where it has to begin anew, what was done in vain costs no more
//! than what is done in the end. The last tests are not postponed any more. As
//! long as others wait to explore anything at all, a test explores for a part of its share
//! only: many executions of some tests are worth less than a few of each. What is left then
//! goes to those that want more, in equal shares again.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::course::Course;
use crate::runner::Patience;
use crate::session::Session;

/// Part of its share that a test gets in its first turn until it has explored anything.
const FIRST_PART: u32 = 8;
/// Part of its share in which it explores, as long as others have explored nothing.
const EXPLORING_PART: u32 = 4;
/// The least that it gets for that; enough to start a process.
const LEAST: Duration = Duration::from_millis(200);

/// How long one turn of one test may be.
pub(crate) struct Allowance<'a> {
    session: &'a Session<'a>,
    share_ends: Instant,
    /// Until when the test must have explored anything, else it is postponed.
    patience_ends: Option<Instant>,
    has_explored: Cell<bool>,
    /// Whether it has done so in this turn.
    has_run: Cell<bool>,
    is_postponed: Cell<bool>,
}

impl<'a> Allowance<'a> {
    /// For a turn that begins now, with `waiting` tests of its kind (those that have explored
    /// something, or those that have not), this one included, still to come. Raises the time
    /// that the test had until it was postponed to what it has this time.
    pub fn new(session: &'a Session<'a>, waiting: usize, course: &mut Course) -> Self {
        let now = Instant::now();
        let jobs = session.options.jobs.max(1);
        let rounds = u32::try_from(waiting.div_ceil(jobs).max(1)).unwrap_or(u32::MAX);
        let share = (session.time_left() / rounds).max(LEAST);
        let longest = session.options.turn.unwrap_or(Duration::MAX);
        let patience = (course.patience * 2).max(share / FIRST_PART).max(LEAST);
        course.patience = patience;
        let has_others = waiting > jobs;
        let share = match has_others && course.tally.explored == 0 {
            true => (share / EXPLORING_PART).max(patience),
            false => share,
        };
        Self {
            session,
            share_ends: now + share.min(longest),
            patience_ends: has_others.then(|| now + patience),
            has_explored: Cell::new(false),
            has_run: Cell::new(false),
            is_postponed: Cell::new(false),
        }
    }

    /// Says that the test has explored something.
    pub fn explored(&self) {
        self.has_explored.set(true);
    }

    /// Says that a plan of the turn has ended: no turn passes without one.
    pub fn ran(&self) {
        self.has_run.set(true);
    }

    /// Whether the test has explored something.
    pub fn has_explored(&self) -> bool {
        self.has_explored.get()
    }

    /// Whether the turn ended for the sake of other tests, before anything was explored.
    pub fn is_postponed(&self) -> bool {
        self.is_postponed.get()
    }

    /// Whether no other plan may begin.
    pub fn is_over(&self) -> bool {
        let has_done_something = self.has_explored.get() && self.has_run.get();
        let share_is_over = has_done_something && Instant::now() > self.share_ends;
        share_is_over || self.patience() != Patience::Long
    }

    /// How long the plan under way is still waited for.
    pub fn patience(&self) -> Patience {
        if self.session.is_over() {
            return Patience::Short;
        }
        let now = Instant::now();
        if self.has_explored.get() {
            // A turn ends between two plans. What a plan finds changes the next one, so where
            // it ends must not depend on time.
            return Patience::Long;
        }
        match self.patience_ends {
            Some(end) if now > end => {
                self.is_postponed.set(true);
                Patience::Later
            }
            _ => Patience::Long,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;

    use super::*;
    use crate::Options;

    fn check(time: Duration, test: impl FnOnce(&Session<'_>)) {
        let results = tempfile::tempdir().unwrap();
        let options = Options {
            time,
            results: results.path().to_owned(),
            ..Options::default()
        };
        let stop = AtomicBool::new(false);
        let (sender, _receiver) = mpsc::channel();
        test(&Session::new(1, &options, &stop, sender).unwrap());
    }

    #[test]
    fn a_long_test_is_postponed_and_gets_more_time_each_turn() {
        check(Duration::from_secs(1000), |session| {
            let mut course = Course::new(0);
            let first = Allowance::new(session, 50_000, &mut course);
            assert_eq!(course.patience, LEAST);
            let second = Allowance::new(session, 50_000, &mut course);
            assert_eq!(course.patience, LEAST * 2);
            assert_eq!(first.patience(), Patience::Long);
            std::thread::sleep(LEAST + Duration::from_millis(10));
            assert_eq!(first.patience(), Patience::Later);
            assert!(first.is_postponed() && first.is_over());
            second.explored();
            assert!(!second.is_over());
            std::thread::sleep(LEAST);
            assert!(!second.is_over(), "it has done nothing yet");
            second.ran();
            assert!(second.is_over() && !second.is_postponed());
            assert_eq!(second.patience(), Patience::Long, "its last plan goes on");
        });
    }

    #[test]
    fn a_test_without_others_is_never_postponed() {
        check(Duration::from_secs(1000), |session| {
            let allowance = Allowance::new(session, 1, &mut Course::new(0));
            assert!(allowance.patience_ends.is_none());
        });
    }

    #[test]
    fn a_test_explores_for_a_part_of_its_share_until_all_have_explored() {
        check(Duration::from_secs(1000), |session| {
            let seconds = |allowance: &Allowance<'_>| {
                allowance
                    .share_ends
                    .duration_since(Instant::now())
                    .as_secs()
            };
            let mut course = Course::new(0);
            assert!(seconds(&Allowance::new(session, 10, &mut course)) < 26);
            course.tally.explored = 1;
            assert!(seconds(&Allowance::new(session, 10, &mut course)) > 90);
        });
    }

    #[test]
    fn the_end_of_the_run_ends_everything() {
        check(Duration::ZERO, |session| {
            let allowance = Allowance::new(session, 1, &mut Course::new(0));
            assert_eq!(allowance.patience(), Patience::Short);
            assert!(allowance.is_over() && !allowance.is_postponed());
        });
    }
}
