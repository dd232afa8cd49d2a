//! Small concurrent programs, drawn at random.
//!
//! A program has two or three threads, the first of which starts another one, does something itself,
//! waits for it or does not, and prints what it knows. Every statement is one or a few atomic steps,
//! whose meaning [`super::interpreter`] gives and [`super::print_c`] and [`super::print_rust`] spell out.

/// How the accesses to a variable are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// As any other variable: racing accesses are taken for relaxed ones.
    Plain,
    /// Volatile.
    Volatile,
    /// Atomic.
    Atomic,
}

/// Where the hint of a loop that waits stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// There is none.
    None,
    /// Before each look.
    Before,
    /// After each look that was too early.
    After,
}

/// A statement of a thread. Variables, mutexes, semaphores, and registers go by their numbers; all
/// mutexes but the first are used without the condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `register = variable`.
    Load(usize, usize),
    /// `variable = constant`.
    Store(usize, i32),
    /// `register = byte of variable`; the lowest byte has the number 0.
    LoadByte(usize, usize, usize),
    /// `byte of variable = constant`.
    StoreByte(usize, usize, i32),
    /// `register = variable; variable = register + 1`.
    Increment(usize, usize),
    /// The same in one step, for an atomic variable.
    FetchAdd(usize, usize),
    /// The same by a loop of compare and exchange, for an atomic variable.
    ExchangeLoop(usize, usize),
    /// `register = variable; if register == first constant { variable = second constant }` in one
    /// step, for an atomic variable.
    CompareExchange(usize, i32, i32, usize),
    /// Holds a mutex while it executes these.
    Locked(usize, Vec<Statement>),
    /// The same if it is free; the register says whether it was not.
    TryLocked(usize, usize, Vec<Statement>),
    /// The same if it gets it within so many milliseconds; the register says whether it did not.
    TimedLocked(usize, u32, usize, Vec<Statement>),
    /// Holds the reader-writer lock as one of its readers.
    Reading(Vec<Statement>),
    /// Holds the reader-writer lock as its writer.
    Writing(Vec<Statement>),
    /// The same if it is free; the register says whether it was not.
    TryWriting(usize, Vec<Statement>),
    /// Holds a lock that is an atomic variable.
    SpinLocked(Hint, Vec<Statement>),
    /// Executes these if no thread has, and waits for the thread that does.
    Once(Vec<Statement>),
    /// With the first mutex held: waits for the condition, once, if the variable is 0.
    WaitIfZero(usize),
    /// The same as long as it is 0.
    WaitWhileZero(usize),
    /// The same once, for so many milliseconds at most; the register says whether the time ran out.
    WaitForAWhile(usize, u32, usize),
    /// Wakes one of those who wait for the condition, or all of them.
    Wake(bool),
    /// Adds one to a semaphore.
    Post(usize),
    /// Takes one from a semaphore.
    Take(usize),
    /// The same if there is one; the register says whether there was not.
    TryTake(usize, usize),
    /// The same if there is one within so many milliseconds.
    TimedTake(usize, u32, usize),
    /// Waits until two threads wait here.
    Meet,
    /// Waits to be unparked, for so many milliseconds at most, if at all limited.
    Park(Option<u32>),
    /// Unparks a thread.
    Unpark(usize),
    /// Sends a number.
    Send(i32),
    /// Receives a number.
    Receive(usize),
    /// The same if there is one.
    TryReceive(usize),
    /// The same if there is one within so many milliseconds.
    TimedReceive(u32, usize),
    /// Sleeps for so many milliseconds.
    Sleep(u32),
    /// `register = milliseconds since the start`.
    Elapsed(usize),
    /// Looks at a variable until it is not 0.
    Spin(usize, Hint),
    /// Looks at a variable so many times at most, until it is not 0; the register keeps the last value.
    SpinAtMost(usize, u32, usize, Hint),
    /// Gives way.
    Yield,
    /// Stores a constant when the thread ends, by the destructor of a variable of the thread.
    StoreAtEnd(usize, i32),
    /// Prints something and ends the whole program.
    Exit,
}

impl Statement {
    fn unparks(&self, thread: usize) -> bool {
        match self {
            Self::Unpark(other) => *other == thread,
            Self::Locked(_, inner)
            | Self::TryLocked(_, _, inner)
            | Self::TimedLocked(_, _, _, inner)
            | Self::Reading(inner)
            | Self::Writing(inner)
            | Self::TryWriting(_, inner)
            | Self::SpinLocked(_, inner)
            | Self::Once(inner) => inner.iter().any(|statement| statement.unparks(thread)),
            _ => false,
        }
    }
}

/// How a program ends, unless a thread ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Each thread waits for those that it started, and the first one prints what all found.
    Joins,
    /// The first thread prints what it found, whatever the others do.
    Returns,
    /// Each thread prints what it found, and the last one ends the program.
    Leaves,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its variables, all 0 at first.
    pub variables: Vec<Access>,
    /// What each thread does.
    pub threads: Vec<Vec<Statement>>,
    /// For each thread but the first, the one that starts it, and before which of its statements.
    pub starts: Vec<(usize, usize)>,
    /// How it ends.
    pub ending: Ending,
    /// How many numbers there may be that were sent and not received.
    pub capacity: Option<usize>,
    /// The only thread that receives.
    pub receiver: usize,
}

impl Program {
    /// The threads that this one starts, each with the number of the statement before which it does.
    pub fn started_by(&self, parent: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let starts = self.starts.iter().enumerate();
        let starts = starts.filter(move |(_, (by, _))| *by == parent);
        starts.map(|(index, (_, at))| (index + 1, *at))
    }
}

/// Number of mutexes.
pub const MUTEXES: usize = 2;
/// Number of semaphores.
pub const SEMAPHORES: usize = 2;
/// Registers of each thread that are printed.
pub const KEPT: usize = 8;

/// The language of programs: each has statements that the other does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C with pthreads.
    C,
    /// Rust with std.
    Rust,
}

/// A generator of numbers: SplitMix64.
pub struct Rng(u64);

impl Rng {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// What a thread has used so far while it is drawn.
struct Draft<'a> {
    rng: &'a mut Rng,
    variables: &'a [Access],
    language: Language,
    thread: usize,
    threads: usize,
    receiver: usize,
    registers: usize,
    /// The statement is inside of another one, which holds something.
    is_inside: bool,
    /// It stores something when it ends.
    has_end: bool,
    /// The longest time so far, a power of two. Most times are new, so that few deadlines are equal.
    longest_time: &'a mut u32,
}

impl Program {
    /// Draws a program.
    pub fn draw(rng: &mut Rng, language: Language) -> Self {
        let kinds = [Access::Plain, Access::Volatile, Access::Atomic];
        let count = 1 + rng.below(2);
        let variables: Vec<Access> = (0..count).map(|_| kinds[rng.below(kinds.len())]).collect();
        let others = 1 + usize::from(rng.one_in(3));
        let receiver = rng.below(others + 1);
        let mut longest_time = 1;
        let threads = (0..=others).map(|thread| {
            let mut draft = Draft {
                rng,
                variables: &variables,
                language,
                thread,
                threads: others + 1,
                receiver,
                registers: 0,
                is_inside: false,
                has_end: false,
                longest_time: &mut longest_time,
            };
            let most = match (others, thread) {
                (1, 0) => 3,
                (1, _) => 4,
                (_, 0) => 2,
                _ => 3,
            };
            let count = draft.rng.below(most + 1).max(usize::from(thread > 0));
            (0..count).map(|_| draft.statement()).collect()
        });
        let threads: Vec<Vec<Statement>> = threads.collect();
        let starts = (1..=others).map(|thread| {
            let by = usize::from(thread == 2 && rng.one_in(3));
            let is_late = rng.one_in(4);
            // Only a thread that has been started can be unparked.
            if threads[0].iter().any(|statement| statement.unparks(thread)) {
                return (0, 0);
            }
            (
                by,
                if is_late {
                    rng.below(threads[by].len() + 1)
                } else {
                    0
                },
            )
        });
        let starts = starts.collect();
        let ending = match rng.below(8) {
            0 | 1 => Ending::Returns,
            2 if language == Language::C => Ending::Leaves,
            _ => Ending::Joins,
        };
        let capacity = rng.one_in(2).then_some(1);
        Self {
            variables,
            threads,
            starts,
            ending,
            capacity,
            receiver,
        }
    }
}

impl Draft<'_> {
    fn variable(&mut self) -> usize {
        self.rng.below(self.variables.len())
    }

    fn register(&mut self) -> usize {
        self.registers += 1;
        (self.registers - 1) % KEPT
    }

    fn time(&mut self) -> u32 {
        if *self.longest_time == 1 || !self.rng.one_in(4) {
            *self.longest_time *= 2;
        }
        *self.longest_time
    }

    fn hint(&mut self) -> Hint {
        [Hint::None, Hint::Before, Hint::After][self.rng.below(3)]
    }

    fn access(&mut self) -> Statement {
        let variable = self.variable();
        let is_atomic = self.variables[variable] == Access::Atomic;
        match self.rng.below(6) {
            0 => Statement::Load(variable, self.register()),
            1 => Statement::Store(variable, 1 + self.rng.below(2) as i32),
            2 if is_atomic => self.read_modify_write(variable),
            2 | 3 => Statement::Increment(variable, self.register()),
            4 if !is_atomic => self.byte(variable),
            4 => self.read_modify_write(variable),
            _ => Statement::Store(variable, 1),
        }
    }

    fn read_modify_write(&mut self, variable: usize) -> Statement {
        match self.rng.below(3) {
            0 => Statement::ExchangeLoop(variable, self.register()),
            1 => {
                let expected = self.rng.below(2) as i32;
                Statement::CompareExchange(variable, expected, 3, self.register())
            }
            _ => Statement::FetchAdd(variable, self.register()),
        }
    }

    fn byte(&mut self, variable: usize) -> Statement {
        let byte = self.rng.below(2);
        match self.rng.below(2) {
            0 => Statement::LoadByte(variable, byte, self.register()),
            _ => Statement::StoreByte(variable, byte, 4),
        }
    }

    fn statement(&mut self) -> Statement {
        let outermost = !self.is_inside;
        match self.rng.below(24) {
            0 | 1 if outermost => self.locked(),
            2 if outermost => self.waiting(),
            3 => Statement::Wake(self.rng.one_in(2)),
            4 if outermost => Statement::Sleep(self.time()),
            5 if outermost => Statement::Spin(self.variable(), self.hint()),
            6 => {
                let (variable, times) = (self.variable(), 1 + self.rng.below(5) as u32);
                Statement::SpinAtMost(variable, times, self.register(), self.hint())
            }
            7 => Statement::Yield,
            8 if outermost && self.rng.one_in(3) => Statement::Exit,
            9 if outermost => self.reading_or_writing(),
            10 if outermost => Statement::SpinLocked(self.hint(), self.inside()),
            11 if outermost => Statement::Once(self.inside()),
            12..=14 if self.language == Language::C => self.semaphore(),
            12 => self.parking(),
            13 | 14 => self.message(),
            15 if outermost && self.rng.one_in(2) => Statement::Meet,
            16 if self.rng.one_in(2) => Statement::Elapsed(self.register()),
            17 if self.thread > 0 && outermost && !self.has_end => {
                self.has_end = true;
                Statement::StoreAtEnd(self.variable(), 5)
            }
            _ => self.access(),
        }
    }

    /// What is done while something is held.
    fn inside(&mut self) -> Vec<Statement> {
        let was_inside = std::mem::replace(&mut self.is_inside, true);
        let count = 1 + self.rng.below(2);
        let statements = (0..count).map(|_| self.statement()).collect();
        self.is_inside = was_inside;
        statements
    }

    fn locked(&mut self) -> Statement {
        let mutex = self.rng.below(MUTEXES);
        match self.rng.below(6) {
            0 => Statement::TryLocked(mutex, self.register(), self.inside()),
            1 if self.language == Language::C => {
                let (time, register) = (self.time(), self.register());
                Statement::TimedLocked(mutex, time, register, self.inside())
            }
            2 => {
                let inner = Statement::Locked(1 - mutex, self.inside());
                Statement::Locked(mutex, vec![inner, self.access()])
            }
            _ => Statement::Locked(mutex, self.inside()),
        }
    }

    fn reading_or_writing(&mut self) -> Statement {
        match self.rng.below(5) {
            0 | 1 => Statement::Reading(self.inside()),
            2 | 3 => Statement::Writing(self.inside()),
            _ => Statement::TryWriting(self.register(), self.inside()),
        }
    }

    /// A wait for the condition, which belongs to the first mutex.
    fn waiting(&mut self) -> Statement {
        let variable = self.variable();
        let wait = match self.rng.below(4) {
            0 | 1 => Statement::WaitForAWhile(variable, self.time(), self.register()),
            2 => Statement::WaitWhileZero(variable),
            _ => Statement::WaitIfZero(variable),
        };
        Statement::Locked(0, vec![wait, self.access()])
    }

    fn semaphore(&mut self) -> Statement {
        let semaphore = self.rng.below(SEMAPHORES);
        match self.rng.below(6) {
            0 => Statement::TryTake(semaphore, self.register()),
            1 if !self.is_inside => {
                let time = self.time();
                Statement::TimedTake(semaphore, time, self.register())
            }
            2 if !self.is_inside => Statement::Take(semaphore),
            _ => Statement::Post(semaphore),
        }
    }

    /// The first thread unparks others, which unpark it.
    fn parking(&mut self) -> Statement {
        match self.rng.below(4) {
            0 if !self.is_inside => Statement::Park(None),
            1 if !self.is_inside => Statement::Park(Some(self.time())),
            _ if self.thread > 0 => Statement::Unpark(0),
            _ => Statement::Unpark(1 + self.rng.below(self.threads - 1)),
        }
    }

    fn message(&mut self) -> Statement {
        if self.thread != self.receiver {
            return Statement::Send(1 + self.thread as i32);
        }
        match self.rng.below(3) {
            0 if !self.is_inside => Statement::Receive(self.register()),
            1 if !self.is_inside => Statement::TimedReceive(self.time(), self.register()),
            _ => Statement::TryReceive(self.register()),
        }
    }
}
