//! Why a test could not be explored, in clear words.

use raddle_abi::control::conditions;
use raddle_trace::runner::{Death, Outcome, RunnerError};

use crate::explain::{self, shown_output};
use crate::inspect::call_name;
use crate::wording;

/// Lines of output quoted.
const QUOTED: usize = 6;
/// Characters quoted of each.
const QUOTED_LINE: usize = 200;
/// Lines of messages of panics, and characters of each.
const MESSAGE_LINES: usize = 60;
const MESSAGE_LINE: usize = 2000;
/// System calls named.
const CALLS: usize = 10;

/// Why a test is not explored whose threads nobody can schedule.
pub(crate) const NATIVE_THREADS_ONLY: &str = "all of its threads but one are native ones, started \
     behind the runtime's back (by `clone`), and nothing can be interleaved";

/// Why a test is not explored of which no execution came to its end.
pub(crate) const ALL_CUT: &str = "each of its executions was ended for its length before the test \
     was through; more is allowed with `--max-points`";

/// Why a plan could not be run at all.
pub(crate) fn of_error(error: &RunnerError) -> String {
    match error {
        RunnerError::NotInstrumented { program } => format!(
            "{program} was not instrumented; build it with `cargo raddle` or `raddle cc`, not by \
             hand, and without static linking"
        ),
        RunnerError::EndedInConstructor { output } => format!(
            "the program ended in a constructor, before `main`{}",
            quoted(output)
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
        Death::NeverStarted { doing } => format!(
            "the test function (or `main`) was not reached within {seconds} s: the program \
             {doing}{at} before it, as in a constructor"
        ),
        Death::Internal { message } => {
            format!("this is a bug in raddle, please report it: {message}")
        }
        Death::Memory { bytes } => {
            format!(
                "it allocates without end: {} MiB when it was ended{at}",
                bytes >> 20
            )
        }
    }
}

/// Why a test that failed serially is not explored; `reason` is what the failure says about itself.
pub(crate) fn of_failure(outcome: &Outcome, reason: &str) -> String {
    let output = String::from_utf8_lossy(&outcome.output);
    let details = match panic_messages(&output) {
        none if none.is_empty() => quoted(&output),
        messages => messages.iter().map(|line| format!("\n{line}")).collect(),
    };
    format!("it fails without any interleaving: {reason}{details}")
}

/// What the panic hook printed, the lines with the place and those of the messages, and what libtest says
/// about the panic.
fn panic_messages(output: &str) -> Vec<String> {
    let lines = explain::panic_lines(output).into_iter();
    let mismatch = explain::mismatch(output).unwrap_or_default();
    lines
        .chain(mismatch.lines())
        .take(MESSAGE_LINES)
        .map(|line| wording::line(line, MESSAGE_LINE))
        .collect()
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
            conditions::NO_VIEW,
            "it changes files that cannot be kept apart here (the machine allows no private mounts, \
             or the test does what a private view of the files does not allow): they stay as \
             each execution leaves them, and the next one finds them so",
        ),
        (
            conditions::FILES_OUTSIDE,
            "it changes files outside of the workspace, its own directory and those for temporary \
             files, or before executions start: they stay as each execution leaves them, and the \
             next one finds them so",
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
    let output = shown_output(output);
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
    fn the_message_of_a_panic_is_whole_and_what_libtest_prints_is_left_out() {
        let outcome = Outcome {
            output: b"\nthread 't' (7) panicked at src/lib.rs:3:5:\nassertion `left == right` \
                failed\n  left: 1\n right: 2\nnote: run with `RUST_BACKTRACE=1`\nFAILED\n\n\
                failures:\n    t\n\ntest result: FAILED. 0 passed; 1 failed\n"
                .to_vec(),
            ..Outcome::default()
        };
        assert_eq!(
            of_failure(&outcome, "test panics"),
            "it fails without any interleaving: test panics\nthread 't' (7) panicked at \
             src/lib.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2"
        );
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
