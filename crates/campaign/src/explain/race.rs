//! Data races: two accesses, both with their stacks.

use raddle_abi::site::Operation;
use raddle_trace::runner::{RawFinding, RawRecording, RawStep};

use super::action::{noun, verb};
use super::lanes::Interest;
use super::locate::{Located, Locator, unknown_place};
use super::publication;
use super::{Story, in_words, stack_of, thread_in_words};

/// What names an access. Only one of the two has a stack, and which one depends on their
/// order, so the stack takes part only if the site alone does not lead to the user's code.
pub(super) fn identity(locator: &mut Locator, step: &RawStep) -> String {
    if step.operation == Operation::Free {
        // Most frees stand in std; the access that races with them is what makes the name.
        return format!("free {:016x}", locator.key(step.site));
    }
    let located = locator.locate(step.site, &[]);
    if located.key != 0 && located.user(false).is_some() {
        return format!("{:016x}", located.key);
    }
    locator.locate(step.site, &step.frames).identity()
}

pub(super) fn story(locator: &mut Locator, raw: &RawFinding, recording: &RawRecording) -> Story {
    let accesses: Vec<(&RawStep, Located)> = raw
        .steps
        .iter()
        .take(2)
        .map(|step| {
            let frames = match step.frames.is_empty() {
                false => &step.frames[..],
                true => earlier_stack(recording, step),
            };
            (step, locator.locate(step.site, frames))
        })
        .collect();
    let places: Vec<_> = accesses
        .iter()
        .map(|(_, located)| located.place(false))
        .collect();
    let weak = match &raw.steps[..] {
        [later, earlier, ..] => publication::tell(locator, recording, later, earlier),
        _ => None,
    };
    let (title, mut cause) = match (&accesses[..], &places[..]) {
        ([(later, _), (earlier, _)], [later_place, earlier_place]) => (
            format!(
                "{} {} while {} {} the same memory",
                in_words(earlier_place),
                verb(earlier.operation),
                in_words(later_place),
                verb(later.operation),
            ),
            format!(
                "Nothing orders the {} by {} at {}:{} and the {} by {} at {}:{}: no lock, no \
                 join, no release/acquire pair lies between them, so the compiler and the \
                 processor may let either see the other half done.",
                noun(earlier.operation, earlier.len),
                thread_in_words(earlier.thread),
                earlier_place.file,
                earlier_place.line,
                noun(later.operation, later.len),
                thread_in_words(later.thread),
                later_place.file,
                later_place.line,
            ),
        ),
        _ => (
            format!(
                "data race at {}",
                in_words(places.first().unwrap_or(&unknown_place()))
            ),
            "Two accesses to the same memory are not ordered.".to_owned(),
        ),
    };
    let stacks = accesses
        .iter()
        .map(|(step, located)| {
            let heading = format!(
                "{} by {}",
                noun(step.operation, step.len),
                thread_in_words(step.thread)
            );
            stack_of(heading, step.thread, located)
        })
        .collect();
    let mut interest = Interest::default();
    if let Some((sentence, events)) = weak {
        cause = format!("{sentence} {cause}");
        interest.context.extend(events);
    }
    for step in raw.steps.iter().take(2) {
        interest
            .memory
            .push((step.address, step.address + u64::from(step.len.max(1))));
        interest.fault(step.thread, step.site);
    }
    Story {
        title,
        cause,
        message: String::new(),
        sites: places,
        stacks,
        interest,
    }
}

/// Stack of the latest recorded event that is this access.
pub(super) fn earlier_stack<'a>(recording: &'a RawRecording, step: &RawStep) -> &'a [u64] {
    let event = recording.events.iter().rev().find(|event| {
        let end = event.address.wrapping_add(u64::from(event.len.max(1)));
        event.thread == step.thread
            && event.site == step.site
            && (event.address..end).contains(&step.address)
    });
    let same_site = || {
        recording
            .events
            .iter()
            .rev()
            .find(|event| event.thread == step.thread && event.site == step.site)
    };
    event
        .or_else(same_site)
        .map_or(&[], |event| recording.stack(event))
}
