//! What `generate` shows to people.

use std::fmt::Write;

use crate::progress::{count, grouped};
use crate::style::Styles;
use crate::{Comparison, GeneratedTest, Operation, PairCoverage, Trial};

/// With more methods the matrix is too wide: only what is missing is listed.
const WIDEST: usize = 30;
/// Pairs that are listed.
const LISTED: usize = 12;

/// One line of `--list`.
pub(super) fn operation(operation: &Operation, styles: &Styles) -> String {
    match &operation.refused {
        None => {
            let returned = returned(operation.returns);
            format!("{} (returns {returned})\n", operation.signature)
        }
        Some(why) => {
            let word = styles.warn.apply_to("not called");
            format!("{word} {}: {why}\n", operation.signature)
        }
    }
}

/// What an operation returns, as part of a sentence.
fn returned(word: &str) -> String {
    match word {
        "nothing" => word.to_owned(),
        "opaque" => "something opaque".to_owned(),
        _ if word.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {word}"),
        _ => format!("a {word}"),
    }
}

/// A test that fails.
pub(super) fn test(test: &GeneratedTest, styles: &Styles) -> String {
    let heading = format!("{}: {}", test.kind, test.text);
    let tests = count(test.tests, "test");
    let fails = match test.schedule.is_empty() {
        true => "fails without any concurrency".to_owned(),
        false => format!("fails under the schedule {}", test.schedule),
    };
    format!(
        "{}\n  after {tests} and {:.1} s; the test, which is also in {},\n  {fails}:\n\n{}\n",
        styles.bad.apply_to(heading),
        test.seconds,
        test.file,
        test.source
    )
}

/// Whether tests do the same when they are written down.
pub(super) fn comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    for one in &comparison.different {
        let _ = writeln!(text, "{}\n\n{}", one.text, one.source);
    }
    let _ = writeln!(
        text,
        "{} the same when written down, in {}; {} different, {} not compared",
        count(comparison.same, "test"),
        count(comparison.events, "event"),
        comparison.different.len(),
        comparison.skipped + comparison.incomplete
    );
    text
}

/// What one of several searches came to.
pub(super) fn trial(trial: &Trial) -> String {
    let found = match trial.kind {
        Some(kind) => format!("{kind}: {}", trial.text),
        None => "nothing found".to_owned(),
    };
    let tests = count(trial.tests, "test");
    format!(
        "seed {}: after {tests} and {:.2} s, {found}\n",
        trial.seed, trial.seconds
    )
}

/// The matrix of pairs: how often each ran at the same time, as a digit.
pub(super) fn coverage(coverage: &PairCoverage, styles: &Styles) -> String {
    let covered = coverage
        .pairs
        .iter()
        .filter(|cell| cell.covered > 0.0)
        .count();
    let mut text = format!(
        "{} with {} ({:.1} s running, {:.1} s judging); {covered} of {} pairs of methods ran at the same time\n",
        count(coverage.tests, "test"),
        count(coverage.executions, "execution"),
        coverage.spent.running,
        coverage.spent.judging,
        coverage.pairs.len(),
    );
    match coverage.methods.len() <= WIDEST {
        true => text += &matrix(coverage, styles),
        false => text += &missing(coverage),
    }
    text + &checks(coverage) + &findings(coverage, styles)
}

/// Which results were checked, and which were not and why.
fn checks(coverage: &PairCoverage) -> String {
    let unchecked: u64 = coverage.unchecked.iter().map(|one| one.results).sum();
    let mut text = format!(
        "{} checked against the orders of their calls",
        count(coverage.checked_results, "result")
    );
    match unchecked {
        0 => text += "\n",
        _ => drop(writeln!(text, ", {} not checked:", grouped(unchecked))),
    }
    // Methods for the same reason stand together.
    let mut reasons: Vec<&str> = coverage.unchecked.iter().map(|one| &*one.why).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for why in reasons {
        let methods = coverage.unchecked.iter().filter(|one| one.why == why);
        let names = methods
            .clone()
            .map(|one| format!("`{}` ({})", one.method, grouped(one.results)));
        let names: Vec<_> = names.collect();
        let _ = writeln!(text, "  {}: {why}", names.join(", "));
    }
    for excused in &coverage.excused {
        let _ = writeln!(
            text,
            "  {} that no order explains: {} (-v shows them)",
            count(excused.executions, "execution"),
            excused.why
        );
    }
    text
}

fn findings(coverage: &PairCoverage, styles: &Styles) -> String {
    let findings = count(coverage.findings as u64, "finding");
    let repeated = match coverage.repeated_races {
        0 => String::new(),
        tests => format!(
            " ({} more show races of the same accesses)",
            count(tests, "test")
        ),
    };
    let style = match coverage.findings {
        0 => &styles.good,
        _ => &styles.bad,
    };
    format!("{}{repeated}\n", style.apply_to(findings))
}

fn matrix(coverage: &PairCoverage, styles: &Styles) -> String {
    let width = coverage
        .methods
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (row, name) in coverage.methods.iter().enumerate() {
        let cells = (0..=row).map(|column| {
            let cell = coverage.pairs.iter().find(|cell| {
                (cell.first.min(cell.second), cell.first.max(cell.second)) == (column, row)
            });
            cell.map_or('-', |cell| digit(cell.covered))
        });
        let cells: Vec<_> = cells.map(String::from).collect();
        let _ = writeln!(
            text,
            "  {name:>width$} {}",
            styles.dim.apply_to(cells.join(" "))
        );
    }
    let count = coverage.methods.len();
    let cannot = match coverage.pairs.len() < count * (count + 1) / 2 {
        true => "- cannot, ",
        false => "",
    };
    let _ = writeln!(
        text,
        "  ({cannot}. never, 0 less than once, then times by powers of two; columns as rows)"
    );
    text
}

fn digit(covered: f64) -> char {
    match covered {
        none if none <= 0.0 => '.',
        few if few < 1.0 => '0',
        many => {
            let power = (many.log2() as u32 + 1).min(9);
            char::from_digit(power, 10).unwrap_or('9')
        }
    }
}

fn missing(coverage: &PairCoverage) -> String {
    let missing: Vec<_> = coverage
        .pairs
        .iter()
        .filter(|cell| cell.covered <= 0.0)
        .collect();
    let name = |index: usize| coverage.methods.get(index).map_or("?", String::as_str);
    let mut text = String::new();
    for cell in missing.iter().take(LISTED) {
        let tried = cell.tried;
        let _ = writeln!(
            text,
            "  never at the same time: {} and {} (tried {tried} times)",
            name(cell.first),
            name(cell.second)
        );
    }
    if missing.len() > LISTED {
        let _ = writeln!(text, "  and {} more", missing.len() - LISTED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::returned;

    #[test]
    fn what_is_returned_is_part_of_a_sentence() {
        let words = ["nothing", "value", "iterator", "opaque"].map(returned);
        assert_eq!(
            words,
            ["nothing", "a value", "an iterator", "something opaque"]
        );
    }
}
