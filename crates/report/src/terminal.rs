//! Output for people. Results go to one stream, preparation and notes to another.

mod finding;
mod generated;
mod lanes;
mod summary;
mod violation;

use std::io::{self, Write};

use raddle_trace::finding::Finding;

use crate::progress::{ProgressLine, count};
use crate::style::Styles;
use crate::{
    Check, CheckResult, Event, ListedTest, Note, Replay, Reporter, Sources, TestResult, Verdict,
    visible_line,
};

/// How the terminal output should look.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether to use colours.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to say more: every test, and why single-threaded ones are.
    pub verbose: bool,
    /// Whether to show a progress line.
    pub progress: bool,
    /// What the user types before a finding's id to replay it.
    pub replay_command: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            colour: false,
            width: 100,
            verbose: false,
            progress: false,
            replay_command: "cargo raddle replay".to_owned(),
        }
    }
}

/// Writes events for people.
pub struct Terminal<O, E> {
    out: O,
    err: E,
    settings: Settings,
    styles: Styles,
    sources: Sources,
    progress: ProgressLine,
    tests: Vec<TestResult>,
    /// Findings that are only about time, which are listed at the end.
    timing: Vec<Finding>,
}

impl<O: Write, E: Write> Terminal<O, E> {
    /// Results go to `out`, everything else to `err`.
    pub fn new(out: O, err: E, settings: Settings, sources: Sources) -> Self {
        Self {
            out,
            err,
            styles: Styles::new(settings.colour),
            progress: ProgressLine::new(settings.progress),
            settings,
            sources,
            tests: Vec::new(),
            timing: Vec::new(),
        }
    }

    /// The way of all results to the terminal.
    fn print(&mut self, text: &str) -> io::Result<()> {
        let text = self.styles.finish(text);
        let out = &mut self.out;
        self.progress.suspend(|| {
            out.write_all(text.as_bytes())?;
            out.flush()
        })
    }

    /// The way of everything else.
    fn remark(&mut self, text: &str) -> io::Result<()> {
        let text = self.styles.finish(text);
        let err = &mut self.err;
        self.progress.suspend(|| {
            err.write_all(text.as_bytes())?;
            err.flush()
        })
    }

    fn new_finding(&mut self, finding: &Finding) -> io::Result<()> {
        // What is more than timing after all is so from now on.
        self.timing.retain(|known| known.id != finding.id);
        match finding.timing {
            Some(_) => {
                self.timing.push(finding.clone());
                Ok(())
            }
            None => self.finding(finding),
        }
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let text = finding::text(finding, &self.settings, &self.styles, &self.sources);
        self.print(&text)
    }

    fn note(&mut self, note: &Note) -> io::Result<()> {
        if note.is_detail && !self.settings.verbose {
            return Ok(());
        }
        let word = self.styles.warn.apply_to("note");
        let (target, test) = (visible_line(&note.target), visible_line(&note.test));
        let about = match (target.as_str(), test.as_str()) {
            ("", "") => String::new(),
            ("", test) => format!("{test}: "),
            (target, test) => format!("{target} {test}: "),
        };
        self.remark(&format!("{word}: {about}{}\n", note.text))
    }

    fn test(&mut self, test: &TestResult) -> io::Result<()> {
        self.tests.push(test.clone());
        if !self.settings.verbose {
            return Ok(());
        }
        let (style, verdict) = match &test.verdict {
            Verdict::Explored if test.findings.is_empty() => (&self.styles.good, "explored"),
            Verdict::Explored => (&self.styles.bad, "explored"),
            verdict => (&self.styles.warn, verdict.word()),
        };
        let line = format!(
            "{:>15} {} {} ({}, {} threads at most, {} carrier, {}, {:.2} s)\n",
            style.apply_to(verdict),
            visible_line(&test.target),
            visible_line(&test.test),
            count(test.executions, "execution"),
            test.threads,
            test.carrier,
            test.reexecution,
            test.seconds,
        );
        self.remark(&line)
    }

    fn listed(&mut self, listed: &ListedTest) -> io::Result<()> {
        let ignored = if listed.ignored { " (ignored)" } else { "" };
        let line = format!(
            "{} {}{ignored}\n",
            visible_line(&listed.target),
            visible_line(&listed.test)
        );
        self.print(&line)
    }

    fn replay(&mut self, replay: &Replay) -> io::Result<()> {
        if let Some(finding) = &replay.finding {
            self.finding(finding)?;
        }
        let style = if replay.reproduced == replay.runs {
            &self.styles.strong
        } else {
            &self.styles.warn
        };
        let mut text = format!(
            "{} {} of {}\n",
            style.apply_to(format!("{} showed again in", replay.id)),
            replay.reproduced,
            count(replay.runs, "replay"),
        );
        if let Some(diverged) = &replay.diverged {
            text.push_str(&format!("  {diverged}\n"));
        }
        for other in &replay.others {
            text.push_str(&format!("  a different failure showed instead: {other}\n"));
        }
        let meaning = match (replay.reproduced, replay.others.is_empty(), replay.runs) {
            (1.., ..) => "the finding showed again",
            (0, false, _) => "another failure than the recorded one",
            (0, true, 0) => "nothing was run",
            (0, true, _) if replay.diverged.is_some() => {
                "the finding did not show, but the schedule could not be followed"
            }
            (0, true, _) => "the finding did not show",
        };
        text.push_str(&format!("exit code {}: {meaning}\n", replay.exit));
        self.print(&text)
    }

    fn check(&mut self, check: &Check) -> io::Result<()> {
        let style = match check.result {
            CheckResult::Good => &self.styles.good,
            CheckResult::Limited => &self.styles.warn,
            CheckResult::Bad => &self.styles.bad,
        };
        let word = style.apply_to(check.result.word());
        let line = format!("{word:>8} {}: {}\n", check.name, check.text);
        self.print(&line)
    }
}

impl<O: Write, E: Write> Reporter for Terminal<O, E> {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Start => Ok(()),
            Event::Status { verb, text } => {
                let line = format!("{:>12} {text}\n", self.styles.good.apply_to(verb));
                self.remark(&line)
            }
            Event::Progress(progress) => {
                self.progress.show(progress);
                Ok(())
            }
            Event::Finding(finding) => self.new_finding(finding),
            Event::Note(note) => self.note(note),
            // People read the same in notes.
            Event::Violation(_) | Event::Predicted(_) => Ok(()),
            Event::Test(test) => self.test(test),
            Event::Listed(listed) => self.listed(listed),
            Event::Operation(operation) => {
                let text = generated::operation(operation, &self.styles);
                self.print(&text)
            }
            Event::Generated(test) => {
                let text = generated::test(test, &self.styles);
                self.print(&text)
            }
            Event::Coverage(coverage) => {
                let text = generated::coverage(coverage, &self.styles);
                self.print(&text)
            }
            Event::Trial(trial) => {
                let text = generated::trial(trial);
                self.print(&text)
            }
            Event::Comparison(comparison) => {
                let text = generated::comparison(comparison);
                self.print(&text)
            }
            Event::Replay(replay) => self.replay(replay),
            Event::Check(check) => self.check(check),
            Event::Summary(summary) => {
                self.progress.clear();
                let timing = std::mem::take(&mut self.timing);
                let texts = timing.iter().map(|finding| {
                    finding::timing(finding, &self.settings.replay_command, &self.styles)
                });
                let text: String = texts.collect();
                self.print(&text)?;
                let text = summary::text(summary, &self.tests, self.settings.verbose, &self.styles);
                self.print(&text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Settings, Terminal};
    use crate::{Event, Reporter, Sources, sample};

    fn shown(events: &[Event], settings: Settings) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let sources = Sources::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"));
        let mut terminal = Terminal::new(&mut out, &mut err, settings, sources);
        for event in events {
            terminal.report(event).unwrap();
        }
        let [out, err] = [out, err].map(|bytes| String::from_utf8(bytes).unwrap());
        format!("{out}--- stderr\n{err}")
    }

    #[test]
    fn every_event_is_shown_to_people() {
        insta::assert_snapshot!(shown(&sample::events(), Settings::default()));
    }

    #[test]
    fn verbose_output_names_every_test() {
        let settings = Settings {
            verbose: true,
            ..Settings::default()
        };
        let events: Vec<_> = sample::events()
            .into_iter()
            .filter(|event| matches!(event, Event::Test(_) | Event::Summary(_)))
            .collect();
        insta::assert_snapshot!(shown(&events, settings));
    }

    #[test]
    fn many_threads_become_a_graph() {
        let settings = Settings {
            width: 72,
            ..Settings::default()
        };
        let events = [Event::Finding(Box::new(sample::deadlock(6)))];
        insta::assert_snapshot!(shown(&events, settings));
    }

    #[test]
    fn colours_come_only_when_asked_for() {
        let events = sample::events();
        assert!(!shown(&events, Settings::default()).contains('\u{1b}'));
        let settings = Settings {
            colour: true,
            ..Settings::default()
        };
        assert!(shown(&events, settings).contains('\u{1b}'));
    }
}
