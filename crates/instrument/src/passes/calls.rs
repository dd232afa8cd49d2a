//! Which calls are announced with [`raddle_abi::hooks::AT`], and as what.
//!
//! The runtime replaces these functions; the announcement tells it from where it was called.

use raddle_abi::site::Operation;

use crate::llvm::{Attribute, Instruction, Value};
use crate::path::function_path;

/// Number of the futex system call on x86-64.
const FUTEX: u64 = 202;

/// libc functions by name.
const LIBC: &[(&[&str], Operation)] = &[
    (
        &[
            "malloc",
            "calloc",
            "realloc",
            "posix_memalign",
            "aligned_alloc",
            "memalign",
        ],
        Operation::Alloc,
    ),
    (&["free"], Operation::Free),
    (&["pthread_create"], Operation::Spawn),
    (&["pthread_join", "waitpid", "wait4"], Operation::Join),
    (&["pthread_exit", "exit", "_exit", "_Exit"], Operation::Exit),
    (&["abort"], Operation::Panic),
    (&["sched_yield", "pthread_yield"], Operation::Yield),
    (
        &["sleep", "usleep", "nanosleep", "clock_nanosleep"],
        Operation::Sleep,
    ),
    (
        &[
            "pthread_mutex_lock",
            "pthread_mutex_trylock",
            "pthread_mutex_timedlock",
            "pthread_rwlock_rdlock",
            "pthread_rwlock_wrlock",
            "pthread_spin_lock",
            "sem_wait",
            "sem_timedwait",
        ],
        Operation::LockWant,
    ),
    (
        &[
            "pthread_mutex_unlock",
            "pthread_rwlock_unlock",
            "pthread_spin_unlock",
            "sem_post",
        ],
        Operation::LockRelease,
    ),
    (
        &[
            "pthread_cond_wait",
            "pthread_cond_timedwait",
            "pthread_barrier_wait",
            "pthread_once",
        ],
        Operation::FutexWait,
    ),
    (
        &["pthread_cond_signal", "pthread_cond_broadcast"],
        Operation::FutexWake,
    ),
    (
        &[
            "read",
            "readv",
            "pread64",
            "write",
            "writev",
            "pwrite64",
            "poll",
            "ppoll",
            "select",
            "epoll_wait",
            "epoll_pwait",
            "accept",
            "accept4",
            "connect",
            "recv",
            "recvfrom",
            "recvmsg",
            "send",
            "sendto",
            "sendmsg",
            "flock",
            "fcntl",
            "fork",
            "open",
            "open64",
        ],
        Operation::Io,
    ),
];

/// Symbols of Rust's allocator, by how they end after mangling, or as they are.
const ALLOCATOR: &[(&str, Operation)] = &[
    ("__rust_alloc", Operation::Alloc),
    ("__rust_alloc_zeroed", Operation::Alloc),
    ("__rust_realloc", Operation::Alloc),
    ("__rust_dealloc", Operation::Free),
];

/// What a call to `callee` is announced as, if at all.
pub(super) fn announced(call: Instruction<'_>, callee: Value<'_>, name: &str) -> Option<Operation> {
    if name.starts_with("llvm.") {
        return None;
    }
    if let Some((_, operation)) = ALLOCATOR.iter().find(|(symbol, _)| name.ends_with(symbol)) {
        return Some(*operation);
    }
    if name == "syscall" {
        return Some(system_call(call));
    }
    if let Some((_, operation)) = LIBC.iter().find(|(names, _)| names.contains(&name)) {
        return Some(*operation);
    }
    (callee.has_attribute(Attribute::NO_RETURN) && is_std_path(name)).then_some(Operation::Panic)
}

fn is_std_path(symbol: &str) -> bool {
    function_path(symbol).is_some_and(|path| {
        ["core::", "alloc::", "std::"]
            .iter()
            .any(|prefix| path.starts_with(prefix))
    })
}

/// Futex waits and wakes are told apart by their constant command.
fn system_call(call: Instruction<'_>) -> Operation {
    /// `FUTEX_WAKE`, `FUTEX_WAKE_BITSET`.
    const WAKES: [u64; 2] = [1, 10];
    /// `FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME`.
    const FLAGS: u64 = 128 | 256;
    let argument = |index| {
        (call.argument_count() > index)
            .then(|| call.operand(index).integer())
            .flatten()
    };
    match (argument(0), argument(2)) {
        (Some(FUTEX), Some(command)) if WAKES.contains(&(command & !FLAGS)) => Operation::FutexWake,
        (Some(FUTEX), _) => Operation::FutexWait,
        _ => Operation::Io,
    }
}

/// How a function of libc or an intrinsic accesses memory: which arguments point to what it
/// writes and reads, and which is the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockAccess {
    /// Arguments that are written.
    pub(super) writes: &'static [u32],
    /// Arguments that are read.
    pub(super) reads: &'static [u32],
    /// Argument with the length in bytes.
    pub(super) len: u32,
}

const COPY: BlockAccess = BlockAccess {
    writes: &[0],
    reads: &[1],
    len: 2,
};
const FILL: BlockAccess = BlockAccess {
    writes: &[0],
    reads: &[],
    len: 2,
};
const COMPARE: BlockAccess = BlockAccess {
    writes: &[],
    reads: &[0, 1],
    len: 2,
};

/// The block access of a callee, if it is known to make one.
pub(super) fn block_access(name: &str) -> Option<BlockAccess> {
    match name {
        "memcpy" | "memmove" => Some(COPY),
        "memset" => Some(FILL),
        "memcmp" | "bcmp" => Some(COMPARE),
        _ if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") => Some(COPY),
        _ if name.starts_with("llvm.memset.") => Some(FILL),
        _ => None,
    }
}
