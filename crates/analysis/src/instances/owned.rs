//! Blocks that belong to the set of whoever points to them: buffers, boxes, tables.
//!
//! An owner inside of an instance (a `Vec`, a `Box`) that holds a pointer to a block has it for the
//! instance's set, and what the block holds pointers to in turn, if these are owners too. A block
//! that was seen in a variable and elsewhere was moved out of the variable. One that two instances have
//! held belongs to neither, unless both may: what several handles of one type share (`Arc`) is a set of its
//! own, on which the functions of the handles are units of work.

use super::{Instances, Placed, SetId};
use crate::leaves::{Block, OUTSIDE};
use crate::pointees::Pointee;
use raddle_trace::event::{Location, ObjectId, ObjectName, TypeIndex};
use std::rc::Rc;

/// Blocks that hold blocks in turn, at most.
const MAX_DEPTH: u32 = 8;

/// In place of the type of what has none but for its owner.
pub(super) const OWNED: TypeIndex = TypeIndex(u32::MAX);

/// Whose a block is.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    /// The set; none if two claim it.
    set: Option<SetId>,
    /// The owner that points to it.
    holder: Location,
    /// The same, in bytes from the beginning of the instance that it is in.
    field: u64,
    /// Whether a variable's.
    is_variable: bool,
    block: Rc<Block>,
}

/// An owner in an object.
struct Held {
    set: Option<SetId>,
    holder: Location,
    field: u64,
    pointee: Pointee,
}

/// Where in an instance a place is that is behind pointers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Behind {
    /// The owner in the instance itself, in bytes from the instance's beginning.
    pub holder: u64,
    /// Which element, of each block on the way that has several.
    pub elements: Vec<u64>,
    /// Bytes from the beginning of that.
    pub inside: u64,
}

impl Instances<'_> {
    /// A place holds a pointer into a block.
    pub fn point(&mut self, location: Location, target: Location) {
        let is_reused = self.is_reused(location.object);
        let pointers = &mut self.objects[location.object.0 as usize].pointers;
        if is_reused {
            pointers.retain(|(offset, _)| *offset != location.offset);
        }
        pointers.push((location.offset, target));
    }

    /// A block is no more: what variables still hold of it is stale.
    pub fn free(&mut self, object: ObjectId) {
        self.objects[object.0 as usize].is_freed = true;
    }

    /// Joins what a variable's pointers lead to, with the type that it has now.
    pub fn join_variable(&mut self, object: ObjectId) {
        let objects = &self.objects;
        let mut pointers = objects[object.0 as usize].pointers.clone();
        pointers.retain(|(_, target)| !objects[target.object.0 as usize].is_freed);
        self.objects[object.0 as usize].pointers = pointers;
        self.join_at(object, 0);
    }

    /// Joins what pointers outside of variables lead to, now that all types are known.
    pub fn join_all(&mut self) {
        for index in 0..self.objects.len() {
            self.join_at(ObjectId(index as u32), 0);
        }
    }

    fn join_at(&mut self, object: ObjectId, depth: u32) {
        if depth >= MAX_DEPTH {
            return;
        }
        let pointers = self.objects[object.0 as usize].pointers.clone();
        for (offset, target) in pointers {
            if target.object != object {
                self.join(Location { object, offset }, target, depth);
            }
        }
    }

    /// Joins a block to the set of an owner that points to it, if there is one at this place.
    fn join(&mut self, location: Location, target: Location, depth: u32) {
        let Some(Held {
            set,
            holder,
            field,
            pointee,
        }) = self.holder_at(location)
        else {
            return;
        };
        let object = target.object;
        let Some(ObjectName::Heap { size, .. }) = self.trace.objects.get(object.0 as usize) else {
            return;
        };
        let Some(block) = self.layouts.block(&pointee, *size, target.offset) else {
            return;
        };
        let claim = Owned {
            set,
            holder,
            field,
            is_variable: self.is_variable(holder),
            block,
        };
        let is_new = match &self.objects[object.0 as usize].owned {
            Some(known) => {
                let known = known.clone();
                self.reclaim(object, known, claim, &pointee)
            }
            None => self.claim(object, claim),
        };
        if is_new {
            self.join_at(object, depth + 1);
        }
    }

    /// The owner that a place belongs to.
    fn holder_at(&mut self, location: Location) -> Option<Held> {
        let Location { object, offset } = location;
        let known = &self.objects[object.0 as usize];
        let found = known.instances.iter().find_map(|placed| {
            let inside = offset.checked_sub(placed.start)?;
            let holders = placed.layout.holders.iter();
            let mut around = holders.filter(|holder| (holder.start..holder.end).contains(&inside));
            let holder = around.next()?.clone();
            Some((placed.start, holder, Rc::clone(&placed.layout)))
        });
        let (start, holder, layout) = found?;
        let at = |offset: u64| Location {
            object,
            offset: start + offset,
        };
        let set = match &known.owned {
            Some(owned) if holder.owner == OUTSIDE => owned.set,
            _ => {
                let owner = &layout.owners[holder.owner as usize];
                Some(self.set(Some(at(owner.offset)), &owner.type_name))
            }
        };
        let begins = layout.owners[holder.owner as usize].offset;
        Some(Held {
            set,
            holder: at(holder.start),
            field: holder.start.saturating_sub(begins),
            pointee: holder.pointee,
        })
    }

    /// Whether an owner is in a variable, or in what a variable owns.
    fn is_variable(&self, holder: Location) -> bool {
        let owned = &self.objects[holder.object.0 as usize].owned;
        self.is_reused(holder.object) || owned.as_ref().is_some_and(|owned| owned.is_variable)
    }

    /// The first claim on a block. False if it contradicts what is known about the block.
    fn claim(&mut self, object: ObjectId, claim: Owned) -> bool {
        let layout = &claim.block.layout;
        let known = &self.objects[object.0 as usize].instances;
        let is_part = |placed: &Placed| {
            let name = self.trace.types[placed.type_index.0 as usize].as_str();
            layout.parts.contains(&(placed.start, name.into()))
        };
        if !known.iter().all(is_part) {
            return false;
        }
        let layout = Rc::clone(layout);
        let known = &mut self.objects[object.0 as usize];
        known.owned = Some(claim);
        known.instances = vec![Placed {
            start: 0,
            type_index: OWNED,
            layout,
        }];
        self.lay_out(object);
        true
    }

    /// Another claim on a block.
    fn reclaim(&mut self, object: ObjectId, known: Owned, claim: Owned, pointee: &Pointee) -> bool {
        let is_alike = Rc::ptr_eq(&known.block, &claim.block);
        if known.set == claim.set || known.set.is_none() || !is_alike {
            return false;
        }
        let new = match (known.is_variable, claim.is_variable, pointee) {
            // Its owner is another one's now.
            _ if known.holder == claim.holder && !self.is_own(object, known.set) => claim,
            (_, _, Pointee::Shared(_)) => {
                let owner = Location { object, offset: 0 };
                let base = |set: Option<SetId>| set.map(|set| self.of(set).base);
                let is_alike = base(known.set) == base(claim.set);
                let name = claim.set.map(|set| Rc::clone(&self.of(set).name));
                let set = name
                    .filter(|_| is_alike)
                    .map(|name| self.set(Some(owner), &name));
                Owned { set, ..claim }
            }
            (true, _, _) => claim,
            (false, true, _) => return false,
            (false, false, _) => Owned { set: None, ..claim },
        };
        if new.set == known.set {
            return false;
        }
        self.objects[object.0 as usize].owned = Some(new);
        self.lay_out(object);
        true
    }

    /// Whether a set is that of a block which handles share.
    fn is_own(&self, object: ObjectId, set: Option<SetId>) -> bool {
        let location = set.and_then(|set| self.of(set).location);
        location.is_some_and(|location| location.object == object)
    }

    /// The set that a block's places belong to that are nobody's in particular.
    pub(super) fn outside(&self, object: ObjectId) -> Option<SetId> {
        let owned = self.objects[object.0 as usize].owned.as_ref();
        owned.and_then(|owned| owned.set)
    }

    /// Where a place of a set is, if it is behind pointers of its instance.
    pub fn behind(&self, location: Location, set: SetId) -> Option<Behind> {
        let instance = self.of(set).location?;
        let mut elements = Vec::new();
        let mut inside = None;
        let mut place = location;
        // A damaged trace may have blocks that own each other.
        for _ in 0..MAX_DEPTH {
            let owned = self.objects.get(place.object.0 as usize)?.owned.as_ref();
            let Some(owned) = owned.filter(|owned| owned.set == Some(set)) else {
                break;
            };
            let (begins, stride, count) = owned.block.element;
            let from = place.offset.checked_sub(begins)?;
            if count > 1 {
                elements.insert(0, from / stride);
            }
            inside.get_or_insert(from % stride);
            if place.object == instance.object {
                // The handles that share it are elsewhere.
                return Some(Behind {
                    holder: owned.field,
                    elements,
                    inside: inside?,
                });
            }
            place = owned.holder;
        }
        let holder = place.offset.checked_sub(instance.offset)?;
        Some(Behind {
            holder,
            elements,
            inside: inside?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::map;
    use raddle_trace::event::{ThreadId, Trace};
    use raddle_trace::program_map::ProgramMap;

    const TYPES: &str = "
        a::List 32 items alloc::vec::Vec<u64, alloc::alloc::Global> 0 24, hits u64 24 8
        alloc::vec::Vec<u64, alloc::alloc::Global> 24 cap usize 0 8, ptr usize 8 8, len usize 16 8
        a::Deep 24 rows alloc::vec::Vec<alloc::vec::Vec<u64, alloc::alloc::Global>, alloc::alloc::Global> 0 24
        alloc::vec::Vec<alloc::vec::Vec<u64, alloc::alloc::Global>, alloc::alloc::Global> 24 \
            cap usize 0 8, ptr usize 8 8, len usize 16 8
        a::Handle 8 shared alloc::sync::Arc<u64, alloc::alloc::Global> 0 8
        alloc::sync::Arc<u64, alloc::alloc::Global> 8 ptr usize 0 8
        alloc::sync::ArcInner<u64> 24 strong usize 0 8, weak usize 8 8, data u64 16 8
        a::Table 16 table hashbrown::raw::RawTable<(u64, u64), alloc::alloc::Global> 0 16
        hashbrown::raw::RawTable<(u64, u64), alloc::alloc::Global> 16 ctrl usize 0 8, items usize 8 8
        (u64, u64) 16 __0 u64 0 8, __1 u64 8 8";

    /// Objects 0 to 3 are blocks of 64 bytes, object 4 is a variable.
    fn trace() -> Trace {
        let heap = |occurrence| ObjectName::Heap {
            site_key: 1,
            thread: ThreadId(0),
            occurrence,
            size: 64,
            context: 0,
            function: String::new(),
        };
        let mut objects: Vec<_> = (0..4).map(heap).collect();
        objects.push(ObjectName::Stack {
            function: "f".into(),
            variable: "v".into(),
            context: 0,
            thread: ThreadId(0),
            occurrence: 0,
        });
        let types = ["a::List", "a::Deep", "a::Handle", "a::Table"];
        Trace {
            objects,
            types: types.map(str::to_owned).to_vec(),
            ..Trace::default()
        }
    }

    fn at(object: u32, offset: u64) -> Location {
        Location {
            object: ObjectId(object),
            offset,
        }
    }

    /// What is at the places of a block of 64 bytes, as `set@object` and how it is reached.
    fn check(typed: &[(Location, u32)], pointers: &[(Location, Location)], expected: &str) {
        let (trace, map): (Trace, ProgramMap) = (trace(), map(TYPES, ""));
        let mut instances = Instances::new(&trace, &map);
        for (location, index) in typed {
            instances.add(*location, TypeIndex(*index));
        }
        for (from, to) in pointers {
            instances.point(*from, *to);
        }
        instances.join_all();
        instances.join_variable(ObjectId(4));
        let mut found = Vec::new();
        instances.places_at(at(3, 0), 24, |id| {
            let place = instances.place(id);
            let set = instances.of(place.set);
            let instance = set.location.expect("an instance");
            let behind = instances.behind(place.location, place.set);
            let reached = behind.map_or_else(String::new, |behind| {
                format!(" {}{:?}{}", behind.holder, behind.elements, behind.inside)
            });
            found.push(format!("{}@{}{reached}", set.name, instance.object.0));
        });
        assert_eq!(found.join(", "), expected);
    }

    #[test]
    fn a_buffer_belongs_to_the_instance_that_holds_it() {
        let items = "a::List@0 0[0]0, a::List@0 0[1]0, a::List@0 0[2]0";
        check(&[(at(0, 0), 0)], &[(at(0, 8), at(3, 0))], items);
        // What is no owner's pointer joins nothing, and neither does one into the middle.
        check(&[(at(0, 0), 0)], &[(at(0, 24), at(3, 0))], "");
        check(&[(at(0, 0), 0)], &[(at(0, 8), at(3, 8))], "");
    }

    #[test]
    fn what_a_block_owns_belongs_to_its_owner() {
        check(
            &[(at(0, 0), 1)],
            &[(at(0, 8), at(1, 0)), (at(1, 32), at(3, 0))],
            "a::Deep@0 0[1, 0]0, a::Deep@0 0[1, 1]0, a::Deep@0 0[1, 2]0",
        );
    }

    #[test]
    fn a_block_that_two_have_held_belongs_to_neither() {
        let lists = [(at(0, 0), 0), (at(1, 0), 0)];
        let pointers = [(at(0, 8), at(3, 0)), (at(1, 8), at(3, 0))];
        check(&lists, &pointers, "");
    }

    #[test]
    fn what_was_moved_out_of_a_variable_is_where_it_was_moved_to() {
        let lists = [(at(0, 0), 0), (at(4, 0), 0)];
        let pointers = [(at(0, 8), at(3, 0)), (at(4, 8), at(3, 0))];
        let items = "a::List@0 0[0]0, a::List@0 0[1]0, a::List@0 0[2]0";
        check(&lists, &pointers, items);
        let [one, other] = pointers;
        check(&lists, &[other, one], items);
    }

    #[test]
    fn what_handles_share_is_a_set_of_its_own() {
        let handles = [(at(0, 0), 2), (at(4, 0), 2)];
        let pointers = [(at(0, 0), at(3, 0)), (at(4, 0), at(3, 0))];
        check(&handles, &pointers, "a::Handle@3 0[]16");
        check(&handles[..1], &pointers[..1], "a::Handle@0 0[]16");
    }

    #[test]
    fn tables_have_their_elements_below_what_they_point_to() {
        check(
            &[(at(0, 0), 3)],
            &[(at(0, 0), at(3, 16))],
            "a::Table@0 0[]0, a::Table@0 0[]8",
        );
    }
}
