//! Violations of atomic sets in a recording, as the monitor sees them and as findings.

use raddle_abi::finding::Kind;
use raddle_abi::site::Operation;
use raddle_analysis::monitor::{Observed, monitor};
use raddle_trace::event::Trace;
use raddle_trace::naming;
use raddle_trace::runner::{Outcome, RawFinding, RawRecording, RawStep};
use std::rc::Rc;

use raddle_trace::program_map::ProgramMap;

use super::program_map::program_map;
use super::{Explainer, Names};

/// A recorded execution, and what the monitor sees in it.
pub(crate) struct Monitored {
    /// The execution.
    pub trace: Trace,
    /// The recorded event that each event of the trace comes from.
    pub origins: Vec<u32>,
    /// The violations that match a pattern.
    pub observed: Vec<Observed>,
}

impl Monitored {
    /// The accesses of a violation.
    pub fn steps(&self, observed: &Observed, recording: &RawRecording) -> Vec<RawStep> {
        let origins = observed.accesses.iter().map(|at| self.origin(*at));
        let events = origins.filter_map(|origin| recording.events.get(origin));
        let steps = events.map(|event| RawStep {
            site: event.site,
            operation: Operation::from_number(event.operation).unwrap_or(Operation::Unknown),
            thread: event.thread,
            address: event.address,
            len: event.len,
            frames: recording.stack(event).to_vec(),
        });
        steps.collect()
    }

    /// Where an event of the trace is in the recording.
    pub fn origin(&self, at: u32) -> usize {
        self.origins.get(at as usize).map_or(0, |at| *at as usize)
    }

    /// A violation of an execution as a finding.
    pub fn raw(&self, observed: &Observed, outcome: &Outcome, seed: u64) -> RawFinding {
        let none = RawRecording::default();
        let recording = outcome.recording.as_ref().unwrap_or(&none);
        RawFinding {
            kind: Kind::AtomicSet,
            execution: 0,
            seed,
            length: outcome.length,
            points: outcome.last_points,
            hash: outcome.last_hash,
            detail: [observed.pattern.into(), 0],
            decisions: outcome.decisions.clone(),
            steps: self.steps(observed, recording),
            waits: Vec::new(),
            output: String::from_utf8_lossy(&outcome.output).into_owned(),
        }
    }
}

impl Explainer {
    /// The program's map, if it has one.
    pub fn map(&mut self) -> Option<Rc<ProgramMap>> {
        let (executable, overrides) = (&self.executable, &self.overrides);
        let map = self
            .map
            .get_or_insert_with(|| program_map(executable, overrides).ok().map(Rc::new));
        map.clone()
    }

    /// What the monitor sees in a recording.
    pub fn monitored(&mut self, recording: &RawRecording) -> Option<Monitored> {
        let map = self.map()?;
        self.locator.sites()?;
        if recording.events.is_empty() {
            return None;
        }
        let names = Names::new(&mut self.locator, Some(Rc::clone(&map)));
        let (trace, origins) = naming::name_with_origins(recording, &names, "", "");
        let mut observed = monitor(&trace, &map);
        observed.retain(|observed| !observed.accesses.is_empty());
        Some(Monitored {
            trace,
            origins,
            observed,
        })
    }

    /// The violations of an execution, as findings.
    pub fn violations(&mut self, outcome: &Outcome, seed: u64) -> Vec<RawFinding> {
        let Some(recording) = &outcome.recording else {
            return Vec::new();
        };
        let Some(monitored) = self.monitored(recording) else {
            return Vec::new();
        };
        let observed = monitored.observed.iter();
        observed
            .map(|observed| monitored.raw(observed, outcome, seed))
            .collect()
    }
}
