//! `org.jfree.data.xy.XYSeries`: `remove` looks for the place of an item, and then removes what is there by now.

use std::sync::{Mutex, MutexGuard};

use crate::lock;

/// Points in their order.
#[derive(Default)]
pub struct XYSeries<const FIXED: bool> {
    points: Mutex<Vec<(u32, u32)>>,
    key: Mutex<String>,
    description: Mutex<String>,
    most_items: Mutex<usize>,
}

impl<const FIXED: bool> XYSeries<FIXED> {
    properties! {
        key, set_key: String;
        description, set_description: String;
        most_items, set_most_items: usize;
    }

    fn points(&self) -> MutexGuard<'_, Vec<(u32, u32)>> {
        lock(&self.points)
    }

    /// How many points there are.
    pub fn item_count(&self) -> usize {
        self.points().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.points().is_empty()
    }

    /// Adds a point.
    pub fn add(&self, x: u32, y: u32) {
        let mut points = self.points();
        let place = points.partition_point(|point| point.0 <= x);
        points.insert(place, (x, y));
    }

    /// Adds a point, or changes the first with the same x.
    pub fn add_or_update(&self, x: u32, y: u32) -> Option<u32> {
        let mut points = self.points();
        if let Some(point) = points.iter_mut().find(|point| point.0 == x) {
            return Some(std::mem::replace(&mut point.1, y));
        }
        let place = points.partition_point(|point| point.0 <= x);
        points.insert(place, (x, y));
        None
    }

    /// Changes a point by its place.
    pub fn update_by_index(&self, index: usize, y: u32) -> Option<u32> {
        let mut points = self.points();
        points
            .get_mut(index)
            .map(|point| std::mem::replace(&mut point.1, y))
    }

    /// The place of a point.
    pub fn index_of(&self, x: u32) -> Option<usize> {
        self.points().iter().position(|point| point.0 == x)
    }

    /// Removes the first point with this x.
    pub fn remove(&self, x: u32) -> Option<(u32, u32)> {
        if FIXED {
            let mut points = self.points();
            let place = points.iter().position(|point| point.0 == x)?;
            return Some(points.remove(place));
        }
        let place = self.index_of(x)?;
        Some(self.points().remove(place))
    }

    /// The x of a point.
    pub fn x(&self, index: usize) -> Option<u32> {
        self.points().get(index).map(|point| point.0)
    }

    /// The y of a point.
    pub fn y(&self, index: usize) -> Option<u32> {
        self.points().get(index).map(|point| point.1)
    }

    /// The largest y.
    pub fn max_y(&self) -> Option<u32> {
        self.points().iter().map(|point| point.1).max()
    }

    /// The least y.
    pub fn min_y(&self) -> Option<u32> {
        self.points().iter().map(|point| point.1).min()
    }

    /// All points.
    pub fn to_array(&self) -> Vec<(u32, u32)> {
        self.points().clone()
    }
}
