//! What the kernel and the processor offer, for `doctor`.

use std::ffi::c_long;

use raddle_report::{Check, CheckResult};

/// `HWCAP2_FSGSBASE` of the x86 auxiliary vector.
const FSGSBASE: u64 = 1 << 1;

/// `prctl` number of system call dispatch, and its argument to turn it off.
const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
const PR_SYS_DISPATCH_OFF: c_long = 0;

/// All checks of the machine.
pub(crate) fn checks() -> Vec<Check> {
    vec![processor(), shadow_stack(), dispatch()]
}

fn processor() -> Check {
    // SAFETY: reads a number that the kernel left for the process.
    let features = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    if features & FSGSBASE != 0 {
        check(
            "processor",
            CheckResult::Good,
            "fast thread switches (FSGSBASE)",
        )
    } else {
        let text = "no FSGSBASE: threads run on OS threads (`--carrier os`), which is slower";
        check("processor", CheckResult::Limited, text)
    }
}

fn shadow_stack() -> Check {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let features = status
        .lines()
        .find(|line| line.starts_with("x86_Thread_features:"));
    if features.is_some_and(|line| line.contains("shstk")) {
        let text = "active: set GLIBC_TUNABLES=glibc.cpu.x86_shstk=off";
        check("shadow stack", CheckResult::Bad, text)
    } else {
        check("shadow stack", CheckResult::Good, "not active")
    }
}

fn dispatch() -> Check {
    // SAFETY: turning dispatch off changes nothing in a process that never turned it on.
    let result = unsafe {
        libc::prctl(
            PR_SET_SYSCALL_USER_DISPATCH,
            PR_SYS_DISPATCH_OFF,
            0 as c_long,
            0 as c_long,
            0 as c_long,
        )
    };
    if result == 0 {
        check("system call dispatch", CheckResult::Good, "available")
    } else {
        let text = "not available (Linux 5.11 has it): every execution is forked, which is slower";
        check("system call dispatch", CheckResult::Limited, text)
    }
}

fn check(name: &str, result: CheckResult, text: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        result,
        text: text.into(),
    }
}
