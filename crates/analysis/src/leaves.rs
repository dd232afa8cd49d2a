//! A type taken apart into the places that an atomic set is made of.
//!
//! Wrappers of the standard library are looked through: what is inside belongs to the type that
//! holds them. A nested type of the user's has a set of its own. An enum is one place, except
//! for payloads that are the user's types. Elements of an array are places of their own.

mod blocks;

use crate::pointees::{Pointee, pointee};
use crate::type_names::{Class, array, base, class, is_left_out, is_waited_on};
use raddle_trace::program_map::{FieldInfo, ProgramMap, TypeInfo};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

pub use blocks::{Block, OUTSIDE};

/// Types cannot contain themselves; those of a damaged map can.
const MAX_DEPTH: u32 = 32;
/// Elements of an array whose insides are looked at one by one.
const MAX_ELEMENTS: u64 = 64;

/// One place, or a row of places of the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Bytes from the start of the type.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Bytes of each place.
    pub stride: u64,
    /// Whose it is: an index into [`Layout::owners`].
    pub owner: u32,
    /// Whether some of its bytes may mean nothing: it is an enum or a union.
    pub is_ragged: bool,
}

/// An instance of a user's type inside of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Bytes from the start of the type.
    pub offset: u64,
    /// Full name.
    pub type_name: Rc<str>,
}

/// An owner of what is behind a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Bytes from the start of the type.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Whose it is: an index into [`Layout::owners`].
    pub owner: u32,
    /// What is behind it.
    pub pointee: Pointee,
}

/// A type taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes.
    pub size: u64,
    /// By ascending start.
    pub leaves: Vec<Leaf>,
    /// Instances of the user's types, the type itself among them if it is one.
    pub owners: Vec<Owner>,
    /// Owners of what is behind pointers.
    pub holders: Vec<Holder>,
    /// Where condition variables are, from and to.
    pub conditions: Vec<(u64, u64)>,
    /// Everything that is inside: where, and the name of its type.
    pub parts: HashSet<(u64, Rc<str>)>,
}

/// Layouts of the types of a program.
pub struct Layouts<'a> {
    map: &'a ProgramMap,
    known: Rc<Known>,
}

/// Layouts that were asked for, in whatever execution of the program.
#[derive(Default)]
struct Known {
    types: RefCell<HashMap<String, Rc<Layout>>>,
    blocks: RefCell<HashMap<BlockKey, Option<Rc<Block>>>>,
}

/// What points to a block, how many bytes that has, and where in it.
type BlockKey = (Pointee, u64, u64);

impl<'a> Layouts<'a> {
    /// From the program's map.
    pub fn new(map: &'a ProgramMap) -> Self {
        Self {
            map,
            known: map.memo.get(),
        }
    }

    /// A type's layout; an empty one if it is not known.
    pub fn layout(&mut self, name: &str) -> Rc<Layout> {
        if let Some(known) = self.known.types.borrow().get(name) {
            return Rc::clone(known);
        }
        let size = self.map.type_named(name).map_or(0, |info| info.size);
        let mut taker = Taker {
            map: self.map,
            layout: Layout {
                size,
                ..Layout::default()
            },
        };
        taker.take(name, 0, size, None, 0);
        let layout = Rc::new(taker.finish());
        let mut types = self.known.types.borrow_mut();
        types.insert(name.to_owned(), Rc::clone(&layout));
        layout
    }
}

struct Taker<'a> {
    map: &'a ProgramMap,
    layout: Layout,
}

impl Taker<'_> {
    fn take(&mut self, name: &str, offset: u64, size: u64, owner: Option<u32>, depth: u32) {
        if is_waited_on(name) {
            self.layout.conditions.push((offset, offset + size));
        }
        let class = class(name);
        if size == 0 || class == Class::LeftOut || depth > MAX_DEPTH {
            return;
        }
        let plain = base(name);
        if class == Class::Own && self.map.overrides.is_ignored(&plain) {
            return;
        }
        self.layout.parts.insert((offset, name.into()));
        self.hold(name, offset, size, owner);
        let info = self.map.type_named(name).filter(|info| info.size > 0);
        let owner = match (class, info) {
            (Class::Own, Some(info)) if !info.fields.is_empty() || !info.variants.is_empty() => {
                self.layout.owners.push(Owner {
                    offset,
                    type_name: name.into(),
                });
                Some(self.layout.owners.len() as u32 - 1)
            }
            _ => owner,
        };
        match info {
            Some(info) if !info.variants.is_empty() => self.take_enum(info, offset, owner, depth),
            Some(info) if !info.fields.is_empty() && !overlaps(&info.fields) => {
                for field in &info.fields {
                    let is_ignored = self.map.overrides.is_ignored_field(&plain, &field.name);
                    if !is_ignored && !is_left_out(name, &field.name) {
                        let place = offset + field.offset;
                        self.take(&field.type_name, place, field.size, owner, depth + 1);
                    }
                }
            }
            Some(info) => self.take_union(info, offset, size, owner, depth),
            None => self.take_other(name, offset, size, owner, depth),
        }
    }

    /// An enum is one place, but for payloads with sets of their own.
    fn take_enum(&mut self, info: &TypeInfo, offset: u64, owner: Option<u32>, depth: u32) {
        let mut covered = Vec::new();
        for variant in &info.variants {
            let payload = self.map.type_named(&variant.type_name);
            for field in payload.map_or(&[][..], |payload| &payload.fields) {
                let is_structure = class(&field.type_name) == Class::Own
                    && self
                        .map
                        .type_named(&field.type_name)
                        .is_some_and(|info| !info.fields.is_empty());
                let start = variant.offset + field.offset;
                // An `Option` of an owner keeps it in one place with the tag.
                self.hold(&field.type_name, offset + start, field.size, owner);
                let is_free = covered
                    .iter()
                    .all(|&(from, to)| start >= to || start + field.size <= from);
                if is_structure && is_free {
                    covered.push((start, start + field.size));
                    self.take(
                        &field.type_name,
                        offset + start,
                        field.size,
                        owner,
                        depth + 1,
                    );
                }
            }
        }
        covered.sort_unstable();
        // With a payload of a word in all of it, no value leaves bytes without a meaning.
        let is_whole = info.size <= 8
            && info.variants.iter().any(|variant| {
                variant.size == info.size && self.payload_is_whole(&variant.type_name, info.size)
            });
        let mut from = 0;
        for (start, end) in covered.into_iter().chain([(info.size, info.size)]) {
            self.leaf(offset + from, offset + start, 0, owner, !is_whole);
            from = from.max(end);
        }
    }

    /// Fields that overlap are one place; `MaybeUninit` and the like have only one that is not
    /// empty.
    fn take_union(
        &mut self,
        info: &TypeInfo,
        offset: u64,
        size: u64,
        owner: Option<u32>,
        depth: u32,
    ) {
        let mut fields = info.fields.iter().filter(|field| field.size > 0);
        match (fields.next(), fields.next()) {
            (Some(only), None) => {
                let place = offset + only.offset;
                self.take(&only.type_name, place, only.size, owner, depth + 1);
            }
            _ => self.leaf(offset, offset + size, 0, owner, true),
        }
    }

    /// Whether a variant has one field, which fills it.
    fn payload_is_whole(&self, variant: &str, size: u64) -> bool {
        let fields = self
            .map
            .type_named(variant)
            .map_or(&[][..], |info| &info.fields);
        let mut fields = fields.iter().filter(|field| field.size > 0);
        fields.next().is_some_and(|field| field.size == size) && fields.next().is_none()
    }

    fn take_other(&mut self, name: &str, offset: u64, size: u64, owner: Option<u32>, depth: u32) {
        match array(name).filter(|(_, count)| *count > 0) {
            Some((element, count)) => {
                self.take_elements(element, offset, size / count, count, owner, depth);
            }
            None => self.leaf(offset, offset + size, 0, owner, false),
        }
    }

    fn take_elements(
        &mut self,
        element: &str,
        offset: u64,
        stride: u64,
        count: u64,
        owner: Option<u32>,
        depth: u32,
    ) {
        let is_structure = self
            .map
            .type_named(element)
            .is_some_and(|info| !info.fields.is_empty() || !info.variants.is_empty());
        if is_structure && count <= MAX_ELEMENTS {
            for index in 0..count {
                self.take(element, offset + index * stride, stride, owner, depth + 1);
            }
        } else {
            let end = offset + stride * count;
            self.leaf(offset, end, stride, owner, is_structure);
        }
    }

    /// What is behind a pointer belongs to whoever holds its owner.
    fn hold(&mut self, name: &str, offset: u64, size: u64, owner: Option<u32>) {
        if let (Some(owner), Some(pointee)) = (owner, pointee(name)) {
            self.layout.holders.push(Holder {
                start: offset,
                end: offset + size,
                owner,
                pointee,
            });
        }
    }

    /// The layout, with its places in order.
    fn finish(self) -> Layout {
        let mut layout = self.layout;
        layout
            .leaves
            .sort_unstable_by_key(|leaf| (leaf.start, leaf.end));
        // In a damaged map fields may overlap: the first one counts.
        let mut end = 0;
        layout.leaves.retain(|leaf| {
            let is_free = leaf.start >= end && leaf.end > leaf.start;
            end = if is_free { leaf.end } else { end };
            is_free
        });
        layout
    }

    fn leaf(&mut self, start: u64, end: u64, stride: u64, owner: Option<u32>, is_ragged: bool) {
        if let Some(owner) = owner
            && start < end
        {
            let stride = if stride == 0 { end - start } else { stride };
            self.layout.leaves.push(Leaf {
                start,
                end,
                stride,
                owner,
                is_ragged,
            });
        }
    }
}

fn overlaps(fields: &[FieldInfo]) -> bool {
    let mut end = 0;
    fields.iter().filter(|field| field.size > 0).any(|field| {
        let overlaps = field.offset < end;
        end = end.max(field.offset + field.size);
        overlaps
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::map;
    use raddle_trace::overrides::{Overrides, SetOverride};

    /// A type's leaves as `from-to owner@offset`.
    fn check(types: &str, name: &str, expected: &str) {
        let map = map(types, "");
        let layout = Layouts::new(&map).layout(name);
        let leaves = layout.leaves.iter().map(|leaf| {
            let owner = &layout.owners[leaf.owner as usize];
            let row = match leaf.stride == leaf.end - leaf.start {
                true => String::new(),
                false => format!("/{}", leaf.stride),
            };
            let (start, end) = (leaf.start, leaf.end);
            format!("{start}-{end}{row} {}@{}", owner.type_name, owner.offset)
        });
        assert_eq!(leaves.collect::<Vec<_>>().join(", "), expected);
    }

    const MUTEX: &str = "
        std::sync::poison::mutex::Mutex<u64> 16 inner std::sys::sync::mutex::futex::Mutex 0 4, \
            poison std::sync::poison::Flag 4 1, data core::cell::UnsafeCell<u64> 8 8
        core::cell::UnsafeCell<u64> 8 value u64 0 8";

    #[test]
    fn mutexes_are_looked_through_and_lock_words_left_out() {
        let types = format!(
            "a::Pair 32 x std::sync::poison::mutex::Mutex<u64> 0 16, \
             y std::sync::poison::mutex::Mutex<u64> 16 16\n{MUTEX}"
        );
        check(&types, "a::Pair", "8-16 a::Pair@0, 24-32 a::Pair@0");
    }

    #[test]
    fn nested_types_have_sets_of_their_own_and_counts_have_none() {
        let types = "
            alloc::sync::ArcInner<a::Outer> 40 strong usize 0 8, weak usize 8 8, data a::Outer 16 24
            a::Outer 24 inner a::Inner 0 16, z u64 16 8
            a::Inner 16 x u64 0 8, y u64 8 8";
        check(
            types,
            "alloc::sync::ArcInner<a::Outer>",
            "16-24 a::Inner@16, 24-32 a::Inner@16, 32-40 a::Outer@16",
        );
    }

    #[test]
    fn an_enum_is_one_place_unless_its_payload_is_a_structure() {
        let types = "
            a::Slot 40 plain core::option::Option<u64> 0 16, full core::option::Option<a::Inner> 16 24
            core::option::Option<u64> 16 | None n 0 16, Some s 0 16
            core::option::Option<a::Inner> 24 | None n 0 24, Some t 0 24
            s 16 __0 u64 8 8
            t 24 __0 a::Inner 8 16
            a::Inner 16 x u64 0 8, y u64 8 8";
        check(
            types,
            "a::Slot",
            "0-16 a::Slot@0, 16-24 a::Slot@0, 24-32 a::Inner@24, 32-40 a::Inner@24",
        );
    }

    #[test]
    fn elements_are_places_and_overlapping_fields_are_one() {
        let types = "
            a::Ring 48 cells [u64; 4] 0 32, both a::Both 32 8, any core::mem::MaybeUninit<u64> 40 8
            a::Both 8 one u32 0 4, other u64 0 8
            core::mem::MaybeUninit<u64> 8 uninit () 0 0, value u64 0 8";
        check(
            types,
            "a::Ring",
            "0-32/8 a::Ring@0, 32-40 a::Both@32, 40-48 a::Ring@0",
        );
    }

    #[test]
    fn the_user_leaves_types_and_fields_out() {
        let types = "
            a::Range 24 low u64 0 8, high u64 8 8, hits u64 16 8
            a::Outer 40 range a::Range 0 24, stats a::Stats 24 8, z u64 32 8
            a::Stats 8 count u64 0 8";
        let mut map = map(types, "");
        map.overrides = overrides();
        let mut layouts = Layouts::new(&map);
        let mut starts = |name: &str| -> Vec<u64> {
            let layout = layouts.layout(name);
            layout.leaves.iter().map(|leaf| leaf.start).collect()
        };
        assert_eq!(starts("a::Range"), [0, 8]);
        assert_eq!(starts("a::Outer"), [0, 8, 32]);
        assert!(starts("a::Stats").is_empty());
    }

    fn overrides() -> Overrides {
        Overrides {
            ignore: vec!["a::Stats".into()],
            set: vec![SetOverride {
                type_name: "a::Range".into(),
                fields: vec!["low".into(), "high".into()],
            }],
            ..Overrides::default()
        }
    }

    #[test]
    fn what_nobody_holds_has_no_places() {
        check(MUTEX, "std::sync::poison::mutex::Mutex<u64>", "");
        check("a::Loop 8 inner a::Loop 0 8", "a::None", "");
        check("a::Loop 8 inner a::Loop 0 8", "a::Loop", "");
    }
}
