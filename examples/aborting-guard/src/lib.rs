//! A house that counts its guests. Whoever leaves looks first whether there is anybody, and is
//! taken off the count afterwards: two may leave where one was, and then the house gives up.

use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A house with guests.
#[derive(Default)]
pub struct House {
    guests: AtomicUsize,
}

impl House {
    /// A guest comes.
    pub fn come(&self) {
        self.guests.fetch_add(1, Ordering::SeqCst);
    }

    /// A guest leaves, if there is one.
    pub fn leave(&self) {
        if self.guests.load(Ordering::SeqCst) > 0 {
            if self.guests.fetch_sub(1, Ordering::SeqCst) == 0 {
                process::abort();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::House;
    use std::thread;

    #[test]
    fn the_last_guest_leaves_once() {
        let house = House::default();
        house.come();
        thread::scope(|scope| {
            scope.spawn(|| house.leave());
            scope.spawn(|| house.leave());
        });
    }
}
