//! Small concurrent programs, drawn at random.
//!
//! A program has two or three threads, the first of which starts the others, does something itself,
//! waits for them or does not, and prints what it knows. Every statement is one or a few atomic steps,
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

/// A statement of a thread. Variables, mutexes and registers go by their numbers; all mutexes but the
/// first are used without the condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `register = variable`.
    Load(usize, usize),
    /// `variable = constant`.
    Store(usize, i32),
    /// `register = variable; variable = register + 1`.
    Increment(usize, usize),
    /// The same in one step, for an atomic variable.
    FetchAdd(usize, usize),
    /// Holds a mutex while it executes these.
    Locked(usize, Vec<Statement>),
    /// With the first mutex held: waits for the condition, once, if the variable is 0.
    WaitIfZero(usize),
    /// The same for so many milliseconds at most; the register says whether the time ran out.
    WaitForAWhile(usize, u32, usize),
    /// Wakes one of those who wait for the condition, or all of them.
    Wake(bool),
    /// Sleeps for so many milliseconds.
    Sleep(u32),
    /// Looks at a variable until it is not 0.
    Spin(usize, Hint),
    /// Looks at a variable so many times at most, until it is not 0; the register keeps the last value.
    SpinAtMost(usize, u32, usize, Hint),
    /// Gives way.
    Yield,
    /// Prints something and ends the whole program.
    Exit,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its variables, all 0 at first.
    pub variables: Vec<Access>,
    /// What each thread does; the first one starts the others.
    pub threads: Vec<Vec<Statement>>,
    /// Whether the first thread waits for the others, and prints what they found.
    pub joins: bool,
}

/// Number of mutexes.
pub const MUTEXES: usize = 2;
/// Registers of each thread that are printed.
pub const KEPT: usize = 8;

/// What may occur in programs.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Sleeping and waiting for a while.
    pub time: bool,
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
}

/// What a thread has used so far while it is drawn.
struct Draft<'a> {
    rng: &'a mut Rng,
    variables: &'a [Access],
    features: Features,
    registers: usize,
    /// Times are powers of two, each used once, so that no two deadlines are equal.
    next_time: &'a mut u32,
}

impl Program {
    /// Draws a program.
    pub fn draw(rng: &mut Rng, features: Features) -> Self {
        let kinds = [Access::Plain, Access::Volatile, Access::Atomic];
        let count = 1 + rng.below(2);
        let variables: Vec<Access> = (0..count).map(|_| kinds[rng.below(kinds.len())]).collect();
        let others = 1 + usize::from(rng.below(3) == 0);
        let mut next_time = 1;
        let threads = (0..=others).map(|thread| {
            let mut draft = Draft {
                rng,
                variables: &variables,
                features,
                registers: 0,
                next_time: &mut next_time,
            };
            let most = match (others, thread) {
                (1, 0) => 3,
                (1, _) => 4,
                (_, 0) => 2,
                _ => 3,
            };
            let count = draft.rng.below(most + 1).max(usize::from(thread > 0));
            (0..count).map(|_| draft.statement(true)).collect()
        });
        let threads = threads.collect();
        Self {
            variables,
            threads,
            joins: rng.below(4) != 0,
        }
    }
}

impl Draft<'_> {
    fn variable(&mut self) -> usize {
        self.rng.below(self.variables.len())
    }

    fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    fn time(&mut self) -> u32 {
        *self.next_time *= 2;
        *self.next_time
    }

    fn hint(&mut self) -> Hint {
        [Hint::None, Hint::Before, Hint::After][self.rng.below(3)]
    }

    fn access(&mut self) -> Statement {
        let variable = self.variable();
        match self.rng.below(4) {
            0 => Statement::Load(variable, self.register()),
            1 => Statement::Store(variable, 1 + self.rng.below(2) as i32),
            _ if self.variables[variable] == Access::Atomic && self.rng.below(2) == 0 => {
                Statement::FetchAdd(variable, self.register())
            }
            2 => Statement::Increment(variable, self.register()),
            _ => Statement::Store(variable, 1),
        }
    }

    fn statement(&mut self, outermost: bool) -> Statement {
        match self.rng.below(16) {
            8 if outermost => self.locked(),
            9 if outermost => self.waiting(),
            10 => Statement::Wake(self.rng.below(2) == 0),
            11 if self.features.time && outermost => Statement::Sleep(self.time()),
            12 if outermost => Statement::Spin(self.variable(), self.hint()),
            13 => {
                let (variable, times) = (self.variable(), 1 + self.rng.below(2) as u32);
                Statement::SpinAtMost(variable, times, self.register(), self.hint())
            }
            14 => Statement::Yield,
            15 if outermost && self.rng.below(3) == 0 => Statement::Exit,
            _ => self.access(),
        }
    }

    fn locked(&mut self) -> Statement {
        let mutex = self.rng.below(MUTEXES);
        let count = 1 + self.rng.below(2);
        Statement::Locked(mutex, (0..count).map(|_| self.statement(false)).collect())
    }

    /// A wait for the condition, which belongs to the first mutex.
    fn waiting(&mut self) -> Statement {
        let variable = self.variable();
        let wait = match self.features.time && self.rng.below(2) == 0 {
            true => Statement::WaitForAWhile(variable, self.time(), self.register()),
            false => Statement::WaitIfZero(variable),
        };
        Statement::Locked(0, vec![wait, self.access()])
    }
}
