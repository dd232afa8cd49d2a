//! Ctrl-C and SIGTERM: the first one asks to stop and keeps what was found, the second one
//! ends the tool at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::{Exit, Failure, OrExit};

/// How long a wish to stop may go unnoticed.
const PAUSE: Duration = Duration::from_millis(20);

/// Set when the user wants the tool to stop.
#[derive(Clone)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Registers the signal handlers.
    pub(crate) fn install() -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the first signal only sets the flag, the second finds it set.
            flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, flag.clone())
                .and_then(|_| flag::register(signal, flag.clone()))
                .context("cannot handle signals")
                .or_exit(Exit::Unsupported)?;
        }
        Ok(Self(flag))
    }

    /// Asks to stop.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Does `work` while the child process `id` runs; a wish to stop ends the child. Ctrl-C in
    /// a terminal reaches it anyway, but SIGTERM comes to us alone.
    pub(crate) fn ending<T>(&self, id: u32, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if self.0.load(Ordering::Relaxed) {
                        // SAFETY: sends a signal to a child that nobody has waited for yet.
                        unsafe { libc::kill(id.cast_signed(), libc::SIGTERM) };
                        break;
                    }
                    thread::sleep(PAUSE);
                }
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            result
        })
    }

    /// The flag itself, for those who watch it.
    pub(crate) fn as_atomic(&self) -> &AtomicBool {
        &self.0
    }

    /// Fails if the user wants to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Failure::explained(Exit::Interrupted));
        }
        Ok(())
    }
}
