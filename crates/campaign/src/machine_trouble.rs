//! Tells trouble of the machine from trouble of the program: it says nothing about any test, and
//! ends the campaign with what to do.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use raddle_trace::runner::RunnerError;

use crate::Error;

/// Exit code of a worker whose runtime was refused something by the system.
const EXIT: i32 = 69;
/// Message about a worker that has used up its processor time.
const OUT_OF_TIME: &str = "a process reached the limit of its processor time";
/// What every message of the runtime begins with.
const RUNTIME: &str = "raddle runtime: ";

const DESCRIPTORS: &str = "too few file descriptors are allowed: set `ulimit -n 1024`";
const MEMORY: &str = "there is too little memory or address space: set `ulimit -v unlimited` and \
     vm.overcommit_memory to 0 or 1, or use fewer `--jobs`";
const PROCESSES: &str = "too few processes and threads are allowed: raise `ulimit -u`, or the \
     container's limit, or use fewer `--jobs`";
const PROCESSOR_TIME: &str = "set `ulimit -t unlimited`, or use fewer `--executions`";
const DISK: &str =
    "a disk is full, or a file may not grow: make space, and set `ulimit -f unlimited`";
const ANY: &str = "`doctor` checks what the machine allows";

/// The campaign's error if the machine is to blame.
pub(crate) fn of(error: &RunnerError) -> Option<Error> {
    let advice = match error {
        RunnerError::Machine(what) => advice_for_runtime(what),
        RunnerError::Start { source, .. } => advice_for(source)?,
        RunnerError::System { source, .. } => advice_for(source).unwrap_or(ANY),
        _ => return None,
    };
    Some(Error::Machine {
        what: error.to_string(),
        advice,
    })
}

/// What the runtime said before it gave up, if it did.
pub(crate) fn last_words(status: ExitStatus, said: impl FnOnce() -> String) -> Option<RunnerError> {
    if status.signal() == Some(libc::SIGXCPU) && is_processor_time_limited() {
        return Some(RunnerError::Machine(OUT_OF_TIME.to_owned()));
    }
    if status.code() != Some(EXIT) {
        return None;
    }
    let said = said();
    let line = said.lines().rev().find(|line| line.starts_with(RUNTIME))?;
    Some(RunnerError::Machine(format!(
        "the runtime {}",
        &line[RUNTIME.len()..]
    )))
}

/// Whether the tool's processor time is limited too: a program may also set a limit for itself.
fn is_processor_time_limited() -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the kernel writes to a live structure.
    unsafe { libc::getrlimit(libc::RLIMIT_CPU, &raw mut limit) };
    limit.rlim_cur != libc::RLIM_INFINITY
}

/// What to do about an error of the system that no program causes.
fn advice_for(error: &io::Error) -> Option<&'static str> {
    Some(match error.raw_os_error()? {
        // A descriptor's number beyond the limit is a bad one.
        libc::EMFILE | libc::ENFILE | libc::EBADF => DESCRIPTORS,
        libc::ENOMEM => MEMORY,
        libc::EAGAIN => PROCESSES,
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => DISK,
        _ => return None,
    })
}

fn advice_for_runtime(what: &str) -> &'static str {
    if what == OUT_OF_TIME {
        PROCESSOR_TIME
    } else if what.contains("thread") {
        PROCESSES
    } else if what.contains("map") {
        MEMORY
    } else {
        ANY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(errno: i32) -> Option<Error> {
        of(&RunnerError::Start {
            program: "x".to_owned(),
            source: io::Error::from_raw_os_error(errno),
        })
    }

    #[test]
    fn what_no_program_causes_is_the_machines() {
        for (errno, word) in [
            (libc::EMFILE, "ulimit -n"),
            (libc::EBADF, "ulimit -n"),
            (libc::ENOMEM, "ulimit -v"),
            (libc::EAGAIN, "ulimit -u"),
            (libc::ENOSPC, "disk"),
        ] {
            let error = start(errno).map(|error| error.to_string());
            let text = error.unwrap_or_default();
            assert!(text.contains(word), "{errno}: {text}");
        }
        assert!(start(libc::ENOENT).is_none());
        assert!(start(libc::EACCES).is_none());
    }

    #[test]
    fn a_runtime_that_gives_up_is_believed() {
        let said = || "x\nraddle runtime: cannot map a stack (error 12)\n".to_owned();
        let error = last_words(ExitStatus::from_raw(EXIT << 8), said).expect("an error");
        let text = of(&error).expect("trouble").to_string();
        assert!(text.starts_with("the runtime cannot map a stack"), "{text}");
        assert!(last_words(ExitStatus::from_raw(0), said).is_none());
        assert!(last_words(ExitStatus::from_raw(EXIT << 8), String::new).is_none());
    }
}
