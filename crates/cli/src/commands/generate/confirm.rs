//! Runs the tests that were written as anybody's tests are: what fails there is confirmed,
//! explained and stored, and nothing else is reported.

use std::time::Duration;

use raddle_abi::finding::Kind;
use raddle_campaign::{self as campaign, Options, Store, Verdict};
use raddle_report::{Event, GeneratedTest};

use crate::exit::{Exit, Failure};
use crate::scratch::{self, Scratch};
use crate::session::Session;
use crate::stored_flags::StoredFlags;

/// Time for running the tests that fail.
const CONFIRMATION: Duration = Duration::from_secs(60);

/// How a verdict begins that a test needs no interleaving to fail.
const FAILS_ALONE: &str = "it fails without any interleaving";

/// Runs the tests; those that fail are shown, with what was found.
pub(super) fn confirm(
    session: &mut Session,
    scratch: &Scratch,
    tests: Vec<GeneratedTest>,
) -> Result<Exit, Failure> {
    let mut unique: Vec<GeneratedTest> = Vec::new();
    for test in tests {
        if unique.iter().all(|known| known.name != test.name) {
            unique.push(test);
        }
    }
    let file = scratch.write_tests(&source(&unique))?;
    session.flags.bin.clear();
    session.flags.test = vec![scratch::TESTS.to_owned()];
    let targets = match session.build(&[]) {
        Ok(targets) => targets,
        Err(failure) if failure.exit == Exit::ProgramBroken => {
            session.console.note(format!(
                "the test that was written ({}) does not compile, so that what it is about is not reported",
                file.display()
            ));
            return Ok(Exit::Clean);
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
    let (mut failed, mut alone) = (Vec::new(), Vec::new());
    let exit = super::super::test::explore_with(
        &mut session.console,
        &session.stop,
        &targets,
        &options,
        &stored,
        &mut |event| {
            let finding = match event {
                campaign::Event::Finding(finding) => finding,
                campaign::Event::TestDone(result) => {
                    // A test that always fails is nothing to explore, and just what was said.
                    if let Verdict::NotTestable { why } = &result.verdict
                        && why.starts_with(FAILS_ALONE)
                    {
                        alone.push(result.test.clone());
                    }
                    return;
                }
                _ => return,
            };
            let written = unique.iter().find(|test| is_of(&finding.test, test));
            // An assertion of the test fails if results are what is wrong, or no thread is needed.
            let kind = written.and_then(|test| Kind::from_word(test.kind));
            if let Some(kind) = kind.filter(|_| finding.kind == Kind::Panic) {
                finding.kind = kind;
                if let Ok(store) = Store::open(&results) {
                    // It is stored under what it was taken for, and the report is what counts.
                    drop(store.save_finding(finding));
                }
            }
            failed.push((
                finding.test.clone(),
                finding.id.clone(),
                finding.schedule.clone(),
            ));
        },
    );
    let mut has_shown = false;
    for test in unique {
        let file = file.display().to_string();
        let found = failed.iter().find(|(name, ..)| is_of(name, &test));
        let found = found.cloned();
        let is_sequential = test.kind == Kind::Sequential.word();
        let found = found.or_else(|| {
            let name = alone.iter().find(|name| is_of(name, &test));
            let name = name.filter(|_| is_sequential)?;
            Some((name.clone(), String::new(), String::new()))
        });
        match found {
            Some((_, finding, schedule)) => {
                has_shown = true;
                session
                    .console
                    .show(&Event::Generated(Box::new(GeneratedTest {
                        file,
                        finding,
                        schedule,
                        ..test
                    })));
            }
            None => session.console.note(format!(
                "{}: {}; the test that was written for it ({file}) does not show it, so it is not \
                 reported",
                test.kind, test.text
            )),
        }
    }
    match exit {
        Ok(Exit::Clean) if has_shown => Ok(Exit::Findings),
        exit => exit,
    }
}

fn is_of(name: &str, test: &GeneratedTest) -> bool {
    name.ends_with(&test.name)
}

fn source(tests: &[GeneratedTest]) -> String {
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
