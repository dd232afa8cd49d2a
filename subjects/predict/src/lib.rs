//! The shapes of the programs on which AssetFuzzer was evaluated (Lai, Cheung, Chan, ICSE 2010), re-created in Rust.
//!
//! A module per subject. `FIXED` chooses between the program with its bugs and its correct twin; everything else is the
//! same. What is a plain field in Java and touched without a lock is an atomic with `Relaxed` here. What the bugs are
//! stands in `subjects/predict.toml`.

pub mod account;
pub mod array_list;
pub mod cache4j;
pub mod hash_set;
pub mod hedc;
pub mod jigsaw;
pub mod linked_hash_set;
pub mod linked_list;
pub mod moldyn;
pub mod montecarlo;
pub mod raytracer;
pub mod string_buffer;
pub mod tree_set;
pub mod weblech;

#[cfg(test)]
mod plain;
