//! Deadlines that passed although a thread could run: which wait ended, and who was late.

use raddle_abi::plan::TIME_SLACK;
use raddle_abi::record::{NO_THREAD, RawEvent};
use raddle_abi::site::Operation;
use raddle_trace::finding::Place;
use raddle_trace::runner::{RawFinding, RawRecording};

use super::locate::Locator;
use super::{Story, thread_in_words};
use crate::timing;

/// Tells in a story that a deadline passed early. Returns under which condition the test passes, if
/// that is all that is wrong.
pub(super) fn tell(
    locator: &mut Locator,
    raw: &RawFinding,
    recording: &RawRecording,
    story: &mut Story,
) -> Option<String> {
    let mut expiries = recording.expiries.iter();
    let Some(expiry) = expiries.find(|expiry| expiry.value > TIME_SLACK) else {
        let condition = "the others get on before a deadline passes";
        return timing::is_timing(raw).then(|| format!("passes only if {condition}"));
    };
    let condition = condition(locator, recording, expiry);
    let wait = wait(locator, recording, expiry);
    if timing::is_timing(raw) {
        let sentence = format!(" It passes only if {condition}: {wait}.");
        story.cause.push_str(&sentence);
        return Some(format!("passes only if {condition}"));
    }
    let sentence = format!(" It needs a deadline that passes early: {wait}, unless {condition}.");
    story.cause.push_str(&sentence);
    None
}

/// What would have had to happen before the deadline.
fn condition(locator: &mut Locator, recording: &RawRecording, expiry: &RawEvent) -> String {
    let events = &recording.events;
    let at = events.partition_point(|event| event.point < expiry.point);
    let begun = begin_of_wait(events, at, expiry);
    let time = in_words(expiry.address.max(expiry.value));
    let Some(late) = late(events, at, expiry.thread) else {
        return format!("nothing takes longer than {time}");
    };
    let mut line = |event: &RawEvent| {
        let located = locator.locate(event.site, recording.stack(event));
        shown(&located.place(true))
    };
    let mut before = events[..begun].iter().rev();
    let from = before.find(|event| event.thread == late).map(&mut line);
    let to = events[at..].iter().find(|event| event.thread == late);
    let to = to.map(&mut line);
    let started = events[..at].iter().find(|event| starts(event, late));
    let started = started.map(&mut line);
    let late = thread_in_words(late);
    match (from.flatten(), to.flatten(), started.flatten()) {
        (Some(from), Some(to), _) if from != to => {
            format!("{late} gets from {from} to {to} within {time}")
        }
        (None, Some(to), Some(started)) if started != to => {
            format!("{late} gets from its start at {started} to {to} within {time}")
        }
        (_, Some(to), _) => format!("{late} gets past {to} within {time}"),
        (Some(from), None, _) => format!("{late} gets on from {from} within {time}"),
        (None, None, Some(started)) => {
            format!("{late}, started at {started}, gets on within {time}")
        }
        (None, None, None) => format!("{late} gets on within {time}"),
    }
}

/// The wait that ends, as the rest of a sentence.
fn wait(locator: &mut Locator, recording: &RawRecording, expiry: &RawEvent) -> String {
    if expiry.thread == NO_THREAD {
        return "then a timer goes off".to_owned();
    }
    let events = &recording.events;
    let at = events.partition_point(|event| event.point < expiry.point);
    let begun = events.get(begin_of_wait(events, at, expiry));
    let stack = begun.map_or(&[][..], |event| recording.stack(event));
    let place = shown(&locator.locate(expiry.site, stack).place(true));
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    let thread = thread_in_words(expiry.thread);
    format!("then {thread} waits no longer{place}")
}

/// Index of the event with which the wait began.
fn begin_of_wait(events: &[RawEvent], at: usize, expiry: &RawEvent) -> usize {
    let is_it = |event: &RawEvent| event.thread == expiry.thread && event.site == expiry.site;
    events[..at].iter().rposition(is_it).unwrap_or(at)
}

fn starts(event: &RawEvent, thread: u16) -> bool {
    event.operation == Operation::Spawn as u16 && event.address == u64::from(thread)
}

/// The thread that could have gone on instead of time: the next one that does, one that has not
/// run at all, or the last one that did.
fn late(events: &[RawEvent], at: usize, waits: u16) -> Option<u16> {
    let (before, after) = events.split_at(at);
    let is_other = |thread: &u16| *thread != waits;
    let is_there = |thread: u16| thread == 0 || before.iter().any(|event| starts(event, thread));
    let mut next = after.iter().map(|event| event.thread).filter(is_other);
    let next = next.find(|&thread| is_there(thread));
    let has_not_run = |thread: &u16| events.iter().all(|event| event.thread != *thread);
    let started = before
        .iter()
        .filter(|event| event.operation == Operation::Spawn as u16)
        .map(|event| event.address as u16);
    let mut last = before.iter().rev().map(|event| event.thread);
    next.or_else(|| started.filter(is_other).find(has_not_run))
        .or_else(|| last.find(is_other))
}

fn shown(place: &Place) -> Option<String> {
    let is_known = !place.file.is_empty();
    is_known.then(|| format!("{}:{}", place.file, place.line))
}

/// A time in the largest unit that shows it well.
fn in_words(nanoseconds: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    // Clocks that were looked at in between have taken a little.
    let about = nanoseconds + nanoseconds / 500;
    let unit = units.iter().find(|(size, _)| about >= *size);
    let Some(&(size, unit)) = unit else {
        return format!("{nanoseconds} ns");
    };
    let tenths = (nanoseconds + size / 20) / (size / 10);
    match (tenths % 10, tenths / 10) {
        (0, whole) => format!("{whole} {unit}"),
        (_, whole @ 3..) => format!("{} {unit}", whole + u64::from(tenths % 10 >= 5)),
        (rest, whole) => format!("{whole}.{rest} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn times_have_the_unit_in_which_they_are_short() {
        let words = [50_000_000, 1_500_000, 999_998_000, 99, 9_998_000].map(in_words);
        assert_eq!(words, ["50 ms", "1.5 ms", "1 s", "99 ns", "10 ms"]);
    }
}
