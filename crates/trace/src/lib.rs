//! Events, findings and the program map, with their formats.
//!
//! The event part is `no_std` so that the runtime can use it; what only the tool needs is
//! behind the `std` feature.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod event;

#[cfg(feature = "std")]
pub mod attributes;
#[cfg(feature = "std")]
pub mod binary;
#[cfg(feature = "std")]
pub mod decode;
#[cfg(feature = "std")]
pub mod decode_outcomes;
#[cfg(feature = "std")]
pub mod demangle;
#[cfg(feature = "std")]
pub mod finding;
#[cfg(feature = "std")]
mod form;
#[cfg(feature = "std")]
pub mod image;
#[cfg(feature = "std")]
pub mod libraries;
#[cfg(feature = "std")]
pub mod memo;
#[cfg(feature = "std")]
pub mod naming;
#[cfg(feature = "std")]
pub mod outcome;
#[cfg(feature = "std")]
pub mod overrides;
#[cfg(feature = "std")]
pub mod plan;
#[cfg(feature = "std")]
pub mod program_map;
#[cfg(feature = "std")]
mod reparse;
#[cfg(feature = "std")]
pub mod results;
#[cfg(feature = "std")]
pub mod runner;
#[cfg(feature = "std")]
pub mod site_table;
#[cfg(feature = "std")]
pub mod text;
#[cfg(feature = "std")]
mod unparse;
#[cfg(feature = "std")]
pub mod visible;

#[cfg(all(test, feature = "std"))]
mod format_tests;
