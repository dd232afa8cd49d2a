//! The runtime's own memory: one window of the address space, outside of every snapshot.
//!
//! Neighbouring anonymous mappings merge in the kernel's tables, so everything the runtime
//! maps lies in one window at a fixed address, apart from what the program maps.

use crate::arch::{self, nr};
use core::alloc::{GlobalAlloc, Layout};
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Start of the window.
pub const WINDOW: usize = 0x1000_0000_0000;
/// End of the window.
pub const WINDOW_END: usize = 0x2000_0000_0000;

static NEXT: AtomicUsize = AtomicUsize::new(WINDOW);

/// Maps `bytes` of zeroed memory in the window; untouched pages cost nothing.
pub fn map(bytes: usize) -> usize {
    map_with(bytes, arch::MAP_PRIVATE_ANONYMOUS)
}

/// Maps memory that forked children share with their parent.
pub fn map_shared(bytes: usize) -> usize {
    map_with(bytes, arch::MAP_SHARED | arch::MAP_ANONYMOUS)
}

fn map_with(bytes: usize, kind: usize) -> usize {
    let size = (bytes + 0xffff) & !0xffff;
    let address = NEXT.fetch_add(size + 0x1_0000, Ordering::Relaxed);
    let flags = kind | arch::MAP_NORESERVE | arch::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping in a window that nobody else uses.
    let result = unsafe {
        arch::syscall(
            nr::MMAP,
            [address, size, arch::PROT_READ_WRITE, flags, usize::MAX, 0],
        )
    };
    if result != address as isize {
        say(format_args!(
            "raddle runtime: cannot map {bytes} bytes (error {})\n",
            -result
        ));
        arch::exit_group(69);
    }
    address
}

/// Allocator of the runtime's own collections: power-of-two blocks with free lists.
pub struct Allocator;

const CLASSES: usize = 40;
const ARENA: usize = 1 << 36;
const HUGE_PAGE: usize = 1 << 21;

struct Arena {
    next: usize,
    end: usize,
    free: [usize; CLASSES],
}

static ARENA_STATE: crate::global::Global<Arena> = crate::global::Global::new(Arena {
    next: 0,
    end: 0,
    free: [0; CLASSES],
});

fn class_of(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16);
    size.next_power_of_two().trailing_zeros() as usize
}

// SAFETY: blocks are disjoint, at least as large and as aligned as asked for; only the
// carrier thread allocates.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let arena = ARENA_STATE.get();
        let class = class_of(layout);
        if class >= CLASSES {
            return core::ptr::null_mut();
        }
        let head = arena.free[class];
        if head != 0 {
            // SAFETY: a free block holds the address of the next one.
            arena.free[class] = unsafe { *(head as *const usize) };
            return head as *mut u8;
        }
        if arena.next == 0 {
            arena.next = map(ARENA);
            arena.end = arena.next + ARENA;
        }
        let size = 1usize << class;
        let alignment = if size > HUGE_PAGE {
            HUGE_PAGE
        } else {
            size.min(4096)
        };
        let address = (arena.next + alignment - 1) & !(alignment - 1);
        if address + size > arena.end || layout.align() > 4096 {
            return core::ptr::null_mut();
        }
        if size > HUGE_PAGE {
            // Large tables are looked up all over.
            // SAFETY: advice about memory of our own.
            unsafe { arch::syscall(nr::MADVISE, [address, size, arch::MADV_HUGEPAGE, 0, 0, 0]) };
        }
        arena.next = address + size;
        address as *mut u8
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let class = class_of(layout);
        let is_used = class < CLASSES && ARENA_STATE.get().free[class] != 0;
        // SAFETY: as asked for.
        let block = unsafe { self.alloc(layout) };
        // What the kernel gives is zero, and stays unmapped until it is touched.
        if is_used && !block.is_null() {
            // SAFETY: it is at least as long.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let arena = ARENA_STATE.get();
        let class = class_of(layout);
        // SAFETY: the block is free and at least 16 bytes long.
        unsafe { *block.cast::<usize>() = arena.free[class] };
        arena.free[class] = block as usize;
    }
}

struct Stderr;

impl fmt::Write for Stderr {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: writes a valid buffer to descriptor 2.
        unsafe { arch::syscall(nr::WRITE, [2, text.as_ptr() as usize, text.len(), 0, 0, 0]) };
        Ok(())
    }
}

/// Ends the worker with this exit code, which is the runtime's own doing and not the program's.
pub fn fail(code: u32, text: fmt::Arguments<'_>) -> ! {
    crate::shared::note_failure(code);
    say(format_args!("raddle runtime: {text}\n"));
    arch::exit_group(code as usize)
}

/// Writes to the real stderr. For what must never happen, and for nothing else.
pub fn say(text: fmt::Arguments<'_>) {
    let _ = fmt::Write::write_fmt(&mut Stderr, text);
}
