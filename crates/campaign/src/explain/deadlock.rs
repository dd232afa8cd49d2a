//! Deadlocks: who waits for what, held by whom; lost wake-ups as their cause.

use raddle_abi::site::Operation;
use raddle_trace::runner::{RawFinding, RawRecording, RawWait};

use super::lanes::Interest;
use super::locate::{Located, Locator};
use super::lock_names::LockNames;
use super::waiting::{self, Awaited, OfLibc};
use super::wakes::{self, Lost};
use super::{STANDING, Story, in_words, stack_of, thread_in_words, threads_in_words};

/// Waits told in the cause.
const TOLD: usize = 4;
/// Waits whose wake-ups are looked for.
const LOOKED_AT: usize = 16;

/// What tells what threads wait for.
struct Words<'a> {
    recording: &'a RawRecording,
    locks: &'a LockNames,
}

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
    let words = Words { recording, locks };
    let in_cycle = waits.iter().filter(|(wait, _)| wait.in_cycle).count();
    let lost = match in_cycle {
        0 => lost_wake_up(locator, recording, &waits),
        _ => None,
    };
    // A lost wake-up explains most; a wait for a thread's end explains least.
    let lost_by = lost.as_ref().map(|(thread, _)| *thread);
    waits.sort_by_key(|(wait, _)| {
        (
            lost_by != Some(wait.thread),
            wait.operation == Operation::Join,
        )
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
            let is_lock = |wait| OfLibc::of(recording, wait) != Some(OfLibc::Once);
            let what = if cycle().all(|(wait, _)| wait.is_lock && is_lock(wait)) {
                "each other's locks"
            } else {
                "each other"
            };
            let title = format!("{in_cycle} threads wait for {what}");
            (title, String::new())
        }
        (0, lost) => {
            let (why, cause) = match lost {
                Some((_, lost)) => (lost.title.as_str(), lost.cause.clone()),
                None => ("", String::new()),
            };
            let title = match &waits[..] {
                [(wait, located), others @ ..] if others.is_empty() || !why.is_empty() => {
                    let colon = if why.is_empty() { "" } else { ": " };
                    format!(
                        "{} waits for ever at {}{colon}{why}",
                        thread_in_words(wait.thread),
                        in_words(&located.place(true)),
                    )
                }
                _ => format!(
                    "{} threads wait for something that can no longer happen",
                    waits.len()
                ),
            };
            (title, cause)
        }
    };
    if cause.is_empty() || waits.len() > 1 {
        if !cause.is_empty() {
            cause.push(' ');
        }
        cause.push_str(&capitalised(&words.sentences(&waits)));
        cause.push('.');
    }
    if let Some(writer) = keeps_out(raw, recording, &waits) {
        let place = locator.locate(writer.site, &writer.frames).place(true);
        cause.push_str(&format!(
            " {} has the lock as a reader already. {} waits at {} to write, and new readers are kept out until it \
             has written.",
            capitalised(&thread_in_words(waits[0].0.thread)),
            capitalised(&thread_in_words(writer.thread)),
            in_words(&place)
        ));
    }
    // Of many threads, the first ones stand for all.
    waits.truncate(STANDING);
    let mut interest = Interest::default();
    for (wait, _) in &waits {
        interest.objects.push(wait.object);
        interest.fault(wait.thread, wait.site);
        interest.waiting.push(wait.thread);
    }
    if let Some((_, lost)) = lost {
        lost.mark(&mut interest);
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
        message: String::new(),
        sites,
        stacks: waits
            .iter()
            .map(|(wait, located)| stack_of(words.heading(wait, located), wait.thread, located))
            .collect(),
        interest,
    }
}

/// The writer for which a thread waits that reads a lock twice.
fn keeps_out<'a>(
    raw: &'a RawFinding,
    recording: &RawRecording,
    waits: &[(&RawWait, Located)],
) -> Option<&'a RawWait> {
    let [(reader, _)] = waits else {
        return None;
    };
    let reads = |wait: &RawWait| {
        let mut events = recording.events.iter().rev();
        let wanted = events.find(|event| {
            event.operation == Operation::LockWant as u16
                && event.thread == wait.thread
                && event.address == wait.object
        });
        wanted.map(|event| event.order != 0)
    };
    let is_reader = reader.is_lock && reader.in_cycle && reads(reader) == Some(true);
    let mut others = raw.waits.iter();
    others.find(|wait| {
        is_reader
            && wait.is_lock
            && wait.object == reader.object
            && wait.thread != reader.thread
            && reads(wait) == Some(false)
    })
}

/// The lost wake-up that explains most, and the thread that waits for it.
fn lost_wake_up(
    locator: &mut Locator,
    recording: &RawRecording,
    waits: &[(&RawWait, Located)],
) -> Option<(u16, Lost)> {
    let mut best: Option<(u16, Lost)> = None;
    for (wait, located) in waits.iter().take(LOOKED_AT) {
        let Some(lost) = wakes::explain(locator, recording, wait, located) else {
            continue;
        };
        let is_better = best
            .as_ref()
            .is_none_or(|(_, best)| lost.weight() > best.weight());
        if is_better {
            best = Some((wait.thread, lost));
        }
    }
    best
}

impl Words<'_> {
    /// "thread 1 waits for the lock `Bank.left`, held by thread 2".
    fn heading(&self, wait: &RawWait, located: &Located) -> String {
        let who = thread_in_words(wait.thread);
        format!("{who} waits for {}", self.awaited(wait, located))
    }

    /// "the lock `Bank.left`, held by thread 2".
    fn awaited(&self, wait: &RawWait, located: &Located) -> String {
        let of_libc = OfLibc::of(self.recording, wait);
        match (wait.operation, wait.is_lock) {
            (Operation::Join, _) => {
                let joined = u32::try_from(wait.object).unwrap_or(u32::MAX);
                format!("the end of {}", thread_in_words(joined))
            }
            (_, true) => self.lock(wait, of_libc == Some(OfLibc::Once)),
            (Operation::Io, _) => "input or output".to_owned(),
            // No deadline is left in a deadlock.
            (Operation::Sleep, _) => "a signal".to_owned(),
            _ => match (waiting::awaited(located), of_libc) {
                (Awaited::Object(object), _) if object.wake_up == "notification" => {
                    "a notification".to_owned()
                }
                (Awaited::Named(what), _) => what.to_owned(),
                (Awaited::Task(_), _) => "one of its tasks to be woken".to_owned(),
                (Awaited::Unknown, Some(OfLibc::Barrier)) => {
                    "other threads at a barrier".to_owned()
                }
                (Awaited::Unknown, Some(of_libc)) => format!("a {}", of_libc.wake_up()),
                (Awaited::Object(_) | Awaited::Unknown, _) => "a wake-up".to_owned(),
            },
        }
    }

    /// A lock, or the initialization of a `pthread_once_t`, and which threads have it.
    fn lock(&self, wait: &RawWait, is_once: bool) -> String {
        let name = self.locks.get(&wait.object);
        let (named, held) = match is_once {
            true => ("the initialization of", "run by"),
            false => ("the lock", "held by"),
        };
        let (lock, comma) = match (name, is_once) {
            (Some(name), _) => (format!("{named} `{name}`"), ","),
            (None, true) => ("an initialization".to_owned(), ""),
            (None, false) => ("a lock".to_owned(), ""),
        };
        match &wait.holders[..] {
            [] => lock,
            [one] if *one == u32::from(wait.thread) && !is_once => {
                format!("{lock}{comma} that it holds itself")
            }
            [one] if self.has_ended(*one) => {
                format!(
                    "{lock}{comma} {held} {}, which has ended",
                    thread_in_words(*one)
                )
            }
            holders => format!("{lock}{comma} {held} {}", threads_in_words(holders)),
        }
    }

    fn has_ended(&self, thread: u32) -> bool {
        let mut events = self.recording.events.iter();
        events.any(|event| {
            event.operation == Operation::Exit as u16 && u32::from(event.thread) == thread
        })
    }

    /// Where which thread waits, of the first few.
    fn sentences(&self, waits: &[(&RawWait, Located)]) -> String {
        let shown = match waits.len() {
            few @ ..=TOLD => few,
            _ => TOLD - 1,
        };
        let mut sentences: Vec<String> = waits[..shown]
            .iter()
            .map(|(wait, located)| {
                let who = thread_in_words(wait.thread);
                let place = in_words(&located.place(true));
                format!("{who} waits at {place} for {}", self.awaited(wait, located))
            })
            .collect();
        let others = waits.len() - shown;
        if others > 0 {
            sentences.push(format!("{others} other threads wait too"));
        }
        sentences.join("; ")
    }
}

pub(super) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
