//! What a program prints, without what std and libtest add to it.

/// What the panic hook of std printed for one panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// The file as rustc was given it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// The whole message.
    pub message: String,
}

/// How the hook's advice begins, which is printed once per process.
const ADVICE: &str = "note: run with `RUST_BACKTRACE=";
const BACKTRACE: &str = "stack backtrace:";
/// Lines that std prints before it aborts.
const ABORTING: &[&str] = &[
    "thread caused non-unwinding panic. aborting.",
    "thread panicked while processing panic. aborting.",
    "fatal runtime error: ",
];
/// What libtest prints between the end of a test and that of the process.
const FAILED: &str = "FAILED";
const FAILURES: &str = "failures:\n";
const RESULT: &str = "test result: FAILED.";
/// What libtest prints about a test that panics, but not as it should.
const MISMATCHES: &[&str] = &[
    "note: panic did not contain expected string",
    "expected panic with string value",
];

/// `thread 'NAME' (ID) panicked at FILE:LINE:COLUMN:`, as file and line. Hooks of the program's own have
/// other words before the place, or none.
fn header(line: &str) -> Option<(String, u32)> {
    let (_, place) = line.rsplit_once("panicked at ")?;
    let mut parts = place.strip_suffix(':')?.rsplitn(3, ':');
    let (column, line) = (parts.next()?, parts.next()?);
    column.parse::<u32>().ok()?;
    Some((parts.next()?.to_owned(), line.parse().ok()?))
}

/// Whether std's hook prints this before the place.
fn is_of_std(line: &str) -> bool {
    line.starts_with("thread '")
}

/// Whether a message has ended before this line.
fn ends_message(line: &str) -> bool {
    line.starts_with(ADVICE)
        || line == BACKTRACE
        || ABORTING.iter().any(|words| line.starts_with(words))
}

/// Everything that the panic hook printed, in order. A line that looks like std's, but is not, begins a
/// report if a panic `is_known` at this file and line.
pub(super) fn reports(output: &str, is_known: impl Fn(&str, u32) -> bool) -> Vec<Report> {
    let mut reports: Vec<Report> = Vec::new();
    let mut is_open = false;
    for text in of_program(output).lines() {
        let header = header(text).filter(|(file, line)| is_of_std(text) || is_known(file, *line));
        if let Some((file, line)) = header {
            reports.push(Report {
                file,
                line,
                message: String::new(),
            });
            is_open = true;
        } else if ends_message(text) {
            is_open = false;
        } else if let Some(report) = reports.last_mut().filter(|_| is_open) {
            report.message.push_str(text);
            report.message.push('\n');
        }
    }
    for report in &mut reports {
        report.message.truncate(report.message.trim_end().len());
    }
    reports
}

/// The lines that std's panic hook printed, with whole messages.
pub(crate) fn panic_lines(output: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_open = false;
    for line in of_program(output).lines() {
        let begins = is_of_std(line) && header(line).is_some();
        if begins || ends_message(line) {
            // Empty lines between two reports belong to neither.
            let filled = lines.iter().rposition(|line| !line.trim().is_empty());
            lines.truncate(filled.map_or(0, |last| last + 1));
        }
        is_open = begins || (is_open && !ends_message(line));
        if is_open {
            lines.push(line);
        }
    }
    lines
}

/// What libtest says about the panic of a test that should panic otherwise.
pub(crate) fn mismatch(output: &str) -> Option<&str> {
    let notes = &output[of_program(output).len()..];
    let start = MISMATCHES.iter().find_map(|words| notes.find(words))?;
    let note = &notes[start..];
    let end = note.find("\n\n").unwrap_or(note.len());
    Some(note[..end].trim_end())
}

/// The error that a test returned, as libtest prints it.
pub(super) fn error(output: &str) -> Option<String> {
    let mut lines = of_program(output).lines();
    let line = lines.rfind(|line| line.starts_with("Error: "))?;
    Some(line.trim_start_matches("Error: ").to_owned())
}

/// What C's `assert` prints last.
pub(super) fn assertion(output: &str) -> Option<String> {
    let mut lines = output.lines();
    let line = lines.rfind(|line| line.contains(": Assertion `") && line.ends_with("failed."))?;
    Some(line.to_owned())
}

/// The output without the end that libtest adds to it.
pub(super) fn of_program(output: &str) -> &str {
    let Some(result) = output.rfind(RESULT) else {
        return output;
    };
    let mut rest = &output[..result];
    let mut is_cut = false;
    while let Some(at) = rest.rfind(FAILURES) {
        // One list with what tests printed and what libtest notes about them, one with their names.
        let between = &rest[at + FAILURES.len()..];
        let is_list = |line: &str| line.is_empty() || line.starts_with("    ");
        if !between.lines().all(is_list) && !is_note(between) {
            break;
        }
        rest = &rest[..at];
        is_cut = true;
    }
    let trimmed = rest.trim_end();
    match trimmed.strip_suffix(FAILED) {
        Some(rest) if is_cut => rest,
        _ => rest,
    }
}

/// Whether this is a list of libtest's with its note about a test.
fn is_note(list: &str) -> bool {
    let mut lines = list.lines().filter(|line| !line.is_empty());
    let heading = lines.next().unwrap_or_default();
    heading.starts_with("---- ") && heading.ends_with(" stdout ----")
}

/// The output without libtest's end and the hook's advice, for people.
pub(crate) fn shown(output: &str) -> String {
    let lines = of_program(output).lines();
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with(ADVICE)).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str =
        "FAILED\n\nfailures:\n\nfailures:\n    t\n\ntest result: FAILED. 0 passed; 1 failed\n\n";

    #[test]
    fn a_message_of_many_lines_is_whole_and_nothing_else() {
        let message = "the value is 1\n\nand more\nnote: this is ours\nFAILED to see";
        let output = format!(
            "before\n\nthread 'w' (7) panicked at src/lib.rs:5:9:\n{message}\nnote: run with \
             `RUST_BACKTRACE=1` environment variable to display a backtrace\n\nthread 't' (1) panicked \
             at src/a:b.rs:9:9:\nlater\n{TAIL}"
        );
        let report = |file: &str, line, message: &str| Report {
            file: file.to_owned(),
            line,
            message: message.to_owned(),
        };
        let expected = [
            report("src/lib.rs", 5, message),
            report("src/a:b.rs", 9, "later"),
        ];
        assert_eq!(reports(&output, |_, _| false), expected);
        let shown = shown(&output);
        assert!(
            shown.starts_with("before\n") && shown.ends_with("\nlater"),
            "{shown}"
        );
        assert!(!shown.contains("RUST_BACKTRACE"), "{shown}");
    }

    #[test]
    fn what_hooks_of_the_program_print_is_known_by_its_place() {
        let output = "panicked at src/lib.rs:5:9:\nin a hook\nthread panicked while processing panic. \
                      aborting.\nours: panicked at src/lib.rs:7:1:\nsaid: panicked at x.rs:1:1:\nlast";
        let messages = |known: &[u32]| -> Vec<String> {
            let reports = reports(output, |_, line| known.contains(&line));
            reports.into_iter().map(|report| report.message).collect()
        };
        let last = "said: panicked at x.rs:1:1:\nlast";
        assert_eq!(messages(&[5, 7]), ["in a hook", last]);
        assert_eq!(messages(&[7]), [last]);
        assert!(messages(&[]).is_empty());
    }

    #[test]
    fn lines_of_panics_are_whole_and_libtests_note_is_apart() {
        let first = "thread 't' (1) panicked at src/a.rs:1:1:\none\n\n  two\n";
        let second = "thread 't' (1) panicked at src/a.rs:2:2:\nthree\n";
        let note = "note: panic did not contain expected string\n      panic message: \"three\"\n expected \
                    substring: \"four\"";
        let tail = format!(
            "FAILED\n\nfailures:\n\n---- t stdout ----\n{note}\n\nfailures:\n    t\n\ntest result: \
             FAILED. 0 passed; 1 failed\n"
        );
        let output = format!("before\n\n{first}\n{second}{tail}");
        let expected: Vec<&str> = first.lines().chain(second.lines()).collect();
        assert_eq!(panic_lines(&output), expected);
        assert_eq!(mismatch(&output), Some(note));
        assert!(shown(&output).ends_with("three"), "{}", shown(&output));
        assert_eq!(mismatch(&format!("{note}{TAIL}")), None);
    }

    #[test]
    fn output_that_only_looks_like_libtest_stays() {
        for output in ["failures:\n    none\n", "FAILED\n", "a\n"] {
            assert_eq!(of_program(output), output);
        }
        assert_eq!(
            error(&format!("Error: \"eight\"\n{TAIL}")).unwrap(),
            "\"eight\""
        );
    }
}
