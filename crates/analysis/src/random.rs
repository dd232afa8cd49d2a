//! Small random traces that could have happened: threads with units of work, locks and messages,
//! in an order that locks and messages allow.

use crate::testing::scene;
use proptest::prelude::*;
use raddle_trace::event::Trace;
use raddle_trace::program_map::ProgramMap;

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Enters the thread's function, or leaves it.
    Turn,
    /// Touches memory: kind, offset, size, and whether at a site of its own.
    Access(&'static str, u32, u32, bool),
    /// Acquires one of two locks, perhaps shared, or releases it.
    Lock(u32, bool),
    /// Sends a message.
    Send(u32),
    /// Waits for a message.
    Receive(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let kinds = [
        "read",
        "write",
        "read",
        "write",
        "atomic-rmw",
        "atomic-load",
    ];
    let access = (
        prop::sample::select(kinds.to_vec()),
        prop::sample::select(&[(0, 8), (8, 8), (0, 16), (4, 4), (16, 8)][..]),
        any::<bool>(),
    );
    prop_oneof![
        2 => Just(Step::Turn),
        8 => access.prop_map(|(kind, (offset, size), own)| Step::Access(kind, offset, size, own)),
        3 => (0..2_u32, any::<bool>()).prop_map(|(lock, shared)| Step::Lock(lock, shared)),
        1 => (0..2_u32).prop_map(Step::Send),
        1 => (0..2_u32).prop_map(Step::Receive),
    ]
}

/// Threads and an order in which they want to go on.
pub fn programs(length: usize) -> impl Strategy<Value = (Vec<Vec<Step>>, Vec<usize>)> {
    let thread = prop::collection::vec(step(), 1..length);
    (
        prop::collection::vec(thread, 2..=3),
        prop::collection::vec(0..3_usize, length * 6),
    )
}

#[derive(Default)]
struct Thread {
    next: usize,
    is_inside: bool,
    held: [Option<bool>; 2],
}

/// Lets the threads go on in the wanted order, as far as possible.
pub fn run(programs: &[Vec<Step>], order: &[usize]) -> (Trace, ProgramMap) {
    let mut threads: Vec<Thread> = programs.iter().map(|_| Thread::default()).collect();
    let mut sent = [false; 2];
    let mut lines = String::new();
    for &wanted in order {
        let at = wanted % programs.len();
        let Some(step) = programs[at].get(threads[at].next).copied() else {
            continue;
        };
        let others = |threads: &[Thread], lock: usize| -> Vec<bool> {
            let others = threads.iter().enumerate().filter(|(index, _)| *index != at);
            others.filter_map(|(_, thread)| thread.held[lock]).collect()
        };
        let line = match step {
            Step::Turn => {
                threads[at].is_inside ^= true;
                let word = if threads[at].is_inside {
                    "enter"
                } else {
                    "leave"
                };
                format!("{word} thread {at} site {}", at % 2 + 1)
            }
            Step::Access(kind, offset, size, own) => {
                let site = if own { "" } else { " site 4" };
                format!("access thread {at} kind {kind} offset {offset} size {size}{site}")
            }
            Step::Lock(lock, shared) => {
                let index = lock as usize;
                let (word, shared) = match threads[at].held[index].take() {
                    Some(shared) => ("release", shared),
                    None if others(&threads, index).iter().all(|other| *other && shared) => {
                        threads[at].held[index] = Some(shared);
                        ("acquire", shared)
                    }
                    None => continue,
                };
                let mode = if shared { "shared" } else { "exclusive" };
                format!("lock thread {at} step {word} object 1 offset {lock} mode {mode}")
            }
            Step::Send(number) if sent[number as usize] => String::new(),
            Step::Send(number) => {
                sent[number as usize] = true;
                format!("send-item thread {at} object 1 number {number}")
            }
            Step::Receive(number) if !sent[number as usize] => continue,
            Step::Receive(number) => {
                // What one has received is not there for another.
                sent[number as usize] = false;
                format!("receive-item thread {at} object 1 number {number}")
            }
        };
        threads[at].next += 1;
        if !line.is_empty() {
            lines += &line;
            lines.push('\n');
        }
    }
    scene(&lines)
}
