//! Blocks that belong to the set of whoever points to them: buffers, boxes, tables.
//!
//! An owner inside of an instance (a `Vec`, a `Box`) that holds a pointer to a block has it for the
//! instance's set, and what the block holds pointers to in turn, if these are owners too. A block
//! that was seen in a variable and elsewhere was moved out of the variable. One that two instances have
//! held belongs to neither, unless both may: what several handles of one type share (`Arc`) is a set of its
//! own, on which the functions of the handles are units of work.
//!
//! In C a pointer is an owner if whoever else points into the block belongs to the same set, variables aside.
//! Structures behind it have sets of their own in either case.

use super::{Instances, Placed, SetId};
use crate::leaves::{Block, OUTSIDE};
use crate::pointees::Pointee;
use raddle_trace::event::{Location, ObjectId, ObjectName, TypeIndex};
use std::rc::Rc;

/// Blocks that hold blocks in turn, at most; nodes that hold each other are one.
const MAX_DEPTH: u32 = 8;
/// Blocks that are looked at because an owner has changed, at most.
const MAX_STEPS: u32 = 1 << 20;

/// In place of the type of what has none but for its owner.
pub(super) const OWNED: TypeIndex = TypeIndex(u32::MAX);

/// Whose a block is.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    /// The set; none if two claim it.
    set: Option<SetId>,
    /// The owner that points to it.
    holder: Location,
    /// The owner in the instance itself that leads there, in bytes from the instance's beginning.
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
    /// Whether it is in one of many nodes, which are not told apart: where a node is among its like may
    /// change.
    pub is_among: bool,
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
        self.join_from(object);
    }

    /// Joins what pointers outside of variables lead to, now that all types are known.
    pub fn join_all(&mut self) {
        for index in 0..self.objects.len() {
            self.join_from(ObjectId(index as u32));
        }
    }

    /// Takes blocks from those who are not alone in having pointers to them, where that matters.
    pub fn disown(&mut self) {
        let mut held = Vec::new();
        for index in 0..self.objects.len() {
            let object = ObjectId(index as u32);
            if self.is_reused(object) {
                continue;
            }
            for &(offset, target) in &self.objects[index].pointers {
                let owned = &self.objects[target.object.0 as usize].owned;
                if owned.as_ref().is_some_and(|owned| owned.block.is_pointed) {
                    held.push((Location { object, offset }, target.object));
                }
            }
        }
        for (location, block) in held {
            let set = self.holder_at(location).and_then(|held| held.set);
            let Some(owned) = &mut self.objects[block.0 as usize].owned else {
                continue;
            };
            if owned.set.is_some() && owned.set != set {
                owned.set = None;
                self.lay_out(block);
            }
        }
    }

    /// Joins what the pointers of an object lead to, and the pointers of that.
    fn join_from(&mut self, object: ObjectId) {
        let mut pending = vec![(object, 0)];
        let mut steps = 0;
        while let Some((object, depth)) = pending.pop() {
            steps += 1;
            if depth >= MAX_DEPTH || steps > MAX_STEPS {
                continue;
            }
            let pointers = self.objects[object.0 as usize].pointers.clone();
            for (offset, target) in pointers {
                if target.object != object && self.join(Location { object, offset }, target) {
                    let is_node = |object: ObjectId| {
                        let owned = &self.objects[object.0 as usize].owned;
                        owned.as_ref().is_some_and(|owned| owned.block.is_node)
                    };
                    let is_like = is_node(object) && is_node(target.object);
                    pending.push((target.object, depth + u32::from(!is_like)));
                }
            }
        }
    }

    /// Joins a block to the set of an owner that points to it, if there is one at this place. Returns
    /// whether it is another one's now.
    fn join(&mut self, location: Location, target: Location) -> bool {
        let Some(Held {
            set,
            holder,
            field,
            pointee,
        }) = self.holder_at(location)
        else {
            return false;
        };
        let object = target.object;
        let Some(ObjectName::Heap { size, .. }) = self.trace.objects.get(object.0 as usize) else {
            return false;
        };
        let Some(block) = self.layouts.block(&pointee, *size, target.offset) else {
            return false;
        };
        let claim = Owned {
            set,
            holder,
            field,
            is_variable: self.is_variable(holder),
            block,
        };
        match self.objects[object.0 as usize].owned.clone() {
            Some(known) => self.reclaim(object, known, claim, &pointee),
            None => self.claim(object, claim),
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
        let (set, field) = match &known.owned {
            Some(owned) if holder.owner == OUTSIDE => (owned.set, owned.field),
            _ => {
                let owner = &layout.owners[holder.owner as usize];
                let set = self.set(Some(at(owner.offset)), &owner.type_name);
                (Some(set), holder.start.saturating_sub(owner.offset))
            }
        };
        Some(Held {
            set,
            holder: at(holder.start),
            field,
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
            // The handles that share it are elsewhere.
            if owned.block.is_node || place.object == instance.object {
                return Some(Behind {
                    holder: owned.field,
                    elements,
                    inside: inside?,
                    is_among: owned.block.is_node,
                });
            }
            place = owned.holder;
        }
        let holder = place.offset.checked_sub(instance.offset)?;
        Some(Behind {
            holder,
            elements,
            inside: inside?,
            is_among: false,
        })
    }
}

#[cfg(test)]
#[path = "owned_tests.rs"]
mod tests;
