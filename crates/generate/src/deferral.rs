//! Whether those that only look do the work that others left: if a cache has too many entries, some are evicted when
//! somebody comes by, and nobody promises when.
//!
//! Results bind nobody then, so it has to be known before the first test. It shows in few states, of small objects with
//! much in them, so that [`effects`], which looks at the simplest object, may not see it.

use raddle_schedule::rng::Rng;
use raddle_trace::runner::{Runner, RunnerError};

use crate::effects::{self, LOOKING, State};
use crate::program::Program;

/// States in which methods are looked at.
const STATES: usize = 100;
/// More calls than the first and fewer than both together make a state.
const PREFIX: (u64, u64) = (1, 7);

/// Finds out what methods that only look change. Nothing is found where there are none.
///
/// # Errors
///
/// If the program cannot be run.
pub fn find(
    program: &mut Program,
    runner: &mut dyn Runner,
    rng: &mut Rng,
) -> Result<(), RunnerError> {
    let looking = program.numbers(|method| effects::is_quiet(method) && method.only_looks());
    let is_noticed = |one: &u16| {
        looking
            .iter()
            .any(|looking| program.affects(*one, *looking))
    };
    let mut noticed = program.numbers(effects::is_quiet);
    noticed.retain(is_noticed);
    if looking.is_empty() || noticed.is_empty() {
        return Ok(());
    }
    // Each with several arguments.
    let group: Vec<u16> = looking.iter().copied().cycle().take(LOOKING).collect();
    for number in 0..STATES {
        if program.defers_work() {
            break;
        }
        // What others take out again is not much: every second state is made by one method alone.
        let alone = number / 2 % noticed.len();
        let makers = match number % 2 {
            0 => &noticed[alone..=alone],
            _ => &noticed[..],
        };
        let count = PREFIX.0 + rng.below(PREFIX.1);
        let state = State::new(program, makers, count, rng).of_any(program, rng);
        effects::compare(program, &state, &group, &looking, runner, rng)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use raddle_schedule::rng::Rng;

    use super::find;
    use crate::effects;
    use crate::effects::tests::{Door, GET, program};
    use crate::program::Method;

    #[test]
    fn work_that_is_only_done_in_some_objects_is_seen() {
        for (constructors, defers) in [(vec![0], false), (vec![0, 1], true)] {
            let mut program = program();
            let get = Method {
                name: "get".to_owned(),
                ..Method::default()
            };
            program.methods.insert(GET, get);
            program.constructors = constructors;
            let rng = &mut Rng::new(1);
            effects::find(&mut program, &mut Door, rng).unwrap();
            assert!(
                !program.defers_work(),
                "the simplest object has no such work"
            );
            find(&mut program, &mut Door, rng).unwrap();
            assert_eq!(program.defers_work(), defers);
        }
    }
}
