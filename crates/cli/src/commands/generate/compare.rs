//! Compares what random tests do with what they do when they are written down: a check of Raddle itself.

use raddle_campaign::{self as campaign, Options, Target};
use raddle_generate::comparison::{self, Compared};
use raddle_generate::harness::Harness;
use raddle_generate::print::Printer;
use raddle_report::{Comparison, Difference, Event};
use raddle_trace::site_table::SiteTable;

use super::broken_program;
use crate::exit::{Exit, Failure};
use crate::scratch::{self, Scratch};
use crate::session::Session;

/// What is compared.
pub(super) struct Compare<'a> {
    /// The project of the program.
    pub scratch: &'a Scratch,
    /// The program.
    pub harness: &'a Harness<'a>,
    /// Writes tests down.
    pub printer: &'a Printer<'a>,
    /// How the program is run.
    pub options: &'a Options,
}

impl Compare<'_> {
    /// Compares so many tests that the seed says.
    pub(super) fn run(
        &self,
        session: &mut Session,
        target: &Target,
        drawn: (usize, u64),
    ) -> Result<Exit, Failure> {
        let stop = session.stop.clone();
        let cases = campaign::with_runner(target, self.options, stop.as_atomic(), |runner| {
            comparison::draw(self.printer, drawn, runner)
        });
        let (cases, drawn) = cases.map_err(broken_program)?;
        let printed: Vec<String> = cases.iter().flat_map(|case| case.printed.clone()).collect();
        self.scratch
            .write_program(&self.harness.source_with(&printed))?;
        let targets = session.build(&[])?;
        let Some(target) = targets.first() else {
            let sentence = "cargo built no program for the tests";
            return Err(Failure::new(Exit::Internal, sentence));
        };
        let sites = SiteTable::open(&target.exe);
        let sites = sites.map_err(|error| Failure::new(Exit::Internal, error))?;
        let comparison = comparison::Comparison {
            printer: self.printer,
            sites: &sites,
            own: &scratch::NAME.replace('-', "_"),
        };
        let mut all = Comparison {
            same: 0,
            events: 0,
            skipped: (drawn - cases.len()) as u64,
            incomplete: 0,
            different: Vec::new(),
        };
        let compared = campaign::with_runner(target, self.options, stop.as_atomic(), |runner| {
            let all = cases.iter().enumerate();
            let all = all.take_while(|_| stop.check().is_ok());
            all.map(|one| comparison.compare(one, runner))
                .collect::<Result<Vec<_>, _>>()
        });
        session.stop.check()?;
        for (case, compared) in cases.iter().zip(compared.map_err(broken_program)?) {
            match compared {
                Compared::Same(events) => {
                    all.same += 1;
                    all.events += events as u64;
                }
                Compared::Incomplete => all.incomplete += 1,
                Compared::Different(text) => all.different.push(Difference {
                    text,
                    source: case.printed[1].clone(),
                }),
            }
        }
        let exit = match all.different.is_empty() {
            true => Exit::Clean,
            false => Exit::Findings,
        };
        session.console.show(&Event::Comparison(Box::new(all)));
        Ok(exit)
    }
}
