//! Turns a raw recording, which names things by address, into a [`Trace`].
//!
//! Limits: an object that was allocated before the recording began is named by its first access
//! ([`ObjectName::Region`](crate::event::ObjectName::Region)), eight bytes at a time. What stands on a stack is named by its variable
//! where that is known, else by its frame; two activations of a function in the same place and
//! context, one after the other, share their frame.

mod locks;
mod places;
mod pointers;

use self::places::{Context, Frame, FrameKey};
use crate::event::{
    Access, Action, Event, Location, LockStep, Mark, Message, ObjectId, Order, SiteIndex, ThreadId,
    ThreadName, Trace, TraceSite, TypeIndex,
};
use crate::outcome::RawRecording;
use crate::site_table::SiteInfo;
use raddle_abi::hooks::{lock, order};
use raddle_abi::record::{RawEvent, without_address};
use raddle_abi::site::{Operation, SiteId, flags};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// As a raw lock event's order: held by one thread at a time.
const EXCLUSIVE: u16 = lock::EXCLUSIVE as u16;

/// What is known about a program's addresses.
pub trait Addresses {
    /// The site with this id.
    fn site(&self, id: SiteId) -> Option<SiteInfo>;
    /// The static that an address lies in: its path and the offset in it.
    fn static_at(&self, address: u64) -> Option<(String, u64)>;
    /// The functions that a return address stands for, innermost first: several where calls
    /// were inlined, none if nothing is known.
    fn functions(&self, address: u64) -> Vec<Function>;
    /// The variable at `offset` from the frame pointer of the function that a return address lies
    /// in.
    fn variable(&self, address: u64, offset: i64) -> Option<Variable>;
    /// The path of fields that leads to `offset` in a type; empty if it is not known.
    fn field_path(&self, type_name: &str, offset: u64) -> String;
}

/// A variable in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it begins, counted from the frame pointer.
    pub begins: i64,
    /// Full name of its type, if that is a structure.
    pub type_name: Option<String>,
}

/// A function of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its path.
    pub path: String,
    /// Whether it is the standard library's.
    pub is_std: bool,
}

/// Names everything in a recording of `test`, made with the build `build`. The first thread of the trace is
/// the one with the number `first`.
pub fn name(
    recording: &RawRecording,
    addresses: &dyn Addresses,
    build: &str,
    test: &str,
    first: u16,
) -> Trace {
    named(recording, addresses, build, test, first).0
}

/// The same, and for each event of the trace the event of the recording that it comes from.
pub fn name_with_origins(
    recording: &RawRecording,
    addresses: &dyn Addresses,
    build: &str,
    test: &str,
) -> (Trace, Vec<u32>) {
    named(recording, addresses, build, test, 0)
}

fn named(
    recording: &RawRecording,
    addresses: &dyn Addresses,
    build: &str,
    test: &str,
    first: u16,
) -> (Trace, Vec<u32>) {
    let mut naming = Naming {
        trace: Trace {
            build: build.into(),
            test: test.into(),
            ..Trace::default()
        },
        addresses,
        threads: HashMap::new(),
        sites: HashMap::new(),
        blocks: BTreeMap::new(),
        statics: HashMap::new(),
        regions: HashMap::new(),
        occurrences: HashMap::new(),
        entries: HashMap::new(),
        types: HashMap::new(),
        channels: HashMap::new(),
        messages: HashMap::new(),
        recording,
        contexts: HashMap::new(),
        frames: HashMap::new(),
        frame_objects: HashMap::new(),
        instances: HashMap::new(),
        locks: BTreeSet::new(),
        pointers: HashMap::new(),
    };
    naming.thread(first);
    let mut origins = Vec::with_capacity(recording.events.len());
    for (index, event) in recording.events.iter().enumerate() {
        naming.event(event);
        origins.resize(naming.trace.events.len(), index as u32);
    }
    naming.name_locks();
    (naming.trace, origins)
}

/// What occurrences are counted of.
#[derive(PartialEq, Eq, Hash)]
enum Counted {
    Thread,
    Heap,
    Frame,
    Region,
}

struct Naming<'a> {
    trace: Trace,
    addresses: &'a dyn Addresses,
    threads: HashMap<u16, ThreadId>,
    sites: HashMap<SiteId, Option<SiteIndex>>,
    /// Heap blocks by start: size and object. Freed ones stay until their memory is used again.
    blocks: BTreeMap<u64, (u64, ObjectId)>,
    statics: HashMap<String, ObjectId>,
    /// Other memory by its address in words.
    regions: HashMap<u64, ObjectId>,
    /// How often a thread did something at a site key.
    occurrences: HashMap<(Counted, ThreadId, u64), u32>,
    /// What the entries of functions get.
    entries: HashMap<SiteId, Entry>,
    types: HashMap<String, TypeIndex>,
    /// How many messages were put into a channel, by its address.
    channels: HashMap<u64, u64>,
    /// Numbers of the messages in a channel, by its address and what tells them apart.
    messages: HashMap<(u64, u64), VecDeque<u64>>,
    recording: &'a RawRecording,
    /// Contexts by the place of their stacks.
    contexts: HashMap<u32, Context>,
    /// The frame that a thread's next address on a stack lies in.
    frames: HashMap<ThreadId, Frame>,
    /// What stands in frames: the beginning and the object of each.
    frame_objects: HashMap<FrameKey, (u64, ObjectId)>,
    /// The types that were seen in an object, by where they begin.
    instances: HashMap<ObjectId, BTreeSet<(u64, TypeIndex)>>,
    /// Places that are locks.
    locks: BTreeSet<Location>,
    /// What places are known to point to.
    pointers: HashMap<Location, Location>,
}

/// What is known about a function.
#[derive(Clone, Default)]
struct Entry {
    is_method: bool,
    /// Of what its pointer parameters point to.
    types: Vec<TypeIndex>,
}

impl Naming<'_> {
    fn event(&mut self, raw: &RawEvent) {
        let thread = self.thread(raw.thread);
        let site = self.site(raw.site);
        let operation = Operation::from_number(raw.operation).unwrap_or(Operation::Unknown);
        let action = match operation {
            Operation::Enter => {
                let location = self.instance(raw, thread, site);
                let entry = self.entry(raw.site);
                let receiver = location.filter(|_| entry.is_method);
                Some(Action::Enter { receiver })
            }
            Operation::Argument => None,
            Operation::Frame => {
                self.frame(raw, thread);
                None
            }
            Operation::Send | Operation::Receive => self.message(operation, raw, thread, site),
            _ => Some(self.action(operation, raw, thread, site)),
        };
        let typed = match operation {
            Operation::Enter | Operation::Argument => self.typed(raw, thread, site),
            _ => None,
        };
        let points = self.points(raw, action.as_ref());
        let actions = action.into_iter().chain(typed).chain(points);
        self.trace.events.extend(actions.map(|action| Event {
            thread,
            site,
            action,
        }));
    }

    /// What a function gets a pointer to.
    fn instance(
        &mut self,
        raw: &RawEvent,
        thread: ThreadId,
        site: Option<SiteIndex>,
    ) -> Option<Location> {
        let key = self.key(site);
        (raw.address != 0).then(|| self.location(raw, thread, key))
    }

    fn typed(
        &mut self,
        raw: &RawEvent,
        thread: ThreadId,
        site: Option<SiteIndex>,
    ) -> Option<Action> {
        let location = self.instance(raw, thread, site)?;
        let number = usize::try_from(raw.value).ok()?;
        let type_index = *self.entry(raw.site).types.get(number)?;
        Some(self.instance_of(location, type_index))
    }

    fn entry(&mut self, id: SiteId) -> Entry {
        if let Some(entry) = self.entries.get(&id) {
            return entry.clone();
        }
        let info = self.addresses.site(id);
        let entry = info.map_or_else(Entry::default, |info| Entry {
            is_method: info.flags & flags::METHOD != 0,
            types: info
                .types
                .into_iter()
                .map(|name| self.named_type(name))
                .collect(),
        });
        self.entries.insert(id, entry.clone());
        entry
    }

    fn named_type(&mut self, name: String) -> TypeIndex {
        let next = TypeIndex(self.trace.types.len() as u32);
        if let Some(&known) = self.types.get(&name) {
            return known;
        }
        self.trace.types.push(name.clone());
        self.types.insert(name, next);
        next
    }

    /// A message that goes into a channel, or one that comes out of it and was seen to go in.
    fn message(
        &mut self,
        operation: Operation,
        raw: &RawEvent,
        thread: ThreadId,
        site: Option<SiteIndex>,
    ) -> Option<Action> {
        let place = (raw.address, raw.value);
        let number = match operation {
            Operation::Send => {
                let count = self.channels.entry(raw.address).or_insert(0);
                let number = *count;
                *count += 1;
                self.messages.entry(place).or_default().push_back(number);
                number
            }
            _ => self.messages.get_mut(&place)?.pop_front()?,
        };
        let channel = self.location(raw, thread, self.key(site));
        let message = Message::Item { channel, number };
        Some(match operation {
            Operation::Send => Action::Send(message),
            _ => Action::Receive(message),
        })
    }

    fn action(
        &mut self,
        operation: Operation,
        raw: &RawEvent,
        thread: ThreadId,
        site: Option<SiteIndex>,
    ) -> Action {
        let key = self.key(site);
        if let Some(access) = access_of(operation) {
            let location = self.location(raw, thread, key);
            let order = order_of(raw.order);
            return Action::Access {
                access,
                location,
                size: raw.len,
                value: value_of(raw),
                order,
            };
        }
        if operation == Operation::Value {
            return Action::Value {
                location: self.location(raw, thread, key),
                size: raw.len,
                value: value_of(raw),
            };
        }
        let lock_step = |step| (step, raw.order != EXCLUSIVE);
        let (step, shared) = match operation {
            Operation::LockWant => lock_step(LockStep::Want),
            Operation::LockAcquire => lock_step(LockStep::Acquire),
            Operation::LockRelease => lock_step(LockStep::Release),
            Operation::Fence => {
                return Action::Fence {
                    order: order_of(raw.order),
                };
            }
            Operation::Alloc => {
                return Action::Alloc {
                    object: self.allocate(raw, thread, key),
                };
            }
            Operation::Free => {
                return Action::Free {
                    location: self.location(raw, thread, key),
                };
            }
            Operation::Spawn => {
                return Action::Send(Message::Start(self.spawn(raw.address as u16, thread, key)));
            }
            Operation::Start => return Action::Receive(Message::Start(thread)),
            Operation::Exit => return Action::Send(Message::End(thread)),
            Operation::Join => {
                return Action::Receive(Message::End(self.thread(raw.address as u16)));
            }
            Operation::FutexWait => return Action::Wait(self.location(raw, thread, key)),
            Operation::FutexWake => {
                return Action::Send(Message::Wake(self.location(raw, thread, key)));
            }
            Operation::Leave => {
                return Action::Leave {
                    unwound: raw.value != 0,
                };
            }
            Operation::Branch => {
                return Action::Branch {
                    way: u32::try_from(raw.value).unwrap_or(u32::MAX),
                };
            }
            _ => return Action::Mark(mark_of(operation)),
        };
        let lock = self.location(raw, thread, key);
        self.locks.insert(lock);
        Action::Lock { step, lock, shared }
    }

    /// The thread with this number; one that nobody was seen to start was there from the start.
    fn thread(&mut self, number: u16) -> ThreadId {
        let next = ThreadId(self.trace.threads.len() as u16);
        *self.threads.entry(number).or_insert_with(|| {
            let occurrence = u32::from(next.0);
            self.trace.threads.push(ThreadName {
                parent: None,
                site_key: 0,
                occurrence,
            });
            next
        })
    }

    fn spawn(&mut self, number: u16, parent: ThreadId, site_key: u64) -> ThreadId {
        let occurrence = self.occurrence(Counted::Thread, parent, site_key);
        let name = ThreadName {
            parent: Some(parent),
            site_key,
            occurrence,
        };
        match self.threads.get(&number) {
            // It ran before its start was recorded.
            Some(&thread) => {
                self.trace.threads[usize::from(thread.0)] = name;
                thread
            }
            None => {
                let thread = ThreadId(self.trace.threads.len() as u16);
                self.trace.threads.push(name);
                self.threads.insert(number, thread);
                thread
            }
        }
    }

    fn site(&mut self, id: SiteId) -> Option<SiteIndex> {
        if let Some(&known) = self.sites.get(&id) {
            return known;
        }
        let found = self.addresses.site(id).filter(|_| id != 0).map(|info| {
            self.trace.sites.push(TraceSite {
                key: info.key,
                file: info.file,
                function: info.function,
                line: info.line,
                column: info.column,
            });
            SiteIndex(self.trace.sites.len() as u32 - 1)
        });
        self.sites.insert(id, found);
        found
    }

    fn key(&self, site: Option<SiteIndex>) -> u64 {
        site.and_then(|SiteIndex(index)| self.trace.sites.get(index as usize))
            .map_or(0, |site| site.key)
    }

    fn occurrence(&mut self, counted: Counted, thread: ThreadId, site_key: u64) -> u32 {
        let count = self
            .occurrences
            .entry((counted, thread, site_key))
            .or_insert(0);
        *count += 1;
        *count - 1
    }
}

fn access_of(operation: Operation) -> Option<Access> {
    Some(match operation {
        Operation::Read => Access::Read,
        Operation::Write => Access::Write,
        Operation::AtomicLoad => Access::AtomicLoad,
        Operation::AtomicStore => Access::AtomicStore,
        Operation::AtomicRmw => Access::AtomicRmw,
        Operation::AtomicCas => Access::AtomicCas,
        Operation::VolatileRead => Access::VolatileRead,
        Operation::VolatileWrite => Access::VolatileWrite,
        _ => return None,
    })
}

/// What was read or written, without the address that it may be.
fn value_of(raw: &RawEvent) -> u64 {
    match raw.len {
        8 => without_address(raw.value),
        _ => raw.value,
    }
}

fn order_of(number: u16) -> Order {
    // A compare-exchange has its failure order in the upper byte.
    match u32::from(number & 0xff) {
        order::RELAXED => Order::Relaxed,
        order::ACQUIRE => Order::Acquire,
        order::RELEASE => Order::Release,
        order::ACQ_REL => Order::AcqRel,
        order::SEQ_CST => Order::SeqCst,
        _ => Order::None,
    }
}

fn mark_of(operation: Operation) -> Mark {
    match operation {
        Operation::Yield => Mark::Yield,
        Operation::Sleep => Mark::Sleep,
        Operation::Io => Mark::Io,
        Operation::Panic => Mark::Panic,
        Operation::Asm => Mark::Asm,
        Operation::TestBegin => Mark::TestBegin,
        Operation::TestEnd => Mark::TestEnd,
        _ => Mark::Unknown,
    }
}

#[cfg(test)]
mod tests;
