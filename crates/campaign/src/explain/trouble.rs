//! Crashes and livelocks: one place, or one per thread.

use raddle_abi::finding::{Kind, STACK_OVERFLOW};
use raddle_abi::site::Operation;
use raddle_trace::finding::LaneStep;
use raddle_trace::runner::{RawFinding, RawStep};

use super::lanes::Interest;
use super::locate::{Located, Locator};
use super::paths::Owner;
use super::{STANDING, Story, in_words, output, panic, stack_of, thread_in_words};

/// What names a crash: the signal, and the user's function that the stack says. The thread's last
/// site is no part of it, because that one depends on what is recorded. Without a function it is the test.
pub(super) fn crash_identity(locator: &mut Locator, raw: &RawFinding, test: &str) -> Vec<String> {
    let mut parts = vec![raw.detail[0].to_string()];
    let Some(step) = raw.steps.first() else {
        parts.push(test.to_owned());
        return parts;
    };
    let located = locator.locate(0, &step.frames);
    if raw.detail[0] & STACK_OVERFLOW != 0 {
        parts.extend(recursion(&located));
        return parts;
    }
    let panic = fatal_panic(locator, raw, &located);
    let located = panic.unwrap_or(located);
    let function = located.user(true).map(|frame| &frame.place.function);
    parts.push(match function.filter(|function| !function.is_empty()) {
        Some(function) => function.clone(),
        None => test.to_owned(),
    });
    parts
}

/// The panic for which a thread aborted, if the stack of the abort has no function of the user left:
/// a destructor of a thread-local variable panicked, for example.
fn fatal_panic(locator: &mut Locator, raw: &RawFinding, crash: &Located) -> Option<Located> {
    let thread = raw.steps.first()?.thread;
    let is_anonymous = raw.kind == Kind::Crash && crash.user(true).is_none();
    let step = panic::panics(raw)
        .filter(|step| is_anonymous && step.thread == thread)
        .last()?;
    let located = locator.locate(step.site, &step.frames);
    located.user(true).is_some().then_some(located)
}

/// The user's functions that call each other without end: which of them uses up the stack depends
/// on how much of it the hooks take.
fn recursion(located: &Located) -> Vec<String> {
    let user = located
        .frames
        .iter()
        .filter(|frame| frame.owner != Owner::Std)
        .map(|frame| frame.place.function.as_str());
    let mut functions: Vec<&str> = user.collect();
    functions.sort_unstable();
    let repeated = functions.chunk_by(|one, other| one == other);
    repeated
        .filter(|same| same.len() > 1)
        .map(|same| same[0].to_owned())
        .collect()
}

pub(super) fn story(locator: &mut Locator, raw: &RawFinding) -> Story {
    let steps: Vec<&RawStep> = raw
        .steps
        .iter()
        .filter(|step| raw.kind == Kind::Crash || step.operation != Operation::Panic)
        .take(STANDING)
        .collect();
    let places: Vec<Located> = steps
        .iter()
        .map(|step| locator.locate(step.site, &step.frames))
        .collect();
    let first = places.first().map(|located| {
        let panic = fatal_panic(locator, raw, located);
        panic.as_ref().unwrap_or(located).place(true)
    });
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
        Kind::Crash if steps.is_empty() => {
            let signal = signal_name(raw.detail[0]);
            (
                format!("the process is killed by {signal}"),
                format!(
                    "{signal} ends the process in this interleaving; in others the test passes. Where the \
                     program was is not known."
                ),
            )
        }
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
    for step in &steps {
        if raw.kind != Kind::Crash {
            interest.fault(step.thread, step.site);
        }
        if step.address != 0 && raw.kind != Kind::Crash {
            interest
                .memory
                .push((step.address, step.address + u64::from(step.len.max(1))));
        }
    }
    let stacks = steps.iter().zip(&places).map(|(step, located)| {
        let heading = match raw.kind {
            Kind::Crash if step.operation == Operation::Panic => {
                format!("panic of {}", thread_in_words(step.thread))
            }
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
        message: message(locator, raw),
        sites: first.into_iter().collect(),
        stacks: stacks.collect(),
        interest,
    }
}

/// The row of the interleaving in which a thread crashes: what it did last may stand elsewhere.
pub(super) fn last_row(raw: &RawFinding, story: &Story) -> Option<LaneStep> {
    let step = raw.steps.first().filter(|_| raw.kind == Kind::Crash)?;
    Some(LaneStep {
        thread: usize::from(step.thread),
        place: story.sites.first()?.clone(),
        action: match raw.detail[0] & STACK_OVERFLOW {
            0 => format!("receives {}", signal_name(raw.detail[0])),
            _ => "has used up its stack".to_owned(),
        },
        at_fault: true,
    })
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
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGVTALRM, "SIGVTALRM"),
        (libc::SIGPROF, "SIGPROF"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGUSR2, "SIGUSR2"),
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

/// What the program said before it aborted: the message of a panic, or of C's `assert`.
fn message(locator: &mut Locator, raw: &RawFinding) -> String {
    if raw.kind != Kind::Crash {
        return String::new();
    }
    let none = panic::Expected::new();
    let panic = panic::choose(locator, raw, &none, |_| true);
    panic
        .and_then(|panic| panic.message)
        .or_else(|| output::assertion(&raw.output))
        .unwrap_or_default()
}

fn why(signal: u64) -> &'static str {
    match i32::try_from(signal) {
        Ok(libc::SIGSEGV | libc::SIGBUS) => ": it touched memory that is not there",
        Ok(libc::SIGABRT) => ": the program aborted itself",
        Ok(libc::SIGILL | libc::SIGTRAP) => ": it ran an instruction that stands for `unreachable`",
        _ => "",
    }
}
