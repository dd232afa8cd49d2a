//! The exhaustive search sees exactly what an independent interpreter says can happen.
//!
//! The variable `E2E_PROGRAMS` says how many programs there are, and `E2E_FIRST_SEED` which ones.

use std::collections::BTreeSet;
use std::fs;

use raddle_e2e::outcomes::{Language, Outcomes, Program, c_source, draw, rust_source};
use raddle_e2e::{Fixture, Run, TestLine, Tool};

/// Programs in each language, unless the variable `E2E_PROGRAMS` says how many in both.
const PROGRAMS: usize = 150;
/// Most executions of a program. A search that needs more has not ended.
const EXECUTIONS: u64 = 30_000;
/// Programs per file: compilers take longer than twice as long for twice as much.
const PER_FILE: usize = 75;
/// The first of the seeds that are drawn from, one per file, unless the variable `E2E_FIRST_SEED` says another.
const FIRST_SEED: u64 = 1;

fn first_seed() -> u64 {
    let seed = std::env::var("E2E_FIRST_SEED");
    seed.map_or(FIRST_SEED, |text| {
        text.parse().expect("E2E_FIRST_SEED is a number")
    })
}

fn programs() -> usize {
    let number = std::env::var("E2E_PROGRAMS");
    number.map_or(PROGRAMS, |text| {
        text.parse::<usize>().expect("E2E_PROGRAMS is a number") / 2
    })
}

/// What was found about programs.
#[derive(Debug, Default)]
struct Tally {
    /// The search claims to be complete, and saw exactly what can happen.
    proven: usize,
    /// The search has ended, saw exactly what can happen, and claims nothing.
    unclaimed: usize,
    /// The search has not ended, and saw nothing that cannot happen.
    unfinished: usize,
    disagree: Vec<String>,
}

impl Tally {
    fn compare(&mut self, name: &str, test: &TestLine, (program, expected): &(Program, Outcomes)) {
        let seen: BTreeSet<(&str, &str)> = test
            .outcomes
            .iter()
            .map(|outcome| (outcome.end.as_str(), outcome.output.as_str()))
            .collect();
        let printed = expected
            .printed
            .iter()
            .map(|text| ("exit 0", text.as_str()));
        let waiting = expected
            .deadlocks
            .iter()
            .map(|text| ("finding", text.as_str()));
        let possible: BTreeSet<(&str, &str)> = printed.chain(waiting).collect();
        let has_ended = test.complete || test.executions < EXECUTIONS && test.verdict != "failed";
        let agrees = match has_ended {
            true => seen == possible,
            false => seen.is_subset(&possible),
        };
        match (agrees, has_ended, test.complete) {
            (true, true, true) => self.proven += 1,
            (true, true, false) => self.unclaimed += 1,
            (true, false, _) => self.unfinished += 1,
            (false, ..) => {
                let missing: Vec<_> = possible.difference(&seen).collect();
                let extra: Vec<_> = seen.difference(&possible).collect();
                self.disagree.push(format!(
                    "{name}: missing {missing:?}, not possible {extra:?}, {program:?}"
                ));
            }
        }
    }

    fn assert_all_agree(&self, count: usize) {
        let Self {
            proven,
            unclaimed,
            unfinished,
            disagree,
        } = self;
        println!(
            "{count} programs: {proven} searches are complete and agree, {unclaimed} agree without a claim, \
             {unfinished} have not ended after {EXECUTIONS} executions"
        );
        assert!(disagree.is_empty(), "{disagree:#?}");
        assert_eq!(proven + unclaimed + unfinished, count);
        assert!(proven * 10 >= count * 8, "too few searches are complete");
    }
}

fn search(fixture: &Fixture, rest: &[&str]) -> Run {
    let options = [
        "test",
        "--outcomes",
        "--strategy",
        "exhaustive(60)",
        "--executions",
        &EXECUTIONS.to_string(),
        "--races",
        "off",
        "--heap",
        "off",
        "--time",
        "600s",
        "--message-format",
        "json",
    ];
    let ended = Tool::new(fixture.path(), options.iter().chain(rest)).run();
    // Deadlocks are findings, or failures.
    let code = ended.status.code();
    let code = code.filter(|code| [0, 100, 101].contains(code));
    let code = code.unwrap_or_else(|| panic!("{ended:#?}"));
    Run::of(ended, code)
}

/// Seeds and numbers of programs that make up `count`.
fn files(count: usize) -> impl Iterator<Item = (u64, usize)> {
    let first = first_seed();
    (0..count.div_ceil(PER_FILE))
        .map(move |file| (first + file as u64, PER_FILE.min(count - file * PER_FILE)))
}

#[test]
fn programs_in_c_come_to_all_that_can_happen() {
    let mut tally = Tally::default();
    for (seed, count) in files(programs()) {
        let drawn = draw(seed, count, Language::C);
        let fixture = Fixture::special("points");
        let sources: Vec<_> = drawn.iter().map(|(program, _)| program.clone()).collect();
        fs::write(fixture.path().join("drawn.c"), c_source(&sources)).expect("it can be written");
        fixture.compile("drawn.c", "-O0");
        for (number, drawn) in drawn.iter().enumerate() {
            let run = search(&fixture, &["./prog", &number.to_string()]);
            tally.compare(
                &format!("seed {seed}, C program {number}"),
                run.tests()[0],
                drawn,
            );
        }
    }
    tally.assert_all_agree(programs());
}

#[test]
fn programs_in_rust_come_to_all_that_can_happen() {
    let mut tally = Tally::default();
    for (seed, count) in files(programs()) {
        let drawn = draw(seed, count, Language::Rust);
        let fixture = Fixture::special("outcomes");
        let sources: Vec<_> = drawn.iter().map(|(program, _)| program.clone()).collect();
        fs::write(fixture.path().join("src/lib.rs"), rust_source(&sources))
            .expect("it can be written");
        let run = search(&fixture, &[]);
        for (number, drawn) in drawn.iter().enumerate() {
            let test = run.test(&format!("p{number}::runs"));
            tally.compare(&format!("seed {seed}, Rust program {number}"), test, drawn);
        }
    }
    tally.assert_all_agree(programs());
}
