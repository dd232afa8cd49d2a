//! Stores that do not publish: the flag by which one thread tells another that its data are there.

use raddle_abi::hooks::order;
use raddle_abi::record::RawEvent;
use raddle_abi::site::Operation;
use raddle_trace::runner::{RawRecording, RawStep};

use super::locate::Locator;
use super::{in_words, thread_in_words};

/// A store that another thread has read, and the load.
struct Read {
    store: usize,
    load: usize,
}

/// The events by which a race is not ordered though one thread has told the other: the store that does not
/// release, the load that does not acquire, or both.
pub(super) fn too_weak<'a>(
    recording: &'a RawRecording,
    later: &RawStep,
    earlier: &RawStep,
) -> Option<Vec<&'a RawEvent>> {
    let events = &recording.events;
    let last = access(&events[..], later)?;
    let first = access(&events[..last], earlier)?;
    let read = read_between(events, first, last)?;
    let (store, load) = (&events[read.store], &events[read.load]);
    let releases = order::releases(u32::from(store.order));
    let acquires = order::acquires(u32::from(load.order));
    let weak: Vec<_> = [(store, releases), (load, acquires)]
        .into_iter()
        .filter_map(|(event, is_enough)| (!is_enough).then_some(event))
        .collect();
    (!weak.is_empty()).then_some(weak)
}

/// The store behind the earlier access of a race that the thread of the later one read before it, if one of
/// the two is too weak, in a sentence; with both events.
pub(super) fn tell(
    locator: &mut Locator,
    recording: &RawRecording,
    later: &RawStep,
    earlier: &RawStep,
) -> Option<(String, [usize; 2])> {
    let events = &recording.events;
    let last = access(&events[..], later)?;
    let first = access(&events[..last], earlier)?;
    let read = read_between(events, first, last)?;
    let (store, load) = (&events[read.store], &events[read.load]);
    let (releases, acquires) = (
        order::releases(u32::from(store.order)),
        order::acquires(u32::from(load.order)),
    );
    let mut place = |event: &RawEvent| {
        let located = locator.locate(event.site, recording.stack(event));
        in_words(&located.place(true))
    };
    let (stored, loaded) = (place(store), place(load));
    let (writer, reader) = (thread_in_words(store.thread), thread_in_words(load.thread));
    let sentence = match (releases, acquires) {
        (false, true) => format!(
            "The store by {writer} at {stored} is `Relaxed`, so it does not publish what {writer} did before; \
             {reader} reads it at {loaded}. It has to be `Release`."
        ),
        (false, false) => format!(
            "The store by {writer} at {stored} is `Relaxed`, so it does not publish what {writer} did before, and \
             the load by {reader} at {loaded} is `Relaxed` too. They have to be `Release` and `Acquire`."
        ),
        (true, false) => format!(
            "The load by {reader} at {loaded} is `Relaxed`, so it does not see what the store by {writer} at \
             {stored} publishes. It has to be `Acquire`."
        ),
        (true, true) => return None,
    };
    Some((sentence, [read.store, read.load]))
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
    let is = |at: usize, operation: Operation| events[at].operation == operation as u16;
    let writes = |at: usize| is(at, Operation::AtomicStore) || is(at, Operation::AtomicRmw);
    (first..last).rev().find_map(|load| {
        if events[load].thread != reader || !is(load, Operation::AtomicLoad) {
            return None;
        }
        let store =
            (first..load).rfind(|&at| writes(at) && events[at].address == events[load].address)?;
        let is_read = events[store].thread == writer
            && is(store, Operation::AtomicStore)
            && events[store].value == events[load].value;
        is_read.then_some(Read { store, load })
    })
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
        // It read an older value.
        events[2].value = 0;
        assert!(read_between(&events, 0, 3).is_none());
        // A third thread's store.
        events[2].value = 1;
        events[1].thread = 3;
        assert!(read_between(&events, 0, 3).is_none());
    }
}
