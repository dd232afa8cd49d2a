//! Errors on the heap: use of freed memory, a second free, an access beyond a block.
//!
//! An execution ends at its first such error. What a program does after it is anybody's guess,
//! so whatever else would be seen in that execution proves nothing. Known imprecision, always
//! on the side of silence: code that is not instrumented is not watched (but its frees are),
//! freed memory is known as such only until its place is used again, and an access that jumps
//! over the gap behind a block into another one looks like any access to that other block.
//!
//! Where the block was allocated and freed is told by the recording of the replay that
//! confirms a finding: executions of a campaign take no stacks for it.

use crate::findings::Record;
use crate::heap::{self, granules};
use crate::host::{self, End};
use crate::record;
use crate::stack::{self, Frames};
use crate::world::world;
use raddle_abi::finding::{Kind, Step};
use raddle_abi::site::{Operation, SiteId};

/// Frames that tell two errors at the same site apart.
const TELLING: usize = 6;
/// Bytes before a block within which an access is taken for one that missed its start.
const BEFORE: usize = 64;

/// Whether an access touches nothing that it must not.
#[inline(always)]
pub fn may_touch(address: usize, len: usize) -> bool {
    !heap::contains(address) || len == 0 || granules::may_touch(address, len)
}

/// Whether the running thread's errors are findings.
pub fn is_on() -> bool {
    let world = world();
    let execution = &world.execution;
    world.running
        && world.off == 0
        && world.orders.heap
        && execution
            .threads
            .get(execution.current)
            .is_some_and(|thread| thread.entered)
}

/// The running thread has touched what it must not.
#[cold]
#[inline(never)]
pub fn touched(operation: Operation, address: usize, len: usize, site: SiteId) -> ! {
    let (bad, is_freed) = granules::first_bad(address, len);
    let before = granules::block_before(bad);
    let (kind, block) = if is_freed {
        (Kind::UseAfterFree, before)
    } else {
        (Kind::OutOfBounds, nearest(bad, before))
    };
    let frames = stack::of_running();
    report(kind, operation, address, len, block, site, &frames)
}

/// The block whose end or start an access missed.
fn nearest(bad: usize, before: Option<usize>) -> Option<usize> {
    let after = granules::block_after(bad, BEFORE);
    match (before, after) {
        (Some(before), Some(after)) if after - bad < bad - (before + heap::size_of(before)) => {
            Some(after)
        }
        (before, after) => before.or(after),
    }
}

/// The running thread frees a block that was freed before.
#[cold]
#[inline(never)]
pub fn freed_again(block: usize, site: SiteId) -> ! {
    let frames = stack::of_running();
    let (free, len) = (Operation::Free, heap::size_of(block));
    report(
        Kind::DoubleFree,
        free,
        block,
        len,
        Some(block),
        site,
        &frames,
    )
}

fn report(
    kind: Kind,
    operation: Operation,
    address: usize,
    len: usize,
    block: Option<usize>,
    site: SiteId,
    frames: &Frames,
) -> ! {
    let frames = frames.as_slice();
    let telling = frames
        .iter()
        .take(TELLING)
        .fold(0, |hash: u64, frame| hash.rotate_left(9) ^ frame);
    let block = block.map_or([0, 0], |block| [block as u64, heap::size_of(block) as u64]);
    let key = super::key(kind, telling, u64::from(site));
    if let Some(mut record) = Record::begin(kind, key, block) {
        let step = Step {
            site,
            operation: operation as u16,
            thread: world().execution.current as u16,
            address: address as u64,
            len: len as u32,
            frames: 0,
        };
        record.step(step, frames);
        record.commit();
    }
    record::event(operation, address as u64, 0, len as u32, 0, site);
    host::end(End::Abandoned)
}
