//! A private view of the file system for one execution.
//!
//! An execution that changes files runs in a forked child with a mount namespace of its own, in
//! which overlays stand over the directories that the tool has named: what is written there goes
//! to memory, and is gone with the execution. So each execution, and each later process that
//! repeats it, begins with the files as the user has them, and leaves them so. Processes that
//! the program starts have the same view.
//!
//! Without the privilege to mount, the namespace belongs to a user namespace, in which the
//! child has its own user and group, and no privileges once the view stands. Machines may
//! forbid that too: then there is no view, and the tool says what that means.

use crate::arch::errno::EPERM;
use crate::arch::{self, nr};
use crate::global::Global;
use crate::shared::shared;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::CStr;
use raddle_abi::control::{VIEW_OFFSET, VIEW_SIZE, view};

const CLONE_NEWNS: usize = 0x0002_0000;
const CLONE_NEWUSER: usize = 0x1000_0000;
const MS_BIND: usize = 4096;
const MS_REC: usize = 16384;
const MS_PRIVATE: usize = 1 << 18;
const O_DIRECTORY: usize = 0o200_000;
const O_CLOEXEC: usize = 0o2_000_000;
const O_PATH: usize = 0o10_000_000;
const O_WRONLY: usize = 1;
const AT_FDCWD: usize = -100isize as usize;
const AT_EMPTY_PATH: usize = 0x1000;
const PATH_BYTES: usize = 4096;

/// Whether executions have a view. Shared between the worker and its forked children.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// None has changed files yet.
    None = 0,
    /// They change files.
    Wanted,
    /// They change files, but the machine allows no view, or the program does not work in it.
    Refused,
}

/// A directory under an overlay of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Mount id of the overlay.
    pub mount: u64,
    /// Mount id of what is under it.
    pub below: u64,
}

/// The view of this process: none in the worker itself.
static LAYERS: Global<Vec<Layer>> = Global::new(Vec::new());

/// The overlays that this process sees.
pub fn layers() -> &'static [Layer] {
    LAYERS.get()
}

/// A system call that succeeds, or its negative error.
fn call(number: usize, arguments: [usize; 6]) -> Result<usize, isize> {
    // SAFETY: callers pass addresses of live values.
    match unsafe { arch::syscall(number, arguments) } {
        result if result < 0 => Err(result),
        result => Ok(result as usize),
    }
}

/// As `format!`, whose code in the prebuilt `alloc` unwinds: the runtime would need an unwinder that
/// C programs do not have.
macro_rules! text {
    ($($part:tt)*) => {{
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = core::fmt::Write::write_fmt(&mut text, format_args!($($part)*));
        text
    }};
}

fn open(path: &str, flags: usize) -> Result<usize, isize> {
    let path = text!("{path}\0");
    let arguments = [AT_FDCWD, path.as_ptr() as usize, flags | O_CLOEXEC, 0, 0, 0];
    call(nr::OPENAT, arguments)
}

fn close(descriptor: usize) {
    let _ = call(nr::CLOSE, [descriptor, 0, 0, 0, 0, 0]);
}

fn mount(from: &str, to: &str, kind: &str, flags: usize, data: &str) -> Result<(), isize> {
    let words = [from, to, kind, data].map(|word| text!("{word}\0"));
    let [from, to, kind, data] = words.each_ref().map(|word| word.as_ptr() as usize);
    call(nr::MOUNT, [from, to, kind, flags, data, 0]).map(drop)
}

/// What the tool wants a view of: directories under overlays, and other mounts below them.
fn entries() -> Vec<(u8, &'static str)> {
    // SAFETY: an area of the shared memory, which the tool wrote before the program began.
    let mut text =
        unsafe { core::slice::from_raw_parts(shared().at(VIEW_OFFSET) as *const u8, VIEW_SIZE) };
    let mut entries = Vec::new();
    while let [kind @ (view::OVERLAY | view::BIND), rest @ ..] = text {
        let Ok(path) = CStr::from_bytes_until_nul(rest) else {
            break;
        };
        text = &rest[path.count_bytes() + 1..];
        if let Ok(path) = path.to_str() {
            entries.push((*kind, path));
        }
    }
    entries
}

/// Gives this process, which must have a single thread, its own view. An error leaves it
/// with half of one: it must end then.
pub fn enter() -> Result<(), isize> {
    let entries = entries();
    let Some((_, first)) = entries.iter().find(|(kind, _)| *kind == view::OVERLAY) else {
        return Err(-EPERM);
    };
    let capabilities = capabilities()?;
    let is_user = enter_namespaces()?;
    mount("none", "/", "", MS_REC | MS_PRIVATE, "")?;
    let directory = current_directory();
    // Paths lead into overlays once these stand: what is below is held open.
    let mut held = Vec::new();
    for (_, path) in &entries {
        held.push(open(path, O_PATH)?);
    }
    let below = held.iter().map(|place| mount_of(*place, c"").unwrap_or(0));
    let below: Vec<u64> = below.collect();
    mount("tmpfs", first, "tmpfs", 0, "mode=755")?;
    let memory = open(first, O_PATH | O_DIRECTORY)?;
    let layers = LAYERS.get();
    layers.clear();
    for (number, (kind, path)) in entries.iter().enumerate() {
        let lower = text!("/proc/self/fd/{}", held[number]);
        if *kind == view::BIND {
            mount(&lower, path, "", MS_BIND | MS_REC, "")?;
            continue;
        }
        let upper = new_directory(memory, &text!("u{number}"), Some(held[number]))?;
        let work = new_directory(memory, &text!("w{number}"), None)?;
        mount_overlay(&lower, path, (upper, work), is_user)?;
        close(upper);
        close(work);
        let overlay = open(path, O_PATH)?;
        layers.push(Layer {
            mount: mount_of(overlay, c"").unwrap_or(0),
            below: below[number],
        });
        close(overlay);
    }
    close(memory);
    held.into_iter().for_each(close);
    if let Some(directory) = directory {
        let path = text!("{directory}\0");
        let _ = call(nr::CHDIR, [path.as_ptr() as usize, 0, 0, 0, 0, 0]);
    }
    reopen_descriptors();
    if is_user {
        set_capabilities(&capabilities)?;
    }
    Ok(())
}

/// True if it took a user namespace.
fn enter_namespaces() -> Result<bool, isize> {
    if call(nr::UNSHARE, [CLONE_NEWNS, 0, 0, 0, 0, 0]).is_ok() {
        return Ok(false);
    }
    let user = call(nr::GETEUID, [0; 6])?;
    let group = call(nr::GETEGID, [0; 6])?;
    call(nr::UNSHARE, [CLONE_NEWUSER | CLONE_NEWNS, 0, 0, 0, 0, 0])?;
    write_file("/proc/self/setgroups", "deny")?;
    write_file("/proc/self/uid_map", &text!("{user} {user} 1"))?;
    write_file("/proc/self/gid_map", &text!("{group} {group} 1"))?;
    Ok(true)
}

fn write_file(path: &str, text: &str) -> Result<(), isize> {
    let file = open(path, O_WRONLY)?;
    let arguments = [file, text.as_ptr() as usize, text.len(), 0, 0, 0];
    let written = call(nr::WRITE, arguments);
    close(file);
    written.map(drop)
}

/// Makes a directory in the view's memory, which looks like another one.
fn new_directory(memory: usize, name: &str, like: Option<usize>) -> Result<usize, isize> {
    const MODE_WORD: usize = 6;
    const OWNER_WORD: usize = 7;
    let path = text!("{name}\0");
    let path = path.as_ptr() as usize;
    call(nr::MKDIRAT, [memory, path, 0o700, 0, 0, 0])?;
    let made = call(nr::OPENAT, [memory, path, O_PATH | O_CLOEXEC, 0, 0, 0])?;
    if let Some(like) = like {
        let mut status = [0u32; 36];
        let place = status.as_mut_ptr() as usize;
        let empty = c"".as_ptr() as usize;
        call(nr::NEWFSTATAT, [like, empty, place, AT_EMPTY_PATH, 0, 0])?;
        let [owner, group] = [status[OWNER_WORD], status[OWNER_WORD + 1]].map(|id| id as usize);
        // Owners that this user namespace does not know cannot be set, and are not missed.
        let _ = call(nr::FCHOWNAT, [memory, path, owner, group, 0, 0]);
        let mode = status[MODE_WORD] as usize & 0o7777;
        call(nr::FCHMODAT, [memory, path, mode, 0, 0, 0])?;
    }
    Ok(made)
}

fn mount_overlay(
    lower: &str,
    path: &str,
    (upper, work): (usize, usize),
    is_user: bool,
) -> Result<(), isize> {
    let layers =
        text!("lowerdir={lower},upperdir=/proc/self/fd/{upper},workdir=/proc/self/fd/{work}");
    let options: &[&str] = match is_user {
        true => &[",userxattr", ""],
        // Directories can be renamed so.
        false => &[",redirect_dir=on", ""],
    };
    let mut result = Ok(());
    for option in options {
        result = mount("overlay", path, "overlay", 0, &text!("{layers}{option}"));
        if result.is_ok() {
            break;
        }
    }
    result
}

/// The current directory, if it has a path.
fn current_directory() -> Option<String> {
    let mut text = [0u8; PATH_BYTES];
    let arguments = [text.as_mut_ptr() as usize, text.len(), 0, 0, 0, 0];
    call(nr::GETCWD, arguments).ok()?;
    let path = CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?;
    path.starts_with('/').then(|| String::from(path))
}

/// The mount in which a file is. An empty path means the descriptor itself.
pub fn mount_of(directory: usize, path: &CStr) -> Option<u64> {
    const AT_SYMLINK_NOFOLLOW: usize = 0x100;
    const STATX_MNT_ID: usize = 0x1000;
    const MASK_WORD: usize = 0;
    const MOUNT_WORD: usize = 18;
    let mut status = [0u64; 32];
    let place = status.as_mut_ptr() as usize;
    let flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
    let path = path.as_ptr() as usize;
    let arguments = [directory, path, flags, STATX_MNT_ID, place, 0];
    call(nr::STATX, arguments).ok()?;
    (status[MASK_WORD] as usize & STATX_MNT_ID != 0).then_some(status[MOUNT_WORD])
}

/// Opens what was open before the view again in it, at the same place of the file.
fn reopen_descriptors() {
    const DESCRIPTORS: usize = 256;
    const F_GETFD: usize = 1;
    const F_GETFL: usize = 3;
    const SEEK_SET: usize = 0;
    const SEEK_CUR: usize = 1;
    /// Access mode, appending, blocking and directories; creating and truncating are done.
    const KEPT: usize = 3 | 0o2000 | 0o4000 | O_DIRECTORY | O_PATH;
    for descriptor in 0..DESCRIPTORS {
        let Ok(flags) = call(nr::FCNTL, [descriptor, F_GETFL, 0, 0, 0, 0]) else {
            continue;
        };
        let Some(path) = path_of(descriptor) else {
            continue;
        };
        let is_in_view = open(&path, O_PATH).is_ok_and(|place| {
            let mount = mount_of(place, c"");
            close(place);
            layers().iter().any(|layer| Some(layer.mount) == mount)
        });
        if !is_in_view {
            continue;
        }
        let Ok(new) = open(&path, flags & KEPT) else {
            continue;
        };
        if let Ok(offset) = call(nr::LSEEK, [descriptor, 0, SEEK_CUR, 0, 0, 0]) {
            let _ = call(nr::LSEEK, [new, offset, SEEK_SET, 0, 0, 0]);
        }
        let closes = call(nr::FCNTL, [descriptor, F_GETFD, 0, 0, 0, 0]) == Ok(1);
        let flags = if closes { O_CLOEXEC } else { 0 };
        let _ = call(nr::DUP3, [new, descriptor, flags, 0, 0, 0]);
        close(new);
    }
}

/// Path of an open file or directory that has one.
fn path_of(descriptor: usize) -> Option<String> {
    let link = text!("/proc/self/fd/{descriptor}\0");
    let mut text = [0u8; PATH_BYTES];
    let place = text.as_mut_ptr() as usize;
    let arguments = [link.as_ptr() as usize, place, text.len(), 0, 0, 0];
    let length = call(nr::READLINK, arguments).ok()?;
    let path = core::str::from_utf8(&text[..length]).ok()?;
    (path.starts_with('/') && !path.ends_with(" (deleted)")).then(|| String::from(path))
}

/// Effective, permitted and inheritable capabilities, twice 32 of each.
type Capabilities = [u32; 6];

/// Version 3 of the kernel's structure, and this process.
const CAPABILITIES: [u32; 2] = [0x2008_0522, 0];

fn capabilities() -> Result<Capabilities, isize> {
    let mut data = [0; 6];
    let header = CAPABILITIES;
    let place = data.as_mut_ptr() as usize;
    call(nr::CAPGET, [header.as_ptr() as usize, place, 0, 0, 0, 0])?;
    Ok(data)
}

fn set_capabilities(data: &Capabilities) -> Result<(), isize> {
    let header = CAPABILITIES;
    let place = data.as_ptr() as usize;
    call(nr::CAPSET, [header.as_ptr() as usize, place, 0, 0, 0, 0]).map(drop)
}
