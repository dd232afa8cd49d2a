//! Which places hold pointers into heap blocks: what is owned through a pointer is found that way,
//! although a trace has no addresses.

use super::Naming;
use crate::event::{Access, Action, Location};
use raddle_abi::record::{HEAP_BASE, HEAP_SIZE, RawEvent};

const HEAP: u64 = HEAP_BASE as u64;
const HEAP_END: u64 = HEAP + HEAP_SIZE as u64;

impl Naming<'_> {
    /// What an event shows about the place that it touched: that it holds a pointer, if that was
    /// not known.
    pub(super) fn points(&mut self, raw: &RawEvent, action: Option<&Action>) -> Option<Action> {
        let location = match action? {
            // A read-modify-write tells what was there before it.
            Action::Access {
                access: Access::AtomicRmw,
                ..
            } => return None,
            Action::Access { location, .. } | Action::Value { location, .. } => *location,
            _ => return None,
        };
        if raw.len != 8 || !(HEAP..HEAP_END).contains(&raw.value) {
            return None;
        }
        let target = self.in_block(raw.value)?;
        let before = self.pointers.insert(location, target);
        (before != Some(target)).then_some(Action::Points { location, target })
    }

    /// The place in a heap block that an address lies in.
    fn in_block(&self, address: u64) -> Option<Location> {
        let (start, &(size, object)) = self.blocks.range(..=address).next_back()?;
        (address - start < size.max(1)).then_some(Location {
            object,
            offset: address - start,
        })
    }
}
