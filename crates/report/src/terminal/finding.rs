//! One finding for people: title, cause, interleaving, stacks, and how to replay it.

use raddle_trace::finding::{Finding, Place, Stack};

use super::{Settings, lanes, violation};
use crate::Sources;
use crate::progress::{count, grouped};
use crate::style::Styles;
use crate::visible_line;

/// Lines of program output shown.
const OUTPUT_LINES: usize = 12;
/// Characters shown of one.
const LONGEST: usize = 200;

/// Frames shown of one stack.
const FRAMES: usize = 16;

pub(super) fn text(
    finding: &Finding,
    settings: &Settings,
    styles: &Styles,
    sources: &Sources,
) -> String {
    let mut text = heading(finding, styles);
    if !finding.cause.is_empty() {
        section(&mut text, "cause", styles);
        for line in wrapped(&finding.cause, settings.width.saturating_sub(4)) {
            text.push_str(&format!("    {line}\n"));
        }
    }
    if !finding.title.ends_with(&finding.message) {
        section(&mut text, "message", styles);
        for line in finding.message.lines() {
            text.push_str(&format!("    {}\n", printable(line)));
        }
    }
    if let Some(violation) = &finding.violation {
        text.push_str(&violation::text(violation, settings.width, styles));
    }
    if !finding.lanes.is_empty() {
        section(&mut text, "interleaving", styles);
        text.push_str(&lanes::text(finding, settings.width, styles, sources));
    }
    if !finding.stacks.is_empty() {
        section(&mut text, "stacks", styles);
        for stack in &finding.stacks {
            text.push_str(&stack_text(stack, styles));
        }
    }
    if !finding.output.trim().is_empty() {
        section(&mut text, "output", styles);
        text.push_str(&output(&finding.output));
    }
    section(&mut text, "replay", styles);
    if finding.schedule.is_empty() {
        text.push_str("    its schedule could not be stored\n\n");
    } else {
        let command = &settings.replay_command;
        text.push_str(&format!("    {command} {}\n\n", finding.id));
    }
    text
}

/// The few lines of a finding that is only about time.
pub(super) fn timing(finding: &Finding, replay_command: &str, styles: &Styles) -> String {
    let mut text = format!(
        "\n{}: {}\n  in {} {}\n",
        styles.warn.apply_to("timing"),
        styles.strong.apply_to(&finding.title),
        finding.target,
        finding.test,
    );
    text.push_str(&sites(finding, styles));
    let condition = finding.timing.as_deref().unwrap_or_default();
    text.push_str(&format!(
        "  it {condition}\n  {replay_command} {}\n",
        finding.id
    ));
    text
}

fn heading(finding: &Finding, styles: &Styles) -> String {
    let seen = match finding.count {
        0 | 1 => String::new(),
        count => format!(", seen {} times", grouped(count)),
    };
    let confirmed = if finding.confirmed {
        ", confirmed by replay"
    } else {
        ", not reproduced by replay"
    };
    let preemptions = match finding.size.filter(|_| finding.confirmed) {
        None => String::new(),
        Some(size) if size.preemptions == 0 => " without a preemption".to_owned(),
        Some(size) => format!(" with {}", count(size.preemptions.into(), "preemption")),
    };
    let mut text = format!(
        "\n{}: {}\n  in {} {} after {}{seen}{confirmed}{preemptions}\n",
        styles.bad.apply_to(finding.kind.word()),
        styles.strong.apply_to(&finding.title),
        visible_line(&finding.target),
        visible_line(&finding.test),
        count(finding.executions, "execution"),
    );
    text.push_str(&sites(finding, styles));
    text
}

fn sites(finding: &Finding, styles: &Styles) -> String {
    let lines = finding.sites.iter().map(|site| {
        let at = styles.dim.apply_to("at");
        format!("  {at} {} in {}\n", location(site), site.function)
    });
    lines.collect()
}

pub(super) fn section(text: &mut String, name: &str, styles: &Styles) {
    text.push_str(&format!("\n  {}\n", styles.strong.apply_to(name)));
}

fn stack_text(stack: &Stack, styles: &Styles) -> String {
    let mut text = format!("    {}\n", styles.lane.apply_to(&stack.heading));
    for frame in stack.frames.iter().take(FRAMES) {
        let place = location(frame);
        let place = styles.dim.apply_to(&place);
        text.push_str(&format!("      {}  {place}\n", frame.function));
    }
    if let Some(more) = stack.frames.len().checked_sub(FRAMES).filter(|&n| n > 0) {
        text.push_str(&format!("      ... {}\n", count(more as u64, "more frame")));
    }
    text
}

/// `file:line`, or only the file if the line is not known.
pub(super) fn location(place: &Place) -> String {
    match place.line {
        0 => place.file.clone(),
        line => format!("{}:{line}", place.file),
    }
}

/// The last lines, where the panic message usually is.
fn output(output: &str) -> String {
    let lines: Vec<_> = output.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(OUTPUT_LINES);
    let mut text = String::new();
    if skipped > 0 {
        text.push_str(&format!("    ... {}\n", count(skipped as u64, "line")));
    }
    for line in &lines[skipped..] {
        let line: String = printable(line).chars().take(LONGEST).collect();
        text.push_str(&format!("    {line}\n"));
    }
    text
}

/// A line that does nothing to a terminal: programs also write binary data.
fn printable(line: &str) -> String {
    let shown = |character: char| match character {
        '\t' => ' ',
        _ if character.is_control() => '.',
        _ => character,
    };
    let plain = console::strip_ansi_codes(line);
    plain.chars().map(shown).collect()
}

/// `text` in lines of at most `width` columns, broken at spaces.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        let used = console::measure_text_width(line);
        if used > 0 && used + 1 + console::measure_text_width(word) > width {
            lines.push(word.to_owned());
        } else {
            if used > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{output, printable, wrapped};

    #[test]
    fn binary_output_leaves_the_terminal_alone() {
        assert_eq!(printable("a\u{1b}[31mb\tc\u{7}\u{9b}d\r"), "ab c..d.");
        assert_eq!(output(&"x".repeat(5000)).trim().len(), 200);
    }

    #[test]
    fn long_text_breaks_at_spaces() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("abcdefgh i", 5), ["abcdefgh", "i"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn long_output_keeps_its_end() {
        let long: String = (0..20).map(|n| format!("{n}\n")).collect();
        let shown = output(&long);
        assert!(shown.starts_with("    ... 8 lines\n    8\n"));
        assert!(shown.ends_with("    19\n"));
    }
}
