//! Saves and restores the program's writable memory.
//!
//! Saved are all private writable mappings but the runtime's own, the OS thread's stack and
//! the unused parts of heap and stacks. Site records and other relocated constants are
//! read-only by then and cost nothing.
//!
//! Most pages are never written by an execution. While executions are repeated from the
//! snapshot ([`track`]), pages are write-protected until the first write to them, and only
//! pages that some execution has written are copied back. Measured on two threads with a lock
//! and a counter, that leaves 17 of 198 KiB to copy.

use crate::arch::{self, PAGE, nr};
use crate::carrier;
use crate::donor;
use crate::global::Global;
use crate::heap;
use crate::own;
use crate::rseq;
use crate::thread::State;
use crate::world::world;
use alloc::vec::Vec;

struct Region {
    address: usize,
    bytes: usize,
    copy: usize,
    is_stack: bool,
}

impl Region {
    /// What of it stands on a page: address, copy, bytes.
    fn part_on(&self, page: usize) -> Option<(usize, usize, usize)> {
        let start = self.address.max(page * PAGE);
        let end = (self.address + self.bytes).min((page + 1) * PAGE);
        (start < end).then(|| (start, self.copy + (start - self.address), end - start))
    }

    /// Its parts, page by page.
    fn pages(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let last = (self.address + self.bytes - 1) / PAGE;
        (self.address / PAGE..=last).filter_map(|page| self.part_on(page))
    }
}

struct Snapshot {
    regions: Vec<Region>,
    /// Pages that are write-protected, as page numbers in ascending order.
    cold: Vec<usize>,
    /// Parts of regions that have to be restored: address, copy, bytes.
    hot: Vec<(usize, usize, usize)>,
    tracking: bool,
    executions: u64,
    store: usize,
    store_bytes: usize,
}

static SNAPSHOT: Global<Snapshot> = Global::new(Snapshot {
    regions: Vec::new(),
    cold: Vec::new(),
    hot: Vec::new(),
    tracking: false,
    executions: 0,
    store: 0,
    store_bytes: 0,
});

/// One line of `/proc/self/maps`.
struct Mapping<'a> {
    start: usize,
    end: usize,
    permissions: &'a [u8],
    name: &'a [u8],
}

fn parse(line: &[u8]) -> Option<Mapping<'_>> {
    let hex = |digits: &[u8]| {
        digits.iter().try_fold(0usize, |value, digit| {
            Some(value << 4 | (*digit as char).to_digit(16)? as usize)
        })
    };
    let mut fields = line
        .split(|byte| *byte == b' ')
        .filter(|field| !field.is_empty());
    let range = fields.next()?;
    let dash = range.iter().position(|byte| *byte == b'-')?;
    let permissions = fields.next()?;
    let name = fields.nth(3).unwrap_or(b"");
    Some(Mapping {
        start: hex(&range[..dash])?,
        end: hex(&range[dash + 1..])?,
        permissions,
        name,
    })
}

/// Reads `/proc/self/maps`.
pub fn read_maps() -> Vec<u8> {
    let mut text = Vec::new();
    // SAFETY: opens, reads and closes a file with valid buffers.
    unsafe {
        let path = c"/proc/self/maps".as_ptr() as usize;
        let descriptor = arch::syscall(nr::OPEN, [path, 0, 0, 0, 0, 0]);
        if descriptor < 0 {
            return text;
        }
        let mut buffer = [0u8; 4096];
        loop {
            let read = arch::syscall(
                nr::READ,
                [
                    descriptor as usize,
                    buffer.as_mut_ptr() as usize,
                    buffer.len(),
                    0,
                    0,
                    0,
                ],
            );
            if read <= 0 {
                break;
            }
            text.extend_from_slice(&buffer[..read as usize]);
        }
        arch::syscall(nr::CLOSE, [descriptor as usize, 0, 0, 0, 0, 0]);
    }
    text
}

/// The executable mapping that contains `address`.
pub fn code_around(address: usize) -> (usize, usize) {
    let maps = read_maps();
    maps.split(|byte| *byte == b'\n')
        .filter_map(parse)
        .find(|mapping| mapping.start <= address && address < mapping.end)
        .map_or((0, 0), |mapping| (mapping.start, mapping.end))
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

fn collect(regions: &mut Vec<Region>) {
    let maps = read_maps();
    let mut add = |address: usize, end: usize, is_stack: bool| {
        if end > address {
            regions.push(Region {
                address,
                bytes: end - address,
                copy: 0,
                is_stack,
            });
        }
    };
    // The runtime's `.bss` is anonymous memory that directly follows its data.
    let mut ours_until = 0;
    for mapping in maps.split(|byte| *byte == b'\n').filter_map(parse) {
        let ours = contains(mapping.name, b"libraddle_runtime")
            || (mapping.name.is_empty() && mapping.start == ours_until);
        if ours {
            ours_until = mapping.end;
        }
        let window = mapping.start >= own::WINDOW && mapping.start < own::WINDOW_END;
        let heap = mapping.start < heap::BASE + heap::SIZE && mapping.end > heap::BASE;
        let stacks = mapping.start >= donor::STACKS
            && mapping.start < donor::STACKS + (donor::MAX_DONORS + 1) * donor::STACK_SIZE;
        if ours
            || window
            || heap
            || stacks
            || mapping.permissions != b"rw-p"
            || mapping.name.first() == Some(&b'[') && mapping.name != b"[heap]"
        {
            continue;
        }
        add(mapping.start, mapping.end, false);
    }
    let execution = &world().execution;
    add(heap::BASE, execution.heap.top, false);
    let granules = [heap::BASE, execution.heap.top].map(heap::granules::place);
    add(granules[0], granules[1], false);
    for thread in execution
        .threads
        .iter()
        .filter(|thread| thread.state != State::Done)
    {
        add(thread.sp, thread.stack.1, true);
    }
}

/// Saves everything. Called by the host while all fibers are switched out.
pub fn take() {
    heat_all();
    let snapshot = SNAPSHOT.get();
    snapshot.tracking = false;
    snapshot.hot.clear();
    snapshot.regions.clear();
    collect(&mut snapshot.regions);
    let bytes: usize = snapshot
        .regions
        .iter()
        .map(|region| (region.bytes + 63) & !63)
        .sum();
    if bytes > snapshot.store_bytes {
        snapshot.store = own::map(bytes);
        snapshot.store_bytes = bytes;
    }
    let mut copy = snapshot.store;
    for region in &mut snapshot.regions {
        region.copy = copy;
        // SAFETY: both are mapped and disjoint.
        unsafe { arch::copy(region.address, region.copy, region.bytes) };
        copy += (region.bytes + 63) & !63;
    }
}

/// Bytes from the FS base on where the kernel leaves notes (restartable sequences), unless it was
/// told not to.
const THREAD_BLOCK: usize = 4096;

fn protect(page: usize, writable: bool) {
    let rights = if writable {
        arch::PROT_READ_WRITE
    } else {
        arch::PROT_READ
    };
    // SAFETY: a page of the snapshot, which stays mapped.
    unsafe { arch::syscall(nr::MPROTECT, [page * PAGE, PAGE, rights, 0, 0, 0]) };
}

/// Begins to find out which pages executions write to.
pub fn track() {
    let snapshot = SNAPSHOT.get();
    if snapshot.tracking {
        return;
    }
    snapshot.tracking = true;
    let block = world().host_fs;
    let kernel_writes = (!rseq::is_given_up()).then_some(block..block + THREAD_BLOCK);
    // A thread that only waits for the test never touches its stack. Where OS threads of their
    // own run on the stacks, the kernel writes there too.
    let stacks_are_hot = carrier::is_os();
    for region in &snapshot.regions {
        for (address, copy, bytes) in region.pages() {
            let kernel = kernel_writes
                .as_ref()
                .is_some_and(|range| address < range.end && address + bytes > range.start);
            if kernel || region.is_stack && stacks_are_hot {
                snapshot.hot.push((address, copy, bytes));
            } else {
                snapshot.cold.push(address / PAGE);
            }
        }
    }
    snapshot.cold.sort_unstable();
    snapshot.cold.dedup();
    for page in &snapshot.cold {
        protect(*page, false);
    }
}

/// Executions after which all pages are cold again: one that failed has let its harness write
/// to many pages that others never touch.
const COOLING: u64 = 4096;

/// Counts an execution that was restored.
pub fn cool() {
    let snapshot = SNAPSHOT.get();
    snapshot.executions += 1;
    if snapshot.executions == 1 || snapshot.executions.is_multiple_of(COOLING) {
        snapshot.tracking = false;
        snapshot.hot.clear();
        snapshot.cold.clear();
        track();
    }
}

/// Makes a cold page hot. False if the address is in none.
pub fn heat(address: usize) -> bool {
    let snapshot = SNAPSHOT.get();
    let Ok(place) = snapshot.cold.binary_search(&(address / PAGE)) else {
        return false;
    };
    let page = snapshot.cold.remove(place);
    protect(page, true);
    for region in &snapshot.regions {
        snapshot.hot.extend(region.part_on(page));
    }
    true
}

/// Makes all pages hot: the kernel is going to write somewhere on the program's behalf, or the
/// snapshot is taken anew. True if there were cold ones.
pub fn heat_all() -> bool {
    let mut any = false;
    while let Some(page) = SNAPSHOT.get().cold.last() {
        any |= heat(page * PAGE);
    }
    any
}

/// Restores everything, or only the stacks.
pub fn restore(only_stacks: bool) {
    let snapshot = SNAPSHOT.get();
    if snapshot.tracking && !only_stacks {
        for (address, copy, bytes) in &snapshot.hot {
            // SAFETY: the mappings of the start are never unmapped.
            unsafe { arch::copy(*copy, *address, *bytes) };
        }
        return;
    }
    for region in &snapshot.regions {
        if region.is_stack || !only_stacks {
            // SAFETY: the mappings of the start are never unmapped.
            unsafe { arch::copy(region.copy, region.address, region.bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_line_of_maps_is_taken_apart() {
        let line = b"00400000-0041f000 rw-p 00001000 fe:00 12345   /usr/bin/x y";
        let mapping = parse(line).expect("a mapping");
        assert_eq!((mapping.start, mapping.end), (0x40_0000, 0x41_f000));
        assert_eq!(mapping.permissions, b"rw-p");
        assert_eq!(mapping.name, b"/usr/bin/x");
        assert!(parse(b"").is_none());
    }
}
