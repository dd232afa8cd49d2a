//! What the monitor has seen in the executions of a test, each kind of violation once.

use std::collections::{BTreeMap, BTreeSet};

use raddle_analysis::monitor::{Observed, monitor};
use raddle_trace::event::{SiteIndex, Trace};
use raddle_trace::finding::Place;
use raddle_trace::program_map::ProgramMap;
use raddle_trace::results::{Predicted, SeenViolation};

use super::{site_key, words};
use crate::course::Course;
use crate::explain::shown_file;
use crate::session::Session;
use crate::test_run::TestRun;
use crate::{Event, Prediction, Target};

/// What tells violations apart: pattern, name of the set, and keys of the functions.
type Kind = (u8, String, Vec<u64>);

/// What an engine did and saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// Executions that were meant to show something.
    pub tries: u64,
    /// Those of them in which the monitor saw a violation.
    pub hits: u64,
    kinds: BTreeMap<Kind, Sighted>,
}

struct Sighted {
    units: Vec<Place>,
    first: u64,
    hits: u64,
}

impl Seen {
    /// Kinds of violations.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// Counts one execution's violations; those that are new.
    fn add<'a>(&mut self, all: &'a [Observed], trace: &Trace, execution: u64) -> Vec<&'a Observed> {
        let mut here = BTreeSet::new();
        let mut new = Vec::new();
        for observed in all {
            let kind = kind(observed, trace);
            if !here.insert(kind.clone()) {
                continue;
            }
            let sighted = self.kinds.entry(kind).or_insert_with(|| {
                new.push(observed);
                let parties = observed.parties.iter();
                Sighted {
                    units: parties.map(|party| place(trace, party.function)).collect(),
                    first: execution,
                    hits: 0,
                }
            });
            sighted.hits += 1;
        }
        new
    }
}

/// Looks at a recorded execution with the monitor; all violations that it has.
pub(super) fn look(
    test: &mut TestRun<'_>,
    trace: &Trace,
    map: &ProgramMap,
    execution: u64,
) -> Vec<Observed> {
    let observed = monitor(trace, map);
    let new = test.course.hunt.monitored.add(&observed, trace, execution);
    if !test.course.hunt.is_quiet {
        for violation in new {
            let note = words::observed(violation, trace, execution);
            test.session.note(test.target, note);
        }
    }
    observed
}

/// The same for an execution that was meant to show something, which counts as one that did if
/// the monitor sees anything.
pub(super) fn look_at_try(
    test: &mut TestRun<'_>,
    trace: &Trace,
    map: &ProgramMap,
    execution: u64,
) -> Vec<Observed> {
    let observed = look(test, trace, map, execution);
    test.course.hunt.monitored.hits += u64::from(!observed.is_empty());
    observed
}

/// Tells what an engine came to in a test.
pub(crate) fn conclude(
    session: &Session<'_>,
    target: &Target,
    course: &Course,
    prediction: Prediction,
) {
    let (hunt, engine) = (&course.hunt, prediction.engine.name());
    let Seen { tries, hits, kinds } = &hunt.monitored;
    let workspace = &session.options.workspace_root;
    for ((pattern, set, _), sighted) in kinds {
        session.send(Event::Violation(Box::new(SeenViolation {
            test: target.name.clone(),
            target: target.target.clone(),
            engine,
            pattern: *pattern,
            set: set.clone(),
            units: sighted
                .units
                .iter()
                .map(|unit| Place {
                    file: shown_file(workspace, &target.exe, &unit.file),
                    ..unit.clone()
                })
                .collect(),
            first_execution: sighted.first,
            hits: sighted.hits,
            tries: *tries,
        })));
    }
    session.send(Event::Predicted(Box::new(Predicted {
        test: target.name.clone(),
        target: target.target.clone(),
        engine,
        predicted: hunt.predicted as u64,
        real: hunt.real as u64,
        is_complete: course.is_searched,
        tries: *tries,
        hits: *hits,
        executions: course.tally.explored - course.before.explored,
        seconds: hunt.spent.as_secs_f64(),
    })));
}

fn kind(observed: &Observed, trace: &Trace) -> Kind {
    let functions = observed.parties.iter();
    let mut keys: Vec<_> = functions
        .map(|party| site_key(trace, party.function))
        .collect();
    if observed.pattern == 0 {
        // A cycle has no beginning.
        keys.sort_unstable();
    }
    (observed.pattern, observed.set.clone(), keys)
}

fn place(trace: &Trace, site: SiteIndex) -> Place {
    let site = trace.sites.get(site.0 as usize);
    site.map_or_else(Place::default, |site| Place {
        file: site.file.clone(),
        line: site.line,
        column: site.column,
        function: site.function.clone(),
    })
}
