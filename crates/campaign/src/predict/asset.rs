//! Violations of atomic sets that are predicted and made to happen: AssetFuzzer's phase II.
//!
//! For each potential violation directed plans are tried, in turn on the very accesses that were
//! recorded and on any at the same sites. A violation is real if the whole order was realised, or the
//! program failed on the way, *and* the independent monitor sees the same pattern, between the same
//! functions, in a recording of that execution. Deadlocks that the order of locks lets predict are tried after
//! that.
//!
//! Locks and relaxed happens-before do not know that a thread goes another way when it reads
//! something else, so much of what is predicted no schedule can show. What the first few tries do not
//! show, and what atomics order otherwise, is set aside until everything else has been tried, and left
//! alone if another prediction of the same kind (pattern, set and functions) has become real by then. If
//! several of a kind have, the rest of it is left alone in any case, unless all tries are asked for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use raddle_analysis::lock_order::Deadlock;
use raddle_analysis::plan::{Aim, order};
use raddle_analysis::predict::{self as phase_one, Violation};
use raddle_trace::event::Trace;
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::PlanRequest;

use super::real::{self, Shown};
use super::{Prediction, key_of, program_map, pursuit, record_next, site_key, words};
use crate::test_run::{Ended, TestRun};

/// What tells potential violations apart: pattern, and site key and context of each access.
type Key = (u8, Vec<(u64, u64)>);
/// What those have in common that users see as one: pattern, name of the set, keys of the functions.
type Kind = (u8, String, [u64; 2]);

/// Events of recordings that a test may keep from one turn to the next.
const MOST_KEPT: usize = 500_000;
/// Violations of one kind that are made to happen and judged; the others of the kind are left alone.
pub(super) const ENOUGH: u32 = 5;
/// Tries before a prediction is set aside.
const FIRST_TRIES: u64 = 10;
/// Executions that show a violation after which its effect is left unknown: in another one, other
/// threads may leave its units alone.
const MOST_UNJUDGED: u32 = 8;

/// Potential violations of a test.
#[derive(Default)]
pub(super) struct Violations {
    seen: HashSet<Key>,
    /// Those that have not been tried.
    waiting: VecDeque<Candidate>,
    /// Those that are not likely to be possible, and those that did not show in their first tries.
    aside: VecDeque<Candidate>,
    /// How often something has become real.
    real: HashMap<Kind, u32>,
}

impl Violations {
    /// The next one to be tried; none of a kind of which `enough` have become real.
    pub fn next(&mut self, enough: u32) -> Option<Candidate> {
        let Self {
            waiting,
            aside,
            real,
            ..
        } = self;
        let count = |candidate: &Candidate| real.get(&candidate.kind()).copied().unwrap_or(0);
        let mut first = std::iter::from_fn(|| waiting.pop_front());
        let mut again = std::iter::from_fn(|| aside.pop_front());
        first
            .find(|candidate| count(candidate) < enough)
            .or_else(|| again.find(|candidate| count(candidate) == 0))
    }

    /// Events of all recordings that are kept for what is left.
    fn recorded_events(&self) -> usize {
        let all = self.waiting.iter().chain(&self.aside);
        let traces: HashMap<*const Trace, usize> = all
            .map(|candidate| (Arc::as_ptr(&candidate.trace), candidate.trace.events.len()))
            .collect();
        traces.values().sum()
    }

    /// Whether nothing is left to be tried.
    fn is_tried(&self) -> bool {
        self.waiting.is_empty() && self.aside.is_empty()
    }
}

/// A potential violation, and the execution that it was predicted from.
pub(super) struct Candidate {
    pub violation: Violation,
    pub trace: Arc<Trace>,
    /// Tries so far.
    tried: u64,
}

impl Candidate {
    fn kind(&self) -> Kind {
        let Violation {
            pattern, set, u, v, ..
        } = &self.violation;
        let functions = [u, v].map(|unit| site_key(&self.trace, unit.function));
        (pattern.number, set.clone(), functions)
    }
}

/// Predicts and confirms.
pub(super) fn hunt(test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
    let map = program_map(test)?;
    // What happened is told with what was predicted.
    test.course.hunt.is_quiet = true;
    while test.course.hunt.profiles < prediction.profiles && !test.allowance.is_over() {
        profile(test, &map, prediction)?;
        test.allowance.explored();
        test.allowance.ran();
    }
    let enough = if prediction.all_tries {
        u32::MAX
    } else {
        ENOUGH
    };
    while !is_over(test) {
        let Some(candidate) = test.course.hunt.violations.next(enough) else {
            break;
        };
        confirm(test, &map, candidate, prediction)?;
        test.allowance.ran();
    }
    pursuit::pursue_all::<Deadlock>(test, &map, prediction)?;
    let hunt = &test.course.hunt;
    let is_tried = hunt.violations.is_tried() && hunt.deadlocks.waiting.is_empty();
    if is_tried && hunt.profiles >= prediction.profiles {
        test.course.is_searched = true;
        let notes = words::summary(hunt);
        for note in notes {
            test.session.note(test.target, note);
        }
        // What happened and could not be judged counts like a failure that could not be confirmed.
        for (id, sentence) in words::unjudged(&test.course.hunt) {
            test.session.found().recall_unconfirmed(&id);
            test.course.tally.unconfirmed.insert(id, sentence);
        }
    }
    test.has_explored()
}

/// Whether others have their turn now. Who would keep too much until its next one goes on.
fn is_over(test: &TestRun<'_>) -> bool {
    let violations = &test.course.hunt.violations;
    let is_small = || violations.recorded_events() <= MOST_KEPT;
    test.allowance.is_over() && (test.session.is_over() || is_small())
}

/// Records an execution and predicts from it.
pub(super) fn profile(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    prediction: Prediction,
) -> Ended<()> {
    let Some(trace) = record_next(test, map)? else {
        return Ok(());
    };
    let options = phase_one::Options {
        vwls: prediction.vwls,
    };
    let predicted = phase_one::predict(&trace, map, options);
    let is_asked = test.session.options.prediction.is_some();
    if let Some(note) = words::limits(&predicted).filter(|_| is_asked) {
        test.session.note(test.target, note);
    }
    let trace = Arc::new(trace);
    pursuit::take_up::<Deadlock>(test, &trace);
    let hunt = &mut test.course.hunt;
    let violations = &mut hunt.violations;
    for violation in predicted.violations {
        if violations.seen.insert(key(&violation, &trace)) {
            hunt.predicted += 1;
            // What atomics order is less likely to be possible.
            let queue = match violation.is_ordered {
                true => &mut violations.aside,
                false => &mut violations.waiting,
            };
            queue.push_back(Candidate {
                violation,
                trace: Arc::clone(&trace),
                tried: 0,
            });
        }
    }
    // What is atomic all through may well be meant so.
    for queue in [&mut violations.waiting, &mut violations.aside] {
        let candidates = queue.make_contiguous();
        candidates.sort_by_key(|candidate| candidate.violation.is_atomic);
    }
    Ok(())
}

fn key(violation: &Violation, trace: &Trace) -> Key {
    let names = violation.accesses.iter().map(|access| {
        let site = key_of(trace, access.site);
        (site, access.context)
    });
    (violation.pattern.number, names.collect())
}

/// Tries to make a potential violation real: a few times, or, if that was done before, as often as
/// is asked for.
pub(super) fn confirm(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    mut candidate: Candidate,
    prediction: Prediction,
) -> Ended<()> {
    let is_first_turn = candidate.tried == 0;
    let (mut shown, mut unjudged) = (Shown::No, 0);
    while candidate.tried < prediction.tries {
        let is_over = test.session.is_over() || !test.course.hunt.may_try();
        if is_over || (is_first_turn && shown == Shown::No && candidate.tried == FIRST_TRIES) {
            break;
        }
        let attempt = candidate.tried;
        candidate.tried += 1;
        let aim = pursuit::aim(attempt);
        let Some(request) = directed(test, &candidate, aim, attempt) else {
            return Ok(());
        };
        let outcome = test.plan(&request)?;
        test.course.tally.explored += outcome.executions;
        test.course.hunt.monitored.tries += 1;
        let is_judged = shown == Shown::Judged || unjudged >= MOST_UNJUDGED;
        let here = match pursuit::is_remarkable(&outcome) {
            true => real::show(
                test, map, &candidate, &request, &outcome, prediction, is_judged,
            ),
            false => Shown::No,
        };
        match here {
            Shown::No => test.sighted(&outcome.findings, &request),
            _ if shown == Shown::No => {
                let hunt = &mut test.course.hunt;
                hunt.real += 1;
                *hunt.violations.real.entry(candidate.kind()).or_default() += 1;
            }
            _ => {}
        }
        unjudged += u32::from(here == Shown::Unjudged);
        if here != Shown::No {
            shown = here;
        }
        let is_done = shown == Shown::Judged || unjudged >= MOST_UNJUDGED;
        if outcome.died.is_some() || (is_done && !prediction.all_tries) {
            return Ok(());
        }
    }
    if shown != Shown::No {
        return Ok(());
    }
    if candidate.tried < prediction.tries {
        test.course.hunt.violations.aside.push_back(candidate);
    } else if test.session.options.prediction.is_some() {
        let Candidate {
            violation, trace, ..
        } = &candidate;
        let note = words::unreal(violation, trace, map, candidate.tried);
        test.session.detail(test.target, note);
    }
    Ok(())
}

/// One execution in the order of the violation.
fn directed(
    test: &TestRun<'_>,
    candidate: &Candidate,
    aim: Aim,
    attempt: u64,
) -> Option<PlanRequest> {
    let order = order(&candidate.violation, &candidate.trace, aim)?;
    Some(pursuit::request(test, order, attempt))
}
