//! Keeps the end of what a worker process prints.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Bytes kept; what came before is dropped.
const KEPT: usize = 64 << 10;

/// The end of one or more output streams, filled in the background.
#[derive(Clone, Default)]
pub(crate) struct Capture {
    kept: Arc<Mutex<VecDeque<u8>>>,
}

impl Capture {
    /// Reads `stream` to its end on a thread of its own. The thread is not joined: a
    /// grandchild that outlives the worker may hold the stream open.
    pub fn read(&self, mut stream: impl Read + Send + 'static) {
        let kept = Arc::clone(&self.kept);
        // Without the thread the worker could block on a full pipe; the watchdog would say so.
        let _ = thread::Builder::new()
            .name("raddle-capture".to_owned())
            .spawn(move || {
                let mut buffer = [0; 8192];
                while let Ok(len @ 1..) = stream.read(&mut buffer) {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend(&buffer[..len]);
                    let excess = kept.len().saturating_sub(KEPT);
                    kept.drain(..excess);
                }
            });
    }

    /// What has been kept so far.
    pub fn text(&self) -> String {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn only_the_end_of_long_output_is_kept() {
        let capture = Capture::default();
        let mut long = vec![b'a'; 3 * KEPT];
        long.extend(b"the end");
        capture.read(std::io::Cursor::new(long));
        let start = Instant::now();
        while !capture.text().ends_with("the end") {
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "the reader is stuck"
            );
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(capture.text().len(), KEPT);
    }
}
