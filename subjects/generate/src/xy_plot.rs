//! `org.jfree.chart.plot.XYPlot`: `draw` goes through the datasets by their numbers while others take some away.

use std::sync::{Mutex, MutexGuard};

use crate::lock;

/// A plot with everything that it can be told.
#[derive(Default)]
pub struct XYPlot<const FIXED: bool> {
    datasets: Mutex<Vec<u32>>,
    annotations: Mutex<Vec<String>>,
    orientation: Mutex<bool>,
    domain_axis: Mutex<u8>,
    range_axis: Mutex<u8>,
    domain_gridlines: Mutex<bool>,
    range_gridlines: Mutex<bool>,
    domain_crosshair: Mutex<u32>,
    range_crosshair: Mutex<u32>,
    weight: Mutex<u8>,
    renderer: Mutex<u8>,
    legend: Mutex<Option<String>>,
    background: Mutex<u8>,
    outline: Mutex<u8>,
    insets: Mutex<u8>,
    no_data_message: Mutex<String>,
    drawing_order: Mutex<bool>,
}

impl<const FIXED: bool> XYPlot<FIXED> {
    properties! {
        orientation, set_orientation: bool;
        domain_axis, set_domain_axis: u8;
        range_axis, set_range_axis: u8;
        domain_gridlines, set_domain_gridlines: bool;
        range_gridlines, set_range_gridlines: bool;
        domain_crosshair, set_domain_crosshair: u32;
        range_crosshair, set_range_crosshair: u32;
        weight, set_weight: u8;
        renderer, set_renderer: u8;
        legend, set_legend: Option<String>;
        background, set_background: u8;
        outline, set_outline: u8;
        insets, set_insets: u8;
        no_data_message, set_no_data_message: String;
        drawing_order, set_drawing_order: bool;
    }

    fn datasets(&self) -> MutexGuard<'_, Vec<u32>> {
        lock(&self.datasets)
    }

    /// How many datasets there are.
    pub fn dataset_count(&self) -> usize {
        self.datasets().len()
    }

    /// A dataset by its number.
    pub fn dataset(&self, index: usize) -> Option<u32> {
        self.datasets().get(index).copied()
    }

    /// Adds a dataset.
    pub fn add_dataset(&self, dataset: u32) -> usize {
        let mut datasets = self.datasets();
        datasets.push(dataset);
        datasets.len()
    }

    /// Changes a dataset.
    pub fn set_dataset(&self, index: usize, dataset: u32) -> Option<u32> {
        let mut datasets = self.datasets();
        datasets
            .get_mut(index)
            .map(|old| std::mem::replace(old, dataset))
    }

    /// Takes a dataset away.
    pub fn remove_dataset(&self, index: usize) -> Option<u32> {
        let mut datasets = self.datasets();
        (index < datasets.len()).then(|| datasets.remove(index))
    }

    /// Takes all datasets away.
    pub fn clear_datasets(&self) -> usize {
        std::mem::take(&mut *self.datasets()).len()
    }

    /// The number of a dataset.
    pub fn index_of(&self, dataset: u32) -> Option<usize> {
        self.datasets().iter().position(|known| *known == dataset)
    }

    /// Adds a text.
    pub fn add_annotation(&self, annotation: String) -> usize {
        let mut annotations = lock(&self.annotations);
        annotations.push(annotation);
        annotations.len()
    }

    /// Takes a text away.
    pub fn remove_annotation(&self, annotation: String) -> bool {
        let mut annotations = lock(&self.annotations);
        let place = annotations.iter().position(|known| *known == annotation);
        place.map(|place| annotations.remove(place)).is_some()
    }

    /// All texts.
    pub fn annotations(&self) -> Vec<String> {
        lock(&self.annotations).clone()
    }

    /// Draws all datasets; what is drawn.
    pub fn draw(&self) -> Vec<u32> {
        if FIXED {
            return self.datasets().clone();
        }
        let numbers = 0..self.dataset_count();
        numbers
            .map(|index| self.dataset(index).expect("there is such a dataset"))
            .collect()
    }
}
