//! Executions that do not end.
//!
//! A long execution is not a livelock, and neither is an unfair one. When nothing has changed
//! for a while, or at the plan's limit, the strategy is set aside and the threads take turns.
//! If even then nothing changes for very long (no atomic changes its value, no thread starts,
//! ends, blocks, wakes or looks at the clock) and nobody comes to a place where it has not
//! been before, the execution is a livelock. The last condition tells those who go round from
//! those who get on without changing anything, such as a thread that walks along a long list.
//! An execution that keeps changing things is cut at ten times the limit.

use super::deadlock;
use super::places::Place;
use crate::findings::Record;
use crate::host::{self, End};
use crate::locks;
use crate::native;
use crate::shared::shared;
use crate::stack;
use crate::thread::State;
use crate::world::world;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_abi::finding::{Kind, Step};
use raddle_abi::site::{Operation, Site, SiteId};

/// Times the plan's limit after which an execution is cut.
const PATIENCE: u64 = 10;

/// Points without a change after which something is done about it.
struct Stages {
    /// Threads take turns.
    unfair: u64,
    /// The places that threads come to are noted down.
    noted: u64,
    /// A place that was not noted down is a change.
    judged: u64,
    /// Threads that take turns are livelocked.
    livelock: u64,
}

impl Stages {
    const FIRST: Self = Self {
        unfair: 50_000,
        noted: 100_000,
        judged: 300_000,
        livelock: 500_000,
    };

    /// Where a livelock has been seen, many executions may end in it, and less is waited for.
    /// Whatever else this takes for a livelock is confirmed in a process that waits for long.
    const AGAIN: Self = Self {
        unfair: 5_000,
        noted: 10_000,
        judged: 30_000,
        livelock: 50_000,
    };

    fn now() -> &'static Self {
        let seen = &shared().control().occurrences[Kind::Livelock as usize];
        match seen.load(Ordering::Relaxed) {
            0 => &Self::FIRST,
            _ => &Self::AGAIN,
        }
    }
}

/// Looks where the running thread is.
fn watch(still: u64, stages: &Stages) {
    let is_new = comes_to_a_new_place();
    let execution = &mut world().execution;
    if still < stages.judged {
        execution.homes.clear();
    } else if is_new {
        execution.progress = execution.point;
    } else {
        choose_home();
    }
}

/// Whether the running thread is somewhere for the first time since anything changed.
fn comes_to_a_new_place() -> bool {
    let execution = &mut world().execution;
    let current = execution.current;
    let spin = &execution.threads[current].spin;
    let place = Place {
        thread: current,
        site: execution.pending[current].site,
        // What it read last, because where a thread spins it stands before a mere yield.
        read: (spin.site, spin.address, spin.value),
    };
    execution.places.visit(place, execution.progress)
}

/// Looks at an execution now and then.
#[cold]
#[inline(never)]
pub fn check() {
    // A release that is not seen as one must not keep anybody from going on.
    locks::give_up_hope();
    let is_helped = native::glance();
    let world = world();
    let execution = &mut world.execution;
    let limit = world.orders.max_points;
    let longest = limit.saturating_mul(PATIENCE);
    if is_helped && execution.point < longest {
        execution.fair = execution.point >= limit;
        return;
    }
    let still = execution.point - execution.progress;
    let is_long = execution.point >= limit;
    let stages = Stages::now();
    if execution.point < longest && !(execution.fair && still >= stages.livelock) {
        execution.fair = is_long || still >= stages.unfair;
        if execution.fair && still >= stages.noted {
            watch(still, stages);
        }
        let patience = if execution.fair {
            stages.noted
        } else {
            stages.unfair
        };
        let next = execution.progress + patience;
        let next = next.min(if is_long { longest } else { limit });
        execution.check_at = next.max(execution.point + 1);
        return;
    }
    if deadlock::report_cycles(execution.point - still / 2) {
        host::end(End::Abandoned);
    }
    if deadlock::has_ended() {
        host::end(End::Passed);
    }
    let waits_outside = execution
        .threads
        .iter()
        .any(|thread| thread.state == State::Ready && thread.wait.operation == Operation::Io);
    if waits_outside || native::is_early() || still < stages.livelock {
        host::end(End::Cut);
    }
    let round = stages.livelock - stages.judged;
    if !everybody_is_seen_at_home() && still < stages.livelock + round {
        execution.check_at = execution.point + 1;
        return;
    }
    report();
    host::end(End::Abandoned);
}

/// Where a thread that goes round is shown. It could be seen at any step of its round; one and
/// the same step, however the execution came about, makes one finding of one livelock.
#[derive(Clone, Debug)]
pub struct Home {
    site: SiteId,
    /// The stack at that site, once the thread was seen there.
    frames: Vec<u64>,
}

/// What makes a site the home of a round: the least of these. Atomic operations say more than
/// the pause between them.
fn rank(site: SiteId) -> (bool, u64) {
    if site == 0 {
        return (true, u64::MAX);
    }
    // SAFETY: a site id is the address of a site record of the executable.
    let site = unsafe { &*(site as usize as *const Site) };
    (site.operation == Operation::Yield, site.key)
}

/// The running thread stands at a step of its round.
fn choose_home() {
    let execution = &mut world().execution;
    let current = execution.current;
    let site = execution.pending[current].site;
    execution.homes.resize(
        execution.threads.len(),
        Home {
            site: 0,
            frames: Vec::new(),
        },
    );
    let home = &mut execution.homes[current];
    if rank(site) < rank(home.site) {
        home.site = site;
    }
}

/// Keeps the stack of the running thread if it is at home, and returns whether that was done
/// for all.
fn everybody_is_seen_at_home() -> bool {
    let execution = &mut world().execution;
    let current = execution.current;
    let site = execution.pending[current].site;
    let Some(home) = execution.homes.get_mut(current) else {
        return true;
    };
    if home.site == site && home.frames.is_empty() {
        home.frames = stack::of_running().as_slice().to_vec();
    }
    let homes = &execution.homes;
    execution.enabled.iter().all(|number| {
        homes
            .get(usize::from(*number))
            .is_none_or(|home| !home.frames.is_empty())
    })
}

fn report() {
    let execution = &world().execution;
    let shown = || {
        execution.enabled.iter().map(|number| {
            let number = usize::from(*number);
            match execution.homes.get(number) {
                Some(home) if !home.frames.is_empty() => (number, home.site, home.frames.clone()),
                _ => {
                    let frames = stack::of_thread(number).as_slice().to_vec();
                    (number, execution.threads[number].site, frames)
                }
            }
        })
    };
    let key = shown().fold(0, |key: u64, (_, site, _)| {
        key ^ u64::from(site).wrapping_mul(0x9e37_79b9)
    });
    let key = super::key(Kind::Livelock, key, 0);
    let Some(mut record) = Record::begin(Kind::Livelock, key, [execution.progress, 0]) else {
        return;
    };
    for (number, site, frames) in shown() {
        let step = Step {
            site,
            operation: Operation::Yield as u16,
            thread: number as u16,
            address: 0,
            len: 0,
            frames: 0,
        };
        record.step(step, &frames);
    }
    super::panic::add_panics(&mut record);
    record.commit();
}
