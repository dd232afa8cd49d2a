//! `java.util.Vector`, with two bugs of its own time: `addAll` asks another vector for its size and then for each element,
//! and `lastIndexOf` reads the size before it has the lock.

use std::sync::{Mutex, MutexGuard};

use crate::{lock, lock_both};

/// With the bug of `addAll`.
pub type VectorAddAll<const FIXED: bool> = Vector<FIXED, true>;
/// With the bug of `lastIndexOf`.
pub type VectorLastIndexOf<const FIXED: bool> = Vector<true, FIXED>;

/// A list with one lock around it.
#[derive(Default)]
pub struct Vector<const ADD_ALL: bool, const LAST_INDEX_OF: bool> {
    elements: Mutex<Vec<u32>>,
}

impl<const ADD_ALL: bool, const LAST_INDEX_OF: bool> Vector<ADD_ALL, LAST_INDEX_OF> {
    /// A list of these elements.
    pub fn new(elements: Vec<u32>) -> Self {
        Self {
            elements: Mutex::new(elements),
        }
    }

    fn elements(&self) -> MutexGuard<'_, Vec<u32>> {
        lock(&self.elements)
    }

    /// How many elements there are.
    pub fn size(&self) -> usize {
        self.elements().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.elements().is_empty()
    }

    /// An element.
    pub fn get(&self, index: usize) -> Option<u32> {
        self.elements().get(index).copied()
    }

    /// Changes an element.
    pub fn set(&self, index: usize, element: u32) -> Option<u32> {
        let mut elements = self.elements();
        elements
            .get_mut(index)
            .map(|old| std::mem::replace(old, element))
    }

    /// Adds an element at the end.
    pub fn add(&self, element: u32) -> usize {
        let mut elements = self.elements();
        elements.push(element);
        elements.len()
    }

    /// Inserts an element, at the end if there is no such place.
    pub fn insert(&self, index: usize, element: u32) -> usize {
        let mut elements = self.elements();
        let index = index.min(elements.len());
        elements.insert(index, element);
        index
    }

    /// Removes an element by its place.
    pub fn remove_at(&self, index: usize) -> Option<u32> {
        let mut elements = self.elements();
        (index < elements.len()).then(|| elements.remove(index))
    }

    /// Removes the first such element.
    pub fn remove(&self, element: u32) -> bool {
        let mut elements = self.elements();
        let place = elements.iter().position(|known| *known == element);
        place.map(|place| elements.remove(place)).is_some()
    }

    /// Removes all elements; how many there were.
    pub fn clear(&self) -> usize {
        std::mem::take(&mut *self.elements()).len()
    }

    /// Whether there is such an element.
    pub fn contains(&self, element: u32) -> bool {
        self.elements().contains(&element)
    }

    /// Where an element is first.
    pub fn index_of(&self, element: u32) -> Option<usize> {
        self.elements().iter().position(|known| *known == element)
    }

    /// Where an element is first, from here on.
    pub fn index_of_from(&self, element: u32, start: usize) -> Option<usize> {
        let elements = self.elements();
        let mut rest = elements.iter().enumerate().skip(start);
        rest.find(|(_, known)| **known == element)
            .map(|(index, _)| index)
    }

    /// Where an element is last.
    pub fn last_index_of(&self, element: u32) -> Option<usize> {
        if LAST_INDEX_OF {
            return self.elements().iter().rposition(|known| *known == element);
        }
        let size = self.size();
        let elements = self.elements();
        (0..size).rev().find(|index| elements[*index] == element)
    }

    /// The first element.
    pub fn first_element(&self) -> Option<u32> {
        self.elements().first().copied()
    }

    /// The last element.
    pub fn last_element(&self) -> Option<u32> {
        self.elements().last().copied()
    }

    /// A part of the list.
    pub fn sub_list(&self, start: usize, end: usize) -> Vec<u32> {
        let elements = self.elements();
        let end = end.min(elements.len());
        elements[start.min(end)..end].to_vec()
    }

    /// Removes a part of the list.
    pub fn remove_range(&self, start: usize, end: usize) -> usize {
        let mut elements = self.elements();
        let end = end.min(elements.len());
        elements.drain(start.min(end)..end).count()
    }

    /// Makes it as long as this.
    pub fn set_size(&self, size: usize) {
        self.elements().resize(size, 0);
    }

    /// All elements.
    pub fn to_array(&self) -> Vec<u32> {
        self.elements().clone()
    }

    /// Turns the list round.
    pub fn reverse(&self) -> Option<u32> {
        let mut elements = self.elements();
        elements.reverse();
        elements.first().copied()
    }

    /// Sorts the list.
    pub fn sort(&self) -> Option<u32> {
        let mut elements = self.elements();
        elements.sort_unstable();
        elements.first().copied()
    }

    /// Whether all these elements are there.
    pub fn contains_all(&self, elements: Vec<u32>) -> bool {
        let own = self.elements();
        elements.iter().all(|element| own.contains(element))
    }

    /// Adds these elements.
    pub fn add_elements(&self, elements: Vec<u32>) -> usize {
        let mut own = self.elements();
        own.extend(elements);
        own.len()
    }

    /// Adds all elements of another list.
    pub fn add_all(&self, other: &Self) -> usize {
        if ADD_ALL {
            let (mut own, other) = lock_both(&self.elements, &other.elements);
            let added = other.map_or_else(|| own.clone(), |other| other.clone());
            own.extend(added);
            return own.len();
        }
        let places = 0..other.size();
        let added: Vec<u32> = places
            .map(|index| other.get(index).expect("there is such an element"))
            .collect();
        let mut elements = self.elements();
        elements.extend(added);
        elements.len()
    }

    /// Whether the elements are these.
    pub fn equals(&self, elements: Vec<u32>) -> bool {
        *self.elements() == elements
    }

    /// Adds something to each element.
    pub fn add_to_each(&self, number: u32) -> usize {
        let mut elements = self.elements();
        elements
            .iter_mut()
            .for_each(|element| *element = element.wrapping_add(number));
        elements.len()
    }
}
