//! Whether the limits of this process (`ulimit`) and its disks leave what a run needs.
//!
//! A run that meets a limit half-way cannot tell what it would have found, so every command that
//! builds or runs asks first, and `doctor` shows the answers.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use raddle_abi::control::{ADDRESS_SPACE, CONTROL_SIZE};
use raddle_report::{Check, CheckResult};

use crate::cache;
use crate::exit::{Exit, Failure};
use crate::settings::cores;
use crate::threads::{self, Refusal};

/// File descriptors of the tool: workers have theirs of the shared memory at 250.
const DESCRIPTORS: u64 = 320;
/// Bytes of the stack that the tool, compilers and LLVM need.
const STACK: u64 = 1 << 20;
/// Bytes of the largest file that a build writes, beside the shared memory.
const FILE: u64 = CONTROL_SIZE as u64 + (256 << 20);
/// Bytes that have to be free where something is written.
const DISK: i64 = 8 << 20;
/// Seconds of processor time that one compiler or one worker may need.
const PROCESSOR_TIME: u64 = 600;
/// Seconds before the hard limit of processor time at which the kernel sends a signal that
/// says what it means.
const NOTICE: u64 = 5;
/// Processes and threads that a run needs however few processors there are, and for each of them.
const THREADS: usize = 64;
const THREADS_PER_CORE: usize = 8;

/// All checks of limits.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        descriptors(),
        stack(),
        file_size(),
        address_space(),
        processes(),
        processor_time(),
        shared_memory(),
        disk(),
    ]
}

/// Fails if a limit is too low.
pub(crate) fn require() -> Result<(), Failure> {
    match checks()
        .into_iter()
        .find(|check| check.result == CheckResult::Bad)
    {
        Some(check) => Err(Failure::new(
            Exit::Unsupported,
            format!("{}: {}; `doctor` checks everything", check.name, check.text),
        )),
        None => Ok(()),
    }
}

/// Fails if nothing can be written below a directory, for lack of space or otherwise.
pub(crate) fn require_space(directory: &Path) -> Result<(), Failure> {
    let present = directory.ancestors().find(|path| path.is_dir());
    match present.map(|present| (present, probe_disk(present))) {
        Some((present, Err(error))) => {
            Err(Failure::new(Exit::Unsupported, no_space(present, &error)))
        }
        _ => Ok(()),
    }
}

/// Whether there is stack enough for everything else, which is the first thing to ask.
pub(crate) fn stack() -> Check {
    const NAME: &str = "stack";
    match limit(libc::RLIMIT_STACK) {
        (soft, _) if soft >= STACK => good(NAME, format!("at least {} KiB", STACK >> 10)),
        (soft, _) => bad(
            NAME,
            format!(
                "the limit of {} KiB is too low for compilers: set `ulimit -s 8192`",
                soft >> 10
            ),
        ),
    }
}

/// Takes as many descriptors as are allowed if those at hand are too few.
fn descriptors() -> Check {
    const NAME: &str = "file descriptors";
    let (soft, hard) = limit(libc::RLIMIT_NOFILE);
    if soft < DESCRIPTORS && hard >= DESCRIPTORS {
        let raised = libc::rlimit {
            rlim_cur: DESCRIPTORS,
            rlim_max: hard,
        };
        // SAFETY: sets a limit of this process, within what it is allowed.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) };
    }
    match limit(libc::RLIMIT_NOFILE) {
        (soft, _) if soft >= DESCRIPTORS => good(NAME, format!("at least {DESCRIPTORS}")),
        (soft, _) => bad(
            NAME,
            format!("only {soft} are allowed: set `ulimit -n 1024`"),
        ),
    }
}

fn file_size() -> Check {
    const NAME: &str = "file size";
    match limit(libc::RLIMIT_FSIZE) {
        (soft, _) if soft >= FILE => good(NAME, "no low limit"),
        (soft, _) => bad(
            NAME,
            format!(
                "files may have {} KiB only, which is too little for executables and shared memory: \
                 set `ulimit -f unlimited`",
                soft >> 10
            ),
        ),
    }
}

/// Reserves as much as a worker does, and gives it back.
fn address_space() -> Check {
    const NAME: &str = "address space";
    // SAFETY: a new mapping at an address that the kernel chooses, which nothing uses.
    let failed = unsafe {
        let address = libc::mmap(
            std::ptr::null_mut(),
            ADDRESS_SPACE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        match address == libc::MAP_FAILED {
            true => Some(io::Error::last_os_error()),
            false => {
                libc::munmap(address, ADDRESS_SPACE);
                None
            }
        }
    };
    match failed {
        None => good(NAME, "sparse mappings are allowed"),
        Some(error) => bad(
            NAME,
            format!(
                "{} GiB cannot be reserved (they are not used): {error}; set `ulimit -v unlimited`, \
                 `ulimit -d unlimited`, and vm.overcommit_memory to 0 or 1",
                ADDRESS_SPACE >> 30
            ),
        ),
    }
}

fn processes() -> Check {
    const NAME: &str = "processes and threads";
    let wanted = THREADS + THREADS_PER_CORE * cores();
    match threads::probe(wanted) {
        Ok(()) => good(NAME, format!("at least {wanted} more")),
        Err(Refusal { started, error }) => bad(
            NAME,
            format!(
                "only {started} more of {wanted} can be started: {error}; raise `ulimit -u`, or the \
                 container's limit (pids.max)"
            ),
        ),
    }
}

fn processor_time() -> Check {
    const NAME: &str = "processor time";
    match limit(libc::RLIMIT_CPU) {
        (soft, _) if soft >= PROCESSOR_TIME - NOTICE => good(NAME, "no low limit"),
        (soft, _) => bad(
            NAME,
            format!(
                "a process may use {soft} s only, which is too little for compilers and long runs: \
                 set `ulimit -t unlimited`"
            ),
        ),
    }
}

/// Has the tool, and what it starts, get a signal some seconds before they would be killed for
/// their processor time: the tool says then what it was, and it knows how a worker has ended.
pub(crate) fn watch_processor_time() {
    let (soft, hard) = limit(libc::RLIMIT_CPU);
    if hard == libc::RLIM_INFINITY && soft == libc::RLIM_INFINITY {
        return;
    }
    let earlier = libc::rlimit {
        rlim_cur: soft.min(hard.saturating_sub(NOTICE)),
        rlim_max: hard,
    };
    let end: extern "C" fn(libc::c_int) = end_for_processor_time;
    // SAFETY: no other thread runs yet; the handler only makes system calls.
    unsafe {
        if earlier.rlim_cur >= PROCESSOR_TIME - NOTICE {
            libc::setrlimit(libc::RLIMIT_CPU, &raw const earlier);
        }
        libc::signal(libc::SIGXCPU, end as libc::sighandler_t);
    }
}

/// Ends the tool from a signal handler.
extern "C" fn end_for_processor_time(_: libc::c_int) {
    const WORDS: &str = "error: the limit of processor time is reached: set `ulimit -t unlimited`; \
        what was confirmed is stored\n";
    // SAFETY: writes bytes that are there, and ends the process.
    unsafe {
        libc::write(2, WORDS.as_ptr().cast(), WORDS.len());
        libc::_exit(Exit::Unsupported as i32)
    }
}

fn shared_memory() -> Check {
    const NAME: &str = "shared memory";
    match make_shared_memory() {
        Ok(()) => good(NAME, "can be made and mapped"),
        Err(error) => bad(
            NAME,
            format!(
                "{} MiB cannot be made by memfd_create: {error}; allow it in the sandbox or \
                 container",
                CONTROL_SIZE >> 20
            ),
        ),
    }
}

/// Makes as much as a worker gets, and uses a page of it.
fn make_shared_memory() -> io::Result<()> {
    // SAFETY: the name is a NUL-terminated string; the descriptor has no other owner; the mapping
    // is new, as large as the file, and gone before the file.
    unsafe {
        let descriptor = libc::memfd_create(c"raddle-check".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        let file = OwnedFd::from_raw_fd(descriptor);
        if libc::ftruncate(file.as_raw_fd(), CONTROL_SIZE as libc::off_t) != 0 {
            return Err(io::Error::last_os_error());
        }
        let address = libc::mmap(
            std::ptr::null_mut(),
            CONTROL_SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            file.as_raw_fd(),
            0,
        );
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        libc::munmap(address, CONTROL_SIZE);
    }
    Ok(())
}

/// The disk of the cache, which everything is built through.
fn disk() -> Check {
    const NAME: &str = "disk";
    let Ok(root) = cache::root() else {
        return good(NAME, "there is no cache directory yet");
    };
    match require_space(&root) {
        Ok(()) => good(NAME, "there is space in the cache directory"),
        Err(failure) => bad(
            NAME,
            failure
                .error
                .map_or_else(String::new, |error| error.to_string()),
        ),
    }
}

/// Asks for some space in a file without a name.
fn probe_disk(directory: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else {
        return Ok(());
    };
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the path is NUL-terminated.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if descriptor < 0 {
        let error = io::Error::last_os_error();
        return match is_lack(&error) {
            true => Err(error),
            // Other troubles are told by those that meet them, with the file's name.
            false => Ok(()),
        };
    }
    // SAFETY: the descriptor was just opened and has no other owner.
    let file = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: allocates space for a file of our own.
    let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, DISK) };
    let error = io::Error::from_raw_os_error(error);
    match is_lack(&error) {
        true => Err(error),
        false => Ok(()),
    }
}

fn is_lack(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)
    )
}

fn no_space(directory: &Path, error: &io::Error) -> String {
    format!(
        "the disk of {} has less than {} MiB free for us: {error}; make space, or put the cache \
         (RADDLE_CACHE) or the target directory (--target-dir) somewhere else",
        directory.display(),
        DISK >> 20
    )
}

/// A limit of this process, and how far it can be raised.
fn limit(resource: libc::__rlimit_resource_t) -> (u64, u64) {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the kernel writes to a live structure.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    (limit.rlim_cur, limit.rlim_max)
}

fn good(name: &str, text: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        result: CheckResult::Good,
        text: text.into(),
    }
}

fn bad(name: &str, text: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        result: CheckResult::Bad,
        text: text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_what_its_own_tests_need() {
        let bad: Vec<_> = checks()
            .into_iter()
            .filter(|check| check.result == CheckResult::Bad)
            .collect();
        assert!(bad.is_empty(), "{bad:?}");
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_on_the_disk_of_its_parent() {
        let directory = tempfile::tempdir().unwrap();
        assert!(require_space(&directory.path().join("a/b")).is_ok());
        assert!(require_space(Path::new("/proc/none")).is_ok());
    }
}
