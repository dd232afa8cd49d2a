//! Takes a list of targets through the whole campaign.

use std::collections::VecDeque;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::allowance::Allowance;
use crate::earlier;
use crate::finish::finish;
use crate::queue::Queue;
use crate::session::Session;
use crate::store::LastRun;
use crate::test_run::run_turn;
use crate::{Error, Event, Options, Progress, Summary, Target, TestResult, Verdict};
use raddle_abi::plan::Memory;
use raddle_trace::finding::Finding;
use raddle_trace::results::Totals;

/// Time between two progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// Longest wait for an event.
const GLANCE: Duration = Duration::from_millis(20);

/// Explores all targets within the options' budgets. `stop` may be set at any time: what was
/// found so far is kept and returned.
///
/// # Errors
///
/// If results cannot be stored or the strategy is not known. Troubles of single tests are
/// their verdicts.
pub fn run(
    targets: &[Target],
    options: &Options,
    stop: &AtomicBool,
    events: &mut dyn FnMut(Event),
) -> Result<Summary, Error> {
    if let Err(error) = raddle_schedule::parse(&options.strategy) {
        return Err(Error::Strategy(format!(
            "strategy `{}`: {error}",
            options.strategy
        )));
    }
    let (sender, receiver) = mpsc::channel();
    let session = Session::new(targets.len(), options, stop, sender)?;
    let jobs = options.jobs.clamp(1, targets.len().max(1));
    // Those that wait may have as much memory as those that run.
    let memory = options.memory.saturating_mul(jobs as u64);
    let queue = Queue::new(targets.len(), memory);
    let all_done = Barrier::new(jobs);
    let mut results: Vec<TestResult> = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|_| scope.spawn(|| work(&session, targets, &queue, &all_done)))
            .collect();
        let mut rate = Rate::default();
        let mut shown = Instant::now();
        loop {
            let finished = workers.iter().all(thread::ScopedJoinHandle::is_finished);
            // Workers may have sent their last events just before they finished.
            let wait = if finished { Duration::ZERO } else { GLANCE };
            match receiver.recv_timeout(wait) {
                Ok(event) => {
                    if let Event::TestDone(result) = &event {
                        results.push((**result).clone());
                    }
                    events(event);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if finished => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if shown.elapsed() >= PROGRESS_INTERVAL {
                shown = Instant::now();
                events(Event::Progress(progress(
                    &session,
                    targets.len(),
                    &mut rate,
                )));
            }
        }
    });
    if let Some(error) = session.take_error() {
        return Err(error);
    }
    let interrupted = stop.load(Ordering::Relaxed);
    results.sort_by_key(|result| result.index);
    let summary = summary(&session, results, interrupted);
    session.store.save_last_run(&LastRun::new(&summary))?;
    Ok(summary)
}

/// Keeps a thread until all others are done too, however it ends: a worker ends with the thread
/// that started it, and another thread may be at work with it then.
struct Presence<'a>(&'a Barrier);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// Gives tests their turns until there are none left.
fn work(session: &Session<'_>, targets: &[Target], queue: &Queue, all_done: &Barrier) {
    let _presence = Presence(all_done);
    let mut explainer = None;
    while let Some((mut course, waiting)) = queue.take() {
        let target = &targets[course.index];
        let verdict = if session.is_over() {
            let known = match course.turns {
                0 => earlier::take_up(session, target, &mut course),
                _ => None,
            };
            known.unwrap_or_else(|| course.out_of_time(session))
        } else {
            if course.turns == 0 {
                session.send(Event::TestStarted(course.index));
            }
            let allowance = Allowance::new(session, waiting, &mut course);
            let verdict = run_turn(session, target, &mut course, &allowance, &mut explainer);
            let is_undecided = matches!(verdict, Verdict::NotRun { .. } | Verdict::Explored);
            let is_postponed = allowance.is_postponed() || course.wants_more(session);
            if is_postponed && is_undecided {
                queue.postpone(course);
                continue;
            }
            verdict
        };
        if session.is_failed() {
            return;
        }
        let result = finish(session, target, course, verdict);
        session.tests_done.fetch_add(1, Ordering::Relaxed);
        session.estimate().advance(result.index, 1.0, None);
        session.send(Event::TestDone(Box::new(result)));
    }
}

fn summary(session: &Session<'_>, tests: Vec<TestResult>, interrupted: bool) -> Summary {
    let found = session.found();
    let (timing, findings) = found
        .reported
        .values()
        .cloned()
        .partition(|finding: &Finding| finding.timing.is_some());
    let used = |rule: usize| found.ignored.values().any(|&by| by == rule);
    Summary {
        totals: Totals {
            seconds: session.seconds(),
            interrupted,
            is_weak: session.options.memory_model == Memory::Weak,
            unconfirmed: found.unconfirmed(),
            internal_errors: crate::internal_errors().len(),
            ..Totals::of(&tests)
        },
        findings,
        timing,
        tests,
        unused_ignores: (0..session.options.ignore.len())
            .filter(|&rule| !used(rule))
            .collect(),
    }
}

fn progress(session: &Session<'_>, tests_total: usize, rate: &mut Rate) -> Progress {
    let executions = session.executions.load(Ordering::Relaxed);
    Progress {
        executions,
        per_second: rate.update(executions),
        tests_done: session.tests_done.load(Ordering::Relaxed),
        tests_total,
        findings: session.found().failing(),
        time_left: session.estimated_time_left(),
        search: session.estimate().search(),
    }
}

/// Executions per second over the last two seconds.
#[derive(Default)]
struct Rate {
    samples: VecDeque<(Instant, u64)>,
}

impl Rate {
    fn update(&mut self, executions: u64) -> f64 {
        let now = Instant::now();
        self.samples.push_back((now, executions));
        while self.samples.len() > 8 {
            self.samples.pop_front();
        }
        let Some(&(then, before)) = self.samples.front() else {
            return 0.0;
        };
        let seconds = now.duration_since(then).as_secs_f64();
        if seconds > 0.0 {
            executions.saturating_sub(before) as f64 / seconds
        } else {
            0.0
        }
    }
}
