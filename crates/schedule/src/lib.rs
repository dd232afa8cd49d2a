//! Strategies that pick the thread to run next, one file each, and what is done with the
//! schedules they make: files, anchors that survive edits, and the minimiser.
//!
//! The strategies are compiled into the runtime inside the program under test: they are
//! `no_std`, allocate only where an execution or a thread begins, and never panic. What only
//! the tool needs is behind the `std` feature.
//!
//! A new strategy is one file and one line in [`list`].
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

#[cfg(feature = "std")]
pub mod anchor;
mod bounded_spins;
mod constraints;
mod coverage;
mod deepening;
mod directed;
pub mod early_expiry;
pub mod exhaustive;
pub mod experience;
mod known;
pub mod last_writes;
pub mod list;
pub mod log;
#[cfg(feature = "std")]
pub mod minimise;
pub mod old_values;
pub mod partial_order;
mod passes;
mod pct;
mod portfolio;
mod pos;
mod random;
mod reads_from;
mod replay;
pub mod rng;
mod round_robin;
#[cfg(feature = "std")]
pub mod schedule_file;
#[cfg(feature = "std")]
mod schedule_text;
mod serial;
#[cfg(test)]
mod simulator;
pub mod strategy;
mod surw;
mod thread_names;
mod turns;
mod unit_order;
pub mod waiting;
#[cfg(feature = "std")]
mod words;

pub use list::{ParseError, Recorded, parse, parse_recorded};
pub use strategy::{Pending, Strategy, View, default_pick};
