//! The exhaustive search sees exactly what an independent interpreter says can happen.
//!
//! The variable `E2E_PROGRAMS` says how many programs there are.

use std::collections::BTreeSet;
use std::fs;

use raddle_e2e::outcomes::{Features, Outcomes, c_source, draw, rust_source};
use raddle_e2e::{Fixture, Run, TestLine, Tool};

/// Programs in each language, unless the variable `E2E_PROGRAMS` says how many in both.
const PROGRAMS: usize = 40;
/// Programs per file: compilers take longer than twice as long for twice as much.
const PER_FILE: usize = 150;
/// The first of the seeds that are drawn from, one per file.
const SEED: u64 = 1;

fn programs() -> usize {
    let number = std::env::var("E2E_PROGRAMS");
    number.map_or(PROGRAMS, |text| {
        text.parse::<usize>().expect("E2E_PROGRAMS is a number") / 2
    })
}

/// What was found about programs.
#[derive(Debug, Default)]
struct Tally {
    agree: usize,
    /// Of these, the search did not claim to be complete.
    unclaimed: usize,
    disagree: Vec<String>,
}

impl Tally {
    fn compare(&mut self, name: &str, test: &TestLine, expected: &Outcomes) {
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
        self.unclaimed += usize::from(!test.complete);
        if seen == possible {
            self.agree += 1;
        } else {
            let missing: Vec<_> = possible.difference(&seen).collect();
            let extra: Vec<_> = seen.difference(&possible).collect();
            self.disagree.push(format!(
                "{name}: missing {missing:?}, not possible {extra:?}"
            ));
        }
    }

    fn assert_all_agree(&self, count: usize) {
        println!(
            "{} of {count} programs agree, {} without a claim",
            self.agree, self.unclaimed
        );
        assert!(self.disagree.is_empty(), "{self:#?}");
        assert_eq!(self.agree, count);
    }
}

fn search(fixture: &Fixture, rest: &[&str]) -> Run {
    let options = [
        "test",
        "--outcomes",
        "--strategy",
        "exhaustive(60)",
        "--executions",
        "1000000",
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
    // Deadlocks are findings.
    let code = ended.status.code().filter(|code| [0, 100].contains(code));
    let code = code.unwrap_or_else(|| panic!("{ended:#?}"));
    Run::of(ended, code)
}

/// Seeds and numbers of programs that make up `count`.
fn files(count: usize) -> impl Iterator<Item = (u64, usize)> {
    (0..count.div_ceil(PER_FILE))
        .map(move |file| (SEED + file as u64, PER_FILE.min(count - file * PER_FILE)))
}

const FEATURES: Features = Features { time: false };

#[test]
fn programs_in_c_come_to_all_that_can_happen() {
    let mut tally = Tally::default();
    for (seed, count) in files(programs()) {
        let drawn = draw(seed, count, FEATURES);
        let fixture = Fixture::special("points");
        let sources: Vec<_> = drawn.iter().map(|(program, _)| program.clone()).collect();
        fs::write(fixture.path().join("drawn.c"), c_source(&sources)).expect("it can be written");
        fixture.compile("drawn.c", "-O0");
        for (number, (_, expected)) in drawn.iter().enumerate() {
            let run = search(&fixture, &["./prog", &number.to_string()]);
            tally.compare(
                &format!("seed {seed}, C program {number}"),
                run.tests()[0],
                expected,
            );
        }
    }
    tally.assert_all_agree(programs());
}

#[test]
#[ignore = "takes long on a small machine"]
fn programs_in_rust_come_to_all_that_can_happen() {
    let mut tally = Tally::default();
    for (seed, count) in files(programs()) {
        let drawn = draw(seed, count, FEATURES);
        let fixture = Fixture::special("outcomes");
        let sources: Vec<_> = drawn.iter().map(|(program, _)| program.clone()).collect();
        fs::write(fixture.path().join("src/lib.rs"), rust_source(&sources))
            .expect("it can be written");
        let run = search(&fixture, &[]);
        for (number, (_, expected)) in drawn.iter().enumerate() {
            let test = run.test(&format!("p{number}::runs"));
            tally.compare(
                &format!("seed {seed}, Rust program {number}"),
                test,
                expected,
            );
        }
    }
    tally.assert_all_agree(programs());
}
