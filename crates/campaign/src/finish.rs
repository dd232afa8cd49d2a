//! What is left to do when a test has its verdict.

use raddle_abi::finding::Kind;
use raddle_abi::plan::{Memory, Reexecution};
use raddle_trace::results::TestOutcome;
use raddle_trace::runner::{ExecutionOutcome, OutcomeEnd, Searched};

use crate::course::Course;
use crate::exhaustiveness;
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
    let verdict = match verdict {
        Verdict::Explored if course.is_all_cut() => Verdict::NotTestable {
            why: verdict::ALL_CUT.to_owned(),
        },
        verdict => verdict,
    };
    notes(session, target, &course, &verdict);
    unconfirmed(session, target, &course);
    if let Some(prediction) = session.options.prediction
        && verdict == Verdict::Explored
    {
        seen::conclude(session, target, &course, prediction);
    }
    related(session, target, &course);
    settle_counts(session, &course);
    let outcomes = outcomes(std::mem::take(&mut course.outcomes));
    if !outcomes.is_empty() {
        session.note(target, outcomes_in_words(&outcomes));
    }
    if course.turns > 0 {
        remember(session, target, &mut course, &verdict);
    }
    let (executions, points, cut) = course.counts();
    TestResult {
        index: course.index,
        test: target.name.clone(),
        target: target.target.clone(),
        verdict,
        executions,
        points,
        cut,
        threads: course.tally.threads,
        exhaustive: exhaustiveness::bound(&course, target, session.options),
        is_complete: exhaustiveness::is_complete(&course, target, session.options),
        reexecution: course.reexecution.word(),
        carrier: course.carrier.word(),
        hash: course.tally.hash,
        seconds: course.spent.as_secs_f64(),
        findings: course.tally.findings,
        timing: course.tally.timing,
        ignored: course.tally.ignored,
        outcomes,
    }
}

/// What `--outcomes` lists, the most frequent first.
fn outcomes(mut outcomes: Vec<ExecutionOutcome>) -> Vec<TestOutcome> {
    outcomes.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.cmp(other)));
    let listed = outcomes.into_iter().map(|outcome| TestOutcome {
        end: match outcome.end {
            OutcomeEnd::Exit(code) => format!("exit {code}"),
            OutcomeEnd::Finding => "finding".to_owned(),
            OutcomeEnd::Cut => "cut".to_owned(),
        },
        output: String::from_utf8_lossy(&outcome.output).into_owned(),
        executions: outcome.count,
    });
    listed.collect()
}

/// A sentence about the outcomes.
fn outcomes_in_words(outcomes: &[TestOutcome]) -> String {
    let lines = outcomes.iter().map(|outcome| {
        let TestOutcome {
            end,
            output,
            executions,
        } = outcome;
        format!("\n  {executions} times, {end}: {}", output.trim_end())
    });
    let lines: String = lines.collect();
    format!("{} different outcomes{lines}", outcomes.len())
}

fn remember(session: &Session<'_>, target: &Target, course: &mut Course, verdict: &Verdict) {
    let is_complete = course.tally.explored >= course.budget(session.options);
    let (word, why) = match verdict {
        Verdict::Explored if course.is_searched => ("searched", ""),
        Verdict::Explored if is_complete => ("explored", ""),
        Verdict::Explored | Verdict::NotRun { .. } => ("", ""),
        Verdict::SingleThreaded => ("single-threaded", ""),
        Verdict::Failed { why } => ("failed", why.as_str()),
        // More may be allowed the next time.
        Verdict::NotTestable { .. } if course.is_all_cut() => ("", ""),
        Verdict::NotTestable { why } => ("not testable", why.as_str()),
    };
    course.tally.verdict = word.to_owned();
    course.tally.why = why.to_owned();
    course.tally.searched = Searched::word(course.searched);
    course.tally.conditions = course.conditions;
    course.tally.reexecution = course.reexecution as u32;
    course.tally.carrier = course.carrier as u32;
    session.remember(target, course.tally.clone(), true);
}

/// Tells what was seen and not confirmed, unless it was confirmed in the meantime.
fn unconfirmed(session: &Session<'_>, target: &Target, course: &Course) {
    for (id, sentence) in &course.tally.unconfirmed {
        let is_settled = session.found().is_settled(id);
        if !is_settled {
            session.note(target, sentence.clone());
        }
    }
}

/// Tells how many others were seen that have the cause of a reported one.
fn related(session: &Session<'_>, target: &Target, course: &Course) {
    let found = session.found();
    let own = |id: &&String| {
        let finding = found.reported.get(*id);
        finding
            .is_some_and(|finding| finding.test == target.name && finding.target == target.target)
    };
    let sentences: Vec<String> = course
        .tally
        .findings
        .iter()
        .filter(own)
        .filter_map(|id| {
            let all = found.members.values().filter(|name| *name == id).count();
            let others = all.checked_sub(1).filter(|&others| others > 0)?;
            let kind = found.reported.get(id)?.kind.word();
            let (s, have) = if others == 1 {
                ("", "has")
            } else {
                ("s", "have")
            };
            Some(format!(
                "{others} other {kind}{s} {have} the same cause as {id}"
            ))
        })
        .collect();
    drop(found);
    for sentence in sentences {
        session.note(target, sentence);
    }
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
    if let Some(words) = exhaustiveness::in_words(course, target, session.options) {
        session.note(target, words);
    }
    let (executions, _, cut) = course.counts();
    if cut > 0 && !course.is_all_cut() {
        let text = format!(
            "{} of {} executions were ended for their length before the test was through; more \
             is allowed with `--max-points`",
            cut, executions
        );
        session.note(target, text);
    }
}
