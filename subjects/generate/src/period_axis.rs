//! `org.jfree.chart.axis.PeriodAxis`: a new range is written in two steps, and whoever computes the span in between
//! subtracts a new beginning from an old end.

use std::sync::Mutex;

use crate::lock;

/// An axis from a first to a last period.
#[derive(Default)]
pub struct PeriodAxis<const FIXED: bool> {
    first: Mutex<u32>,
    last: Mutex<u32>,
    whole: Mutex<()>,
    time_zone: Mutex<String>,
    locale: Mutex<String>,
    minor_ticks: Mutex<bool>,
    tick_length: Mutex<u8>,
    label: Mutex<String>,
}

impl<const FIXED: bool> PeriodAxis<FIXED> {
    properties! {
        time_zone, set_time_zone: String;
        locale, set_locale: String;
        minor_ticks, set_minor_ticks: bool;
        tick_length, set_tick_length: u8;
        label, set_label: String;
    }

    /// The first period.
    pub fn first(&self) -> u32 {
        let _guard = FIXED.then(|| lock(&self.whole));
        *lock(&self.first)
    }

    /// The last period.
    pub fn last(&self) -> u32 {
        let _guard = FIXED.then(|| lock(&self.whole));
        *lock(&self.last)
    }

    /// Moves the axis: it begins here, and is so long.
    pub fn set_range(&self, first: u32, length: u32) {
        let _guard = FIXED.then(|| lock(&self.whole));
        *lock(&self.first) = first;
        *lock(&self.last) = first + length;
    }

    /// Moves the axis on.
    pub fn shift(&self, by: u32) {
        let _guard = lock(&self.whole);
        let (mut first, mut last) = (lock(&self.first), lock(&self.last));
        *first = first.saturating_add(by);
        *last = last.saturating_add(by);
    }

    /// How long it is.
    pub fn span(&self) -> u32 {
        let _guard = FIXED.then(|| lock(&self.whole));
        let last = *lock(&self.last);
        last.checked_sub(*lock(&self.first))
            .expect("the first period is not after the last")
    }

    /// Whether a period is on the axis.
    pub fn is_on(&self, period: u32) -> bool {
        let _guard = FIXED.then(|| lock(&self.whole));
        let last = *lock(&self.last);
        (*lock(&self.first)..=last).contains(&period)
    }
}
