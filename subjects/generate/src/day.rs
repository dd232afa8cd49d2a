//! `org.jfree.data.time.Day`: all days share one formatter, which is set up and used in two steps.

use std::sync::Mutex;

use crate::lock;

/// Writes days as text, as it was last told to.
struct Formatter {
    pattern: &'static str,
}

/// The one that all days share.
static FORMATTER: Mutex<Formatter> = Mutex::new(Formatter { pattern: "" });

impl Formatter {
    fn text(&self, day: u32, month: u32, year: u32) -> String {
        match self.pattern {
            "short" => format!("{day}.{month}."),
            "long" => format!("{day:02}.{month:02}.{year:04}"),
            _ => format!("{year:04}{month:02}{day:02}"),
        }
    }
}

/// A day.
#[derive(Debug, Default)]
pub struct Day<const FIXED: bool> {
    serial: u32,
}

impl<const FIXED: bool> Day<FIXED> {
    /// The day with this number, counted from the first of January of the year 2000.
    pub fn new(serial: u32) -> Self {
        Self { serial }
    }

    fn formatted(&self, pattern: &'static str) -> String {
        let (day, month, year) = (self.day_of_month(), self.month(), self.year());
        let mut formatter = lock(&FORMATTER);
        formatter.pattern = pattern;
        if !FIXED {
            drop(formatter);
            formatter = lock(&FORMATTER);
        }
        formatter.text(day, month, year)
    }

    /// Its number.
    pub fn serial_index(&self) -> u32 {
        self.serial
    }

    /// The year, all of whose months have 30 days.
    pub fn year(&self) -> u32 {
        2000 + self.serial / 360
    }

    /// The month.
    pub fn month(&self) -> u32 {
        self.serial / 30 % 12 + 1
    }

    /// The day of the month.
    pub fn day_of_month(&self) -> u32 {
        self.serial % 30 + 1
    }

    /// The day of the week.
    pub fn week_day(&self) -> u32 {
        self.serial % 7
    }

    /// The number of the day after it.
    pub fn next(&self) -> u32 {
        self.serial + 1
    }

    /// The number of the day before it.
    pub fn previous(&self) -> Option<u32> {
        self.serial.checked_sub(1)
    }

    /// Its first millisecond.
    pub fn first_millisecond(&self) -> u64 {
        u64::from(self.serial) * 86_400_000
    }

    /// Its last millisecond.
    pub fn last_millisecond(&self) -> u64 {
        self.first_millisecond() + 86_399_999
    }

    /// `1.2.`
    pub fn short_text(&self) -> String {
        self.formatted("short")
    }

    /// `01.02.2000`
    pub fn long_text(&self) -> String {
        self.formatted("long")
    }

    /// `20000201`
    pub fn sortable_text(&self) -> String {
        self.formatted("sortable")
    }
}
