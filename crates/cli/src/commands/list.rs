//! `cargo raddle list`: the tests that `test` could run, ignored ones included.

use raddle_campaign::Target;
use raddle_report::{Event, ListedTest};

use crate::arguments::{ListCommand, is_program};
use crate::exit::{Exit, Failure};
use crate::program::ProgramSession;
use crate::session::Session;
use crate::stored_flags::StoredFlags;
use crate::test_arguments::TestSelection;

pub(super) fn run(command: ListCommand) -> Result<Exit, Failure> {
    if let Some(path) = command
        .filter
        .as_deref()
        .filter(|filter| is_program(filter))
    {
        let flags = StoredFlags::of_program(&command.rest, &command.program);
        let mut session = ProgramSession::open(command.program, command.run, command.output)?;
        let target = session.target(path, &flags)?;
        session.console.show(&listed(&target));
        return Ok(Exit::Clean);
    }
    command.program.refuse()?;
    let selection = TestSelection::parse(command.filter.as_ref(), &command.rest)?;
    let selection = selection.including_ignored();
    let mut session = Session::open(command.cargo, command.run, command.output)?;
    let mut targets = session.build(&[])?;
    targets.retain(|target| selection.wants(&target.name, target.ignored));
    for target in &targets {
        session.console.show(&listed(target));
    }
    if targets.is_empty() {
        return Err(Failure::new(
            Exit::NothingToTest,
            "there are no such tests here",
        ));
    }
    Ok(Exit::Clean)
}

fn listed(target: &Target) -> Event {
    Event::Listed(ListedTest {
        test: target.name.clone(),
        target: target.target.clone(),
        package: target.package.clone(),
        ignored: target.ignored,
    })
}
