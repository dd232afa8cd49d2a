//! The different outcomes of the executions of a plan, for the tool: what they printed, and how
//! they ended.

use crate::end::End;
use crate::shared::shared;
use crate::world::world;
use core::sync::atomic::Ordering;
use raddle_abi::control::{OUTCOMES_OFFSET, OUTCOMES_SIZE, OutcomeHeader};
use raddle_abi::mark;

const HEADER: usize = size_of::<OutcomeHeader>();

/// Counts the outcome of an execution, unless the plan does not ask for it. Of one that was broken
/// off, because what follows is known, there is none.
pub fn count(ended: End) {
    if !world().orders.outcomes || ended == End::Known {
        return;
    }
    let (end, code) = match ended {
        End::Passed => (mark::End::Passed, 0),
        End::Exit(0) => (mark::End::Passed, 0),
        End::Exit(code) => (mark::End::Failed, code),
        End::Cut => (mark::End::Cut, 0),
        _ => (mark::End::Abandoned, 0),
    };
    let output = shared().output();
    let hash = hash(output, u64::from(end as u32) << 32 | u64::from(code));
    let used = &shared().control().outcomes;
    let filled = used.load(Ordering::Relaxed) as usize;
    let area = shared().at(OUTCOMES_OFFSET);
    let mut offset = 0;
    while offset < filled {
        // SAFETY: headers stand one after the other in the used part of the area.
        let header = unsafe { &mut *((area + offset) as *mut OutcomeHeader) };
        if header.hash == hash {
            header.count += 1;
            return;
        }
        offset += HEADER + (header.len as usize).next_multiple_of(8);
    }
    let size = HEADER + output.len().next_multiple_of(8);
    if filled + size > OUTCOMES_SIZE {
        return;
    }
    let header = OutcomeHeader {
        count: 1,
        hash,
        end: end as u32,
        code,
        len: output.len() as u32,
        reserved: 0,
    };
    // SAFETY: inside the outcomes area, which nobody reads beyond what the counter says.
    unsafe {
        ((area + filled) as *mut OutcomeHeader).write(header);
        let bytes = (area + filled + HEADER) as *mut u8;
        core::ptr::copy_nonoverlapping(output.as_ptr(), bytes, output.len());
    }
    used.store((filled + size) as u32, Ordering::Release);
}

fn hash(bytes: &[u8], start: u64) -> u64 {
    bytes
        .iter()
        .fold(start ^ 0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte))
                .wrapping_mul(0x0100_0000_01b3)
                .rotate_left(5)
        })
}
