//! Lends others the runner of one target, for plans of their own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use raddle_trace::runner::Runner;

use crate::runner::{Limits, Patience, ProcessRunner};
use crate::{Options, Target};

/// Lets `work` run plans on a target. A plan under way when `stop` is set, or when the options'
/// time is over, ends early.
pub fn with_runner<T>(
    target: &Target,
    options: &Options,
    stop: &AtomicBool,
    work: impl FnOnce(&mut dyn Runner) -> T,
) -> T {
    let start = Instant::now();
    let patience = || match stop.load(Ordering::Relaxed) || start.elapsed() > options.time {
        true => Patience::Short,
        false => Patience::Long,
    };
    let executions = AtomicU64::new(0);
    let limits = Limits::from(options);
    work(&mut ProcessRunner::new(
        target,
        limits,
        &patience,
        &executions,
    ))
}
