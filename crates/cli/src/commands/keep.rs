//! `cargo raddle keep ID`: copies a finding's schedule to `raddle-regressions/`.

use std::fs;

use anyhow::Context;
use raddle_campaign::{LARGEST, find_stored, read_file};
use raddle_report::Sources;

use crate::arguments::KeepCommand;
use crate::config::Config;
use crate::console::{Console, replay_command};
use crate::exit::{Exit, Failure, OrExit};
use crate::file::write_whole;
use crate::interrupt::StopFlag;
use crate::metadata::{Metadata, REGRESSIONS};
use crate::program;

pub(super) fn run(command: &KeepCommand) -> Result<Exit, Failure> {
    let (stored, root, sources) = match program::find_stored(&command.finding, &command.program)? {
        Some((stored, _)) => {
            let root = program::root()?;
            let sources = Sources::new(&root);
            (stored, root, sources)
        }
        None => {
            let metadata = Metadata::load(&command.cargo)?;
            let stored = find_stored(&command.finding, &metadata.results())?;
            let sources = metadata.sources(None);
            (stored, metadata.workspace_root, sources)
        }
    };
    let config = Config::load(&root)?;
    let output = command.output.over(config.output);
    let mut console = Console::new(output, sources, StopFlag::install()?, replay_command(&[]));
    let text = read_file(&stored.schedule, LARGEST)
        .with_context(|| format!("cannot read {}", stored.schedule.display()))
        .or_exit(Exit::Usage)?;
    let directory = root.join(REGRESSIONS);
    let path = directory.join(format!("{}.schedule", stored.id));
    fs::create_dir_all(&directory)
        .and_then(|()| write_whole(&path, &text))
        .with_context(|| format!("cannot write {}", path.display()))
        .or_exit(Exit::Unsupported)?;
    let shown = path.strip_prefix(&root).unwrap_or(&path);
    console.status(
        "Kept",
        format!(
            "{}; commit it, and `test` replays it first",
            shown.display()
        ),
    );
    Ok(Exit::Clean)
}
