//! Finds out whether something outside of the schedule decides what a test does, and names the
//! first event that differs between two executions with the same schedule.
//!
//! The serial runs (see [`crate::serial`]) show what differs whatever the schedule. Here, a few
//! interleaved executions are run twice, by the user's strategy or, if that one learns and
//! would do something else the second time, by others that go by the seed. A strategy that
//! searches sees for itself when a program does not do the same again.

use raddle_abi::control::conditions;
use raddle_abi::record::RawEvent;
use raddle_abi::site::Operation;
use raddle_trace::runner::{PlanRequest, RawRecording};

use crate::test_run::TestRun;

/// In the place of a strategy that learns.
const STRATEGY: &str = "random+pos";
/// Executions that are run twice, at most.
const EXECUTIONS: u64 = 32;
/// Scheduling points that they may have together.
const POINTS: u64 = 200_000;

/// Executions that are recorded to see two of them differ.
const RECORDED: usize = 8;

/// What it means that runs differ.
pub(crate) const MEANING: &str = "so something outside of the schedule decides (files, time, \
                                  addresses, other processes)";

/// Runs a few executions twice, once per test, and tells it if they differ.
pub(crate) fn check(test: &mut TestRun<'_>) {
    // Of native threads it is known.
    let is_known = test.course.conditions & conditions::FOREIGN_THREAD != 0;
    if test.course.is_probed || is_known || test.allowance.is_over() {
        return;
    }
    test.course.is_probed = true;
    let Some(strategy) = repeatable(&test.options().strategy) else {
        return;
    };
    let fitting = POINTS / test.course.tally.serial_points.max(1);
    let mut request = test.request(strategy, fitting.min(EXECUTIONS));
    // Some go by an estimate of the length, which must be the same both times.
    request.length = test.course.tally.longest.max(1);
    let mut hash = || {
        let outcome = test.repeat(&request)?;
        let is_whole = outcome.died.is_none() && outcome.executions == request.executions;
        is_whole.then_some(outcome.plan_hash)
    };
    let (one, other) = (hash(), hash());
    // What crashes has its own report, and its own replay.
    if one.is_none() || other.is_none() || one == other {
        return;
    }
    let seeds = 0..request.executions;
    let difference = seeds.into_iter().find_map(|index| {
        let single = PlanRequest {
            seed: request.seed.wrapping_add(index),
            executions: 1,
            ..request.clone()
        };
        difference(test, &single)
    });
    let detail = difference.unwrap_or_default();
    test.course.is_nondeterministic = true;
    let text = format!("executions with the same schedule differ, {MEANING}.{detail}");
    test.session.note(test.target, text);
}

/// The strategy whose executions are run twice.
fn repeatable(strategy: &str) -> Option<&str> {
    let mut parsed = raddle_schedule::parse(strategy).ok()?;
    let mut learns = false;
    parsed.logs(&mut |_| learns = true);
    match (parsed.progress(), learns) {
        (Some(_), _) => None,
        (None, true) => Some(STRATEGY),
        (None, false) => Some(strategy),
    }
}

/// Runs a plan of one execution a few times, with everything recorded, and says at which event
/// two of them part.
pub(crate) fn difference(test: &mut TestRun<'_>, request: &PlanRequest) -> Option<String> {
    let recorded = PlanRequest {
        record: true,
        ..request.clone()
    };
    let mut record = || test.repeat(&recorded)?.recording;
    let one = record()?;
    let (other, parting) = (1..RECORDED).find_map(|_| {
        let other = record()?;
        let parting = part(&one, &other)?;
        Some((other, parting))
    })?;
    let mut words = |recording: &RawRecording| {
        let (thread, does, site, frames) = match parting {
            Parting::Event(at) => {
                let Some(event) = recording.events.get(at) else {
                    return "it ends".to_owned();
                };
                let operation = Operation::from_number(event.operation);
                let does = format!("does {} at", operation.map_or("something", Operation::word));
                (event.thread, does, event.site, recording.stack(event))
            }
            Parting::Point(at) => {
                let Some(&(thread, site)) = recording.picks.get(at) else {
                    return "it ends".to_owned();
                };
                (thread, "goes on at".to_owned(), site, &[][..])
            }
        };
        let explainer = test.explainer();
        let thread = thread.saturating_sub(explainer.first_thread);
        let place = match explainer.place(site, frames) {
            none if none.is_empty() => explainer.place_in_words(site),
            place => place,
        };
        format!("thread {thread} {does} {place}")
    };
    let (one, other) = (words(&one), words(&other));
    let at = match parting {
        Parting::Event(at) => format!("event {at}"),
        Parting::Point(at) => format!("scheduling point {at}"),
    };
    Some(format!(
        " At {at}, {one} in one run, and {other} in another."
    ))
}

/// Where two recordings part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parting {
    /// At the event with this index.
    Event(usize),
    /// At the scheduling point with this index. Not all of them are events.
    Point(usize),
}

fn part(one: &RawRecording, other: &RawRecording) -> Option<Parting> {
    let event = first_difference(&one.events, &other.events).map(Parting::Event);
    event.or_else(|| {
        let picks = one.picks.iter().zip(&other.picks);
        let at = picks.take_while(|(a, b)| a == b).count();
        (at < one.picks.len().max(other.picks.len())).then_some(Parting::Point(at))
    })
}

/// The index of the first event that is not the same.
fn first_difference(one: &[RawEvent], other: &[RawEvent]) -> Option<usize> {
    let same = |(a, b): (&RawEvent, &RawEvent)| {
        (a.thread, a.operation, a.site) == (b.thread, b.operation, b.site)
    };
    let at = one.iter().zip(other).take_while(|&pair| same(pair)).count();
    (at < one.len().max(other.len())).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(thread: u16) -> RawEvent {
        RawEvent {
            operation: 1,
            thread,
            site: 7,
            address: 0,
            value: 0,
            len: 0,
            order: 0,
            flags: 0,
            stack: 0,
            point: 0,
        }
    }

    #[test]
    fn what_learns_is_replaced_and_what_searches_is_not_repeated() {
        assert_eq!(repeatable("portfolio"), Some(STRATEGY));
        assert_eq!(repeatable("pct(3)+random"), Some("pct(3)+random"));
        assert_eq!(repeatable("exhaustive(2)"), None);
    }

    #[test]
    fn the_first_difference_is_found() {
        let one = [event(0), event(1), event(2)];
        assert_eq!(first_difference(&one, &one), None);
        assert_eq!(first_difference(&one, &[event(0), event(2)]), Some(1));
        assert_eq!(first_difference(&one, &one[..2]), Some(2));
        let recording = |picks: &[(u16, u32)]| RawRecording {
            events: one.to_vec(),
            picks: picks.to_vec(),
            ..RawRecording::default()
        };
        let yields = [recording(&[(0, 7), (1, 8)]), recording(&[(0, 7), (0, 7)])];
        assert_eq!(part(&yields[0], &yields[1]), Some(Parting::Point(1)));
        assert_eq!(part(&yields[0], &yields[0]), None);
    }
}
