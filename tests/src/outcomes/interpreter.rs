//! All outcomes of a program, by trying every step of every thread in every state: an independent
//! definition of what the exhaustive search has to see.
//!
//! Steps are sequentially consistent. A condition wakes its waiters in the order in which they came, and
//! nobody without a reason. Time passes to the earliest deadline at any moment, whoever could still run.

use std::collections::{BTreeSet, HashSet, VecDeque};

use super::program::{Ending, Hint, KEPT, MUTEXES, Program, SEMAPHORES, Statement};

/// One atomic step, after a statement was taken apart.
#[derive(Clone, Debug)]
enum Step {
    Load(usize, usize),
    Store(usize, i32),
    LoadByte(usize, usize, usize),
    StoreByte(usize, usize, i32),
    /// The register's value plus one.
    StoreNext(usize, usize),
    FetchAdd(usize, usize),
    /// Stores the first constant, or the register's value plus one, if the variable has the second, or
    /// the register's value. The register gets what the variable had; goes to the place if it differs.
    Exchange(usize, Option<(i32, i32)>, usize, usize),
    Lock(usize),
    /// The register says whether it was not free.
    TryLock(usize, usize),
    TimedLock(usize, u32, usize),
    Unlock(usize),
    /// As a writer, or as a reader.
    LockShared(bool),
    TryLockShared(usize),
    UnlockShared(bool),
    /// Goes to the place if it was done.
    EnterOnce(usize),
    LeaveOnce,
    /// Goes to the place if the register is not 0.
    IfNotZero(usize, usize),
    /// Unlocks the first mutex and waits, for so long if at all limited.
    Wait(Option<u32>),
    /// Takes the first mutex again; the register says whether the time ran out.
    Relock(Option<usize>),
    Wake(bool),
    Post(usize),
    Take(usize),
    TryTake(usize, usize),
    TimedTake(usize, u32, usize),
    Meet,
    /// Goes to the place if it was unparked.
    Park(Option<u32>, usize),
    /// Takes what unparked it.
    Unparked,
    Unpark(usize),
    Send(i32),
    Receive(usize),
    TryReceive(usize),
    TimedReceive(u32, usize),
    Sleep(u32),
    Elapsed(usize),
    Jump(usize),
    /// A point at which nothing happens.
    Nothing,
    Spawn(usize),
    Join(usize),
    Print(String),
    /// Prints all registers and variables.
    PrintAll,
    /// Prints the registers of the thread.
    PrintOwn,
    Exit,
}

impl Step {
    /// Whether others cannot tell when it is made: it belongs to the step before.
    fn is_local(&self) -> bool {
        matches!(self, Self::IfNotZero(..) | Self::Jump(_) | Self::Nothing)
    }
}

/// Why a thread does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rest {
    /// It does.
    Runs,
    /// It waits for the condition, or is parked, until a time.
    Waits(u32),
    /// It sleeps until a time.
    Sleeps(u32),
    /// It tries to make a step until a time.
    Tries(u32),
    /// It has not been started.
    New,
    /// It has ended.
    Done,
}

const NEVER: u32 = u32::MAX;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    places: Vec<usize>,
    registers: Vec<Vec<i32>>,
    rests: Vec<Rest>,
    timed_out: Vec<bool>,
    is_unparked: Vec<bool>,
    variables: Vec<i32>,
    owners: [Option<usize>; MUTEXES],
    semaphores: [u32; SEMAPHORES],
    readers: usize,
    is_written: bool,
    once: Once,
    waiters: VecDeque<usize>,
    meeting: Option<usize>,
    sent: VecDeque<i32>,
    now: u32,
    printed: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Once {
    New,
    Runs,
    Done,
}

/// What came of all executions of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// What is printed where the program ends by itself.
    pub printed: BTreeSet<String>,
    /// What was printed where all threads wait for ever.
    pub deadlocks: BTreeSet<String>,
    /// Whether an execution may go on for ever, nobody but spinning threads being able to run.
    pub spins: bool,
    /// Whether a thread may pass time while another one could run.
    pub waits_for_time: bool,
    /// There are more states than were looked at.
    pub is_too_large: bool,
}

/// States after which a program is too large.
const MOST_STATES: usize = 60_000;
/// A register of each thread, behind those that are printed.
const SCRATCH: usize = KEPT;

fn compile(program: &Program) -> Vec<Vec<Step>> {
    // The lock that spins is a variable behind the others.
    let lock = program.variables.len();
    let mut threads = Vec::new();
    for (thread, statements) in program.threads.iter().enumerate() {
        let mut steps = Vec::new();
        let starts = |place: usize| {
            let started = program.started_by(thread);
            started.filter_map(move |(child, at)| (at == place).then_some(Step::Spawn(child)))
        };
        for (place, statement) in statements.iter().enumerate() {
            steps.extend(starts(place));
            expand(statement, (thread, lock), &mut steps);
        }
        steps.extend(starts(statements.len()));
        if program.ending == Ending::Joins {
            steps.extend(
                program
                    .started_by(thread)
                    .map(|(child, _)| Step::Join(child)),
            );
        }
        match program.ending {
            Ending::Joins if thread == 0 => steps.extend([Step::PrintAll, Step::Exit]),
            Ending::Returns if thread == 0 => steps.extend([Step::PrintOwn, Step::Exit]),
            Ending::Leaves => steps.push(Step::PrintOwn),
            _ => {}
        }
        for statement in statements {
            if let Statement::StoreAtEnd(variable, value) = statement {
                steps.push(Step::Store(*variable, *value));
            }
        }
        threads.push(steps);
    }
    threads
}

fn expand(statement: &Statement, context: (usize, usize), steps: &mut Vec<Step>) {
    let (thread, lock) = context;
    let all = |inner: &[Statement], steps: &mut Vec<Step>| {
        for statement in inner {
            expand(statement, context, steps);
        }
    };
    // What is done if the register of the step before is 0, and what follows in that case.
    let guarded = |register: usize, inner: &[Statement], end: Step, steps: &mut Vec<Step>| {
        let branch = steps.len();
        steps.push(Step::Nothing);
        all(inner, steps);
        steps.push(end);
        steps[branch] = Step::IfNotZero(register, steps.len());
    };
    match statement {
        Statement::Load(variable, register) => steps.push(Step::Load(*variable, *register)),
        Statement::Store(variable, value) => steps.push(Step::Store(*variable, *value)),
        Statement::LoadByte(variable, byte, register) => {
            steps.push(Step::LoadByte(*variable, *byte, *register));
        }
        Statement::StoreByte(variable, byte, value) => {
            steps.push(Step::StoreByte(*variable, *byte, *value));
        }
        Statement::Increment(variable, register) => {
            steps.push(Step::Load(*variable, *register));
            steps.push(Step::StoreNext(*variable, *register));
        }
        Statement::FetchAdd(variable, register) => steps.push(Step::FetchAdd(*variable, *register)),
        Statement::ExchangeLoop(variable, register) => {
            steps.push(Step::Load(*variable, *register));
            steps.push(Step::Exchange(*variable, None, *register, steps.len()));
        }
        Statement::CompareExchange(variable, old, new, register) => {
            let values = Some((*old, *new));
            steps.push(Step::Exchange(
                *variable,
                values,
                *register,
                steps.len() + 1,
            ));
        }
        Statement::Locked(mutex, inner) => {
            steps.push(Step::Lock(*mutex));
            all(inner, steps);
            steps.push(Step::Unlock(*mutex));
        }
        Statement::TryLocked(mutex, register, inner) => {
            steps.push(Step::TryLock(*mutex, *register));
            guarded(*register, inner, Step::Unlock(*mutex), steps);
        }
        Statement::TimedLocked(mutex, time, register, inner) => {
            steps.push(Step::TimedLock(*mutex, *time, *register));
            guarded(*register, inner, Step::Unlock(*mutex), steps);
        }
        Statement::Reading(inner) | Statement::Writing(inner) => {
            let writes = matches!(statement, Statement::Writing(_));
            steps.push(Step::LockShared(writes));
            all(inner, steps);
            steps.push(Step::UnlockShared(writes));
        }
        Statement::TryWriting(register, inner) => {
            steps.push(Step::TryLockShared(*register));
            guarded(*register, inner, Step::UnlockShared(true), steps);
        }
        Statement::SpinLocked(hint, inner) => {
            let start = steps.len();
            if *hint == Hint::Before {
                steps.push(Step::Nothing);
            }
            steps.push(Step::Exchange(lock, Some((0, 1)), SCRATCH, start));
            all(inner, steps);
            steps.push(Step::Store(lock, 0));
        }
        Statement::Once(inner) => {
            let start = steps.len();
            steps.push(Step::Nothing);
            all(inner, steps);
            steps.push(Step::LeaveOnce);
            steps[start] = Step::EnterOnce(steps.len());
        }
        Statement::WaitIfZero(variable) => {
            steps.push(Step::Load(*variable, SCRATCH));
            steps.push(Step::IfNotZero(SCRATCH, steps.len() + 3));
            steps.push(Step::Wait(None));
            steps.push(Step::Relock(None));
        }
        Statement::WaitWhileZero(variable) => {
            let start = steps.len();
            steps.push(Step::Load(*variable, SCRATCH));
            steps.push(Step::IfNotZero(SCRATCH, steps.len() + 4));
            steps.push(Step::Wait(None));
            steps.push(Step::Relock(None));
            steps.push(Step::Jump(start));
        }
        Statement::WaitForAWhile(variable, time, register) => {
            steps.push(Step::Load(*variable, SCRATCH));
            steps.push(Step::IfNotZero(SCRATCH, steps.len() + 3));
            steps.push(Step::Wait(Some(*time)));
            steps.push(Step::Relock(Some(*register)));
        }
        Statement::Wake(all) => steps.push(Step::Wake(*all)),
        Statement::Post(semaphore) => steps.push(Step::Post(*semaphore)),
        Statement::Take(semaphore) => steps.push(Step::Take(*semaphore)),
        Statement::TryTake(semaphore, register) => {
            steps.push(Step::TryTake(*semaphore, *register));
        }
        Statement::TimedTake(semaphore, time, register) => {
            steps.push(Step::TimedTake(*semaphore, *time, *register));
        }
        Statement::Meet => steps.push(Step::Meet),
        Statement::Park(time) => {
            steps.push(Step::Park(*time, steps.len() + 2));
            steps.push(Step::Unparked);
        }
        Statement::Unpark(other) => steps.push(Step::Unpark(*other)),
        Statement::Send(value) => steps.push(Step::Send(*value)),
        Statement::Receive(register) => steps.push(Step::Receive(*register)),
        Statement::TryReceive(register) => steps.push(Step::TryReceive(*register)),
        Statement::TimedReceive(time, register) => {
            steps.push(Step::TimedReceive(*time, *register));
        }
        Statement::Sleep(time) => steps.push(Step::Sleep(*time)),
        Statement::Elapsed(register) => steps.push(Step::Elapsed(*register)),
        Statement::Spin(variable, hint) => {
            let start = steps.len();
            look(*variable, SCRATCH, *hint, steps);
            let end = steps.len() + 2 + usize::from(*hint == Hint::After);
            steps.push(Step::IfNotZero(SCRATCH, end));
            if *hint == Hint::After {
                steps.push(Step::Nothing);
            }
            steps.push(Step::Jump(start));
        }
        Statement::SpinAtMost(variable, times, register, hint) => {
            let mut exits = Vec::new();
            for _ in 0..*times {
                look(*variable, *register, *hint, steps);
                exits.push(steps.len());
                steps.push(Step::IfNotZero(*register, 0));
                if *hint == Hint::After {
                    steps.push(Step::Nothing);
                }
            }
            for exit in exits {
                steps[exit] = Step::IfNotZero(*register, steps.len());
            }
        }
        // The store comes when the thread ends.
        Statement::Yield | Statement::StoreAtEnd(..) => steps.push(Step::Nothing),
        Statement::Exit => {
            steps.push(Step::Print(format!("exit by {thread}\n")));
            steps.push(Step::Exit);
        }
    }
}

fn look(variable: usize, register: usize, hint: Hint, steps: &mut Vec<Step>) {
    if hint == Hint::Before {
        steps.push(Step::Nothing);
    }
    steps.push(Step::Load(variable, register));
}

/// What a step leads to.
enum Next {
    State(Box<State>),
    /// The program has ended.
    End(String),
    /// The thread cannot make it now.
    Blocked,
}

/// Finds all outcomes.
pub fn outcomes(program: &Program) -> Outcomes {
    let steps = compile(program);
    let threads = steps.len();
    let mut rests = vec![Rest::New; threads];
    rests[0] = Rest::Runs;
    let start = State {
        places: vec![0; threads],
        registers: vec![vec![0; KEPT + 1]; threads],
        rests,
        timed_out: vec![false; threads],
        is_unparked: vec![false; threads],
        variables: vec![0; program.variables.len() + 1],
        owners: [None; MUTEXES],
        semaphores: [0; SEMAPHORES],
        readers: 0,
        is_written: false,
        once: Once::New,
        waiters: VecDeque::new(),
        meeting: None,
        sent: VecDeque::new(),
        now: 0,
        printed: String::new(),
    };
    let mut result = Outcomes::default();
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let (mut is_stuck, mut runs) = (true, false);
        let mut visit = |next: State, is_stuck: &mut bool| {
            if next != state {
                *is_stuck = false;
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        };
        for thread in 0..threads {
            match step(&steps, program, &state, thread) {
                Next::State(next) => {
                    runs = true;
                    visit(*next, &mut is_stuck);
                }
                Next::End(printed) => {
                    (is_stuck, runs) = (false, true);
                    result.printed.insert(printed);
                }
                Next::Blocked => {}
            }
        }
        for next in pass_time(&steps, &state) {
            result.waits_for_time |= runs;
            visit(next, &mut is_stuck);
        }
        match (is_stuck, runs) {
            (true, true) => result.spins = true,
            (true, false) => _ = result.deadlocks.insert(state.printed.clone()),
            (false, _) => {}
        }
        if seen.len() > MOST_STATES {
            result.is_too_large = true;
            break;
        }
    }
    result
}

/// Time passes to the earliest deadline. Of those that are equal, or have passed, any may come first.
/// The deadline of a thread that can have what it waits for does not count any more.
fn pass_time(steps: &[Vec<Step>], state: &State) -> Vec<State> {
    let deadlines = state.rests.iter().enumerate();
    let deadlines = deadlines.filter_map(|(thread, rest)| match rest {
        Rest::Waits(time) | Rest::Sleeps(time) if *time != NEVER => Some((*time, thread)),
        Rest::Tries(time) if !can_take(&steps[thread][state.places[thread]], state) => {
            Some((*time, thread))
        }
        _ => None,
    });
    let deadlines: Vec<(u32, usize)> = deadlines.collect();
    let earliest = deadlines.iter().map(|(time, _)| *time).min();
    let now = state.now.max(earliest.unwrap_or(0));
    let passed = deadlines.into_iter().filter(|(time, _)| *time <= now);
    let states = passed.map(|(_, thread)| {
        let mut next = state.clone();
        next.now = now;
        next.timed_out[thread] = !matches!(state.rests[thread], Rest::Sleeps(_));
        next.waiters.retain(|waiter| *waiter != thread);
        next.rests[thread] = Rest::Runs;
        next
    });
    states.collect()
}

/// Whether there is what a step takes within a time.
fn can_take(step: &Step, state: &State) -> bool {
    match step {
        Step::TimedLock(mutex, ..) => state.owners[*mutex].is_none(),
        Step::TimedTake(semaphore, ..) => state.semaphores[*semaphore] > 0,
        _ => !state.sent.is_empty(),
    }
}

/// What a step that takes something within a time comes to.
#[derive(PartialEq)]
enum Attempt {
    Takes,
    IsLate,
    Waits,
}

/// Tries to make the step. Who was late does not look again.
fn attempt(step: &Step, time: u32, next: &mut State, thread: usize) -> Attempt {
    if std::mem::take(&mut next.timed_out[thread]) {
        return Attempt::IsLate;
    }
    if can_take(step, next) {
        next.rests[thread] = Rest::Runs;
        return Attempt::Takes;
    }
    if next.rests[thread] == Rest::Runs {
        next.rests[thread] = Rest::Tries(next.now + time);
    }
    next.places[thread] -= 1;
    Attempt::Waits
}

fn step(steps: &[Vec<Step>], program: &Program, state: &State, thread: usize) -> Next {
    if !matches!(state.rests[thread], Rest::Runs | Rest::Tries(_)) {
        return Next::Blocked;
    }
    let mut next = state.clone();
    let Some(step) = steps[thread].get(state.places[thread]) else {
        next.rests[thread] = Rest::Done;
        if next.rests.iter().all(|rest| *rest == Rest::Done) {
            return Next::End(next.printed);
        }
        return Next::State(Box::new(next));
    };
    next.places[thread] += 1;
    let own = &mut next.registers[thread];
    match step {
        Step::Load(variable, register) => own[*register] = state.variables[*variable],
        Step::Store(variable, value) => next.variables[*variable] = *value,
        Step::LoadByte(variable, byte, register) => {
            let bytes = state.variables[*variable].to_le_bytes();
            own[*register] = i32::from(bytes[*byte]);
        }
        Step::StoreByte(variable, byte, value) => {
            let mut bytes = state.variables[*variable].to_le_bytes();
            bytes[*byte] = *value as u8;
            next.variables[*variable] = i32::from_le_bytes(bytes);
        }
        Step::StoreNext(variable, register) => next.variables[*variable] = own[*register] + 1,
        Step::FetchAdd(variable, register) => {
            own[*register] = state.variables[*variable];
            next.variables[*variable] += 1;
        }
        Step::Exchange(variable, values, register, otherwise) => {
            let old = state.variables[*variable];
            let (expected, new) = values.unwrap_or((own[*register], own[*register] + 1));
            own[*register] = old;
            if old == expected {
                next.variables[*variable] = new;
            } else {
                next.places[thread] = *otherwise;
            }
        }
        Step::Lock(mutex) => {
            if state.owners[*mutex].is_some() {
                return Next::Blocked;
            }
            next.owners[*mutex] = Some(thread);
        }
        Step::TryLock(mutex, register) => {
            own[*register] = i32::from(state.owners[*mutex].is_some());
            if state.owners[*mutex].is_none() {
                next.owners[*mutex] = Some(thread);
            }
        }
        Step::TimedLock(mutex, time, register) => {
            let attempt = attempt(step, *time, &mut next, thread);
            if attempt == Attempt::Takes {
                next.owners[*mutex] = Some(thread);
            }
            next.registers[thread][*register] = i32::from(attempt == Attempt::IsLate);
        }
        Step::Unlock(mutex) => next.owners[*mutex] = None,
        Step::LockShared(writes) => {
            if state.is_written || *writes && state.readers > 0 {
                return Next::Blocked;
            }
            next.is_written = *writes;
            next.readers += usize::from(!writes);
        }
        Step::TryLockShared(register) => {
            let is_free = !state.is_written && state.readers == 0;
            own[*register] = i32::from(!is_free);
            next.is_written |= is_free;
        }
        Step::UnlockShared(true) => next.is_written = false,
        Step::UnlockShared(false) => next.readers -= 1,
        Step::EnterOnce(end) => match state.once {
            Once::New => next.once = Once::Runs,
            Once::Runs => return Next::Blocked,
            Once::Done => next.places[thread] = *end,
        },
        Step::LeaveOnce => next.once = Once::Done,
        Step::Wait(time) => {
            next.owners[0] = None;
            next.waiters.push_back(thread);
            next.timed_out[thread] = false;
            let deadline = time.map_or(NEVER, |time| state.now + time);
            next.rests[thread] = Rest::Waits(deadline);
        }
        Step::Relock(register) => {
            if state.owners[0].is_some() {
                return Next::Blocked;
            }
            next.owners[0] = Some(thread);
            if let Some(register) = register {
                own[*register] = i32::from(state.timed_out[thread]);
            }
            next.timed_out[thread] = false;
        }
        Step::Wake(all) => {
            let count = if *all { state.waiters.len() } else { 1 };
            for _ in 0..count {
                if let Some(waiter) = next.waiters.pop_front() {
                    next.rests[waiter] = Rest::Runs;
                }
            }
        }
        Step::Post(semaphore) => next.semaphores[*semaphore] += 1,
        Step::Take(semaphore) => {
            if state.semaphores[*semaphore] == 0 {
                return Next::Blocked;
            }
            next.semaphores[*semaphore] -= 1;
        }
        Step::TryTake(semaphore, register) => {
            own[*register] = i32::from(state.semaphores[*semaphore] == 0);
            next.semaphores[*semaphore] -= u32::from(state.semaphores[*semaphore] > 0);
        }
        Step::TimedTake(semaphore, time, register) => {
            let attempt = attempt(step, *time, &mut next, thread);
            next.semaphores[*semaphore] -= u32::from(attempt == Attempt::Takes);
            next.registers[thread][*register] = i32::from(attempt == Attempt::IsLate);
        }
        Step::Meet => match state.meeting {
            None => {
                next.meeting = Some(thread);
                next.rests[thread] = Rest::Waits(NEVER);
            }
            Some(other) => {
                next.meeting = None;
                next.rests[other] = Rest::Runs;
            }
        },
        Step::Park(time, end) => {
            next.timed_out[thread] = false;
            if std::mem::take(&mut next.is_unparked[thread]) {
                next.places[thread] = *end;
            } else {
                let deadline = time.map_or(NEVER, |time| state.now + time);
                next.rests[thread] = Rest::Waits(deadline);
            }
        }
        Step::Unparked => (next.is_unparked[thread], next.timed_out[thread]) = (false, false),
        Step::Unpark(other) => {
            next.is_unparked[*other] = true;
            let is_parked = matches!(state.rests[*other], Rest::Waits(_));
            let place = steps[*other].get(state.places[*other]);
            if is_parked && matches!(place, Some(Step::Unparked)) {
                next.rests[*other] = Rest::Runs;
            }
        }
        Step::Send(value) => {
            if program
                .capacity
                .is_some_and(|capacity| state.sent.len() >= capacity)
            {
                return Next::Blocked;
            }
            next.sent.push_back(*value);
        }
        Step::Receive(register) => match next.sent.pop_front() {
            Some(value) => own[*register] = value,
            None => return Next::Blocked,
        },
        Step::TryReceive(register) => own[*register] = next.sent.pop_front().unwrap_or(-1),
        Step::TimedReceive(time, register) => {
            // Here, who was late does look again.
            if attempt(step, *time, &mut next, thread) != Attempt::Waits {
                next.registers[thread][*register] = next.sent.pop_front().unwrap_or(-1);
            }
        }
        Step::Sleep(time) => next.rests[thread] = Rest::Sleeps(state.now + time),
        Step::Elapsed(register) => own[*register] = state.now as i32,
        Step::Spawn(other) => next.rests[*other] = Rest::Runs,
        Step::Join(other) => {
            if state.rests[*other] != Rest::Done {
                return Next::Blocked;
            }
        }
        Step::Print(text) => next.printed.push_str(text),
        Step::PrintAll => {
            let all = next
                .registers
                .iter()
                .map(|registers| values(&registers[..KEPT]));
            let mut text: String = all.collect();
            text += &values(&next.variables[..program.variables.len()]);
            next.printed.push_str(&text);
        }
        Step::PrintOwn => {
            let text = values(&own[..KEPT]);
            next.printed.push_str(&text);
        }
        Step::Exit => return Next::End(next.printed),
        Step::IfNotZero(..) | Step::Jump(_) | Step::Nothing => {}
    }
    settle(steps, &mut next, thread);
    Next::State(Box::new(next))
}

/// Makes the steps that belong to the one before.
fn settle(steps: &[Vec<Step>], state: &mut State, thread: usize) {
    // A sleeper's local steps come when it wakes, and make no difference before.
    while let Some(step) = steps[thread]
        .get(state.places[thread])
        .filter(|step| step.is_local())
    {
        state.places[thread] = match step {
            Step::Jump(place) => *place,
            Step::IfNotZero(register, place) if state.registers[thread][*register] != 0 => *place,
            _ => state.places[thread] + 1,
        };
    }
}

/// A line of numbers.
fn values(values: &[i32]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{}\n", words.join(" "))
}
