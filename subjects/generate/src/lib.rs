//! The classes on which CovCon was evaluated, re-created in Rust from what has been published about their bugs. Each has
//! the bug of its class, and with `FIXED` it is the correct twin: nothing else differs.

#[macro_use]
mod property;

mod as_map;
mod buffered_input_stream;
mod concurrent_hash_map;
mod day;
mod int_range;
mod logger;
mod number_axis;
mod per_user_pool;
mod period_axis;
mod shared_pool;
mod string_buffer;
mod synchronized_map;
mod time_series;
mod vector;
mod x_stream;
mod xy_plot;
mod xy_series;

pub use as_map::AsMap;
pub use buffered_input_stream::BufferedInputStream;
pub use concurrent_hash_map::ConcurrentHashMap;
pub use day::Day;
pub use int_range::IntRange;
pub use logger::Logger;
pub use number_axis::NumberAxis;
pub use per_user_pool::PerUserPoolDataSource;
pub use period_axis::PeriodAxis;
pub use shared_pool::SharedPoolDataSource;
pub use string_buffer::StringBuffer;
pub use synchronized_map::SynchronizedMap;
pub use time_series::TimeSeries;
pub use vector::{Vector, VectorAddAll, VectorLastIndexOf};
pub use x_stream::XStream;
pub use xy_plot::XYPlot;
pub use xy_series::XYSeries;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whether or not somebody panicked with it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks two of a kind, always in the same order; nothing is locked twice if they are the same.
fn lock_both<'a, T>(
    one: &'a Mutex<T>,
    other: &'a Mutex<T>,
) -> (MutexGuard<'a, T>, Option<MutexGuard<'a, T>>) {
    let place = |mutex: &Mutex<T>| std::ptr::from_ref(mutex).addr();
    match place(one).cmp(&place(other)) {
        std::cmp::Ordering::Equal => (lock(one), None),
        std::cmp::Ordering::Less => {
            let first = lock(one);
            (first, Some(lock(other)))
        }
        std::cmp::Ordering::Greater => {
            let second = lock(other);
            (lock(one), Some(second))
        }
    }
}
