//! Which system calls change files, and what follows from that.
//!
//! The first call of the program that may change files makes its executions start over in a
//! private view of the file system ([`crate::view`]). Where there is none, or where a file
//! stands outside of it, the tool is told.

use crate::arch::errno::{ECONNREFUSED, EXDEV};
use crate::arch::{self, nr};
use crate::descriptors;
use crate::file_status::{self, Place};
use crate::host::{self, End};
use crate::shared::shared;
use crate::syscalls::{changes_kernel, error, perform};
use crate::view::{self, Need};
use crate::world::world;
use core::ffi::CStr;
use raddle_abi::control::conditions;

const AT_FDCWD: usize = -100isize as usize;
const O_CREAT: usize = 0o100;
const O_CHANGES: usize = 3 | O_CREAT | 0o1000;
const PROT_WRITE: usize = 2;
const MAPPINGS: usize = arch::MAP_SHARED | arch::MAP_ANONYMOUS;

/// Files that a call changes, by directory and path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// One by its path.
    Path(usize, usize),
    /// Two by their paths.
    Paths([(usize, usize); 2]),
    /// One that is open.
    Descriptor(usize),
}

/// What a call changes, if it changes files.
fn change(number: usize, arguments: [usize; 6]) -> Option<Change> {
    let [a, b, c, d, ..] = arguments;
    Some(match number {
        nr::OPEN if b & O_CHANGES != 0 => Change::Path(AT_FDCWD, a),
        nr::OPENAT if c & O_CHANGES != 0 => Change::Path(a, b),
        // SAFETY: the program's `struct open_how` begins with the flags.
        nr::OPENAT2 if c != 0 && unsafe { *(c as *const usize) } & O_CHANGES != 0 => {
            Change::Path(a, b)
        }
        nr::CREAT
        | nr::TRUNCATE
        | nr::MKDIR
        | nr::RMDIR
        | nr::UNLINK
        | nr::CHMOD
        | nr::CHOWN
        | nr::LCHOWN
        | nr::UTIME
        | nr::UTIMES
        | nr::MKNOD
        | nr::SETXATTR
        | nr::LSETXATTR
        | nr::REMOVEXATTR
        | nr::LREMOVEXATTR => Change::Path(AT_FDCWD, a),
        nr::MKDIRAT
        | nr::MKNODAT
        | nr::FCHOWNAT
        | nr::FUTIMESAT
        | nr::UNLINKAT
        | nr::FCHMODAT
        | nr::FCHMODAT2 => Change::Path(a, b),
        nr::UTIMENSAT if b != 0 => Change::Path(a, b),
        nr::SYMLINK => Change::Path(AT_FDCWD, b),
        nr::SYMLINKAT => Change::Path(b, c),
        nr::RENAME | nr::LINK => Change::Paths([(AT_FDCWD, a), (AT_FDCWD, b)]),
        nr::RENAMEAT | nr::RENAMEAT2 | nr::LINKAT => Change::Paths([(a, b), (c, d)]),
        nr::UTIMENSAT
        | nr::FTRUNCATE
        | nr::FALLOCATE
        | nr::FCHMOD
        | nr::FCHOWN
        | nr::FSETXATTR
        | nr::FREMOVEXATTR
        | nr::WRITE
        | nr::WRITEV
        | nr::PWRITE64
        | nr::PWRITEV
        | nr::PWRITEV2 => Change::Descriptor(a),
        nr::COPY_FILE_RANGE => Change::Descriptor(c),
        nr::SENDFILE => Change::Descriptor(a),
        nr::MMAP if c & PROT_WRITE != 0 && d & MAPPINGS == arch::MAP_SHARED => {
            Change::Descriptor(arguments[4])
        }
        nr::BIND => Change::Path(AT_FDCWD, socket_path(b, c)?),
        nr::IO_URING_SETUP => Change::Descriptor(usize::MAX),
        _ => return None,
    })
}

/// Where a socket's address has a path, if it has one.
fn socket_path(address: usize, bytes: usize) -> Option<usize> {
    const AF_UNIX: u16 = 1;
    if address == 0 || bytes < 3 {
        return None;
    }
    // SAFETY: the program's address has that many bytes.
    let (family, first) = unsafe { (*(address as *const u16), *((address + 2) as *const u8)) };
    (family == AF_UNIX && first != 0).then_some(address + 2)
}

/// The program makes this call before executions start: there is no view yet.
pub fn note_early(number: usize, arguments: [usize; 6]) {
    if change(number, arguments).is_some_and(|change| is_about_files(&change)) {
        shared().note_condition(conditions::FILES_OUTSIDE);
    }
}

/// The program is about to make this call. If it changes files, it does so in a view.
pub fn before(number: usize, arguments: [usize; 6]) {
    let Some(change) = change(number, arguments).filter(is_about_files) else {
        return;
    };
    changes_kernel(number);
    want_view();
    let family = shared().family();
    if family.view == Need::Refused {
        shared().note_condition(conditions::NO_VIEW);
    } else if !stays_in_view(change) {
        shared().note_condition(conditions::FILES_OUTSIDE);
    }
}

/// What the program does from here on may change files: it has to run in a view, from its
/// start.
pub fn want_view() {
    let family = shared().family();
    if world().running && host::is_child() && family.view == Need::None {
        family.view = Need::Wanted;
        host::end(End::Again);
    }
}

/// Looks at what came of a call: one that fails because of the view is no failure of the
/// program. Its executions start over without.
pub fn after(number: usize, arguments: [usize; 6], result: isize) -> isize {
    if result >= 0 && host::is_child() {
        note_times(number, arguments, result);
    }
    if !world().running || view::layers().is_empty() {
        return result;
    }
    let is_misled = match number {
        nr::CONNECT if result == error(ECONNREFUSED) => {
            socket_path(arguments[1], arguments[2]).is_some()
        }
        _ if result == error(EXDEV) => match change(number, arguments) {
            Some(Change::Paths(paths)) => are_together_below(paths),
            _ => false,
        },
        _ => false,
    };
    if is_misled {
        shared().family().view = Need::Refused;
        host::end(End::Again);
    }
    result
}

/// A call has succeeded: what it has changed has new times.
fn note_times(number: usize, arguments: [usize; 6], result: isize) {
    const AT_SYMLINK_NOFOLLOW: usize = 0x100;
    let [.., d, e, _] = arguments;
    let place = match change(number, arguments) {
        None | Some(Change::Descriptor(usize::MAX)) => return,
        Some(Change::Descriptor(descriptor)) => Place::descriptor(descriptor),
        Some(Change::Paths([_, (directory, path)])) => Place::link(directory, path),
        Some(Change::Path(directory, path)) => match number {
            nr::OPEN | nr::OPENAT | nr::OPENAT2 | nr::CREAT => Place::descriptor(result as usize),
            nr::LCHOWN | nr::LSETXATTR | nr::LREMOVEXATTR | nr::SYMLINK | nr::SYMLINKAT => {
                Place::link(directory, path)
            }
            nr::UTIMENSAT | nr::FCHMODAT2 if d & AT_SYMLINK_NOFOLLOW != 0 => {
                Place::link(directory, path)
            }
            nr::FCHOWNAT if e & AT_SYMLINK_NOFOLLOW != 0 => Place::link(directory, path),
            _ => Place::path(directory, path),
        },
    };
    file_status::note(number, arguments, place);
}

/// Whether a change is about files and directories, not about devices, pipes or the kernel's
/// own files.
fn is_about_files(change: &Change) -> bool {
    match *change {
        Change::Path(directory, path) => is_file(directory, path, true),
        Change::Paths(paths) => paths
            .into_iter()
            .any(|(directory, path)| is_file(directory, path, false)),
        // Opening one to write has been looked at.
        Change::Descriptor(descriptor) => {
            !descriptors::is_own(descriptor) && is_regular(descriptor)
        }
    }
}

/// Whether `open` or `openat` of a path waits for the other end of a named pipe.
pub fn waits_for_other_end(number: usize, arguments: [usize; 6]) -> bool {
    const FIFO: u32 = 0o010_000;
    const O_RDWR: usize = 2;
    const O_NONBLOCK_OR_PATH: usize = 0o4000 | 0o10_000_000;
    let (directory, path, flags) = match number {
        nr::OPEN => (AT_FDCWD, arguments[0], arguments[1]),
        _ => (arguments[0], arguments[1], arguments[2]),
    };
    flags & (O_RDWR | O_NONBLOCK_OR_PATH) == 0
        && path != 0
        && kind(directory, path, 0) == Some(FIFO)
}

fn is_regular(descriptor: usize) -> bool {
    descriptor == usize::MAX || kind(descriptor, c"".as_ptr() as usize, 0) == Some(REGULAR)
}

const REGULAR: u32 = 0o100_000;

/// Kind of a file, by its mode; `None` if there is none.
fn kind(directory: usize, path: usize, flags: usize) -> Option<u32> {
    const AT_EMPTY_PATH: usize = 0x1000;
    const MODE_WORD: usize = 6;
    const FORMAT: u32 = 0o170_000;
    let mut status = [0u32; 36];
    let place = status.as_mut_ptr() as usize;
    let flags = flags | AT_EMPTY_PATH;
    let result = perform(nr::NEWFSTATAT, [directory, path, place, flags, 0, 0]);
    (result == 0).then_some(status[MODE_WORD] & FORMAT)
}

/// Whether a path leads to a file, a directory, or nothing yet.
fn is_file(directory: usize, path: usize, follow: bool) -> bool {
    const DIRECTORY: u32 = 0o040_000;
    const LINK: u32 = 0o120_000;
    const SOCKET: u32 = 0o140_000;
    const AT_SYMLINK_NOFOLLOW: usize = 0x100;
    if path == 0 {
        return false;
    }
    // SAFETY: the program's path.
    let text = unsafe { CStr::from_ptr(path as *const _) }.to_bytes();
    if [&b"/proc/"[..], b"/sys/", b"/dev/pts/"]
        .iter()
        .any(|start| text.starts_with(start))
    {
        return false;
    }
    let flags = if follow { 0 } else { AT_SYMLINK_NOFOLLOW };
    let kind = kind(directory, path, flags);
    kind.is_none_or(|kind| [REGULAR, DIRECTORY, LINK, SOCKET].contains(&kind))
}

/// Whether what changes is in the view of this process.
fn stays_in_view(change: Change) -> bool {
    let is_inside = |mount: Option<u64>| {
        mount.is_none_or(|mount| view::layers().iter().any(|layer| layer.mount == mount))
    };
    match change {
        Change::Path(directory, path) => is_inside(mount_of(directory, path)),
        Change::Paths(paths) => paths
            .into_iter()
            .all(|(directory, path)| is_inside(mount_of(directory, path))),
        Change::Descriptor(usize::MAX) => true,
        Change::Descriptor(descriptor) => is_inside(view::mount_of(descriptor, c"")),
    }
}

/// Whether two paths of different overlays are in the same file system without the view, or
/// the overlay itself cannot do what its file system can.
fn are_together_below(paths: [(usize, usize); 2]) -> bool {
    let below = paths.map(|(directory, path)| {
        let mount = mount_of(directory, path)?;
        let layer = view::layers().iter().find(|layer| layer.mount == mount)?;
        Some(layer.below)
    });
    below[0].is_some() && below[0] == below[1]
}

/// The mount of a file, or of the directory in which it would be.
fn mount_of(directory: usize, path: usize) -> Option<u64> {
    if path == 0 {
        return view::mount_of(directory, c"");
    }
    // SAFETY: the program's path.
    let path = unsafe { CStr::from_ptr(path as *const _) };
    if let Some(mount) = view::mount_of(directory, path) {
        return Some(mount);
    }
    let mut parent = [0u8; 4096];
    let bytes = path.to_bytes();
    let end = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == b'/').count();
    let slash = bytes[..end].iter().rposition(|byte| *byte == b'/');
    let length = match slash {
        None => {
            parent[0] = b'.';
            1
        }
        // The root directory is its own parent.
        Some(slash) => slash.max(1).min(parent.len() - 1),
    };
    if slash.is_some() {
        parent[..length].copy_from_slice(&bytes[..length]);
    }
    view::mount_of(directory, CStr::from_bytes_until_nul(&parent).ok()?)
}
