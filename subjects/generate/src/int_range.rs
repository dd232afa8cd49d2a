//! `org.apache.commons.lang.math.IntRange`: two numbers that belong together are written and read one after the other.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};

use crate::lock;

/// A range of numbers that can be moved.
#[derive(Default)]
pub struct IntRange<const FIXED: bool> {
    least: AtomicU32,
    most: AtomicU32,
    both: Mutex<()>,
}

impl<const FIXED: bool> IntRange<FIXED> {
    /// From one number to another, whichever is the larger.
    pub fn new(one: u32, other: u32) -> Self {
        Self {
            least: AtomicU32::new(one.min(other)),
            most: AtomicU32::new(one.max(other)),
            both: Mutex::default(),
        }
    }

    fn guard(&self) -> Option<MutexGuard<'_, ()>> {
        FIXED.then(|| lock(&self.both))
    }

    fn both(&self) -> (u32, u32) {
        let _guard = self.guard();
        (self.least.load(SeqCst), self.most.load(SeqCst))
    }

    /// The least number.
    pub fn minimum(&self) -> u32 {
        self.both().0
    }

    /// The largest number.
    pub fn maximum(&self) -> u32 {
        self.both().1
    }

    /// Makes it another range.
    pub fn set(&self, one: u32, other: u32) {
        let _guard = self.guard();
        self.least.store(one.min(other), SeqCst);
        self.most.store(one.max(other), SeqCst);
    }

    /// How many numbers there are.
    pub fn width(&self) -> u32 {
        let (least, most) = self.both();
        most.wrapping_sub(least).wrapping_add(1)
    }

    /// Whether a number lies in it.
    pub fn contains(&self, number: u32) -> bool {
        let (least, most) = self.both();
        (least..=most).contains(&number)
    }

    /// Whether a range lies in it.
    pub fn contains_range(&self, one: u32, other: u32) -> bool {
        let (least, most) = self.both();
        least <= one.min(other) && one.max(other) <= most
    }

    /// Whether a range has a number in common with it.
    pub fn overlaps(&self, one: u32, other: u32) -> bool {
        let (least, most) = self.both();
        one.min(other) <= most && least <= one.max(other)
    }

    /// All numbers.
    pub fn to_array(&self) -> Vec<u32> {
        let (least, most) = self.both();
        let mut array = vec![0; (most - least) as usize + 1];
        for (index, number) in (least..=most).enumerate() {
            array[index] = number;
        }
        array
    }

    /// `Range[0,3]`
    pub fn to_text(&self) -> String {
        let (least, most) = self.both();
        format!("Range[{least},{most}]")
    }
}
