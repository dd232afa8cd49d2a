//! Plans that wait in the middle of an execution.
//!
//! Nobody knows how long a test's first executions take, and a turn of a test ends for the sake of
//! others. Its worker is stopped then, and goes on in its next turn, so that nothing is done twice.
//! What an execution does depends on no real time, so it makes no difference to it. Where the
//! world outside has a part in it, or the program handles the signal that lets it go on, the
//! worker is ended instead, and the plan begins anew.

use std::sync::atomic::Ordering;

use raddle_abi::control::{Control, conditions, stage};

use crate::inspect;
use crate::watch::running_pid;
use crate::worker::Worker;

/// Conditions of executions in which real time may pass.
const OUTSIDE: u32 = conditions::FORKED
    | conditions::FOREIGN_THREAD
    | conditions::EARLY_THREAD
    | conditions::BLOCKED_OUTSIDE;
/// Least that a process counts for, in bytes: there are not to be too many of them, either.
const PROCESS: u64 = 64 << 20;

/// Counters that the header keeps over all plans.
pub(crate) struct Counters {
    pub executions: u64,
    pub points: u64,
    pub switches: u64,
    pub cut: u64,
    pub broken_off: u64,
    pub stray_panics: u32,
    pub realised: u64,
    pub released: u64,
    pub occurrences: [u64; 16],
}

impl Counters {
    /// As they are now.
    pub fn read(header: &Control) -> Self {
        Self {
            executions: header.executions.load(Ordering::Acquire),
            points: header.points.load(Ordering::Acquire),
            switches: header.switches.load(Ordering::Acquire),
            cut: header.cut.load(Ordering::Acquire),
            broken_off: header.broken_off.load(Ordering::Acquire),
            stray_panics: header.stray_panics.load(Ordering::Acquire),
            realised: header.realised.load(Ordering::Acquire),
            released: header.released.load(Ordering::Acquire),
            occurrences: std::array::from_fn(|kind| {
                header.occurrences[kind].load(Ordering::Acquire)
            }),
        }
    }

    /// Whether they can have become `later`: they only grow.
    pub fn can_become(&self, later: &Self) -> bool {
        self.executions <= later.executions
            && self.points <= later.points
            && self.switches <= later.switches
            && self.cut <= later.cut
            && self.broken_off <= later.broken_off
    }
}

/// A plan that a worker was handed, and has not finished.
pub(crate) struct UnderWay {
    /// Who works on it.
    pub worker: Worker,
    /// The plan as the worker reads it.
    pub plan: Vec<u8>,
    /// Its number.
    pub number: u32,
    /// What the worker had counted before.
    pub before: Counters,
}

impl UnderWay {
    /// Stops the worker, if that makes no difference to it, and the machine has memory for
    /// another one like it.
    pub fn pause(mut self) -> Result<Paused, Box<Self>> {
        let header = self.worker.memory.header();
        let pids = [self.worker.pid(), running_pid(&self.worker)];
        if header.stage.load(Ordering::Acquire) < stage::RUNNING
            || header.conditions.load(Ordering::Relaxed) & OUTSIDE != 0
            || pids.iter().any(|pid| inspect::catches(*pid, libc::SIGCONT))
        {
            return Err(Box::new(self));
        }
        self.worker.pause();
        let [worker, child] = pids.map(inspect::private_memory);
        let bytes = worker.max(child).max(PROCESS);
        if bytes > inspect::available_memory() {
            return Err(Box::new(self));
        }
        Ok(Paused {
            bytes,
            under_way: Box::new(self),
        })
    }
}

/// A plan under way whose worker is stopped.
pub(crate) struct Paused {
    /// Memory that it holds meanwhile.
    pub bytes: u64,
    under_way: Box<UnderWay>,
}

impl Paused {
    /// Lets the worker go on, if this is the plan that it works on; ends it otherwise.
    pub fn go_on(mut self, plan: &[u8]) -> Option<UnderWay> {
        if self.under_way.plan != plan {
            return None;
        }
        self.under_way.worker.go_on();
        Some(*self.under_way)
    }
}
