//! `StringBuffer.append(StringBuffer)` of the JDK: the other buffer's length and its characters are read in two steps,
//! each of which is synchronised. Whoever shortens the other buffer in between makes the second step fail.

use std::sync::Mutex;

/// A string that several threads may change.
pub struct StringBuffer<const FIXED: bool> {
    text: Mutex<String>,
}

impl<const FIXED: bool> StringBuffer<FIXED> {
    /// A buffer with this text.
    pub fn new(text: &str) -> Self {
        Self {
            text: Mutex::new(text.to_owned()),
        }
    }

    /// Its length.
    pub fn len(&self) -> usize {
        self.text.lock().unwrap().len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its first characters.
    pub fn first(&self, len: usize) -> String {
        let text = self.text.lock().unwrap();
        assert!(len <= text.len(), "the index is out of range");
        text[..len].to_owned()
    }

    /// Appends another buffer's text.
    pub fn append(&self, other: &Self) {
        let mut text = self.text.lock().unwrap();
        if FIXED {
            text.push_str(&other.text.lock().unwrap());
            return;
        }
        let len = other.len();
        let appended = other.first(len);
        text.push_str(&appended);
    }

    /// Inserts a text at its beginning.
    pub fn prepend(&self, start: &str) {
        self.text.lock().unwrap().insert_str(0, start);
    }

    /// Deletes characters.
    pub fn delete(&self, from: usize, to: usize) {
        let mut text = self.text.lock().unwrap();
        let to = to.min(text.len());
        if from < to {
            text.drain(from..to);
        }
    }

    /// Makes it shorter.
    pub fn set_len(&self, len: usize) {
        self.text.lock().unwrap().truncate(len);
    }

    /// The text.
    pub fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::StringBuffer;
    use std::thread;

    fn run<const FIXED: bool>() {
        let buffer = StringBuffer::<FIXED>::new("abc");
        let other = StringBuffer::new("defghi");
        thread::scope(|scope| {
            scope.spawn(|| {
                other.prepend("x");
                other.delete(0, 4);
            });
            buffer.append(&other);
        });
        assert!(buffer.text().starts_with("abc"));
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
