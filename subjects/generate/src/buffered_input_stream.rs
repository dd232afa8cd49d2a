//! `java.io.BufferedInputStream`: `read` looks whether the stream is open, and then takes the buffer, which `close` may have
//! dropped in between.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lock;

/// A stream of bytes with a buffer.
pub struct BufferedInputStream<const FIXED: bool> {
    buffer: Mutex<Option<Vec<u8>>>,
    position: Mutex<usize>,
    marked: AtomicUsize,
}

impl<const FIXED: bool> BufferedInputStream<FIXED> {
    /// A stream of these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            buffer: Mutex::new(Some(bytes)),
            position: Mutex::new(0),
            marked: AtomicUsize::new(0),
        }
    }

    /// Whether nobody has closed it.
    pub fn is_open(&self) -> bool {
        lock(&self.buffer).is_some()
    }

    /// The next byte, if there is one.
    pub fn read(&self) -> Option<u8> {
        let mut position = lock(&self.position);
        if FIXED {
            let byte = lock(&self.buffer).as_ref()?.get(*position).copied();
            *position += usize::from(byte.is_some());
            return byte;
        }
        if !self.is_open() {
            return None;
        }
        let buffer = lock(&self.buffer);
        let byte = buffer
            .as_ref()
            .expect("the stream is open")
            .get(*position)
            .copied();
        *position += usize::from(byte.is_some());
        byte
    }

    /// The next bytes, no more than so many.
    pub fn read_many(&self, most: usize) -> Vec<u8> {
        let mut position = lock(&self.position);
        let buffer = lock(&self.buffer);
        let rest = buffer
            .as_ref()
            .map_or(&[][..], |bytes| &bytes[(*position).min(bytes.len())..]);
        let read = rest[..most.min(rest.len())].to_vec();
        *position += read.len();
        read
    }

    /// Passes over bytes; how many there were.
    pub fn skip(&self, most: usize) -> usize {
        self.read_many(most).len()
    }

    /// How many bytes are left.
    pub fn available(&self) -> usize {
        let position = lock(&self.position);
        let buffer = lock(&self.buffer);
        buffer
            .as_ref()
            .map_or(0, |bytes| bytes.len().saturating_sub(*position))
    }

    /// Remembers where reading is.
    pub fn mark(&self) {
        let position = lock(&self.position);
        self.marked.store(*position, Ordering::SeqCst);
    }

    /// Goes back to where it was remembered.
    pub fn reset(&self) -> usize {
        let mut position = lock(&self.position);
        *position = self.marked.load(Ordering::SeqCst);
        *position
    }

    /// Whether it can go back.
    pub fn mark_supported(&self) -> bool {
        true
    }

    /// Closes it; whether somebody else had.
    pub fn close(&self) -> bool {
        lock(&self.buffer).take().is_none()
    }
}
