//! Scheduling points, blocking and waking.
//!
//! Exactly one fiber runs. At every point the strategy picks the next one; wherever its pick
//! is not the default of [`default_pick`], the decision is noted down in the shared memory,
//! so that the schedule survives any crash.

use crate::carrier;
use crate::clock;
use crate::delivery;
use crate::end::End;
use crate::execution::{Accesses, Execution, renew_own_accesses};
use crate::host;
use crate::io;
use crate::locks;
use crate::methods;
use crate::native;
use crate::oracles::{deadlock, livelock};
use crate::record;
use crate::shared::shared;
use crate::thread::{State, Wait};
use crate::weak;
use crate::world::{live, look_at, world};
use raddle_abi::control::conditions;
use raddle_abi::plan::{Decision, READS_OLD, TIME_ADVANCES, TIME_IS_UP};
use raddle_abi::site::{Operation, SiteId};
use raddle_schedule::strategy::{Expiry, NOBODY, Pending, TIME, View, default_pick};

/// Yields without any change after which virtual time jumps.
const PATIENCE: u32 = 2048;

/// A scheduling point before an operation of the running thread.
#[inline(always)]
pub fn point(operation: Operation, write: bool, address: usize, site: SiteId) {
    step(operation, write, address, site, false);
}

/// A scheduling point behind an operation of the running thread, which does nothing more before
/// its next point. The strategy is always asked here: a loop of nothing else lets others run.
pub fn point_behind(operation: Operation, address: usize, site: SiteId) {
    let steps = steps_of_running();
    world().execution.just_picked = false;
    step(operation, true, address, site, false);
    done_nothing_since(steps);
}

/// A scheduling point before the end of the running thread (`thread` is its number), or of all of
/// them (0): what they do may come before.
pub fn point_of_end(operation: Operation, thread: usize, site: SiteId) {
    let world = world();
    if world.running && live() {
        step(operation, true, thread, site, false);
    }
}

/// The running thread gives way to others, and does nothing more before its next point.
pub fn yield_now(site: SiteId) {
    let steps = steps_of_running();
    point_of_spinning(Operation::Yield, false, 0, site);
    done_nothing_since(steps);
}

/// How often the running thread was picked.
pub fn steps_of_running() -> u32 {
    let execution = &world().execution;
    execution.steps[execution.current]
}

/// The running thread, which had been picked `steps` times when it came here, is about to go
/// on to its next operation. The strategy need not be asked again there: between being picked
/// and that operation it does nothing that others could see, so that whoever runs before the
/// operation could have run before the pick. A signal handler may have run in between.
pub fn done_nothing_since(steps: u32) {
    let execution = &mut world().execution;
    execution.just_picked = execution.steps[execution.current] == steps + 1;
}

/// A scheduling point before an operation of the running thread, at which others go first.
pub fn point_of_spinning(operation: Operation, write: bool, address: usize, site: SiteId) {
    let execution = &mut world().execution;
    execution.yields += 1;
    // Everybody who can run has been spinning for long, so that time passes. Not sooner: a
    // test that sleeps to let others finish relies on a sleep being long.
    if !native::spin(execution.yields) && execution.yields > PATIENCE {
        let execution = &mut world().execution;
        execution.yields = 0;
        clock::jump(execution);
    }
    step(operation, write, address, site, true);
    weak::refresh();
}

/// The load for which the running thread was just picked reads a store that lies `age` before
/// the newest one.
pub fn note_old_value(age: usize) {
    let execution = &mut world().execution;
    let current = execution.current;
    execution.hash = mix(execution.hash, 1 << 63 | age as u64);
    shared().note_decision(Decision {
        from: current as u16,
        to: READS_OLD | age as u16,
        step: execution.steps[current] - 1,
        site: execution.pending[current].site,
        point: (execution.point - 1) as u32,
    });
}

#[inline(always)]
fn step(operation: Operation, write: bool, address: usize, site: SiteId, yielded: bool) {
    let world = world();
    let execution = &mut world.execution;
    let current = execution.current;
    let just_picked = core::mem::take(&mut execution.just_picked);
    execution.pending[current] = Pending {
        operation,
        write,
        address,
        site,
        site_key: if world.orders.site_keys {
            site_key(site)
        } else {
            0
        },
    };
    execution.hash = mix(
        execution.hash,
        (current as u64) << 40 | (operation as u64) << 32 | u64::from(site),
    );
    if !world.running {
        // Before the start of executions: threads run one after the other.
        if yielded {
            pick_serially();
        }
        return;
    }
    // First: threads may be woken here, and the fair mode, whose turns do not depend on what a
    // strategy wants to see, may begin.
    count_point();
    let orders = &world.orders;
    let execution = &mut world.execution;
    let is_alone = execution.enabled.len() == 1 && !orders.site_keys;
    if is_alone && !(orders.early_time && clock::is_awaited(execution))
        || just_picked && !yielded && (execution.fair || !orders.every_operation)
    {
        execution.steps[current] += 1;
        record::pick(current, site);
        return;
    }
    pick_and_switch(yielded);
}

/// Key of a site in the program's image.
pub fn site_key(site: SiteId) -> u64 {
    if site == 0 {
        return 0;
    }
    // SAFETY: a site id is the address of a site record of the executable.
    unsafe { (*(site as usize as *const raddle_abi::site::Site)).key }
}

#[inline(always)]
fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Points of a thread that only computes after which it may do so without end.
const LEAST_ENDLESS: u64 = 1 << 6;
/// How many times the points of the longest execution there have to be, too.
const ENDLESS_TIMES: u64 = 8;

/// Whether nothing has changed for much longer than any execution took, while a thread only computed. The
/// watchdog is not told of such points. It is of those of a first execution, which may be a long one.
#[cold]
#[inline(never)]
fn computes_for_long(execution: &Execution) -> bool {
    let longest = shared().family().longest;
    longest > 0 && execution.computing - LEAST_ENDLESS > longest.saturating_mul(ENDLESS_TIMES)
}

#[inline(always)]
fn count_point() {
    // A call that only works from where it was made has turned it off.
    crate::syscalls::watch(true);
    let world = world();
    let execution = &mut world.execution;
    execution.point += 1;
    execution.accesses = Accesses::NONE;
    renew_own_accesses();
    if execution.computing < LEAST_ENDLESS || !computes_for_long(execution) {
        shared().heartbeat(execution.point);
    }
    if execution.point >= execution.check_at {
        livelock::check();
    }
    if delivery::has_come() && live() {
        delivery::collect();
    }
}

#[inline(always)]
fn pick_and_switch(yielded: bool) {
    let world = world();
    let execution = &mut world.execution;
    let current = execution.current;
    let (next, default) = match world.orders.early_time && clock::is_awaited(execution) {
        true => pick_or_pass_time(yielded),
        false => pick(yielded, None),
    };
    let execution = &mut world.execution;
    // Where a thread simply goes on there is one test that a random walk makes hard to foresee.
    if next == current && default == current {
        execution.steps[current] += 1;
        return record::pick(current, execution.pending[current].site);
    }
    // Turns of the fair mode are no decisions, and a replay takes them by itself.
    if next != default && !execution.fair {
        if view(execution, yielded, None).preempts(next) {
            shared().note_preemption();
        }
        shared().note_decision(Decision {
            from: current as u16,
            to: next as u16,
            step: execution.steps[current],
            site: execution.pending[current].site,
            point: (execution.point - 1) as u32,
        });
    }
    execution.steps[next] += 1;
    record::pick(next, execution.pending[next].site);
    switch_to(next);
}

/// What the strategy sees.
#[inline(always)]
fn view(execution: &Execution, yielded: bool, expiry: Option<Expiry>) -> View<'_> {
    let current = execution.current;
    View {
        current,
        current_enabled: execution.threads[current].state == State::Ready,
        enabled: &execution.enabled,
        arrivals: Some(&execution.arrivals),
        pending: &execution.pending,
        steps: &execution.steps,
        point: execution.point.saturating_sub(1),
        last_change: execution.progress,
        yielded,
        expiry,
    }
}

/// The thread that the strategy picks, or [`TIME`], and the default.
#[inline(always)]
fn pick(yielded: bool, expiry: Option<Expiry>) -> (usize, usize) {
    let world = world();
    let execution = &world.execution;
    let view = view(execution, yielded, expiry);
    let default = default_pick(&view);
    let next = if execution.is_over {
        default
    } else if execution.fair {
        view.enabled_after(view.current)
    } else {
        match &mut world.orders.strategy {
            Some(strategy) => strategy.pick(&view),
            None => default,
        }
    };
    if next != NOBODY {
        return (next, default);
    }
    if world.orders.can_break_off {
        host::end(End::Known);
    }
    (default, default)
}

/// As [`pick`], where deadlines may pass first.
#[cold]
#[inline(never)]
fn pick_or_pass_time(yielded: bool) -> (usize, usize) {
    loop {
        let world = world();
        let execution = &world.execution;
        let orders = &world.orders;
        let is_possible =
            |expiry: &Expiry| !(execution.fair || orders.only_passed && expiry.is_early);
        if execution.is_over {
            return pick(yielded, None);
        }
        let expiry = clock::expiry(execution, orders.decides_time).filter(is_possible);
        if world.orders.decides_time {
            match (pick(yielded, expiry), expiry) {
                ((TIME, _), Some(expiry)) => pass_time(&expiry),
                (picked, _) => return picked,
            }
            continue;
        }
        let point = execution.point - 1;
        match expiry {
            Some(expiry) if world.orders.early_expiry.choose(&expiry, point) => pass_time(&expiry),
            _ => return pick(yielded, None),
        }
    }
}

/// A deadline passes although a thread can run.
fn pass_time(expiry: &Expiry) {
    let execution = &mut world().execution;
    let current = execution.current;
    execution.expired_early |= expiry.is_early;
    let to = match expiry.is_early {
        true => TIME_ADVANCES,
        false => TIME_IS_UP,
    };
    execution.hash = mix(execution.hash, 1 << 63 | u64::from(to));
    shared().note_decision(Decision {
        from: current as u16,
        to,
        step: execution.steps[current],
        site: execution.pending[current].site,
        point: (execution.point - 1) as u32,
    });
    let before = execution.now;
    let since = expiry
        .thread
        .map_or(before, |number| execution.threads[number].wait.begun);
    // First, because a signal of a timer may end the program.
    let now = before.max(clock::next_deadline(execution));
    record::expiry(expiry.thread, now - before, now.saturating_sub(since));
    clock::jump(execution);
}

fn pick_serially() {
    let next = default_pick(&view(&world().execution, true, None));
    switch_to(next);
}

#[inline(always)]
fn switch_to(next: usize) {
    let execution = &mut world().execution;
    let current = execution.current;
    if next == current {
        return;
    }
    methods::settle();
    execution.switches += 1;
    execution.current = next;
    let save: *mut usize = &mut execution.threads[current].sp;
    let target = &execution.threads[next];
    look_at(target);
    // SAFETY: `target` was saved by a switch, or prepared at its creation. `threads` may move
    // while other fibers run, but `save` is written before anything else happens.
    unsafe { carrier::switch(save, target.sp, target.fs, target.seat()) };
}

/// Blocks the running thread until somebody wakes it. True if its time ran out instead.
pub fn block(wait: Wait) -> bool {
    let object = wait.object as u64;
    record::event(wait.operation, object, 0, wait.kind, 0, wait.site);
    block_unrecorded(wait)
}

/// As [`block`], where what the thread waits in is no event of its own.
pub fn block_unrecorded(wait: Wait) -> bool {
    let execution = &mut world().execution;
    let current = execution.current;
    let thread = &mut execution.threads[current];
    thread.state = State::Blocked;
    thread.timed_out = false;
    thread.wait = Wait {
        since: execution.point,
        begun: execution.now,
        ..wait
    };
    if wait.deadline != u64::MAX {
        execution.timed.push(current as u16);
        shared().note_condition(conditions::DEADLINE);
    }
    execution.enqueue(current, wait.object);
    if wait.operation != Operation::Io {
        // Who waits for input or output again has looked for it in vain.
        execution.changed();
    }
    execution.disable(current);
    execution.pending[current] = Pending {
        operation: wait.operation,
        write: true,
        address: match wait.then_takes {
            0 => wait.object,
            other => other,
        },
        site: wait.site,
        site_key: site_key(wait.site),
    };
    let steps = execution.steps[current];
    run_others();
    if wait.ends_quietly {
        done_nothing_since(steps);
    }
    weak::refresh();
    let execution = &mut world().execution;
    if wait.deadline != u64::MAX {
        execution
            .timed
            .retain(|&number| usize::from(number) != current);
    }
    let thread = &mut execution.threads[current];
    thread.wait = Wait::NONE;
    thread.timed_out
}

/// Lets others run after the running thread blocked or ended.
pub fn run_others() {
    loop {
        if !world().execution.enabled.is_empty() {
            break;
        }
        if locks::give_up_hope() || io::look_again() {
            continue;
        }
        if native::wait() {
            continue;
        }
        if clock::jump(&mut world().execution) {
            continue;
        }
        if native::discover() {
            continue;
        }
        host::end(deadlock::everybody_waits());
    }
    let world = world();
    world.execution.just_picked = false;
    world.execution.idle_jumps = 0;
    if world.running {
        count_point();
        pick_and_switch(false);
    } else {
        let next = usize::from(world.execution.enabled[0]);
        switch_to(next);
    }
}

/// Makes a blocked thread able to run.
pub fn wake(number: usize) {
    let execution = &mut world().execution;
    execution.changed();
    execution.enable(number);
}

/// Threads that a wake-up made able to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Woken {
    /// How many.
    pub count: u32,
    /// The one that had waited longest.
    pub first: Option<usize>,
}

/// Wakes up to `count` threads that wait on `object` with one of `bits`, first come, first
/// served.
pub fn wake_waiters(operation: Operation, object: usize, count: u32, bits: u32) -> Woken {
    let mut woken = Woken::default();
    while woken.count < count {
        let execution = &mut world().execution;
        let first = execution.queue(object).find(|number| {
            let wait = &execution.threads[*number].wait;
            wait.operation == operation && wait.bits & bits != 0
        });
        let Some(number) = first else { break };
        wake(number);
        world().execution.threads[number].woken_by = object;
        woken.first.get_or_insert(number);
        woken.count += 1;
    }
    woken
}
