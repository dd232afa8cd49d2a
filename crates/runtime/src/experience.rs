//! What a strategy has learnt, from worker to worker: a test may get several turns, each in a
//! process of its own, and is explored as if it had one.
//!
//! The words are the strategy's (see [`raddle_schedule::experience`]). Before them stands a name
//! of the set of scheduling points, because another set is another search.

use crate::shared::shared;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_abi::control::{EXPERIENCE_OFFSET, EXPERIENCE_WORDS};
use raddle_schedule::experience::{Experience, Learnt};
use raddle_schedule::strategy::Strategy;

/// Lets a new strategy take in what the tool brings of an earlier worker, if it does.
pub fn take_up(strategy: &mut dyn Strategy, points: u64) {
    let count = shared().control().experience.load(Ordering::Acquire) as usize;
    if count == 0 {
        return;
    }
    let place = shared().at(EXPERIENCE_OFFSET) as *const u64;
    // SAFETY: the area lies in the shared memory, and the tool does not write to it now.
    let words = unsafe { core::slice::from_raw_parts(place, count.min(EXPERIENCE_WORDS)) };
    let mut experience = Experience::Taken(words);
    let mut earlier = 0_u64;
    earlier.pass(&mut experience);
    strategy.pass(&mut experience);
    if earlier != points {
        strategy.points_changed();
    }
}

/// Leaves what a strategy has learnt to the tool, if it wants that and it fits.
pub fn keep(strategy: &mut dyn Strategy, mut points: u64) {
    let control = shared().control();
    if control.keeps_experience.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut experience = Experience::Written(Vec::new());
    points.pass(&mut experience);
    strategy.pass(&mut experience);
    let Experience::Written(words) = experience else {
        return;
    };
    if words.len() > EXPERIENCE_WORDS {
        return;
    }
    let place = shared().at(EXPERIENCE_OFFSET) as *mut u64;
    // SAFETY: there is room for them, and the tool reads them when the plan is done.
    unsafe { core::ptr::copy_nonoverlapping(words.as_ptr(), place, words.len()) };
    let count = words.len() as u64;
    control.experience.store(count, Ordering::Release);
}
