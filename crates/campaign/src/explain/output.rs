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
/// What libtest prints between the end of a test and that of the process.
const FAILED: &str = "FAILED";
const FAILURES: &str = "failures:\n";
const RESULT: &str = "test result: FAILED.";

/// `thread 'NAME' (ID) panicked at FILE:LINE:COLUMN:`, as file and line.
fn header(line: &str) -> Option<(String, u32)> {
    let (_, place) = line.strip_prefix("thread '")?.split_once(" panicked at ")?;
    let mut parts = place.strip_suffix(':')?.rsplitn(3, ':');
    let (column, line) = (parts.next()?, parts.next()?);
    column.parse::<u32>().ok()?;
    Some((parts.next()?.to_owned(), line.parse().ok()?))
}

/// Everything that the panic hook printed, in order.
pub(super) fn reports(output: &str) -> Vec<Report> {
    let mut reports: Vec<Report> = Vec::new();
    let mut is_open = false;
    for line in of_program(output).lines() {
        if let Some((file, line)) = header(line) {
            reports.push(Report {
                file,
                line,
                message: String::new(),
            });
            is_open = true;
        } else if line.starts_with(ADVICE) || line == BACKTRACE {
            is_open = false;
        } else if let Some(report) = reports.last_mut().filter(|_| is_open) {
            report.message.push_str(line);
            report.message.push('\n');
        }
    }
    for report in &mut reports {
        report.message.truncate(report.message.trim_end().len());
    }
    reports
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
        // One list with what tests printed, one with their names.
        let between = &rest[at + FAILURES.len()..];
        let is_list = |line: &str| line.is_empty() || line.starts_with("    ");
        if !between.lines().all(is_list) {
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
        assert_eq!(reports(&output), expected);
        let shown = shown(&output);
        assert!(
            shown.starts_with("before\n") && shown.ends_with("\nlater"),
            "{shown}"
        );
        assert!(!shown.contains("RUST_BACKTRACE"), "{shown}");
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
