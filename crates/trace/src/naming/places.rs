//! What addresses are names of: heap blocks, statics, frames on stacks, and the rest.

use super::{Counted, Naming};
use crate::event::{Location, ObjectId, ObjectName, ThreadId};
use raddle_abi::record::RawEvent;

/// The functions of a stack.
#[derive(Clone, Default)]
pub(super) struct Context {
    /// The innermost one of all, as it was compiled: what is inlined in it is a part of it.
    pub(super) own: String,
    /// The innermost one outside of std.
    pub(super) function: String,
    /// Hash of all that are outside of std.
    pub(super) hash: u64,
}

impl Naming<'_> {
    /// The next address of a thread that lies on a stack lies in this frame.
    pub(super) fn frame(&mut self, raw: &RawEvent, thread: ThreadId) {
        let owner = raw.value as u16;
        let low = raw.address.saturating_sub(u64::from(raw.len));
        let context = self.context(raw);
        let returns_to = self.recording.stack(raw).get(1).copied().unwrap_or(0);
        let key = (owner, raw.address, returns_to, context.own.clone());
        let (low, object) = match self.frame_objects.get(&key) {
            Some(&known) => known,
            None => {
                let owner = self.thread(owner);
                let occurrence = self.occurrence(Counted::Frame, owner, context.hash);
                let object = self.object(ObjectName::Stack {
                    function: context.own,
                    context: context.hash,
                    thread: owner,
                    occurrence,
                });
                self.frame_objects.insert(key, (low, object));
                (low, object)
            }
        };
        self.frames.insert(thread, (low, raw.address, object));
    }

    /// The functions of an event's stack.
    fn context(&mut self, raw: &RawEvent) -> Context {
        if let Some(context) = self.contexts.get(&raw.stack) {
            return context.clone();
        }
        let mut context = Context::default();
        for (depth, address) in self.recording.stack(raw).iter().enumerate() {
            let functions = self.addresses.functions(*address);
            if depth == 0 {
                context.own = functions
                    .last()
                    .map_or_else(String::new, |last| last.path.clone());
            }
            for function in functions.into_iter().filter(|function| !function.is_std) {
                context.hash = hash(context.hash, &function.path);
                if context.function.is_empty() {
                    context.function = function.path;
                }
            }
        }
        self.contexts.insert(raw.stack, context.clone());
        context
    }

    fn object(&mut self, name: ObjectName) -> ObjectId {
        self.trace.objects.push(name);
        ObjectId(self.trace.objects.len() as u32 - 1)
    }

    pub(super) fn allocate(&mut self, raw: &RawEvent, thread: ThreadId, site_key: u64) -> ObjectId {
        let size = raw.value.max(u64::from(raw.len));
        let end = raw.address.saturating_add(size.max(1));
        // Older blocks in the same memory were freed.
        let old: Vec<u64> = self
            .blocks
            .range(..end)
            .rev()
            .take_while(|(start, (size, _))| start.saturating_add(*size) > raw.address)
            .map(|(&start, _)| start)
            .collect();
        for start in old {
            self.blocks.remove(&start);
        }
        // A channel that was here is gone, and what was left in it.
        let memory = raw.address..end;
        self.channels.retain(|channel, _| !memory.contains(channel));
        self.messages
            .retain(|(channel, _), _| !memory.contains(channel));
        let context = self.context(raw);
        let occurrence = self.occurrence(Counted::Heap, thread, site_key ^ context.hash);
        let object = self.object(ObjectName::Heap {
            site_key,
            thread,
            occurrence,
            size,
            context: context.hash,
            function: context.function,
        });
        self.blocks.insert(raw.address, (size, object));
        object
    }

    pub(super) fn location(&mut self, address: u64, thread: ThreadId, site_key: u64) -> Location {
        let block = self.blocks.range(..=address).next_back();
        if let Some((start, &(size, object))) = block
            && address - start < size.max(1)
        {
            return Location {
                object,
                offset: address - start,
            };
        }
        if let Some((path, offset)) = self.addresses.static_at(address) {
            let object = match self.statics.get(&path) {
                Some(&object) => object,
                None => {
                    let object = self.object(ObjectName::Static { path: path.clone() });
                    self.statics.insert(path, object);
                    object
                }
            };
            return Location { object, offset };
        }
        if let Some(&(low, high, object)) = self.frames.get(&thread)
            && (low..=high).contains(&address)
        {
            return Location {
                object,
                offset: address - low,
            };
        }
        let object = match self.regions.get(&(address / 8)) {
            Some(&object) => object,
            None => {
                let occurrence = self.occurrence(Counted::Region, thread, site_key);
                let object = self.object(ObjectName::Region {
                    site_key,
                    thread,
                    occurrence,
                });
                self.regions.insert(address / 8, object);
                object
            }
        };
        Location {
            object,
            offset: address % 8,
        }
    }
}

/// FNV-1a, going on from a hash, with 0 for the beginning.
fn hash(before: u64, path: &str) -> u64 {
    let start = if before == 0 {
        0xcbf2_9ce4_8422_2325
    } else {
        before
    };
    path.bytes().chain([0]).fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
