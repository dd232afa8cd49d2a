//! `cargo raddle keep ID`: copies a finding's schedule to `raddle-regressions/`.

use std::fs;

use anyhow::Context;
use raddle_campaign::find_stored;

use crate::arguments::KeepCommand;
use crate::config::Config;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::file::write_whole;
use crate::interrupt::StopFlag;
use crate::metadata::Metadata;

pub(super) fn run(command: &KeepCommand) -> Result<Exit, Failure> {
    let metadata = Metadata::load(&command.cargo)?;
    let config = Config::load(&metadata.workspace_root)?;
    let output = command.output.over(config.output);
    let mut console = Console::new(output, metadata.sources(None), StopFlag::install()?);
    let stored = find_stored(&command.finding, &metadata.results())?;
    let text = fs::read(&stored.schedule)
        .with_context(|| format!("cannot read {}", stored.schedule.display()))
        .or_exit(Exit::Usage)?;
    let directory = metadata.regressions();
    let path = directory.join(format!("{}.schedule", stored.id));
    fs::create_dir_all(&directory)
        .and_then(|()| write_whole(&path, &text))
        .with_context(|| format!("cannot write {}", path.display()))
        .or_exit(Exit::Unsupported)?;
    let shown = path.strip_prefix(&metadata.workspace_root).unwrap_or(&path);
    console.status(
        "Kept",
        format!(
            "{}; commit it, and `test` replays it first",
            shown.display()
        ),
    );
    Ok(Exit::Clean)
}
