//! How much of the work is done, and how long the rest will take.

use std::time::Duration;

/// The part of the work that has to be done before anything is said about the rest.
const ENOUGH: f64 = 0.02;

/// How far each test is.
pub(crate) struct Estimate {
    /// From 0 to 1.
    parts: Vec<f64>,
    /// Of the search under way that was heard of last, in thousandths.
    search: Option<u32>,
}

impl Estimate {
    /// Nothing is done.
    pub fn new(tests: usize) -> Self {
        Self {
            parts: vec![0.0; tests],
            search: None,
        }
    }

    /// A test has done this part of its executions, and this much of its search, if its
    /// strategy searches: it ends with the first of them.
    pub fn advance(&mut self, test: usize, part: f64, search: Option<u32>) {
        self.search = search.filter(|_| part < 1.0);
        let search = search.map_or(0.0, |thousandths| f64::from(thousandths) / 1000.0);
        if let Some(known) = self.parts.get_mut(test) {
            *known = part.max(search).clamp(*known, 1.0);
        }
    }

    /// Of the search under way, in thousandths.
    pub const fn search(&self) -> Option<u32> {
        self.search
    }

    /// How long the rest will take if it goes on like this, once that can be said.
    pub fn left(&self, elapsed: Duration) -> Option<Duration> {
        let done = self.parts.iter().sum::<f64>() / self.parts.len().max(1) as f64;
        (done > ENOUGH).then(|| elapsed.mul_f64((1.0 - done).max(0.0) / done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done_says() {
        let mut estimate = Estimate::new(4);
        let minute = Duration::from_secs(60);
        assert_eq!(estimate.left(minute), None);
        estimate.advance(0, 1.0, None);
        estimate.advance(1, 0.5, None);
        estimate.advance(2, 0.1, Some(500));
        assert_eq!(estimate.left(minute), Some(minute));
        assert_eq!(estimate.search(), Some(500));
        // What is done stays done.
        estimate.advance(1, 0.2, None);
        assert_eq!(estimate.left(minute), Some(minute));
        (0..4).for_each(|test| estimate.advance(test, 1.0, Some(1000)));
        assert_eq!(estimate.left(minute), Some(Duration::ZERO));
        assert_eq!(estimate.search(), None);
    }
}
