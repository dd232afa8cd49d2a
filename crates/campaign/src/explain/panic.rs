//! Failed tests: the panic that made the test fail.
//!
//! When the test's own thread only passes on the panic of a thread that it joined (by
//! `join().unwrap()`, or by leaving a scope), that thread's panic is the one to show.

use raddle_abi::site::Operation;
use raddle_trace::runner::{RawFinding, RawStep};

use super::lanes::Interest;
use super::locate::{Located, Locator};
use super::{Story, in_words, stack_of, thread_in_words};

/// Exit code of libtest after a test that failed.
const FAILED_TESTS: u64 = 101;

/// Messages of panics that only pass another one on.
const PASSED_ON: &[&str] = &[
    "a scoped thread panicked",
    "on an `Err` value: Any",
    "Any { .. }",
    "on an `Err` value: PoisonError",
];

pub(super) fn identity(locator: &mut Locator, raw: &RawFinding) -> Vec<String> {
    match main_panic(raw) {
        Some(step) => {
            let located = locator.locate(step.site, &step.frames);
            vec![
                located
                    .user(true)
                    .map_or_else(String::new, |frame| frame.place.function.clone()),
            ]
        }
        None => vec!["exit".to_owned(), raw.detail[0].to_string()],
    }
}

pub(super) fn story(locator: &mut Locator, raw: &RawFinding) -> Story {
    let step = main_panic(raw);
    let located = step.map_or_else(Located::default, |step| {
        locator.locate(step.site, &step.frames)
    });
    let thread = step.map_or(0, |step| step.thread);
    let place = located.place(true);
    let message = message(raw);
    let first_line = message
        .as_deref()
        .map(|message| message.lines().next().unwrap_or_default());
    let title = match (step, first_line) {
        (Some(_), Some(line)) if !line.is_empty() => format!("test panics: {line}"),
        (Some(_), _) => format!("test panics in {}", in_words(&place)),
        (None, _) if raw.detail[0] == FAILED_TESTS => "test fails without a panic".to_owned(),
        (None, _) => format!("the program exits with code {}", raw.detail[0]),
    };
    let cause = match step {
        Some(_) => format!(
            "{} panics at {} in this interleaving; others of the same test pass.",
            super::deadlock::capitalised(&thread_in_words(thread)),
            in_words(&place)
        ),
        None if raw.detail[0] == FAILED_TESTS => {
            "The test returned an error in this interleaving; others of it pass.".to_owned()
        }
        None => format!(
            "Somebody ends the process with exit code {} in this interleaving; in others the \
             test passes.",
            raw.detail[0]
        ),
    };
    let mut interest = Interest {
        shared: true,
        ..Interest::default()
    };
    let (mut sites, mut stacks) = (Vec::new(), Vec::new());
    if let Some(step) = step {
        interest.fault(step.thread, step.site);
        sites.push(place);
        let heading = format!("panic of {}", thread_in_words(thread));
        stacks.push(stack_of(heading, thread, &located));
    }
    Story {
        title,
        cause,
        sites,
        stacks,
        interest,
    }
}

/// The panic to show: the last one, or the first that it passes on.
fn main_panic(raw: &RawFinding) -> Option<&RawStep> {
    chosen(raw).map(|(step, _)| step)
}

/// The message of the panic to show, if the program printed it.
fn message(raw: &RawFinding) -> Option<String> {
    chosen(raw).and_then(|(_, message)| message)
}

fn chosen(raw: &RawFinding) -> Option<(&RawStep, Option<String>)> {
    let panics: Vec<&RawStep> = raw
        .steps
        .iter()
        .filter(|step| step.operation == Operation::Panic)
        .collect();
    let messages = messages(&raw.output);
    let Some(&last) = panics.last() else {
        return raw.steps.first().map(|step| (step, None));
    };
    let passes_on = |message: &str| {
        PASSED_ON
            .iter()
            .any(|passed_on| message.contains(passed_on))
    };
    if messages.len() == panics.len() {
        // The hook printed one message per panic, in the same order.
        let last_index = panics.len() - 1;
        let original = || {
            let own = |index: &usize| {
                panics[*index].thread != last.thread && !passes_on(&messages[*index])
            };
            (0..last_index).find(own)
        };
        let index = if passes_on(&messages[last_index]) {
            original()
        } else {
            None
        }
        .unwrap_or(last_index);
        return Some((panics[index], Some(messages[index].clone())));
    }
    let is_passed_on = messages.last().is_some_and(|message| passes_on(message));
    let other = panics.iter().find(|step| step.thread != last.thread);
    match other {
        Some(other) if is_passed_on => Some((
            other,
            messages.into_iter().find(|message| !passes_on(message)),
        )),
        _ => Some((last, messages.into_iter().next_back())),
    }
}

/// What the panic hook printed: `thread 'NAME' panicked at FILE:LINE:COLUMN:` and the message
/// below it, up to an empty line or a note.
fn messages(output: &str) -> Vec<String> {
    let reports = output.split("panicked at ").skip(1);
    reports
        .map(|report| {
            let below = report.split_once('\n').map_or("", |(_, below)| below);
            let lines = below.lines().take_while(|line| {
                !line.is_empty() && !line.starts_with("note: ") && !line.starts_with("thread '")
            });
            lines.collect::<Vec<_>>().join("\n")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_abi::finding::Kind;

    fn raw(output: &str, threads: &[u16]) -> RawFinding {
        let step = |&thread| RawStep {
            site: 0,
            operation: Operation::Panic,
            thread,
            address: 0,
            len: 0,
            frames: Vec::new(),
        };
        RawFinding {
            kind: Kind::Panic,
            execution: 0,
            seed: 0,
            length: 0,
            points: 0,
            hash: 0,
            detail: [101, 0],
            decisions: Vec::new(),
            steps: threads.iter().map(step).collect(),
            waits: Vec::new(),
            output: output.to_owned(),
        }
    }

    const JOINED: &str = "\nthread '<unnamed>' (12) panicked at src/lib.rs:5:9:\nvalue is odd\n\
        note: run with `RUST_BACKTRACE=1`\n\nthread 't' (11) panicked at src/lib.rs:9:9:\n\
        called `Result::unwrap()` on an `Err` value: Any { .. }\n";

    #[test]
    fn the_panic_of_a_joined_thread_is_shown_instead_of_the_unwrap() {
        let raw = raw(JOINED, &[1, 0]);
        assert_eq!(main_panic(&raw).unwrap().thread, 1);
        assert_eq!(message(&raw).unwrap(), "value is odd");
    }

    #[test]
    fn the_tests_own_panic_comes_first() {
        let output = "\nthread '<unnamed>' panicked at a:1:1:\ncaught\n\nthread 't' panicked at \
            src/lib.rs:9:9:\nassertion `left == right` failed\n  left: 1\n right: 2\n";
        let raw = raw(output, &[1, 0]);
        assert_eq!(main_panic(&raw).unwrap().thread, 0);
        assert!(
            message(&raw)
                .unwrap()
                .starts_with("assertion `left == right` failed")
        );
    }
}
