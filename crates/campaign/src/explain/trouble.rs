//! Crashes and livelocks: one place, or one per thread.

use raddle_abi::finding::{Kind, STACK_OVERFLOW};
use raddle_trace::runner::{RawFinding, RawStep};

use super::lanes::Interest;
use super::locate::{Located, Locator};
use super::{STANDING, Story, in_words, stack_of, thread_in_words};

/// Where a step stands. The innermost address of a crash is the instruction itself and not
/// the one behind a call.
pub(super) fn locate(locator: &mut Locator, kind: Kind, step: &RawStep) -> Located {
    let mut frames = step.frames.clone();
    if let (Kind::Crash, Some(first)) = (kind, frames.first_mut()) {
        *first += 1;
    }
    locator.locate(step.site, &frames)
}

pub(super) fn story(locator: &mut Locator, raw: &RawFinding) -> Story {
    let steps = &raw.steps[..raw.steps.len().min(STANDING)];
    let places: Vec<Located> = steps
        .iter()
        .map(|step| locate(locator, raw.kind, step))
        .collect();
    let first = places.first().map(|located| located.place(true));
    let at = first
        .as_ref()
        .map_or_else(String::new, |place| format!(" in {}", in_words(place)));
    let thread = steps.first().map_or(0, |step| step.thread);
    let who = super::deadlock::capitalised(&thread_in_words(thread));
    let (title, cause) = match raw.kind {
        Kind::Crash if raw.detail[0] & STACK_OVERFLOW != 0 => (
            format!("stack overflow{at}"),
            format!("{who} used up its stack{at}."),
        ),
        Kind::Crash => {
            let signal = signal_name(raw.detail[0]);
            (
                format!("crash by {signal}{at}"),
                format!("{who} received {signal}{at}{}.", why(raw.detail[0])),
            )
        }
        Kind::Livelock => (
            format!("threads run without progress{at}"),
            format!(
                "After {} scheduling points, scheduled fairly, the threads still go round \
                 without any of them getting on.",
                raw.points
            ),
        ),
        kind => (format!("{}{at}", kind.word()), format!("{who} did it{at}.")),
    };
    let mut interest = Interest {
        shared: true,
        ..Interest::default()
    };
    for step in steps {
        interest.fault(step.thread, step.site);
        if step.address != 0 && raw.kind != Kind::Crash {
            interest
                .memory
                .push((step.address, step.address + u64::from(step.len.max(1))));
        }
    }
    let stacks = steps.iter().zip(&places).map(|(step, located)| {
        let heading = match raw.kind {
            Kind::Crash => format!("{} crashed here", thread_in_words(step.thread)),
            Kind::Livelock => format!("{} stood here", thread_in_words(step.thread)),
            _ => format!(
                "{} by {}",
                super::action::noun(step.operation, step.len),
                thread_in_words(step.thread)
            ),
        };
        stack_of(heading, step.thread, located)
    });
    Story {
        title,
        cause,
        sites: first.into_iter().collect(),
        stacks: stacks.collect(),
        interest,
    }
}

/// `SIGSEGV` and its like.
pub(crate) fn signal_name(number: u64) -> String {
    let known = [
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    known
        .iter()
        .find(|(signal, _)| u64::try_from(*signal) == Ok(number))
        .map_or_else(
            || format!("signal {number}"),
            |(_, name)| (*name).to_owned(),
        )
}

fn why(signal: u64) -> &'static str {
    match i32::try_from(signal) {
        Ok(libc::SIGSEGV | libc::SIGBUS) => ": it touched memory that is not there",
        Ok(libc::SIGABRT) => ": the program aborted itself",
        Ok(libc::SIGILL | libc::SIGTRAP) => ": it ran an instruction that stands for `unreachable`",
        _ => "",
    }
}
