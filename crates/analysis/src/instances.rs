//! Which atomic set and which of its places a byte of memory belongs to.
//!
//! Instances are known by the pointers that functions got, by the `Box`, `Arc` or `Rc` that was made of
//! them, and by variables ([`Action::Typed`]). A heap block or a
//! static has its types all the time; the frames of a stack have those that were seen last. The
//! statics of one module, or of one file of C, that no type explains form one set, in pieces as they
//! were accessed.
//!
//! What the standard library's owners keep behind a pointer belongs to the set that they are in
//! (`instances/owned.rs`).
//!
//! Limit: a block that none of these tells the type of is in no set.
//!
//! [`Action::Typed`]: raddle_trace::event::Action::Typed

mod owned;

use crate::leaves::{Layout, Layouts, OUTSIDE};
use crate::type_names::{base, is_foreign_static, parent};
use raddle_trace::event::{Location, ObjectId, ObjectName, Trace, TypeIndex};
use raddle_trace::program_map::ProgramMap;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

pub use owned::Behind;
use owned::{OWNED, Owned};

/// Number of an atomic set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub u32);

/// Number of a place that is in an atomic set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceId(pub u32);

/// Number of what units of work are declared on: a type without its generic arguments, or the
/// statics of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BaseId(pub u32);

/// An atomic set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Where its instance begins; the statics of a module have none.
    pub location: Option<Location>,
    /// Full name of the type, or of the module.
    pub name: Rc<str>,
    /// What units are declared on.
    pub base: BaseId,
}

/// A place in an atomic set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The set.
    pub set: SetId,
    /// Where it begins.
    pub location: Location,
    /// Bytes.
    pub size: u64,
    /// Whether some of its bytes may mean nothing (see [`Leaf`](crate::leaves::Leaf)).
    pub is_ragged: bool,
}

/// A row of places in an object.
#[derive(Clone, Debug)]
struct Row {
    start: u64,
    end: u64,
    stride: u64,
    first: PlaceId,
}

/// An instance in an object.
#[derive(Clone, Debug)]
struct Placed {
    start: u64,
    type_index: TypeIndex,
    layout: Rc<Layout>,
}

impl Placed {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.layout.size)
    }
}

#[derive(Clone, Debug, Default)]
struct Object {
    instances: Vec<Placed>,
    /// By ascending start.
    rows: Vec<Row>,
    /// Whose it is, if a pointer owns it.
    owned: Option<Owned>,
    /// What its places were seen to point to, in order.
    pointers: Vec<(u64, Location)>,
    /// Whether it is a block that was freed.
    is_freed: bool,
}

/// See the module's description.
pub struct Instances<'a> {
    trace: &'a Trace,
    layouts: Layouts<'a>,
    objects: Vec<Object>,
    sets: Vec<Set>,
    set_ids: HashMap<(Option<Location>, Rc<str>), SetId>,
    places: Vec<Place>,
    place_ids: HashMap<(Location, SetId, u64), PlaceId>,
    bases: Vec<String>,
    base_ids: HashMap<String, BaseId>,
}

/// The name of what functions of a module's types, or of a file of C, are declared on for its statics.
pub fn statics_of(module: &str) -> String {
    format!("static {module}")
}

impl<'a> Instances<'a> {
    /// Nothing is known about the objects of a trace.
    pub fn new(trace: &'a Trace, map: &'a ProgramMap) -> Self {
        Self {
            trace,
            layouts: Layouts::new(map),
            objects: vec![Object::default(); trace.objects.len()],
            sets: Vec::new(),
            set_ids: HashMap::new(),
            places: Vec::new(),
            place_ids: HashMap::new(),
            bases: Vec::new(),
            base_ids: HashMap::new(),
        }
    }

    /// Whether an object's types may change while it lives.
    pub fn is_reused(&self, object: ObjectId) -> bool {
        matches!(
            self.trace.objects.get(object.0 as usize),
            Some(ObjectName::Stack { .. })
        )
    }

    /// Forgets the types of what is reused, as before the first event.
    pub fn forget_reused(&mut self) {
        for index in 0..self.objects.len() {
            if self.is_reused(ObjectId(index as u32)) {
                self.objects[index] = Object::default();
            }
        }
    }

    /// An instance of a type was seen.
    pub fn add(&mut self, location: Location, type_index: TypeIndex) {
        let index = location.object.0 as usize;
        let start = location.offset;
        let instances = &self.objects[index].instances;
        if instances
            .iter()
            .any(|placed| placed.start == start && placed.type_index == type_index)
        {
            return;
        }
        let name = &self.trace.types[type_index.0 as usize];
        let layout = self.layouts.layout(name);
        if layout.leaves.is_empty() && layout.conditions.is_empty() {
            return;
        }
        let new = Placed {
            start,
            type_index,
            layout,
        };
        let contains = |outer: &Placed, inner: &Placed| {
            let name = self.trace.types[inner.type_index.0 as usize].as_str();
            let place = inner.start.checked_sub(outer.start);
            place.is_some_and(|place| outer.layout.parts.contains(&(place, name.into())))
        };
        if instances.iter().any(|placed| contains(placed, &new)) {
            return;
        }
        // What overlaps is a part of the new one, or gone.
        self.objects[index]
            .instances
            .retain(|old| old.end() <= new.start || old.start >= new.end());
        self.objects[index].instances.push(new);
        self.lay_out(location.object);
    }

    /// Makes the rows of an object anew from its instances.
    fn lay_out(&mut self, object: ObjectId) {
        let instances = self.objects[object.0 as usize].instances.clone();
        let mut rows = Vec::new();
        for placed in &instances {
            for leaf in &placed.layout.leaves {
                let owner = &placed.layout.owners[leaf.owner as usize];
                let at = |offset: u64| Location {
                    object,
                    offset: placed.start.saturating_add(offset),
                };
                let set = match placed.type_index == OWNED && leaf.owner == OUTSIDE {
                    true => self.outside(object),
                    false => Some(self.set(Some(at(owner.offset)), &owner.type_name)),
                };
                let Some(set) = set else { continue };
                let (start, end) = (at(leaf.start), at(leaf.end));
                rows.push(self.row(start, end.offset, leaf.stride, set, leaf.is_ragged));
            }
        }
        rows.sort_unstable_by_key(|row| row.start);
        self.objects[object.0 as usize].rows = rows;
    }

    /// A static that no type explains, taken apart at these offsets; of a file, if it is of C.
    pub fn add_static(
        &mut self,
        object: ObjectId,
        file: Option<&str>,
        borders: &BTreeSet<u64>,
        locks: &HashSet<u64>,
    ) {
        let Some(ObjectName::Static { path }) = self.trace.objects.get(object.0 as usize) else {
            return;
        };
        if is_foreign_static(path) {
            return;
        }
        let name = statics_of(file.unwrap_or(parent(path)));
        let set = self.set(None, &name.into());
        let mut rows = std::mem::take(&mut self.objects[object.0 as usize].rows);
        let known: Vec<_> = rows.iter().map(|row| (row.start, row.end)).collect();
        for (start, end) in borders.iter().zip(borders.iter().skip(1)) {
            let is_known = known.iter().any(|(from, to)| start < to && end > from);
            if !is_known && !locks.contains(start) {
                let location = Location {
                    object,
                    offset: *start,
                };
                rows.push(self.row(location, *end, end - start, set, end - start > 8));
            }
        }
        rows.sort_unstable_by_key(|row| row.start);
        self.objects[object.0 as usize].rows = rows;
    }

    fn row(&mut self, start: Location, end: u64, stride: u64, set: SetId, is_ragged: bool) -> Row {
        let places = &mut self.places;
        let first = *self.place_ids.entry((start, set, end)).or_insert_with(|| {
            let first = PlaceId(places.len() as u32);
            let count = (end - start.offset).div_ceil(stride.max(1));
            places.extend((0..count).map(|index| Place {
                set,
                location: Location {
                    object: start.object,
                    offset: start.offset + index * stride,
                },
                size: stride,
                is_ragged,
            }));
            first
        });
        Row {
            start: start.offset,
            end,
            stride: stride.max(1),
            first,
        }
    }

    fn set(&mut self, location: Option<Location>, name: &Rc<str>) -> SetId {
        let key = (location, Rc::clone(name));
        if let Some(&known) = self.set_ids.get(&key) {
            return known;
        }
        let base = self.base(&base(name));
        self.sets.push(Set {
            location,
            name: Rc::clone(name),
            base,
        });
        let id = SetId(self.sets.len() as u32 - 1);
        self.set_ids.insert(key, id);
        id
    }

    /// The number of a type's name without generic arguments, or of a module's statics.
    pub fn base(&mut self, name: &str) -> BaseId {
        if let Some(&known) = self.base_ids.get(name) {
            return known;
        }
        let id = BaseId(self.bases.len() as u32);
        self.bases.push(name.to_owned());
        self.base_ids.insert(name.to_owned(), id);
        id
    }

    /// Calls `found` with each place that an access overlaps.
    #[inline]
    pub fn places_at(&self, location: Location, size: u32, mut found: impl FnMut(PlaceId)) {
        let Some(object) = self.objects.get(location.object.0 as usize) else {
            return;
        };
        let (from, to) = (
            location.offset,
            location.offset.saturating_add(u64::from(size.max(1))),
        );
        let first = object.rows.partition_point(|row| row.end <= from);
        for row in &object.rows[first..] {
            if row.start >= to {
                break;
            }
            let begin = from.saturating_sub(row.start) / row.stride;
            let end = (to.min(row.end) - row.start).div_ceil(row.stride);
            for index in begin..end {
                found(PlaceId(row.first.0 + index as u32));
            }
        }
    }

    /// Whether a load from here is the beginning of a wait.
    #[inline]
    pub fn is_condition(&self, location: Location) -> bool {
        let object = self.objects.get(location.object.0 as usize);
        object.is_some_and(|object| {
            object.instances.iter().any(|placed| {
                let offset = location.offset.checked_sub(placed.start);
                let conditions = &placed.layout.conditions;
                offset.is_some_and(|offset| {
                    conditions
                        .iter()
                        .any(|(from, to)| (*from..*to).contains(&offset))
                })
            })
        })
    }

    /// A place.
    pub fn place(&self, id: PlaceId) -> &Place {
        &self.places[id.0 as usize]
    }

    /// Number of places that have been seen.
    pub fn place_count(&self) -> usize {
        self.places.len()
    }

    /// A set.
    pub fn of(&self, id: SetId) -> &Set {
        &self.sets[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::map;

    const TYPES: &str = "
        alloc::sync::ArcInner<a::Pair<u8>> 40 strong usize 0 8, weak usize 8 8, data a::Pair<u8> 16 16
        a::Pair<u8> 16 x u64 0 8, y u64 8 8
        a::Other 8 z u64 0 8";

    fn trace() -> Trace {
        let static_ = |path: &str| ObjectName::Static { path: path.into() };
        Trace {
            objects: vec![static_("a::S"), static_("a::T"), static_("std::U")],
            types: vec![
                "alloc::sync::ArcInner<a::Pair<u8>>".into(),
                "a::Pair<u8>".into(),
                "a::Other".into(),
            ],
            ..Trace::default()
        }
    }

    fn at(object: u32, offset: u64) -> Location {
        Location {
            object: ObjectId(object),
            offset,
        }
    }

    /// Places as `set+offset`.
    fn found(instances: &Instances<'_>, location: Location, size: u32) -> String {
        let mut found = Vec::new();
        instances.places_at(location, size, |id| {
            let place = instances.place(id);
            let set = instances.of(place.set);
            let begin = set.location.map_or(0, |location| location.offset);
            found.push(format!("{}+{}", set.name, place.location.offset - begin));
        });
        found.join(" ")
    }

    #[test]
    fn inner_and_outer_views_of_an_instance_agree() {
        let (trace, map) = (trace(), map(TYPES, ""));
        for order in [[0_u32, 1], [1, 0]] {
            let mut instances = Instances::new(&trace, &map);
            for index in order {
                let offset = if index == 0 { 0 } else { 16 };
                instances.add(at(0, offset), TypeIndex(index));
            }
            assert_eq!(found(&instances, at(0, 0), 16), "");
            assert_eq!(
                found(&instances, at(0, 20), 8),
                "a::Pair<u8>+0 a::Pair<u8>+8"
            );
            assert_eq!(instances.sets.len(), 1);
        }
    }

    #[test]
    fn two_instances_of_a_type_are_two_sets_of_one_base() {
        let (trace, map) = (trace(), map(TYPES, ""));
        let mut instances = Instances::new(&trace, &map);
        instances.add(at(0, 0), TypeIndex(1));
        instances.add(at(0, 16), TypeIndex(1));
        let bases: Vec<_> = instances.sets.iter().map(|set| set.base).collect();
        assert_eq!(bases, [BaseId(0), BaseId(0)]);
        assert_eq!(instances.bases, ["a::Pair"]);
    }

    #[test]
    fn what_was_seen_last_counts() {
        let (trace, map) = (trace(), map(TYPES, ""));
        let mut instances = Instances::new(&trace, &map);
        instances.add(at(0, 0), TypeIndex(1));
        instances.add(at(0, 8), TypeIndex(2));
        assert_eq!(found(&instances, at(0, 0), 16), "a::Other+0");
    }

    #[test]
    fn statics_of_a_module_are_one_set_without_locks_and_foreign_ones() {
        let (trace, map) = (trace(), map(TYPES, ""));
        let mut instances = Instances::new(&trace, &map);
        for object in 0..3 {
            let borders = BTreeSet::from([0, 4, 8, 16]);
            instances.add_static(ObjectId(object), None, &borders, &HashSet::from([0]));
        }
        assert_eq!(found(&instances, at(0, 0), 16), "static a+4 static a+8");
        assert_eq!(found(&instances, at(1, 9), 1), "static a+8");
        assert_eq!(found(&instances, at(2, 8), 8), "");
        assert_eq!(instances.sets.len(), 1);
    }
}
