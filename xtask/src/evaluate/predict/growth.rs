//! How long prediction takes on long traces that nobody ran (`crates/analysis/examples/growth.rs`).

use anyhow::{Result, bail};

use super::results::Growth;
use crate::plot::{Axis, Chart, Series, draw};
use crate::shell;

/// Shapes of traces.
const SHAPES: [&str; 5] = ["loops", "objects", "messages", "elements", "long"];
/// Events of a trace.
const EVENTS: [u64; 5] = [625_000, 1_250_000, 2_500_000, 5_000_000, 10_000_000];

/// Events from which on a doubling is looked at: before that, little is measured.
const FROM: u64 = 2_000_000;

/// What stands in the book.
pub fn section(growth: &Growth) -> String {
    let mut text = "\n## Long traces\n\nMade-up traces (`crates/analysis/examples/growth.rs`) of up to ten million events, on one core. At most 60 seconds, 4096 MiB \
                    and 2.3 times\nthe time for twice as many events are asked for.\n\n\
                    | trace | events | seconds | MiB | twice as many events, at most |\n|---|---|---|---|---|\n"
        .to_owned();
    for (shape, points) in growth {
        let Some((events, seconds, mebibytes)) = points.last() else {
            continue;
        };
        let doublings = points.windows(2).filter(|pair| pair[0].0 >= FROM);
        let worst = doublings
            .map(|pair| pair[1].1 / pair[0].1)
            .fold(0.0, f64::max);
        text +=
            &format!("| {shape} | {events} | {seconds:.1} | {mebibytes} | {worst:.1} times |\n");
    }
    text + "\n![Processor time against events](predict-growth.svg)\n"
}

/// Seconds against events.
pub fn plot(growth: &Growth) -> String {
    let series: Vec<_> = growth
        .iter()
        .map(|(name, points)| Series {
            name: name.clone(),
            points: points
                .iter()
                .map(|(events, seconds, _)| (*events as f64 / 1e6, *seconds))
                .collect(),
        })
        .collect();
    let chart = Chart {
        title: "of processor time",
        x: Axis {
            label: "million events",
            ticks: &[0.5, 1.0, 2.0, 5.0, 10.0],
            is_logarithmic: true,
        },
        y: Axis {
            label: "seconds",
            ticks: &[0.01, 0.1, 1.0, 10.0, 100.0],
            is_logarithmic: true,
        },
    };
    draw(&chart, &series)
}

/// Runs the example on all shapes and lengths.
pub fn measure() -> Result<Growth> {
    let mut growth = Growth::new();
    for shape in SHAPES {
        for events in EVENTS {
            let events = events.to_string();
            let mut command = shell::cargo(["run", "-q", "--release", "-p", "raddle-analysis"]);
            command.args(["--example", "growth", "--", shape, &events]);
            let (text, _) = shell::output(&mut command)?;
            let mut numbers = text.split_whitespace();
            let mut number = || numbers.next().and_then(|word| word.parse::<f64>().ok());
            let numbers = [number(), number(), number()];
            let [Some(events), Some(seconds), Some(mebibytes)] = numbers else {
                bail!("the example prints three numbers first, and not `{text}`");
            };
            println!("{shape} {events}: {seconds} s, {mebibytes} MiB");
            let points = growth.entry(shape.to_owned()).or_default();
            points.push((events as u64, seconds, mebibytes as u64));
        }
    }
    Ok(growth)
}
