//! A cache of objects with a cleaner that sleeps between two rounds: whoever changes the interval wakes it if it sleeps,
//! but whether it does is written outside of the lock. What the objects take is counted in two steps.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Cleans a cache now and then.
pub struct Cleaner<const FIXED: bool> {
    interval: Mutex<u64>,
    sleeps: AtomicBool,
    is_interrupted: AtomicBool,
}

impl<const FIXED: bool> Cleaner<FIXED> {
    /// With this interval.
    pub const fn new(interval: u64) -> Self {
        Self {
            interval: Mutex::new(interval),
            sleeps: AtomicBool::new(false),
            is_interrupted: AtomicBool::new(false),
        }
    }

    /// Changes the interval; one that sleeps for the old one is interrupted.
    pub fn set_interval(&self, interval: u64) {
        let mut own = self.interval.lock().unwrap();
        *own = interval;
        if self.sleeps.load(Relaxed) {
            self.is_interrupted.store(true, Relaxed);
        }
    }

    /// Sleeps once; whether it was for the whole interval.
    pub fn sleep(&self) -> bool {
        if FIXED {
            let _interval = self.interval.lock().unwrap();
            self.sleeps.store(true, Relaxed);
            let is_whole = !self.is_interrupted.swap(false, Relaxed);
            self.sleeps.store(false, Relaxed);
            return is_whole;
        }
        self.sleeps.store(true, Relaxed);
        let is_whole = !self.is_interrupted.swap(false, Relaxed);
        self.sleeps.store(false, Relaxed);
        is_whole
    }

    /// Cleans a cache, for which it must not be interrupted.
    pub fn clean(&self, cache: &Cache<FIXED>) {
        assert!(
            !self.is_interrupted.load(Relaxed),
            "the cleaner is interrupted at work"
        );
        cache.evict();
    }
}

/// Objects by their numbers.
pub struct Cache<const FIXED: bool> {
    objects: Mutex<HashMap<u64, u64>>,
    memory: Mutex<u64>,
    limit: u64,
}

impl<const FIXED: bool> Cache<FIXED> {
    /// That may take so much memory.
    pub fn new(limit: u64) -> Self {
        Self {
            objects: Mutex::new(HashMap::new()),
            memory: Mutex::new(0),
            limit,
        }
    }

    /// Puts an object of a size in.
    pub fn put(&self, number: u64, size: u64) {
        if FIXED {
            let mut objects = self.objects.lock().unwrap();
            let mut memory = self.memory.lock().unwrap();
            let old = objects.insert(number, size).unwrap_or(0);
            *memory = *memory + size - old;
            return;
        }
        let old = self.get(number).unwrap_or(0);
        self.objects.lock().unwrap().insert(number, size);
        let mut memory = self.memory.lock().unwrap();
        *memory = *memory + size - old;
    }

    /// The size of an object.
    pub fn get(&self, number: u64) -> Option<u64> {
        self.objects.lock().unwrap().get(&number).copied()
    }

    /// Throws everything out if it takes too much.
    pub fn evict(&self) {
        let mut objects = self.objects.lock().unwrap();
        let mut memory = self.memory.lock().unwrap();
        if *memory > self.limit {
            objects.clear();
            *memory = 0;
        }
    }

    /// Whether the memory is that of all objects.
    pub fn is_exact(&self) -> bool {
        let objects = self.objects.lock().unwrap();
        let memory = self.memory.lock().unwrap();
        objects.values().sum::<u64>() == *memory
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Cache, Cleaner};
    use std::thread;

    fn clean<const FIXED: bool>() {
        let (cache, cleaner) = (Cache::<FIXED>::new(10), Cleaner::new(5));
        thread::scope(|scope| {
            scope.spawn(|| cleaner.set_interval(3));
            cleaner.sleep();
            cleaner.clean(&cache);
        });
    }

    fn put<const FIXED: bool>() {
        let cache = Cache::<FIXED>::new(10);
        thread::scope(|scope| {
            scope.spawn(|| cache.put(1, 2));
            cache.put(1, 3);
        });
        assert!(cache.is_exact(), "the memory is wrong");
    }

    #[test]
    fn bug() {
        clean::<false>();
    }

    #[test]
    fn bug_of_put() {
        put::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        clean::<true>();
        put::<true>();
    }
}
