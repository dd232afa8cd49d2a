//! System call numbers and kernel constants of Linux on x86-64.

/// Numbers of system calls.
pub mod nr {
    macro_rules! numbers {
        ($($name:ident = $number:literal),* $(,)?) => {
            $(#[doc = concat!("`", stringify!($name), "`")] pub const $name: usize = $number;)*
        };
    }
    numbers! {
        READ = 0, WRITE = 1, OPEN = 2, CLOSE = 3, STAT = 4, FSTAT = 5, LSTAT = 6, POLL = 7, PAUSE = 34, ALARM = 37, SETITIMER = 38, KILL = 62, RT_SIGPENDING = 127,
        RT_SIGTIMEDWAIT = 128, RT_SIGSUSPEND = 130, TKILL = 200, TIMER_CREATE = 222, TIMER_SETTIME = 223, TIMER_GETTIME = 224, TIMER_GETOVERRUN = 225, TIMER_DELETE = 226, GETITIMER = 36, TIMERFD_CREATE = 283,
        TIMERFD_SETTIME = 286, TIMERFD_GETTIME = 287, IOCTL = 16, PIPE = 22, DUP = 32, DUP2 = 33, SOCKET = 41, SENDTO = 44, SENDMSG = 46, SHUTDOWN = 48,
        GETSOCKNAME = 51, GETPEERNAME = 52, SOCKETPAIR = 53, SETSOCKOPT = 54, GETSOCKOPT = 55, FLOCK = 73,
        FTRUNCATE = 77, GETRUSAGE = 98, EPOLL_CREATE = 213, EPOLL_CTL = 233, WAITID = 247, EVENTFD = 284,
        EVENTFD2 = 290, EPOLL_CREATE1 = 291, DUP3 = 292, PIPE2 = 293, RECVMMSG = 299, SENDMMSG = 307,
        MEMFD_CREATE = 319, LSEEK = 8,
        MMAP = 9, MPROTECT = 10, MUNMAP = 11, BRK = 12, RT_SIGACTION = 13, RT_SIGPROCMASK = 14,
        RT_SIGRETURN = 15, PREAD64 = 17, READV = 19, WRITEV = 20, ACCESS = 21, SELECT = 23,
        SCHED_YIELD = 24, MREMAP = 25, MINCORE = 27, MADVISE = 28, NANOSLEEP = 35, GETPID = 39, CONNECT = 42,
        ACCEPT = 43, RECVFROM = 45, RECVMSG = 47, CLONE = 56, FORK = 57, VFORK = 58, EXECVE = 59, EXIT = 60, WAIT4 = 61,
        UNAME = 63, FCNTL = 72, GETCWD = 79, READLINK = 89, GETTIMEOFDAY = 96, GETRLIMIT = 97, SYSINFO = 99, TIMES = 100,
        GETUID = 102, GETGID = 104, GETEUID = 107, GETEGID = 108, GETPPID = 110, SIGALTSTACK = 131,
        PRCTL = 157, ARCH_PRCTL = 158, GETTID = 186, TIME = 201, FUTEX = 202, SCHED_SETAFFINITY = 203,
        SCHED_GETAFFINITY = 204, EPOLL_WAIT = 232, GETDENTS64 = 217, CLOCK_GETTIME = 228, CLOCK_GETRES = 229,
        CLOCK_NANOSLEEP = 230, EXIT_GROUP = 231, TGKILL = 234, OPENAT = 257, NEWFSTATAT = 262,
        PSELECT6 = 270, PPOLL = 271, EPOLL_PWAIT = 281, ACCEPT4 = 288, PRLIMIT64 = 302, GETCPU = 309, GETRANDOM = 318,
        MEMBARRIER = 324, STATX = 332, RSEQ = 334, CLONE3 = 435, CLOSE_RANGE = 436, EPOLL_PWAIT2 = 441,
        FUTEX_WAITV = 449,
        PWRITE64 = 18, SENDFILE = 40, BIND = 49, TRUNCATE = 76, CHDIR = 80, RENAME = 82, MKDIR = 83, RMDIR = 84, CREAT = 85, LINK = 86,
        UNLINK = 87, SYMLINK = 88, CHMOD = 90, FCHMOD = 91, CHOWN = 92, FCHOWN = 93, LCHOWN = 94, CAPGET = 125, CAPSET = 126,
        UTIME = 132, MKNOD = 133, MOUNT = 165, SETXATTR = 188, LSETXATTR = 189, FSETXATTR = 190, REMOVEXATTR = 197,
        LREMOVEXATTR = 198, FREMOVEXATTR = 199, UTIMES = 235, MKDIRAT = 258, MKNODAT = 259, FCHOWNAT = 260, FUTIMESAT = 261,
        UNLINKAT = 263, RENAMEAT = 264, LINKAT = 265, SYMLINKAT = 266, FCHMODAT = 268, UNSHARE = 272, UTIMENSAT = 280,
        TEE = 276, FALLOCATE = 285, PWRITEV = 296, RENAMEAT2 = 316, COPY_FILE_RANGE = 326, PWRITEV2 = 328, IO_URING_SETUP = 425,
        OPENAT2 = 437, FCHMODAT2 = 452,
        PTRACE = 101, SETPGID = 109, GETPGRP = 111, SETSID = 112, GETPGID = 121, GETSID = 124, RT_SIGQUEUEINFO = 129, GETPRIORITY = 140,
        SETPRIORITY = 141, SCHED_SETPARAM = 142, SCHED_GETPARAM = 143, SCHED_SETSCHEDULER = 144, SCHED_GETSCHEDULER = 145,
        SCHED_RR_GET_INTERVAL = 148, IOPRIO_SET = 251, IOPRIO_GET = 252, MIGRATE_PAGES = 256, READLINKAT = 267, FACCESSAT = 269,
        GET_ROBUST_LIST = 274, MOVE_PAGES = 279, RT_TGSIGQUEUEINFO = 297, PERF_EVENT_OPEN = 298, PROCESS_VM_READV = 310,
        PROCESS_VM_WRITEV = 311, KCMP = 312, SCHED_SETATTR = 314, SCHED_GETATTR = 315, PIDFD_OPEN = 434, FACCESSAT2 = 439,
    }
}

/// Error numbers, positive.
pub mod errno {
    macro_rules! errors {
        ($($name:ident = $number:literal),* $(,)?) => {
            $(#[doc = concat!("`", stringify!($name), "`")] pub const $name: isize = $number;)*
        };
    }
    errors! {
        EPERM = 1, ESRCH = 3, EINTR = 4, ENXIO = 6, EAGAIN = 11, EINPROGRESS = 115, ENOMEM = 12, EFAULT = 14, EBUSY = 16, EXDEV = 18, ECONNREFUSED = 111, EINVAL = 22,
        EDEADLK = 35, ENOSYS = 38, EOVERFLOW = 75, ETIMEDOUT = 110, EOWNERDEAD = 130,
        ENOTRECOVERABLE = 131,
    }
}

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Readable.
pub const PROT_READ: usize = 1;
/// Readable and writable.
pub const PROT_READ_WRITE: usize = 3;
/// `MAP_PRIVATE | MAP_ANONYMOUS`.
pub const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
/// `MAP_SHARED`.
pub const MAP_SHARED: usize = 1;
/// `MAP_ANONYMOUS`.
pub const MAP_ANONYMOUS: usize = 0x20;
/// `MAP_NORESERVE`.
pub const MAP_NORESERVE: usize = 0x4000;
/// `MAP_FIXED_NOREPLACE`.
pub const MAP_FIXED_NOREPLACE: usize = 0x10_0000;
/// `MAP_FIXED`.
pub const MAP_FIXED: usize = 0x10;
/// `MADV_DONTNEED`.
pub const MADV_DONTNEED: usize = 4;
/// `MADV_HUGEPAGE`.
pub const MADV_HUGEPAGE: usize = 14;

/// `PR_SET_PDEATHSIG`.
pub const PR_SET_PDEATHSIG: usize = 1;
/// `PR_SET_SYSCALL_USER_DISPATCH`.
pub const PR_SET_SYSCALL_USER_DISPATCH: usize = 59;

/// Signals.
pub mod signal {
    macro_rules! signals {
        ($($name:ident = $number:literal),* $(,)?) => {
            $(#[doc = concat!("`", stringify!($name), "`")] pub const $name: usize = $number;)*
        };
    }
    signals! { SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGBUS = 7, SIGFPE = 8, SIGKILL = 9, SIGPIPE = 13, SIGALRM = 14, SIGVTALRM = 26, SIGPROF = 27, SIGSEGV = 11, SIGSYS = 31 }
    /// `SA_SIGINFO`.
    pub const SA_SIGINFO: usize = 4;
    /// `SA_RESTORER`.
    pub const SA_RESTORER: usize = 0x0400_0000;
    /// `SA_ONSTACK`.
    pub const SA_ONSTACK: usize = 0x0800_0000;
    /// `SA_NODEFER`.
    pub const SA_NODEFER: usize = 0x4000_0000;
}
