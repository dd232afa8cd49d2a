//! What an earlier run left of a test, for a run that continues it. The later run knows no less: findings,
//! what rules ignored, what could not be confirmed, and what was searched are part of its result. What
//! it counts and how long it takes is its own.

use raddle_abi::plan::{Carrier, Reexecution};
use raddle_trace::runner::Searched;

use crate::confirm::build_id;
use crate::course::Course;
use crate::session::Session;
use crate::store::TestState;
use crate::{Event, Target, Verdict};

/// Takes up what an earlier run left of a test, if this one continues it; its verdict, if there is
/// nothing more to do.
pub(crate) fn take_up(
    session: &Session<'_>,
    target: &Target,
    course: &mut Course,
) -> Option<Verdict> {
    let build = build_id(target);
    course.tally.build = build;
    let tally = session.earlier(target, build)?;
    course.before = tally.clone();
    course.conditions = tally.conditions;
    course.searched = Searched::from_word(tally.searched);
    course.is_searched = tally.verdict == "searched";
    course.reexecution = Reexecution::from_number(tally.reexecution);
    course.carrier = Carrier::from_number(tally.carrier);
    course.tally = tally;
    report(session, &mut course.tally);
    let tally = &course.tally;
    let why = || tally.why.clone();
    let options = session.options;
    match tally.verdict.as_str() {
        "single-threaded" => Some(Verdict::SingleThreaded),
        "failed" => Some(Verdict::Failed { why: why() }),
        "not testable" => Some(Verdict::NotTestable { why: why() }),
        "searched" => Some(Verdict::Explored),
        // With more executions to run, there is more to do.
        "explored" if options.executions.is_none() || course.is_done(options) => {
            Some(Verdict::Explored)
        }
        _ => None,
    }
}

/// Findings of the run that this one continues are findings of the whole; the rules may be others.
fn report(session: &Session<'_>, tally: &mut TestState) {
    let ids = std::mem::take(&mut tally.findings)
        .into_iter()
        .chain(std::mem::take(&mut tally.timing))
        .chain(std::mem::take(&mut tally.ignored));
    for id in ids.collect::<Vec<_>>() {
        let Ok(Some(finding)) = session.store.finding(&id) else {
            continue;
        };
        let rule = session.rule(&finding);
        let is_new = {
            let mut found = session.found();
            let is_new = !found.is_settled(&id);
            found.confirmed(&finding, rule);
            is_new
        };
        match rule {
            Some(_) => tally.ignored.push(id),
            None => tally.note_finding(&id, finding.timing.is_some()),
        }
        let finding = Box::new(finding);
        match rule {
            _ if !is_new => {}
            Some(rule) => session.send(Event::Ignored { finding, rule }),
            None => session.send(Event::Finding(finding)),
        }
    }
    for id in tally.unconfirmed.keys() {
        session.found().recall_unconfirmed(id);
    }
}
