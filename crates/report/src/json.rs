//! Machine output: one JSON object per line. Part of the public interface: fields are added,
//! never renamed or removed, within one version.

use std::io::{self, Write};

use raddle_trace::finding::{Finding, Place, ScheduleSize, Violation};
use raddle_trace::results::{Predicted, SeenViolation, TestOutcome};
use raddle_trace::visible::is_hidden;
use serde::Serialize;

use crate::{
    Check, Comparison, Event, GeneratedTest, ListedTest, Note, Operation, PairCoverage, Replay,
    Reporter, Summary, TestResult, Trial,
};

/// Version of the lines, named by the first of them.
const VERSION: u32 = 1;

/// Writes events as JSON lines. Progress and status are for people and left out.
pub struct Json<W> {
    out: W,
}

impl<W: Write> Json<W> {
    /// Writes to `out`.
    pub const fn new(out: W) -> Self {
        Self { out }
    }
}

/// JSON with everything escaped that a terminal would obey; such characters stand in strings only.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if !is_hidden(character) {
            escaped.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    }
    escaped
}

impl<W: Write> Reporter for Json<W> {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        let Some(line) = Line::of(event) else {
            return Ok(());
        };
        let mut text = serde_json::to_string(&line).map_err(io::Error::other)?;
        // What a terminal obeys is escaped in JSON's way where JSON does not demand it.
        if text.contains(is_hidden) {
            text = escaped(&text);
        }
        text.push('\n');
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

#[derive(Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line<'a> {
    Start {
        version: u32,
    },
    Finding(FindingLine<'a>),
    Note {
        test: &'a str,
        target: &'a str,
        text: &'a str,
    },
    Violation {
        test: &'a str,
        target: &'a str,
        engine: &'a str,
        pattern: u8,
        set: &'a str,
        units: Vec<SiteField<'a>>,
        first_execution: u64,
        hits: u64,
        tries: u64,
    },
    Prediction {
        test: &'a str,
        target: &'a str,
        engine: &'a str,
        predicted: u64,
        real: u64,
        complete: bool,
        tries: u64,
        hits: u64,
        executions: u64,
        seconds: f64,
    },
    Test {
        test: &'a str,
        target: &'a str,
        verdict: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
        executions: u64,
        points: u64,
        cut: u64,
        threads: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        exhaustive: Option<u32>,
        complete: bool,
        reexecution: &'a str,
        carrier: &'a str,
        hash: String,
        seconds: f64,
        findings: &'a [String],
        timing: &'a [String],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        outcomes: &'a [TestOutcome],
    },
    Listed {
        test: &'a str,
        target: &'a str,
        package: &'a str,
        ignored: bool,
    },
    Operation(&'a Operation),
    Generated(&'a GeneratedTest),
    Coverage(&'a PairCoverage),
    Trial(&'a Trial),
    Comparison(&'a Comparison),
    Replay {
        id: &'a str,
        runs: u64,
        reproduced: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        diverged: Option<&'a str>,
        others: &'a [String],
        exit_code: u8,
    },
    Check {
        name: &'a str,
        result: &'static str,
        text: &'a str,
    },
    Summary {
        executions: u64,
        points: u64,
        seconds: f64,
        findings: usize,
        timing: usize,
        ignored: usize,
        explored: usize,
        single_threaded: usize,
        not_testable: usize,
        not_run: usize,
        interrupted: bool,
        cut: u64,
        memory_model: &'static str,
        failed: usize,
        unconfirmed: usize,
        internal_errors: usize,
        conclusion: &'static str,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        uninstrumented: &'a [String],
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<u8>,
    },
}

#[derive(Serialize)]
struct FindingLine<'a> {
    kind: &'static str,
    id: &'a str,
    test: &'a str,
    title: &'a str,
    sites: Vec<SiteField<'a>>,
    schedule: &'a str,
    confirmed: bool,
    executions: u64,
    target: &'a str,
    cause: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    count: u64,
    output: &'a str,
    stacks: Vec<StackField<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<ScheduleSize>,
    #[serde(flatten)]
    violation: Option<ViolationFields<'a>>,
    timing: Option<&'a str>,
}

#[derive(Serialize)]
struct ViolationFields<'a> {
    pattern: u8,
    set: &'a str,
    fields: &'a [String],
    units: Vec<SiteField<'a>>,
    outcome: &'a str,
    serial: Vec<SerialField<'a>>,
    fix: &'a str,
}

#[derive(Serialize)]
struct SerialField<'a> {
    first: &'a str,
    outcome: &'a str,
}

impl<'a> ViolationFields<'a> {
    fn of(violation: &'a Violation) -> Self {
        let serial = violation.serial.iter().map(|serial| SerialField {
            first: &serial.first,
            outcome: &serial.outcome,
        });
        Self {
            pattern: violation.pattern,
            set: &violation.set,
            fields: &violation.fields,
            units: violation.units.iter().map(SiteField::of).collect(),
            outcome: &violation.observed,
            serial: serial.collect(),
            fix: &violation.fix,
        }
    }
}

#[derive(Serialize)]
struct SiteField<'a> {
    file: &'a str,
    line: u32,
    function: &'a str,
}

#[derive(Serialize)]
struct StackField<'a> {
    heading: &'a str,
    thread: usize,
    frames: Vec<SiteField<'a>>,
}

impl<'a> SiteField<'a> {
    fn of(place: &'a Place) -> Self {
        Self {
            file: &place.file,
            line: place.line,
            function: &place.function,
        }
    }
}

impl<'a> FindingLine<'a> {
    fn of(finding: &'a Finding) -> Self {
        let stacks = finding.stacks.iter().map(|stack| StackField {
            heading: &stack.heading,
            thread: stack.thread,
            frames: stack.frames.iter().map(SiteField::of).collect(),
        });
        Self {
            kind: finding.kind.word(),
            id: &finding.id,
            test: &finding.test,
            title: &finding.title,
            sites: finding.sites.iter().map(SiteField::of).collect(),
            schedule: &finding.schedule,
            confirmed: finding.confirmed,
            executions: finding.executions,
            target: &finding.target,
            cause: &finding.cause,
            message: &finding.message,
            count: finding.count,
            output: &finding.output,
            stacks: stacks.collect(),
            size: finding.size,
            violation: finding.violation.as_ref().map(ViolationFields::of),
            timing: finding.timing.as_deref(),
        }
    }
}

impl<'a> Line<'a> {
    fn of(event: &'a Event) -> Option<Self> {
        Some(match event {
            Event::Start => Self::Start { version: VERSION },
            Event::Status { .. } | Event::Progress(_) => return None,
            Event::Finding(finding) => Self::Finding(FindingLine::of(finding)),
            Event::Note(Note {
                test, target, text, ..
            }) => Self::Note { test, target, text },
            Event::Violation(seen) => Self::violation(seen),
            Event::Predicted(predicted) => Self::prediction(predicted),
            Event::Test(test) => Self::test(test),
            Event::Listed(ListedTest {
                test,
                target,
                package,
                ignored,
            }) => Self::Listed {
                test,
                target,
                package,
                ignored: *ignored,
            },
            Event::Operation(operation) => Self::Operation(operation),
            Event::Generated(test) => Self::Generated(test),
            Event::Coverage(coverage) => Self::Coverage(coverage),
            Event::Trial(trial) => Self::Trial(trial),
            Event::Comparison(comparison) => Self::Comparison(comparison),
            Event::Replay(replay) => Self::replay(replay),
            Event::Check(Check { name, result, text }) => Self::Check {
                name,
                result: result.word(),
                text,
            },
            Event::Summary(summary) => Self::summary(summary),
        })
    }

    fn violation(seen: &'a SeenViolation) -> Self {
        Self::Violation {
            test: &seen.test,
            target: &seen.target,
            engine: seen.engine,
            pattern: seen.pattern,
            set: &seen.set,
            units: seen.units.iter().map(SiteField::of).collect(),
            first_execution: seen.first_execution,
            hits: seen.hits,
            tries: seen.tries,
        }
    }

    fn prediction(predicted: &'a Predicted) -> Self {
        Self::Prediction {
            test: &predicted.test,
            target: &predicted.target,
            engine: predicted.engine,
            predicted: predicted.predicted,
            real: predicted.real,
            complete: predicted.is_complete,
            tries: predicted.tries,
            hits: predicted.hits,
            executions: predicted.executions,
            seconds: rounded(predicted.seconds),
        }
    }

    fn test(report: &'a TestResult) -> Self {
        Self::Test {
            test: &report.test,
            target: &report.target,
            verdict: report.verdict.word(),
            why: report.verdict.why(),
            executions: report.executions,
            points: report.points,
            cut: report.cut,
            threads: report.threads,
            exhaustive: report.exhaustive,
            complete: report.is_complete,
            reexecution: report.reexecution,
            carrier: report.carrier,
            hash: format!("{:016x}", report.hash),
            seconds: rounded(report.seconds),
            findings: &report.findings,
            timing: &report.timing,
            outcomes: &report.outcomes,
        }
    }

    fn replay(replay: &'a Replay) -> Self {
        Self::Replay {
            id: &replay.id,
            runs: replay.runs,
            reproduced: replay.reproduced,
            diverged: replay.diverged.as_deref(),
            others: &replay.others,
            exit_code: replay.exit,
        }
    }

    fn summary(summary: &'a Summary) -> Self {
        Self::Summary {
            executions: summary.totals.executions,
            points: summary.totals.points,
            seconds: rounded(summary.totals.seconds),
            findings: summary.findings,
            timing: summary.timing,
            ignored: summary.ignored,
            explored: summary.totals.explored,
            single_threaded: summary.totals.single_threaded,
            not_testable: summary.totals.not_testable,
            not_run: summary.totals.not_run,
            interrupted: summary.totals.interrupted,
            cut: summary.totals.cut,
            memory_model: match summary.totals.is_weak {
                true => "weak",
                false => "sc",
            },
            failed: summary.totals.failed,
            unconfirmed: summary.totals.unconfirmed,
            internal_errors: summary.totals.internal_errors,
            conclusion: summary.conclusion.word(),
            uninstrumented: &summary.uninstrumented,
            exit_code: summary.exit,
        }
    }
}

/// Milliseconds are enough.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::Json;
    use crate::{Reporter, sample};

    #[test]
    fn every_event_becomes_one_line() {
        let mut out = Vec::new();
        let mut json = Json::new(&mut out);
        for event in sample::events() {
            json.report(&event).unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        insta::assert_snapshot!(text);
    }
}
