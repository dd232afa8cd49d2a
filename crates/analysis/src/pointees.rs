//! What the standard library's owners keep behind their pointers.
//!
//! A buffer, a box or a table has no type of its own that anybody gets a pointer to. It belongs to
//! whoever holds the owner, and what stands in it follows from the owner's generic arguments.

use crate::type_names::{argument, array, base};
use raddle_trace::program_map::ProgramMap;

/// What a block is that an owner points to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pointee {
    /// One value of this type.
    Value(String),
    /// As many values of this type as there is room for.
    Elements(String),
    /// The same, below the place that is pointed to; what is above it is no data.
    Buckets(String),
    /// One value of this type, of which several may be owners.
    Shared(String),
}

/// How an owner's first generic argument tells what is behind it.
type Rule = fn(&str) -> Pointee;

/// The owners that are known. A slice in a box is as many elements as there is room for.
const OWNERS: &[(&str, Rule)] = &[
    ("alloc::boxed::Box", boxed),
    ("alloc::vec::Vec", |of| Pointee::Elements(of.to_owned())),
    ("alloc::collections::vec_deque::VecDeque", |of| {
        Pointee::Elements(of.to_owned())
    }),
    ("hashbrown::raw::RawTable", |of| {
        Pointee::Buckets(of.to_owned())
    }),
    ("alloc::sync::Arc", |of| {
        Pointee::Shared(format!("alloc::sync::ArcInner<{of}>"))
    }),
    ("alloc::rc::Rc", |of| {
        Pointee::Shared(format!("alloc::rc::RcInner<{of}>"))
    }),
];

fn boxed(of: &str) -> Pointee {
    let is_slice = of.starts_with('[') && array(of).is_none();
    match of.strip_prefix('[').and_then(|of| of.strip_suffix(']')) {
        Some(element) if is_slice => Pointee::Elements(element.to_owned()),
        _ => Pointee::Value(of.to_owned()),
    }
}

/// What is behind the pointer of a type, if it is a known owner.
pub fn pointee(name: &str) -> Option<Pointee> {
    let plain = base(name);
    let (_, rule) = OWNERS.iter().find(|(owner, _)| *owner == plain)?;
    Some(rule(argument(name)?))
}

/// Bytes of a type, if they are known.
pub fn size_of(map: &ProgramMap, name: &str) -> Option<u64> {
    if let Some(info) = map.type_named(name) {
        return Some(info.size);
    }
    if let Some((element, count)) = array(name) {
        return size_of(map, element)?.checked_mul(count);
    }
    // Those to slices and objects are in the map, because they have two fields.
    if name.starts_with(['&', '*']) || base(name) == "alloc::boxed::Box" {
        return Some(8);
    }
    Some(match name {
        "u8" | "i8" | "bool" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "f32" | "char" => 4,
        "u64" | "i64" | "f64" | "usize" | "isize" => 8,
        "u128" | "i128" => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::map;

    #[test]
    fn what_is_behind_a_pointer_follows_from_the_owners_arguments() {
        let check = |name: &str, expected: Option<Pointee>| assert_eq!(pointee(name), expected);
        let global = "alloc::alloc::Global";
        check(
            &format!("alloc::vec::Vec<(u64, a::B<u8, u8>), {global}>"),
            Some(Pointee::Elements("(u64, a::B<u8, u8>)".into())),
        );
        check(
            &format!("alloc::boxed::Box<[u8; 4], {global}>"),
            Some(Pointee::Value("[u8; 4]".into())),
        );
        check(
            &format!("alloc::boxed::Box<[[u8; 4]], {global}>"),
            Some(Pointee::Elements("[u8; 4]".into())),
        );
        check(
            &format!("alloc::sync::Arc<a::Foo, {global}>"),
            Some(Pointee::Shared("alloc::sync::ArcInner<a::Foo>".into())),
        );
        check("a::Vec<u8>", None);
        check("&alloc::vec::Vec<u8>", None);
    }

    #[test]
    fn sizes_are_known_of_primitive_types_pointers_and_arrays() {
        let map = map("a::Foo 24 x u64 0 8", "");
        let check = |name: &str, size| assert_eq!(size_of(&map, name), size, "{name}");
        check("a::Foo", Some(24));
        check("[[u16; 2]; 3]", Some(12));
        check("alloc::boxed::Box<a::Foo, alloc::alloc::Global>", Some(8));
        check("*const a::Bar", Some(8));
        check("a::Bar", None);
    }
}
