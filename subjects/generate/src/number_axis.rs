//! `org.jfree.chart.axis.NumberAxis`: each bound is compared with the other one and then written, so that two threads that
//! write one each leave a range whose lower bound is above the upper one.

use std::sync::Mutex;

use crate::lock;

/// An axis from a lower to an upper bound.
pub struct NumberAxis<const FIXED: bool> {
    lower: Mutex<u32>,
    upper: Mutex<u32>,
    both: Mutex<()>,
    label: Mutex<String>,
    visible: Mutex<bool>,
    inverted: Mutex<bool>,
    auto_range: Mutex<bool>,
    includes_zero: Mutex<bool>,
    tick_unit: Mutex<u8>,
    tick_labels: Mutex<bool>,
    number_format: Mutex<String>,
    margin: Mutex<u8>,
    markers: Mutex<u8>,
}

impl<const FIXED: bool> Default for NumberAxis<FIXED> {
    fn default() -> Self {
        Self {
            lower: Mutex::new(0),
            upper: Mutex::new(3),
            both: Mutex::default(),
            label: Mutex::default(),
            visible: Mutex::default(),
            inverted: Mutex::default(),
            auto_range: Mutex::default(),
            includes_zero: Mutex::default(),
            tick_unit: Mutex::default(),
            tick_labels: Mutex::default(),
            number_format: Mutex::default(),
            margin: Mutex::default(),
            markers: Mutex::default(),
        }
    }
}

impl<const FIXED: bool> NumberAxis<FIXED> {
    properties! {
        label, set_label: String;
        visible, set_visible: bool;
        inverted, set_inverted: bool;
        auto_range, set_auto_range: bool;
        includes_zero, set_includes_zero: bool;
        tick_unit, set_tick_unit: u8;
        tick_labels, set_tick_labels: bool;
        number_format, set_number_format: String;
        margin, set_margin: u8;
        markers, set_markers: u8;
    }

    /// The lower bound.
    pub fn lower_bound(&self) -> u32 {
        *lock(&self.lower)
    }

    /// The upper bound.
    pub fn upper_bound(&self) -> u32 {
        *lock(&self.upper)
    }

    /// Moves the lower bound; whether it is not above the upper one.
    pub fn set_lower_bound(&self, bound: u32) -> bool {
        let _guard = FIXED.then(|| lock(&self.both));
        let fits = bound <= self.upper_bound();
        if fits {
            *lock(&self.lower) = bound;
        }
        fits
    }

    /// Moves the upper bound; whether it is not below the lower one.
    pub fn set_upper_bound(&self, bound: u32) -> bool {
        let _guard = FIXED.then(|| lock(&self.both));
        let fits = bound >= self.lower_bound();
        if fits {
            *lock(&self.upper) = bound;
        }
        fits
    }

    /// The bounds.
    pub fn length(&self) -> u32 {
        let _guard = lock(&self.both);
        let (lower, upper) = (self.lower_bound(), self.upper_bound());
        upper
            .checked_sub(lower)
            .expect("the lower bound is not above the upper one")
    }

    /// Whether a value is on the axis.
    pub fn is_on(&self, value: u32) -> bool {
        let _guard = lock(&self.both);
        (self.lower_bound()..=self.upper_bound()).contains(&value)
    }
}
