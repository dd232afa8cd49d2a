//! The run-time monitor: which atomic-set violations an execution *has*.
//!
//! After Hammer, Dolby, Vaziri, Tip: "Dynamic detection of atomic-set-serializability violations"
//! (ICSE 2008). It knows nothing of what was predicted and shares no matching with it: it looks at
//! the order in which accesses happened. Per set, the conflict graph says whether the units could
//! have come one after the other; if they could not, pairs of units in a cycle are compared with
//! the patterns. A cycle in which no pair matches (write skew, three units) is pattern 0.
//!
//! Limit: of a unit with very many accesses to one set, those are looked at that
//! [`crate::projection`] keeps.

use crate::instances::{Behind, PlaceId, SetId};
use crate::patterns::{self, Slot, Step, Who};
use crate::projection::{Manner, Projected, Touch, Work, project};
use raddle_trace::event::{Action, Location, SiteIndex, ThreadId, Trace};
use raddle_trace::program_map::ProgramMap;
use std::collections::{BTreeMap, BTreeSet};

/// A unit of work that takes part in a violation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    /// Its thread.
    pub thread: ThreadId,
    /// The function.
    pub function: SiteIndex,
    /// Place of its first access in the trace.
    pub begins: u32,
}

/// A violation that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Number of the pattern; 0 for a cycle that matches none.
    pub pattern: u8,
    /// Name of the type or module that the set belongs to.
    pub set: String,
    /// Where the instance is; the statics of a module have none.
    pub instance: Option<Location>,
    /// The units: those of the pattern in its order, or all of the cycle.
    pub parties: Vec<Party>,
    /// Places in the trace of the accesses that match, in their order; for pattern 0 those by which
    /// each of two units comes before the other, and none for a cycle of more.
    pub accesses: Vec<u32>,
    /// How each of them is reached, if it is behind pointers of the instance.
    pub behind: Vec<Option<Behind>>,
}

/// The violations of an execution.
pub fn monitor(trace: &Trace, map: &ProgramMap) -> Vec<Observed> {
    let mut sets: BTreeMap<SetId, Vec<Work>> = BTreeMap::new();
    let projected = project(trace, map, |work| {
        sets.entry(work.set).or_default().push(work);
    });
    let mut observed = Vec::new();
    for (set, works) in &sets {
        for cycle in cycles(works) {
            observe(trace, &projected, *set, works, &cycle, &mut observed);
        }
    }
    observed
}

fn observe(
    trace: &Trace,
    projected: &Projected<'_>,
    set: SetId,
    works: &[Work],
    cycle: &[usize],
    observed: &mut Vec<Observed>,
) {
    let info = projected.instances.of(set);
    let party = |index: &usize| Party {
        thread: works[*index].thread,
        function: works[*index].function,
        begins: works[*index].touches.first().map_or(0, |touch| touch.at),
    };
    let behind = |at: &u32| match trace.events[*at as usize].action {
        Action::Access { location, .. } => projected.instances.behind(location, set),
        _ => None,
    };
    let mut report = |pattern: u8, parties: &[usize], accesses: Vec<u32>| {
        observed.push(Observed {
            pattern,
            set: info.name.to_string(),
            instance: info.location,
            parties: parties.iter().map(party).collect(),
            behind: accesses.iter().map(behind).collect(),
            accesses,
        });
    };
    let mut is_matched = false;
    for (u, v) in overlaps(works, cycle) {
        for (pattern, accesses) in matches(&works[u], &works[v]) {
            is_matched = true;
            report(pattern, &[u, v], accesses);
        }
    }
    if !is_matched {
        let (parties, accesses) = match cycle {
            [u, v] => crossing(works, *u, *v),
            _ => (cycle.to_vec(), Vec::new()),
        };
        report(0, &parties, accesses);
    }
}

/// Two units, the one that begins first, and the accesses by which each comes before the other.
fn crossing(works: &[Work], u: usize, v: usize) -> (Vec<usize>, Vec<u32>) {
    let before = |one: usize, other: usize| {
        let pairs = works[one].touches.iter().flat_map(|touch| {
            let later = works[other].touches.iter();
            later.map(move |other| (touch, other))
        });
        let mut conflicts = pairs.filter(|(touch, later)| {
            touch.place == later.place
                && touch.at < later.at
                && (touch.manner != Manner::Read || later.manner != Manner::Read)
        });
        conflicts.next().map(|(touch, later)| [touch.at, later.at])
    };
    let crossed = before(u, v).into_iter().chain(before(v, u)).flatten();
    let accesses: BTreeSet<u32> = crossed.collect();
    let is_first = |unit: usize| {
        let own = works[unit].touches.iter().map(|touch| touch.at);
        accesses
            .first()
            .is_some_and(|first| own.into_iter().any(|at| at == *first))
    };
    let parties = if is_first(u) { vec![u, v] } else { vec![v, u] };
    (parties, accesses.into_iter().collect())
}

/// The pairs of units of a cycle, both ways, of different threads and neither of which ends before
/// the other begins. A cycle may have very many units, of which few overlap.
fn overlaps(works: &[Work], cycle: &[usize]) -> Vec<(usize, usize)> {
    let span = |&unit: &usize| {
        let touches = &works[unit].touches;
        Some((touches.first()?.at, touches.last()?.at, unit))
    };
    let mut spans: Vec<_> = cycle.iter().filter_map(span).collect();
    spans.sort_unstable();
    let mut pairs = Vec::new();
    for (index, &(_, end, u)) in spans.iter().enumerate() {
        let later = spans[index + 1..].iter();
        for &(_, _, v) in later.take_while(|(begin, ..)| *begin <= end) {
            if works[u].thread != works[v].thread {
                pairs.extend([(u, v), (v, u)]);
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Units that come before and after each other: the strongly connected parts of the conflict
/// graph with more than one unit.
fn cycles(works: &[Work]) -> Vec<Vec<usize>> {
    let mut accesses: Vec<(usize, &Touch)> = works
        .iter()
        .enumerate()
        .flat_map(|(index, work)| work.touches.iter().map(move |touch| (index, touch)))
        .collect();
    accesses.sort_by_key(|(_, touch)| touch.at);
    let mut edges: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); works.len()];
    // By place: who wrote it last, and who has read it since.
    let mut state: BTreeMap<PlaceId, (Option<usize>, BTreeSet<usize>)> = BTreeMap::new();
    for (unit, touch) in accesses {
        let (writer, readers) = state.entry(touch.place).or_default();
        if let Some(writer) = writer.filter(|writer| *writer != unit) {
            edges[writer].insert(unit);
        }
        if touch.manner != Manner::Read {
            for reader in readers.iter().filter(|reader| **reader != unit) {
                edges[*reader].insert(unit);
            }
            (*writer, *readers) = (Some(unit), BTreeSet::new());
        }
        if touch.manner != Manner::Write {
            readers.insert(unit);
        }
    }
    let mut parts = Parts {
        edges: &edges,
        numbers: vec![None; works.len()],
        found: Vec::new(),
        lowest: vec![0; works.len()],
        open: Vec::new(),
        is_open: vec![false; works.len()],
        next: 0,
    };
    for unit in 0..works.len() {
        if parts.numbers[unit].is_none() {
            parts.visit(unit);
        }
    }
    parts.found
}

/// Tarjan's algorithm, without recursion: traces can have many units.
struct Parts<'a> {
    edges: &'a [BTreeSet<usize>],
    numbers: Vec<Option<usize>>,
    lowest: Vec<usize>,
    open: Vec<usize>,
    is_open: Vec<bool>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Parts<'_> {
    fn visit(&mut self, root: usize) {
        let mut path: Vec<(usize, Vec<usize>)> = vec![self.begin(root)];
        while let Some((unit, rest)) = path.last_mut() {
            let unit = *unit;
            match rest.pop() {
                Some(next) => match self.numbers[next] {
                    None => path.push(self.begin(next)),
                    Some(number) if self.is_open[next] => {
                        self.lowest[unit] = self.lowest[unit].min(number);
                    }
                    Some(_) => {}
                },
                None => {
                    path.pop();
                    if let Some((before, _)) = path.last() {
                        self.lowest[*before] = self.lowest[*before].min(self.lowest[unit]);
                    }
                    self.end(unit);
                }
            }
        }
    }

    fn begin(&mut self, unit: usize) -> (usize, Vec<usize>) {
        self.numbers[unit] = Some(self.next);
        self.lowest[unit] = self.next;
        self.next += 1;
        self.open.push(unit);
        self.is_open[unit] = true;
        (unit, self.edges[unit].iter().copied().collect())
    }

    /// All that can be reached from a unit has been seen.
    fn end(&mut self, unit: usize) {
        if self.numbers[unit] != Some(self.lowest[unit]) {
            return;
        }
        let from = self.open.iter().rposition(|open| *open == unit);
        let mut part = self.open.split_off(from.unwrap_or(0));
        for member in &part {
            self.is_open[*member] = false;
        }
        part.sort_unstable();
        if part.len() > 1 {
            self.found.push(part);
        }
    }
}

/// The patterns that two units match, each once, with the accesses.
fn matches(u: &Work, v: &Work) -> Vec<(u8, Vec<u32>)> {
    let of = |work: &Work| -> BTreeSet<PlaceId> {
        work.touches.iter().map(|touch| touch.place).collect()
    };
    let places: Vec<PlaceId> = of(u).intersection(&of(v)).copied().collect();
    let mut merged: Vec<(Who, &Touch)> = Vec::new();
    merged.extend(u.touches.iter().map(|touch| (Who::U, touch)));
    merged.extend(v.touches.iter().map(|touch| (Who::V, touch)));
    merged.sort_by_key(|(_, touch)| touch.at);
    let mut found: Vec<(u8, Vec<u32>)> = Vec::new();
    for pattern in patterns::ALL {
        if found.iter().any(|(number, _)| *number == pattern.number) {
            continue;
        }
        let seconds: &[PlaceId] = if pattern.is_wide() {
            &places
        } else {
            &places[..places.len().min(1)]
        };
        let pairs = places
            .iter()
            .flat_map(|first| seconds.iter().map(move |second| [*first, *second]));
        let mut pairs = pairs.filter(|[first, second]| !pattern.is_wide() || first != second);
        let accesses = pairs.find_map(|pair| subsequence(pattern.steps, pair, &merged));
        found.extend(accesses.map(|accesses| (pattern.number, accesses)));
    }
    found
}

/// Where the steps happen in this order, if they do. Taking each as early as possible misses
/// nothing.
fn subsequence(steps: &[Step], places: [PlaceId; 2], merged: &[(Who, &Touch)]) -> Option<Vec<u32>> {
    let mut done: Vec<u32> = Vec::new();
    let mut index = 0;
    while let Some(step) = steps.get(done.len()) {
        // One wide access may be two steps, in either order, unless it reads and writes at once.
        let is_wide = |at: u32, manner: Manner| {
            let before = done.len().checked_sub(1).map(|last| &steps[last]);
            done.last() == Some(&at)
                && before.is_some_and(|before| before.who == step.who)
                && manner != Manner::Both
        };
        let fits = |(who, touch): &(Who, &Touch)| {
            let is_later = done.last().is_none_or(|last| *last < touch.at);
            let is_slot = match step.slot {
                Slot::Read => touch.manner != Manner::Write,
                Slot::Write => touch.manner != Manner::Read,
            };
            *who == step.who
                && is_slot
                && touch.place == places[step.location]
                && (is_later || is_wide(touch.at, touch.manner))
        };
        let found = merged[index..].iter().position(fits)? + index;
        done.push(merged[found].1.at);
        // The parts of a wide access stand next to each other.
        index = merged.partition_point(|(_, touch)| touch.at < merged[found].1.at);
    }
    Some(done)
}

#[cfg(test)]
#[path = "monitor_tests.rs"]
mod tests;
