//! Whether the exhaustive search sees exactly what can happen: small random programs, in C and in
//! Rust, whose outcomes an independent interpreter enumerates.

mod interpreter;
mod print_c;
mod print_rust;
mod program;

pub use interpreter::{Outcomes, outcomes};
pub use print_c::source as c_source;
pub use print_rust::source as rust_source;
pub use program::{Language, Program, Rng};

/// Of so many programs one may come to a deadlock, which is a finding, and takes long to confirm.
const DEADLOCKS: usize = 16;

/// Draws programs that end, each with its outcomes. The same number of a seed is always the same one.
pub fn draw(seed: u64, count: usize, language: Language) -> Vec<(Program, Outcomes)> {
    let mut rng = Rng::new(seed);
    let mut programs = Vec::new();
    while programs.len() < count {
        let program = Program::draw(&mut rng, language);
        let outcomes = outcomes(&program);
        let may_end = !outcomes.printed.is_empty();
        let is_quick = outcomes.deadlocks.is_empty() || programs.len() % DEADLOCKS == 0;
        if may_end && is_quick && !outcomes.spins && !outcomes.is_too_large {
            programs.push((program, outcomes));
        }
    }
    programs
}
