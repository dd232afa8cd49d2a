//! What a strategy that learns from execution to execution writes down while one runs.
//!
//! An execution may run in a forked child, whose memory is gone afterwards. The runtime gives
//! the log memory that parent and child share.

use alloc::vec::Vec;

/// Words that a strategy without shared memory can write.
const OWN: usize = 1 << 16;

/// A list of words.
#[derive(Default)]
pub struct Log {
    /// The first word is the number of those that follow.
    shared: Option<&'static mut [u64]>,
    own: Vec<u64>,
}

impl Log {
    /// An empty one, in this process's memory.
    pub const fn new() -> Self {
        Self {
            shared: None,
            own: Vec::new(),
        }
    }

    /// Uses this memory from now on; its first word has to be 0.
    pub fn share(&mut self, memory: &'static mut [u64]) {
        self.shared = Some(memory);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        match &mut self.shared {
            Some(words) => words[0] = 0,
            None => self.own.clear(),
        }
    }

    /// Appends a word. False if there is no room.
    pub fn push(&mut self, word: u64) -> bool {
        match &mut self.shared {
            Some(words) => {
                let place = words[0] as usize + 1;
                let Some(free) = words.get_mut(place) else {
                    return false;
                };
                *free = word;
                words[0] += 1;
                true
            }
            None => {
                self.own.push(word);
                self.own.len() < OWN
            }
        }
    }

    /// The word at this place.
    pub fn get(&self, index: usize) -> Option<u64> {
        match &self.shared {
            Some(words) if index < words[0] as usize => words.get(index + 1).copied(),
            Some(_) => None,
            None => self.own.get(index).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_holds_what_fits() {
        let mut log = Log::new();
        log.share(Box::leak(vec![0; 3].into_boxed_slice()));
        assert!(log.push(7) && log.push(8) && !log.push(9));
        assert_eq!(
            [log.get(0), log.get(1), log.get(2)],
            [Some(7), Some(8), None]
        );
        log.clear();
        assert_eq!(log.get(0), None);
    }
}
