//! What a user supplies for the types of the zoo, in every shape that has a meaning.

use std::sync::Arc;

use zoo::{Arguments, Mode, Options, Results};

/// As `proptest` has it.
pub trait Strategy {
    type Value;
}

impl Strategy for () {
    type Value = u8;
}

pub fn options() -> Vec<Options> {
    vec![Options::with_limit(7)]
}

pub fn bytes() -> impl Strategy<Value = u8> {}

pub fn letters() -> [char; 2] {
    ['x', 'y']
}

pub fn mode(size: u32) -> Mode {
    Mode::Sized(size)
}

pub mod text {
    pub fn name() -> Vec<String> {
        Vec::new()
    }
}

pub mod update {
    pub fn nobody() -> Vec<String> {
        Vec::new()
    }
}

pub fn arguments(capacity: usize) -> Arguments<u32, String> {
    Arguments::new(capacity)
}

pub fn pointer(arguments: &Arguments<u32, String>, count: usize) -> bool {
    arguments.pointer(&(count as u8));
    true
}

pub fn shared(arguments: Arc<Arguments<u32, String>>) {
    drop(arguments);
}

/// Of another type.
pub fn look(results: &Results) -> u32 {
    results.entry(1).map_or(0, |entry| entry.get())
}
