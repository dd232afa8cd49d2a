//! Saves and restores the program's writable memory.
//!
//! Saved are all private writable mappings but the runtime's own, the OS thread's stack and
//! the unused parts of heap and stacks. Site records and other relocated constants are
//! read-only by then and cost nothing.

use crate::arch::{self, nr};
use crate::donor;
use crate::global::Global;
use crate::heap;
use crate::own;
use crate::thread::State;
use crate::world::world;
use alloc::vec::Vec;

struct Region {
    address: usize,
    bytes: usize,
    copy: usize,
    is_stack: bool,
}

struct Snapshot {
    regions: Vec<Region>,
    store: usize,
    store_bytes: usize,
}

static SNAPSHOT: Global<Snapshot> = Global::new(Snapshot {
    regions: Vec::new(),
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
    let (table, table_end) = heap::size_table(&execution.heap);
    add(table, table_end, false);
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
    let snapshot = SNAPSHOT.get();
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

/// Restores everything, or only the stacks.
pub fn restore(only_stacks: bool) {
    for region in &SNAPSHOT.get().regions {
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
