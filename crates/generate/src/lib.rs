//! Concurrent tests from a type's name alone (CovCon: coverage-guided generation of concurrent
//! tests): what the type offers ([`discovery`]), a program that can do any of it ([`harness`]),
//! which calls to run at the same time next ([`select`], [`pairs`]), and whether what came of them
//! is right.
//!
//! Tests are data ([`mod@test_case`]) for one program, so none is compiled.
//!
//! Deliberately absent: starting cargo or programs, and printing. Everything is run through
//! [`raddle_trace::runner::Runner`].

pub mod addresses;
pub mod arguments;
mod bulk;
pub mod calibrate;
pub mod callees;
mod calls;
pub mod companions;
pub mod comparison;
pub mod compose;
#[cfg(test)]
mod compose_tests;
pub mod constants;
pub mod constructors;
pub mod deferral;
pub mod discovery;
pub mod effects;
pub mod eviction;
mod excuses;
pub mod feedback;
mod free_functions;
mod futures;
mod guests;
mod handles;
pub mod handovers;
mod hands;
pub mod harness;
pub mod history;
pub mod holding;
mod invocation;
pub mod judge;
#[cfg(test)]
mod judge_tests;
pub mod library;
pub mod linearize;
#[cfg(test)]
mod linearize_tests;
pub mod literal;
pub mod meetings;
pub mod methods;
pub mod model;
pub mod order;
pub mod pairs;
mod place;
mod possible;
pub mod print;
pub mod program;
pub mod promises;
mod receivers;
pub mod recipe;
mod refusal;
pub mod remembered;
pub mod results;
pub mod rustdoc;
pub mod search;
pub mod select;
pub mod sequential;
pub mod sharing;
mod showing;
pub mod shrink;
mod solve;
pub mod supplied;
mod targets;
pub mod test_case;
mod traits;
pub mod type_name;
