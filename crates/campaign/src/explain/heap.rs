//! Errors on the heap: the access at fault, and where the block was freed and allocated.
//!
//! The runtime names the access and the block; who freed and allocated it is read from the
//! recording. A block that is older than the recording was allocated before the test began.

use raddle_abi::finding::Kind;
use raddle_abi::record::RawEvent;
use raddle_abi::site::Operation;
use raddle_trace::finding::{Place, Stack};
use raddle_trace::runner::{RawFinding, RawRecording, RawStep};

use super::action::{bytes, noun, verb};
use super::deadlock::capitalised;
use super::lanes::Interest;
use super::locate::{Located, Locator, unknown_place};
use super::paths::Owner;
use super::symbols::Frame;
use super::{Story, in_words, stack_of, thread_in_words};

/// What happened to the block, as indices of recorded events.
#[derive(Default)]
struct Life {
    fault: Option<usize>,
    free: Option<usize>,
    allocation: Option<usize>,
}

/// A recorded event with its place.
struct Past {
    thread: u16,
    located: Located,
}

/// What names the access at fault: its site, and the innermost function outside of std. Who
/// called that one does not matter: the same error is found by many callers.
pub(super) fn identity(locator: &mut Locator, step: &RawStep) -> String {
    let located = locator.locate(step.site, &step.frames);
    let function = located.place(false).function;
    format!("{:016x} {function}", located.key)
}

pub(super) fn story(locator: &mut Locator, raw: &RawFinding, recording: &RawRecording) -> Story {
    let Some(step) = raw.steps.first() else {
        return super::trouble::story(locator, raw);
    };
    let life = life(raw, step, &recording.events);
    let fault = locator.locate(step.site, &step.frames);
    let mut past = |at: Option<usize>| {
        let event = recording.events.get(at?)?;
        Some(Past {
            thread: event.thread,
            located: locator.locate(event.site, recording.stack(event)),
        })
    };
    let (free, allocation) = (past(life.free), past(life.allocation));
    let place = fault.place(false);
    let freed_by = |before: &str| match &free {
        Some(free) => format!(
            "{} {before} in {}",
            thread_in_words(free.thread),
            in_words(&free.located.place(false))
        ),
        None => before.to_owned(),
    };
    let who = capitalised(&thread_in_words(step.thread));
    let size = u32::try_from(raw.detail[1]).unwrap_or(u32::MAX);
    let born = match &allocation {
        Some(past) => format!(
            " It was allocated by {} in {}.",
            thread_in_words(past.thread),
            in_words(&past.located.place(false))
        ),
        None => String::new(),
    };
    let act = act(step);
    let (title, cause) = match raw.kind {
        Kind::UseAfterFree => (
            format!(
                "{} {} memory{}",
                in_words(&place),
                verb(step.operation),
                title_of(free.as_ref(), " that ", " freed", " that was freed")
            ),
            format!(
                "{who} {act} a heap block of {} that {}.{born}",
                bytes(size),
                freed_by("freed before")
            ),
        ),
        Kind::DoubleFree => (
            format!(
                "{} frees memory{}",
                in_words(&place),
                title_of(
                    free.as_ref(),
                    " that ",
                    " freed before",
                    " that was freed before"
                )
            ),
            format!(
                "{who} frees a heap block of {} that {}.{born}",
                bytes(size),
                freed_by("freed before")
            ),
        ),
        _ => (
            format!(
                "{} {} beyond a heap block of {}",
                in_words(&place),
                verb(step.operation),
                bytes(size)
            ),
            format!(
                "{who} {act} {} of a heap block of {}.{born}",
                offset(raw, step),
                bytes(size)
            ),
        ),
    };
    let mut interest = Interest::default();
    interest.memory.push((
        step.address,
        step.address.saturating_add(u64::from(step.len.max(1))),
    ));
    interest
        .events
        .extend(life.fault.into_iter().chain(life.free));
    interest.context.extend(life.allocation);
    if life.fault.is_none() {
        interest.fault(step.thread, step.site);
    }
    let (mut sites, mut stacks) = (vec![place], Vec::new());
    let heading = format!(
        "{} by {}",
        noun(step.operation, step.len),
        thread_in_words(step.thread)
    );
    stacks.push(stack_of(heading, step.thread, &fault));
    for (word, past) in [("freed", &free), ("allocated", &allocation)] {
        if let Some(past) = past {
            sites.push(past.located.place(false));
            stacks.push(past_stack(word, past));
        }
    }
    Story {
        title,
        cause,
        message: String::new(),
        sites,
        stacks,
        interest,
    }
}

/// A stack from the function of std on that the user's code called: how std gets to its
/// allocator is of no interest.
fn past_stack(word: &str, past: &Past) -> Stack {
    let heading = format!("{word} by {}", thread_in_words(past.thread));
    let mut located = past.located.clone();
    let is_user = |frame: &Frame| frame.owner != Owner::Std;
    let user = located.frames.iter().position(is_user);
    located.frames.drain(..user.unwrap_or(0).saturating_sub(1));
    stack_of(heading, past.thread, &located)
}

/// The place of a free as part of a title.
fn title_of(free: Option<&Past>, before: &str, after: &str, unknown: &str) -> String {
    let place: Option<Place> = free.map(|free| free.located.place(false));
    match place.filter(|place| *place != unknown_place()) {
        Some(place) => format!("{before}{}{after}", in_words(&place)),
        None => unknown.to_owned(),
    }
}

/// "reads 8 bytes of".
fn act(step: &RawStep) -> String {
    format!("{} {} of", verb(step.operation), bytes(step.len))
}

/// Where an access lies that is not part of the block.
fn offset(raw: &RawFinding, step: &RawStep) -> String {
    let [base, size] = raw.detail;
    match step.address.checked_sub(base) {
        None => format!("what lies {} before the start", count(base - step.address)),
        Some(offset) if offset == size => "what lies right behind the end".to_owned(),
        Some(offset) if offset > size => {
            format!("what lies {} behind the end", count(offset - size))
        }
        Some(offset) => format!("what begins at offset {offset} and runs over the end"),
    }
}

fn count(value: u64) -> String {
    bytes(u32::try_from(value).unwrap_or(u32::MAX))
}

/// The events that freed and allocated the block of a finding.
pub(super) fn freed_block(raw: &RawFinding, events: &[RawEvent]) -> Option<[usize; 2]> {
    let life = life(raw, raw.steps.first()?, events);
    Some([life.free?, life.allocation?])
}

/// The last free at a step of a race, and the allocation of its block.
pub(super) fn block_of_free(step: &RawStep, events: &[RawEvent]) -> Option<[usize; 2]> {
    let is = |event: &RawEvent, operation: Operation| event.operation == operation as u16;
    let free = events.iter().rposition(|event| {
        let end = event.address.saturating_add(u64::from(event.len.max(1)));
        is(event, Operation::Free)
            && event.thread == step.thread
            && event.site == step.site
            && (event.address..end).contains(&step.address)
    })?;
    let allocation = events[..free]
        .iter()
        .rposition(|event| is(event, Operation::Alloc) && event.address == events[free].address)?;
    Some([free, allocation])
}

/// Finds the fault at the end of a recording, and what happened to the block before it.
fn life(raw: &RawFinding, step: &RawStep, events: &[RawEvent]) -> Life {
    let base = raw.detail[0];
    let is = |event: &RawEvent, operation: Operation| {
        event.operation == operation as u16 && event.address == base
    };
    let fault = events.iter().rposition(|event| {
        event.thread == step.thread && event.site == step.site && event.address == step.address
    });
    let Some(at) = fault else {
        return Life::default();
    };
    let allocation = events[..at]
        .iter()
        .rposition(|event| is(event, Operation::Alloc));
    let free = events[allocation.unwrap_or(0)..at]
        .iter()
        .rposition(|event| is(event, Operation::Free))
        .map(|free| free + allocation.unwrap_or(0));
    Life {
        fault,
        free,
        allocation,
    }
}
