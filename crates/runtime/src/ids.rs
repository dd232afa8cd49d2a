//! Numbers of processes and threads, as the program sees them.
//!
//! The kernel's numbers differ from process to process, so that a program that looks at them
//! would do something else when it is run again. The program under test has numbers of its own
//! instead, the same in every process: above all that the kernel gives, so that no child has
//! them. They are translated wherever they go into the kernel or come out of it. Processes that
//! the program starts have the kernel's numbers.

use crate::arch::{self, nr};
use crate::file_status;
use crate::proc_files;
use crate::shared;
use crate::world::{live, world};
use core::sync::atomic::{AtomicUsize, Ordering};

/// Number of the process and of its first thread. The kernel's end at 4,194,304.
pub const PROCESS: usize = 5_000_000;
/// Number of the process that has started it.
pub const PARENT: usize = PROCESS - 1;
/// Threads beyond that have no number.
const THREADS: usize = 1 << 20;

/// The kernel's number of the process that has these, once it is known.
static REAL: AtomicUsize = AtomicUsize::new(0);

/// The calling process is the one that has virtual numbers.
pub fn claim() {
    REAL.store(ask(nr::GETPID), Ordering::Relaxed);
}

fn ask(number: usize) -> usize {
    // SAFETY: asks for a number.
    unsafe { arch::syscall(number, [0; 6]) as usize }
}

/// The kernel's number of the program's process.
pub fn real() -> usize {
    REAL.load(Ordering::Relaxed)
}

/// The number that the running thread has: the first one's is the process's.
pub fn thread() -> usize {
    PROCESS + world().execution.current
}

/// The thread with this number.
pub fn index_of(thread: usize) -> Option<usize> {
    let index = thread.checked_sub(PROCESS)?;
    (index < world().execution.threads.len()).then_some(index)
}

/// Whether a number may be that of the program's process or of one of its threads.
pub fn is_own(number: usize) -> bool {
    (PROCESS..PROCESS + THREADS).contains(&number)
}

/// What the kernel means by a number of the program's own process or one of its threads. All
/// of these are one thread for the kernel.
pub fn to_kernel(number: usize) -> usize {
    let is_own = |number: usize| is_own(number) && real() != 0;
    let signed = number as i32;
    if is_own(number) {
        real()
    } else if number == PARENT && real() != 0 {
        ask(nr::GETPPID)
    } else if signed < 0 && is_own(signed.unsigned_abs() as usize) {
        // The group of the process. Its leader is the worker.
        0
    } else {
        number
    }
}

/// What the program sees of a number that the kernel gave.
fn from_kernel(number: usize) -> usize {
    if number == real() && number != 0 {
        PROCESS
    } else {
        number
    }
}

/// Commands of `fcntl` that are about the process which gets signals of a descriptor.
const F_SETOWN: usize = 8;
const F_GETOWN: usize = 9;
const F_SETOWN_EX: usize = 15;
const F_GETOWN_EX: usize = 16;

/// `f_owner_ex` of the kernel.
#[repr(C)]
struct Owner {
    kind: i32,
    number: u32,
}

/// Arguments that are numbers of processes or threads, by system call.
fn positions(number: usize, arguments: &[usize; 6]) -> &'static [usize] {
    const PRIO_PROCESS: usize = 0;
    const IOPRIO_WHO_PROCESS: usize = 1;
    match number {
        nr::SCHED_GETAFFINITY
        | nr::SCHED_SETAFFINITY
        | nr::SCHED_SETPARAM
        | nr::SCHED_GETPARAM
        | nr::SCHED_SETSCHEDULER
        | nr::SCHED_GETSCHEDULER
        | nr::SCHED_RR_GET_INTERVAL
        | nr::SCHED_SETATTR
        | nr::SCHED_GETATTR
        | nr::PRLIMIT64
        | nr::GETPGID
        | nr::GETSID
        | nr::PIDFD_OPEN
        | nr::PROCESS_VM_READV
        | nr::PROCESS_VM_WRITEV
        | nr::GET_ROBUST_LIST
        | nr::MOVE_PAGES
        | nr::MIGRATE_PAGES
        | nr::RT_SIGQUEUEINFO
        | nr::WAIT4 => &[0],
        nr::SETPGID | nr::KCMP | nr::RT_TGSIGQUEUEINFO => &[0, 1],
        nr::GETPRIORITY | nr::SETPRIORITY if arguments[0] == PRIO_PROCESS => &[1],
        nr::IOPRIO_GET | nr::IOPRIO_SET if arguments[0] == IOPRIO_WHO_PROCESS => &[1],
        nr::PERF_EVENT_OPEN | nr::PTRACE => &[1],
        nr::FCNTL if arguments[1] == F_SETOWN => &[2],
        _ => &[],
    }
}

/// Which argument of a system call is a path.
fn path_position(number: usize) -> Option<usize> {
    match number {
        nr::OPEN | nr::STAT | nr::LSTAT | nr::ACCESS | nr::READLINK | nr::CHDIR => Some(0),
        nr::OPENAT
        | nr::OPENAT2
        | nr::NEWFSTATAT
        | nr::STATX
        | nr::READLINKAT
        | nr::FACCESSAT
        | nr::FACCESSAT2 => Some(1),
        _ => None,
    }
}

/// A path, or the owner of a descriptor, in place of the program's.
pub struct Substitute([u8; 256]);

impl Default for Substitute {
    fn default() -> Self {
        Self([0; 256])
    }
}

/// The arguments of a system call as the kernel knows things. `substitute` must live as long as
/// they do.
pub fn translate(
    number: usize,
    mut arguments: [usize; 6],
    substitute: &mut Substitute,
) -> [usize; 6] {
    for &position in positions(number, &arguments) {
        arguments[position] = to_kernel(arguments[position]);
    }
    if let Some(position) = path_position(number)
        && arguments[position] != 0
    {
        // SAFETY: the program's path.
        let given = unsafe { core::ffi::CStr::from_ptr(arguments[position] as *const _) };
        let given = given.to_bytes();
        let is_below = is_below_proc(number, &arguments, given);
        if rewrite(given, is_below, &mut substitute.0) {
            arguments[position] = substitute.0.as_ptr() as usize;
        }
    }
    if number == nr::FCNTL && arguments[1] == F_SETOWN_EX && arguments[2] != 0 {
        // SAFETY: the program's structure, and a place that is larger.
        unsafe {
            let mut owner = (arguments[2] as *const Owner).read_unaligned();
            owner.number = to_kernel(owner.number as usize) as u32;
            substitute
                .0
                .as_mut_ptr()
                .cast::<Owner>()
                .write_unaligned(owner);
        }
        arguments[2] = substitute.0.as_ptr() as usize;
    }
    arguments
}

/// Whether a path with a virtual number leads from a directory below `/proc`.
fn is_below_proc(number: usize, arguments: &[usize; 6], given: &[u8]) -> bool {
    const AT_FDCWD: i32 = -100;
    let parts = || given.split(|byte| *byte == b'/');
    if given.starts_with(b"/") || !parts().any(|part| parse(part).is_some_and(is_own)) {
        return false;
    }
    let directory = match path_position(number) {
        Some(1) => arguments[0] as i32,
        _ => AT_FDCWD,
    };
    let mut target = [0; 64];
    let target = match directory {
        AT_FDCWD => proc_files::target_of("/proc/self/cwd", &mut target),
        directory => proc_files::link_of(directory as usize, &mut target),
    };
    target.starts_with(b"/proc")
}

/// Writes a path below `/proc` that has a virtual number as the kernel knows it. False if
/// there is none.
fn rewrite(given: &[u8], is_below: bool, place: &mut [u8; 256]) -> bool {
    const PROC: &[u8] = b"/proc/";
    if !(is_below || given.starts_with(PROC)) || given.len() + 16 > place.len() {
        return false;
    }
    let mut length = 0;
    let mut is_changed = false;
    for (position, part) in given.split(|byte| *byte == b'/').enumerate() {
        let mut put = |bytes: &[u8]| {
            place[length..length + bytes.len()].copy_from_slice(bytes);
            length += bytes.len();
        };
        if position > 0 {
            put(b"/");
        }
        // The process stands first, and a thread behind `task`.
        let may_be_number = is_below || [2, 4].contains(&position);
        let number = may_be_number.then(|| parse(part)).flatten();
        match number {
            Some(number) if to_kernel(number) != number => {
                let mut digits = [0; 20];
                put(decimal(to_kernel(number), &mut digits));
                is_changed = true;
            }
            _ => put(part),
        }
    }
    place[length] = 0;
    is_changed
}

fn parse(digits: &[u8]) -> Option<usize> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}

/// What the program sees of the result of a system call.
pub fn result(number: usize, arguments: [usize; 6], result: isize) -> isize {
    match number {
        // In another namespace the leader of a group or session may have no number there.
        nr::GETPGID | nr::GETSID | nr::SETSID if result >= 0 => {
            let is_own = arguments[0] == 0 || to_kernel(arguments[0]) == real();
            if number == nr::SETSID || is_own {
                PROCESS as isize
            } else if arguments[0] == PARENT {
                PARENT as isize
            } else {
                from_kernel(result as usize) as isize
            }
        }
        nr::FCNTL if arguments[1] == F_GETOWN && result > 0 => {
            from_kernel(result as usize) as isize
        }
        nr::FCNTL if arguments[1] == F_GETOWN_EX && result == 0 => {
            let owner = arguments[2] as *mut Owner;
            // SAFETY: the kernel has written it.
            unsafe {
                let number = &raw mut (*owner).number;
                number.write_unaligned(from_kernel(number.read_unaligned() as usize) as u32);
            }
            result
        }
        nr::GETSOCKOPT if result == 0 => {
            translate_peer([arguments[1], arguments[2]], arguments[3], arguments[4]);
            result
        }
        nr::READLINK => link(arguments[0], [arguments[1], arguments[2]], result),
        nr::READLINKAT => link(arguments[1], [arguments[2], arguments[3]], result),
        _ => result,
    }
}

/// Translates the process at the other end of a socket, if the program asked for it: the first
/// field of `ucred`.
fn translate_peer(option: [usize; 2], place: usize, length: usize) {
    const SOL_SOCKET: usize = 1;
    const SO_PEERCRED: usize = 17;
    if option != [SOL_SOCKET, SO_PEERCRED] {
        return;
    }
    // SAFETY: the call has succeeded, so the kernel has written a length there, and so many bytes.
    unsafe {
        if *(length as *const u32) as usize >= size_of::<u32>() {
            let number = place as *mut u32;
            number.write_unaligned(from_kernel(number.read_unaligned() as usize) as u32);
        }
    }
}

/// The links of `/proc` that name the running process and thread, by whatever path.
fn link(path: usize, [place, size]: [usize; 2], result: isize) -> isize {
    if result <= 0 || path == 0 {
        return result;
    }
    // SAFETY: the program's path.
    let path = unsafe { core::ffi::CStr::from_ptr(path as *const _) }.to_bytes();
    // SAFETY: the kernel has written that many bytes there.
    let text = unsafe { core::slice::from_raw_parts(place as *const u8, result as usize) };
    if let Some(text) = file_status::link_text(text) {
        let length = text.len().min(size);
        // SAFETY: the program's buffer has that many bytes.
        unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), place as *mut u8, length) };
        return length as isize;
    }
    let mut digits = [0; 20];
    let is_own = text
        .split(|byte| *byte == b'/')
        .next()
        .is_some_and(|first| first == decimal(real(), &mut digits));
    if !is_own {
        return result;
    }
    let name = path.rsplit(|byte| *byte == b'/').next();
    let mut text = [0; 64];
    let mut length = 0;
    let mut put = |bytes: &[u8]| {
        text[length..length + bytes.len()].copy_from_slice(bytes);
        length += bytes.len();
    };
    let mut digits = [0; 20];
    match name {
        Some(b"self") => put(decimal(PROCESS, &mut digits)),
        Some(b"thread-self") => {
            put(decimal(PROCESS, &mut digits));
            put(b"/task/");
            put(decimal(thread(), &mut digits));
        }
        _ => return result,
    }
    let length = length.min(size);
    // SAFETY: the program's buffer has that many bytes.
    unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), place as *mut u8, length) };
    length as isize
}

/// `getpid` in any process: constructors, the program, and children that it has forked.
pub fn process() -> usize {
    if live() {
        return PROCESS;
    }
    from_kernel(ask(nr::GETPID))
}

/// `getppid` in any process.
pub fn parent() -> usize {
    if live() || (shared::is_attached() && ask(nr::GETPID) == real()) {
        return PARENT;
    }
    from_kernel(ask(nr::GETPPID))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(path: &str) -> Option<std::string::String> {
        let mut place = [0; 256];
        let is_below = !path.starts_with('/');
        rewrite(path.as_bytes(), is_below, &mut place).then(|| {
            let path = core::ffi::CStr::from_bytes_until_nul(&place).unwrap();
            path.to_str().unwrap().to_owned()
        })
    }

    #[test]
    fn virtual_numbers_are_translated_and_others_are_not() {
        REAL.store(77, Ordering::Relaxed);
        assert_eq!(to_kernel(PROCESS + 3), 77);
        assert_eq!(to_kernel(-(PROCESS as i32) as usize), 0);
        assert_eq!(to_kernel(1234), 1234);
        assert_eq!(to_kernel(usize::MAX), usize::MAX);
        assert_eq!(from_kernel(77), PROCESS);
        assert_eq!(from_kernel(78), 78);
    }

    #[test]
    fn paths_of_the_own_process_are_rewritten() {
        REAL.store(77, Ordering::Relaxed);
        let own = |rest: &str| rewritten(&format!("/proc/{PROCESS}{rest}"));
        assert_eq!(own(""), Some("/proc/77".to_owned()));
        assert_eq!(own("/status"), Some("/proc/77/status".to_owned()));
        let task = rewritten("/proc/self/task/5000002/comm");
        assert_eq!(task, Some("/proc/self/task/77/comm".to_owned()));
        assert_eq!(rewritten("/proc/self/maps"), None);
        assert_eq!(rewritten("/proc/12/status"), None);
        assert_eq!(rewritten("/tmp/5000000"), None);
        assert_eq!(rewritten("task/5000001"), Some("task/77".to_owned()));
        assert_eq!(rewritten("task/12"), None);
    }
}
