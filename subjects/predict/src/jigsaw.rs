//! W3C's web server: a header's bytes and their number are changed one after the other, and the server's log is asked for
//! before it is used, while a shutdown closes it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A header that is turned into bytes once and sent many times.
pub struct Header<const FIXED: bool> {
    raw: Mutex<Vec<u8>>,
    len: AtomicUsize,
}

impl<const FIXED: bool> Header<FIXED> {
    /// With this text.
    pub fn new(text: &str) -> Self {
        Self {
            raw: Mutex::new(text.as_bytes().to_vec()),
            len: AtomicUsize::new(text.len()),
        }
    }

    /// Changes it.
    pub fn set(&self, text: &str) {
        let mut raw = self.raw.lock().unwrap();
        *raw = text.as_bytes().to_vec();
        let len = raw.len();
        if !FIXED {
            drop(raw);
            self.len.store(len, Relaxed);
            return;
        }
        self.len.store(len, Relaxed);
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let raw = self.raw.lock().unwrap();
        let len = self.len.load(Relaxed);
        raw.get(..len)
            .expect("the header is shorter than its length")
            .to_vec()
    }
}

/// Where requests are written down.
#[derive(Default)]
pub struct Log {
    lines: Vec<String>,
}

/// The server.
pub struct Server<const FIXED: bool> {
    log: Mutex<Option<Log>>,
    requests: Mutex<u64>,
}

impl<const FIXED: bool> Server<FIXED> {
    /// It runs.
    pub fn new() -> Self {
        Self {
            log: Mutex::new(Some(Log::default())),
            requests: Mutex::new(0),
        }
    }

    /// Whether it runs.
    pub fn is_open(&self) -> bool {
        self.log.lock().unwrap().is_some()
    }

    /// Answers a request, and writes it down.
    pub fn answer(&self, path: &str) -> bool {
        *self.requests.lock().unwrap() += 1;
        if FIXED {
            let mut log = self.log.lock().unwrap();
            if let Some(log) = log.as_mut() {
                log.lines.push(path.to_owned());
            }
            return log.is_some();
        }
        if !self.is_open() {
            return false;
        }
        let mut log = self.log.lock().unwrap();
        log.as_mut()
            .expect("the log is closed")
            .lines
            .push(path.to_owned());
        true
    }

    /// Ends it; the number of lines in its log.
    pub fn shut_down(&self) -> Option<usize> {
        let log = self.log.lock().unwrap().take()?;
        Some(log.lines.len())
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        *self.requests.lock().unwrap()
    }
}

impl<const FIXED: bool> Default for Server<FIXED> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Header, Server};
    use std::thread;

    fn set<const FIXED: bool>() {
        let header = Header::<FIXED>::new("text/html");
        thread::scope(|scope| {
            scope.spawn(|| header.set("text/plain"));
            header.set("*/*");
        });
        header.bytes();
    }

    fn shut_down<const FIXED: bool>() {
        let server = Server::<FIXED>::new();
        thread::scope(|scope| {
            scope.spawn(|| server.shut_down());
            server.answer("/index.html");
        });
        assert_eq!(server.requests(), 1);
    }

    #[test]
    fn bug() {
        set::<false>();
    }

    #[test]
    fn bug_of_shut_down() {
        shut_down::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        set::<true>();
        shut_down::<true>();
    }
}
