//! Looks at a worker from outside: what it is doing when it does not move, and how much
//! memory it has.

use std::fs;
use std::time::{Duration, Instant};

/// What a process was doing when looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// It uses the processor.
    Running,
    /// It waits in a system call.
    Blocked {
        /// Name of the call, or its number.
        call: String,
        /// What its first argument refers to, where that is a descriptor.
        on: Option<String>,
    },
    /// It is gone, or cannot be looked at.
    Unknown,
}

/// System calls that wait, with whether their first argument is a descriptor.
const WAITING_CALLS: &[(libc::c_long, &str, bool)] = &[
    (libc::SYS_read, "read", true),
    (libc::SYS_pread64, "pread64", true),
    (libc::SYS_readv, "readv", true),
    (libc::SYS_write, "write", true),
    (libc::SYS_writev, "writev", true),
    (libc::SYS_poll, "poll", false),
    (libc::SYS_ppoll, "ppoll", false),
    (libc::SYS_select, "select", false),
    (libc::SYS_pselect6, "pselect6", false),
    (libc::SYS_epoll_wait, "epoll_wait", true),
    (libc::SYS_epoll_pwait, "epoll_pwait", true),
    (libc::SYS_epoll_pwait2, "epoll_pwait2", true),
    (libc::SYS_accept, "accept", true),
    (libc::SYS_accept4, "accept4", true),
    (libc::SYS_connect, "connect", true),
    (libc::SYS_recvfrom, "recvfrom", true),
    (libc::SYS_recvmsg, "recvmsg", true),
    (libc::SYS_sendto, "sendto", true),
    (libc::SYS_sendmsg, "sendmsg", true),
    (libc::SYS_flock, "flock", true),
    (libc::SYS_fcntl, "fcntl", true),
    (libc::SYS_fsync, "fsync", true),
    (libc::SYS_openat, "openat", false),
    (libc::SYS_wait4, "wait4", false),
    (libc::SYS_waitid, "waitid", false),
    (libc::SYS_nanosleep, "nanosleep", false),
    (libc::SYS_clock_nanosleep, "clock_nanosleep", false),
    (libc::SYS_futex, "futex", false),
    (libc::SYS_pause, "pause", false),
    (libc::SYS_rt_sigsuspend, "sigsuspend", false),
    (libc::SYS_rt_sigtimedwait, "sigtimedwait", false),
    (libc::SYS_msgrcv, "msgrcv", false),
    (libc::SYS_semop, "semop", false),
];

/// Other system calls worth a name: those that a snapshot cannot undo.
const OTHER_CALLS: &[(libc::c_long, &str)] = &[
    (libc::SYS_open, "open"),
    (libc::SYS_close, "close"),
    (libc::SYS_lseek, "lseek"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_pipe2, "pipe2"),
    (libc::SYS_dup, "dup"),
    (libc::SYS_dup2, "dup2"),
    (libc::SYS_dup3, "dup3"),
    (libc::SYS_socket, "socket"),
    (libc::SYS_socketpair, "socketpair"),
    (libc::SYS_bind, "bind"),
    (libc::SYS_listen, "listen"),
    (libc::SYS_shutdown, "shutdown"),
    (libc::SYS_setsockopt, "setsockopt"),
    (libc::SYS_clone, "clone"),
    (libc::SYS_clone3, "clone3"),
    (libc::SYS_fork, "fork"),
    (libc::SYS_vfork, "vfork"),
    (libc::SYS_execve, "execve"),
    (libc::SYS_kill, "kill"),
    (libc::SYS_tgkill, "tgkill"),
    (libc::SYS_ftruncate, "ftruncate"),
    (libc::SYS_rename, "rename"),
    (libc::SYS_mkdir, "mkdir"),
    (libc::SYS_rmdir, "rmdir"),
    (libc::SYS_unlink, "unlink"),
    (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_symlink, "symlink"),
    (libc::SYS_link, "link"),
    (libc::SYS_truncate, "truncate"),
    (libc::SYS_chmod, "chmod"),
    (libc::SYS_chdir, "chdir"),
    (libc::SYS_epoll_create1, "epoll_create1"),
    (libc::SYS_epoll_ctl, "epoll_ctl"),
    (libc::SYS_eventfd2, "eventfd2"),
    (libc::SYS_timerfd_create, "timerfd_create"),
    (libc::SYS_memfd_create, "memfd_create"),
    (libc::SYS_mremap, "mremap"),
    (libc::SYS_prctl, "prctl"),
    (libc::SYS_mmap, "mmap of a file"),
    (libc::SYS_rt_sigaction, "sigaction"),
    (libc::SYS_rt_sigprocmask, "sigprocmask"),
    (libc::SYS_fadvise64, "posix_fadvise"),
    (libc::SYS_fchmod, "fchmod"),
    (libc::SYS_fchown, "fchown"),
    (libc::SYS_utimensat, "utimensat"),
    (libc::SYS_sched_setaffinity, "sched_setaffinity"),
];

/// Name of a system call, or its number.
pub(crate) fn call_name(number: i64) -> String {
    let waiting = WAITING_CALLS.iter().map(|(call, name, _)| (call, name));
    let others = OTHER_CALLS.iter().map(|(call, name)| (call, name));
    waiting
        .chain(others)
        .find(|(call, _)| **call == number)
        .map_or_else(
            || format!("system call {number}"),
            |(_, name)| (*name).to_owned(),
        )
}

/// Fields of `/proc/<pid>/stat`, from the state on.
fn stat(pid: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may itself contain anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().map(str::to_owned).collect()
}

/// The process that started `pid`, if it is still there.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    stat(pid).get(1)?.parse().ok()
}

/// Time that `pid` spent on processors; zero if it is gone.
pub(crate) fn processor_time(pid: u32) -> Duration {
    let fields = stat(pid);
    let ticks = |at: usize| {
        let field = fields.get(at).and_then(|field| field.parse::<u64>().ok());
        field.unwrap_or(0)
    };
    // SAFETY: sysconf has no preconditions.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let per_second = u64::try_from(per_second).unwrap_or(100).max(1);
    // `utime` and `stime`.
    Duration::from_millis((ticks(11) + ticks(12)) * 1000 / per_second)
}

/// Whether `pid` handles a signal itself.
pub(crate) fn catches(pid: u32, signal: libc::c_int) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = status.lines();
    let caught = lines.find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    caught.is_some_and(|caught| caught >> (signal - 1) & 1 != 0)
}

/// What the main thread of `pid` is doing.
pub(crate) fn activity(pid: u32) -> Activity {
    match stat(pid).first().map(String::as_str) {
        Some("R") => Activity::Running,
        Some("S" | "D") => match fs::read_to_string(format!("/proc/{pid}/syscall")) {
            Ok(line) => blocked(pid, &line),
            Err(_) => Activity::Blocked {
                call: "a system call".to_owned(),
                on: None,
            },
        },
        _ => Activity::Unknown,
    }
}

fn blocked(pid: u32, line: &str) -> Activity {
    let mut words = line.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<i64>().ok());
    // The kernel writes -1 for a process that waits outside of any call, as for a page.
    let Some(number) = number.filter(|number| *number >= 0) else {
        return Activity::Running;
    };
    let first = words
        .next()
        .and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let takes_descriptor = WAITING_CALLS
        .iter()
        .any(|(call, _, descriptor)| *call == number && *descriptor);
    let on = first.filter(|_| takes_descriptor).map(|descriptor| {
        let link = fs::read_link(format!("/proc/{pid}/fd/{descriptor}"));
        match (descriptor, link) {
            (0, _) => "standard input".to_owned(),
            (_, Ok(path)) => format!("descriptor {descriptor}, {}", path.display()),
            (_, Err(_)) => format!("descriptor {descriptor}"),
        }
    });
    Activity::Blocked {
        call: call_name(number),
        on,
    }
}

/// Private resident bytes of `pid`; shared mappings (ours among them) are not counted.
pub(crate) fn private_memory(pid: u32) -> u64 {
    let Ok(statm) = fs::read_to_string(format!("/proc/{pid}/statm")) else {
        return 0;
    };
    let mut pages = statm
        .split_whitespace()
        .map(|word| word.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (pages.nth(1).unwrap_or(0), pages.next().unwrap_or(0));
    // SAFETY: sysconf has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    resident.saturating_sub(shared) * u64::try_from(page).unwrap_or(4096)
}

/// Bytes that the machine can still give to processes.
pub(crate) fn available_memory() -> u64 {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let mut lines = memory.lines();
    let available = lines.find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = available.and_then(|words| words.split_whitespace().next()?.parse().ok());
    kibibytes.unwrap_or(0_u64) << 10
}

/// Return addresses of the main thread of `pid`, innermost first, by frame pointers; empty
/// if the machine does not let us look. The process is stopped for a moment.
pub(crate) fn stack(pid: u32) -> Vec<u64> {
    let Ok(pid) = libc::pid_t::try_from(pid) else {
        return Vec::new();
    };
    // SAFETY: attaches to a process that is our descendant; failure is handled.
    if unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) } < 0 {
        return Vec::new();
    }
    let mut frames = Vec::new();
    if stop(pid) {
        // SAFETY: all-zero bytes are a valid register set.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        // SAFETY: the process is stopped and traced by this thread; `registers` is large enough.
        let got = unsafe { libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers) };
        if got >= 0 {
            // As if it were a return address, behind the instruction.
            frames.push(registers.rip + 1);
            walk(pid, registers.rbp, &mut frames);
        }
    }
    // SAFETY: ends the attachment; harmless if the process is gone.
    unsafe {
        libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0);
    }
    frames
}

fn stop(pid: libc::pid_t) -> bool {
    // SAFETY: the process is traced by this thread.
    if unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0) } < 0 {
        return false;
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        let waited = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG | libc::__WALL) };
        if waited == pid {
            return libc::WIFSTOPPED(status);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

fn walk(pid: libc::pid_t, mut frame: u64, frames: &mut Vec<u64>) {
    while frames.len() < 64 {
        let Some([next, address]) = read_pair(pid, frame) else {
            return;
        };
        if address == 0 {
            return;
        }
        frames.push(address);
        if next <= frame {
            return;
        }
        frame = next;
    }
}

fn read_pair(pid: libc::pid_t, address: u64) -> Option<[u64; 2]> {
    let mut pair = [0_u64; 2];
    let local = libc::iovec {
        iov_base: pair.as_mut_ptr().cast(),
        iov_len: 16,
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: 16,
    };
    // SAFETY: `local` covers `pair`; the kernel checks the remote address.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    (read == 16).then_some(pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn wait_for(pid: u32, expected: impl Fn(&Activity) -> bool) -> Activity {
        let start = Instant::now();
        loop {
            let seen = activity(pid);
            if expected(&seen) || start.elapsed() > Duration::from_secs(20) {
                return seen;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_process_that_reads_a_pipe_is_blocked_in_read() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let reading = Activity::Blocked {
            call: "read".to_owned(),
            on: Some("standard input".to_owned()),
        };
        // On its way there it may wait for its own file to be read.
        let seen = wait_for(child.id(), |seen| *seen == reading);
        assert_eq!(seen, reading);
        assert!(private_memory(child.id()) > 0);
        assert!(available_memory() > private_memory(child.id()));
        assert!(!catches(child.id(), libc::SIGCONT));
        assert_eq!(parent(child.id()), Some(std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(activity(child.id()), Activity::Unknown);
    }

    #[test]
    fn a_process_with_a_handler_catches_its_signal() {
        let mut child = Command::new("sh")
            .args(["-c", "trap : CONT; while :; do :; done"])
            .spawn()
            .unwrap();
        let start = Instant::now();
        while !catches(child.id(), libc::SIGCONT) {
            assert!(start.elapsed() < Duration::from_secs(20), "no handler");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!catches(child.id(), libc::SIGUSR2));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_spins_runs() {
        let mut child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let seen = wait_for(child.id(), |seen| *seen == Activity::Running);
        assert_eq!(seen, Activity::Running);
        let start = Instant::now();
        while processor_time(child.id()).is_zero() {
            assert!(start.elapsed() < Duration::from_secs(20), "it uses no time");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Machines may forbid tracing; where they do not, there is at least one address.
        let _ = stack(child.id());
        assert_eq!(
            wait_for(child.id(), |seen| *seen == Activity::Running),
            Activity::Running
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
