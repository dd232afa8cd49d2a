//! What correct programs do with the heap.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::{ptr, thread};

/// Runs two threads that do the same, so that there is something to interleave.
fn twice(work: impl Fn() + Sync) {
    let turns = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                turns.fetch_add(1, Ordering::Relaxed);
                work();
                turns.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(turns.into_inner(), 4);
}

#[test]
fn a_handle_is_looked_up_again() {
    let desk = Mutex::new(Some(Box::new(7_u64)));
    thread::scope(|scope| {
        scope.spawn(|| {
            let open = desk.lock().unwrap().is_some();
            if let Some(document) = desk.lock().unwrap().as_deref() {
                assert!(open && *document == 7);
            }
        });
        scope.spawn(|| drop(desk.lock().unwrap().take()));
    });
}

#[test]
fn who_swaps_the_pointer_out_frees_it() {
    let bytes = AtomicPtr::new(Box::into_raw(Box::new([0_u8; 64])));
    twice(|| {
        let taken = bytes.swap(ptr::null_mut(), Ordering::AcqRel);
        if !taken.is_null() {
            // SAFETY: it came from a box, and only one thread takes it.
            drop(unsafe { Box::from_raw(taken) });
        }
    });
}

#[test]
fn places_are_taken_before_they_are_used() {
    const ROOM: usize = 2;
    let places = Box::into_raw(Box::new([const { MaybeUninit::<u64>::uninit() }; ROOM]));
    let shared = AtomicPtr::new(places.cast::<MaybeUninit<u64>>());
    let taken = AtomicUsize::new(0);
    thread::scope(|scope| {
        for value in 0..3 {
            let (shared, taken) = (&shared, &taken);
            scope.spawn(move || {
                let place = taken.fetch_add(1, Ordering::Relaxed);
                if place < ROOM {
                    // SAFETY: each place is inside and has one owner.
                    unsafe { (*shared.load(Ordering::Relaxed).add(place)).write(value) };
                }
            });
        }
    });
    // SAFETY: it came from a box of that type.
    drop(unsafe { Box::from_raw(places) });
}

#[test]
fn vectors_grow_and_shrink() {
    twice(|| {
        let mut bytes = Vec::new();
        for byte in 0..100_u8 {
            bytes.push(byte);
        }
        bytes.truncate(13);
        bytes.shrink_to_fit();
        bytes.extend_from_slice(&[1; 50]);
        assert_eq!(
            bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>(),
            78 + 50
        );
    });
}

#[test]
fn capacity_is_filled_by_hand() {
    twice(|| {
        let mut bytes: Vec<u8> = Vec::with_capacity(37);
        let room = bytes.capacity();
        // SAFETY: all of the capacity is written before it counts.
        unsafe {
            ptr::write_bytes(bytes.as_mut_ptr(), 1, room);
            bytes.set_len(room);
        }
        assert_eq!(bytes.iter().rposition(|byte| *byte == 1), Some(room - 1));
    });
}

#[test]
fn blocks_of_every_size_and_alignment() {
    twice(|| {
        for (size, alignment) in [(1, 1), (15, 2), (17, 16), (24, 64), (4096, 4096), (1025, 8)] {
            let layout = Layout::from_size_align(size, alignment).unwrap();
            let larger = Layout::from_size_align(size * 2, alignment).unwrap();
            // SAFETY: every byte that is touched is part of the block.
            unsafe {
                let block = alloc(layout);
                assert_eq!(block as usize % alignment, 0);
                block.write(1);
                block.add(size - 1).write(2);
                let block = realloc(block, layout, size * 2);
                block.add(size * 2 - 1).write(3);
                assert_eq!(block.add(size * 2 - 1).read(), 3);
                dealloc(block, larger);
                let zeroed = alloc_zeroed(layout);
                assert_eq!(zeroed.add(size - 1).read(), 0);
                dealloc(zeroed, layout);
            }
        }
    });
}

#[test]
fn nothing_is_copied_from_the_end_of_a_block() {
    twice(|| {
        let bytes: Box<[u8]> = vec![5; 16].into_boxed_slice();
        let (head, tail) = bytes.split_at(16);
        let mut all = head.to_vec();
        all.extend_from_slice(tail);
        // SAFETY: no byte is touched.
        unsafe { ptr::copy(bytes.as_ptr().add(16), all.as_mut_ptr().add(16), 0) };
        assert_eq!(all, *bytes);
    });
}

#[test]
fn tables_and_texts_are_searched_by_words() {
    twice(|| {
        let mut table = HashMap::new();
        for number in 0..20 {
            table.insert(format!("key {number}"), number);
        }
        table.retain(|_, number| *number % 2 == 0);
        assert_eq!(table.get("key 18"), Some(&18));
        let text = "a line that is searched".repeat(3);
        assert_eq!(text.find('z'), None);
        assert_eq!(text.rfind("searched"), Some(text.len() - 8));
    });
}

#[test]
fn the_last_owner_frees() {
    let shared = Arc::new(vec![1, 2, 3]);
    let weak = Arc::downgrade(&shared);
    let other = thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.iter().sum::<i32>()
    });
    let upgraded = weak.upgrade().map(|shared| shared.len());
    drop(shared);
    assert_eq!((other.join().unwrap(), upgraded), (6, Some(3)));
    assert!(weak.upgrade().is_none());
}

#[test]
fn blocks_travel_between_threads() {
    let (sender, receiver) = mpsc::channel::<Box<[u64]>>();
    let freed = thread::spawn(move || receiver.into_iter().map(|block| block.len()).sum::<usize>());
    for len in 0..5 {
        sender.send(vec![7; len].into_boxed_slice()).unwrap();
    }
    drop(sender);
    assert_eq!(freed.join().unwrap(), 10);
}
