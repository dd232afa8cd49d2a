//! Stores that do not publish: the flag by which one thread tells another that its data are there.
//!
//! The store may be an update, such as a compare-exchange that adds a node to a list, and so may the load. Updates by
//! other threads in between belong to the release sequence of the store. A fence does what a stronger order would do.
//! Two relaxed updates of a counter say nothing about other data, and are no pair, unless the memory is freed.

use raddle_abi::hooks::order;
use raddle_abi::record::{RawEvent, flags};
use raddle_abi::site::Operation;
use raddle_trace::runner::{RawRecording, RawStep};

use super::locate::Locator;
use super::{in_words, thread_in_words};

/// A store that another thread has read, and the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    store: usize,
    load: usize,
    /// Whether what the writer did before the store is released with it.
    releases: bool,
    /// Whether the reader sees that.
    acquires: bool,
}

/// The events by which a race is not ordered though one thread has told the other: the store that does not
/// release, the load that does not acquire, or both.
pub(super) fn too_weak<'a>(
    recording: &'a RawRecording,
    later: &RawStep,
    earlier: &RawStep,
) -> Option<Vec<&'a RawEvent>> {
    let events = &recording.events;
    let read = weak_read(recording, later, earlier)?;
    let weak: Vec<_> = [(read.store, read.releases), (read.load, read.acquires)]
        .into_iter()
        .filter_map(|(at, is_enough)| (!is_enough).then_some(&events[at]))
        .collect();
    Some(weak)
}

/// The store behind the earlier access of a race that the thread of the later one read before it, if one of
/// the two is too weak, in a sentence; with both events.
pub(super) fn tell(
    locator: &mut Locator,
    recording: &RawRecording,
    later: &RawStep,
    earlier: &RawStep,
) -> Option<(String, [usize; 2])> {
    let read = weak_read(recording, later, earlier)?;
    let (store, load) = (&recording.events[read.store], &recording.events[read.load]);
    let mut place = |event: &RawEvent| {
        let located = locator.locate(event.site, recording.stack(event));
        in_words(&located.place(true))
    };
    let (stored, loaded) = (place(store), place(load));
    let (writer, reader) = (thread_in_words(store.thread), thread_in_words(load.thread));
    let (write, look) = (noun(store), noun(load));
    let (store_order, load_order) = (in_code(store), in_code(load));
    let release = match order::acquires(u32::from(store.order)) {
        true => "`AcqRel`",
        false => "`Release`",
    };
    let acquire = match order::releases(u32::from(load.order)) {
        true => "`AcqRel`",
        false => "`Acquire`",
    };
    let sentence = match (read.releases, read.acquires) {
        (false, false) if store.site == load.site => format!(
            "The {write} at {stored} is {store_order}: it does not publish what {writer} did before, and {reader}, \
             which reads it there, does not see that. The {write} has to be `AcqRel`."
        ),
        (false, false) => format!(
            "The {write} by {writer} at {stored} is {store_order}, so it does not publish what {writer} did before, \
             and the {look} by {reader} at {loaded} is {load_order} too. They have to be {release} and {acquire}."
        ),
        (false, true) => format!(
            "The {write} by {writer} at {stored} is {store_order}, so it does not publish what {writer} did before; \
             {reader} reads it at {loaded}. The {write} has to be {release}."
        ),
        (true, _) => format!(
            "The {look} by {reader} at {loaded} is {load_order}, so it does not see what the {write} by {writer} at \
             {stored} publishes. The {look} has to be {acquire}."
        ),
    };
    Some((sentence, [read.store, read.load]))
}

/// What people call an atomic access.
fn noun(event: &RawEvent) -> &'static str {
    match Operation::from_number(event.operation) {
        Some(Operation::AtomicStore) => "store",
        Some(Operation::AtomicRmw) => "update",
        Some(Operation::AtomicCas) => "failed compare-exchange",
        _ => "load",
    }
}

/// The order of an atomic access, as it stands in the source.
fn in_code(event: &RawEvent) -> &'static str {
    match u32::from(event.order) {
        order::ACQUIRE => "`Acquire`",
        order::RELEASE => "`Release`",
        _ => "`Relaxed`",
    }
}

/// The last pair of a store and a load between the two accesses of a race, if it does not order them.
fn weak_read(recording: &RawRecording, later: &RawStep, earlier: &RawStep) -> Option<Read> {
    let events = &recording.events;
    let last = access(&events[..], later)?;
    let first = access(&events[..last], earlier)?;
    let read = read_between(events, first, last)?;
    (!read.releases || !read.acquires).then_some(read)
}

/// The last event that is an access, or is at least at its site: the address of an earlier one is known
/// to eight bytes only.
fn access(events: &[RawEvent], step: &RawStep) -> Option<usize> {
    let is_at = |event: &RawEvent| event.thread == step.thread && event.site == step.site;
    let touches = |event: &RawEvent| {
        let end = event.address.saturating_add(u64::from(event.len.max(1)));
        is_at(event) && (event.address..end).contains(&step.address)
    };
    let exact = events.iter().rposition(touches);
    exact.or_else(|| events.iter().rposition(is_at))
}

/// The last load by the thread of `last` that read a store which the thread of `first` made behind it.
fn read_between(events: &[RawEvent], first: usize, last: usize) -> Option<Read> {
    let (writer, reader) = (events[first].thread, events[last].thread);
    let frees = [first, last]
        .into_iter()
        .any(|at| is(&events[at], Operation::Free));
    (first..last).rev().find_map(|load| {
        if events[load].thread != reader || !reads(&events[load]) {
            return None;
        }
        let store = store_of(events, first, load)?;
        let acquires = order::acquires(u32::from(events[load].order))
            || has_fence(&events[load..last], reader, order::acquires);
        let releases = order::releases(u32::from(events[store].order))
            || has_fence(&events[first..store], writer, order::releases);
        let are_updates =
            is(&events[store], Operation::AtomicRmw) && is(&events[load], Operation::AtomicRmw);
        let may_count = are_updates && !frees && !acquires && !releases;
        (!may_count).then_some(Read {
            store,
            load,
            releases,
            acquires,
        })
    })
}

/// The store by the thread of `first`, made from there on, that a load read, or that an update which it read
/// goes back to.
fn store_of(events: &[RawEvent], first: usize, load: usize) -> Option<usize> {
    let mut at = load;
    loop {
        let write = (first..at).rfind(|&earlier| {
            writes(&events[earlier]) && events[earlier].address == events[load].address
        })?;
        let is_store = is(&events[write], Operation::AtomicStore);
        // What an update leaves is not recorded.
        let is_read = match is_store {
            true => events[write].value == events[at].value,
            false => events[at].flags & flags::AGE == 0,
        };
        if !is_read {
            return None;
        }
        if events[write].thread == events[first].thread {
            return Some(write);
        }
        if is_store {
            return None;
        }
        at = write;
    }
}

/// Whether a thread passed a fence of such an order.
fn has_fence(events: &[RawEvent], thread: u16, is_enough: fn(u32) -> bool) -> bool {
    events.iter().any(|event| {
        event.thread == thread && is(event, Operation::Fence) && is_enough(u32::from(event.order))
    })
}

fn is(event: &RawEvent, operation: Operation) -> bool {
    event.operation == operation as u16
}

fn writes(event: &RawEvent) -> bool {
    is(event, Operation::AtomicStore) || is(event, Operation::AtomicRmw)
}

fn reads(event: &RawEvent) -> bool {
    let operations = [
        Operation::AtomicLoad,
        Operation::AtomicRmw,
        Operation::AtomicCas,
    ];
    operations.iter().any(|&operation| is(event, operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(thread: u16, operation: Operation, address: u64, value: u64) -> RawEvent {
        RawEvent {
            operation: operation as u16,
            thread,
            site: 1,
            address,
            value,
            len: 8,
            order: 0,
            flags: 0,
            stack: 0,
            point: 0,
        }
    }

    #[test]
    fn only_a_store_that_was_read_may_be_too_weak() {
        use Operation::{AtomicLoad, AtomicStore, Read, Write};
        let mut events = [
            event(1, Write, 64, 7),
            event(1, AtomicStore, 8, 1),
            event(2, AtomicLoad, 8, 1),
            event(2, Read, 64, 7),
        ];
        let read = read_between(&events, 0, 3).unwrap();
        assert_eq!((read.store, read.load), (1, 2));
        assert!(!read.releases && !read.acquires);
        // It read an older value.
        events[2].value = 0;
        assert!(read_between(&events, 0, 3).is_none());
        // A third thread's store.
        events[2].value = 1;
        events[1].thread = 3;
        assert!(read_between(&events, 0, 3).is_none());
    }

    #[test]
    fn an_update_may_be_too_weak_but_two_counts_are_no_pair() {
        use Operation::{AtomicLoad, AtomicRmw, AtomicStore, Free, Read, Write};
        let ordered = |event: RawEvent, order: u32| RawEvent {
            order: order as u16,
            ..event
        };
        // A node is added to a list, and the list is read.
        let mut events = vec![
            event(1, Write, 64, 7),
            event(1, AtomicRmw, 8, 0),
            ordered(event(2, AtomicLoad, 8, 64), order::ACQUIRE),
            event(2, Read, 64, 7),
        ];
        let read = read_between(&events, 0, 3).unwrap();
        assert_eq!((read.store, read.load), (1, 2));
        assert!(!read.releases && read.acquires);
        // A third thread's update in between belongs to the same sequence.
        events.insert(2, event(3, AtomicRmw, 8, 64));
        assert_eq!(read_between(&events, 0, 4).unwrap().store, 1);
        // Its store does not.
        events[2] = event(3, AtomicStore, 8, 64);
        assert!(read_between(&events, 0, 4).is_none());
        // Two threads count something.
        let mut counts = vec![
            event(1, Write, 64, 7),
            event(1, AtomicRmw, 8, 0),
            event(2, AtomicRmw, 8, 1),
            event(2, Read, 64, 7),
        ];
        assert!(read_between(&counts, 0, 3).is_none());
        counts[3] = event(2, Free, 64, 0);
        assert!(read_between(&counts, 0, 3).is_some());
    }

    #[test]
    fn fences_order_what_relaxed_accesses_do_not() {
        use Operation::{AtomicLoad, AtomicStore, Fence, Read, Write};
        let fence = |thread| RawEvent {
            order: order::ACQ_REL as u16,
            ..event(thread, Fence, 0, 0)
        };
        let events = [
            fence(1),
            event(1, Write, 64, 7),
            fence(1),
            event(1, AtomicStore, 8, 1),
            event(2, AtomicLoad, 8, 1),
            fence(2),
            event(2, Read, 64, 7),
        ];
        let read = read_between(&events, 1, 6).unwrap();
        assert!(read.releases && read.acquires);
        let early = [events[0], events[1], events[3], events[4], events[6]];
        let read = read_between(&early, 1, 4).unwrap();
        assert!(!read.releases && !read.acquires);
    }
}
