//! Coverage over time, as the paper draws it.

use super::results::Kept;
use super::run::Mode;
use super::{COVERING, title};
use crate::evaluate::statistics::{Interval, interval};
use crate::plot::{self, Axis, Chart, Series};

/// Times at which it is looked at, in all.
const TIMES: usize = 20;

/// Pairs covered at each time, by the runs of a guidance: the mean with its interval.
pub fn over_time(kept: &Kept, guidance: &str, mode: Mode) -> Vec<(f64, Interval)> {
    let runs = kept.coverage.get(&title(guidance, mode));
    let Some(runs) = runs.filter(|runs| !runs.is_empty()) else {
        return Vec::new();
    };
    let at = |time: f64| {
        let covered = runs.iter().map(|run| {
            let until = run.iter().take_while(|(seconds, _)| *seconds <= time);
            until.last().map_or(0.0, |(_, pairs)| *pairs as f64)
        });
        interval(&covered.collect::<Vec<_>>())
    };
    (1..=TIMES)
        .map(|step| mode.covering as f64 * step as f64 / TIMES as f64)
        .map(|time| (time, at(time)))
        .collect()
}

/// Seconds until this many pairs are covered, by each run that gets there.
pub fn until(kept: &Kept, guidance: &str, mode: Mode, pairs: usize) -> Vec<f64> {
    let runs = kept.coverage.get(&title(guidance, mode));
    let runs = runs.map_or(&[][..], Vec::as_slice);
    let first = |run: &Vec<(f64, usize)>| {
        let reached = run.iter().find(|(_, covered)| *covered >= pairs);
        reached.map(|(seconds, _)| *seconds)
    };
    runs.iter().filter_map(first).collect()
}

/// A plot for a large type, with the bounds of the intervals as lines of their own.
pub fn draw(kept: &Kept, mode: Mode) -> String {
    let mut series = Vec::new();
    for guidance in COVERING {
        let points = over_time(kept, guidance, mode);
        let line = |title: String, of: fn(&Interval) -> f64| Series {
            name: title,
            points: points.iter().map(|(time, one)| (*time, of(one))).collect(),
        };
        series.push(line(guidance.to_owned(), |one| one.mean));
        series.push(line(format!("{guidance}, low"), |one| one.low));
        series.push(line(format!("{guidance}, high"), |one| one.high));
    }
    let most = kept.pairs as f64;
    let ticks: Vec<f64> = (0..=4)
        .map(|part| (most * f64::from(part) / 4.0).round())
        .collect();
    let times: Vec<f64> = (0..=mode.covering).map(|second| second as f64).collect();
    let chart = Chart {
        title: "of methods covered",
        x: Axis {
            label: "seconds",
            ticks: &times,
            is_logarithmic: false,
        },
        y: Axis {
            label: "pairs",
            ticks: &ticks,
            is_logarithmic: false,
        },
    };
    plot::draw(&chart, &series)
}

#[cfg(test)]
mod tests {
    use super::{Kept, over_time, until};
    use crate::evaluate::generate::{MODES, title};

    #[test]
    fn coverage_at_a_time_is_what_was_reached_before() {
        let mode = MODES[0];
        let mut kept = Kept::default();
        let runs = vec![vec![(0.5, 3), (2.0, 7)], vec![(0.5, 5)]];
        kept.coverage.insert(title("pairs", mode), runs);
        let points = over_time(&kept, "pairs", mode);
        assert_eq!(points[0].1.mean, 0.0);
        assert_eq!(points.last().map(|(_, one)| one.mean), Some(6.0));
        assert_eq!(until(&kept, "pairs", mode, 5), [2.0, 0.5]);
        assert!(over_time(&kept, "random", mode).is_empty());
    }
}
