//! Means and intervals of numbers of schedules.

use crate::evaluate::results::Cell;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 4000;

/// Mean of a cell with its 95 % interval. Searches that were given up count with all their
/// schedules, so that the true mean is larger.
pub struct Mean {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    /// Searches that found the bug.
    pub found: usize,
    pub searches: usize,
}

/// The mean of a cell with its interval.
pub fn mean(cell: &Cell) -> Mean {
    let values = cell.schedules.iter();
    let values: Vec<f64> = values
        .map(|found| found.unwrap_or(cell.cap) as f64)
        .collect();
    let Interval { mean, low, high } = interval(&values);
    Mean {
        mean,
        low,
        high,
        found: cell.schedules.iter().flatten().count(),
        searches: cell.schedules.len(),
    }
}

/// The geometric mean of positive values, or 1 without any.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| {
        (sum + value.ln(), count + 1)
    });
    (sum / f64::from(count.max(1))).exp()
}

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The mean of some values; the interval is the bootstrap's, by percentiles.
pub fn interval(values: &[f64]) -> Interval {
    let count = values.len().max(1);
    let mut state = 1_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| (0..count).filter_map(|_| values.get(draw())).sum::<f64>() / count as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    Interval {
        mean: values.iter().sum::<f64>() / count as f64,
        low: means[RESAMPLES / 40],
        high: means[RESAMPLES - 1 - RESAMPLES / 40],
    }
}

/// A cell in a few characters.
pub fn words(cell: &Cell) -> String {
    let Mean {
        mean,
        low,
        high,
        found,
        searches,
    } = mean(cell);
    if found == 0 {
        return format!("never ({})", cell.cap);
    }
    let (mean, low, high) = (number(mean), number(low), number(high));
    match found == searches {
        true => format!("{mean} ({low}–{high})"),
        false => format!("≥ {mean} ({found}/{searches})"),
    }
}

/// A number with as many digits as make sense.
pub fn number(value: f64) -> String {
    match value {
        _ if value >= 10.0 => format!("{value:.0}"),
        _ if value >= 1.0 || value == 0.0 => format!("{value:.1}"),
        _ if value >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_have_more_digits() {
        let numbers = [0.0, 0.0123, 0.123, 1.23, 12.3].map(number);
        assert_eq!(numbers, ["0.0", "0.012", "0.12", "1.2", "12"]);
    }

    fn cell(schedules: &[Option<u64>]) -> Cell {
        Cell {
            date: String::new(),
            machine: String::new(),
            cap: 1000,
            schedules: schedules.to_vec(),
        }
    }

    #[test]
    fn the_interval_contains_the_mean_and_shrinks_to_it() {
        let spread = mean(&cell(&[Some(1), Some(2), Some(3), Some(10)]));
        assert_eq!(spread.mean, 4.0);
        assert!(spread.low >= 1.0 && spread.low < 4.0);
        assert!(spread.high > 4.0 && spread.high <= 10.0);
        let same = mean(&cell(&[Some(5); 4]));
        assert_eq!((same.low, same.high), (5.0, 5.0));
    }

    #[test]
    fn searches_without_success_are_told() {
        assert_eq!(words(&cell(&[None, None])), "never (1000)");
        assert_eq!(words(&cell(&[Some(500), None])), "≥ 750 (1/2)");
        assert_eq!(words(&cell(&[Some(2), Some(2)])), "2.0 (2.0–2.0)");
    }
}
