//! The book's page about how soon bugs are found.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::Result;

use super::manifest::{self, Subject};
use super::results::{self, Kept, Run, found};
use super::run::Mode;
use super::{COVERING, GUIDANCES, MODES, plots, published, title};
use crate::evaluate::statistics::{Interval, interval, number};
use crate::repository;

const INTRODUCTION: &str = "# How soon generated tests find bugs

Written by `cargo xtask evaluate generate`, from `subjects/results/generate`: the classes of the paper on CovCon, re-created in
Rust (`subjects/generate`) with the bug of each, and the guidances of `cargo raddle generate`: `pairs`, which prefers methods that have to do with each other, `uniform`,
which selects pairs as CovCon does, `naive`, which takes the pair that was tried least, and `random`, any methods (ConTeGe). With *one schedule* each test is run once, under a
random schedule, as the paper leaves schedules to the system; with *all strategies* it is what users get, 50 schedules of the portfolio for each test.
Means are over searches with seeds of their own, with 95 % intervals by the bootstrap. A search that finds nothing in its time
counts with all its tests and all its time. Time is that of the search: the program that runs all tests is built before, and methods are
looked at before, alone and in pairs, which takes the same time with every guidance and stands in a column of its own in the table of times. Seeds begin with 1000; changes of the
guidance were tried out with smaller ones.

AutoConTest, Narada, Intruder and Omen, with which the paper compares CovCon too, are not reproduced.
";

const COVERAGE: &str = "
## Coverage over time

Pairs of methods that ran at the same time, on the types without their bugs, so that nothing ends the search. Two calls side by side nearly always overlap where
schedules are under control, and a test of two methods covers one pair of different methods, one of any methods up to four: at first `random` is ahead, and then it waits
for the last pairs to come up by chance. That all strategies are looked at too, and the order in which pairs are tried, was
decided after trying the first three types with other seeds.
";
/// What the others are compared with.
const RANDOM: &str = "random";
/// |P| from which a type is large.
const LARGE_PAIRS: usize = 100;

/// A subject with what was measured.
type Row = (Subject, Kept);

/// Writes page and plots.
pub fn write() -> Result<()> {
    let mut rows = Vec::new();
    for subject in manifest::read()? {
        let kept = results::read(&subject.name)?;
        if !kept.runs.is_empty() {
            rows.push((subject, kept));
        }
    }
    let mut page = INTRODUCTION.to_owned();
    page += &measured_when(&rows);
    page += &subjects(&rows)?;
    for mode in MODES {
        page += &table(&rows, mode);
    }
    page += &breakdown(&rows);
    page += &published::table()?;
    let book = repository::root().join("book/src");
    page += COVERAGE;
    for mode in MODES {
        page += &coverage(&rows, mode);
        for (subject, kept) in rows.iter().filter(|(_, kept)| is_covered(kept, mode)) {
            let name = file(&subject.name, mode);
            fs::write(book.join(&name), plots::draw(kept, mode))?;
            let title = format!("Coverage over time, {}, {}", subject.name, mode.name);
            let _ = write!(page, "\n![{title}]({name})\n");
        }
    }
    fs::write(book.join("generate-results.md"), page)?;
    Ok(())
}

fn file(name: &str, mode: Mode) -> String {
    let mode = mode.name.replace(' ', "-");
    format!("generate-coverage-{}-{mode}.svg", name.to_lowercase())
}

/// Whether coverage over time was measured.
fn is_covered(kept: &Kept, mode: Mode) -> bool {
    kept.coverage.contains_key(&title(RANDOM, mode))
}

fn runs<'a>(kept: &'a Kept, title: &str) -> &'a [Run] {
    kept.runs.get(title).map_or(&[], Vec::as_slice)
}

fn measured_when(rows: &[Row]) -> String {
    let list = |of: fn(&Kept) -> &str| {
        let words: BTreeSet<_> = rows.iter().map(|(_, kept)| of(kept)).collect();
        words.into_iter().collect::<Vec<_>>().join("; ")
    };
    let lengths = rows.iter().flat_map(|(_, kept)| kept.runs.values());
    let least = lengths.map(Vec::len).min().unwrap_or(0);
    format!(
        "\nMeasured on {} ({}), at least {least} searches for each cell; what is empty was not measured.\n",
        list(|kept| &kept.date),
        list(|kept| &kept.machine)
    )
}

/// Methods from |P|.
fn methods(pairs: usize) -> usize {
    (0..)
        .find(|count| count * (count + 1) / 2 >= pairs)
        .unwrap_or(0)
}

fn subjects(rows: &[Row]) -> Result<String> {
    let mut text = "\n## The types\n\nOperations are what tests call: a type's public methods, as far as threads can share them. What is reported is what a usual run of 30 \
                    seconds says, confirmed by the test that it writes;\nthe twin is the type without its bug, for 10 seconds.\n\n\
                    | type | lines | operations | pairs | bug | reported | in the twin |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (subject, kept) in rows {
        let reported = match &kept.reported {
            Some(words) if words.is_empty() => "**nothing**",
            Some(words) => words.split(':').next().unwrap_or(words),
            None => "",
        };
        let twin = match &kept.twin {
            Some(words) if words.is_empty() => "nothing".to_owned(),
            Some(words) => format!("**{words}**"),
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {reported} | {twin} |",
            subject.name,
            subject.lines()?,
            methods(kept.pairs),
            kept.pairs,
            subject.bug
        );
    }
    Ok(text)
}

fn cell(runs: &[Run], of: fn(&[Run]) -> Interval) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let Interval { mean, low, high } = of(runs);
    let found = found(runs);
    let least = if found < runs.len() { "≥ " } else { "" };
    let count = match found == runs.len() {
        true => String::new(),
        false => format!(", {found}/{}", runs.len()),
    };
    format!(
        "{least}{} ({}–{}{count})",
        number(mean),
        number(low),
        number(high)
    )
}

fn table(rows: &[Row], mode: Mode) -> String {
    let mut text = format!("\n## To the bug, with {}\n\n| type | pairs |", mode.name);
    for what in ["tests", "seconds"] {
        for guidance in GUIDANCES {
            let _ = write!(text, " {what}, {guidance} |");
        }
    }
    for other in GUIDANCES.iter().skip(1).rev() {
        let _ = write!(text, " {other} / pairs, tests | seconds |");
    }
    let columns = 2 + 2 * GUIDANCES.len() + 2 * (GUIDANCES.len() - 1);
    let _ = writeln!(text, "\n|{}", "---|".repeat(columns));
    let (mut large, mut apart, mut apart_in_time, mut all) = (0, 0, 0, [0; GUIDANCES.len()]);
    let random = GUIDANCES.len() - 1;
    for (subject, kept) in rows {
        let cells = GUIDANCES.map(|guidance| runs(kept, &title(guidance, mode)));
        let _ = write!(text, "| {} | {} |", subject.name, kept.pairs);
        for of in [results::tests, results::seconds] {
            for cell in cells.map(|runs| self::cell(runs, of)) {
                let _ = write!(text, " {cell} |");
            }
        }
        for other in (1..GUIDANCES.len()).rev() {
            for of in [results::tests, results::seconds] {
                if cells[0].is_empty() || cells[other].is_empty() {
                    text += " |";
                    continue;
                }
                let ratio = of(cells[other]).mean / of(cells[0]).mean;
                let mark = if is_below(of(cells[0]), of(cells[other])) {
                    "**"
                } else {
                    ""
                };
                let _ = write!(text, " {mark}{}{mark} |", number(ratio));
            }
        }
        text.push('\n');
        for (count, runs) in all.iter_mut().zip(cells) {
            *count += usize::from(found(runs) > 0);
        }
        if kept.pairs >= LARGE_PAIRS {
            large += 1;
            let below = |of: fn(&[Run]) -> Interval| is_below(of(cells[0]), of(cells[random]));
            apart += usize::from(below(results::tests));
            apart_in_time += usize::from(below(results::seconds));
        }
    }
    let [pairs, uniform, naive, random] = all;
    let _ = writeln!(
        text,
        "\nRatios are bold where the intervals are disjoint. `pairs` finds {pairs} of {} bugs, `uniform` {uniform}, `naive` {naive}, `random` {random}. Of the {large} types \
         with |P| ≥ {LARGE_PAIRS}, `pairs` needs\nfewer tests than `random` with disjoint intervals on {apart}, and less time on {apart_in_time}.",
        rows.len()
    );
    text
}

fn is_below(one: Interval, other: Interval) -> bool {
    one.high < other.low
}

fn breakdown(rows: &[Row]) -> String {
    let mut text = "\n## Where the time goes\n\nSeconds before a search in which methods are looked at alone and in pairs, and shares of the time of `pairs` until the bug, in\nper cent: with one schedule, and with all strategies.\n\n\
                    | type | before | generation | execution | coverage and priority | oracle |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (subject, kept) in rows {
        let before = MODES.map(|mode| {
            let runs = runs(kept, &title(GUIDANCES[0], mode));
            let sum: f64 = runs.iter().map(|run| run.calibrating).sum();
            match sum > 0.0 {
                true => format!("{:.1}", sum / runs.len() as f64),
                false => "–".to_owned(),
            }
        });
        let _ = write!(text, "| {} | {} |", subject.name, before.join(", "));
        let shares = MODES.map(|mode| {
            let runs = runs(kept, &title(GUIDANCES[0], mode));
            let sum = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>();
            let parts = [
                sum(|run| run.generating),
                sum(|run| run.running),
                sum(|run| run.counting),
                sum(|run| run.judging),
            ];
            let whole: f64 = parts.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            parts.map(|part| 100.0 * part / whole)
        });
        let [one, all] = shares;
        for (one, all) in one.into_iter().zip(all) {
            let _ = write!(text, " {one:.0}, {all:.0} |");
        }
        text.push('\n');
    }
    text
}

fn coverage(rows: &[Row], mode: Mode) -> String {
    let mut text = format!(
        "\nWith {}, seconds until as many pairs are covered as `{RANDOM}` covers at the end of {} seconds in the mean:\n\n| type | pairs covered |",
        mode.name, mode.covering
    );
    for guidance in COVERING {
        let _ = write!(text, " {guidance} |");
    }
    let _ = writeln!(text, "\n|{}", "---|".repeat(2 + COVERING.len()));
    for (subject, kept) in rows {
        let last = plots::over_time(kept, RANDOM, mode);
        let Some((_, last)) = last.last() else {
            continue;
        };
        let wanted = last.mean as usize;
        let _ = write!(text, "| {} | {wanted} of {} |", subject.name, kept.pairs);
        for guidance in COVERING {
            let reached = plots::until(kept, guidance, mode, wanted);
            let all = kept
                .coverage
                .get(&title(guidance, mode))
                .map_or(0, Vec::len);
            let Interval { mean, low, high } = interval(&reached);
            let _ = match reached.len() == all {
                true => write!(text, " {mean:.2} ({low:.2}–{high:.2}) |"),
                false => write!(text, " {mean:.2} in {} of {all} |", reached.len()),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::methods;

    #[test]
    fn methods_follow_from_pairs() {
        assert_eq!([0, 1, 3, 325].map(methods), [0, 1, 2, 25]);
    }
}
