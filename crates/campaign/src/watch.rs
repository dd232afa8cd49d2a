//! The watchdog: when a worker has to be given up.
//!
//! Its heartbeat are the scheduling points. A worker without any is stuck, unless the machine
//! did not let it run; one that takes too much memory is ended before the machine suffers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use raddle_abi::control::stage;
use raddle_trace::runner::Death;

use crate::inspect::{self, Activity};
use crate::runner::Limits;
use crate::worker::Worker;

/// How often the worker's memory is looked at.
const MEMORY_GLANCE: Duration = Duration::from_millis(100);
/// Growth without any scheduling point that counts as allocation without end.
const HOARD: u64 = 256 << 20;
/// How many times its limit a worker may take on a machine that does not let it run.
const OVERLOADED: u32 = 6;

/// What the watchdog remembers during one plan.
pub(crate) struct Watch {
    progress: (u64, u64, u32),
    moved: Instant,
    memory_seen: Instant,
    /// Private memory when last looked at, and when the worker last moved.
    memory: (u64, u64),
    /// The process that does not move, and its processor time when that was first seen.
    still: Option<(u32, Duration)>,
    counted: u64,
    /// When the worker was asked to stop.
    pub stopping: Option<Instant>,
}

impl Watch {
    /// Begins to watch.
    pub fn new(worker: &Worker) -> Self {
        let now = Instant::now();
        Self {
            progress: progress(worker),
            moved: now,
            memory_seen: now,
            memory: (0, 0),
            still: None,
            counted: worker.memory.header().executions.load(Ordering::Relaxed),
            stopping: None,
        }
    }

    /// Adds the executions since the last call.
    pub fn count(&mut self, worker: &Worker, executions: &AtomicU64) {
        let now = worker.memory.header().executions.load(Ordering::Relaxed);
        executions.fetch_add(now.saturating_sub(self.counted), Ordering::Relaxed);
        self.counted = now;
    }

    /// Says why the worker has to be given up, if it has.
    pub fn look(&mut self, worker: &Worker, limits: &Limits) -> Option<(Death, Vec<u64>)> {
        let now = Instant::now();
        let pid = running_pid(worker);
        if now - self.memory_seen > MEMORY_GLANCE {
            self.memory_seen = now;
            let bytes = inspect::private_memory(pid);
            self.memory.0 = bytes;
            if bytes > limits.memory {
                return Some((Death::Memory { bytes }, Vec::new()));
            }
        }
        let progress = progress(worker);
        if progress != self.progress {
            self.progress = progress;
            self.moved = now;
            self.memory.1 = self.memory.0;
            self.still = None;
            return None;
        }
        let still = self.still.filter(|&(watched, _)| watched == pid);
        let (_, used_before) = still.unwrap_or_else(|| (pid, inspect::processor_time(pid)));
        self.still = Some((pid, used_before));
        let starting = worker.memory.header().stage.load(Ordering::Relaxed) < stage::READY;
        let limit = limits.watchdog;
        let since = now - if starting { worker.started } else { self.moved };
        if since <= limit {
            return None;
        }
        let activity = inspect::activity(pid);
        let used = inspect::processor_time(pid).saturating_sub(used_before);
        if since <= limit * OVERLOADED && is_starved(&activity, used, limit) {
            return None;
        }
        let (bytes, before) = self.memory;
        let frames = inspect::stack(pid);
        let death = match bytes > before + HOARD {
            true => Death::Memory { bytes },
            false => stuck(activity, starting),
        };
        Some((death, frames))
    }
}

/// Whether a process that should have moved long ago hardly got to run: then the machine is
/// overloaded, and nothing can be said about the process.
fn is_starved(activity: &Activity, used: Duration, limit: Duration) -> bool {
    *activity == Activity::Running && used < limit / 2
}

fn progress(worker: &Worker) -> (u64, u64, u32) {
    let header = worker.memory.header();
    (
        header.points.load(Ordering::Relaxed),
        header.executions.load(Ordering::Relaxed),
        header.stage.load(Ordering::Relaxed),
    )
}

/// The process that runs the execution under way: a child of the worker in fork mode. The
/// program can write to the shared memory, so that a number there need not be one.
pub(crate) fn running_pid(worker: &Worker) -> u32 {
    match worker.memory.header().child.load(Ordering::Relaxed) {
        child if child != 0 && inspect::parent(child) == Some(worker.pid()) => child,
        _ => worker.pid(),
    }
}

/// What a process that makes no progress is doing.
fn stuck(activity: Activity, starting: bool) -> Death {
    let running = activity == Activity::Running;
    let doing = match activity {
        Activity::Running => "runs".to_owned(),
        Activity::Blocked { call, on: Some(on) } => format!("waits in {call} ({on})"),
        Activity::Blocked { call, on: None } => format!("waits in {call}"),
        Activity::Unknown => "does nothing that can be seen".to_owned(),
    };
    match starting {
        true => Death::NeverStarted { doing },
        false => Death::Stuck { running, doing },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_wants_to_run_and_hardly_could_is_starved() {
        let limit = Duration::from_secs(10);
        let blocked = Activity::Blocked {
            call: "read".to_owned(),
            on: None,
        };
        assert!(is_starved(&Activity::Running, limit / 3, limit));
        assert!(!is_starved(&Activity::Running, limit / 2, limit));
        assert!(!is_starved(&blocked, Duration::ZERO, limit));
    }
}
