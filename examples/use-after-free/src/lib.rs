//! A desk with one document. Who opens the document gets a handle and reads through it later.
//! Each step takes the lock, but nothing keeps the document there in between: a use after free.

use std::sync::Mutex;

/// A desk with one document.
pub struct Desk {
    document: Mutex<*mut u64>,
}

/// Where the document was when it was opened.
#[derive(Clone, Copy)]
pub struct Handle(*mut u64);

// SAFETY: the pointers are only followed under the lock.
unsafe impl Send for Desk {}
// SAFETY: the same.
unsafe impl Sync for Desk {}

impl Desk {
    /// A desk with this document.
    pub fn new(document: u64) -> Self {
        let document = Box::into_raw(Box::new(document));
        Self {
            document: Mutex::new(document),
        }
    }

    /// A handle on the document, if it is still there.
    pub fn open(&self) -> Option<Handle> {
        let document = self.document.lock().unwrap();
        (!document.is_null()).then_some(Handle(*document))
    }

    /// Reads through a handle.
    pub fn read(&self, handle: Handle) -> u64 {
        let _document = self.document.lock().unwrap();
        // SAFETY: wrong: the document may have been shredded since it was opened.
        unsafe { *handle.0 }
    }

    /// Throws the document away.
    pub fn shred(&self) {
        let mut document = self.document.lock().unwrap();
        if !document.is_null() {
            // SAFETY: it came from a box and nobody takes it again.
            drop(unsafe { Box::from_raw(*document) });
            *document = std::ptr::null_mut();
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.shred();
    }
}

#[cfg(test)]
mod tests {
    use super::Desk;
    use std::thread;

    #[test]
    fn a_document_is_read_or_gone() {
        let desk = Desk::new(7);
        thread::scope(|scope| {
            scope.spawn(|| {
                if let Some(handle) = desk.open() {
                    assert_eq!(desk.read(handle), 7);
                }
            });
            scope.spawn(|| desk.shred());
        });
    }
}
