//! The eleven problematic access patterns (the paper's table 1), as data.
//!
//! A pattern is a sequence of accesses of two units of work, `u` and `v`, in different threads,
//! to one or two locations of one atomic set. An execution in which such a sequence occurs is
//! equivalent to no execution in which the units come one after the other. Where the table of the
//! paper says "l is one of the two, and L-l the other", there are two rows of the same number.

use std::fmt;

/// Which unit of work does a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// The one that begins.
    U,
    /// The other one.
    V,
}

/// What a step does to its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// It reads it.
    Read,
    /// It writes it.
    Write,
}

/// One access of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Who.
    pub who: Who,
    /// What.
    pub slot: Slot,
    /// Which location: 0 or 1.
    pub location: usize,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Its number in the paper.
    pub number: u8,
    /// The accesses in their order.
    pub steps: &'static [Step],
    /// What goes wrong.
    pub meaning: &'static str,
}

impl Pattern {
    /// Whether it is about two locations.
    pub fn is_wide(&self) -> bool {
        self.steps.iter().any(|step| step.location == 1)
    }

    /// Whether the units take turns, so that each has a window for the other.
    pub fn alternates(&self) -> bool {
        self.steps.len() == 4 && self.steps[1].who != self.steps[2].who
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            let slot = if step.slot == Slot::Read { 'R' } else { 'W' };
            let who = if step.who == Who::U { 'u' } else { 'v' };
            write!(formatter, "{space}{slot}{who}(l{})", step.location + 1)?;
        }
        Ok(())
    }
}

macro_rules! patterns {
    ($($number:literal: $($slot:ident $who:ident $location:literal),+; $meaning:literal)*) => {
        /// All patterns.
        pub const ALL: &[Pattern] = &[$(Pattern {
            number: $number,
            steps: &[$(Step {
                who: patterns!(@who $who),
                slot: patterns!(@slot $slot),
                location: $location - 1,
            }),+],
            meaning: $meaning,
        }),*];
    };
    (@who u) => { Who::U };
    (@who v) => { Who::V };
    (@slot R) => { Slot::Read };
    (@slot W) => { Slot::Write };
}

patterns! {
    1: R u 1, W v 1, W u 1; "what was read is stale when it is updated"
    2: R u 1, W v 1, R u 1; "two reads of the same place give different values"
    3: W u 1, R v 1, W u 1; "a state in between is seen"
    4: W u 1, W v 1, R u 1; "what is read is not what was written last"
    5: W u 1, W v 1, W u 1; "what the other wrote is lost"
    6: W u 1, W v 1, W v 2, W u 2; "the two places are left in a state that does not fit together"
    6: W u 1, W v 2, W v 1, W u 2; "the two places are left in a state that does not fit together"
    7: W u 1, W v 2, W u 2, W v 1; "the two places are left in a state that does not fit together"
    8: W u 1, R v 1, R v 2, W u 2; "the state that is seen does not fit together"
    8: W u 1, R v 2, R v 1, W u 2; "the state that is seen does not fit together"
    9: R u 1, W v 1, W v 2, R u 2; "the state that is seen does not fit together"
    9: R u 1, W v 2, W v 1, R u 2; "the state that is seen does not fit together"
    10: R u 1, W v 2, R u 2, W v 1; "the state that is seen does not fit together"
    11: W u 1, R v 2, W u 2, R v 1; "the state that is seen does not fit together"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_eleven_and_each_row_is_another() {
        let numbers: BTreeSet<_> = ALL.iter().map(|pattern| pattern.number).collect();
        assert_eq!(numbers, (1..=11).collect());
        let rows: BTreeSet<_> = ALL.iter().map(ToString::to_string).collect();
        assert_eq!(rows.len(), ALL.len());
    }

    #[test]
    fn each_row_makes_a_cycle() {
        // In each, u has a conflict with v before and after one of v's: no serial order.
        for pattern in ALL {
            let conflicts = |from: Who| {
                let steps = pattern.steps;
                steps.iter().enumerate().any(|(index, first)| {
                    steps[index + 1..].iter().any(|second| {
                        first.who == from
                            && second.who != from
                            && first.location == second.location
                            && (first.slot == Slot::Write || second.slot == Slot::Write)
                    })
                })
            };
            assert!(conflicts(Who::U) && conflicts(Who::V), "{pattern}");
        }
    }

    #[test]
    fn those_that_alternate_are_known() {
        let alternating = ALL.iter().filter(|pattern| pattern.alternates());
        let numbers: Vec<_> = alternating.map(|pattern| pattern.number).collect();
        assert_eq!(numbers, [7, 10, 11]);
    }
}
