//! Turns a raw recording, which names things by address, into a [`Trace`].
//!
//! Limits: an object that was allocated before the recording began, and everything on a
//! stack, is named by its first access ([`ObjectName::Region`]), eight bytes at a time.
//! Allocation sites are the site of the call that was instrumented, so two allocations by the
//! same function of std at different depths share a site and differ by their occurrence only.

use crate::event::{
    Access, Action, Event, Location, LockStep, Mark, Message, ObjectId, ObjectName, Order,
    SiteIndex, ThreadId, ThreadName, Trace, TraceSite,
};
use crate::outcome::RawRecording;
use crate::site_table::{SiteInfo, SiteTable};
use raddle_abi::hooks::{lock, order};
use raddle_abi::record::RawEvent;
use raddle_abi::site::{Operation, SiteId};
use std::collections::{BTreeMap, HashMap};

/// As a raw lock event's order: held by one thread at a time.
const EXCLUSIVE: u16 = lock::EXCLUSIVE as u16;

/// What is known about a program's addresses.
pub trait Addresses {
    /// The site with this id.
    fn site(&self, id: SiteId) -> Option<SiteInfo>;
    /// The static that an address lies in: its path and the offset in it.
    fn static_at(&self, address: u64) -> Option<(String, u64)>;
}

impl Addresses for SiteTable {
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        Self::site(self, id)
    }

    fn static_at(&self, address: u64) -> Option<(String, u64)> {
        self.image()
            .static_at(address)
            .map(|(path, offset)| (path.to_string(), offset))
    }
}

/// Names everything in a recording of `test`, made with the build `build`.
pub fn name(recording: &RawRecording, addresses: &dyn Addresses, build: &str, test: &str) -> Trace {
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
    };
    naming.thread(0);
    for event in &recording.events {
        naming.event(event);
    }
    naming.trace
}

/// What occurrences are counted of.
#[derive(PartialEq, Eq, Hash)]
enum Counted {
    Thread,
    Heap,
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
}

impl Naming<'_> {
    fn event(&mut self, raw: &RawEvent) {
        let thread = self.thread(raw.thread);
        let site = self.site(raw.site);
        let operation = Operation::from_number(raw.operation).unwrap_or(Operation::Unknown);
        let action = self.action(operation, raw, thread, site);
        self.trace.events.push(Event {
            thread,
            site,
            action,
        });
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
            let location = self.location(raw.address, thread, key);
            let order = order_of(raw.order);
            return Action::Access {
                access,
                location,
                size: raw.len,
                value: raw.value,
                order,
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
                    location: self.location(raw.address, thread, key),
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
            Operation::FutexWait => return Action::Wait(self.location(raw.address, thread, key)),
            Operation::FutexWake => {
                return Action::Send(Message::Wake(self.location(raw.address, thread, key)));
            }
            Operation::Enter => {
                let receiver = (raw.address != 0).then(|| self.location(raw.address, thread, key));
                return Action::Enter { receiver };
            }
            Operation::Leave => return Action::Leave,
            _ => return Action::Mark(mark_of(operation)),
        };
        Action::Lock {
            step,
            lock: self.location(raw.address, thread, key),
            shared,
        }
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

    fn object(&mut self, name: ObjectName) -> ObjectId {
        self.trace.objects.push(name);
        ObjectId(self.trace.objects.len() as u32 - 1)
    }

    fn allocate(&mut self, raw: &RawEvent, thread: ThreadId, site_key: u64) -> ObjectId {
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
        let occurrence = self.occurrence(Counted::Heap, thread, site_key);
        let object = self.object(ObjectName::Heap {
            site_key,
            thread,
            occurrence,
            size,
        });
        self.blocks.insert(raw.address, (size, object));
        object
    }

    fn location(&mut self, address: u64, thread: ThreadId, site_key: u64) -> Location {
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
mod tests {
    use super::*;
    use crate::text;

    /// Site n has key n; there is a static of 16 bytes at 0x1000.
    struct Fake;

    impl Addresses for Fake {
        fn site(&self, id: SiteId) -> Option<SiteInfo> {
            (id < 100).then(|| SiteInfo {
                key: u64::from(id),
                file: "src/lib.rs".into(),
                function: format!("f{id}"),
                line: id,
                column: 0,
                operation: Operation::Unknown,
                flags: 0,
                inlined_at: Vec::new(),
            })
        }

        fn static_at(&self, address: u64) -> Option<(String, u64)> {
            (0x1000..0x1010)
                .contains(&address)
                .then(|| ("S".into(), address - 0x1000))
        }
    }

    fn raw(thread: u16, operation: Operation, site: SiteId, address: u64, value: u64) -> RawEvent {
        let (operation, len) = (operation as u16, 4);
        RawEvent {
            operation,
            thread,
            site,
            address,
            value,
            len,
            order: 4,
            flags: 0,
            stack: 0,
            point: 0,
        }
    }

    fn check(events: Vec<RawEvent>, expected: &str) {
        let recording = RawRecording {
            events,
            ..RawRecording::default()
        };
        let text = text::write(&name(&recording, &Fake, "", ""));
        let lines: Vec<_> = text
            .lines()
            .filter(|line| {
                !["raddle", "build", "test", "site ", "end"]
                    .iter()
                    .any(|word| line.starts_with(word))
            })
            .collect();
        let expected: Vec<_> = expected
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn threads_are_named_by_parent_site_and_occurrence() {
        check(
            vec![
                raw(0, Operation::Spawn, 7, 1, 0),
                raw(0, Operation::Spawn, 7, 2, 0),
                raw(2, Operation::Start, 0, 2, 0),
                raw(2, Operation::Exit, 0, 2, 0),
                raw(0, Operation::Join, 8, 2, 0),
            ],
            "thread
             thread parent 1 key 0000000000000007
             thread parent 1 key 0000000000000007 occurrence 1
             send-start other 1 site 1
             send-start other 2 site 1
             receive-start thread 2 other 2
             send-end thread 2 other 2
             receive-end other 2 site 2",
        );
    }

    #[test]
    fn memory_is_named_by_block_static_or_first_touch() {
        check(
            vec![
                raw(0, Operation::Alloc, 1, 0x9000, 32),
                raw(0, Operation::Write, 2, 0x9008, 7),
                raw(0, Operation::Read, 3, 0x1004, 1),
                raw(0, Operation::AtomicLoad, 4, 0x7ffe_0004, 2),
                raw(0, Operation::Free, 5, 0x9000, 0),
                raw(0, Operation::Alloc, 1, 0x9010, 8),
                raw(0, Operation::Read, 3, 0x9010, 0),
            ],
            "thread
             heap key 0000000000000001 size 32
             static path \"S\"
             region key 0000000000000004
             heap key 0000000000000001 occurrence 1 size 8
             alloc site 1
             access kind write offset 8 size 4 value 7 order acquire site 2
             access kind read object 1 offset 4 size 4 value 1 order acquire site 3
             access kind atomic-load object 2 offset 4 size 4 value 2 order acquire site 4
             free site 5
             alloc object 3 site 1
             access kind read object 3 size 4 order acquire site 3",
        );
    }

    #[test]
    fn locks_and_waits_keep_their_mode_and_object() {
        let mut shared = raw(0, Operation::LockAcquire, 1, 0x1000, 0);
        let mut exclusive = raw(0, Operation::LockRelease, 1, 0x1008, 0);
        (shared.order, exclusive.order) = (1, 0);
        let wait = raw(0, Operation::FutexWait, 2, 0x1000, 0);
        let wake = raw(0, Operation::FutexWake, 2, 0x1000, 0);
        check(
            vec![shared, exclusive, wait, wake],
            "thread
             static path \"S\"
             lock step acquire mode shared site 1
             lock step release offset 8 mode exclusive site 1
             wait site 2
             send-wake site 2",
        );
    }

    #[test]
    fn odd_recordings_are_survived() {
        let mut odd = raw(9, Operation::Unknown, 999, u64::MAX, u64::MAX);
        let mut events = Vec::new();
        for operation in 0..40 {
            odd.operation = operation;
            events.push(odd);
        }
        let recording = RawRecording {
            events,
            ..RawRecording::default()
        };
        let trace = name(&recording, &Fake, "b", "t");
        assert_eq!(trace.events.len(), 40);
        assert_eq!(text::parse(&text::write(&trace)), Ok(trace));
    }
}
