//! Why a test could not be explored, in clear words.

use raddle_abi::control::conditions;
use raddle_trace::runner::{Death, Outcome, RunnerError};

use crate::inspect::call_name;
use crate::wording;

/// Lines of output quoted.
const QUOTED: usize = 6;
/// Characters quoted of each.
const QUOTED_LINE: usize = 200;
/// System calls named.
const CALLS: usize = 10;

/// Why a test is not explored whose threads nobody can schedule.
pub(crate) const NATIVE_THREADS_ONLY: &str = "all of its threads but one are native ones, started \
     behind the runtime's back (by `clone`), and nothing can be interleaved";

/// Why a plan could not be run at all.
pub(crate) fn of_error(error: &RunnerError) -> String {
    match error {
        RunnerError::NotInstrumented { program } => format!(
            "{program} was not instrumented; build it with `cargo raddle` or `raddle cc`, not by \
             hand, and without static linking"
        ),
        RunnerError::NeverStarted { output } => {
            format!(
                "the program ended before the test function (or `main`) was reached{}",
                quoted(output)
            )
        }
        error => error.to_string(),
    }
}

/// Why a worker died, where that is no finding; `place` is where it stood.
pub(crate) fn of_death(death: &Death, place: Option<&str>, seconds: u64) -> String {
    let at = place.map_or_else(String::new, |place| format!(" in {place}"));
    match death {
        Death::Exit(code) => {
            format!("the program ends its own process (exit code {code}) behind the runtime's back")
        }
        Death::Signal(libc::SIGKILL) => {
            "the process was killed from outside, perhaps for lack of memory".to_owned()
        }
        Death::Signal(signal) => format!("the process died by signal {signal}"),
        Death::Stuck { running: true, .. } => format!(
            "no scheduling point for {seconds} s{at}: it spins or computes without touching \
             anything that can be scheduled"
        ),
        Death::Stuck {
            running: false,
            doing,
        } => format!(
            "no scheduling point for {seconds} s: it {doing}{at}, and nothing in the program \
             can end that"
        ),
        Death::Memory { bytes } => {
            format!(
                "it allocates without end: {} MiB when it was ended{at}",
                bytes >> 20
            )
        }
    }
}

/// Why a test that failed serially is not explored.
pub(crate) fn of_failure(outcome: &Outcome, title: &str) -> String {
    let output = String::from_utf8_lossy(&outcome.output);
    format!(
        "it fails without any interleaving: {title}{}",
        quoted(&output)
    )
}

/// Things worth a note that the runtime could not fully control.
pub(crate) fn conditions_in_words(bits: u32) -> Vec<&'static str> {
    [
        (
            conditions::FORKED,
            "it forks; what child processes do is not explored",
        ),
        (
            conditions::ASM,
            "it runs inline assembly; races that depend on it are not reported",
        ),
        (
            conditions::FOREIGN_THREAD,
            "a native thread was started behind the runtime's back, so that its threads run on OS \
             threads, in a process per execution; what the native thread does is not explored, \
             may differ from run to run, and races beside it are not reported",
        ),
        (
            conditions::EARLY_THREAD,
            "a native thread was started before executions start, and is in none of them; who \
             waits for it waits in vain, and deadlocks and races are not reported",
        ),
        (
            conditions::BLOCKED_OUTSIDE,
            "it waited for something outside of the process, which may differ from run to run",
        ),
        (
            conditions::HEAP_LIMIT,
            "it reached the heap limit of an execution",
        ),
        (
            conditions::STACK_LIMIT,
            "a thread asked for a larger stack than it got; deep recursion may overflow it",
        ),
        (
            conditions::THREAD_LIMIT,
            "it starts more threads than can be held; such executions were ended",
        ),
        (
            conditions::EXIT_IN_THREAD,
            "it calls `exit` in a thread other than its first",
        ),
        (
            conditions::NO_DISPATCH,
            "this machine offers no system call dispatch, so every execution is a process of \
             its own, which is slow",
        ),
        (
            conditions::OTHER_ALLOCATOR,
            "it brings its own allocator, in whose place Raddle's heap stood",
        ),
        (
            conditions::SHARED_OBJECT,
            "it shares a lock between processes; only its own threads were explored",
        ),
    ]
    .into_iter()
    .filter(|(bit, _)| bits & bit != 0)
    .map(|(_, words)| words)
    .collect()
}

/// The system calls that made re-execution by fork necessary.
pub(crate) fn calls_in_words(calls: &[u32]) -> String {
    let names = calls.iter().map(|&call| call_name(i64::from(call)));
    wording::list(names, CALLS)
}

/// The last lines of an output, as part of a sentence.
fn quoted(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let last: Vec<String> = lines[lines.len().saturating_sub(QUOTED)..]
        .iter()
        .map(|line| wording::line(line, QUOTED_LINE))
        .collect();
    format!("; it printed last: {}", last.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_is_said_to_spin_where_it_spins() {
        let death = Death::Stuck {
            running: true,
            doing: String::new(),
        };
        let words = of_death(&death, Some("`f` (src/lib.rs:3)"), 10);
        assert!(words.starts_with("no scheduling point for 10 s in `f` (src/lib.rs:3): it spins"));
    }

    #[test]
    fn only_the_last_lines_are_quoted() {
        let output = (0..10)
            .map(|line| format!("line {line}\n\n"))
            .collect::<String>();
        let words = quoted(&output);
        assert!(
            !words.contains("line 3") && words.contains("line 4 | line 5"),
            "{words}"
        );
        assert_eq!(quoted(" \n"), "");
    }
}
