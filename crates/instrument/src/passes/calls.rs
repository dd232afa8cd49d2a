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
    (&["pthread_create", "thrd_create"], Operation::Spawn),
    (
        &[
            "pthread_join",
            "pthread_tryjoin_np",
            "pthread_timedjoin_np",
            "pthread_clockjoin_np",
            "thrd_join",
            "wait",
            "waitpid",
            "wait3",
            "wait4",
            "waitid",
        ],
        Operation::Join,
    ),
    (
        &["pthread_exit", "thrd_exit", "exit", "_exit", "_Exit"],
        Operation::Exit,
    ),
    (&["abort"], Operation::Panic),
    (
        &[
            "sched_yield",
            "pthread_yield",
            "thrd_yield",
            "pthread_testcancel",
        ],
        Operation::Yield,
    ),
    (
        &[
            "sleep",
            "usleep",
            "nanosleep",
            "clock_nanosleep",
            "thrd_sleep",
            "pause",
            "sigsuspend",
            "sigwait",
            "sigwaitinfo",
            "sigtimedwait",
        ],
        Operation::Sleep,
    ),
    (
        &[
            "pthread_mutex_lock",
            "pthread_mutex_trylock",
            "pthread_mutex_timedlock",
            "pthread_mutex_clocklock",
            "pthread_rwlock_rdlock",
            "pthread_rwlock_tryrdlock",
            "pthread_rwlock_timedrdlock",
            "pthread_rwlock_clockrdlock",
            "pthread_rwlock_wrlock",
            "pthread_rwlock_trywrlock",
            "pthread_rwlock_timedwrlock",
            "pthread_rwlock_clockwrlock",
            "pthread_spin_lock",
            "pthread_spin_trylock",
            "mtx_lock",
            "mtx_trylock",
            "mtx_timedlock",
            "sem_wait",
            "sem_trywait",
            "sem_timedwait",
            "sem_clockwait",
        ],
        Operation::LockWant,
    ),
    (
        &[
            "pthread_mutex_unlock",
            "pthread_rwlock_unlock",
            "pthread_spin_unlock",
            "pthread_mutex_destroy",
            "mtx_unlock",
            "mtx_destroy",
            "sem_post",
        ],
        Operation::LockRelease,
    ),
    (
        &[
            "pthread_cond_wait",
            "pthread_cond_timedwait",
            "pthread_cond_clockwait",
            "pthread_barrier_wait",
            "pthread_once",
            "cnd_wait",
            "cnd_timedwait",
            "call_once",
            "sem_getvalue",
        ],
        Operation::FutexWait,
    ),
    (
        &[
            "pthread_cond_signal",
            "pthread_cond_broadcast",
            "pthread_cond_destroy",
            "pthread_barrier_destroy",
            "pthread_cancel",
            "pthread_kill",
            "cnd_signal",
            "cnd_broadcast",
            "kill",
            "raise",
        ],
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
            "epoll_pwait2",
            "pselect",
            "accept",
            "accept4",
            "connect",
            "recv",
            "recvfrom",
            "recvmsg",
            "send",
            "sendto",
            "sendmsg",
            "recvmmsg",
            "sendmmsg",
            "eventfd_read",
            "eventfd_write",
            "shutdown",
            "close",
            "posix_spawn",
            "posix_spawnp",
            "system",
            "popen",
            "pclose",
            "flock",
            "fcntl",
            "fork",
            "open",
            "open64",
        ],
        Operation::Io,
    ),
];

/// Functions of libstdc++ by symbol, and what C's `assert` calls.
const CXX: &[(&[&str], Operation)] = &[
    // Operator new and delete: plain, for arrays, sized, aligned, without exceptions.
    (
        &[
            "_Znwm",
            "_Znam",
            "_ZnwmSt11align_val_t",
            "_ZnamSt11align_val_t",
            "_ZnwmRKSt9nothrow_t",
            "_ZnamRKSt9nothrow_t",
        ],
        Operation::Alloc,
    ),
    (
        &[
            "_ZdlPv",
            "_ZdaPv",
            "_ZdlPvm",
            "_ZdaPvm",
            "_ZdlPvSt11align_val_t",
            "_ZdlPvmSt11align_val_t",
        ],
        Operation::Free,
    ),
    (&["_ZNSt6thread4joinEv"], Operation::Join),
    (&["__assert_fail", "_ZSt9terminatev"], Operation::Panic),
    (
        &["_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"],
        Operation::FutexWait,
    ),
    (
        &[
            "_ZNSt18condition_variable10notify_oneEv",
            "_ZNSt18condition_variable10notify_allEv",
        ],
        Operation::FutexWake,
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
    if let Some((_, operation)) = LIBC
        .iter()
        .chain(CXX)
        .find(|(names, _)| names.contains(&name))
    {
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

/// Whether an intrinsic reads the processor's counter of cycles.
pub(super) fn reads_cycles(name: &str) -> bool {
    ["llvm.readcyclecounter", "llvm.x86.rdtsc", "llvm.x86.rdtscp"].contains(&name)
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
        "memcpy" | "memmove" | "mempcpy" | "__memcpy_chk" | "__memmove_chk" => Some(COPY),
        "memset" | "__memset_chk" => Some(FILL),
        "memcmp" | "bcmp" => Some(COMPARE),
        _ if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") => Some(COPY),
        _ if name.starts_with("llvm.memset.") => Some(FILL),
        _ => None,
    }
}
