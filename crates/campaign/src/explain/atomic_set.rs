//! Violations of atomic sets: the set, both units of work, what they read and left, and what to do.

use std::rc::Rc;

use raddle_abi::record::{HEAP_BASE, MAPPINGS_BASE};
use raddle_abi::site::Operation;
use raddle_analysis::monitor::Observed;
use raddle_analysis::names::PlaceName;
use raddle_analysis::patterns::{self, Pattern, Slot, Who};
use raddle_analysis::severity::{self, Outcome, Read};
use raddle_trace::event::{Action, Location, SiteIndex};
use raddle_trace::finding::{Place, Violation};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{RawFinding, RawRecording};

use super::lanes::Interest;
use super::locate::{Located, Locator, short};
use super::monitored::Monitored;
use super::{Explainer, Story, fix, stack_of, thread_in_words};
use crate::fields::{self, quoted, set_in_words};
use crate::wording;

/// Fields, and values that were read, that are named.
const NAMED: usize = 6;

/// What two units have done that match no pattern, each of which comes before the other.
const CYCLE: &str = "each of them overlooks what the other one does";

/// A violation with everything that is said about it.
pub(super) struct Told {
    pub story: Story,
    pub violation: Violation,
}

impl Explainer {
    /// What there is to say about a violation in a recording; the lanes are those of the recording
    /// without annotations.
    pub(super) fn tell(&mut self, raw: &RawFinding, recording: &RawRecording) -> Option<Told> {
        let map = self.map()?;
        let monitored = self.monitored(recording)?;
        let observed = monitored.observed.iter().find(|observed| {
            u64::from(observed.pattern) == raw.detail[0]
                && monitored.steps(observed, recording) == raw.steps
        })?;
        let first_thread = self.first_thread;
        let teller = Teller {
            map,
            monitored: &monitored,
            observed,
            recording,
            first_thread,
        };
        Some(teller.tell(self))
    }

    /// The violation that a finding is, for people.
    pub fn violation(&mut self, raw: &RawFinding, recording: &RawRecording) -> Option<Violation> {
        Some(self.tell(raw, recording)?.violation)
    }
}

/// What is known about one violation.
pub(super) struct Teller<'a> {
    pub map: Rc<ProgramMap>,
    pub monitored: &'a Monitored,
    pub observed: &'a Observed,
    pub recording: &'a RawRecording,
    first_thread: u16,
}

impl Teller<'_> {
    fn tell(&self, explainer: &mut Explainer) -> Told {
        let located: Vec<Located> = self
            .events()
            .map(|origin| {
                let event = &self.recording.events[origin];
                let stack = self.recording.stack(event);
                explainer.locator.locate(event.site, stack)
            })
            .collect();
        let units = [0, 1].map(|unit| self.unit(explainer, unit));
        let violation = self.violation(&units, &located);
        let [u, v] = units.each_ref().map(|unit| short(&unit.function));
        let set = set_in_words(&self.observed.set);
        let steps: Vec<_> = (0..located.len())
            .map(|index| {
                let unit = if self.who(index) == Who::U { &u } else { &v };
                let line = located[index].place(true).line;
                format!("`{unit}` {} at line {line}", self.action(index, true))
            })
            .collect();
        let title = format!("`{u}` and `{v}` mix on {set}: {}", violation.meaning);
        let cause = format!(
            "{}. Nothing keeps `{v}` out in between.",
            steps.join(", then ")
        );
        let mut sites: Vec<Place> = Vec::new();
        for place in located.iter().map(|located| located.place(true)) {
            if !sites.contains(&place) {
                sites.push(place);
            }
        }
        let stacks = [Who::U, Who::V].iter().filter_map(|who| {
            let index = (0..located.len()).rfind(|index| self.who(*index) == *who)?;
            let thread = self.event(index).thread.saturating_sub(self.first_thread);
            let by = thread_in_words(thread);
            let heading = format!("{by} {}", self.action(index, false));
            Some(stack_of(heading, thread, &located[index]))
        });
        Told {
            story: Story {
                title,
                cause,
                message: String::new(),
                sites,
                stacks: stacks.collect(),
                interest: self.interest(),
            },
            violation,
        }
    }

    fn violation(&self, units: &[Place; 2], located: &[Located]) -> Violation {
        let places = (0..located.len()).map(|index| self.field(index));
        let mut fields: Vec<String> = Vec::new();
        for field in places {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        let outcome = severity::pair(&self.monitored.trace, &self.map, self.observed)
            .and_then(|pair| severity::run(&self.monitored.trace, &self.map, &pair).ok());
        let names = units.each_ref().map(|unit| short(&unit.function));
        Violation {
            pattern: self.observed.pattern,
            meaning: self.pattern().map_or(CYCLE, |row| row.meaning).to_owned(),
            set: self.observed.set.clone(),
            fields,
            units: units.to_vec(),
            observed: outcome.map_or_else(String::new, |run| {
                outcome_in_words(&run.outcome, &self.map, &self.observed.set, &names)
            }),
            serial: Vec::new(),
            fix: fix::words(self, units, located),
        }
    }

    fn pattern(&self) -> Option<&'static Pattern> {
        let number = self.observed.pattern;
        let mut rows = patterns::ALL.iter();
        rows.find(|row| row.number == number && row.steps.len() == self.observed.accesses.len())
    }

    /// Where the accesses are in the recording.
    fn events(&self) -> impl Iterator<Item = usize> {
        let accesses = self.observed.accesses.iter();
        accesses.map(|at| self.monitored.origin(*at))
    }

    fn event(&self, index: usize) -> &raddle_abi::record::RawEvent {
        &self.recording.events[self.monitored.origin(self.observed.accesses[index])]
    }

    /// Whose an access is.
    pub(super) fn who(&self, index: usize) -> Who {
        let event = &self.monitored.trace.events[self.observed.accesses[index] as usize];
        match event.thread == self.observed.parties[0].thread {
            true => Who::U,
            false => Who::V,
        }
    }

    fn location(&self, index: usize) -> Option<Location> {
        match self.monitored.trace.events[self.observed.accesses[index] as usize].action {
            Action::Access { location, .. } => Some(location),
            _ => None,
        }
    }

    /// What an access touches.
    pub(super) fn field(&self, index: usize) -> String {
        let (set, instance) = (&self.observed.set, self.observed.instance);
        let trace = &self.monitored.trace;
        if let Some(Some(behind)) = self.observed.behind.get(index) {
            return fields::owned(&self.map, set, behind);
        }
        self.location(index).map_or_else(String::new, |location| {
            fields::place(trace, &self.map, set, instance, location)
        })
    }

    /// "reads `checking`", and perhaps what.
    fn action(&self, index: usize, with_value: bool) -> String {
        let Action::Access {
            access,
            size,
            value,
            ..
        } = self.monitored.trace.events[self.observed.accesses[index] as usize].action
        else {
            return "touches it".to_owned();
        };
        let slot = self.pattern().map(|row| row.steps[index].slot);
        let verb = match (access.writes(), slot) {
            (true, Some(Slot::Read)) => "reads and writes",
            (true, _) => "writes",
            (false, _) => "reads",
        };
        let value = match with_value && size <= 8 && verb != "reads and writes" {
            true => format!(" ({})", value_in_words(value)),
            false => String::new(),
        };
        format!("{verb} {}{value}", quoted(&self.field(index)))
    }

    fn unit(&self, explainer: &Explainer, unit: usize) -> Place {
        let site = self.observed.parties[unit].function;
        let SiteIndex(index) = site;
        let site = self.monitored.trace.sites.get(index as usize);
        site.map_or_else(super::locate::unknown_place, |site| Place {
            file: explainer.shown(&site.file),
            line: site.line,
            column: site.column,
            function: site.function.clone(),
        })
    }

    /// The accesses, and what the two units do with locks.
    fn interest(&self) -> Interest {
        let mut interest = Interest::default();
        let shown = |origin: usize| {
            let before = self.recording.events[..origin].iter();
            before
                .filter(|event| {
                    let operation = Operation::from_number(event.operation);
                    !operation.is_some_and(Operation::is_annotation)
                })
                .count()
        };
        for (index, origin) in self.events().enumerate() {
            let at = shown(origin);
            interest.events.push(at);
            interest.words.insert(at, self.action(index, true));
        }
        let spans = severity::pair(&self.monitored.trace, &self.map, self.observed)
            .map(|pair| severity::spans(&self.monitored.trace, &self.map, &pair));
        for (unit, party) in self.observed.parties.iter().enumerate() {
            let who = if unit == 0 { Who::U } else { Who::V };
            let own: Vec<_> = (0..self.observed.accesses.len())
                .filter(|index| self.who(*index) == who)
                .map(|index| self.monitored.origin(self.observed.accesses[index]))
                .collect();
            let span = spans.and_then(|spans| spans[unit]);
            let begins = span.map_or(party.begins, |span| span.begins);
            let from = self.monitored.origin(begins);
            let (Some(first), Some(last)) = (own.first(), own.last()) else {
                continue;
            };
            let thread = self.recording.events[*first].thread;
            let span = from.min(*first)..*last;
            let locks = span.filter(|at| {
                let event = &self.recording.events[*at];
                let operation = Operation::from_number(event.operation);
                event.thread == thread
                    && matches!(
                        operation,
                        Some(Operation::LockAcquire | Operation::LockRelease)
                    )
            });
            interest.context.extend(locks.map(shown));
        }
        interest
    }
}

/// What can be said without a recording.
pub(super) fn story(locator: &mut Locator, raw: &RawFinding) -> Story {
    let located = raw.steps.iter();
    let sites: Vec<Place> = located
        .map(|step| locator.locate(step.site, &step.frames).place(true))
        .collect();
    let functions = sites
        .iter()
        .map(|place| format!("`{}`", short(&place.function)));
    Story {
        title: format!("{} mix on an atomic set", wording::list(functions, NAMED)),
        cause: String::new(),
        message: String::new(),
        sites,
        stacks: Vec::new(),
        interest: Interest::default(),
    }
}

/// "`copy` reads checking 10, savings 20; checking 20, savings 20 are left".
pub(crate) fn outcome_in_words(
    outcome: &Outcome,
    map: &ProgramMap,
    set: &str,
    names: &[String; 2],
) -> String {
    let name = |place: &PlaceName| match (&place.behind, place.object.is_empty()) {
        (Some(behind), _) => fields::owned(map, set, behind),
        (None, true) => fields::field(map, set, place.offset),
        (None, false) => place
            .object
            .strip_prefix("static ")
            .unwrap_or(&place.object)
            .to_owned(),
    };
    let pair = |place: &PlaceName, value: Option<u64>| {
        let value = value.map_or_else(|| "?".to_owned(), value_in_words);
        format!("{} {value}", name(place))
    };
    let mut parts = Vec::new();
    for (reads, unit) in outcome.reads.iter().zip(names) {
        let known: Vec<&Read> = reads.iter().filter(|read| read.1.is_some()).collect();
        if !known.is_empty() {
            let values = known.iter().map(|(place, value)| pair(place, *value));
            parts.push(format!("`{unit}` reads {}", short_list(values)));
        }
    }
    let left: Vec<_> = outcome
        .left
        .iter()
        .filter(|(_, value)| value.is_some())
        .map(|(place, value)| pair(place, *value))
        .collect();
    if !left.is_empty() {
        let verb = if left.len() == 1 { "is" } else { "are" };
        parts.push(format!("{} {verb} left", short_list(left.into_iter())));
    }
    parts.join("; ")
}

fn short_list(values: impl Iterator<Item = String>) -> String {
    let values: Vec<_> = values.collect();
    match values.len() > NAMED {
        true => format!("{}, ...", values[..NAMED].join(", ")),
        false => values.join(", "),
    }
}

/// A value that was read or written.
fn value_in_words(value: u64) -> String {
    const HEAP: u64 = HEAP_BASE as u64;
    const MAPPINGS: u64 = MAPPINGS_BASE as u64;
    match value {
        HEAP | MAPPINGS => "an address".to_owned(),
        value if value < 1 << 32 => value.to_string(),
        value if value.cast_signed() < 0 && value.cast_signed() > -(1 << 32) => {
            value.cast_signed().to_string()
        }
        value => wording::line(&format!("{value:#x}"), 20),
    }
}
