//! The website downloader: spiders share a queue of addresses. Whether there is one is asked before it is taken, and how many
//! pages are being fetched stands in a word that is not always changed under the lock.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What all spiders share.
pub struct Spider<const FIXED: bool> {
    queue: Mutex<VecDeque<String>>,
    fetching: AtomicU64,
    fetched: Mutex<u64>,
}

impl<const FIXED: bool> Spider<FIXED> {
    /// Begins with these addresses.
    pub fn new(addresses: &[&str]) -> Self {
        Self {
            queue: Mutex::new(
                addresses
                    .iter()
                    .map(|address| (*address).to_owned())
                    .collect(),
            ),
            fetching: AtomicU64::new(0),
            fetched: Mutex::new(0),
        }
    }

    /// Number of addresses that wait.
    pub fn waiting(&self) -> usize {
        self.queue.lock().unwrap().len()
    }

    fn take(&self) -> Option<String> {
        self.queue.lock().unwrap().pop_front()
    }

    /// The next address, if there is one.
    pub fn next(&self) -> Option<String> {
        if FIXED {
            return self.take();
        }
        if self.waiting() == 0 {
            return None;
        }
        Some(self.take().expect("there is no address"))
    }

    /// Begins to fetch a page.
    pub fn begin(&self) {
        let _fetched = self.fetched.lock().unwrap();
        let fetching = self.fetching.load(Relaxed);
        self.fetching.store(fetching + 1, Relaxed);
    }

    /// A page is there.
    pub fn end(&self) {
        let mut fetched = self.fetched.lock().unwrap();
        *fetched += 1;
        if !FIXED {
            drop(fetched);
            let fetching = self.fetching.load(Relaxed);
            self.fetching.store(fetching - 1, Relaxed);
            return;
        }
        let fetching = self.fetching.load(Relaxed);
        self.fetching.store(fetching - 1, Relaxed);
    }

    /// Pages that are being fetched.
    pub fn fetching(&self) -> u64 {
        self.fetching.load(Relaxed)
    }

    /// Pages that are there.
    pub fn fetched(&self) -> u64 {
        *self.fetched.lock().unwrap()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Spider;
    use std::thread;

    fn crawl<const FIXED: bool>(spider: &Spider<FIXED>) {
        while spider.next().is_some() {}
    }

    fn run<const FIXED: bool>() {
        let spider = Spider::<FIXED>::new(&["/a", "/b"]);
        thread::scope(|scope| {
            scope.spawn(|| crawl(&spider));
            crawl(&spider);
        });
        assert_eq!(spider.waiting(), 0);
    }

    fn count<const FIXED: bool>() {
        let spider = Spider::<FIXED>::new(&[]);
        let fetch = || {
            spider.begin();
            spider.end();
        };
        thread::scope(|scope| {
            scope.spawn(fetch);
            fetch();
        });
        assert_eq!(spider.fetched(), 2);
        assert_eq!(spider.fetching(), 0, "a page is fetched for ever");
    }

    #[test]
    fn bug() {
        run::<false>();
    }

    #[test]
    fn bug_of_count() {
        count::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        run::<true>();
        count::<true>();
    }
}
