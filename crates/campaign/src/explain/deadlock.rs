//! Deadlocks: who waits for what, held by whom; lost wake-ups as their cause.

use raddle_abi::site::{Operation, SiteId};
use raddle_trace::runner::{RawFinding, RawRecording, RawWait};

use super::lanes::Interest;
use super::locate::{Located, Locator};
use super::lock_names::LockNames;
use super::{STANDING, Story, in_words, stack_of, thread_in_words, threads_in_words};

/// Waits told in the cause.
const TOLD: usize = 4;

/// The waits that make the deadlock: those in a cycle, else all.
pub(super) fn involved(raw: &RawFinding) -> impl Iterator<Item = &RawWait> {
    let has_cycle = raw.waits.iter().any(|wait| wait.in_cycle);
    raw.waits
        .iter()
        .filter(move |wait| wait.in_cycle || !has_cycle)
}

pub(super) fn story(
    locator: &mut Locator,
    raw: &RawFinding,
    recording: &RawRecording,
    locks: &LockNames,
) -> Story {
    let mut waits: Vec<(&RawWait, Located)> = involved(raw)
        .map(|wait| (wait, locator.locate(wait.site, &wait.frames)))
        .collect();
    // What came too early explains most; who waits for another's end explains least.
    waits.sort_by_key(|(wait, _)| (wait.lost_wake.is_none(), wait.operation == Operation::Join));
    let in_cycle = waits.iter().filter(|(wait, _)| wait.in_cycle).count();
    let lost = waits.iter().find_map(|(wait, located)| {
        let (thread, site) = wait.lost_wake?;
        let stack = wake_stack(recording, thread, site);
        Some((*wait, located, thread, locator.locate(site, stack)))
    });
    let (title, mut cause) = match (in_cycle, &lost) {
        (1, _) => {
            let (wait, located) = &waits[0];
            let title = format!(
                "{} waits for a lock that it holds itself, at {}",
                thread_in_words(wait.thread),
                in_words(&located.place(true))
            );
            (title, String::new())
        }
        (2.., _) => {
            let cycle = || waits.iter().filter(|(wait, _)| wait.in_cycle);
            let what = if cycle().all(|(wait, _)| wait.is_lock) {
                "each other's locks"
            } else {
                "each other"
            };
            let title = format!("{in_cycle} threads wait for {what}");
            (title, String::new())
        }
        (0, Some((wait, located, waker, wake))) => {
            let title = format!(
                "{} waits for ever at {}: its wake-up came too early",
                thread_in_words(wait.thread),
                in_words(&located.place(true))
            );
            let cause = format!(
                "The wake-up by {} at {} came before {} waited, so it was lost, and no other follows.",
                thread_in_words(*waker),
                in_words(&wake.place(true)),
                thread_in_words(wait.thread),
            );
            (title, cause)
        }
        (0, None) => {
            let title = match &waits[..] {
                [(wait, located)] => format!(
                    "{} waits for ever at {}",
                    thread_in_words(wait.thread),
                    in_words(&located.place(true))
                ),
                _ => format!(
                    "{} threads wait for something that can no longer happen",
                    waits.len()
                ),
            };
            (title, String::new())
        }
    };
    if cause.is_empty() || waits.len() > 1 {
        if !cause.is_empty() {
            cause.push(' ');
        }
        cause.push_str(&capitalised(&sentences(&waits, locks)));
        cause.push('.');
    }
    // Of many threads, the first ones stand for all.
    waits.truncate(STANDING);
    let mut interest = Interest::default();
    for (wait, _) in &waits {
        interest.objects.push(wait.object);
        interest.fault(wait.thread, wait.site);
        interest.waiting.push(wait.thread);
        if let Some((thread, site)) = wait.lost_wake {
            interest.fault(u16::try_from(thread).unwrap_or(u16::MAX), site);
        }
    }
    let mut sites = Vec::new();
    for (_, located) in &waits {
        let place = located.place(true);
        if !sites.contains(&place) {
            sites.push(place);
        }
    }
    Story {
        title: capitalised(&title),
        cause: capitalised(&cause),
        sites,
        stacks: waits
            .iter()
            .map(|(wait, located)| stack_of(heading(wait, locks), wait.thread, located))
            .collect(),
        interest,
    }
}

/// Stack of the last wake-up that `thread` made at `site`.
fn wake_stack(recording: &RawRecording, thread: u32, site: SiteId) -> &[u64] {
    let wake = recording
        .events
        .iter()
        .rev()
        .find(|event| u32::from(event.thread) == thread && event.site == site);
    wake.map_or(&[], |event| recording.stack(event))
}

/// "thread 1 waits for the lock `Bank.left`, held by thread 2".
fn heading(wait: &RawWait, locks: &LockNames) -> String {
    let who = thread_in_words(wait.thread);
    format!("{who} waits for {}", awaited(wait, locks))
}

/// "the lock `Bank.left`, held by thread 2".
fn awaited(wait: &RawWait, locks: &LockNames) -> String {
    let lock = locks.get(&wait.object);
    let lock = lock.map_or_else(|| "a lock".to_owned(), |name| format!("the lock `{name}`,"));
    match (wait.operation, wait.is_lock, wait.holders.is_empty()) {
        (Operation::Join, ..) => {
            let joined = u32::try_from(wait.object).unwrap_or(u32::MAX);
            format!("the end of {}", thread_in_words(joined))
        }
        (_, true, true) => lock.trim_end_matches(',').to_owned(),
        (_, true, false) => format!("{lock} held by {}", threads_in_words(&wait.holders)),
        (Operation::Io, ..) => "input or output".to_owned(),
        (Operation::Sleep, ..) => "a time".to_owned(),
        (_, false, _) => "a wake-up".to_owned(),
    }
}

/// Who waits where, of the first few.
fn sentences(waits: &[(&RawWait, Located)], locks: &LockNames) -> String {
    let shown = match waits.len() {
        few @ ..=TOLD => few,
        _ => TOLD - 1,
    };
    let mut sentences: Vec<String> = waits[..shown]
        .iter()
        .map(|(wait, located)| {
            let who = thread_in_words(wait.thread);
            let place = in_words(&located.place(true));
            format!("{who} waits at {place} for {}", awaited(wait, locks))
        })
        .collect();
    let others = waits.len() - shown;
    if others > 0 {
        sentences.push(format!("{others} other threads wait too"));
    }
    sentences.join("; ")
}

pub(super) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
