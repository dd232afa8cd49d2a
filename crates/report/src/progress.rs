//! The progress line: executions per second, tests done, findings, how far a search is, and time
//! left.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Progress;

/// A line at the bottom of the terminal; nothing at all if stderr is not one.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
}

impl ProgressLine {
    pub(crate) fn new(shown: bool) -> Self {
        let target = if shown {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar }
    }

    pub(crate) fn show(&self, progress: &Progress) {
        self.bar.set_message(text(progress));
        self.bar.tick();
    }

    /// Runs `print` with the line out of the way.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn text(progress: &Progress) -> String {
    let search = progress.search.map_or_else(String::new, |thousandths| {
        format!(", about {} % searched", thousandths / 10)
    });
    format!(
        "{}/{} tests, {} executions, {}/s, {}{search}, {} left",
        progress.tests_done,
        progress.tests_total,
        grouped(progress.executions),
        grouped(progress.per_second as u64),
        count(progress.findings as u64, "finding"),
        clock(progress.time_left),
    )
}

/// A number with its thousands apart: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 finding`, `2 findings`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::{Progress, count, grouped, text};
    use std::time::Duration;

    #[test]
    fn thousands_stand_apart() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1234567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), expected);
        }
        assert_eq!(count(1, "finding"), "1 finding");
        assert_eq!(count(0, "finding"), "0 findings");
    }

    #[test]
    fn the_line_says_where_the_work_stands() {
        let progress = Progress {
            executions: 12_000,
            per_second: 4100.7,
            tests_done: 3,
            tests_total: 7,
            findings: 1,
            time_left: Duration::from_secs(125),
            search: None,
        };
        assert_eq!(
            text(&progress),
            "3/7 tests, 12,000 executions, 4,100/s, 1 finding, 2:05 left"
        );
        let searching = Progress {
            search: Some(375),
            ..progress
        };
        assert_eq!(
            text(&searching),
            "3/7 tests, 12,000 executions, 4,100/s, 1 finding, about 37 % searched, 2:05 left"
        );
    }
}
