//! A list with room for two. Whether there is room is asked first and the place is taken
//! afterwards, so three writers may get three places: a write beyond the end.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROOM: usize = 2;

/// A list with room for two.
pub struct List {
    places: *mut MaybeUninit<u64>,
    taken: AtomicUsize,
}

// SAFETY: each place is written by the one who took it.
unsafe impl Send for List {}
// SAFETY: the same.
unsafe impl Sync for List {}

impl List {
    /// An empty list.
    pub fn new() -> Self {
        let places = Box::new([const { MaybeUninit::<u64>::uninit() }; ROOM]);
        Self {
            places: Box::into_raw(places).cast(),
            taken: AtomicUsize::new(0),
        }
    }

    /// Adds a value; false if there is no room.
    pub fn add(&self, value: u64) -> bool {
        if self.taken.load(Ordering::Relaxed) >= ROOM {
            return false;
        }
        let place = self.taken.fetch_add(1, Ordering::Relaxed);
        // SAFETY: wrong: others may have taken the last place since there was room.
        unsafe { (*self.places.add(place)).write(value) };
        true
    }
}

impl Default for List {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: it came from a box of that type.
        drop(unsafe { Box::from_raw(self.places.cast::<[MaybeUninit<u64>; ROOM]>()) });
    }
}

#[cfg(test)]
mod tests {
    use super::List;
    use std::thread;

    #[test]
    fn three_writers_share_two_places() {
        let list = List::new();
        thread::scope(|scope| {
            for value in 0..3 {
                let list = &list;
                scope.spawn(move || list.add(value));
            }
        });
    }
}
