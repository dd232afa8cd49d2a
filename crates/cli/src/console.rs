//! Chooses how events are shown, and turns the campaign's events into those of reports.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Stderr, Stdout, Write};
use std::path::Path;
use std::sync::OnceLock;

use raddle_campaign as campaign;
use raddle_report::{Event, Json, Note, Reporter, Settings, Sources, Terminal, visible};

use crate::exit::{Exit, Failure};
use crate::interrupt::StopFlag;
use crate::settings::{Color, MessageFormat, OutputOptions};
use crate::shell::shell_words;
use crate::streams;

/// Why the user's streams took no more.
static TROUBLE: OnceLock<io::Error> = OnceLock::new();

/// Shows events to the user.
pub(crate) struct Console {
    reporter: Box<dyn Reporter>,
    stop: StopFlag,
}

impl Console {
    /// A console as the options want it, with the command that replays a finding when its id is
    /// added.
    pub(crate) fn new(
        options: OutputOptions,
        sources: Sources,
        stop: StopFlag,
        replay: String,
    ) -> Self {
        let reporter: Box<dyn Reporter> = match options.message_format.unwrap_or_default() {
            MessageFormat::Json => Box::new(Json::new(io::stdout())),
            MessageFormat::Human => Box::new(terminal(options, sources, replay)),
        };
        let mut console = Self { reporter, stop };
        console.show(&Event::Start);
        console
    }

    /// Shows one event. Once that fails, the work stops, and [`finish`] says why.
    pub(crate) fn show(&mut self, event: &Event) {
        if let Err(error) = self.reporter.report(event) {
            let _ = TROUBLE.set(error);
            self.stop.set();
        }
    }

    /// Shows a step of the preparation.
    pub(crate) fn status(&mut self, verb: &str, text: impl Into<String>) {
        self.show(&Event::Status {
            verb: verb.to_owned(),
            text: text.into(),
        });
    }

    /// Shows a note about the whole run.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.show(&Event::Note(Note::general(text)));
    }

    /// Shows what a campaign says.
    pub(crate) fn campaign_event(&mut self, event: campaign::Event) {
        let event = match event {
            campaign::Event::TestStarted(_) => return,
            campaign::Event::Progress(progress) => Event::Progress(progress),
            campaign::Event::Finding(finding) => Event::Finding(finding),
            campaign::Event::Ignored { finding, rule: _ } => Event::Note(Note {
                text: format!(
                    "{} is ignored by raddle.toml: {}",
                    finding.id, finding.title
                ),
                test: finding.test,
                target: finding.target,
                is_detail: false,
            }),
            campaign::Event::Note(note) => Event::Note(note),
            campaign::Event::Violation(seen) => Event::Violation(seen),
            campaign::Event::Predicted(predicted) => Event::Predicted(predicted),
            campaign::Event::TestDone(result) => Event::Test(result),
        };
        self.show(&event);
    }
}

fn terminal(
    options: OutputOptions,
    sources: Sources,
    replay_command: String,
) -> Terminal<Stdout, Stderr> {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = match options.color.unwrap_or_default() {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => io::stdout().is_terminal() && !no_color,
    };
    let width = console::Term::stdout().size_checked();
    let defaults = Settings::default();
    let settings = Settings {
        colour,
        width: width.map_or(defaults.width, |(_, columns)| usize::from(columns).max(40)),
        verbose: options.verbose,
        progress: io::stderr().is_terminal(),
        replay_command,
    };
    Terminal::new(io::stdout(), io::stderr(), settings, sources)
}

/// The command that replays a finding when its id is added, with these flags.
pub(crate) fn replay_command(flags: &[OsString]) -> String {
    let replay = format!("{} replay", own_name());
    match flags {
        [] => replay,
        flags => {
            let flags = flags.iter().map(|flag| flag.to_string_lossy());
            format!("{replay} {}", shell_words(flags))
        }
    }
}

/// How the user calls us.
pub(crate) fn own_name() -> &'static str {
    let own = std::env::args_os().next().unwrap_or_default();
    let is_plain = Path::new(&own)
        .file_name()
        .is_some_and(|name| name == "raddle");
    if is_plain { "raddle" } else { "cargo raddle" }
}

/// Whether the user's streams took no more.
pub(crate) fn is_in_trouble() -> bool {
    TROUBLE.get().is_some()
}

/// How a command ends that is done: what it said has to have arrived.
pub(crate) fn finish(exit: Exit) -> Result<Exit, Failure> {
    let flushed = io::stdout().flush();
    let Some(error) = TROUBLE.get().or(flushed.as_ref().err()) else {
        return Ok(exit);
    };
    let failure = cannot_write(error);
    match exit {
        Exit::Clean | Exit::Interrupted | Exit::Inconclusive | Exit::NothingToTest => Err(failure),
        // What was found matters more.
        _ => {
            print_error(&failure);
            Ok(exit)
        }
    }
}

/// The output cannot be written.
pub(crate) fn cannot_write(error: impl Display) -> Failure {
    Failure::new(
        Exit::Unsupported,
        format!(
            "the output cannot be written: {error}; what was not shown is not known to be clean"
        ),
    )
}

/// Fails if standard output was closed when the tool was started.
pub(crate) fn require_output() -> Result<(), Failure> {
    match streams::output_is_closed() {
        true => Err(cannot_write("standard output is closed")),
        false => Ok(()),
    }
}

/// Says something on the way, where there is no console yet or somebody else has it.
pub(crate) fn say_note(sentence: &str) {
    let _ = writeln!(io::stderr(), "note: {}", visible(sentence));
}

/// The last word of a command that failed.
pub(crate) fn print_error(failure: &Failure) {
    if let Some(error) = &failure.error {
        // Nobody may be reading; then there is nobody to tell.
        let text = visible(&format!("{error:#}"));
        let _ = writeln!(io::stderr(), "error: {text}");
    }
}
