//! The interleaving: one lane per thread, time runs downwards. A few threads stand side by
//! side; many become a graph with one narrow column each and the text to the right.

use std::collections::{BTreeSet, HashMap};

use console::{measure_text_width, truncate_str};
use raddle_trace::finding::{Finding, LaneStep};

use crate::Sources;
use crate::style::Styles;

/// Narrowest column in which a source line can be read.
const NARROWEST: usize = 30;

/// Lines that one source line may take in a narrow column.
const SOURCE_LINES: usize = 3;

const MARGIN: &str = "    ";
const FAULT: &str = "  > ";

pub(super) fn text(finding: &Finding, width: usize, styles: &Styles, sources: &Sources) -> String {
    let threads: Vec<usize> = finding
        .lanes
        .iter()
        .map(|step| step.thread)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let names = short_names(&finding.lanes);
    let cells: Vec<Cell> = finding
        .lanes
        .iter()
        .map(|step| Cell::of(step, &names, sources))
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
    at: String,
    source: String,
    action: String,
}

impl Cell {
    fn of(step: &LaneStep, names: &HashMap<&str, &str>, sources: &Sources) -> Self {
        let file = step.place.file.as_str();
        let name = names.get(file).copied().unwrap_or(file);
        let source = sources.line(&step.place);
        Self {
            at: format!("{name}:{}", step.place.line),
            source: source.unwrap_or_else(|| format!("in {}", step.place.function)),
            action: step.action.clone(),
        }
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
            let source = format!("{}  {}", cell.at, cell.source);
            let place = Some((step.thread, source.clone()));
            if previous != place {
                let indent = measure_text_width(&cell.at) + 2;
                for line in hanging(&source, indent, column) {
                    text.push_str(&self.row(MARGIN, lane, column, &line, false));
                }
            }
            previous = place;
            let margin = if step.at_fault { FAULT } else { MARGIN };
            let action = format!("  {}", cell.action);
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
        let numbers: Vec<_> = self
            .threads
            .iter()
            .map(|thread| format!("{thread:<2}"))
            .collect();
        text.push_str(&format!("{MARGIN}{}\n", numbers.join("").trim_end()));
        for (step, cell) in self.finding.lanes.iter().zip(&self.cells) {
            let marks = self.threads.iter().map(|&thread| {
                if thread == step.thread {
                    "● "
                } else {
                    "│ "
                }
            });
            let marks: String = marks.collect();
            let line = format!("{marks} {}  {}: {}", cell.at, cell.action, cell.source);
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
fn hanging(text: &str, indent: usize, width: usize) -> Vec<String> {
    let indent = indent.min(width / 2);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let used = measure_text_width(&lines[last]);
        let fits = used + 1 + measure_text_width(word) <= width;
        if fits || used <= indent || lines.len() == SOURCE_LINES {
            if used > 0 && !lines[last].ends_with("  ") {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        } else {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        }
    }
    lines
}

/// `text` cut or filled to exactly `width` columns.
fn padded(text: &str, width: usize) -> String {
    let text = truncate_str(text, width, "…");
    let missing = width.saturating_sub(measure_text_width(&text));
    format!("{text}{}", " ".repeat(missing))
}

/// The last component of each file, or the whole path where two files would look the same.
fn short_names(lanes: &[LaneStep]) -> HashMap<&str, &str> {
    let files: BTreeSet<&str> = lanes.iter().map(|step| step.place.file.as_str()).collect();
    let last = |file: &'_ str| file.rsplit('/').next().unwrap_or(file).to_owned();
    files
        .iter()
        .map(|&file| {
            let name = last(file);
            let alone = files.iter().filter(|&&other| last(other) == name).count() == 1;
            let start = if alone { file.len() - name.len() } else { 0 };
            (file, &file[start..])
        })
        .collect()
}
