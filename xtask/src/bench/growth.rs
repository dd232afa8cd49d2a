//! How the cost of an execution grows with threads, length and heap, and what each way to
//! bring a program back to its start costs.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Report;
use super::measure::{Measurement, Run, measure};
use super::throughput::measure_peer;
use crate::plot::{self, Axis, Chart, Series};
use crate::repository;

/// A quantity that grows while the others stay.
struct Dimension {
    name: &'static str,
    label: &'static str,
    values: &'static [u64],
}

const DIMENSIONS: [Dimension; 3] = [
    Dimension {
        name: "threads",
        label: "threads",
        values: &[2, 4, 8, 16, 32, 64, 128, 256],
    },
    Dimension {
        name: "rounds",
        label: "rounds of each of two threads",
        values: &[10, 100, 1000, 10_000],
    },
    Dimension {
        name: "blocks",
        label: "blocks on the heap",
        values: &[10, 100, 1000, 10_000, 100_000],
    },
];

/// Work per measurement, in rounds of all threads and blocks.
const WORK: u64 = 400_000;
/// Fewest executions per measurement: the first ones, which touch memory that nobody has
/// touched before, are not what is measured.
const LEAST: u64 = 200;

/// Measures, prints a table per dimension and returns the plots by name.
pub fn run(report: &mut Report, tool: &Path, rounds: usize) -> Result<Vec<(String, String)>> {
    report.line(
        "\n## Growth\n\n\
         Two threads that lock, add, unlock and add atomically, ten times, with ten blocks on the heap; one of these numbers\n\
         grows at a time. Microseconds per execution; a straight line in the plots, which have logarithmic axes, that rises\n\
         by one decade per decade means cost in proportion. At least 200 executions each: the first ones touch memory that\n\
         nobody has touched before.\n",
    );
    let mut plots = Vec::new();
    for dimension in DIMENSIONS {
        let mut series = [false, true].map(|watches_memory| Series {
            name: match watches_memory {
                false => "panic, deadlock".to_owned(),
                true => "races, heap too".to_owned(),
            },
            points: Vec::new(),
        });
        report.line(&format!(
            "| {} | panic and deadlock, µs | ns/point | data races and heap too, µs | ns/point |\n|---|---|---|---|---|",
            dimension.label
        ));
        for &value in dimension.values {
            let mut row = format!("| {value} |");
            for (watches_memory, series) in [false, true].into_iter().zip(&mut series) {
                let how = ("random", watches_memory);
                let one = at(tool, &dimension, value, how, rounds)?;
                let microseconds = 1e6 / one.per_second;
                row += &format!(" {microseconds:.1} | {:.0} |", one.nanoseconds_per_point);
                series.points.push((value as f64, microseconds));
            }
            report.line(&row);
        }
        let name = format!("speed-{}.svg", dimension.name);
        report.line(&format!("\n![Cost by {}]({name})\n", dimension.label));
        plots.push((name, drawn(&dimension, &series)));
        if dimension.name == "threads" {
            per_point(report, tool, &dimension, rounds)?;
        }
    }
    modes(report, tool, rounds)?;
    Ok(plots)
}

/// The growth with threads per point, by strategy, beside a peer's.
fn per_point(report: &mut Report, tool: &Path, dimension: &Dimension, rounds: usize) -> Result<()> {
    report.line(
        "Neither strategy looks at all threads at a point: who waits stands in a list per object, and `pct` keeps those who can\n\
         run in the order of their priorities. What grows is mostly memory. The more threads there are, the longer ago it was\n\
         that one ran: its stack, its storage and what the runtime knows of it have left the fast caches, and so has the storage\n\
         of some kilobytes that every thread gets anew when it starts. The list of who can run, two bytes per thread, is kept in\n\
         order, and where data races are looked for, a thread that learns of others takes over four bytes per thread.\n\
         Nanoseconds per point, panic and deadlock only; shuttle's points are fewer.\n\n\
         | threads | random | pct(3) | shuttle, random | shuttle, pct(3) |\n|---|---|---|---|---|",
    );
    let peer = super::peer("shuttle", "rewritten")?;
    for &threads in dimension.values {
        let mut row = format!("| {threads} |");
        for strategy in ["random", "pct(3)"] {
            let one = at(tool, dimension, threads, (strategy, false), rounds)?;
            row += &format!(" {:.0} |", one.nanoseconds_per_point);
        }
        for strategy in ["random", "pct"] {
            let executions = (WORK / (threads * 10) / threads).max(LEAST / 4);
            let all: Result<Vec<_>> = (0..rounds)
                .map(|_| measure_peer(&peer, threads as u32, strategy, executions))
                .collect();
            let one = Measurement::median(&all?);
            row += &format!(" {:.0} |", one.nanoseconds_per_point);
        }
        report.line(&row);
    }
    report.line("");
    Ok(())
}

/// Writes the plots beside the page.
pub fn write(plots: &[(String, String)]) -> Result<()> {
    for (name, svg) in plots {
        fs::write(repository::root().join("book/src").join(name), svg)?;
    }
    Ok(())
}

fn at(
    tool: &Path,
    dimension: &Dimension,
    value: u64,
    (strategy, watches_memory): (&str, bool),
    rounds: usize,
) -> Result<Measurement> {
    let of = |name, otherwise| {
        if dimension.name == name {
            value
        } else {
            otherwise
        }
    };
    let (threads, length, blocks) = (of("threads", 2), of("rounds", 10), of("blocks", 10));
    let environment = [
        ("BENCH_THREADS", threads.to_string()),
        ("BENCH_ROUNDS", length.to_string()),
        ("BENCH_BLOCKS", blocks.to_string()),
    ];
    let run = Run {
        binary: "growth",
        test: "grows",
        strategy,
        watches_memory,
        arguments: &["--max-points", "10000000"],
        environment: &environment,
        executions: (WORK / (threads * length + blocks)).max(LEAST),
    };
    let all: Result<Vec<_>> = (0..rounds).map(|_| measure(tool, &run)).collect();
    Ok(Measurement::median(&all?))
}

fn drawn(dimension: &Dimension, series: &[Series]) -> String {
    let decades: Vec<f64> = (0..=6).map(|exponent| 10f64.powi(exponent)).collect();
    let ticks: Vec<f64> = dimension.values.iter().map(|&value| value as f64).collect();
    let chart = Chart {
        title: "Microseconds per execution",
        x: Axis {
            label: dimension.label,
            ticks: &ticks,
            is_logarithmic: true,
        },
        y: Axis {
            label: "",
            ticks: &decades,
            is_logarithmic: true,
        },
    };
    plot::draw(&chart, series)
}

/// Compares the ways to bring the program back to its start.
fn modes(report: &mut Report, tool: &Path, rounds: usize) -> Result<()> {
    report.line(
        "## Back to the start\n\n\
         The test of two threads from above, by `--reexecution`.\n\n\
         | | executions/s | times fork |\n|---|---|---|",
    );
    let mut base = None;
    for (mode, executions) in [("fork", 2000), ("snapshot", 40_000), ("loop", 40_000)] {
        let run = Run {
            binary: "first",
            test: "threads_2",
            strategy: "random",
            watches_memory: false,
            arguments: &["--reexecution", mode],
            environment: &[],
            executions,
        };
        let all: Result<Vec<_>> = (0..rounds).map(|_| measure(tool, &run)).collect();
        let per_second = Measurement::median(&all?).per_second;
        let ratio = per_second / *base.get_or_insert(per_second);
        report.line(&format!("| {mode} | {per_second:.0} | {ratio:.1} |"));
    }
    Ok(())
}
