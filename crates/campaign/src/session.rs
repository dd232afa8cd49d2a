//! What all workers of one campaign share: budgets, counters, findings, state and events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use raddle_trace::finding::Finding;
use raddle_trace::runner::RunnerError;

use crate::course::Course;
use crate::estimate::Estimate;
use crate::explain::stable_hash;
use crate::machine_trouble;
use crate::store::{State, Store, TestState};
use crate::{Error, Event, Note, Options, Target};

/// Least time between two writes of the state.
const STATE_INTERVAL: Duration = Duration::from_secs(1);

/// Shared by all threads of a campaign.
pub(crate) struct Session<'a> {
    /// The user's choices.
    pub options: &'a Options,
    /// Where results go.
    pub store: Store,
    /// Executions so far, over all tests.
    pub executions: AtomicU64,
    /// Tests done.
    pub tests_done: AtomicUsize,
    start: Instant,
    stop: &'a AtomicBool,
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
    found: Mutex<Found>,
    /// An attempt to confirm something has ended.
    attempt_ended: Condvar,
    estimate: Mutex<Estimate>,
    state: Mutex<(State, Instant)>,
    events: Mutex<Sender<Event>>,
}

/// Findings of the run by id.
#[derive(Default)]
pub(crate) struct Found {
    /// Those to be reported.
    pub reported: BTreeMap<String, Finding>,
    /// Those that a rule ignores.
    pub ignored: BTreeMap<String, usize>,
    /// Sightings that are part of a finding with another name, which stands for all of one cause.
    pub members: BTreeMap<String, String>,
    attempts: BTreeMap<String, Attempts>,
    unconfirmed: BTreeSet<String>,
}

/// Attempts to confirm what has one id.
#[derive(Default)]
struct Attempts {
    /// One is under way.
    is_under_way: bool,
    /// So many showed nothing.
    failed: u32,
}

/// How often a test that waits for another one's confirmation looks whether the campaign is over.
const ATTEMPT_POLL: Duration = Duration::from_millis(100);

/// Sightings of one id that are taken to a new process before it counts as unconfirmed for good.
const ATTEMPTS: u32 = 3;

impl Found {
    /// Whether a sighting with this id should be confirmed now; [`Found::confirmed`] or
    /// [`Found::failed`] has to be called then. One that is reported may show `is_more`.
    pub fn begin(&mut self, id: &str, is_more: bool) -> bool {
        let is_settled = match is_more {
            true => self.ignored.contains_key(id),
            false => self.is_settled(id),
        };
        if is_settled {
            return false;
        }
        let attempts = self.attempts.entry(id.to_owned()).or_default();
        if attempts.is_under_way || attempts.failed >= ATTEMPTS {
            return false;
        }
        attempts.is_under_way = true;
        true
    }

    /// The finding was confirmed, and is reported, or ignored by a rule.
    pub fn confirmed(&mut self, finding: &Finding, rule: Option<usize>) {
        self.attempts.remove(&finding.id);
        self.unconfirmed.remove(&finding.id);
        match rule {
            Some(rule) => drop(self.ignored.insert(finding.id.clone(), rule)),
            None => drop(self.reported.insert(finding.id.clone(), finding.clone())),
        }
    }

    /// A sighting was confirmed, and is part of the finding of this name.
    pub fn belongs(&mut self, id: &str, name: &str) {
        self.attempts.remove(id);
        self.unconfirmed.remove(id);
        if id != name {
            self.members.insert(id.to_owned(), name.to_owned());
        }
    }

    /// What was seen did not show again.
    pub fn failed(&mut self, id: &str) {
        let attempts = self.attempts.entry(id.to_owned()).or_default();
        attempts.is_under_way = false;
        attempts.failed += 1;
        self.unconfirmed.insert(id.to_owned());
    }

    /// Something was seen in an earlier run and not confirmed.
    pub fn recall_unconfirmed(&mut self, id: &str) {
        if !self.is_settled(id) {
            self.unconfirmed.insert(id.to_owned());
        }
    }

    /// Whether another test is about to confirm this id.
    pub fn is_under_way(&self, id: &str) -> bool {
        let attempts = self.attempts.get(id);
        attempts.is_some_and(|attempts| attempts.is_under_way)
    }

    /// Whether this id was confirmed.
    pub fn is_settled(&self, id: &str) -> bool {
        let id = self.members.get(id).map_or(id, String::as_str);
        self.reported.contains_key(id) || self.ignored.contains_key(id)
    }

    /// How much was seen and not confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.unconfirmed.len()
    }
}

impl Found {
    /// How many findings make the run fail.
    pub fn failing(&self) -> usize {
        let reported = self.reported.values();
        reported.filter(|finding| finding.timing.is_none()).count()
    }
}

impl<'a> Session<'a> {
    /// A session of so many tests that begins now.
    pub fn new(
        tests: usize,
        options: &'a Options,
        stop: &'a AtomicBool,
        events: Sender<Event>,
    ) -> Result<Self, Error> {
        let store = Store::open(&options.results)?;
        let hash = options_hash(options);
        let old = if options.resume { store.state()? } else { None };
        let state = old
            .filter(|state| state.options == hash)
            .unwrap_or_else(|| State::new(hash));
        // Fails early if the directory is not writable or the disk is full.
        store.save_state(&state)?;
        Ok(Self {
            options,
            store,
            executions: AtomicU64::new(0),
            tests_done: AtomicUsize::new(0),
            start: Instant::now(),
            stop,
            failed: AtomicBool::new(false),
            error: Mutex::new(None),
            found: Mutex::default(),
            attempt_ended: Condvar::new(),
            estimate: Mutex::new(Estimate::new(tests)),
            state: Mutex::new((state, Instant::now())),
            events: Mutex::new(events),
        })
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Time left for the whole campaign: what the user allows, and no more than what the work
    /// will take.
    pub fn estimated_time_left(&self) -> Duration {
        let estimated = self.estimate().left(self.start.elapsed());
        estimated.map_or(self.time_left(), |estimated| {
            estimated.min(self.time_left())
        })
    }

    /// Time that the user allows for the rest of the campaign.
    pub fn time_left(&self) -> Duration {
        self.options.time.saturating_sub(self.start.elapsed())
    }

    /// Whether the user, or an error, asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_failed()
    }

    /// Whether nothing new should begin.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.time_left().is_zero()
    }

    /// Tells the caller something.
    pub fn send(&self, event: Event) {
        // Nobody listens any more only if the caller's loop is gone; then nothing matters.
        let _ = locked(&self.events).send(event);
    }

    /// Tells the caller something about a test.
    pub fn note(&self, target: &Target, text: String) {
        self.note_about(target, text, false);
    }

    /// The same for what people see only when they ask for more.
    pub fn detail(&self, target: &Target, text: String) {
        self.note_about(target, text, true);
    }

    fn note_about(&self, target: &Target, text: String, is_detail: bool) {
        self.send(Event::Note(Note {
            test: target.name.clone(),
            target: target.target.clone(),
            text,
            is_detail,
        }));
    }

    /// Whether an error ended the campaign.
    pub fn is_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Ends the campaign if the machine is to blame that a plan could not be run.
    pub fn note_trouble(&self, error: &RunnerError) {
        if let Some(error) = machine_trouble::of(error) {
            self.fail(error);
        }
    }

    /// Ends the campaign with an error; the first one counts.
    pub fn fail(&self, error: Error) {
        locked(&self.error).get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }

    /// The error that ended the campaign.
    pub fn take_error(&self) -> Option<Error> {
        locked(&self.error).take()
    }

    /// The findings so far.
    pub fn found(&self) -> MutexGuard<'_, Found> {
        locked(&self.found)
    }

    /// The findings once no other test is about to confirm this id: a sighting is lost neither because another
    /// test has the same one, nor because it does not show again there.
    pub fn found_after_attempt(&self, id: &str) -> MutexGuard<'_, Found> {
        let mut found = self.found();
        while found.is_under_way(id) && !self.is_over() {
            let waited = self.attempt_ended.wait_timeout(found, ATTEMPT_POLL);
            found = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        found
    }

    /// Ends the attempt to confirm this id: other tests with the same sighting go on.
    pub fn end_attempt(&self, id: &str) {
        if let Some(attempts) = self.found().attempts.get_mut(id) {
            attempts.is_under_way = false;
        }
        self.attempt_ended.notify_all();
    }

    /// The rule that ignores a finding.
    pub fn rule(&self, finding: &Finding) -> Option<usize> {
        let mut rules = self.options.ignore.iter();
        rules.position(|rule| rule.matches(finding))
    }

    /// How much of the work is done.
    pub fn estimate(&self) -> MutexGuard<'_, Estimate> {
        locked(&self.estimate)
    }

    /// How far a test got in the run that this one continues.
    pub fn earlier(&self, target: &Target, build: u64) -> Option<TestState> {
        if !self.options.resume {
            return None;
        }
        let state = locked(&self.state);
        state
            .0
            .tests
            .get(&state_key(target))
            .filter(|test| test.build == build)
            .cloned()
    }

    /// Stores what a test's strategy has learnt until the test has another turn, in this run or
    /// one that continues it: tests are many, and so it is not kept in memory.
    pub fn put_away(&self, target: &Target, course: &mut Course) {
        // What serial runs have taught it is little, and kept until there is more.
        let experience = match course.tally.explored {
            0 => Vec::new(),
            _ => std::mem::take(&mut course.experience),
        };
        let key = stable_hash(&state_key(target), &[]);
        let stored = match course.may_go_on(self.options) && !experience.is_empty() {
            true => self
                .store
                .save_experience(key, course.tally.explored, &experience),
            false => self.store.remove_experience(key),
        };
        if let Err(error) = stored {
            self.fail(error);
        }
    }

    /// What a test's strategy has learnt in the executions that were explored, if that is known.
    pub fn take_out(&self, target: &Target, course: &Course) -> Vec<u8> {
        let key = stable_hash(&state_key(target), &[]);
        match course.tally.explored {
            // What lies there is another run's.
            0 => Vec::new(),
            explored => self.store.experience(key, explored).unwrap_or_default(),
        }
    }

    /// Remembers how far a test got; `done` writes it out at once.
    pub fn remember(&self, target: &Target, test: TestState, done: bool) {
        let mut state = locked(&self.state);
        state.0.tests.insert(state_key(target), test);
        if done || state.1.elapsed() > STATE_INTERVAL {
            state.1 = Instant::now();
            if let Err(error) = self.store.save_state(&state.0) {
                drop(state);
                self.fail(error);
            }
        }
    }
}

fn state_key(target: &Target) -> String {
    format!("{} {} {}", target.package, target.target, target.name)
}

/// Of the options that decide what an execution does.
fn options_hash(options: &Options) -> u64 {
    let parts = [
        options.seed.to_string(),
        format!("{:?}", options.granularity),
        format!("{:?}", options.memory_model),
        format!("{:?}", options.races),
        options.heap.to_string(),
        options.max_points.to_string(),
        format!("{:?}", options.prediction),
        options.predicts.to_string(),
        format!("{:?}", options.overrides),
    ];
    stable_hash(&options.strategy, &parts)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_sighting_waits_for_the_attempt_of_another_test() {
        let results = tempfile::tempdir().unwrap();
        let options = Options {
            results: results.path().to_owned(),
            ..Options::default()
        };
        let stop = AtomicBool::new(false);
        let (sender, _receiver) = mpsc::channel();
        let session = Session::new(2, &options, &stop, sender).unwrap();
        assert!(session.found().begin("panic-1", false));
        let has_ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                session.found().failed("panic-1");
                has_ended.store(true, Ordering::SeqCst);
                session.end_attempt("panic-1");
            });
            // What did not show again there may be shown by this one.
            let mut found = session.found_after_attempt("panic-1");
            assert!(has_ended.load(Ordering::SeqCst));
            assert!(found.begin("panic-1", false));
        });
        stop.store(true, Ordering::SeqCst);
        drop(session.found_after_attempt("panic-1"));
    }
}
