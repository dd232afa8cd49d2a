//! The strategies by name. `parse` understands one, or several joined by `+` that take turns.

use crate::pct::{MAX_DEPTH, Pct};
use crate::pos::Pos;
use crate::random::Random;
use crate::replay::Replay;
use crate::round_robin::RoundRobin;
use crate::serial::Serial;
use crate::strategy::Strategy;
use crate::turns::Turns;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use raddle_abi::plan::{Switch, ThreadAnchor};

/// A recorded schedule, for the strategies that follow one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded<'a> {
    /// Names of the threads.
    pub threads: &'a [ThreadAnchor],
    /// The switches, in order.
    pub switches: &'a [Switch],
}

/// One entry of the list.
pub struct Entry {
    /// The name as users write it.
    pub name: &'static str,
    /// What the number in parentheses means and its range, if there is one.
    pub parameter: Option<Parameter>,
    /// One line for `--help`.
    pub summary: &'static str,
    new: fn(u32, &Recorded<'_>) -> Box<dyn Strategy>,
}

/// The number that a strategy takes in parentheses.
pub struct Parameter {
    /// Smallest and largest value.
    pub range: (u32, u32),
    /// Value if the user gives none.
    pub default: u32,
}

/// All strategies.
pub static ALL: &[Entry] = &[
    Entry {
        name: "random",
        parameter: None,
        summary: "any thread that can run, at every point",
        new: |_, _| Box::new(Random::new()),
    },
    Entry {
        name: "pct",
        parameter: Some(Parameter {
            range: (1, MAX_DEPTH),
            default: 3,
        }),
        summary: "random priorities with N-1 changes, for bugs of depth N",
        new: |depth, _| Box::new(Pct::new(depth)),
    },
    Entry {
        name: "pos",
        parameter: None,
        summary: "random priorities of operations, drawn anew where operations conflict",
        new: |_, _| Box::new(Pos::new()),
    },
    Entry {
        name: "round-robin",
        parameter: None,
        summary: "each thread in turn, one point at a time",
        new: |_, _| Box::new(RoundRobin::new()),
    },
    Entry {
        name: "serial",
        parameter: None,
        summary: "each thread until it blocks",
        new: |_, _| Box::new(Serial),
    },
    Entry {
        name: "replay",
        parameter: None,
        summary: "a recorded schedule",
        new: |_, recorded| Box::new(Replay::new(recorded.threads, recorded.switches)),
    },
];

/// Why a strategy's text was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// There is no strategy of this name.
    Unknown(String),
    /// The strategy takes no number, or the number is not one or out of range.
    Parameter(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => {
                write!(formatter, "there is no strategy `{text}`; choose from")?;
                for (index, entry) in ALL.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(formatter, "{comma} {}", entry.name)?;
                    if entry.parameter.is_some() {
                        formatter.write_str("(N)")?;
                    }
                }
                formatter.write_str(", or several joined by `+`")
            }
            Self::Parameter(text) => {
                write!(
                    formatter,
                    "the number in parentheses of strategy `{text}` is wrong"
                )?;
                let entry = ALL
                    .iter()
                    .find(|entry| text.split('(').next() == Some(entry.name));
                match entry.and_then(|entry| entry.parameter.as_ref()) {
                    Some(parameter) => {
                        let (least, most) = parameter.range;
                        write!(formatter, "; give one from {least} to {most}")
                    }
                    None => formatter.write_str("; this strategy takes none"),
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
    let number = match (&entry.parameter, argument) {
        (None, None) => 0,
        (None, Some(_)) => return Err(wrong()),
        (Some(parameter), None) => parameter.default,
        (Some(parameter), Some(argument)) => {
            let number = argument.trim().parse().map_err(|_| wrong())?;
            if number < parameter.range.0 || number > parameter.range.1 {
                return Err(wrong());
            }
            number
        }
    };
    Ok((entry.new)(number, recorded))
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
    }

    #[test]
    fn errors_say_what_to_write() {
        let unknown = "there is no strategy `chaos`; choose from random, pct(N), pos, round-robin, \
                       serial, replay, or several joined by `+`";
        assert_eq!(error("chaos"), unknown);
        assert!(error("").starts_with("there is no strategy ``"));
        assert!(error("random+").starts_with("there is no strategy ``"));
        let range =
            "the number in parentheses of strategy `pct(0)` is wrong; give one from 1 to 64";
        assert_eq!(error("pct(0)"), range);
        assert!(error("pct(3").ends_with("from 1 to 64"));
        assert!(error("pct(x)").ends_with("from 1 to 64"));
        assert!(error("random(3)").ends_with("takes none"));
    }
}
