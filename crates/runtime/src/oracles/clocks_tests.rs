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

#[test]
fn who_takes_over_a_slot_comes_after_its_last_owner() {
    let mut clocks = two_threads();
    let [writer, spawner, observer] = [(); 3].map(|()| clocks.spawn(0));
    let time = clocks.time(writer);
    clocks.store(writer, 64, RELEASE);
    clocks.load(1, 64, ACQUIRE);
    clocks.store(1, 72, RELEASE);
    clocks.join(0, 1);
    assert_eq!(clocks.spawn(spawner), 1);
    clocks.store(1, 80, RELEASE);
    clocks.load(observer, 80, ACQUIRE);
    // The observer has seen a later time of the slot than that of the store which it reads.
    clocks.load(observer, 72, ACQUIRE);
    assert!(clocks.has_seen(observer, writer, time));
}

/// Clocks that join and copy everything, word for word as the definitions say.
#[derive(Default)]
struct Plain {
    threads: Vec<Vec<u32>>,
    acquirable: Vec<Vec<u32>>,
    released: Vec<Option<Vec<u32>>>,
    objects: [Option<Vec<u32>>; 4],
    free: Vec<usize>,
}

fn merge(into: &mut Vec<u32>, from: &[u32]) {
    into.resize(into.len().max(from.len()), 0);
    for (mine, theirs) in into.iter_mut().zip(from) {
        *mine = theirs.max(mine).to_owned();
    }
}

impl Plain {
    fn spawn(&mut self, parent: usize) {
        let clock = self.threads[parent].clone();
        let slot = self.free.pop().unwrap_or(self.threads.len());
        if slot == self.threads.len() {
            let mut fresh = vec![0; slot + 1];
            fresh[slot] = 1;
            self.threads.push(fresh);
            self.acquirable.push(Vec::new());
            self.released.push(None);
        }
        merge(&mut self.threads[slot], &clock);
        self.threads[slot][slot] += 1;
        self.acquirable[slot].clear();
        self.released[slot] = None;
        self.threads[parent][parent] += 1;
    }

    fn load(&mut self, slot: usize, object: usize, order: u32) {
        let clock = self.objects[object].clone().unwrap_or_default();
        match acquires(order) {
            true => merge(&mut self.threads[slot], &clock),
            false => merge(&mut self.acquirable[slot], &clock),
        }
    }

    fn store(&mut self, slot: usize, object: usize, order: u32, modifies: bool) {
        let mut clock = match releases(order) {
            true => Some(self.threads[slot].clone()),
            false => self.released[slot].clone(),
        };
        if let (true, Some(before)) = (modifies, &self.objects[object]) {
            merge(clock.get_or_insert_default(), before);
        }
        self.objects[object] = clock;
        self.threads[slot][slot] += u32::from(releases(order));
    }

    fn fence(&mut self, slot: usize, order: u32) {
        if acquires(order) {
            let clock = self.acquirable[slot].clone();
            merge(&mut self.threads[slot], &clock);
        }
        if releases(order) {
            self.released[slot] = Some(self.threads[slot].clone());
            self.threads[slot][slot] += 1;
        }
    }
}

/// The same operations in both, in a random order, whatever shortcuts one of them takes.
#[test]
fn shortcuts_make_no_difference() {
    let mut rng = raddle_schedule::rng::Rng::new(7);
    let mut clocks = Clocks::new();
    clocks.set_up();
    for most in [3, 6, 14, 40, 70, 5] {
        clocks.begin(1);
        let mut plain = Plain::default();
        plain.threads.push(vec![1]);
        plain.acquirable.push(Vec::new());
        plain.released.push(None);
        for _ in 0..4000 {
            let mut below = |bound: usize| rng.below(bound as u64) as usize;
            let (object, what) = (below(4), below(40));
            let slot = below(plain.threads.len());
            let order = [RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST][below(5)];
            let other = below(plain.threads.len());
            if plain.free.contains(&slot) {
                continue;
            }
            match what {
                0 | 1 if plain.threads.len() < most || !plain.free.is_empty() => {
                    clocks.spawn(slot);
                    plain.spawn(slot);
                }
                2 if other != slot && !plain.free.contains(&other) => {
                    clocks.join(slot, other);
                    let ended = plain.threads[other].clone();
                    merge(&mut plain.threads[slot], &ended);
                    plain.free.push(other);
                }
                3..6 => {
                    clocks.fence(slot, order);
                    plain.fence(slot, order);
                }
                6..14 => {
                    clocks.load(slot, 64 + object * 8, order);
                    plain.load(slot, object, order);
                }
                14..18 => {
                    clocks.store(slot, 64 + object * 8, order);
                    plain.store(slot, object, order, false);
                }
                _ => {
                    clocks.modify(slot, 64 + object * 8, order);
                    plain.load(slot, object, order);
                    plain.store(slot, object, order, true);
                }
            }
            let mut expected = plain.threads[slot].clone();
            expected.resize(plain.threads.len(), 0);
            assert_eq!(clocks.row(slot), expected);
        }
    }
}
