//! What one execution's trace says about executions that did not happen.
//!
//! Analyses are pure functions from a trace and the program's map to predictions; nothing is run
//! here. The method is AssetFuzzer's (Lai, Cheung, Chan: "Detecting atomic-set serializability
//! violations in multithreaded programs through active randomized testing", ICSE 2010), phase I.
//!
//! [`predict`] is the way in. [`projection`] makes units of work and their accesses to atomic
//! sets of a trace; what a set is stands in [`leaves`] and [`instances`], what a unit is in
//! [`declared`] and [`units`].

pub mod declared;
pub mod happens_before;
pub mod instances;
pub mod learning;
pub mod leaves;
pub mod lock_order;
pub mod lock_pattern;
pub mod locks;
pub mod monitor;
pub mod names;
pub mod patterns;
pub mod plan;
pub mod pointees;
pub mod predict;
pub mod projection;
pub mod race;
pub mod scopes;
pub mod severity;
pub mod signatures;
pub mod synchronised;
pub mod type_names;
pub mod units;
pub mod values;
pub mod windows;

#[cfg(test)]
mod brute;
#[cfg(test)]
mod random;
#[cfg(test)]
mod testing;
