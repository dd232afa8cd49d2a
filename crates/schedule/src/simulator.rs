//! A toy machine for the tests of strategies: threads are lists of operations.

use crate::anchor::{Passed, Spawn};
use crate::rng::mix;
use crate::strategy::{Expiry, NOBODY, Pending, Strategy, TIME, View, default_pick};
use core::ops::Range;
use raddle_abi::plan::{Decision, TIME_ADVANCES, TIME_IS_UP};
use raddle_abi::site::Operation;

/// What a thread of a toy program does. Its site's key is 100 × the number of operations before
/// it + 1, without those that were added, so that threads with the same program share sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A step that only counts.
    Step,
    /// A step that was added to the program later.
    Added,
    /// Starts this thread.
    Spawn(usize),
    /// Acquires a lock; blocks while another thread has it.
    Lock(usize),
    /// Releases a lock.
    Unlock(usize),
    /// Sets a flag.
    Set(usize),
    /// Spins, yielding, until a flag is set.
    SpinUntil(usize),
    /// Spins, yielding, until a flag is set or so many rounds are over; counts the rounds in the thread's
    /// register.
    SpinFor(usize, u64),
    /// Swaps a flag, yielding, until it was not set.
    SpinTake(usize),
    /// Loads a variable into the thread's register.
    Load(usize),
    /// Stores the register, plus one, into a variable: two threads that load and store count.
    Store(usize),
    /// Fails unless a variable has this value.
    Expect(usize, u64),
    /// Waits until so much time has passed.
    Sleep(u64),
}

/// What happened.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Thread and index of each operation that was performed.
    pub order: Vec<(usize, usize)>,
    pub decisions: Vec<Decision>,
    pub passed: Vec<Passed>,
    pub spawns: Vec<Spawn>,
    /// Nobody could run though not all had ended, or it took too long.
    pub stuck: bool,
    /// The strategy knew what would follow.
    pub broken_off: bool,
    /// An expectation was not met.
    pub failed: bool,
    /// Picks of another thread than one that could go on.
    pub preemptions: u32,
    /// Variables and registers at the end.
    pub memory: Vec<u64>,
}

const MAX_POINTS: u64 = 10_000;

pub fn key(thread: &[Op], index: usize) -> u64 {
    match thread.get(index) {
        Some(Op::Added) => 9,
        _ => {
            thread[..index]
                .iter()
                .filter(|&&op| op != Op::Added)
                .count() as u64
                * 100
                + 1
        }
    }
}

/// Site ids of the toy machine carry their key.
pub fn key_of(site: u32) -> u64 {
    u64::from(site)
}

struct Machine<'a> {
    program: &'a [Vec<Op>],
    next: Vec<usize>,
    started: Vec<bool>,
    owners: [Option<usize>; 8],
    flags: [bool; 8],
    memory: [u64; 8],
    registers: Vec<u64>,
    /// Of the loop in which each thread is.
    rounds: Vec<u64>,
    /// When a flag was last changed.
    last_change: u64,
    now: u64,
    /// Until when each thread sleeps, if it does.
    deadlines: Vec<Option<u64>>,
}

impl Machine<'_> {
    fn is_enabled(&self, thread: usize) -> bool {
        self.started[thread]
            && self.deadlines[thread].is_none()
            && match self.program[thread].get(self.next[thread]) {
                None => false,
                Some(&Op::Lock(lock)) => self.owners[lock].is_none(),
                Some(_) => true,
            }
    }

    /// The thread that wakes up next, and when.
    fn earliest(&self) -> Option<(u64, usize)> {
        let deadlines = self.deadlines.iter().enumerate();
        let sleeping = deadlines.filter_map(|(thread, deadline)| Some(((*deadline)?, thread)));
        sleeping.min()
    }

    fn expiry(&self) -> Option<Expiry> {
        let (deadline, thread) = self.earliest()?;
        let times = self.deadlines.iter().fold(0, |hash, deadline| {
            mix(hash ^ deadline.map_or(u64::MAX, |time| time.saturating_sub(self.now)))
        });
        Some(Expiry {
            thread: Some(thread),
            object: 0,
            is_early: deadline > self.now,
            times,
        })
    }

    /// The earliest deadline passes.
    fn pass_time(&mut self) {
        if let Some((deadline, thread)) = self.earliest() {
            self.now = self.now.max(deadline);
            self.deadlines[thread] = None;
        }
    }

    fn pending(&self, thread: usize) -> Pending {
        let site_key = key(&self.program[thread], self.next[thread]);
        let next = self.program[thread].get(self.next[thread]);
        let address = match next {
            Some(
                Op::Set(flag) | Op::SpinUntil(flag) | Op::SpinFor(flag, _) | Op::SpinTake(flag),
            ) => (flag + 1) << 8,
            Some(Op::Lock(lock) | Op::Unlock(lock)) => (lock + 0x100) << 8,
            Some(Op::Load(place) | Op::Store(place) | Op::Expect(place, _)) => (place + 0x200) << 8,
            _ => 0,
        };
        let operation = match next {
            Some(Op::Load(_) | Op::Expect(..) | Op::SpinUntil(_) | Op::SpinFor(..)) => {
                Operation::AtomicLoad
            }
            Some(Op::Spawn(_)) => Operation::Spawn,
            Some(Op::Step | Op::Added) => Operation::Fence,
            Some(Op::Sleep(_)) => Operation::Sleep,
            _ => Operation::AtomicRmw,
        };
        Pending {
            operation,
            write: operation != Operation::AtomicLoad,
            address,
            site: site_key as u32,
            site_key,
        }
    }
}

/// Runs a toy program of which thread 0 runs from the start.
pub fn run(program: &[Vec<Op>], strategy: &mut dyn Strategy, seed: u64, length: u64) -> Run {
    let count = program.len();
    let mut machine = Machine {
        program,
        next: vec![0; count],
        started: vec![false; count],
        owners: [None; 8],
        flags: [false; 8],
        memory: [0; 8],
        registers: vec![0; count],
        rounds: vec![0; count],
        last_change: 0,
        now: 0,
        deadlines: vec![None; count],
    };
    let mut result = Run::default();
    machine.started[0] = true;
    strategy.begin(seed, length);
    let mut steps = vec![0_u32; count];
    let (mut current, mut yielded) = (0, false);
    let mut point = 0;
    loop {
        let enabled: Vec<u16> = (0..count)
            .filter(|&thread| machine.is_enabled(thread))
            .map(|t| t as u16)
            .collect();
        if enabled.is_empty() && machine.earliest().is_some() {
            machine.pass_time();
            continue;
        }
        if enabled.is_empty() || point == MAX_POINTS {
            let over = |thread: usize| machine.next[thread] == program[thread].len();
            result.stuck = !(0..count).all(over);
            break;
        }
        let pending: Vec<_> = (0..count).map(|thread| machine.pending(thread)).collect();
        let view = View {
            current,
            current_enabled: machine.is_enabled(current),
            enabled: &enabled,
            arrivals: None,
            pending: &pending,
            steps: &steps,
            point,
            last_change: machine.last_change,
            yielded: yielded && machine.is_enabled(current),
            expiry: machine.expiry().filter(|_| strategy.decides_time()),
        };
        let picked = strategy.pick(&view);
        if picked == NOBODY {
            result.broken_off = true;
            break;
        }
        if picked == TIME {
            let is_early = view.expiry.unwrap().is_early;
            result.decisions.push(Decision {
                from: current as u16,
                to: if is_early { TIME_ADVANCES } else { TIME_IS_UP },
                step: steps[current],
                site: pending[current].site,
                point: point as u32,
            });
            machine.pass_time();
            continue;
        }
        assert!(view.is_enabled(picked), "picked {picked} of {enabled:?}");
        result.preemptions += u32::from(view.preempts(picked));
        if picked != default_pick(&view) {
            result.decisions.push(Decision {
                from: current as u16,
                to: picked as u16,
                step: steps[current],
                site: pending[current].site,
                point: point as u32,
            });
        }
        result.passed.push(Passed {
            thread: picked as u16,
            site_key: pending[picked].site_key,
        });
        point += 1;
        steps[picked] += 1;
        current = picked;
        yielded = step(&mut machine, current, point, strategy, &mut result);
    }
    strategy.end();
    result.memory = [&machine.memory[..], &machine.registers].concat();
    result
}

/// Estimated length of executions in a row.
const LENGTH: u64 = 30;

/// Runs a toy program with one seed after the other, and lets the strategy learn from each. None
/// may get stuck.
pub fn row(program: &[Vec<Op>], strategy: &mut dyn Strategy, seeds: Range<u64>) -> Vec<Run> {
    let one = |seed| {
        let run = run(program, strategy, seed, LENGTH);
        assert!(!run.stuck, "seed {seed}");
        strategy.learn();
        run
    };
    seeds.map(one).collect()
}

/// Performs the next operation of `thread`; whether it yielded.
fn step(
    machine: &mut Machine,
    thread: usize,
    point: u64,
    strategy: &mut dyn Strategy,
    run: &mut Run,
) -> bool {
    let index = machine.next[thread];
    match machine.program[thread][index] {
        Op::SpinUntil(flag) if !machine.flags[flag] => return true,
        Op::SpinTake(flag) if machine.flags[flag] => return true,
        Op::SpinFor(flag, rounds) if !machine.flags[flag] && machine.rounds[thread] < rounds => {
            machine.rounds[thread] += 1;
            return true;
        }
        Op::SpinFor(..) => machine.registers[thread] = core::mem::take(&mut machine.rounds[thread]),
        Op::SpinUntil(_) | Op::Step | Op::Added => {}
        Op::Set(flag) | Op::SpinTake(flag) => {
            machine.flags[flag] = true;
            machine.last_change = point;
        }
        Op::Lock(lock) => machine.owners[lock] = Some(thread),
        Op::Unlock(lock) => machine.owners[lock] = None,
        Op::Load(place) => machine.registers[thread] = machine.memory[place],
        Op::Store(place) => machine.memory[place] = machine.registers[thread] + 1,
        Op::Sleep(time) => machine.deadlines[thread] = Some(machine.now + time),
        Op::Expect(place, value) => run.failed |= machine.memory[place] != value,
        Op::Spawn(child) => {
            let site_key = key(&machine.program[thread], index);
            machine.started[child] = true;
            strategy.thread_started(child, thread, site_key);
            let (parent, child) = (thread as u16, child as u16);
            run.spawns.push(Spawn {
                parent,
                thread: child,
                site_key,
            });
        }
    }
    machine.next[thread] += 1;
    run.order.push((thread, index));
    false
}
