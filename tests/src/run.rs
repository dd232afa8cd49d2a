//! One run of the tool, and what holds for every one.

use crate::{Ended, FindingLine, Line, ReplayLine, SummaryLine, TestLine};

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
        let run = Self {
            lines,
            stderr: ended.stderr,
        };
        run.assert_consistent(code);
        run
    }

    /// Requires that something was run: an exit code alone says nothing. A command that
    /// `explores` has to say so in a summary, or about a replay.
    pub fn assert_explored(&self, explores: bool) {
        match self.lines.last() {
            Some(Line::Summary(summary)) => assert!(summary.explored > 0, "{self:#?}"),
            Some(Line::Replay(replay)) => assert!(replay.runs > 0, "{self:#?}"),
            _ => assert!(!explores, "nothing says what was explored: {self:#?}"),
        }
    }

    /// Requires that each test has one verdict, that the summary counts them all, and that the exit
    /// code is the one that it names.
    fn assert_consistent(&self, code: i32) {
        if let Some(Line::Replay(replay)) = self.lines.last() {
            assert_eq!(replay.exit_code, code, "{self:#?}");
        }
        let Some(Line::Summary(summary)) = self.lines.last() else {
            return;
        };
        let count = |verdict: &str| {
            let tests = self.tests().into_iter();
            tests.filter(|test| test.verdict == verdict).count() as u64
        };
        let counted = [
            ("explored", summary.explored),
            ("single-threaded", summary.single_threaded),
            ("failed", summary.failed),
            ("not-testable", summary.not_testable),
            ("not-run", summary.not_run),
        ];
        for (verdict, number) in counted {
            assert_eq!(count(verdict), number, "{verdict}: {self:#?}");
        }
        if let Some(named) = summary.exit_code {
            assert_eq!(named, code, "{self:#?}");
        }
    }

    /// Its findings.
    pub fn findings(&self) -> Vec<&FindingLine> {
        let findings = self.lines.iter().filter_map(|line| match line {
            Line::Finding(finding) => Some(&**finding),
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

    /// Its notes with these words.
    pub fn notes(&self, words: &str) -> Vec<&str> {
        let notes = self.lines.iter().filter_map(|line| match line {
            Line::Note { text } if text.contains(words) => Some(text.as_str()),
            _ => None,
        });
        notes.collect()
    }

    /// What came of the replay.
    pub fn replayed(&self) -> &ReplayLine {
        match self.lines.last() {
            Some(Line::Replay(replay)) => replay,
            _ => panic!("the last line is about no replay: {self:#?}"),
        }
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
        self.assert_verdict(test, "not-testable", words);
    }

    /// Requires that a test fails without any interleaving, in a way with one of these words.
    pub fn assert_failed(&self, test: &str, words: &[&str]) {
        self.assert_verdict(test, "failed", words);
    }

    fn assert_verdict(&self, test: &str, verdict: &str, words: &[&str]) {
        let line = self.test(test);
        assert_eq!(line.verdict, verdict, "{self:#?}");
        let why = line.why.clone().unwrap_or_default().to_lowercase();
        assert!(words.iter().any(|word| why.contains(word)), "{self:#?}");
    }

    /// Requires that the message for people says one of these words.
    pub fn assert_says(&self, words: &[&str]) {
        let text = self.stderr.to_lowercase();
        assert!(words.iter().any(|word| text.contains(word)), "{self:#?}");
    }
}
