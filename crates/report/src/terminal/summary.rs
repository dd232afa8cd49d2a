//! The last lines of a run: what was explored, and above all what was not.

use crate::progress::{count, grouped};
use crate::style::Styles;
use crate::visible_line;
use crate::{Conclusion, Summary, TestResult, Verdict};

/// Tests named in one list without `-v`, where their names hardly matter.
const NAMED: usize = 5;

pub(super) fn text(
    summary: &Summary,
    tests: &[TestResult],
    verbose: bool,
    styles: &Styles,
) -> String {
    let total = summary.totals.tests();
    let findings = count(summary.findings as u64, "finding");
    let style = if summary.findings > 0 {
        &styles.bad
    } else if summary.totals.explored == 0 {
        &styles.warn
    } else {
        &styles.good
    };
    let mut text = format!(
        "\n{} in {}, {} in {:.1} s{}\n",
        style.apply_to(findings),
        count(total as u64, "test"),
        count(summary.totals.executions, "execution"),
        summary.totals.seconds,
        if summary.totals.interrupted {
            " (interrupted)"
        } else {
            ""
        },
    );
    text.push_str(&explored(summary));
    text.push_str(&cut(tests, verbose));
    if summary.ignored > 0 {
        let ignored = count(summary.ignored as u64, "finding");
        text.push_str(&format!("  {ignored} ignored by raddle.toml\n"));
    }
    if summary.timing > 0 {
        let timing = count(summary.timing as u64, "failure");
        text.push_str(&format!(
            "  {timing} only of timing, listed above; with `--deny timing` they fail the run\n"
        ));
    }
    if summary.totals.single_threaded > 0 {
        text.push_str(&single_threaded(summary, tests, verbose));
    }
    if summary.totals.failed > 0 {
        text.push_str(&format!(
            "  {} failed without any interleaving:\n",
            summary.totals.failed
        ));
        text.push_str(&reasons(tests, is_failed, true));
    }
    if summary.totals.not_testable > 0 {
        text.push_str(&format!(
            "  {} not testable:\n",
            summary.totals.not_testable
        ));
        text.push_str(&reasons(tests, is_not_testable, true));
    }
    if summary.totals.not_run > 0 {
        text.push_str(&format!("  {} not run:\n", summary.totals.not_run));
        text.push_str(&reasons(tests, is_not_run, verbose));
    }
    if let Some(exit) = summary.exit {
        text.push_str(&format!("exit code {exit}: {}\n", meaning(summary, exit)));
    }
    text
}

/// What the exit code means, in a few words.
fn meaning(summary: &Summary, exit: u8) -> String {
    let totals = &summary.totals;
    let text = match summary.conclusion {
        Conclusion::InternalError => "a bug in Raddle, please report it".to_owned(),
        Conclusion::Findings if summary.findings == 0 => {
            let timing = count(summary.timing as u64, "failure");
            format!("{timing} of timing, which `--deny timing` does not allow")
        }
        Conclusion::Findings => count(summary.findings as u64, "finding"),
        Conclusion::Interrupted => "interrupted before anything was found".to_owned(),
        Conclusion::Failed => format!(
            "{} without any interleaving",
            match totals.failed {
                1 => "1 test fails".to_owned(),
                failed => format!("{failed} tests fail"),
            }
        ),
        Conclusion::Unconfirmed => format!(
            "inconclusive, {} seen and not confirmed",
            match totals.unconfirmed {
                1 => "1 failure or violation was".to_owned(),
                unconfirmed => format!("{unconfirmed} failures or violations were"),
            }
        ),
        Conclusion::NothingExplored => "inconclusive, no test was explored".to_owned(),
        Conclusion::Uninstrumented => format!(
            "inconclusive, without what happens in {}, which could not be instrumented",
            summary.uninstrumented.join(", ")
        ),
        Conclusion::NothingSelected => "no test was selected".to_owned(),
        Conclusion::Clean if totals.explored == 0 => "nothing to interleave".to_owned(),
        Conclusion::Clean => "nothing was found".to_owned(),
    };
    let is_allowed = exit == 0 && summary.conclusion.word() == "inconclusive";
    match is_allowed {
        true => format!("{text}, which is allowed"),
        false => text,
    }
}

fn explored(summary: &Summary) -> String {
    match summary.totals.explored {
        0 => "  no test was explored\n".to_owned(),
        number if summary.totals.is_weak => format!(
            "  {} explored: atomic loads could read old values, {}\n",
            grouped(number as u64),
            "but nothing that needs reordered stores, or loads that foresee one, shows up",
        ),
        number => format!(
            "  {} explored: sequentially consistent executions only, {}\n",
            grouped(number as u64),
            "so weak memory effects show up as data races or not at all",
        ),
    }
}

/// What was explored only in part.
fn cut(tests: &[TestResult], verbose: bool) -> String {
    let is_partly = |test: &&TestResult| test.cut > 0 && test.verdict == Verdict::Explored;
    let total: u64 = tests.iter().filter(is_partly).map(|test| test.cut).sum();
    if total == 0 {
        return String::new();
    }
    let names: Vec<_> = tests
        .iter()
        .filter(is_partly)
        .map(|test| {
            let (cut, of) = (grouped(test.cut), grouped(test.executions));
            format!("{} ({cut} of {of})", full_name(test))
        })
        .collect();
    let were = if total == 1 { "was" } else { "were" };
    format!(
        "  {} {were} cut before the test was through; more is allowed with `--max-points`: {}\n",
        count(total, "execution"),
        listed(&names, verbose),
    )
}

fn single_threaded(summary: &Summary, tests: &[TestResult], verbose: bool) -> String {
    let names: Vec<_> = tests
        .iter()
        .filter(|test| test.verdict == Verdict::SingleThreaded)
        .map(|test| visible_line(&test.test))
        .collect();
    format!(
        "  {} single-threaded, with nothing to interleave: {}\n",
        summary.totals.single_threaded,
        listed(&names, verbose),
    )
}

/// One line per reason, with the tests that share it.
fn reasons(tests: &[TestResult], is: fn(&Verdict) -> bool, all: bool) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for test in tests.iter().filter(|test| is(&test.verdict)) {
        let why = test.verdict.why().unwrap_or_default();
        let name = full_name(test);
        match groups.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(name),
            None => groups.push((why, vec![name])),
        }
    }
    let lines = groups.iter().map(|(why, names)| {
        format!(
            "    {}: {}\n",
            listed(names, all),
            why.replace('\n', "\n      ")
        )
    });
    lines.collect()
}

/// Names in a row: all, or the first few.
fn listed(names: &[String], all: bool) -> String {
    let shown = if all {
        names.len()
    } else {
        NAMED.min(names.len())
    };
    let more = match names.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..shown].join(", "))
}

const fn is_failed(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Failed { .. })
}

const fn is_not_testable(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::NotTestable { .. })
}

const fn is_not_run(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::NotRun { .. })
}

/// `lib module::test`, in one line.
fn full_name(test: &TestResult) -> String {
    visible_line(&format!("{} {}", test.target, test.test))
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn long_lists_are_cut_unless_all_is_wanted() {
        let names: Vec<String> = (0..7).map(|number| number.to_string()).collect();
        assert_eq!(listed(&names, false), "0, 1, 2, 3, 4 and 2 more");
        assert_eq!(listed(&names, true), "0, 1, 2, 3, 4, 5, 6");
        assert_eq!(listed(&names[..1], false), "0");
    }
}
