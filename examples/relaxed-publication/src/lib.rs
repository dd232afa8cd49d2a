//! A configuration that is built by one thread and published through a pointer. The pointer
//! is stored with `Relaxed`, so nothing orders the reader's look at the configuration after
//! the writer's work on it: a data race, even where the hardware happens to forgive it.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What is published.
pub struct Configuration {
    /// How many workers to start.
    pub workers: u64,
}

/// Where it is published.
#[derive(Default)]
pub struct Published {
    current: AtomicPtr<Configuration>,
}

impl Published {
    /// Publishes a configuration; the first one stays.
    pub fn publish(&self, workers: u64) {
        let fresh = Box::into_raw(Box::new(Configuration { workers }));
        let null = ptr::null_mut();
        let order = Ordering::Relaxed;
        if self
            .current
            .compare_exchange(null, fresh, order, order)
            .is_err()
        {
            // SAFETY: `fresh` was not published, so it is still ours.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }

    /// How many workers the published configuration asks for.
    pub fn workers(&self) -> Option<u64> {
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: wrong: published without `Release`, its contents may not have arrived.
        (!current.is_null()).then(|| unsafe { (*current).workers })
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        let current = *self.current.get_mut();
        if !current.is_null() {
            // SAFETY: published once, by `publish`, out of a `Box`.
            drop(unsafe { Box::from_raw(current) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Published;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn a_reader_sees_nothing_or_everything() {
        let published = Arc::new(Published::default());
        let writer = thread::spawn({
            let published = Arc::clone(&published);
            move || published.publish(4)
        });
        assert!(matches!(published.workers(), None | Some(4)));
        writer.join().unwrap();
    }
}
