//! Happens-before by clocks alone.

use super::Clocks;
use raddle_abi::hooks::order::*;

fn two_threads() -> Clocks {
    let mut clocks = Clocks::new();
    clocks.set_up();
    clocks.begin(1);
    assert_eq!(clocks.spawn(0), 1);
    clocks
}

/// Thread 0 does something at its present time; has thread 1 seen it after `then`?
fn seen_after(then: impl FnOnce(&mut Clocks)) -> bool {
    let mut clocks = two_threads();
    let time = clocks.time(0);
    then(&mut clocks);
    clocks.has_seen(1, 0, time)
}

#[test]
fn release_and_acquire_make_an_edge_and_relaxed_does_not() {
    assert!(seen_after(|clocks| {
        clocks.store(0, 64, RELEASE);
        clocks.load(1, 64, ACQUIRE);
    }));
    assert!(!seen_after(|clocks| {
        clocks.store(0, 64, RELAXED);
        clocks.load(1, 64, ACQUIRE);
    }));
    assert!(!seen_after(|clocks| {
        clocks.store(0, 64, RELEASE);
        clocks.load(1, 64, RELAXED);
    }));
}

#[test]
fn fences_complete_relaxed_operations() {
    assert!(seen_after(|clocks| {
        clocks.fence(0, RELEASE);
        clocks.store(0, 64, RELAXED);
        clocks.load(1, 64, RELAXED);
        clocks.fence(1, ACQUIRE);
    }));
    assert!(!seen_after(|clocks| {
        clocks.store(0, 64, RELAXED);
        clocks.fence(0, RELEASE);
        clocks.load(1, 64, RELAXED);
        clocks.fence(1, ACQUIRE);
    }));
}

#[test]
fn only_read_modify_writes_continue_a_release_sequence() {
    assert!(seen_after(|clocks| {
        clocks.store(0, 64, RELEASE);
        clocks.load(0, 64, RELAXED);
        clocks.modify(0, 64, RELAXED);
        clocks.load(1, 64, ACQUIRE);
    }));
    assert!(!seen_after(|clocks| {
        clocks.store(0, 64, RELEASE);
        clocks.store(0, 64, RELAXED);
        clocks.load(1, 64, ACQUIRE);
    }));
}

#[test]
fn spawn_and_join_order_threads() {
    let mut clocks = two_threads();
    let time = clocks.time(1);
    assert!(!clocks.has_seen(0, 1, time));
    clocks.join(0, 1);
    assert!(clocks.has_seen(0, 1, time));
    assert_eq!(clocks.spawn(0), 1, "a joined thread's slot is used again");
    assert!(clocks.time(1) > time);
}

#[test]
fn many_objects_and_threads_fit() {
    let mut clocks = two_threads();
    for thread in 0..300 {
        clocks.spawn(thread % 2);
    }
    for object in 0..20_000 {
        clocks.store(object % 300, 64 + object * 8, RELEASE);
    }
    let time = clocks.time(7) - 1;
    clocks.load(1, 64 + 307 * 8, ACQUIRE);
    assert!(clocks.has_seen(1, 7, 1) && time > 1 && !clocks.exhausted);
}

#[test]
fn nothing_is_left_of_earlier_executions() {
    let mut clocks = two_threads();
    for _ in 0..40 {
        clocks.spawn(0);
    }
    for slot in 0..40 {
        clocks.modify(slot, 64, ACQ_REL);
        clocks.fence(slot, SEQ_CST);
    }
    for threads in [2, 9, 60] {
        clocks.begin(1);
        for _ in 1..threads {
            clocks.spawn(0);
        }
        for slot in 1..threads {
            assert!(!clocks.has_seen(0, slot, 1), "{slot} of {threads}");
            assert!((slot + 1..threads).all(|later| !clocks.has_seen(slot, later, 1)));
        }
    }
}
