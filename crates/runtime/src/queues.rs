//! Who waits for what, first come, first served.
//!
//! What a wait costs does not depend on how many others wait: a table finds the queue of an
//! object, and a queue is a list from which anybody can be taken out.

use alloc::vec::Vec;

const NOBODY: u32 = u32::MAX;
/// Queues for which there is room at first; a power of two.
const ROOM: usize = 64;

/// A place in the queue of an object, and in those of others if a thread waits for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    entry: u32,
    /// Says whether the entry is still that of this place.
    sequence: u64,
}

impl Place {
    /// Nowhere.
    pub const NONE: Self = Self {
        entry: NOBODY,
        sequence: 0,
    };
}

/// A thread in a queue.
#[derive(Clone, Copy)]
struct Entry {
    object: usize,
    /// Order of arrival, the same in all queues that a thread stands in; 0 if the entry is free.
    sequence: u64,
    previous: u32,
    /// Who comes after it; of a free entry, the next free one.
    next: u32,
    /// The same thread's entry in another queue.
    also: u32,
    thread: u16,
}

/// The queue of an object. Once made it stays, maybe empty, until the end of the execution.
#[derive(Clone, Copy)]
struct Queue {
    object: usize,
    first: u32,
    last: u32,
    run: u64,
}

const NO_QUEUE: Queue = Queue {
    object: 0,
    first: NOBODY,
    last: NOBODY,
    run: 0,
};

/// All queues of an execution.
#[derive(Clone)]
pub struct Queues {
    /// A hash table, in which those of earlier runs count as free.
    table: Vec<Queue>,
    used: usize,
    run: u64,
    entries: Vec<Entry>,
    /// The first free entry.
    free: u32,
    /// The last number in the order of arrival.
    sequence: u64,
}

impl Queues {
    /// Nobody waits.
    pub const fn new() -> Self {
        Self {
            table: Vec::new(),
            used: 0,
            run: 1,
            entries: Vec::new(),
            free: NOBODY,
            sequence: 0,
        }
    }

    /// Goes back to what `start` is, reusing all memory.
    pub fn restart(&mut self, start: &Self) {
        self.run += 1;
        self.used = 0;
        self.entries.clear();
        self.entries.extend_from_slice(&start.entries);
        self.free = start.free;
        self.sequence = start.sequence;
        for (index, entry) in start.entries.iter().enumerate() {
            if entry.sequence != 0 && entry.previous == NOBODY {
                let last = start.find(entry.object).map_or(NOBODY, |queue| queue.last);
                let queue = self.of(entry.object);
                (queue.first, queue.last) = (index as u32, last);
            }
        }
    }

    /// Puts a thread behind those who wait for `object`, and for all of `others`.
    pub fn join(&mut self, thread: usize, object: usize, others: &[usize]) -> Place {
        self.sequence += 1;
        let mut also = NOBODY;
        for other in others.iter().filter(|other| **other != object) {
            also = self.append(thread, *other, also);
        }
        Place {
            entry: self.append(thread, object, also),
            sequence: self.sequence,
        }
    }

    /// Takes who has this place out of all queues that come with it, if it still stands there.
    pub fn leave(&mut self, place: Place) {
        let mut index = place.entry;
        while let Some(entry) = self.entries.get_mut(index as usize) {
            if entry.sequence != place.sequence {
                return;
            }
            let gone = *entry;
            entry.sequence = 0;
            entry.next = core::mem::replace(&mut self.free, index);
            match self.entries.get_mut(gone.previous as usize) {
                Some(previous) => previous.next = gone.next,
                None => self.of(gone.object).first = gone.next,
            }
            match self.entries.get_mut(gone.next as usize) {
                Some(next) => next.previous = gone.previous,
                None => self.of(gone.object).last = gone.previous,
            }
            index = gone.also;
        }
    }

    /// The threads that wait for `object`, first come first.
    pub fn waiting(&self, object: usize) -> impl Iterator<Item = usize> + '_ {
        let mut next = self.find(object).map_or(NOBODY, |queue| queue.first);
        core::iter::from_fn(move || {
            let entry = self.entries.get(next as usize)?;
            next = entry.next;
            Some(usize::from(entry.thread))
        })
    }

    /// Whether a thread stands in any queue.
    pub fn contain(&self, thread: usize) -> bool {
        let is_it = |entry: &Entry| entry.sequence != 0 && usize::from(entry.thread) == thread;
        self.entries.iter().any(is_it)
    }

    fn append(&mut self, thread: usize, object: usize, also: u32) -> u32 {
        let index = match self.entries.get(self.free as usize) {
            Some(free) => core::mem::replace(&mut self.free, free.next),
            None => self.entries.len() as u32,
        };
        let previous = core::mem::replace(&mut self.of(object).last, index);
        let entry = Entry {
            object,
            sequence: self.sequence,
            previous,
            next: NOBODY,
            also,
            thread: thread as u16,
        };
        match self.entries.get_mut(index as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        match self.entries.get_mut(previous as usize) {
            Some(previous) => previous.next = index,
            None => self.of(object).first = index,
        }
        index
    }

    /// Where the queue of `object` stands in the table, or would.
    fn slot(&self, object: usize) -> usize {
        let mask = self.table.len() - 1;
        let mut index = object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & mask;
        while self.table[index].run == self.run && self.table[index].object != object {
            index = (index + 1) & mask;
        }
        index
    }

    fn find(&self, object: usize) -> Option<&Queue> {
        if self.used == 0 {
            return None;
        }
        Some(&self.table[self.slot(object)]).filter(|queue| queue.run == self.run)
    }

    /// The queue of `object`, made if needed.
    fn of(&mut self, object: usize) -> &mut Queue {
        if self.used * 2 >= self.table.len() {
            self.grow();
        }
        let slot = self.slot(object);
        let queue = &mut self.table[slot];
        if queue.run != self.run {
            *queue = Queue {
                object,
                run: self.run,
                ..NO_QUEUE
            };
            self.used += 1;
        }
        queue
    }

    fn grow(&mut self) {
        let room = (self.table.len() * 2).max(ROOM);
        let old = core::mem::replace(&mut self.table, alloc::vec![NO_QUEUE; room]);
        for queue in old.into_iter().filter(|queue| queue.run == self.run) {
            let slot = self.slot(queue.object);
            self.table[slot] = queue;
        }
    }
}

impl Default for Queues {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(queues: &Queues, object: usize) -> Vec<usize> {
        queues.waiting(object).collect()
    }

    #[test]
    fn who_comes_first_is_first_and_anybody_may_leave() {
        let mut queues = Queues::new();
        assert!(waiting(&queues, 8).is_empty());
        let places: Vec<Place> = (0..4).map(|thread| queues.join(thread, 8, &[])).collect();
        queues.join(9, 16, &[]);
        assert_eq!(waiting(&queues, 8), [0, 1, 2, 3]);
        queues.leave(places[2]);
        queues.leave(places[0]);
        assert_eq!(waiting(&queues, 8), [1, 3]);
        queues.leave(places[3]);
        queues.join(5, 8, &[]);
        queues.leave(places[3]);
        assert_eq!(waiting(&queues, 8), [1, 5], "whoever has left has left");
        assert_eq!(waiting(&queues, 16), [9]);
        assert!(queues.contain(5) && !queues.contain(3));
        queues.leave(Place::NONE);
        assert_eq!(waiting(&queues, 8), [1, 5]);
    }

    #[test]
    fn who_waits_for_several_objects_leaves_all_queues_at_once() {
        let mut queues = Queues::new();
        queues.join(1, 16, &[]);
        let place = queues.join(2, 8, &[16, 8, 24]);
        queues.join(3, 24, &[]);
        assert_eq!(waiting(&queues, 8), [2]);
        assert_eq!(waiting(&queues, 16), [1, 2]);
        assert_eq!(waiting(&queues, 24), [2, 3]);
        queues.leave(place);
        assert!(waiting(&queues, 8).is_empty());
        assert_eq!(waiting(&queues, 16), [1]);
        assert_eq!(waiting(&queues, 24), [3]);
        assert!(!queues.contain(2));
    }

    #[test]
    fn what_waited_at_the_start_waits_again() {
        let mut start = Queues::new();
        let gone = start.join(7, 8, &[]);
        let place = start.join(1, 8, &[]);
        start.join(2, 8, &[40]);
        start.leave(gone);
        let mut queues = start.clone();
        for _ in 0..3 {
            queues.leave(place);
            for thread in 0..1000 {
                queues.join(thread, thread * 8, &[]);
            }
            assert_eq!(waiting(&queues, 8), [2, 1]);
            assert_eq!(waiting(&queues, 40), [2, 5]);
            assert_eq!(waiting(&queues, 7992), [999]);
            queues.restart(&start);
            assert_eq!(waiting(&queues, 8), [1, 2]);
            assert_eq!(waiting(&queues, 40), [2]);
            assert!(waiting(&queues, 7992).is_empty());
        }
    }
}
