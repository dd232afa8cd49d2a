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
fn accesses_without_room_in_their_cell_still_race() {
    let mut race = race();
    for byte in 0..8 {
        race.access(1, 0x5000 + byte, 1, access::WRITE, 11 + byte as u32);
    }
    for byte in 0..8 {
        let site = Some(11 + byte as u32);
        assert_eq!(race.access(2, 0x5000 + byte, 1, 0, 20), site);
    }
    assert!(!race.shadow.has_forgotten);
}

#[test]
fn atomic_accesses_without_room_race_with_plain_ones_that_have_not_seen_them() {
    for unseen in [None, Some(1), Some(3), Some(5)] {
        let mut race = race();
        let slots = [1, 2, 3, race.clocks.spawn(0), race.clocks.spawn(0)];
        for slot in slots {
            let site = 10 + slot as u32;
            assert_eq!(race.access(slot, 0x5000, 8, ATOMIC, site), None);
        }
        for slot in slots.into_iter().filter(|slot| Some(*slot) != unseen) {
            race.clocks.join(0, slot);
        }
        let site = unseen.map(|slot| 10 + slot as u32);
        assert_eq!(race.access(0, 0x5000, 8, access::WRITE, 30), site);
    }
}

#[test]
fn memory_that_was_forgotten_does_not_race_where_there_was_no_room() {
    let mut race = race();
    for byte in 0..8 {
        race.access(1, 0x5000 + byte, 1, access::WRITE, 11);
    }
    race.shadow.forget(0x5000, 8);
    for byte in 0..8 {
        assert_eq!(race.access(2, 0x5000 + byte, 1, access::WRITE, 12), None);
    }
}

/// All accesses of an execution, each with the time of its thread.
#[derive(Default)]
struct Reference {
    accesses: Vec<(usize, u32, usize, usize, u8)>,
}

impl Reference {
    /// Adds an access; true if it races with an earlier one.
    fn access(&mut self, clocks: &Clocks, slot: usize, at: usize, len: usize, kind: u8) -> bool {
        let races = self
            .accesses
            .iter()
            .any(|&(other, time, start, size, earlier)| {
                let touches = at < start + size && start < at + len;
                let conflicts =
                    (kind | earlier) & access::WRITE != 0 && kind & earlier & access::ATOMIC == 0;
                touches && conflicts && other != slot && !clocks.has_seen(slot, other, time)
            });
        self.accesses.push((slot, clocks.time(slot), at, len, kind));
        races
    }
}

/// Random accesses and synchronisation of six threads within two cells. After a race an execution
/// may say more or less than the reference, so that it ends there.
#[test]
fn the_first_race_of_random_accesses_is_that_of_a_reference() {
    let mut state = 1u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        ((state >> 33) % bound as u64) as usize
    };
    let (mut racy, mut quiet) = (0, 0);
    let mut race = race();
    for run in 0..4000 {
        race.clocks.begin(1);
        for _ in 0..5 {
            race.clocks.spawn(0);
        }
        let mut reference = Reference::default();
        // With few synchronisation, few executions get far.
        let (sync, plain) = (1 + below(3), below(4));
        let mut found = false;
        for _ in 0..60 {
            let slot = below(6);
            if below(4) < sync {
                let lock = 0x7000 + 16 * below(2);
                race.clocks.load(slot, lock, order::ACQUIRE);
                race.clocks.store(slot, lock, order::RELEASE);
                continue;
            }
            let kinds = [0, access::WRITE, access::ATOMIC, ATOMIC];
            let kind = kinds[if below(4) < plain {
                below(2)
            } else {
                2 + below(2)
            }];
            let len = 1 << below(4);
            let at = 0x5000 + below(16 / len) * len;
            let expected = reference.access(&race.clocks, slot, at, len, kind);
            let seen = race.access(slot, at, len, kind, 1).is_some();
            assert_eq!(seen, expected, "execution {run}");
            found = expected;
            if found {
                break;
            }
        }
        racy += u32::from(found);
        quiet += u32::from(!found);
    }
    assert!(racy > 300 && quiet > 300, "{racy} {quiet}");
    assert!(!race.shadow.has_forgotten);
}
