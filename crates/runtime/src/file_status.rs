//! Times and inodes of files, as the program sees them.
//!
//! The kernel stamps files with real time, but the clocks of the program are virtual. A file that an execution
//! changes has the virtual time of the change. Times that the program sets stay as it has set them. Files from
//! before the program's start are older than that start, in the order in which they were changed: how much older is
//! true only for those from more than a year before it. Pipes, sockets and files in memory, whose inodes the kernel
//! counts for all processes, are counted for the program.
//!
//! Limits: changes by child processes and by writes to mapped memory have the time at which the program first looks
//! at them. An access time is the time of the last change, unless the program has set it.

use crate::arch::nr;
use crate::clock::{CLOCK_REALTIME_COARSE, REALTIME_START};
use crate::global::Global;
use crate::syscalls::perform;
use crate::world::world;
use alloc::string::String;
use alloc::vec::Vec;

/// Seconds and nanoseconds.
type Time = (i64, i64);
/// Device and inode.
type File = (u64, u64);

/// Which time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Accessed,
    Created,
    Changed,
    Modified,
}

/// A time of the kernel and what the program sees in its place.
#[derive(Clone, Copy)]
struct Stamp {
    file: File,
    field: Field,
    real: Time,
    shown: Time,
}

struct Table {
    stamps: Vec<Stamp>,
    /// Pipes, sockets and files in memory that the program has looked at.
    unnamed: Vec<File>,
    /// Real time at which the worker began.
    start: Time,
    /// Devices of pipes, sockets and files in memory, once one of them was looked at.
    devices: Option<[u64; 3]>,
}

static TABLE: Global<Table> = Global::new(Table {
    stamps: Vec::new(),
    unnamed: Vec::new(),
    start: (0, 0),
    devices: None,
});

/// What `statx` says about a file.
struct Status {
    file: File,
    mode: u32,
    links: u32,
    /// By [`Field`].
    times: [Time; 4],
}

const EMPTY: &core::ffi::CStr = c"";
const AT_SYMLINK_NOFOLLOW: usize = 0x100;
const AT_EMPTY_PATH: usize = 0x1000;
const FIELDS: [Field; 4] = [
    Field::Accessed,
    Field::Created,
    Field::Changed,
    Field::Modified,
];
/// Where `struct statx` has them.
const STATX_TIMES: [usize; 4] = [64, 80, 96, 112];
/// Where `struct stat` has them: it has no time of creation.
const STAT_TIMES: [Option<usize>; 4] = [Some(72), None, Some(104), Some(88)];

/// The worker begins. Its forked children know when it began.
pub fn begin() {
    let table = TABLE.get();
    if table.start == (0, 0) {
        let mut time = [0i64; 2];
        let place = time.as_mut_ptr() as usize;
        let clock = CLOCK_REALTIME_COARSE as usize;
        perform(nr::CLOCK_GETTIME, [clock, place, 0, 0, 0, 0]);
        table.start = (time[0], time[1]);
    }
}

/// The execution is over.
pub fn forget() {
    let table = TABLE.get();
    table.stamps.clear();
    table.unnamed.clear();
}

/// The program's time of day.
fn now() -> Time {
    const SECOND: u64 = 1_000_000_000;
    let now = world().execution.now;
    let seconds = REALTIME_START + (now / SECOND) as i64;
    (seconds, (now % SECOND) as i64)
}

/// What the program sees of a time before its start: none is after the virtual start, and the order stays.
fn earlier((seconds, nanoseconds): Time) -> Time {
    const YEAR: i64 = 365 * 24 * 60 * 60;
    const EXACT_UNTIL: i64 = REALTIME_START - YEAR;
    /// Real years that become one.
    const RATE: i128 = 64;
    const SECOND: i128 = 1_000_000_000;
    if seconds < EXACT_UNTIL {
        return (seconds, nanoseconds);
    }
    let since = i128::from(seconds - EXACT_UNTIL) * SECOND + i128::from(nanoseconds);
    let since = since / RATE;
    let seconds = EXACT_UNTIL + (since / SECOND) as i64;
    (seconds, (since % SECOND) as i64)
}

fn find(file: File, field: Field) -> Option<&'static mut Stamp> {
    let mut stamps = TABLE.get().stamps.iter_mut();
    stamps.find(|stamp| stamp.file == file && stamp.field == field)
}

fn stamp(file: File, field: Field, real: Time, shown: Time) {
    match find(file, field) {
        Some(stamp) => (stamp.real, stamp.shown) = (real, shown),
        None => TABLE.get().stamps.push(Stamp {
            file,
            field,
            real,
            shown,
        }),
    }
}

/// What the program sees in the place of a time of the kernel.
fn shown(file: File, field: Field, real: Time) -> Time {
    match find(file, field) {
        Some(stamp) if stamp.real == real => stamp.shown,
        _ if real < TABLE.get().start => earlier(real),
        _ => {
            // Changed by a call that this library does not see.
            stamp(file, field, real, now());
            now()
        }
    }
}

impl Status {
    fn time(&self, field: Field) -> Time {
        self.times[field as usize]
    }

    /// What the program sees.
    fn shown(&self) -> [Time; 4] {
        if !self.has_times() {
            return [(REALTIME_START, 0); 4];
        }
        FIELDS.map(|field| {
            let is_set = find(self.file, field).is_some_and(|set| set.real == self.time(field));
            let field = match field {
                Field::Accessed if !is_set => Field::Modified,
                field => field,
            };
            shown(self.file, field, self.time(field))
        })
    }

    /// Whether its times are those of a file or directory with a name.
    fn has_times(&self) -> bool {
        const FORMAT: u32 = 0o170_000;
        const KINDS: [u32; 3] = [0o100_000, 0o040_000, 0o120_000];
        KINDS.contains(&(self.mode & FORMAT)) && !self.is_unnamed()
    }

    /// Whether it is a pipe, a socket or a file in memory.
    fn is_unnamed(&self) -> bool {
        const FORMAT: u32 = 0o170_000;
        match self.mode & FORMAT {
            0o010_000 | 0o140_000 => is_device_of_unnamed(self.file.0),
            0o100_000 => self.links == 0 && is_device_of_unnamed(self.file.0),
            _ => false,
        }
    }

    fn shown_inode(&self) -> u64 {
        match self.is_unnamed() {
            true => inode(self.file),
            false => self.file.1,
        }
    }
}

/// The program's number of a pipe, a socket or a file in memory.
fn inode(file: File) -> u64 {
    let unnamed = &mut TABLE.get().unnamed;
    let place = unnamed.iter().position(|other| *other == file);
    let place = place.unwrap_or_else(|| {
        unnamed.push(file);
        unnamed.len() - 1
    });
    1 + place as u64
}

fn is_device_of_unnamed(device: u64) -> bool {
    let table = TABLE.get();
    let devices = table.devices.get_or_insert_with(unnamed_devices);
    devices.contains(&device)
}

/// Devices of pipes, sockets and files in memory. Where none can be opened it is no device.
fn unnamed_devices() -> [u64; 3] {
    const AF_UNIX: usize = 1;
    const SOCK_STREAM: usize = 1;
    let device = |descriptor: isize| {
        let status = usize::try_from(descriptor).ok().and_then(of_descriptor);
        perform(nr::CLOSE, [descriptor as usize, 0, 0, 0, 0, 0]);
        status.map_or(u64::MAX, |status| status.file.0)
    };
    let mut ends = [-1i32; 2];
    perform(nr::PIPE, [ends.as_mut_ptr() as usize, 0, 0, 0, 0, 0]);
    let pipe = device(ends[0] as isize);
    perform(nr::CLOSE, [ends[1] as usize, 0, 0, 0, 0, 0]);
    let socket = device(perform(nr::SOCKET, [AF_UNIX, SOCK_STREAM, 0, 0, 0, 0]));
    let name = EMPTY.as_ptr() as usize;
    let memory = device(perform(nr::MEMFD_CREATE, [name, 0, 0, 0, 0, 0]));
    [pipe, socket, memory]
}

fn of_descriptor(descriptor: usize) -> Option<Status> {
    status(descriptor, EMPTY.as_ptr() as usize, AT_EMPTY_PATH)
}

fn status(directory: usize, path: usize, flags: usize) -> Option<Status> {
    const BASIC_AND_BIRTH: usize = 0xfff;
    let mut buffer = [0u64; 32];
    let place = buffer.as_mut_ptr() as usize;
    let arguments = [directory, path, flags, BASIC_AND_BIRTH, place, 0];
    // SAFETY: a whole `struct statx`, which is smaller than the buffer.
    (perform(nr::STATX, arguments) == 0).then(|| unsafe { read_statx(place) })
}

/// # Safety
///
/// There must be a `struct statx`.
unsafe fn read_statx(place: usize) -> Status {
    // SAFETY: fields of the structure; callers vouch for it.
    unsafe {
        let word = |offset: usize| *((place + offset) as *const u32);
        let [major, minor] = [136, 140].map(|offset| u64::from(word(offset)));
        // As `struct stat` has it.
        let device = minor & 0xff | major << 8 | (minor & !0xff) << 12;
        Status {
            file: (device, *((place + 32) as *const u64)),
            mode: word(28) & 0xffff,
            links: word(16),
            times: STATX_TIMES.map(|offset| {
                let seconds = *((place + offset) as *const i64);
                (seconds, i64::from(word(offset + 8)))
            }),
        }
    }
}

/// Puts what the program sees into the result of a call of the `stat` family.
pub fn show(number: usize, arguments: [usize; 6], result: isize) -> isize {
    let place = match number {
        _ if result != 0 => return result,
        nr::STAT | nr::LSTAT | nr::FSTAT => arguments[1],
        nr::NEWFSTATAT => arguments[2],
        nr::STATX => arguments[4],
        _ => return result,
    };
    // SAFETY: the kernel has just filled the structure in; these are its fields.
    unsafe {
        if number == nr::STATX {
            let status = read_statx(place);
            *((place + 32) as *mut u64) = status.shown_inode();
            for (offset, (seconds, nanoseconds)) in STATX_TIMES.into_iter().zip(status.shown()) {
                *((place + offset) as *mut i64) = seconds;
                *((place + offset + 8) as *mut u32) = nanoseconds as u32;
            }
            return result;
        }
        let long = |offset: usize| *((place + offset) as *const u64);
        let status = Status {
            file: (long(0), long(8)),
            links: long(16) as u32,
            mode: *((place + 24) as *const u32),
            times: STAT_TIMES.map(|offset| {
                offset.map_or((0, 0), |offset| {
                    (long(offset) as i64, long(offset + 8) as i64)
                })
            }),
        };
        *((place + 8) as *mut u64) = status.shown_inode();
        for (offset, time) in STAT_TIMES.into_iter().zip(status.shown()) {
            if let Some(offset) = offset {
                *((place + offset) as *mut [i64; 2]) = [time.0, time.1];
            }
        }
    }
    result
}

/// The text of a link of `/proc` that names a pipe or a socket, as the program sees it.
pub fn link_text(text: &[u8]) -> Option<String> {
    let text = core::str::from_utf8(text).ok()?;
    let (kind, rest) = text.split_once(":[")?;
    let real: u64 = rest.strip_suffix(']')?.parse().ok()?;
    let table = TABLE.get();
    let devices = *table.devices.get_or_insert_with(unnamed_devices);
    let device = match kind {
        "pipe" => devices[0],
        "socket" => devices[1],
        _ => return None,
    };
    let shown = inode((device, real));
    Some(alloc::format!("{kind}:[{shown}]"))
}

/// A file that a call has changed, by directory, path and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize, usize, usize);

impl Place {
    /// What a path leads to.
    pub const fn path(directory: usize, path: usize) -> Self {
        Self(directory, path, 0)
    }

    /// The same, but a link itself if it leads to one.
    pub const fn link(directory: usize, path: usize) -> Self {
        Self(directory, path, AT_SYMLINK_NOFOLLOW)
    }

    /// An open file.
    pub fn descriptor(descriptor: usize) -> Self {
        Self(descriptor, EMPTY.as_ptr() as usize, AT_EMPTY_PATH)
    }
}

/// What a successful call has done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// It may have made the file.
    Made,
    /// Owner, mode, names or attributes.
    Status,
    Contents,
    /// Time of access and of modification: whether the program has set it, or to the time of the call.
    Times([Option<bool>; 2]),
}

/// A call of the program that changes files has succeeded; `place` is what it changed.
pub fn note(number: usize, arguments: [usize; 6], place: Place) {
    let Some(status) = status(place.0, place.1, place.2).filter(Status::has_times) else {
        return;
    };
    let effect = effect(number, arguments);
    let time = |field: Field, shown: Time| stamp(status.file, field, status.time(field), shown);
    let is_new = status.time(Field::Created) >= TABLE.get().start;
    if is_new && find(status.file, Field::Created).is_none() {
        time(Field::Created, now());
    }
    match effect {
        Effect::Made => {
            status.shown();
        }
        Effect::Status => time(Field::Changed, now()),
        Effect::Contents => {
            time(Field::Changed, now());
            time(Field::Modified, now());
        }
        Effect::Times(set) => {
            time(Field::Changed, now());
            for (field, is_set) in [Field::Accessed, Field::Modified].into_iter().zip(set) {
                match is_set {
                    Some(true) => time(field, status.time(field)),
                    Some(false) => time(field, now()),
                    None => {}
                }
            }
        }
    }
}

fn effect(number: usize, arguments: [usize; 6]) -> Effect {
    const O_TRUNC: usize = 0o1000;
    let [_, b, c, ..] = arguments;
    let opened = |flags: usize| match flags & O_TRUNC {
        0 => Effect::Made,
        _ => Effect::Contents,
    };
    match number {
        nr::OPEN => opened(b),
        nr::OPENAT => opened(c),
        // SAFETY: the program's `struct open_how` begins with the flags.
        nr::OPENAT2 => opened(unsafe { *(c as *const usize) }),
        nr::MKDIR
        | nr::MKDIRAT
        | nr::MKNOD
        | nr::MKNODAT
        | nr::SYMLINK
        | nr::SYMLINKAT
        | nr::BIND => Effect::Made,
        nr::UTIME | nr::UTIMES => Effect::Times([Some(b != 0); 2]),
        nr::FUTIMESAT => Effect::Times([Some(c != 0); 2]),
        nr::UTIMENSAT if c == 0 => Effect::Times([Some(false); 2]),
        nr::UTIMENSAT => {
            const NOW: i64 = 0x3fff_ffff;
            const OMIT: i64 = 0x3fff_fffe;
            // SAFETY: the program's two `struct timespec`.
            let times = unsafe { *(c as *const [[i64; 2]; 2]) };
            Effect::Times(times.map(|[_, nanoseconds]| match nanoseconds {
                NOW => Some(false),
                OMIT => None,
                _ => Some(true),
            }))
        }
        nr::CREAT
        | nr::TRUNCATE
        | nr::FTRUNCATE
        | nr::FALLOCATE
        | nr::WRITE
        | nr::WRITEV
        | nr::PWRITE64
        | nr::PWRITEV
        | nr::PWRITEV2
        | nr::COPY_FILE_RANGE
        | nr::SENDFILE => Effect::Contents,
        // The program writes to what it has mapped later.
        nr::MMAP => Effect::Made,
        _ => Effect::Status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_from_before_are_older_than_the_start_and_stay_in_order() {
        let times = [
            (0, 0),
            (REALTIME_START - 400 * 86_400, 5),
            (REALTIME_START, 0),
            (REALTIME_START + 86_400, 1_000),
            (REALTIME_START + 86_400, 2_000),
            (REALTIME_START + 20 * 365 * 86_400, 0),
        ];
        let shown = times.map(earlier);
        assert_eq!(shown[..2], times[..2]);
        assert!(shown.is_sorted_by(|one, other| one < other), "{shown:?}");
        assert!(shown[5].0 < REALTIME_START);
    }

    #[test]
    fn a_call_says_which_times_it_sets() {
        let times = [[7i64, 0x3fff_fffe], [8, 9]];
        let place = times.as_ptr() as usize;
        let call = |times| effect(nr::UTIMENSAT, [0, 0, times, 0, 0, 0]);
        assert_eq!(call(place), Effect::Times([None, Some(true)]));
        assert_eq!(call(0), Effect::Times([Some(false); 2]));
        assert_eq!(effect(nr::OPEN, [0, 0o1001, 0, 0, 0, 0]), Effect::Contents);
        assert_eq!(effect(nr::CHMOD, [0; 6]), Effect::Status);
    }
}
