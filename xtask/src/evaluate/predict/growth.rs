//! How long prediction takes on long traces that nobody ran (`crates/analysis/examples/growth.rs`).

use anyhow::{Context, Result};

use super::results::Growth;
use crate::shell;

/// Shapes of traces.
const SHAPES: [&str; 5] = ["loops", "objects", "messages", "elements", "long"];
/// Events of a trace.
const EVENTS: [u64; 5] = [625_000, 1_250_000, 2_500_000, 5_000_000, 10_000_000];

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
            let (events, seconds) = number().zip(number()).context("two numbers")?;
            growth
                .entry(shape.to_owned())
                .or_default()
                .push((events as u64, seconds));
        }
    }
    Ok(growth)
}
