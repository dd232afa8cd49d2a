//! Runs the tests that were written as anybody's tests are: what fails there is confirmed,
//! explained and stored, and nothing else is reported.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use raddle_abi::finding::Kind;
use raddle_campaign::{self as campaign, Options, Store, Verdict};
use raddle_report::{Conclusion, Event, GeneratedTest};
use raddle_trace::finding::Finding;

use crate::exit::{Exit, Failure};
use crate::scratch::{self, Scratch};
use crate::session::Session;
use crate::stored_flags::StoredFlags;

/// Time for running the tests that fail.
const CONFIRMATION: Duration = Duration::from_secs(20);

/// What running the tests came to.
#[derive(Default)]
pub(super) struct Confirmed {
    /// Ids of findings that need threads.
    pub findings: Vec<String>,
    /// Tests that fail without any concurrency.
    pub sequential: usize,
    /// Tests that do not show what they were written for.
    pub unconfirmed: usize,
    /// Numbers of the tests that show what they are about, be it something that the user ignores.
    pub settled: BTreeSet<usize>,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
}

/// Runs the tests; those that fail are shown, with what was found. What does not compile, run or fail is told and passed
/// over.
pub(super) fn confirm(
    session: &mut Session,
    scratch: &Scratch,
    tests: &[(usize, GeneratedTest)],
) -> Result<Confirmed, Failure> {
    let mut unique: Vec<&(usize, GeneratedTest)> = Vec::new();
    for one in tests {
        if unique.iter().all(|(_, known)| known.name != one.1.name) {
            unique.push(one);
        }
    }
    let sources: Vec<&GeneratedTest> = unique.iter().map(|(_, test)| test).collect();
    let file = scratch.write_tests(&source(&sources))?;
    session.flags.bin.clear();
    session.flags.test = vec![scratch::TESTS.to_owned()];
    let targets = match session.build(&[]) {
        Ok(targets) => targets,
        Err(failure) if failure.exit == Exit::ProgramBroken => {
            session.console.note(format!(
                "the test that was written ({}) does not compile, so that what it is about is not reported",
                file.display()
            ));
            return Ok(Confirmed {
                unconfirmed: unique.len(),
                ..Confirmed::default()
            });
        }
        Err(failure) => return Err(failure),
    };
    let results = scratch.results();
    let results = results.unwrap_or_else(|| session.metadata.results());
    let options = Options {
        time: CONFIRMATION,
        // The test was made for one.
        max_findings: 1,
        results: results.clone(),
        ..session.campaign_options()
    };
    let stored = StoredFlags::new(&session.flags, &[]);
    let mut shown = Shown {
        tests: &sources,
        results,
        failed: Vec::new(),
        alone: Vec::new(),
        ignored: Vec::new(),
    };
    let summary = super::super::test::explore_with(
        &mut session.console,
        &session.stop,
        &targets,
        &options,
        &stored,
        &mut |event| shown.note(event),
    );
    let mut confirmed = Confirmed::default();
    match summary {
        Ok(summary) => {
            confirmed.is_interrupted = summary.conclusion == Conclusion::Interrupted;
            session.console.show(&Event::Summary(summary));
        }
        // What was found matters more than why the search ended.
        Err(failure) if failure.exit == Exit::Findings => {}
        Err(failure) => return Err(failure),
    }
    for (number, test) in unique {
        let file = file.display().to_string();
        match shown.of(test) {
            Some((finding, schedule)) => {
                confirmed.settled.insert(*number);
                match finding.is_empty() {
                    true => confirmed.sequential += 1,
                    false => confirmed.findings.push(finding.clone()),
                }
                session
                    .console
                    .show(&Event::Generated(Box::new(GeneratedTest {
                        file,
                        finding,
                        schedule,
                        ..test.clone()
                    })));
            }
            None if shown.ignored.iter().any(|name| is_of(name, test)) => {
                confirmed.settled.insert(*number);
            }
            None => {
                confirmed.unconfirmed += 1;
                session.console.note(format!(
                    "{}: {}; the test that was written for it ({file}) does not show it, so it is not \
                     reported",
                    test.kind, test.text
                ));
            }
        }
    }
    Ok(confirmed)
}

/// What the tests show, by the names under which they were run.
struct Shown<'a> {
    tests: &'a [&'a GeneratedTest],
    /// Where findings are kept.
    results: PathBuf,
    /// Those with a finding: its id, and its schedule.
    failed: Vec<(String, String, String)>,
    /// Those that fail without any interleaving.
    alone: Vec<String>,
    /// Those whose finding the user ignores.
    ignored: Vec<String>,
}

impl Shown<'_> {
    fn note(&mut self, event: &mut campaign::Event) {
        match event {
            campaign::Event::Finding(finding) => {
                self.rename(finding);
                self.failed.push((
                    finding.test.clone(),
                    finding.id.clone(),
                    finding.schedule.clone(),
                ));
            }
            campaign::Event::Ignored { finding, .. } => self.ignored.push(finding.test.clone()),
            campaign::Event::TestDone(result) => {
                // A test that always fails is nothing to explore, and just what was said.
                if let Verdict::Failed { .. } = &result.verdict {
                    self.alone.push(result.test.clone());
                }
            }
            _ => {}
        }
    }

    /// An assertion of the test fails if results are what is wrong, or no thread is needed.
    fn rename(&self, finding: &mut Finding) {
        let written = self.tests.iter().find(|test| is_of(&finding.test, test));
        let kind = written.and_then(|test| Kind::from_word(test.kind));
        if let Some(kind) = kind.filter(|_| finding.kind == Kind::Panic) {
            finding.kind = kind;
            if let Ok(store) = Store::open(&self.results) {
                // It is stored under what it was taken for, and the report is what counts.
                drop(store.save_finding(finding));
            }
        }
    }

    /// The finding of a test, and its schedule; nothing is in them if it needs no threads.
    fn of(&self, test: &GeneratedTest) -> Option<(String, String)> {
        let found = self.failed.iter().find(|(name, ..)| is_of(name, test));
        if let Some((_, finding, schedule)) = found {
            return Some((finding.clone(), schedule.clone()));
        }
        let is_sequential = test.kind == Kind::Sequential.word();
        let is_alone = self.alone.iter().any(|name| is_of(name, test));
        (is_sequential && is_alone).then(Default::default)
    }
}

fn is_of(name: &str, test: &GeneratedTest) -> bool {
    name.ends_with(&test.name)
}

fn source(tests: &[&GeneratedTest]) -> String {
    let source: String = match tests {
        [only] => only.source.clone(),
        // Each may bring functions of its own.
        several => several
            .iter()
            .map(|test| format!("mod {} {{\n{}}}\n\n", test.name, test.source))
            .collect(),
    };
    format!("{}\n", source.trim_end())
}
