//! The last lines of a run: what was explored, and above all what was not.

use crate::progress::{count, grouped};
use crate::style::Styles;
use crate::{Summary, TestReport, Verdict};

/// Single-threaded tests named without `-v`.
const NAMED: usize = 5;

pub(super) fn text(
    summary: &Summary,
    tests: &[TestReport],
    verbose: bool,
    styles: &Styles,
) -> String {
    let total = summary.explored + summary.single_threaded + summary.not_testable + summary.not_run;
    let findings = count(summary.findings as u64, "finding");
    let style = if summary.findings > 0 {
        &styles.bad
    } else if summary.explored == 0 {
        &styles.warn
    } else {
        &styles.good
    };
    let mut text = format!(
        "\n{} in {}, {} in {:.1} s{}\n",
        style.apply_to(findings),
        count(total as u64, "test"),
        count(summary.executions, "execution"),
        summary.seconds,
        if summary.interrupted {
            " (interrupted)"
        } else {
            ""
        },
    );
    text.push_str(&explored(summary));
    if summary.ignored > 0 {
        let ignored = count(summary.ignored as u64, "finding");
        text.push_str(&format!("  {ignored} ignored by raddle.toml\n"));
    }
    if summary.single_threaded > 0 {
        text.push_str(&single_threaded(summary, tests, verbose));
    }
    for (number, word, is) in [
        (
            summary.not_testable,
            "not testable",
            is_not_testable as fn(&Verdict) -> bool,
        ),
        (summary.not_run, "not run", is_not_run),
    ] {
        if number > 0 {
            text.push_str(&format!("  {number} {word}:\n"));
            text.push_str(&reasons(tests, is));
        }
    }
    text
}

fn explored(summary: &Summary) -> String {
    match summary.explored {
        0 => "  no test was explored\n".to_owned(),
        number => format!(
            "  {} explored: sequentially consistent executions only, {}\n",
            grouped(number as u64),
            "so weak memory effects show up as data races or not at all",
        ),
    }
}

fn single_threaded(summary: &Summary, tests: &[TestReport], verbose: bool) -> String {
    let names: Vec<_> = tests
        .iter()
        .filter(|test| test.verdict == Verdict::SingleThreaded)
        .map(|test| test.test.as_str())
        .collect();
    let shown = if verbose {
        names.len()
    } else {
        NAMED.min(names.len())
    };
    let more = match names.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "  {} single-threaded, with nothing to interleave: {}{more}\n",
        summary.single_threaded,
        names[..shown].join(", "),
    )
}

/// One line per reason, with the tests that share it.
fn reasons(tests: &[TestReport], is: fn(&Verdict) -> bool) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for test in tests.iter().filter(|test| is(&test.verdict)) {
        let why = test.verdict.why().unwrap_or_default();
        let name = format!("{} {}", test.target, test.test);
        match groups.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(name),
            None => groups.push((why, vec![name])),
        }
    }
    let lines = groups.iter().map(|(why, names)| {
        format!(
            "    {}: {}\n",
            names.join(", "),
            why.replace('\n', "\n      ")
        )
    });
    lines.collect()
}

const fn is_not_testable(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::NotTestable { .. })
}

const fn is_not_run(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::NotRun { .. })
}
