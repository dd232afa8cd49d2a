//! The host: runs on the OS thread's own stack, starts the program on a fiber, and then works
//! through the tool's plans, execution by execution.

use crate::arch::{self, nr};
use crate::carrier;
use crate::children;
use crate::donor;
pub use crate::end::End;
use crate::execution::Execution;
use crate::global::Global;
use crate::ids;
use crate::marks;
use crate::native;
use crate::offsets;
use crate::oracles::{deadlock, panic, race, stacks};
use crate::orders;
use crate::outcomes;
use crate::record;
use crate::rseq;
use crate::shared::shared;
use crate::snapshot;
use crate::syscalls;
use crate::thread::Thread;
use crate::view::{self, Need};
use crate::weak;
use crate::world::{arm, look_at, world};
use core::sync::atomic::Ordering;
use raddle_abi::control::{PLAN_OFFSET, PlanEnd, conditions, stage, target};
use raddle_abi::plan::{Carrier, Plan, Reexecution};

/// Donors that exist from the start.
const FIRST_DONORS: usize = 8;

/// How the test function returned. What its harness does afterwards (printing, for one) is
/// not part of the execution: a test known to pass is not even let run into it.
#[derive(Clone, Copy)]
struct Return {
    /// First word of the result.
    value: u64,
    hash: u64,
    point: u64,
    /// Bytes that were printed before.
    printed: usize,
}

struct Host {
    end: End,
    /// The execution as it was when executions start.
    start: Execution,
    /// Set in a forked child.
    is_child: bool,
    main: (usize, i32, usize, usize),
    /// Frame of the call of the test function.
    test_frame: usize,
    /// The test function's return in the execution under way.
    test_return: Option<Return>,
}

static HOST: Global<Host> = Global::new(Host {
    end: End::Started,
    start: Execution::new(),
    is_child: false,
    main: (0, 0, 0, 0),
    test_frame: 0,
    test_return: None,
});

/// Ends the execution under way: its fibers are abandoned and the host goes on.
pub fn end(end: End) -> ! {
    HOST.get().end = end;
    let world = world();
    let mut abandoned = 0;
    // SAFETY: the host was switched out in `resume`.
    unsafe { carrier::switch(&mut abandoned, world.host_sp, world.host_fs, carrier::MAIN) };
    unreachable!("an ended execution was resumed")
}

/// The program has come to the point where executions start, in the running thread.
pub fn start_reached(frame: usize) {
    let host = HOST.get();
    host.end = End::Started;
    host.test_frame = frame;
    let world = world();
    let current = world.execution.current;
    let save: *mut usize = &mut world.execution.threads[current].sp;
    // SAFETY: the host was switched out in `resume`.
    unsafe { carrier::switch(save, world.host_sp, world.host_fs, carrier::MAIN) };
}

/// First word of `Ok(())` where libtest expects a `Result<(), String>`: no string is that long.
const OK: u64 = 1 << 63;

/// The test function has returned, with this first word of its result.
///
/// Whether that passes is libtest's to say: a test that should panic fails by it. Until a test that returned
/// this word has passed, the execution goes on to the end of the program, without scheduling points. Where
/// memory does not go back afterwards, that would leave nothing for the next execution to run in.
pub fn test_returned(frame: usize, value: u64) {
    let host = HOST.get();
    if frame != host.test_frame || world().execution.current != host.start.current {
        return;
    }
    let execution = &world().execution;
    host.test_return = Some(Return {
        value,
        hash: execution.hash,
        point: execution.point,
        printed: shared().output().len(),
    });
    let memory_stays = !world().orders.can_break_off;
    let passes = shared().family().passing_value == Some(value) || value == OK && memory_stays;
    if passes || value == OK {
        deadlock::settle();
    }
    if passes {
        end(End::Passed);
    }
    note_missed_races();
    world().execution.is_over = true;
}

extern "C" fn run_main(_: usize) -> ! {
    let (main, argc, argv, envp) = HOST.get().main;
    if shared().control().target == target::PROGRAM {
        start_reached(0);
    }
    // SAFETY: the program's main function with its own arguments.
    let code = unsafe {
        let main: extern "C" fn(i32, usize, usize) -> i32 = core::mem::transmute(main);
        main(argc, argv, envp)
    };
    crate::interpose::process::exit_from_main(code)
}

/// Switches from the host to the running thread's fiber until it comes back.
fn resume() -> End {
    let world = world();
    let thread = &world.execution.threads[world.execution.current];
    let (sp, fs, seat) = (thread.sp, thread.fs, thread.seat());
    look_at(thread);
    syscalls::watch(true);
    arm();
    // SAFETY: the fiber was prepared or switched out.
    unsafe { carrier::switch(&mut world.host_sp, sp, fs, seat) };
    world.running = false;
    arm();
    syscalls::watch(false);
    HOST.get().end
}

/// Runs the program under the tool's control. Called in place of `main`.
pub fn run_program(main: usize, argc: i32, argv: usize, envp: usize) -> ! {
    let host = HOST.get();
    host.main = (main, argc, argv, envp);
    let control = shared().control();
    control.stage.store(stage::STARTING, Ordering::Release);
    let asked = Carrier::from_number(control.carrier.load(Ordering::Relaxed));
    let chosen = carrier::choose(asked);
    control.carrier.store(chosen as u32, Ordering::Relaxed);
    rseq::give_up();
    for _ in 0..FIRST_DONORS {
        donor::create();
    }
    race::set_up();
    crate::unwind::set_up();
    crate::hooks::call::set_up();
    crate::interpose::signals::install();
    if !syscalls::set_up() {
        shared().note_condition(conditions::NO_DISPATCH);
        shared().family().view = Need::Wanted;
    }
    let (low, high) = donor::map_stack(0);
    let world = world();
    world.host_fs = arch::fs_base();
    native::look_before_control();
    world.live = true;
    let mut thread = Thread::new();
    thread.fs = arch::fs_base();
    thread.pthread = thread.fs;
    thread.stack = (low, high);
    // SAFETY: a fresh stack.
    thread.sp = unsafe { arch::prepare_stack(high, run_main, 0) };
    world.execution.add_thread(thread);
    match resume() {
        End::Started => serve(),
        ended => {
            control.stage.store(stage::NEVER_STARTED, Ordering::Release);
            arch::exit_group(if let End::Exit(code) = ended {
                code as usize
            } else {
                70
            })
        }
    }
}

fn save_start() {
    let host = HOST.get();
    let world = world();
    world.execution.heap.starts();
    host.start = world.execution.clone();
    let first = host.start.current as u32;
    shared()
        .control()
        .first_thread
        .store(first, Ordering::Relaxed);
    offsets::save();
    native::look_before_start();
    children::note_early();
    snapshot::take();
}

/// Waits for plans and runs them, for ever: the tool ends the process.
fn serve() -> ! {
    let control = shared().control();
    save_start();
    let mut done = 0;
    loop {
        control.stage.store(stage::READY, Ordering::Release);
        let mut sequence = control.plan_sequence.load(Ordering::Acquire);
        while sequence == done {
            let word = &raw const control.plan_sequence as usize;
            // SAFETY: waits on a word of the shared memory.
            unsafe { arch::syscall(nr::FUTEX, [word, 0, done as usize, 0, 0, 0]) };
            sequence = control.plan_sequence.load(Ordering::Acquire);
        }
        done = sequence;
        control.stage.store(stage::RUNNING, Ordering::Release);
        let plan_end = run_plan();
        control.experience.store(0, Ordering::Relaxed);
        if plan_end != PlanEnd::Broken {
            orders::keep_experience();
        }
        control.end.store(plan_end as u32, Ordering::Relaxed);
        control.done_sequence.store(done, Ordering::Release);
        let word = &raw const control.done_sequence as usize;
        // SAFETY: wakes waiters on a word of the shared memory.
        unsafe { arch::syscall(nr::FUTEX, [word, 1, i32::MAX as usize, 0, 0, 0]) };
        if plan_end == PlanEnd::Broken {
            arch::exit_group(0);
        }
    }
}

fn run_plan() -> PlanEnd {
    let control = shared().control();
    // SAFETY: the tool wrote the plan before it incremented the sequence.
    let plan = unsafe { *(shared().at(PLAN_OFFSET) as *const Plan) };
    orders::take(&plan);
    let family = shared().family();
    // With marks, each plan is about another test, and how long others were says nothing about it.
    family.longest = match plan.marks {
        0 => family.longest.max(plan.longest),
        _ => plan.longest,
    };
    control.plan_hash.store(0, Ordering::Relaxed);
    control.searched.store(0, Ordering::Relaxed);
    control.end.store(PlanEnd::None as u32, Ordering::Relaxed);
    let mut mode = orders::decided_mode(Reexecution::from_number(plan.reexecution));
    let mut index = 0;
    while index < plan.executions {
        if control.stop.load(Ordering::Relaxed) != 0 {
            return PlanEnd::Stopped;
        }
        let length = if plan.length != 0 {
            plan.length
        } else {
            shared().family().longest.max(16)
        };
        let before = control.findings.load(Ordering::Relaxed);
        prepare(mode, plan.seed.wrapping_add(index), length);
        marks::begin(plan.seed.wrapping_add(index), length);
        let ended = match mode {
            Reexecution::Auto | Reexecution::Fork => run_in_child(),
            Reexecution::Loop | Reexecution::Snapshot => run_here(mode),
        };
        match ended {
            End::MoreDonors => {
                // Doubling, because every round runs the execution from its start.
                let wanted = donor::count() * 2;
                while donor::count() < wanted.min(donor::MAX_DONORS) {
                    donor::create();
                }
                world().execution.restart(&HOST.get().start, true);
                save_start();
                continue;
            }
            End::Again => continue,
            End::NeedsCarrier => return PlanEnd::Carrier,
            End::NeedsFork => {
                mode = Reexecution::Fork;
                control.reexecution.store(mode as u32, Ordering::Relaxed);
                continue;
            }
            End::Crashed => {
                account(ended);
                return PlanEnd::Broken;
            }
            // Nothing but stacks is restored, and this one has left its objects as they were.
            ended if mode == Reexecution::Loop && !ended.is_success(control.success) => {
                account(ended);
                return PlanEnd::Broken;
            }
            _ => account(ended),
        }
        if mode == Reexecution::Auto {
            mode = if shared().family().needs_fork {
                Reexecution::Fork
            } else {
                Reexecution::Snapshot
            };
            control.reexecution.store(mode as u32, Ordering::Relaxed);
        }
        index += 1;
        if orders::learn() {
            return PlanEnd::Complete;
        }
        let found = control.findings.load(Ordering::Relaxed) != before;
        if plan.stop_at_first != 0 && found && !ended.is_success(control.success) {
            return PlanEnd::Finding;
        }
    }
    PlanEnd::Complete
}

/// Sets everything up for an execution from the start.
fn prepare(mode: Reexecution, seed: u64, length: u64) {
    let host = HOST.get();
    let world = world();
    let with_heap = mode != Reexecution::Loop;
    world.execution.restart(&host.start, with_heap);
    world.execution.unseen_synchronisation = native::is_early();
    world.off = 0;
    host.test_return = None;
    crate::world::take_at_site();
    let control = shared().control();
    control.seed.store(seed, Ordering::Relaxed);
    control.length.store(length, Ordering::Relaxed);
    control.decisions.store(0, Ordering::Relaxed);
    control.preemptions.store(0, Ordering::Relaxed);
    control.output.store(0, Ordering::Relaxed);
    control.diverged.store(0, Ordering::Relaxed);
    // An execution that ends the process may leave nothing of its own here.
    control.last_hash.store(0, Ordering::Relaxed);
    control.last_points.store(0, Ordering::Relaxed);
    // Every execution has one: 0 says that the program has written here.
    control.threads.fetch_max(1, Ordering::Relaxed);
    let in_use = |index| {
        host.start
            .threads
            .iter()
            .any(|thread| thread.donor == index)
    };
    donor::give_back_all_but(in_use);
    offsets::restore();
    if let Some(strategy) = &mut world.orders.strategy {
        strategy.begin(seed, length);
        world.orders.site_keys = strategy.needs_site_keys();
        world.orders.every_operation = strategy.needs_operations();
        world.orders.decides_time = strategy.decides_time();
        world.orders.early_expiry.begin(seed, length);
    }
    for number in 1..world.execution.threads.len() {
        let parent = usize::from(world.execution.threads[number].parent);
        if let Some(strategy) = &mut world.orders.strategy {
            strategy.thread_started(number, parent, 0);
        }
    }
    // An execution that is broken off leaves its traces where only stacks are restored.
    world.orders.can_break_off = mode != Reexecution::Loop;
    world.orders.private_stacks =
        world.orders.watch && !world.orders.record && world.orders.can_break_off;
    if world.orders.private_stacks {
        for thread in &mut world.execution.threads {
            thread.private = stacks::private_part(thread.stack);
        }
    }
    race::begin(world.execution.threads.len());
    weak::begin(world.execution.threads.len(), seed);
    if world.orders.record {
        record::begin();
    }
}

fn run_here(mode: Reexecution) -> End {
    if mode == Reexecution::Snapshot {
        snapshot::track();
    }
    world().running = true;
    let ended = resume();
    orders::settle();
    if ended == End::Crashed {
        measure();
        return ended;
    }
    judge(ended);
    syscalls::undo();
    snapshot::restore(mode == Reexecution::Loop);
    if mode == Reexecution::Snapshot {
        snapshot::cool();
    }
    ended
}

fn run_in_child() -> End {
    let control = shared().control();
    shared().family().child_end = 0;
    // SAFETY: a child with a copy of everything; the donors are not needed as threads.
    let child = unsafe { arch::syscall(nr::FORK, [0; 6]) };
    if child < 0 {
        panic!("cannot fork (error {})", -child);
    }
    if child == 0 {
        HOST.get().is_child = true;
        ids::claim();
        native::is_alone();
        if shared().family().view == Need::Wanted && view::enter().is_err() {
            shared().family().view = Need::Refused;
            finish_child(End::Again);
        }
        // SAFETY: a child does not outlive its parent.
        unsafe {
            arch::syscall(
                nr::PRCTL,
                [arch::PR_SET_PDEATHSIG, arch::signal::SIGKILL, 0, 0, 0, 0],
            )
        };
        syscalls::set_up();
        carrier::revive();
        world().running = true;
        let ended = resume();
        orders::settle();
        match ended {
            End::Crashed => {
                measure();
            }
            ended => judge(ended),
        }
        finish_child(ended)
    }
    control.child.store(child as u32, Ordering::Release);
    let mut status = 0u32;
    // SAFETY: waits for our child.
    unsafe {
        arch::syscall(
            nr::WAIT4,
            [child as usize, &raw mut status as usize, 0, 0, 0, 0],
        )
    };
    control.child.store(0, Ordering::Release);
    children::end_left();
    let ended = End::decode(shared().family().child_end);
    let died = shared().family().child_end == 0;
    let failure = control.failure.load(Ordering::Acquire);
    if failure != 0 {
        // The child ended because of us, and has said why.
        arch::exit_group(failure as usize);
    }
    if died && status & 0x7f == 0 {
        // A native thread has ended the process.
        let ended = End::Exit(status >> 8 & 0xff);
        judge(ended);
        return ended;
    }
    if died {
        // The child died where even the crash handler could not run, and left no trace.
        let signal = status & 0x7f;
        control.last_points.store(0, Ordering::Relaxed);
        control
            .last_hash
            .store(u64::from(signal), Ordering::Relaxed);
        crate::oracles::crash::report_death(signal);
        return End::Abandoned;
    }
    // A crash of a child leaves this process intact.
    if ended == End::Crashed {
        End::Abandoned
    } else {
        ended
    }
}

/// Ends a forked child after its execution.
pub fn finish_child(ended: End) -> ! {
    shared().family().child_end = ended.encode();
    arch::exit_group(0)
}

/// The thread in which executions start.
pub fn first_thread() -> usize {
    HOST.get().start.current
}

/// Whether a thread was there before executions start and is not the test's own: the harness.
pub fn is_harness(thread: usize) -> bool {
    let start = &HOST.get().start;
    thread < start.threads.len() && thread != start.current
}

/// Threads of the program under test that have not ended.
pub fn alive() -> usize {
    let harness = HOST.get().start.alive - 1;
    world().execution.alive.saturating_sub(harness)
}

/// Whether this is a forked child.
pub fn is_child() -> bool {
    HOST.get().is_child
}

fn note_missed_races() {
    if race::may_have_missed() {
        shared().note_condition(conditions::RACES_MISSED);
    }
}

/// Lets the oracles look at how an execution ended.
fn judge(ended: End) {
    let host = HOST.get();
    let control = shared().control();
    match ended {
        End::Exit(code) if code == control.success => {
            if control.target == target::TEST {
                shared().family().passing_value = host.test_return.map(|test| test.value);
            }
            if let Some(test) = host.test_return {
                shared().cut_output(test.printed);
            }
            panic::test_passed();
        }
        End::Passed => panic::test_passed(),
        End::Exit(code) => panic::test_failed(code),
        _ => {}
    }
    // What libtest does at the end is no part of the test.
    if !world().execution.is_over {
        note_missed_races();
    }
    let code = if let End::Exit(code) = ended { code } else { 0 };
    control.exit_code.store(code, Ordering::Relaxed);
    let point = measure();
    let family = shared().family();
    family.longest = family.longest.max(point);
}

/// Writes down how long an execution was and the hash of its trace; returns its length.
fn measure() -> u64 {
    let execution = &world().execution;
    let executed = (execution.hash, execution.point);
    let (hash, point) = HOST
        .get()
        .test_return
        .map_or(executed, |test| (test.hash, test.point));
    let control = shared().control();
    control.last_points.store(point, Ordering::Relaxed);
    control.last_hash.store(hash, Ordering::Relaxed);
    control
        .switches
        .fetch_add(execution.switches, Ordering::Relaxed);
    point
}

/// Counts an execution that is over.
fn account(ended: End) {
    let control = shared().control();
    marks::end(ended);
    outcomes::count(ended);
    let points = control.last_points.load(Ordering::Relaxed);
    shared().add_points(points);
    let hash = control.plan_hash.load(Ordering::Relaxed);
    let last = control.last_hash.load(Ordering::Relaxed);
    let hash = (hash.rotate_left(7) ^ last).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    control.plan_hash.store(hash, Ordering::Relaxed);
    match ended {
        End::Cut => control.cut.fetch_add(1, Ordering::Relaxed),
        End::Known => control.broken_off.fetch_add(1, Ordering::Relaxed),
        _ => 0,
    };
    control.executions.fetch_add(1, Ordering::Release);
}
