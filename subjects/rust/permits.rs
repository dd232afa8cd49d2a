//! Permits are looked at and taken in two steps, so that two threads may take the last one.

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

const PERMITS: i32 = 1;

fn take<const FIXED: bool>(permits: &AtomicI32) -> bool {
    let order = Ordering::SeqCst;
    if FIXED {
        let less = |permits: i32| (permits > 0).then_some(permits - 1);
        return permits.fetch_update(order, order, less).is_ok();
    }
    let has_any = permits.load(order) > 0;
    if has_any {
        permits.fetch_sub(1, order);
    }
    has_any
}

fn run<const FIXED: bool>() {
    let permits = AtomicI32::new(PERMITS);
    let inside = AtomicI32::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                if take::<FIXED>(&permits) {
                    let others = inside.fetch_add(1, Ordering::SeqCst);
                    assert!(others < PERMITS);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    permits.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
}

#[test]
fn bug() {
    run::<false>();
}

#[test]
fn twin() {
    run::<true>();
}
