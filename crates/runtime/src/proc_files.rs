//! Files and directories of the kernel that tell a program what differs from run to run: the program gets a
//! file of its own with the text of [`crate::proc_text`], a list of its own threads, and random bytes that
//! are the same in every execution.
//!
//! Limits: `maps` and its like have real addresses. What is opened from the directory of a thread is about the first
//! one.

use crate::arch::nr;
use crate::descriptors;
use crate::ids;
use crate::interpose::random;
use crate::proc_text::{self, Facts};
use crate::syscalls::perform;
use crate::thread::State;
use crate::world::world;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::CStr;

const O_ACCESS_MODE: usize = 3;
const O_CLOEXEC: usize = 0o2_000_000;
const O_DIRECTORY: usize = 0o200_000;
const SEEK_SET: usize = 0;
const SEEK_CUR: usize = 1;

/// A file that is not the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    /// Of the process, or of a thread with this id.
    Stat(usize),
    Status(usize),
    Statm,
    Uptime,
    Load,
    Uuid,
    /// An endless file of random bytes.
    Random,
}

/// Which file a path names; `current` is the id of the running thread.
fn file(path: &str, current: usize) -> Option<File> {
    match path {
        "/proc/uptime" => return Some(File::Uptime),
        "/proc/loadavg" => return Some(File::Load),
        "/proc/sys/kernel/random/uuid" => return Some(File::Uuid),
        "/dev/urandom" | "/dev/random" => return Some(File::Random),
        _ => {}
    }
    let is_own = |word: &str| word.parse().is_ok_and(|id: usize| ids::is_own(id));
    let mut words = path.strip_prefix("/proc/")?.split('/');
    let mut thread = match words.next()? {
        "self" => ids::PROCESS,
        "thread-self" => current,
        word if is_own(word) => ids::PROCESS,
        _ => return None,
    };
    let mut name = words.next()?;
    if name == "task" {
        let word = words.next().filter(|word| is_own(word))?;
        thread = word.parse().ok()?;
        name = words.next()?;
    }
    let file = match name {
        "stat" => File::Stat(thread),
        "status" => File::Status(thread),
        "statm" => File::Statm,
        _ => return None,
    };
    words.next().is_none().then_some(file)
}

/// What the program opens by this call, if it is a file that is not the kernel's. `None` if the kernel has to
/// open it.
pub fn open(number: usize, arguments: [usize; 6]) -> Option<isize> {
    let (path, flags) = match number {
        nr::OPEN => (arguments[0], arguments[1]),
        nr::OPENAT => (arguments[1], arguments[2]),
        _ => return None,
    };
    if path == 0 || flags & (O_ACCESS_MODE | O_DIRECTORY) != 0 {
        return None;
    }
    // SAFETY: the program's path.
    let path = unsafe { CStr::from_ptr(path as *const _) }.to_str().ok()?;
    let current = ids::thread();
    let file = file(path, current).or_else(|| file(&resolved(number, arguments, path)?, current));
    let text = match file? {
        File::Random => {
            let opened = descriptors::open_file(number, arguments);
            descriptors::mark_random(opened);
            return Some(opened);
        }
        File::Stat(thread) => proc_text::stat(&read(c"/proc/self/stat")?, &facts(thread)),
        File::Status(thread) => proc_text::status(&read(c"/proc/self/status")?, &facts(thread)),
        File::Statm => proc_text::statm(),
        File::Uptime => proc_text::uptime(&facts(ids::PROCESS)),
        File::Load => proc_text::load(&facts(ids::PROCESS)),
        File::Uuid => {
            let mut bytes = [0; 16];
            random::fill(bytes.as_mut_ptr() as usize, bytes.len());
            proc_text::uuid(bytes)
        }
    };
    in_memory(&text, flags & O_CLOEXEC != 0)
}

/// Where a path of `/proc` or `/dev` leads that is spelled in another way: from another directory, or with more than
/// it needs. Numbers are the program's. `None` for paths that are spelled as usual.
fn resolved(number: usize, arguments: [usize; 6], path: &str) -> Option<String> {
    const AT_FDCWD: usize = -100isize as usize;
    const O_PATH: usize = 0o10_000_000;
    let is_usual =
        path.starts_with('/') && !["//", "/./", "/../"].iter().any(|part| path.contains(part));
    if is_usual {
        return None;
    }
    let mut words = path.split('/').filter_map(|word| word.parse().ok());
    let thread = words.rfind(|word| ids::is_own(*word));
    let mut substitute = ids::Substitute::default();
    let mut arguments = ids::translate(number, arguments, &mut substitute);
    if number == nr::OPEN {
        arguments = [AT_FDCWD, arguments[0], 0, 0, 0, 0];
    }
    arguments[2] = O_PATH | O_CLOEXEC;
    let opened = usize::try_from(perform(nr::OPENAT, arguments)).ok()?;
    let mut target = [0u8; 128];
    let target = link_of(opened, &mut target);
    perform(nr::CLOSE, [opened, 0, 0, 0, 0, 0]);
    let target = core::str::from_utf8(target).ok()?;
    let own = ids::real();
    let Some(rest) = target.strip_prefix(&alloc::format!("/proc/{own}/")) else {
        return Some(String::from(target));
    };
    // All threads are one for the kernel.
    let shown = alloc::format!("/proc/{}/{rest}", ids::PROCESS);
    let thread = alloc::format!("/task/{}/", thread.unwrap_or(ids::PROCESS));
    Some(shown.replace(&alloc::format!("/task/{own}/"), &thread))
}

fn facts(thread: usize) -> Facts {
    const HUNDREDTH: u64 = 10_000_000;
    Facts {
        process: ids::PROCESS,
        parent: ids::PARENT,
        thread,
        threads: live_threads().count(),
        hundredths: world().execution.now / HUNDREDTH,
    }
}

/// Ids of the threads that have not ended.
fn live_threads() -> impl Iterator<Item = usize> {
    let threads = world().execution.threads.iter().enumerate();
    let live = threads.filter(|(_, thread)| thread.state != State::Done);
    live.map(|(index, _)| ids::PROCESS + index)
}

/// The text of a file of the kernel.
fn read(path: &CStr) -> Option<String> {
    let file = perform(nr::OPEN, [path.as_ptr() as usize, 0, 0, 0, 0, 0]);
    if file < 0 {
        return None;
    }
    let mut bytes = alloc::vec![0; 8192];
    let place = bytes.as_mut_ptr() as usize;
    let length = perform(nr::READ, [file as usize, place, bytes.len(), 0, 0, 0]);
    perform(nr::CLOSE, [file as usize, 0, 0, 0, 0, 0]);
    bytes.truncate(length.max(0) as usize);
    String::from_utf8(bytes).ok()
}

/// A descriptor of a file in memory with this text. `None` if the kernel has no room for it.
fn in_memory(text: &str, closes_on_exec: bool) -> Option<isize> {
    let name = c"proc".as_ptr() as usize;
    let arguments = [name, usize::from(closes_on_exec), 0, 0, 0, 0];
    let opened = descriptors::open_inside(nr::MEMFD_CREATE, arguments);
    let descriptor = usize::try_from(opened).ok()?;
    let place = text.as_ptr() as usize;
    perform(nr::WRITE, [descriptor, place, text.len(), 0, 0, 0]);
    perform(nr::LSEEK, [descriptor, 0, SEEK_SET, 0, 0, 0]);
    Some(opened)
}

/// `getdents64` of the directory that lists the program's threads. `None` for any other directory. The
/// directory's position is the number of the next entry.
pub fn list_threads(directory: usize, place: usize, bytes: usize) -> Option<isize> {
    if !is_thread_list(directory) {
        return None;
    }
    let start = perform(nr::LSEEK, [directory, 0, SEEK_CUR, 0, 0, 0]).max(0) as usize;
    let names = [".", ".."].map(String::from).into_iter();
    let names = names.chain(live_threads().map(|id| alloc::format!("{id}")));
    let names: Vec<String> = names.collect();
    let mut length = 0;
    let mut next = start;
    for (index, name) in names.iter().enumerate().skip(start) {
        let entry = entry(index, name);
        if length + entry.len() > bytes {
            break;
        }
        // SAFETY: the program's buffer has that many bytes.
        unsafe {
            let to = (place + length) as *mut u8;
            core::ptr::copy_nonoverlapping(entry.as_ptr(), to, entry.len());
        }
        (length, next) = (length + entry.len(), index + 1);
    }
    perform(nr::LSEEK, [directory, next, SEEK_SET, 0, 0, 0]);
    Some(length as isize)
}

/// `struct linux_dirent64` of a directory: inode, position of the next entry, length, kind, name.
fn entry(index: usize, name: &str) -> Vec<u8> {
    const DIRECTORY: u8 = 4;
    const HEAD: usize = 19;
    let length = (HEAD + name.len() + 1).next_multiple_of(8);
    let mut entry = Vec::with_capacity(length);
    entry.extend_from_slice(&(1 + index as u64).to_ne_bytes());
    entry.extend_from_slice(&(1 + index as u64).to_ne_bytes());
    entry.extend_from_slice(&(length as u16).to_ne_bytes());
    entry.push(DIRECTORY);
    entry.extend_from_slice(name.as_bytes());
    entry.resize(length, 0);
    entry
}

/// Whether a descriptor is `/proc/<own id>/task`.
fn is_thread_list(descriptor: usize) -> bool {
    let mut target = [0u8; 64];
    let target = link_of(descriptor, &mut target);
    let own = alloc::format!("/proc/{}/task", ids::real());
    target == own.as_bytes()
}

/// The path of an open file, if it fits.
pub fn link_of(descriptor: usize, target: &mut [u8]) -> &[u8] {
    target_of(&alloc::format!("/proc/self/fd/{descriptor}"), target)
}

/// Where a link leads, if that fits.
pub fn target_of<'a>(link: &str, target: &'a mut [u8]) -> &'a [u8] {
    let link = alloc::format!("{link}\0");
    let place = target.as_mut_ptr() as usize;
    let arguments = [link.as_ptr() as usize, place, target.len(), 0, 0, 0];
    let length = perform(nr::READLINK, arguments).max(0) as usize;
    &target[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_files_of_the_program_by_any_of_its_ids() {
        let name = |path: &str| file(path, ids::PROCESS + 2);
        assert_eq!(name("/proc/self/stat"), Some(File::Stat(ids::PROCESS)));
        assert_eq!(
            name("/proc/5000000/status"),
            Some(File::Status(ids::PROCESS))
        );
        assert_eq!(
            name("/proc/thread-self/stat"),
            Some(File::Stat(ids::PROCESS + 2))
        );
        let of_thread = Some(File::Status(ids::PROCESS + 1));
        assert_eq!(name("/proc/self/task/5000001/status"), of_thread);
        assert_eq!(name("/proc/5000000/statm"), Some(File::Statm));
        assert_eq!(name("/dev/urandom"), Some(File::Random));
        for other in [
            "/proc/1/stat",
            "/proc/self/maps",
            "/proc/self/stat/x",
            "/proc/stat",
            "stat",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn an_entry_has_a_whole_number_of_words_and_ends_its_name() {
        let entry = entry(3, "5000001");
        assert_eq!(entry.len(), 32);
        assert_eq!(entry[16..18], 32u16.to_ne_bytes());
        assert_eq!(&entry[18..27], b"\x045000001\0");
    }
}
