//! Writes findings into the shared memory, record by record.

use crate::shared::shared;
use crate::world::world;
use core::sync::atomic::Ordering;
use raddle_abi::control::{FINDINGS_OFFSET, FINDINGS_SIZE, OUTPUT_SIZE};
use raddle_abi::finding::{FindingHeader, Kind, PartHeader, Step, Wait, part};

/// A record under construction at the end of the findings area. It becomes visible to the
/// tool with [`Record::commit`], so half a record never is.
pub struct Record {
    start: usize,
    len: usize,
    full: bool,
}

impl Record {
    /// Begins a finding of the execution under way. Every occurrence is counted; `None` if a
    /// finding with this key was written before.
    pub fn begin(kind: Kind, key: u64, detail: [u64; 2]) -> Option<Self> {
        let shared = shared();
        shared.control().occurrences[kind as usize].fetch_add(1, Ordering::Relaxed);
        if !shared.is_new(key) {
            return None;
        }
        Some(Self::new(kind, detail))
    }

    /// Begins a record that is no finding; `None` if one with this key was written before.
    pub fn begin_uncounted(kind: Kind, key: u64, detail: [u64; 2]) -> Option<Self> {
        shared().is_new(key).then(|| Self::new(kind, detail))
    }

    fn new(kind: Kind, detail: [u64; 2]) -> Self {
        let shared = shared();
        let execution = &world().execution;
        let used = shared.control().findings.load(Ordering::Relaxed) as usize;
        let mut record = Self {
            start: used,
            len: 0,
            full: false,
        };
        record.put(&FindingHeader {
            size: 0,
            kind: kind as u32,
            execution: shared.control().executions.load(Ordering::Relaxed),
            seed: shared.control().seed.load(Ordering::Relaxed),
            length: shared.control().length.load(Ordering::Relaxed),
            points: execution.point,
            hash: execution.hash,
            detail,
        });
        record
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        let end = self.start + self.len + bytes.len() + 8;
        if self.full || end > FINDINGS_SIZE {
            self.full = true;
            return;
        }
        let place = (shared().at(FINDINGS_OFFSET) + self.start + self.len) as *mut u8;
        // SAFETY: inside the findings area.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        self.len += bytes.len();
    }

    fn put<T: Copy>(&mut self, value: &T) {
        // SAFETY: the records of the ABI have no padding.
        let bytes = unsafe {
            core::slice::from_raw_parts(
                core::ptr::from_ref(value).cast::<u8>(),
                core::mem::size_of::<T>(),
            )
        };
        self.put_bytes(bytes);
    }

    fn pad(&mut self) {
        const ZEROS: [u8; 8] = [0; 8];
        self.put_bytes(&ZEROS[..(8 - self.len % 8) % 8]);
    }

    fn put_words(&mut self, words: &[u64]) {
        for word in words {
            self.put(word);
        }
    }

    /// Adds a step with its stack.
    pub fn step(&mut self, step: Step, frames: &[u64]) {
        let len = core::mem::size_of::<Step>() + frames.len() * 8;
        self.put(&PartHeader {
            tag: part::STEP,
            len: len as u32,
        });
        self.put(&Step {
            frames: frames.len() as u32,
            ..step
        });
        self.put_words(frames);
    }

    /// Adds a blocked thread.
    pub fn wait(&mut self, wait: Wait, holders: &[u32], frames: &[u64]) {
        let holder_bytes = (holders.len() * 4 + 7) & !7;
        let len = core::mem::size_of::<Wait>() + holder_bytes + frames.len() * 8;
        self.put(&PartHeader {
            tag: part::WAIT,
            len: len as u32,
        });
        self.put(&Wait {
            holders: holders.len() as u32,
            frames: frames.len() as u32,
            ..wait
        });
        for holder in holders {
            self.put(holder);
        }
        self.pad();
        self.put_words(frames);
    }

    /// Adds decisions and output, and makes the record visible.
    pub fn commit(mut self) {
        let decisions = shared().decisions();
        // SAFETY: decisions are plain data without padding.
        let bytes = unsafe {
            core::slice::from_raw_parts(
                decisions.as_ptr().cast::<u8>(),
                core::mem::size_of_val(decisions),
            )
        };
        self.put(&PartHeader {
            tag: part::DECISIONS,
            len: bytes.len() as u32,
        });
        self.put_bytes(bytes);
        self.pad();
        const TAIL: usize = OUTPUT_SIZE / 16;
        let output = shared().output();
        let output = &output[output.len().saturating_sub(TAIL)..];
        self.put(&PartHeader {
            tag: part::OUTPUT,
            len: output.len() as u32,
        });
        self.put_bytes(output);
        self.pad();
        self.finish();
    }

    /// Makes the record visible as it is.
    pub fn finish(self) {
        if self.full {
            return;
        }
        let header = (shared().at(FINDINGS_OFFSET) + self.start) as *mut FindingHeader;
        // SAFETY: the header stands at the start of the record.
        unsafe { (*header).size = self.len as u32 };
        let end = (self.start + self.len) as u32;
        shared().control().findings.store(end, Ordering::Release);
    }
}
