//! `java.lang.StringBuffer`: `append` of another buffer reads its length and copies its characters in two steps. Whoever
//! shortens the other buffer in between makes the second one fail.

use std::sync::{Mutex, MutexGuard};

use crate::{lock, lock_both};

/// A text that several threads may change.
#[derive(Default)]
pub struct StringBuffer<const FIXED: bool> {
    text: Mutex<Vec<char>>,
}

impl<const FIXED: bool> StringBuffer<FIXED> {
    /// A buffer with this text.
    pub fn new(text: String) -> Self {
        Self {
            text: Mutex::new(text.chars().collect()),
        }
    }

    fn text(&self) -> MutexGuard<'_, Vec<char>> {
        lock(&self.text)
    }

    /// How many characters there are.
    pub fn length(&self) -> usize {
        self.text().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// The whole text.
    pub fn to_text(&self) -> String {
        self.text().iter().collect()
    }

    /// One character.
    pub fn char_at(&self, index: usize) -> Option<char> {
        self.text().get(index).copied()
    }

    /// The number of one character.
    pub fn code_point_at(&self, index: usize) -> Option<u32> {
        self.char_at(index).map(u32::from)
    }

    /// Changes one character, and returns the one that was there.
    pub fn set_char_at(&self, index: usize, letter: char) -> Option<char> {
        let mut text = self.text();
        text.get_mut(index)
            .map(|old| std::mem::replace(old, letter))
    }

    /// Appends a text.
    pub fn append_text(&self, text: String) -> usize {
        let mut own = self.text();
        own.extend(text.chars());
        own.len()
    }

    /// Appends a character.
    pub fn append_char(&self, letter: char) -> usize {
        let mut text = self.text();
        text.push(letter);
        text.len()
    }

    /// Appends a number.
    pub fn append_number(&self, number: u32) -> usize {
        self.append_text(number.to_string())
    }

    /// Appends a truth.
    pub fn append_flag(&self, flag: bool) -> usize {
        self.append_text(flag.to_string())
    }

    /// Appends another buffer's text.
    pub fn append_buffer(&self, other: &Self) -> usize {
        if FIXED {
            let (mut text, other) = lock_both(&self.text, &other.text);
            let appended = other.map_or_else(|| text.clone(), |other| other.clone());
            text.extend(appended);
            return text.len();
        }
        let len = other.length();
        let mut appended = vec!['\0'; len];
        other.get_chars(len, &mut appended);
        let mut text = self.text();
        text.extend(appended);
        text.len()
    }

    fn get_chars(&self, end: usize, place: &mut [char]) {
        place.copy_from_slice(&self.text()[..end]);
    }

    /// Inserts a text, at the end if there is no such place.
    pub fn insert(&self, index: usize, text: String) -> usize {
        let mut own = self.text();
        let index = index.min(own.len());
        own.splice(index..index, text.chars());
        own.len()
    }

    /// Inserts a character.
    pub fn insert_char(&self, index: usize, letter: char) -> usize {
        let mut text = self.text();
        let index = index.min(text.len());
        text.insert(index, letter);
        text.len()
    }

    /// Deletes characters, as far as there are any.
    pub fn delete(&self, start: usize, end: usize) -> usize {
        let mut text = self.text();
        let end = end.min(text.len());
        text.drain(start.min(end)..end).count()
    }

    /// Deletes one character.
    pub fn delete_char_at(&self, index: usize) -> Option<char> {
        let mut text = self.text();
        (index < text.len()).then(|| text.remove(index))
    }

    /// Puts a text in the place of characters.
    pub fn replace(&self, start: usize, end: usize, with: String) -> usize {
        let mut text = self.text();
        let end = end.min(text.len());
        text.splice(start.min(end)..end, with.chars());
        text.len()
    }

    /// Turns it round.
    pub fn reverse(&self) -> String {
        let mut text = self.text();
        text.reverse();
        text.iter().collect()
    }

    /// Makes it as long as this.
    pub fn set_length(&self, length: usize) {
        self.text().resize(length, ' ');
    }

    /// A part of the text.
    pub fn substring(&self, start: usize, end: usize) -> String {
        let text = self.text();
        let end = end.min(text.len());
        text[start.min(end)..end].iter().collect()
    }

    /// The text from here on.
    pub fn substring_from(&self, start: usize) -> String {
        self.substring(start, usize::MAX)
    }

    /// Where a character is first.
    pub fn index_of(&self, letter: char) -> Option<usize> {
        self.text().iter().position(|known| *known == letter)
    }

    /// Where a character is last.
    pub fn last_index_of(&self, letter: char) -> Option<usize> {
        self.text().iter().rposition(|known| *known == letter)
    }

    /// Where a character is first, from here on.
    pub fn index_of_from(&self, letter: char, start: usize) -> Option<usize> {
        let text = self.text();
        let mut rest = text.iter().enumerate().skip(start);
        rest.find(|(_, known)| **known == letter)
            .map(|(index, _)| index)
    }

    /// Whether it begins with this.
    pub fn starts_with(&self, start: String) -> bool {
        self.to_text().starts_with(&start)
    }

    /// Whether another buffer has the same text.
    pub fn content_equals(&self, text: String) -> bool {
        self.to_text() == text
    }
}
