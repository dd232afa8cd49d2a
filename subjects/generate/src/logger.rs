//! `java.util.logging.Logger`: `log` looks whether there is a filter, and then asks it, though somebody may have taken it
//! away in between.

use std::sync::Mutex;

use crate::lock;

/// What is asked of messages.
#[derive(Clone, Copy, Default)]
struct Asked {
    level: u8,
    filter: Option<u8>,
}

/// Writes messages down.
#[derive(Default)]
pub struct Logger<const FIXED: bool> {
    asked: Mutex<Asked>,
    records: Mutex<Vec<(u8, String)>>,
    handlers: Mutex<Vec<String>>,
    name: Mutex<String>,
    parent: Mutex<Option<String>>,
    bundle: Mutex<Option<String>>,
    uses_parent: Mutex<bool>,
}

impl<const FIXED: bool> Logger<FIXED> {
    properties! {
        name, set_name: String;
        parent, set_parent: Option<String>;
        bundle, set_bundle: Option<String>;
        uses_parent, set_uses_parent: bool;
    }

    /// The least level.
    pub fn level(&self) -> u8 {
        lock(&self.asked).level
    }

    /// Asks for this level at least, and returns the one that was asked for.
    pub fn set_level(&self, level: u8) -> u8 {
        std::mem::replace(&mut lock(&self.asked).level, level)
    }

    /// What messages have to be, if anything is asked of them.
    pub fn filter(&self) -> Option<u8> {
        lock(&self.asked).filter
    }

    /// Asks for messages of this level, or nothing.
    pub fn set_filter(&self, filter: Option<u8>) {
        lock(&self.asked).filter = filter;
    }

    /// Whether a message of this level is written down.
    pub fn is_loggable(&self, level: u8) -> bool {
        level >= self.level()
    }

    /// Writes a message down, if nothing is against it.
    pub fn log(&self, level: u8, message: String) -> bool {
        let mut records = lock(&self.records);
        let passes = match FIXED {
            true => {
                let asked = *lock(&self.asked);
                level >= asked.level && asked.filter.is_none_or(|least| level >= least)
            }
            false => self.is_loggable(level) && self.passes(level),
        };
        if passes {
            records.push((level, message));
        }
        passes
    }

    fn passes(&self, level: u8) -> bool {
        if self.filter().is_none() {
            return true;
        }
        level >= self.filter().expect("there is a filter")
    }

    /// A message that somebody looks for.
    pub fn finest(&self, message: String) -> bool {
        lock(&self.records).push((0, message));
        true
    }

    /// A message about details.
    pub fn fine(&self, message: String) -> bool {
        lock(&self.records).push((1, message));
        true
    }

    /// A message about what happens.
    pub fn info(&self, message: String) -> bool {
        lock(&self.records).push((2, message));
        true
    }

    /// A message about what should not happen.
    pub fn warning(&self, message: String) -> bool {
        lock(&self.records).push((3, message));
        true
    }

    /// A method begins.
    pub fn entering(&self, method: String) {
        lock(&self.records).push((1, format!("> {method}")));
    }

    /// A method ends.
    pub fn exiting(&self, method: String) {
        lock(&self.records).push((1, format!("< {method}")));
    }

    /// All messages.
    pub fn records(&self) -> Vec<(u8, String)> {
        lock(&self.records).clone()
    }

    /// Takes all messages.
    pub fn flush(&self) -> Vec<(u8, String)> {
        std::mem::take(&mut *lock(&self.records))
    }

    /// Somebody wants to be told.
    pub fn add_handler(&self, handler: String) {
        lock(&self.handlers).push(handler);
    }

    /// Somebody does not want to be told any more; whether there was such a one.
    pub fn remove_handler(&self, handler: String) -> bool {
        let mut handlers = lock(&self.handlers);
        let place = handlers.iter().position(|known| *known == handler);
        place.map(|place| handlers.remove(place)).is_some()
    }

    /// Who is told.
    pub fn handlers(&self) -> Vec<String> {
        lock(&self.handlers).clone()
    }
}
