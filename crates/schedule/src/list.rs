//! The strategies by name. `parse` understands one, or several joined by `+` that take turns.

use crate::directed::Directed;
use crate::exhaustive::{Exhaustive, MAX_PREEMPTIONS};
use crate::pct::{MAX_DEPTH, Pct};
use crate::portfolio::Portfolio;
use crate::pos::Pos;
use crate::random::Random;
use crate::reads_from::ReadsFrom;
use crate::replay::Replay;
use crate::round_robin::RoundRobin;
use crate::serial::{Serial, WatchedSerial};
use crate::strategy::Strategy;
use crate::surw::Surw;
use crate::turns::Turns;
use crate::unit_order::UnitOrder;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use raddle_abi::plan::{EventAnchor, Rule, Switch, ThreadAnchor};

/// A given schedule, for the strategies that follow one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded<'a> {
    /// Names of the threads.
    pub threads: &'a [ThreadAnchor],
    /// The switches, in order.
    pub switches: &'a [Switch],
    /// The events of a directed plan.
    pub events: &'a [EventAnchor],
    /// What is said about them.
    pub rules: &'a [Rule],
}

/// One entry of the list.
pub struct Entry {
    /// The name as users write it.
    pub name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    new: New,
}

/// What a strategy takes in parentheses, and how it is made of that.
enum New {
    /// Nothing.
    Plain(fn(&Recorded<'_>) -> Box<dyn Strategy>),
    /// A number.
    Number {
        /// Smallest and largest value.
        range: (u32, u32),
        /// Value if the user gives none.
        default: u32,
        new: fn(u32) -> Box<dyn Strategy>,
    },
    /// Another strategy; without one, [`Serial`].
    Over(fn(Box<dyn Strategy>, &Recorded<'_>) -> Box<dyn Strategy>),
}

/// All strategies.
pub static ALL: &[Entry] = &[
    Entry {
        name: "portfolio",
        summary: "several of the following, and most of what shows something new",
        new: New::Plain(|_| Box::new(Portfolio::new())),
    },
    Entry {
        name: "random",
        summary: "any thread that can run, at every point",
        new: New::Plain(|_| Box::new(Random::new())),
    },
    Entry {
        name: "pct",
        summary: "random priorities with N-1 changes, for bugs of depth N",
        new: New::Number {
            range: (1, MAX_DEPTH),
            default: 3,
            new: |depth| Box::new(Pct::new(depth)),
        },
    },
    Entry {
        name: "pos",
        summary: "random priorities of operations, drawn anew where operations conflict",
        new: New::Plain(|_| Box::new(Pos::new())),
    },
    Entry {
        name: "surw",
        summary: "every order of the operations on a shared object equally likely",
        new: New::Plain(|_| Box::new(Surw::new())),
    },
    Entry {
        name: "reads-from",
        summary: "towards reads of writes that have not been seen yet",
        new: New::Plain(|_| Box::new(ReadsFrom::new())),
    },
    Entry {
        name: "exhaustive",
        summary: "everything that can happen with at most N preemptions",
        new: New::Number {
            range: (0, MAX_PREEMPTIONS),
            default: 2,
            new: |bound| Box::new(Exhaustive::new(bound)),
        },
    },
    Entry {
        name: "round-robin",
        summary: "each thread in turn, one point at a time",
        new: New::Plain(|_| Box::new(RoundRobin::new())),
    },
    Entry {
        name: "serial",
        summary: "each thread until it blocks; another strategy S learns from it",
        new: New::Over(|watcher, _| Box::new(WatchedSerial::new(watcher))),
    },
    Entry {
        name: "replay",
        summary: "a recorded schedule",
        new: New::Plain(|recorded| Box::new(Replay::new(recorded.threads, recorded.switches))),
    },
    Entry {
        name: "directed",
        summary: "a given order of events; another strategy S where it leaves a choice",
        new: New::Over(|base, given| {
            let directed = Directed::new(base, given.threads, given.events, given.rules);
            Box::new(directed)
        }),
    },
    Entry {
        name: "unit-order",
        summary: "two given units of work one after the other; another strategy S elsewhere",
        new: New::Over(|base, given| {
            let gathers = given.rules.is_empty();
            let ordered = UnitOrder::new(base, given.threads, given.events, gathers);
            Box::new(ordered)
        }),
    },
];

/// Why a strategy's text was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// There is no strategy of this name.
    Unknown(String),
    /// The strategy takes nothing in parentheses, or something else.
    Parameter(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => {
                write!(formatter, "there is no strategy `{text}`; choose from")?;
                for (index, entry) in ALL.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    let argument = match entry.new {
                        New::Plain(_) => "",
                        New::Number { .. } => "(N)",
                        New::Over(_) => "(S)",
                    };
                    write!(formatter, "{comma} {}{argument}", entry.name)?;
                }
                formatter.write_str(", or several joined by `+`")
            }
            Self::Parameter(text) => {
                write!(
                    formatter,
                    "what stands in parentheses of strategy `{text}` is wrong; "
                )?;
                let entry = ALL
                    .iter()
                    .find(|entry| text.split('(').next() == Some(entry.name));
                match entry.map(|entry| &entry.new) {
                    Some(New::Number {
                        range: (least, most),
                        ..
                    }) => write!(formatter, "give a number from {least} to {most}"),
                    Some(New::Over(_)) => formatter.write_str("give one strategy"),
                    Some(New::Plain(_)) | None => formatter.write_str("this strategy takes none"),
                }
            }
        }
    }
}

impl core::error::Error for ParseError {}

fn parse_one(text: &str, recorded: &Recorded<'_>) -> Result<Box<dyn Strategy>, ParseError> {
    let wrong = || ParseError::Parameter(text.to_string());
    let (name, argument) = match text.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or_else(wrong)?)),
        None => (text, None),
    };
    let entry = ALL
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| ParseError::Unknown(text.to_string()))?;
    match (&entry.new, argument) {
        (New::Plain(new), None) => Ok(new(recorded)),
        (New::Plain(_), Some(_)) => Err(wrong()),
        (New::Number { default, new, .. }, None) => Ok(new(*default)),
        (New::Number { range, new, .. }, Some(argument)) => {
            let number = argument.trim().parse().map_err(|_| wrong())?;
            if number < range.0 || number > range.1 {
                return Err(wrong());
            }
            Ok(new(number))
        }
        (New::Over(new), None) => Ok(new(Box::new(Serial), recorded)),
        (New::Over(new), Some(argument)) => {
            Ok(new(parse_one(argument.trim(), recorded)?, recorded))
        }
    }
}

/// The strategy that `text` describes: `random`, `pct(3)`, `random+pct(3)`, ...
///
/// # Errors
///
/// If a name is unknown or its number wrong.
pub fn parse(text: &str) -> Result<Box<dyn Strategy>, ParseError> {
    parse_recorded(text, &Recorded::default())
}

/// As [`parse`], with the schedule that `replay` follows.
///
/// # Errors
///
/// If a name is unknown or its number wrong.
pub fn parse_recorded(
    text: &str,
    recorded: &Recorded<'_>,
) -> Result<Box<dyn Strategy>, ParseError> {
    let mut strategies = Vec::new();
    for part in text.split('+') {
        strategies.push(parse_one(part.trim(), recorded)?);
    }
    match strategies.pop() {
        Some(only) if strategies.is_empty() => Ok(only),
        Some(last) => {
            strategies.push(last);
            Ok(Box::new(Turns::new(strategies)))
        }
        None => Err(ParseError::Unknown(text.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text).err().expect("an error").to_string()
    }

    #[test]
    fn every_strategy_of_the_list_can_be_named_and_combined() {
        for entry in ALL {
            assert!(parse(entry.name).is_ok());
            assert!(parse(&format!("{0} + {0}", entry.name)).is_ok());
        }
        assert!(parse("random+pct(3)").is_ok());
        assert!(parse("pct( 64 )").is_ok());
        assert!(parse("directed(pct(2))+pos").is_ok());
    }

    #[test]
    fn errors_say_what_to_write() {
        let unknown = "there is no strategy `chaos`; choose from portfolio, random, pct(N), pos, surw, reads-from, \
                       exhaustive(N), round-robin, serial(S), replay, directed(S), unit-order(S), or several joined by `+`";
        assert_eq!(error("chaos"), unknown);
        assert!(error("").starts_with("there is no strategy ``"));
        assert!(error("random+").starts_with("there is no strategy ``"));
        let range = "what stands in parentheses of strategy `pct(0)` is wrong; give a number \
                     from 1 to 64";
        assert_eq!(error("pct(0)"), range);
        assert!(error("pct(3").ends_with("from 1 to 64"));
        assert!(error("pct(x)").ends_with("from 1 to 64"));
        assert!(error("random(3)").ends_with("takes none"));
        assert!(error("directed(luck)").starts_with("there is no strategy `luck`"));
        assert!(error("directed(").ends_with("give one strategy"));
    }
}
