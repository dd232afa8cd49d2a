//! What is left to do when a test has its verdict.

use raddle_abi::finding::Kind;
use raddle_abi::plan::{Memory, Reexecution};
use raddle_trace::runner::Searched;

use crate::course::Course;
use crate::predict::seen;
use crate::session::Session;
use crate::{Target, TestResult, Verdict, verdict};

/// Tells what is worth a note, remembers the verdict, and makes the result.
pub(crate) fn finish(
    session: &Session<'_>,
    target: &Target,
    mut course: Course,
    verdict: Verdict,
) -> TestResult {
    notes(session, target, &course, &verdict);
    if let Some(prediction) = session.options.prediction
        && verdict == Verdict::Explored
    {
        seen::conclude(session, target, &course, prediction);
    }
    settle_counts(session, &course);
    if course.turns > 0 {
        remember(session, target, &mut course, &verdict);
    }
    TestResult {
        index: course.index,
        test: target.name.clone(),
        target: target.target.clone(),
        verdict,
        executions: course.tally.executions,
        points: course.tally.points,
        cut: course.tally.cut,
        threads: course.tally.threads,
        exhaustive: course.exhaustive(session.options),
        reexecution: course.reexecution.word(),
        carrier: course.carrier.word(),
        hash: course.tally.hash,
        seconds: course.spent.as_secs_f64(),
        findings: course.tally.findings,
    }
}

fn remember(session: &Session<'_>, target: &Target, course: &mut Course, verdict: &Verdict) {
    let is_complete = course.tally.explored >= course.budget(session.options);
    let (word, why) = match verdict {
        Verdict::Explored if course.is_searched => ("searched", ""),
        Verdict::Explored if is_complete => ("explored", ""),
        Verdict::Explored | Verdict::NotRun { .. } => ("", ""),
        Verdict::SingleThreaded => ("single-threaded", ""),
        Verdict::NotTestable { why } => ("not testable", why.as_str()),
    };
    course.tally.verdict = word.to_owned();
    course.tally.why = why.to_owned();
    session.remember(target, course.tally.clone(), true);
}

/// The runtime counts occurrences by kind: where a kind has one finding, they are its own.
fn settle_counts(session: &Session<'_>, course: &Course) {
    let mut found = session.found();
    for &kind in Kind::ALL {
        let of_kind: Vec<&String> = course
            .tally
            .findings
            .iter()
            .filter(|id| id.starts_with(kind.word()))
            .collect();
        if let [id] = of_kind[..]
            && let Some(finding) = found.reported.get_mut(id)
        {
            finding.count = finding.count.max(course.occurrences[kind as usize]);
        }
    }
}

fn notes(session: &Session<'_>, target: &Target, course: &Course, verdict: &Verdict) {
    for words in verdict::conditions_in_words(course.conditions) {
        session.note(target, words.to_owned());
    }
    let is_slow = course.reexecution == Reexecution::Fork && *verdict == Verdict::Explored;
    if is_slow && !course.syscalls.is_empty() {
        let text = format!(
            "every execution is a process of its own, which is slow, because of system calls \
             that cannot be undone: {}",
            verdict::calls_in_words(&course.syscalls)
        );
        session.note(target, text);
    }
    if course.stray_panics > 0 {
        let text = format!(
            "{} panics in threads that nobody joined",
            course.stray_panics
        );
        session.note(target, text);
    }
    let is_weak = session.options.memory_model == Memory::Weak;
    if is_weak && !target.unseen_synchronisation.is_empty() {
        let text = "no old value was read, because code that was not instrumented may tell \
                    threads of newer ones";
        session.note(target, text.to_owned());
    }
    match (course.exhaustive(session.options), course.searched) {
        (Some(_), Some(Searched::All { .. })) => session.note(
            target,
            "exhaustive: everything was run that can happen".to_owned(),
        ),
        // Without a preemption, little can happen.
        (Some(0), _) if !course.is_searched => {}
        (Some(preemptions), _) => {
            let plural = if preemptions == 1 { "" } else { "s" };
            let text = format!(
                "exhaustive up to {preemptions} preemption{plural}: everything was run that can \
                 happen with no more"
            );
            session.note(target, text);
        }
        (None, Some(_)) if course.is_searched && is_weak => session.note(
            target,
            "the search has ended, but it reads the newest values only, so that it is not \
             exhaustive with weak memory"
                .to_owned(),
        ),
        (None, Some(_)) if course.is_searched => session.note(
            target,
            "the search has ended, but not everything was under control, so that it may not be \
             exhaustive"
                .to_owned(),
        ),
        (None, _) => {}
    }
    let tally = &course.tally;
    if tally.cut > 0 {
        let text = format!(
            "{} of {} executions were ended for their length before the test was through; more \
             is allowed with `--max-points`",
            tally.cut, tally.executions
        );
        session.note(target, text);
    }
}
