//! Races seen in shadow memory.

use super::*;
use raddle_abi::hooks::order;

struct Race {
    clocks: Clocks,
    shadow: Shadow,
}

fn race() -> Race {
    let mut clocks = Clocks::new();
    clocks.set_up();
    clocks.begin(1);
    for _ in 0..3 {
        clocks.spawn(0);
    }
    let mut shadow = Shadow::new();
    shadow.set_up();
    Race { clocks, shadow }
}

impl Race {
    fn access(
        &mut self,
        slot: usize,
        address: usize,
        len: usize,
        kind: u8,
        site: u32,
    ) -> Option<u32> {
        let (shadow, clocks) = (&mut self.shadow, &self.clocks);
        let slot = Now::of(clocks, slot);
        let noted = shadow.note(clocks, slot, address, len, kind, site);
        let races = noted.unwrap_or_else(|| shadow.access(clocks, slot, address, len, kind, site));
        let found = shadow.take_found().map(|earlier| earlier.site);
        assert_eq!(found.is_some(), races);
        found
    }
}

#[test]
fn unordered_write_and_read_race() {
    let mut race = race();
    assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 11), None);
    assert_eq!(race.access(2, 0x5004, 4, 0, 12), Some(11));
}

#[test]
fn reads_do_not_race_and_neither_do_atomics() {
    let mut race = race();
    assert_eq!(race.access(1, 0x5000, 8, 0, 11), None);
    assert_eq!(race.access(2, 0x5000, 8, 0, 12), None);
    let atomic = access::WRITE | access::ATOMIC;
    assert_eq!(race.access(1, 0x6000, 8, atomic, 13), None);
    assert_eq!(race.access(2, 0x6000, 8, atomic, 14), None);
    assert_eq!(
        race.access(3, 0x6000, 8, access::WRITE, 15),
        Some(13),
        "plain against atomic"
    );
}

#[test]
fn neighbours_in_one_cell_do_not_race() {
    let mut race = race();
    assert_eq!(race.access(1, 0x5000, 2, access::WRITE, 11), None);
    assert_eq!(race.access(2, 0x5002, 2, access::WRITE, 12), None);
    assert_eq!(race.access(3, 0x5001, 2, 0, 13), Some(11));
}

#[test]
fn an_edge_ends_the_race_and_a_new_execution_forgets() {
    let mut race = race();
    assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 11), None);
    race.clocks.store(1, 0x7000, order::RELEASE);
    race.clocks.load(2, 0x7000, order::ACQUIRE);
    assert_eq!(race.access(2, 0x5000, 8, access::WRITE, 12), None);
    race.clocks.begin(1);
    race.clocks.spawn(0);
    assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 13), None);
}

#[test]
fn long_accesses_cover_every_cell() {
    let mut race = race();
    assert_eq!(race.access(1, 0x5003, 100, access::WRITE, 11), None);
    assert_eq!(race.access(2, 0x5002, 1, 0, 12), None);
    assert_eq!(race.access(2, 0x5066, 1, 0, 12), Some(11));
    assert_eq!(race.access(2, 0x5067, 1, 0, 12), None);
}

#[test]
fn of_several_equal_accesses_the_latest_is_shown() {
    let mut race = race();
    assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 11), None);
    assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 12), None);
    assert_eq!(race.access(2, 0x5000, 8, 0, 13), Some(12));
}

#[test]
fn a_large_block_is_freed_where_it_was_touched() {
    let mut race = race();
    let free = access::WRITE | access::FREE;
    let (block, touched) = (0x10_0000, 0x10_0000 + LARGE);
    assert_eq!(race.access(1, touched, 8, 0, 11), None);
    assert_eq!(race.access(2, block, 2 * LARGE, free, 12), Some(11));
    assert_eq!(race.access(3, touched, 8, 0, 13), Some(12));
    assert_eq!(race.access(1, block, 8, 0, 14), None);
    assert_eq!(race.access(2, block, LARGE, free, 15), Some(14));
    assert_eq!(
        race.access(1, block + 8, 8, 0, 16),
        Some(15),
        "a smaller one is freed whole"
    );
}

#[test]
fn forgotten_memory_does_not_race() {
    let mut race = race();
    assert_eq!(race.access(1, 0x5000, 64, access::WRITE, 11), None);
    race.shadow.forget(0x5000, 64);
    assert_eq!(race.access(2, 0x5000, 64, access::WRITE, 12), None);
}

const ATOMIC: u8 = access::WRITE | access::ATOMIC;

#[test]
fn what_all_threads_have_seen_may_be_forgotten() {
    let mut race = race();
    race.access(0, 0x5000, 8, access::WRITE, 10);
    let late = race.clocks.spawn(0);
    for other in 1..4 {
        race.clocks.store(0, 0x7000, order::RELEASE);
        race.clocks.load(other, 0x7000, order::ACQUIRE);
    }
    for slot in (0..5).chain(0..5) {
        assert_eq!(race.access(slot, 0x5000, 8, ATOMIC, 11), None);
    }
    assert!(late == 4 && !race.shadow.has_forgotten);
}

#[test]
fn what_one_thread_has_not_seen_may_not_be_forgotten() {
    let mut race = race();
    for byte in 0..4 {
        race.access(1, 0x5000 + byte, 1, access::WRITE, 11);
    }
    assert!(!race.shadow.has_forgotten);
    race.access(1, 0x5004, 1, access::WRITE, 12);
    assert!(race.shadow.has_forgotten);
}

#[test]
fn what_a_later_access_of_its_thread_covers_may_be_forgotten() {
    let mut race = race();
    for (byte, kind) in [(0, 0), (1, 0), (5, access::WRITE), (6, access::WRITE)] {
        race.access(1, 0x5000 + byte, 1, kind, 11);
    }
    // Takes the place of one of the two reads that it covers, the next one that of the other.
    race.access(1, 0x5000, 2, 0, 13);
    race.access(1, 0x5007, 1, 0, 14);
    assert!(!race.shadow.has_forgotten);
    assert_eq!(race.access(2, 0x5000, 1, access::WRITE, 15), Some(13));
}

#[test]
fn forgotten_atomic_accesses_matter_to_plain_ones_that_have_not_seen_them() {
    for is_joined in [true, false] {
        let mut race = race();
        let slots = [1, 2, 3, race.clocks.spawn(0), race.clocks.spawn(0)];
        for slot in slots {
            assert_eq!(race.access(slot, 0x5000, 8, ATOMIC, 11), None);
        }
        assert!(!race.shadow.has_forgotten, "all are atomic");
        // The entry in the third place went.
        for slot in slots.into_iter().filter(|slot| is_joined || *slot != 3) {
            race.clocks.join(0, slot);
        }
        assert_eq!(race.access(0, 0x5000, 8, access::WRITE, 12), None);
        assert_eq!(race.shadow.has_forgotten, !is_joined);
    }
}
