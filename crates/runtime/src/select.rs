//! `select` and `pselect`, which write their answers over the questions.

use crate::arch::nr;
use crate::descriptors;
use crate::io::{Probe, Source, poll};
use crate::syscalls::perform;
use raddle_abi::site::SiteId;

/// `select` and `pselect`: the sets say what is waited for, and then what has come.
pub fn select(arguments: [usize; 6], deadline: u64, site: SiteId) -> isize {
    const SET_WORDS: usize = 16;
    let [count, sets @ .., _, _] = arguments;
    let words = count.div_ceil(64).min(SET_WORDS);
    let mut wanted = [[0u64; SET_WORDS]; 3];
    let copy = |from: usize, to: usize| {
        if from != 0 && to != 0 {
            // SAFETY: sets of the program, and copies of ours that are at least as large.
            unsafe { core::ptr::copy_nonoverlapping(from as *const u64, to as *mut u64, words) };
        }
    };
    for (set, wanted) in sets.iter().zip(&mut wanted) {
        copy(*set, wanted.as_mut_ptr() as usize);
    }
    let any = |descriptor: usize| {
        let (word, bit) = (descriptor / 64, descriptor % 64);
        wanted.iter().any(|set| set[word] >> bit & 1 != 0)
    };
    let most = count.min(SET_WORDS * 64);
    let outside =
        (0..most).any(|descriptor| any(descriptor) && descriptors::is_outside(descriptor));
    let by = (Source::of_any(outside), Probe::Try);
    poll(deadline, by, site, || {
        for (set, wanted) in sets.iter().zip(&wanted) {
            copy(wanted.as_ptr() as usize, *set);
        }
        let mut none = [0i64; 2];
        let none = none.as_mut_ptr() as usize;
        perform(nr::SELECT, [count, sets[0], sets[1], sets[2], none, 0])
    })
}
