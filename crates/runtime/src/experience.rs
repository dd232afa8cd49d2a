//! What a strategy has learnt, from worker to worker: a test may get several turns, each in a
//! process of its own, and is explored as if it had one.
//!
//! The words are the strategy's (see [`raddle_schedule::experience`]). Before them stands a name
//! of the set of scheduling points, because another set is another search.

use crate::shared::shared;
use core::sync::atomic::Ordering;
use raddle_abi::control::{EXPERIENCE_OFFSET, EXPERIENCE_WORDS};
use raddle_schedule::experience::{Experience, Learnt, Words};
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
    let place = shared().at(EXPERIENCE_OFFSET) as *mut u64;
    // SAFETY: the area lies in the shared memory, and the tool reads it when the plan is done.
    let room = unsafe { core::slice::from_raw_parts_mut(place, EXPERIENCE_WORDS) };
    let mut experience = Experience::Written(Words::new(room));
    points.pass(&mut experience);
    strategy.pass(&mut experience);
    if let Experience::Written(words) = experience
        && let Some(count) = words.count()
    {
        control.experience.store(count as u64, Ordering::Release);
    }
}
