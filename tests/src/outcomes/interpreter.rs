//! All outcomes of a program, by trying every step of every thread in every state: an independent
//! definition of what the exhaustive search has to see.
//!
//! Steps are sequentially consistent. A condition wakes its waiters in the order in which they came, and
//! nobody without a reason. Time passes to the earliest deadline at any moment, whoever could still run.

use std::collections::{BTreeSet, HashSet, VecDeque};

use super::program::{Hint, KEPT, MUTEXES, Program, Statement};

/// One atomic step, after a statement was taken apart.
#[derive(Clone, Debug)]
enum Step {
    Load(usize, usize),
    Store(usize, i32),
    /// The register's value plus one.
    StoreNext(usize, usize),
    FetchAdd(usize, usize),
    Lock(usize),
    Unlock(usize),
    /// Goes to the place if the register is not 0.
    IfNotZero(usize, usize),
    /// Unlocks the first mutex and waits, for so long if at all limited.
    Wait(Option<u32>),
    /// Takes the first mutex again; the register says whether the time ran out.
    Relock(Option<usize>),
    Wake(bool),
    Sleep(u32),
    Jump(usize),
    /// A point at which nothing happens.
    Nothing,
    Spawn(usize),
    Join(usize),
    Print(String),
    /// Prints all registers and variables.
    PrintAll,
    /// Prints the registers of the first thread.
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
    /// It waits for the condition, until a time.
    Waits(u32),
    /// It sleeps until a time.
    Sleeps(u32),
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
    variables: Vec<i32>,
    owners: [Option<usize>; MUTEXES],
    waiters: VecDeque<usize>,
    now: u32,
    printed: String,
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
/// Registers of each thread, and one for what is not kept.
const REGISTERS: usize = KEPT + 1;

fn compile(program: &Program) -> Vec<Vec<Step>> {
    let mut threads = Vec::new();
    for (thread, statements) in program.threads.iter().enumerate() {
        let mut steps = Vec::new();
        if thread == 0 {
            steps.extend((1..program.threads.len()).map(Step::Spawn));
        }
        for statement in statements {
            expand(statement, thread, &mut steps);
        }
        if thread == 0 {
            if program.joins {
                steps.extend((1..program.threads.len()).map(Step::Join));
                steps.push(Step::PrintAll);
            } else {
                steps.push(Step::PrintOwn);
            }
            steps.push(Step::Exit);
        }
        threads.push(steps);
    }
    threads
}

fn expand(statement: &Statement, thread: usize, steps: &mut Vec<Step>) {
    const SCRATCH: usize = KEPT;
    match statement {
        Statement::Load(variable, register) => steps.push(Step::Load(*variable, *register)),
        Statement::Store(variable, value) => steps.push(Step::Store(*variable, *value)),
        Statement::Increment(variable, register) => {
            steps.push(Step::Load(*variable, *register));
            steps.push(Step::StoreNext(*variable, *register));
        }
        Statement::FetchAdd(variable, register) => steps.push(Step::FetchAdd(*variable, *register)),
        Statement::Locked(mutex, inner) => {
            steps.push(Step::Lock(*mutex));
            for statement in inner {
                expand(statement, thread, steps);
            }
            steps.push(Step::Unlock(*mutex));
        }
        Statement::WaitIfZero(variable) => {
            steps.push(Step::Load(*variable, SCRATCH));
            steps.push(Step::IfNotZero(SCRATCH, steps.len() + 3));
            steps.push(Step::Wait(None));
            steps.push(Step::Relock(None));
        }
        Statement::WaitForAWhile(variable, time, register) => {
            steps.push(Step::Load(*variable, SCRATCH));
            steps.push(Step::IfNotZero(SCRATCH, steps.len() + 3));
            steps.push(Step::Wait(Some(*time)));
            steps.push(Step::Relock(Some(*register)));
        }
        Statement::Wake(all) => steps.push(Step::Wake(*all)),
        Statement::Sleep(time) => steps.push(Step::Sleep(*time)),
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
        Statement::Yield => steps.push(Step::Nothing),
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
    State(State),
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
        registers: vec![vec![0; REGISTERS]; threads],
        rests,
        timed_out: vec![false; threads],
        variables: vec![0; program.variables.len()],
        owners: [None; MUTEXES],
        waiters: VecDeque::new(),
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
            match step(&steps, &state, thread) {
                Next::State(next) => {
                    runs = true;
                    visit(next, &mut is_stuck);
                }
                Next::End(printed) => {
                    (is_stuck, runs) = (false, true);
                    result.printed.insert(printed);
                }
                Next::Blocked => {}
            }
        }
        if let Some(next) = pass_time(&state) {
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

/// Time passes to the earliest deadline.
fn pass_time(state: &State) -> Option<State> {
    let deadlines = state.rests.iter().enumerate();
    let deadlines = deadlines.filter_map(|(thread, rest)| match rest {
        Rest::Waits(time) if *time != NEVER => Some((*time, thread)),
        Rest::Sleeps(time) => Some((*time, thread)),
        _ => None,
    });
    let (time, thread) = deadlines.min()?;
    let mut next = state.clone();
    next.now = next.now.max(time);
    next.timed_out[thread] = true;
    next.waiters.retain(|waiter| *waiter != thread);
    next.rests[thread] = Rest::Runs;
    Some(next)
}

fn step(steps: &[Vec<Step>], state: &State, thread: usize) -> Next {
    if state.rests[thread] != Rest::Runs {
        return Next::Blocked;
    }
    let mut next = state.clone();
    let Some(step) = steps[thread].get(state.places[thread]) else {
        next.rests[thread] = Rest::Done;
        return Next::State(next);
    };
    next.places[thread] += 1;
    match step {
        Step::Load(variable, register) => {
            next.registers[thread][*register] = state.variables[*variable];
        }
        Step::Store(variable, value) => next.variables[*variable] = *value,
        Step::StoreNext(variable, register) => {
            next.variables[*variable] = state.registers[thread][*register] + 1;
        }
        Step::FetchAdd(variable, register) => {
            next.registers[thread][*register] = state.variables[*variable];
            next.variables[*variable] += 1;
        }
        Step::Lock(mutex) => {
            if state.owners[*mutex].is_some() {
                return Next::Blocked;
            }
            next.owners[*mutex] = Some(thread);
        }
        Step::Unlock(mutex) => next.owners[*mutex] = None,
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
                next.registers[thread][*register] = i32::from(state.timed_out[thread]);
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
        Step::Sleep(time) => next.rests[thread] = Rest::Sleeps(state.now + time),
        Step::Spawn(other) => next.rests[*other] = Rest::Runs,
        Step::Join(other) => {
            if state.rests[*other] != Rest::Done {
                return Next::Blocked;
            }
        }
        Step::Print(text) => next.printed.push_str(text),
        Step::PrintAll => {
            let text = format!("{}{}", registers(&next, false), values(&next.variables));
            next.printed.push_str(&text);
        }
        Step::PrintOwn => {
            let text = registers(&next, true);
            next.printed.push_str(&text);
        }
        Step::Exit => return Next::End(next.printed),
        Step::IfNotZero(..) | Step::Jump(_) | Step::Nothing => {}
    }
    settle(steps, &mut next, thread);
    Next::State(next)
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

/// The registers of the first thread, or of all, as programs print them.
fn registers(state: &State, only_first: bool) -> String {
    let count = if only_first { 1 } else { state.registers.len() };
    let all = state.registers.iter().take(count);
    all.map(|registers| values(&registers[..KEPT])).collect()
}

/// A line of numbers.
fn values(values: &[i32]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{}\n", words.join(" "))
}
