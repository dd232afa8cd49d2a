//! One run of the tool, and what holds for every one.

use crate::{Ended, FindingLine, Line, SummaryLine, TestLine};

/// One run of the tool with machine output.
#[derive(Debug)]
pub struct Run {
    /// Its lines.
    pub lines: Vec<Line>,
    /// What it wrote for people.
    pub stderr: String,
}

impl Run {
    /// Reads what the tool wrote. Requires the exit code, that every line is valid, that the
    /// first one is `start`, and that the tool did not panic.
    pub fn of(ended: Ended, code: i32) -> Self {
        let context = format!(
            "{}\nstdout:\n{}\nstderr:\n{}",
            ended.status, ended.stdout, ended.stderr
        );
        assert_eq!(ended.status.code(), Some(code), "exit code; {context}");
        let parsed = ended.stdout.lines().map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{context}"))
        });
        let lines: Vec<Line> = parsed.collect();
        if let Some(first) = lines.first() {
            assert!(matches!(first, Line::Start { version: 1 }), "{context}");
        }
        let own_panic =
            ended.stderr.contains("crates/cli") || ended.stderr.contains("crates/campaign");
        assert!(!own_panic, "the tool panicked; {context}");
        Self {
            lines,
            stderr: ended.stderr,
        }
    }

    /// Its findings.
    pub fn findings(&self) -> Vec<&FindingLine> {
        let findings = self.lines.iter().filter_map(|line| match line {
            Line::Finding(finding) => Some(finding),
            _ => None,
        });
        findings.collect()
    }

    /// Its one finding.
    pub fn finding(&self) -> &FindingLine {
        let [finding] = self.findings()[..] else {
            panic!("one finding was expected: {self:#?}");
        };
        assert!(finding.confirmed, "{finding:#?}");
        finding
    }

    /// What came of the tests.
    pub fn tests(&self) -> Vec<&TestLine> {
        let tests = self.lines.iter().filter_map(|line| match line {
            Line::Test(test) => Some(test),
            _ => None,
        });
        tests.collect()
    }

    /// What came of the test with this name.
    pub fn test(&self, name: &str) -> &TestLine {
        let test = self.tests().into_iter().find(|test| test.test == name);
        test.unwrap_or_else(|| panic!("no line about {name}: {self:#?}"))
    }

    /// The summary, which is the last line.
    pub fn summary(&self) -> &SummaryLine {
        match self.lines.last() {
            Some(Line::Summary(summary)) => summary,
            _ => panic!("the last line is no summary: {self:#?}"),
        }
    }

    /// Requires that a test was found not to be testable, for a reason with one of these words.
    pub fn assert_not_testable(&self, test: &str, words: &[&str]) {
        let line = self.test(test);
        assert_eq!(line.verdict, "not-testable", "{self:#?}");
        let why = line.why.clone().unwrap_or_default().to_lowercase();
        assert!(words.iter().any(|word| why.contains(word)), "{self:#?}");
    }

    /// Requires that the message for people says one of these words.
    pub fn assert_says(&self, words: &[&str]) {
        let text = self.stderr.to_lowercase();
        assert!(words.iter().any(|word| text.contains(word)), "{self:#?}");
    }
}
