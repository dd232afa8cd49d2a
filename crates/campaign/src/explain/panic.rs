//! Failed tests: the panic that made the test fail.
//!
//! A panic often has others in its train: of the thread that joins the first one's, that sends to a
//! channel which it dropped, or that finds a lock poisoned. The first failure of an execution is the
//! one to show. Panics that the program catches are no failures, nor are those that begin in executions
//! that pass, too.

use std::collections::HashSet;

use raddle_abi::site::Operation;
use raddle_trace::finding::Place;
use raddle_trace::runner::{RawFinding, RawStep};

use super::lanes::Interest;
use super::locate::{Located, Locator};
use super::output::{self, Report};
use super::paths::Owner;
use super::symbols::Frame;
use super::{Story, in_words, stack_of, thread_in_words};

/// Exit code of libtest after a test that failed.
const FAILED_TESTS: u64 = 101;

/// What libtest says about a test that should panic and returned.
const NO_PANIC: &str = "note: test did not panic as expected";

/// Messages of panics that there are only because another thread has panicked: at a join, at a lock,
/// and at a channel whose other end is gone.
const FOLLOWERS: &[&str] = &[
    "a scoped thread panicked",
    "Any { .. }",
    "PoisonError { .. }",
    "SendError",
    "RecvError",
    "Disconnected",
];

/// The call that stops a panic.
const CATCH: &str = "std::panic::catch_unwind";

/// Places of panics that are expected.
pub(super) type Expected = HashSet<Place>;

/// The panic to show, with its number among those of the finding.
pub(super) struct Chosen<'a> {
    pub step: &'a RawStep,
    pub located: Located,
    /// Its stack for people.
    shown: Located,
    /// Where it begins for people.
    place: Place,
    /// Its number among the panics of its thread.
    nth: usize,
    /// What the program printed for it.
    pub message: Option<String>,
    /// The panic by which the test's own thread failed later.
    later: Option<(u16, Place)>,
}

/// Panics of a finding, in the order in which they began.
pub(super) fn panics(raw: &RawFinding) -> impl Iterator<Item = &RawStep> {
    let steps = raw.steps.iter();
    steps.filter(|step| step.operation == Operation::Panic)
}

/// Where a panic begins, for people.
pub(super) fn place(locator: &mut Locator, step: &RawStep) -> Place {
    locator.locate(step.site, &step.frames).place(true)
}

/// What names a panic.
pub(super) fn identity(located: &Located) -> Vec<String> {
    let function = located.user(true).map(|frame| &frame.place.function);
    vec![function.cloned().unwrap_or_default()]
}

/// The first panic that is a failure, else the last one; `wanted` says which ones come into question.
pub(super) fn choose<'a>(
    locator: &mut Locator,
    raw: &'a RawFinding,
    expected: &Expected,
    mut wanted: impl FnMut(&Located) -> bool,
) -> Option<Chosen<'a>> {
    let all: Vec<(&RawStep, Located)> = panics(raw)
        .map(|step| (step, locator.locate(step.site, &step.frames)))
        .collect();
    let fails = |(_, located): &&(&RawStep, Located)| {
        !is_caught(&located.frames) && !expected.contains(&located.place(true))
    };
    let is_wanted: Vec<bool> = all.iter().map(|(_, located)| wanted(located)).collect();
    let index = (0..all.len())
        .find(|&at| is_wanted[at] && fails(&&all[at]))
        .or_else(|| (0..all.len()).rfind(|&at| is_wanted[at]))?;
    let reports = output::reports(&raw.output, |file, line| {
        let file = locator.shown(file);
        let is_there = |frame: &Frame| frame.place.line == line && frame.place.file == file;
        all.iter()
            .any(|(_, located)| located.frames.iter().any(is_there))
    });
    let passed_on = report(locator, &all, index, &reports).is_some_and(|report| {
        let mut followers = FOLLOWERS.iter();
        followers.any(|follower| report.message.contains(follower))
    });
    let original = (0..index).find(|&at| {
        let (step, located) = &all[at];
        is_wanted[at] && step.thread != all[index].0.thread && !is_caught(&located.frames)
    });
    let index = original.filter(|_| passed_on).unwrap_or(index);
    let (step, located) = &all[index];
    let before = all[..index].iter();
    let later = all[index + 1..].iter().rev().find(fails);
    let report = report(locator, &all, index, &reports);
    let shown = report.and_then(|report| with_line(locator, located, report));
    let shown = shown.unwrap_or_else(|| located.clone());
    Some(Chosen {
        step,
        located: located.clone(),
        place: report
            .and_then(|report| place_of_macro(locator, &shown, report))
            .unwrap_or_else(|| shown.place(true)),
        shown,
        nth: before
            .filter(|(other, _)| other.thread == step.thread)
            .count(),
        message: report.map(|report| report.message.clone()),
        later: later.map(|(step, located)| (step.thread, located.place(true))),
    })
}

/// The panic after which threads wait for ever: the first one that is a failure.
pub(super) fn behind<'a>(
    locator: &mut Locator,
    raw: &'a RawFinding,
    expected: &Expected,
) -> Option<Chosen<'a>> {
    let chosen = choose(locator, raw, expected, |_| true)?;
    let is_expected = expected.contains(&chosen.located.place(true));
    (!is_expected && !is_caught(&chosen.located.frames)).then_some(chosen)
}

impl Chosen<'_> {
    /// Puts the panic before what follows from it.
    pub(super) fn precede(self, story: &mut Story) {
        let thread = self.step.thread;
        let (who, at) = (thread_in_words(thread), in_words(&self.place));
        let who = super::deadlock::capitalised(&who);
        let message = self.message.unwrap_or_default();
        let said = match message.lines().next() {
            Some(line) if !line.is_empty() => format!("{who} panics: {line}"),
            _ => format!("{who} panics at {at}"),
        };
        let mut then = story.title.chars();
        let first = then.next().map(|letter| letter.to_ascii_lowercase());
        let then: String = first.into_iter().chain(then).collect();
        story.title = format!("{said}; then {then}");
        story.cause = format!("{who} panics at {at} in this interleaving. {}", story.cause);
        story.message = message;
        story.sites.retain(|site| *site != self.place);
        story.sites.insert(0, self.place);
        let heading = format!("panic of {}", thread_in_words(thread));
        story
            .stacks
            .insert(0, stack_of(heading, thread, &self.shown));
        story.interest.fault(thread, self.step.site);
    }
}

/// Whether the user's code catches a panic that begins here: it called what stops it.
fn is_caught(frames: &[Frame]) -> bool {
    frames
        .windows(2)
        .any(|pair| pair[0].place.function.starts_with(CATCH) && pair[1].owner == Owner::Workspace)
}

/// The user's line that calls a macro of another crate in which a panic begins: the hook names it, and debug
/// information the macro's own.
fn place_of_macro(locator: &Locator, located: &Located, report: &Report) -> Option<Place> {
    let frame = located.user(true)?;
    let (file, owner) = locator.shown_with_owner(&report.file);
    let is_macro = frame.owner != Owner::Workspace && owner == Owner::Workspace;
    is_macro.then(|| Place {
        file,
        line: report.line,
        column: 0,
        function: frame.place.function.clone(),
    })
}

/// The frame of the user whose line the compiler has dropped: it merges calls that panic if they differ in
/// nothing but their lines.
fn without_line(located: &Located) -> Option<usize> {
    let user = located.user(true)?;
    let root = |frame: &Frame| {
        let path = frame.place.function.trim_start_matches('<');
        path.split("::").next().unwrap_or_default().to_owned()
    };
    let mut frames = located.frames.iter();
    let last = frames.position(|frame| std::ptr::eq(frame, user))?;
    let is_merged = |frame: &Frame| frame.place.line == 0 && root(frame) == root(user);
    located.frames[..=last].iter().position(is_merged)
}

/// The stack with the line that the hook names, where debug information has none.
fn with_line(locator: &Locator, located: &Located, report: &Report) -> Option<Located> {
    let merged = without_line(located)?;
    let (file, owner) = locator.shown_with_owner(&report.file);
    let mut shown = located.clone();
    let frame = &mut shown.frames[merged];
    frame.owner = owner;
    frame.place.file = file;
    frame.place.line = report.line;
    (owner == Owner::Workspace).then_some(shown)
}

/// What the panic hook printed for one of these panics.
fn report<'a>(
    locator: &Locator,
    all: &[(&RawStep, Located)],
    index: usize,
    reports: &'a [Report],
) -> Option<&'a Report> {
    let is_at = |located: &Located, report: &Report| {
        let file = locator.shown(&report.file);
        let mut frames = located.frames.iter();
        frames.any(|frame| frame.place.line == report.line && frame.place.file == file)
    };
    let located = &all[index].1;
    let before = all[..index].iter();
    let same = before
        .filter(|(_, other)| other.place(true) == located.place(true))
        .count();
    let own: Vec<&Report> = reports
        .iter()
        .filter(|report| is_at(located, report))
        .collect();
    let report = own.get(same).or(own.last()).copied();
    let is_lost = |located: &Located| {
        without_line(located).is_some() && !reports.iter().any(|report| is_at(located, report))
    };
    let by_exclusion = || {
        let before = all[..index].iter();
        let lost = before.filter(|(_, other)| is_lost(other)).count();
        let is_left = |report: &&Report| !all.iter().any(|(_, other)| is_at(other, report));
        let mut left = reports.iter().filter(is_left);
        is_lost(located).then(|| left.nth(lost)).flatten()
    };
    let report = report.or_else(by_exclusion);
    // The hook prints one report per panic, in the same order.
    let by_order = || reports.get(index).filter(|_| reports.len() == all.len());
    let only = || reports.first().filter(|_| reports.len() == 1);
    report.or_else(by_order).or_else(only)
}

/// Where the program calls `exit`, if that is known.
pub(super) fn exit(locator: &mut Locator, raw: &RawFinding) -> Option<(u16, Located)> {
    let mut steps = raw.steps.iter();
    let step = steps.find(|step| step.operation == Operation::Exit)?;
    let located = locator.locate(step.site, &step.frames);
    let is_users = located.user(true).is_some();
    is_users.then_some((step.thread, located))
}

pub(super) fn story(locator: &mut Locator, raw: &RawFinding, chosen: Option<Chosen<'_>>) -> Story {
    let Some(chosen) = chosen else {
        return without_panic(locator, raw);
    };
    let (step, place) = (chosen.step, chosen.place);
    let message = chosen.message.unwrap_or_default();
    let mismatch = output::mismatch(&raw.output);
    let what = match mismatch {
        Some(_) => "test panics, but not as it should",
        None => "test panics",
    };
    let title = match message.lines().next() {
        Some(line) if !line.is_empty() => format!("{what}: {line}"),
        _ => format!("{what} in {}", in_words(&place)),
    };
    let who = super::deadlock::capitalised(&thread_in_words(step.thread));
    let mut cause = format!(
        "{who} panics at {} in this interleaving; others of the same test pass.",
        in_words(&place)
    );
    if let Some((thread, later)) = &chosen.later {
        cause.push_str(&format!(
            " After that, {} panics at {}.",
            thread_in_words(*thread),
            in_words(later)
        ));
    }
    if let Some(note) = mismatch {
        let words: Vec<&str> = note.lines().map(str::trim).collect();
        let words = words.join(", ");
        cause.push_str(&format!(
            " libtest says: {}.",
            words.trim_start_matches("note: ")
        ));
    }
    let mut interest = Interest {
        shared: true,
        panic: Some((step.thread, chosen.nth)),
        ..Interest::default()
    };
    interest.fault(step.thread, step.site);
    let heading = format!("panic of {}", thread_in_words(step.thread));
    Story {
        title,
        cause,
        message,
        sites: vec![place],
        stacks: vec![stack_of(heading, step.thread, &chosen.shown)],
        interest,
    }
}

/// A panic that is known from the output only: the standard library is a shared one, without hooks.
fn only_printed(report: &Report) -> Story {
    Story {
        title: format!(
            "test panics: {}",
            report.message.lines().next().unwrap_or_default()
        ),
        cause: format!(
            "The test panics at {}:{} in this interleaving; others of it pass. The panic is known from the output \
             only, because the program uses a shared standard library, which is not instrumented.",
            report.file, report.line
        ),
        message: report.message.clone(),
        sites: Vec::new(),
        stacks: Vec::new(),
        interest: Interest {
            shared: true,
            ..Interest::default()
        },
    }
}

/// The test fails, and no panic tells why.
fn without_panic(locator: &mut Locator, raw: &RawFinding) -> Story {
    let message = output::error(&raw.output);
    if let Some((thread, located)) = exit(locator, raw) {
        return exits(raw, thread, &located);
    }
    let is_unseen = raw.steps.is_empty() && message.is_none() && !raw.output.contains(NO_PANIC);
    if let (true, FAILED_TESTS, [report]) = (
        is_unseen,
        raw.detail[0],
        &output::reports(&raw.output, |_, _| false)[..],
    ) {
        return only_printed(report);
    }
    let (title, cause) = match (raw.detail[0], &message) {
        (FAILED_TESTS, Some(message)) => (
            format!("test returns an error: {message}"),
            "The test returned an error in this interleaving; others of it pass.".to_owned(),
        ),
        (FAILED_TESTS, None) if raw.output.contains(NO_PANIC) => (
            "test does not panic as it should".to_owned(),
            "The test returns in this interleaving, and should panic; in others it does.".to_owned(),
        ),
        (FAILED_TESTS, None) => (
            "test fails without a message".to_owned(),
            "The test fails in this interleaving, and prints neither a panic nor an error; in others it \
             passes."
                .to_owned(),
        ),
        (code, _) => (
            format!("the program exits with code {code}"),
            format!(
                "The process is ended with exit code {code} in this interleaving; in others the test \
                 passes."
            ),
        ),
    };
    Story {
        title,
        cause,
        message: message.unwrap_or_default(),
        sites: Vec::new(),
        stacks: Vec::new(),
        interest: Interest {
            shared: true,
            ..Interest::default()
        },
    }
}

/// The program ends itself here.
fn exits(raw: &RawFinding, thread: u16, located: &Located) -> Story {
    let (code, place) = (raw.detail[0], located.place(true));
    let at = in_words(&place);
    let who = thread_in_words(thread);
    Story {
        title: format!("the program exits with code {code} in {at}"),
        cause: format!(
            "{} ends the process with exit code {code} at {at} in this interleaving; in others the test \
             passes.",
            super::deadlock::capitalised(&who)
        ),
        message: String::new(),
        sites: vec![place],
        stacks: vec![stack_of(format!("{who} exits here"), thread, located)],
        interest: Interest {
            shared: true,
            ..Interest::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(functions: &[(&str, Owner)]) -> Vec<Frame> {
        let frame = |&(function, owner): &(&str, Owner)| Frame {
            place: Place {
                function: function.to_owned(),
                ..Place::default()
            },
            owner,
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn only_what_the_user_catches_is_caught() {
        let catch = ("std::panic::catch_unwind", Owner::Std);
        let (user, dependency) = (
            ("mine::f", Owner::Workspace),
            ("tokio::g", Owner::Dependency),
        );
        assert!(is_caught(&frames(&[user, catch, user])));
        // A thread's start, a runtime of tasks, and a scope.
        assert!(!is_caught(&frames(&[
            user,
            catch,
            ("std::thread::start", Owner::Std)
        ])));
        assert!(!is_caught(&frames(&[user, catch, dependency, user])));
        let scope = ("std::thread::scoped::scope", Owner::Std);
        assert!(!is_caught(&frames(&[user, catch, scope, user])));
        assert!(!is_caught(&frames(&[user])));
    }
}
