//! What addresses are names of: heap blocks, statics, frames on stacks, and the rest.

use super::{Counted, Naming};
use crate::event::{Event, Location, ObjectId, ObjectName, ThreadId};
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

/// A frame on a stack.
#[derive(Clone)]
pub(super) struct Frame {
    /// Whose stack.
    owner: u16,
    low: u64,
    /// The frame pointer.
    high: u64,
    /// Where the frame's function was when another one was last before it, and where it returns to.
    code: [u64; 2],
    context: Context,
}

/// What stands in a frame: its thread, frame pointer, return address, function, and the variable, or
/// nothing for the frame itself.
pub(super) type FrameKey = (u16, u64, u64, String, String);

impl Naming<'_> {
    /// The next address of a thread that lies on a stack lies in this frame.
    pub(super) fn frame(&mut self, raw: &RawEvent, thread: ThreadId) {
        let stack = self.recording.stack(raw);
        let code = [0, 1].map(|depth| stack.get(depth).copied().unwrap_or(0));
        let frame = Frame {
            owner: raw.value as u16,
            low: raw.address.saturating_sub(u64::from(raw.len)),
            high: raw.address,
            code,
            context: self.context(raw),
        };
        self.frames.insert(thread, frame);
    }

    /// What stands at an address of a frame.
    fn in_frame(&mut self, frame: &Frame, raw: &RawEvent) -> Location {
        let address = raw.address;
        // The frame's function is where the event's stack says, if it is a frame of that stack.
        let stack = self.recording.stack(raw);
        let outer = stack.iter().position(|code| *code == frame.code[1]);
        let code = match outer.and_then(|outer| outer.checked_sub(1)) {
            Some(own) => stack[own],
            None => frame.code[0],
        };
        let offset = address.wrapping_sub(frame.high).cast_signed();
        let known = self.addresses.variable(code, offset);
        let (variable, low, type_name) = match known {
            Some(variable) => (
                variable.name,
                frame.high.wrapping_add_signed(variable.begins),
                variable.type_name,
            ),
            None => (String::new(), frame.low, None),
        };
        let Context { own, hash, .. } = &frame.context;
        let key = (
            frame.owner,
            frame.high,
            frame.code[1],
            own.clone(),
            variable.clone(),
        );
        let (low, object) = match self.frame_objects.get(&key) {
            Some(&known) => known,
            None => {
                let owner = self.thread(frame.owner);
                let counted = hash_of(*hash, &variable);
                let object = ObjectName::Stack {
                    function: own.clone(),
                    variable,
                    context: *hash,
                    thread: owner,
                    occurrence: self.occurrence(Counted::Frame, owner, counted),
                };
                let object = self.object(object);
                self.frame_objects.insert(key, (low, object));
                if let Some(name) = type_name {
                    self.variable_of(raw, object, name);
                }
                (low, object)
            }
        };
        Location {
            object,
            offset: address.saturating_sub(low),
        }
    }

    /// A variable of this type is an instance of it, before anything happens to it.
    fn variable_of(&mut self, raw: &RawEvent, object: ObjectId, type_name: String) {
        let type_index = self.named_type(type_name);
        let location = Location { object, offset: 0 };
        let event = Event {
            thread: self.thread(raw.thread),
            site: self.site(raw.site),
            action: self.instance_of(location, type_index),
        };
        self.trace.events.push(event);
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
                context.hash = hash_of(context.hash, &function.path);
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

    /// What stands at an event's address.
    pub(super) fn location(&mut self, raw: &RawEvent, thread: ThreadId, site_key: u64) -> Location {
        let address = raw.address;
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
        if let Some(frame) = self.frames.get(&thread)
            && (frame.low..=frame.high).contains(&address)
        {
            let frame = frame.clone();
            return self.in_frame(&frame, raw);
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
fn hash_of(before: u64, path: &str) -> u64 {
    let start = if before == 0 {
        0xcbf2_9ce4_8422_2325
    } else {
        before
    };
    path.bytes().chain([0]).fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
