//! Runs the tests that were written as anybody's tests are: what fails there is confirmed,
//! explained and stored, and nothing else is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_abi::finding::Kind;
use raddle_campaign::{self as campaign, Options, Store, Verdict};
use raddle_report::{Conclusion, Event, GeneratedTest};
use raddle_trace::finding::Finding;

use crate::exit::{Exit, Failure};
use crate::known_commands::KnownCommand;
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
    /// Indices of the tests that show what they are about, be it something that the user ignores.
    pub settled: BTreeSet<usize>,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
}

/// Runs the tests; those that fail are shown, with what was found. What does not compile, run or fail is told and passed
/// over.
pub(super) fn confirm(
    session: &mut Session,
    scratch: &Scratch,
    tests: &[&GeneratedTest],
) -> Result<Confirmed, Failure> {
    let paths = test_paths(tests);
    let source = source(tests, &paths);
    let file = scratch.write_tests(&source)?;
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
                unconfirmed: tests.len(),
                ..Confirmed::default()
            });
        }
        Err(failure) => return Err(failure),
    };
    let results = scratch.results().map(Path::to_owned);
    let results = results.unwrap_or_else(|| session.metadata.results());
    let mut shown = Shown {
        tests: paths.iter().cloned().zip(tests.iter().copied()).collect(),
        results: results.clone(),
        findings: BTreeMap::new(),
        by_test: BTreeMap::new(),
        alone: BTreeSet::new(),
        ignored: BTreeMap::new(),
        told: BTreeSet::new(),
    };
    let sought = targets.iter().map(|target| {
        let test = shown.tests.get(&target.name);
        test.and_then(|test| shown_as(test))
    });
    let options = Options {
        time: CONFIRMATION,
        // The test was made for one.
        max_findings: 1,
        sought: sought.collect(),
        results,
        ..session.campaign_options()
    };
    let stored = StoredFlags::new(&session.flags, &[]);
    let summary = super::super::test::explore_with(
        &mut session.console,
        &session.stop,
        &targets,
        &options,
        &stored,
        &mut |event| shown.note(event),
    );
    for id in shown.findings.keys() {
        scratch.keep_tests(id, &source)?;
    }
    // The user replays them there.
    if let Some(directory) = scratch.user_root() {
        KnownCommand {
            directory,
            program: None,
            flags: &stored,
        }
        .remember();
    }
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
    for (index, (test, path)) in tests.iter().zip(&paths).enumerate() {
        let file = file.display().to_string();
        match shown.take(path, test) {
            Outcome::Finding { id, schedule } => {
                confirmed.settled.insert(index);
                confirmed.findings.push(id.clone());
                session
                    .console
                    .show(&Event::Generated(Box::new(GeneratedTest {
                        file,
                        finding: id,
                        schedule,
                        ..(*test).clone()
                    })));
            }
            Outcome::Sequential => {
                confirmed.settled.insert(index);
                confirmed.sequential += 1;
                session
                    .console
                    .show(&Event::Generated(Box::new(GeneratedTest {
                        file,
                        ..(*test).clone()
                    })));
            }
            Outcome::Settled => drop(confirmed.settled.insert(index)),
            Outcome::Nothing => {
                confirmed.unconfirmed += 1;
                session.console.note(format!(
                    "{}: {}; the test that was written for it ({file}) does not show it, so it is not \
                     reported",
                    test.kind, test.text
                ));
            }
        }
    }
    confirmed.findings.extend(shown.others());
    Ok(confirmed)
}

/// What a written test showed.
enum Outcome {
    /// What it was written for: the finding and its schedule.
    Finding { id: String, schedule: String },
    /// It fails without any interleaving, as it should.
    Sequential,
    /// A finding that another test stands for, or that the user ignores.
    Settled,
    /// Not what it was written for.
    Nothing,
}

/// What the tests show, by the names under which they are run.
struct Shown<'a> {
    /// All tests.
    tests: BTreeMap<String, &'a GeneratedTest>,
    /// Where findings are kept.
    results: PathBuf,
    /// Findings: the tests that showed them first, and their schedules.
    findings: BTreeMap<String, (String, String)>,
    /// Ids of the findings of each test.
    by_test: BTreeMap<String, Vec<String>>,
    /// Tests that fail without any interleaving.
    alone: BTreeSet<String>,
    /// Kinds of findings that the user ignores, by test.
    ignored: BTreeMap<String, Vec<Kind>>,
    /// Findings for which a test was shown.
    told: BTreeSet<String>,
}

impl Shown<'_> {
    fn note(&mut self, event: &mut campaign::Event) {
        match event {
            campaign::Event::Finding(finding) => {
                self.rename(finding);
                let shown = (finding.test.clone(), finding.schedule.clone());
                self.findings.insert(finding.id.clone(), shown);
                self.add(&finding.test, &finding.id);
            }
            campaign::Event::Ignored { finding, .. } => {
                let kinds = self.ignored.entry(finding.test.clone());
                kinds.or_default().push(finding.kind);
            }
            campaign::Event::TestDone(result) => {
                // A test that always fails is nothing to explore, and just what was said.
                if let Verdict::Failed { .. } = &result.verdict {
                    self.alone.insert(result.test.clone());
                }
                // Those that another test showed first, too.
                for id in &result.findings {
                    self.add(&result.test, id);
                }
                let kinds = result.ignored.iter().filter_map(|id| kind_of(id));
                let ignored = self.ignored.entry(result.test.clone());
                ignored.or_default().extend(kinds);
            }
            _ => {}
        }
    }

    fn add(&mut self, test: &str, id: &str) {
        let ids = self.by_test.entry(test.to_owned()).or_default();
        if !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }

    /// An assertion of the test fails if results are what is wrong, or no thread is needed.
    fn rename(&self, finding: &mut Finding) {
        let written = self.tests.get(&finding.test);
        let kind = written.and_then(|test| Kind::from_word(test.kind));
        if let Some(kind) = kind.filter(|_| finding.kind == Kind::Panic) {
            finding.kind = kind;
            if let Ok(store) = Store::open(&self.results) {
                // It is stored under what it was taken for, and the report is what counts.
                drop(store.save_finding(finding));
            }
        }
    }

    /// What a test showed of what it was written for.
    fn take(&mut self, path: &str, test: &GeneratedTest) -> Outcome {
        let sought = shown_as(test);
        let is_sought = |kind: Kind| sought.is_none_or(|sought| sought == kind);
        let ids = self.by_test.get(path).into_iter().flatten();
        let ids = ids.filter(|id| kind_of(id).is_some_and(is_sought));
        let mut shown = ids.filter_map(|id| Some((id, &self.findings.get(id)?.1)));
        let first = shown.clone().next();
        let new = shown.find(|(id, _)| !self.told.contains(*id));
        if let Some((id, schedule)) = new {
            let (id, schedule) = (id.clone(), schedule.clone());
            self.told.insert(id.clone());
            return Outcome::Finding { id, schedule };
        }
        let mut ignored = self.ignored.get(path).into_iter().flatten();
        if first.is_some() || ignored.any(|kind| is_sought(*kind)) {
            return Outcome::Settled;
        }
        let is_sequential = test.kind == Kind::Sequential.word();
        match is_sequential && self.alone.contains(path) {
            true => Outcome::Sequential,
            false => Outcome::Nothing,
        }
    }
}

impl Shown<'_> {
    /// Findings that no test was written for. Those of the kind that their test was written for are its own: the same failure in
    /// another thread.
    fn others(&self) -> Vec<String> {
        let findings = self.findings.iter();
        let findings = findings.filter(|(id, (test, _))| {
            let sought = self.tests.get(test).and_then(|test| shown_as(test));
            !self.told.contains(*id) && sought.is_some() && sought != kind_of(id)
        });
        findings.map(|(id, _)| id.clone()).collect()
    }
}

/// As what a test shows what it was written for, where only one kind of finding is that: an assertion fails, a panic
/// shows, accesses race.
fn shown_as(test: &GeneratedTest) -> Option<Kind> {
    match Kind::from_word(test.kind)? {
        Kind::Linearizability | Kind::Panic => Some(Kind::Panic),
        Kind::DataRace => Some(Kind::DataRace),
        _ => None,
    }
}

/// The kind that the id of a finding begins with.
fn kind_of(id: &str) -> Option<Kind> {
    Kind::from_word(id.rsplit_once('-')?.0)
}

/// The names under which the tests are run. Each of several stands in a module of its own.
fn test_paths(tests: &[&GeneratedTest]) -> Vec<String> {
    let mut modules = BTreeSet::new();
    let paths = tests.iter().map(|test| match tests.len() {
        1 => test.name.clone(),
        _ => format!("{}::{}", module(&test.name, &mut modules), test.name),
    });
    paths.collect()
}

/// A module for a test with this name that no other one has.
fn module(name: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let free = [name.to_owned()].into_iter().chain(numbered);
    let mut free = free.filter(|module| !taken.contains(module));
    let module = free.next().unwrap_or_else(|| name.to_owned());
    taken.insert(module.clone());
    module
}

fn source(tests: &[&GeneratedTest], paths: &[String]) -> String {
    let one = |(test, path): (&&GeneratedTest, &String)| match path.split_once("::") {
        // Each may bring functions of its own.
        Some((module, _)) => format!("mod {module} {{\n{}}}\n\n", test.source),
        None => test.source.clone(),
    };
    let source: String = tests.iter().zip(paths).map(one).collect();
    format!("{}\n", source.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: &'static str, name: &str) -> GeneratedTest {
        GeneratedTest {
            kind,
            name: name.to_owned(),
            text: String::new(),
            source: format!("#[test]\nfn {name}() {{}}\n"),
            file: String::new(),
            finding: String::new(),
            schedule: String::new(),
            tests: 1,
            seconds: 0.0,
        }
    }

    fn shown<'a>(findings: &[&str], by_test: &[(&str, &[&str])]) -> Shown<'a> {
        let findings = findings.iter().map(|id| {
            let shown = ("results".to_owned(), format!("{id}.schedule"));
            ((*id).to_owned(), shown)
        });
        let by_test = by_test.iter().map(|(test, ids)| {
            let ids = ids.iter().map(|id| (*id).to_owned());
            ((*test).to_owned(), ids.collect())
        });
        Shown {
            tests: BTreeMap::new(),
            results: PathBuf::new(),
            findings: findings.collect(),
            by_test: by_test.collect(),
            alone: BTreeSet::new(),
            ignored: BTreeMap::new(),
            told: BTreeSet::new(),
        }
    }

    #[test]
    fn a_test_shows_what_it_was_written_for() {
        let both = ["data-race-1", "panic-2"];
        let mut shown = shown(&both, &[("results", &both), ("race", &["data-race-1"])]);
        let results = written("linearizability", "results");
        let outcome = shown.take("results", &results);
        assert!(matches!(outcome, Outcome::Finding { id, .. } if id == "panic-2"));
        let outcome = shown.take("race", &written("data-race", "race"));
        assert!(matches!(outcome, Outcome::Finding { id, .. } if id == "data-race-1"));
        // Another test of the same race is none that shows nothing.
        let outcome = shown.take("race", &written("data-race", "race"));
        assert!(matches!(outcome, Outcome::Settled));
        let outcome = shown.take("race", &written("linearizability", "race"));
        assert!(matches!(outcome, Outcome::Nothing));
    }

    #[test]
    fn what_a_test_was_not_written_for_counts_and_its_own_failure_counts_once() {
        let both = ["data-race-1", "panic-2", "panic-3"];
        let results = written("linearizability", "results");
        let mut shown = shown(&both, &[("results", &both)]);
        shown.tests.insert("results".to_owned(), &results);
        shown.take("results", &results);
        assert_eq!(shown.others(), ["data-race-1"]);
    }

    #[test]
    fn tests_with_the_same_name_stand_side_by_side() {
        let (one, other) = (written("data-race", "race"), written("data-race", "race"));
        let paths = test_paths(&[&one, &other]);
        assert_eq!(paths, ["race::race", "race_2::race"]);
        assert!(source(&[&one, &other], &paths).contains("mod race_2 {"));
        assert_eq!(test_paths(&[&one]), ["race"]);
    }
}
