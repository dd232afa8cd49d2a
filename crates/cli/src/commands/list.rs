//! `cargo raddle list`: the tests that `test` could run, ignored ones included.

use raddle_report::{Event, ListedTest};

use crate::arguments::ListCommand;
use crate::exit::{Exit, Failure};
use crate::session::Session;
use crate::test_arguments::TestSelection;

pub(super) fn run(command: ListCommand) -> Result<Exit, Failure> {
    let selection = TestSelection::parse(command.filter.as_ref(), &command.rest)?;
    let selection = selection.including_ignored();
    let mut session = Session::open(command.cargo, command.run, command.output)?;
    let mut targets = session.build(&[])?;
    targets.retain(|target| selection.wants(&target.name, target.ignored));
    for target in &targets {
        session.console.show(&Event::Listed(ListedTest {
            test: target.name.clone(),
            target: target.target.clone(),
            package: target.package.clone(),
            ignored: target.ignored,
        }));
    }
    if targets.is_empty() {
        return Err(Failure::new(
            Exit::NothingToTest,
            "there are no such tests here",
        ));
    }
    Ok(Exit::Clean)
}
