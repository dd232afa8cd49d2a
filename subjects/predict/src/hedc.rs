//! The web crawler for astrophysics data: a task that is cancelled has a worker, or not any more. Whether it has one is
//! asked under the lock, and the worker is taken under the lock again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Who does a task.
#[derive(Default)]
pub struct Worker {
    is_stopped: AtomicBool,
}

impl Worker {
    /// Asks it to stop.
    pub fn stop(&self) {
        self.is_stopped.store(true, SeqCst);
    }

    /// Whether it should stop.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(SeqCst)
    }
}

/// A search in one archive.
pub struct Task<const FIXED: bool> {
    worker: Mutex<Option<Worker>>,
    result: Mutex<Option<String>>,
}

impl<const FIXED: bool> Task<FIXED> {
    /// A task that nobody does yet.
    pub const fn new() -> Self {
        Self {
            worker: Mutex::new(None),
            result: Mutex::new(None),
        }
    }

    /// Somebody does it from now on.
    pub fn start(&self) {
        *self.worker.lock().unwrap() = Some(Worker::default());
    }

    /// Whether somebody does it.
    pub fn is_running(&self) -> bool {
        self.worker.lock().unwrap().is_some()
    }

    /// Does it, and is done with it.
    pub fn run(&self, query: &str) {
        let found = format!("results for {query}");
        *self.result.lock().unwrap() = Some(found);
        *self.worker.lock().unwrap() = None;
    }

    /// Stops whoever does it.
    pub fn cancel(&self) {
        if FIXED {
            if let Some(worker) = self.worker.lock().unwrap().as_ref() {
                worker.stop();
            }
            return;
        }
        if self.is_running() {
            let worker = self.worker.lock().unwrap();
            worker.as_ref().expect("nobody works on the task").stop();
        }
    }

    /// What was found.
    pub fn result(&self) -> Option<String> {
        self.result.lock().unwrap().clone()
    }
}

impl<const FIXED: bool> Default for Task<FIXED> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Task;
    use std::thread;

    fn run<const FIXED: bool>() {
        let task = Task::<FIXED>::new();
        task.start();
        thread::scope(|scope| {
            scope.spawn(|| task.run("flares"));
            task.cancel();
        });
        assert!(task.result().is_some());
    }

    #[test]
    fn bug() {
        run::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        run::<true>();
    }
}
