//! What one execution's trace says about executions that did not happen.
//!
//! Analyses are pure functions from a trace and the program's map to predictions; nothing is run
//! here. The method is AssetFuzzer's (Lai, Cheung, Chan: "Detecting atomic-set serializability
//! violations in multithreaded programs through active randomized testing", ICSE 2010), phase I.

pub mod happens_before;
pub mod locks;
pub mod patterns;
