//! The interleaving: one lane per thread, time runs downwards. A few threads stand side by
//! side; many become a graph with one narrow column each and the text to the right.

use std::collections::BTreeSet;

use console::{measure_text_width, truncate_str};
use raddle_trace::finding::{Finding, LaneStep};

use crate::Sources;
use crate::style::Styles;

/// Narrowest column in which a source line can be read.
const NARROWEST: usize = 30;

/// Lines that one source line may take in a narrow column.
const SOURCE_LINES: usize = 2;

const MARGIN: &str = "    ";
const HANG: &str = "  ";
const FAULT: &str = "  > ";

pub(super) fn text(finding: &Finding, width: usize, styles: &Styles, sources: &Sources) -> String {
    let threads: Vec<usize> = finding
        .lanes
        .iter()
        .map(|step| step.thread)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let cells: Vec<Cell> = finding
        .lanes
        .iter()
        .map(|step| Cell::of(step, sources))
        .collect();
    let layout = Layout {
        finding,
        threads,
        cells,
        styles,
    };
    let inner = width.saturating_sub(MARGIN.len());
    let column = (inner + 3) / layout.threads.len().max(1);
    let column = column.saturating_sub(3);
    if column >= NARROWEST {
        layout.side_by_side(column)
    } else {
        layout.graph(inner)
    }
}

/// What one step shows.
struct Cell {
    file: String,
    line: u32,
    source: String,
    action: String,
}

impl Cell {
    fn of(step: &LaneStep, sources: &Sources) -> Self {
        let source = sources.line(&step.place);
        Self {
            file: step.place.file.clone(),
            line: step.place.line,
            source: source.unwrap_or_else(|| format!("in {}", step.place.function)),
            action: step.action.clone(),
        }
    }

    /// The place, and what happens there. A long path gives way to what happens.
    fn action(&self, width: usize) -> String {
        let text = format!("{}:{} {}", self.file, self.line, self.action);
        if measure_text_width(&text) <= width {
            return text;
        }
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        format!("{name}:{} {}", self.line, self.action)
    }
}

struct Layout<'a> {
    finding: &'a Finding,
    threads: Vec<usize>,
    cells: Vec<Cell>,
    styles: &'a Styles,
}

impl Layout<'_> {
    fn side_by_side(&self, column: usize) -> String {
        let mut text = MARGIN.to_owned();
        let headings: Vec<_> = self
            .threads
            .iter()
            .map(|&thread| padded(&self.thread_name(thread), column))
            .map(|name| self.styles.lane.apply_to(name).to_string())
            .collect();
        text.push_str(headings.join(" │ ").trim_end());
        text.push('\n');
        let rules: Vec<_> = self.threads.iter().map(|_| "─".repeat(column)).collect();
        text.push_str(&format!("{MARGIN}{}\n", rules.join("─┼─")));
        let mut previous = None;
        for (step, cell) in self.finding.lanes.iter().zip(&self.cells) {
            let lane = self
                .threads
                .iter()
                .position(|&thread| thread == step.thread);
            let lane = lane.unwrap_or_default();
            let place = Some((step.thread, &cell.file, cell.line));
            if previous != place {
                for line in hanging(&cell.source, column) {
                    text.push_str(&self.row(MARGIN, lane, column, &line, false));
                }
            }
            previous = place;
            let margin = if step.at_fault { FAULT } else { MARGIN };
            let action = format!("{HANG}{}", cell.action(column - HANG.len()));
            text.push_str(&self.row(margin, lane, column, &action, !step.at_fault));
        }
        text
    }

    fn row(&self, margin: &str, lane: usize, column: usize, cell: &str, dim: bool) -> String {
        let mut text = if margin == FAULT {
            self.styles.bad.apply_to(margin).to_string()
        } else {
            margin.to_owned()
        };
        for index in 0..self.threads.len() {
            if index > 0 {
                text.push_str(" │ ");
            }
            if index == lane {
                let cell = padded(cell, column);
                if dim {
                    text.push_str(&self.styles.dim.apply_to(cell).to_string());
                } else {
                    text.push_str(&cell);
                }
            } else {
                text.push_str(&" ".repeat(column));
            }
        }
        format!("{}\n", text.trim_end())
    }

    fn graph(&self, width: usize) -> String {
        let mut text = String::new();
        for &thread in &self.threads {
            let name = self.thread_name(thread);
            text.push_str(&format!("{MARGIN}{}\n", self.styles.lane.apply_to(name)));
        }
        // Threads are sorted, so the last has the longest number.
        let column = 1 + self.threads.last().map_or(0, |last| last.to_string().len());
        let numbers: String = self
            .threads
            .iter()
            .map(|thread| format!("{thread:<column$}"))
            .collect();
        text.push_str(&format!("{MARGIN}{}\n", numbers.trim_end()));
        for (step, cell) in self.finding.lanes.iter().zip(&self.cells) {
            let marks = self.threads.iter().map(|&thread| {
                let mark = if thread == step.thread { "●" } else { "│" };
                format!("{mark:<column$}")
            });
            let marks: String = marks.collect();
            let line = format!("{marks} {}: {}", cell.action(width / 2), cell.source);
            let margin = if step.at_fault { FAULT } else { MARGIN };
            text.push_str(&format!("{margin}{}\n", truncate_str(&line, width, "…")));
        }
        text
    }

    fn thread_name(&self, thread: usize) -> String {
        match self.finding.threads.get(thread).map(String::as_str) {
            None | Some("") => format!("thread {thread}"),
            Some(name) if name.starts_with("thread ") => name.to_owned(),
            Some(name) => format!("thread {thread}: {name}"),
        }
    }
}

/// `text` in at most [`SOURCE_LINES`] lines; those after the first are indented.
fn hanging(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while lines.len() + 1 < SOURCE_LINES {
        let indent = if lines.is_empty() { "" } else { HANG };
        let room = width - indent.len();
        if measure_text_width(rest) <= room {
            break;
        }
        let end = break_at(rest, room);
        lines.push(format!("{indent}{}", &rest[..end]));
        rest = rest[end..].trim_start();
    }
    let indent = if lines.is_empty() { "" } else { HANG };
    lines.push(format!("{indent}{rest}"));
    lines
}

/// Where to break a line: where a word or a part of an expression ends, else at the width.
fn break_at(text: &str, width: usize) -> usize {
    let ends = text
        .char_indices()
        .map(|(index, letter)| index + letter.len_utf8());
    let fits = ends.take_while(|&end| measure_text_width(&text[..end]) <= width);
    let fits = fits.last().unwrap_or(text.len());
    let after = text[..fits].rfind([' ', '(', ',']).map(|index| index + 1);
    let before = text[..fits].rfind('.');
    match after.max(before) {
        Some(end) if end > width / 2 => end,
        _ => fits,
    }
}

/// `text` cut or filled to exactly `width` columns.
fn padded(text: &str, width: usize) -> String {
    let text = truncate_str(text, width, "…");
    let missing = width.saturating_sub(measure_text_width(&text));
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::hanging;

    #[test]
    fn long_lines_hang() {
        assert_eq!(hanging("let a = 1;", 12), ["let a = 1;"]);
        assert_eq!(
            hanging("let abc = define;", 12),
            ["let abc = ", "  define;"]
        );
        assert_eq!(hanging("abcdefghijklmno", 12), ["abcdefghijkl", "  mno"]);
        assert_eq!(hanging("äöüäöüäöüäöüäöü", 12), ["äöüäöüäöüäöü", "  äöü"]);
    }
}
