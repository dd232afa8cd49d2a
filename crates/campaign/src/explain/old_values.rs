//! Loads that read an old value: which, and who had written a newer one by then.

use raddle_abi::record::{RawEvent, flags};
use raddle_abi::site::Operation;
use raddle_trace::finding::Place;
use raddle_trace::runner::RawRecording;

use super::locate::Locator;
use super::{Story, action, in_words, thread_in_words};

/// Loads that are shown; of more, the last ones.
const SHOWN: usize = 8;
/// Loads that the cause tells of.
const TOLD: usize = 2;

/// How many stores the one that an event read lies before the newest one.
fn age(event: &RawEvent) -> usize {
    usize::from((event.flags & flags::AGE) >> flags::AGE_SHIFT)
}

fn writes(event: &RawEvent) -> bool {
    event.operation == Operation::AtomicStore as u16
        || event.operation == Operation::AtomicRmw as u16
}

/// Shows in a story which loads read an old value, and tells it: without that, nobody would
/// understand how it came about.
pub(super) fn tell(locator: &mut Locator, recording: &RawRecording, story: &mut Story) {
    let events = &recording.events;
    let old: Vec<usize> = (0..events.len())
        .filter(|&at| age(&events[at]) > 0)
        .collect();
    let first = old.len().saturating_sub(SHOWN);
    for (number, &at) in old[first..].iter().enumerate() {
        let load = &events[at];
        let mut place = |event: &RawEvent| {
            locator
                .locate(event.site, recording.stack(event))
                .place(true)
        };
        let is_write = |&index: &usize| {
            let event = &events[index];
            event.address == load.address && writes(event)
        };
        let mut written = (0..at).rev().filter(is_write);
        let newest = written.next();
        let read = written.nth(age(load) - 1);
        let value = action::value(load.value);
        let from = match read {
            Some(read) => format!("{value}, written at {}", line(&place(&events[read]))),
            None => format!("{value}, which was there before"),
        };
        let since = match newest.map(|newest| &events[newest]) {
            Some(newest) if newest.operation == Operation::AtomicStore as u16 => format!(
                ", though {} has written {}",
                thread_in_words(newest.thread),
                action::value(newest.value)
            ),
            Some(newest) => {
                format!(", though {} has changed it", thread_in_words(newest.thread))
            }
            None => String::new(),
        };
        let words = format!("reads an old value: {from}{since}");
        if number < TOLD {
            let thread = thread_in_words(load.thread);
            let thread = thread[..1].to_uppercase() + &thread[1..];
            let place = in_words(&place(load));
            let sentence = format!(" {thread} {words} ({place}): nothing orders the two.");
            story.cause.push_str(&sentence);
        }
        story.interest.words.insert(at, words);
        story.interest.context.push(at);
        story.interest.context.extend(newest);
    }
}

fn line(place: &Place) -> String {
    match place.file.is_empty() {
        true => "an unknown place".to_owned(),
        false => format!("{}:{}", place.file, place.line),
    }
}
