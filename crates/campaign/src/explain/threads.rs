//! Names of threads: `main`, or where they were started.

use raddle_abi::plan::Choice;
use raddle_abi::site::Operation;
use raddle_trace::runner::{RawFinding, RawRecording};

use super::locate::Locator;

/// Names of all threads up to the highest number seen.
pub(super) fn names(
    locator: &mut Locator,
    raw: &RawFinding,
    recording: &RawRecording,
) -> Vec<String> {
    let events = recording.events.iter().map(|event| event.thread);
    let steps = raw.steps.iter().map(|step| step.thread);
    let waits = raw.waits.iter().map(|wait| wait.thread);
    let decisions = raw
        .decisions
        .iter()
        .flat_map(|decision| match Choice::of(decision.to) {
            Choice::Thread(to) => [decision.from, to],
            _ => [decision.from; 2],
        });
    let highest = events
        .chain(steps)
        .chain(waits)
        .chain(decisions)
        .max()
        .unwrap_or(0);
    let mut names: Vec<String> = (0..=highest)
        .map(|number| {
            if number == 0 {
                "main".to_owned()
            } else {
                format!("thread {number}")
            }
        })
        .collect();
    let spawns = recording
        .events
        .iter()
        .filter(|event| event.operation == Operation::Spawn as u16);
    for spawn in spawns {
        let Some(name) = usize::try_from(spawn.address)
            .ok()
            .and_then(|at| names.get_mut(at))
        else {
            continue;
        };
        let located = locator.locate(spawn.site, recording.stack(spawn));
        if let Some(user) = located.user(true) {
            *name = format!("started at {}:{}", user.place.file, user.place.line);
        }
    }
    names
}
