//! The tool as its users run it, on crates that do not know of it.

mod allocators;
mod bad_c_program;
mod bad_input;
mod bad_machine;
mod bad_program;
mod c_compiler;
mod c_conformance;
mod c_programs;
mod configuration;
mod correct;
mod determinism;
mod directed;
mod engines;
mod exhaustive;
mod findings;
mod native_threads;
mod orders;
mod patterns;
mod predict;
mod regressions;
mod replay;
mod selection;
mod set_up;
mod survival;
mod traces;
mod turns;
