//! What accesses of a trace read and wrote, place by place.
//!
//! A wide access touches several places, and its values follow it word by word. Bytes that may mean
//! nothing (the payload of an enum that has none, padding) have no value here: two executions may
//! leave different rubbish there.

use crate::instances::Place;
use raddle_trace::event::{Access, Action, Location, Trace};

/// The value of a place that the access at `at` in a trace read or wrote; of a read-modify-write
/// what it read. `None` if it is not known.
pub fn value(trace: &Trace, at: u32, place: &Place) -> Option<u64> {
    let event = trace.events.get(at as usize)?;
    let Action::Access {
        location,
        size,
        value,
        ..
    } = event.action
    else {
        return None;
    };
    if size <= 8 {
        return part(location, size, value, place);
    }
    let words = trace.events[at as usize + 1..]
        .iter()
        .take_while(|next| next.thread == event.thread);
    let words = words.filter(|next| !matches!(next.action, Action::Points { .. }));
    let mut words = words.map_while(|next| match next.action {
        Action::Value {
            location,
            size,
            value,
        } => Some((location, size, value)),
        _ => None,
    });
    // In a wide access an enum is copied with all its bytes.
    words
        .find_map(|(location, size, value)| part(location, size, value, place))
        .filter(|_| !place.is_ragged)
}

/// The part of up to eight bytes that a place is, or that is in a place.
fn part(location: Location, size: u32, value: u64, place: &Place) -> Option<u64> {
    let (from, to) = (location.offset, location.offset + u64::from(size));
    let (start, end) = (place.location.offset, place.location.offset + place.size);
    if location.object != place.location.object {
        return None;
    }
    let is_covered = from <= start && end <= to;
    let is_inside = start <= from && to <= end;
    match (is_covered, is_inside) {
        (true, _) if place.is_ragged => None,
        (true, _) => Some(value >> (8 * (start - from)) & mask(place.size)),
        (false, true) => Some(value & mask(size.into())),
        (false, false) => None,
    }
}

fn mask(bytes: u64) -> u64 {
    match bytes {
        0..8 => (1 << (8 * bytes)) - 1,
        _ => u64::MAX,
    }
}

/// Whether what an access leaves at a place is what [`value`] says.
pub fn is_left(access: Access) -> bool {
    access != Access::AtomicRmw
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instances::SetId;
    use crate::testing::scene;
    use raddle_trace::event::ObjectId;

    fn place(offset: u64, size: u64, is_ragged: bool) -> Place {
        Place {
            set: SetId(0),
            location: Location {
                object: ObjectId(0),
                offset,
            },
            size,
            is_ragged,
        }
    }

    #[test]
    fn a_place_has_its_part_of_an_access() {
        let (trace, _) = scene(
            "access thread 1 kind read object 0 size 8 value 1311768467463790320
             access thread 1 kind read object 0 size 16 value 99
             value thread 1 object 0 size 8 value 7
             points thread 1 object 0 target 5
             value thread 1 object 0 offset 8 size 8 value 8
             access thread 1 kind read object 0 offset 8 size 1 value 3",
        );
        let at = crate::testing::BEFORE as u32;
        let read = |index: u32, place: Place| value(&trace, at + index, &place);
        assert_eq!(read(0, place(0, 8, false)), Some(0x1234_5678_9abc_def0));
        assert_eq!(read(0, place(2, 2, false)), Some(0x9abc_def0_u64 >> 16));
        assert_eq!(read(0, place(6, 4, false)), None, "half of it is not known");
        assert_eq!(
            read(0, place(0, 8, true)),
            None,
            "some bytes may be rubbish"
        );
        assert_eq!(read(1, place(8, 8, false)), Some(8));
        assert_eq!(read(1, place(8, 8, true)), None);
        assert_eq!(
            read(5, place(8, 8, true)),
            Some(3),
            "its tag, or its payload"
        );
    }
}
