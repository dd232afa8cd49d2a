//! The engines, by name: prediction of violations, and what it is compared with.

use std::fmt;
use std::time::Instant;

use super::{Prediction, asset, blocks, monitored, races, random};
use crate::test_run::{Ended, TestRun};

type Drive = fn(&mut TestRun<'_>, Prediction) -> Ended<()>;

/// What finds violations.
#[derive(Clone, Copy)]
pub struct Engine {
    name: &'static str,
    about: &'static str,
    drive: Drive,
}

/// All of them; the first one is the default.
const ALL: [Engine; 5] = [
    Engine {
        name: "asset",
        about: "predicts violations of atomic sets and deadlocks, and directs executions to them",
        drive: asset::hunt,
    },
    Engine {
        name: "monitor",
        about: "watches executions under random schedules",
        drive: monitored::watch,
    },
    Engine {
        name: "race",
        about: "predicts races, and brings the two accesses next to each other",
        drive: races::hunt,
    },
    Engine {
        name: "lock-pattern",
        about: "takes locks away that a thread gives up and acquires again while it holds another one",
        drive: blocks::hunt,
    },
    Engine {
        name: "random",
        about: "runs under random schedules, and watches what fails",
        drive: random::run,
    },
];

impl Engine {
    /// All engines.
    pub const fn all() -> &'static [Self] {
        &ALL
    }

    /// The engine of this name.
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|engine| engine.name == name)
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What it does, in a few words.
    pub const fn about(self) -> &'static str {
        self.about
    }

    /// Lets the engine work until nothing is left or the time is over.
    pub(crate) fn drive(self, test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
        let (start, confirming) = (Instant::now(), test.course.confirming);
        if test.course.tally.explored > 0 {
            test.allowance.explored();
        }
        let ended = (self.drive)(test, prediction);
        let confirming = test.course.confirming.saturating_sub(confirming);
        test.course.hunt.spent += start.elapsed().saturating_sub(confirming);
        ended
    }
}

impl Default for Engine {
    fn default() -> Self {
        ALL[0]
    }
}

impl fmt::Debug for Engine {
    // The address of the function is no part of it: options are compared by this text.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Engine {}

#[cfg(test)]
mod tests {
    use super::Engine;

    #[test]
    fn engines_are_found_by_their_names() {
        for engine in Engine::all() {
            assert_eq!(Engine::named(engine.name()), Some(*engine));
        }
        assert_eq!(Engine::named("none"), None);
        assert_eq!(format!("{:?}", Engine::default()), "asset");
    }
}
