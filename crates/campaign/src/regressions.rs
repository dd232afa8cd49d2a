//! Replays committed schedules before anything else is tried.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use raddle_abi::finding::Kind;
use raddle_abi::plan::Choice;
use raddle_schedule::schedule_file::Schedule;
use raddle_trace::runner::{PlanRequest, Runner};

use crate::Error;
use crate::evidence::add_violations;
use crate::file::{LARGEST, read_file};
use crate::runner::{Limits, Patience, ProcessRunner};
use crate::test_run::TestRun;

/// Replays the schedules that belong to this test. Those that cannot be read or followed get
/// a note: they protect against nothing any more.
pub(crate) fn replay_all(test: &mut TestRun<'_>) {
    let uncounted = AtomicU64::new(0);
    let limits = Limits::from(test.session.options);
    let session = test.session;
    let patience = || match session.is_over() {
        true => Patience::Short,
        false => Patience::Long,
    };
    let mut replays = ProcessRunner::new(test.target, limits, &patience, &uncounted);
    for path in &test.session.options.regressions {
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        let schedule = match read(path) {
            Ok(schedule) => schedule,
            Err(error) => {
                test.session.note(test.target, error.to_string());
                continue;
            }
        };
        if !test.target.is(&schedule.target, &schedule.test) {
            continue;
        }
        let plan = PlanRequest {
            record: schedule.kind == Kind::AtomicSet,
            ..schedule.plan()
        };
        let outcome = replays.run(&plan);
        let outcome = outcome.inspect_err(|error| test.session.note_trouble(error));
        let Ok(mut outcome) = outcome else {
            continue;
        };
        // Nothing else has been run yet that would tell how threads are numbered.
        test.learn_from(&replays);
        add_violations(&mut outcome, schedule.kind, plan.seed, test.explainer());
        outcome.findings.retain(|raw| {
            raw.kind != Kind::AtomicSet || test.explainer().id(raw) == schedule.finding
        });
        test.course.tally.executions += outcome.executions;
        if outcome.findings.is_empty()
            && let Some(index) = outcome.diverged
        {
            let text = format!(
                "regression {name} no longer fits: it {}",
                diverged(&schedule, index)
            );
            test.session.note(test.target, text);
        }
        test.sighted(&outcome.findings, &plan);
    }
}

/// Reads a schedule file.
pub(crate) fn read(path: &Path) -> Result<Schedule, Error> {
    let contents = read_file(path, LARGEST).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    Schedule::parse(&contents).map_err(|error| Error::Corrupt {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// "diverged at switch 3: thread 1 never reached ...".
pub(crate) fn diverged(schedule: &Schedule, index: usize) -> String {
    if let Some(placed) = schedule.events.get(index) {
        let event = &placed.value;
        let place = in_words(event.site_key, &placed.place);
        return format!("diverged at event {index}: {place} did not come in its order");
    }
    let Some(placed) = schedule.switches.get(index) else {
        return format!("diverged at switch {}", index + 1);
    };
    let value = &placed.value;
    let shown = |thread: u16| thread.saturating_sub(schedule.first_thread);
    let from = shown(value.from);
    let reached = match value.site_key {
        0 => format!("its step {}", value.occurrence),
        key => format!(
            "{} for the {} time",
            in_words(key, &placed.place),
            ordinal(value.occurrence + 1)
        ),
    };
    let with = match Choice::of(value.to) {
        Choice::Thread(to) => format!("with thread {} ready to run", shown(to)),
        Choice::OldValue(age) => format!("where it could read a value that is {age} stores old"),
        Choice::Time { .. } => "while something waited for a time".to_owned(),
    };
    format!(
        "diverged at switch {}: thread {from} never reached {reached} {with}",
        index + 1
    )
}

fn in_words(key: u64, place: &str) -> String {
    match place {
        "" => format!("site {key:016x}"),
        place => place.to_owned(),
    }
}

fn ordinal(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (1, teens) if teens != 11 => "st",
        (2, teens) if teens != 12 => "nd",
        (3, teens) if teens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_read_well() {
        let words: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal).into();
        assert_eq!(
            words,
            [
                "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"
            ]
        );
    }

    #[test]
    fn a_file_that_is_no_schedule_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.schedule");
        std::fs::write(&path, "nonsense").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("x.schedule is damaged"), "{error}");
    }
}
