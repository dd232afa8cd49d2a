//! What instrumentation costs a program while nothing is explored, against ThreadSanitizer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{Report, median};
use crate::{repository, shell};

/// Programs in `xtask/bench/idle`, busy with computing.
const PROGRAMS: [&str; 5] = ["bodies", "matrix", "sieve", "sort", "table"];
/// Contraction would let the compilers' results differ.
const FLAGS: [&str; 3] = ["-O2", "-g", "-ffp-contract=off"];

/// Measures and prints one table.
pub fn run(report: &mut Report, tool: &Path, rounds: usize) -> Result<()> {
    report.line(&format!(
        "\n## Idle\n\n\
         C programs that compute, in one thread: built with `gcc -fsanitize=thread` against plain gcc, and with\n\
         `raddle cc` (not explored, just run) against plain clang, all with `{}`. Median of {rounds}, taking turns.\n\n\
         | program | ThreadSanitizer | Raddle |\n|---|---|---|",
        FLAGS.join(" ")
    ));
    for name in PROGRAMS {
        let raddle = tool.with_file_name("raddle");
        let builds = [
            built(name, "gcc", Command::new("gcc").args(FLAGS))?,
            built(
                name,
                "tsan",
                Command::new("gcc").args(FLAGS).arg("-fsanitize=thread"),
            )?,
            built(name, "clang", Command::new("clang").args(FLAGS))?,
            built(
                name,
                "raddle",
                Command::new(raddle)
                    .arg("cc")
                    .args(FLAGS)
                    .env("RADDLE_CACHE", repository::cache()),
            )?,
        ];
        let mut times: [Vec<f64>; 4] = Default::default();
        let mut result = None;
        for _ in 0..rounds {
            for (program, times) in builds.iter().zip(&mut times) {
                let start = Instant::now();
                let (stdout, code) = shell::output(&mut Command::new(program))?;
                times.push(start.elapsed().as_secs_f64());
                if code != Some(0) || *result.get_or_insert_with(|| stdout.clone()) != stdout {
                    bail!(
                        "{} ended with {code:?} and printed {stdout:?}",
                        program.display()
                    );
                }
            }
        }
        let [gcc, tsan, clang, raddle] = times.map(median);
        report.line(&format!(
            "| {name} | {:.1} times gcc | {:.1} times clang |",
            tsan / gcc,
            raddle / clang
        ));
    }
    Ok(())
}

fn built(name: &str, how: &str, compiler: &mut Command) -> Result<PathBuf> {
    let directory = repository::scratch("bench/idle");
    fs::create_dir_all(&directory)?;
    let program = directory.join(format!("{name}-{how}"));
    let source = repository::root().join(format!("xtask/bench/idle/{name}.c"));
    shell::run(compiler.arg(source).arg("-o").arg(&program).arg("-lm"))
        .context("gcc with ThreadSanitizer's library and clang are needed")?;
    Ok(program)
}
