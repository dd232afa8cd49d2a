//! What the standard library's owners keep behind their pointers.
//!
//! A buffer, a box or a table has no type of its own that anybody gets a pointer to. It belongs to
//! whoever holds the owner, and what stands in it follows from the owner's generic arguments. The nodes
//! of lists and trees point to each other, and belong to whoever holds the list or tree.
//!
//! In C any pointer in a structure may be an owner; whether it is one shows by who else has a pointer to
//! the same block (`instances/owned.rs`).

use crate::type_names::{arguments, array, base, behind_c_pointer};
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
    /// One value of that one of these types which has the size of the block. It has no place of its own
    /// among its like.
    Node(Vec<String>),
    /// As many values of this type as there is room for, unless somebody else has a pointer to them.
    Pointed(String),
}

/// How an owner's generic arguments tell what is behind it.
type Rule = fn(&[&str]) -> Option<Pointee>;

/// The owners that are known. A slice in a box is as many elements as there is room for.
const OWNERS: &[(&str, Rule)] = &[
    ("alloc::boxed::Box", |of| Some(boxed(of.first()?))),
    ("alloc::vec::Vec", elements),
    ("alloc::collections::vec_deque::VecDeque", elements),
    ("hashbrown::raw::RawTable", |of| {
        Some(Pointee::Buckets(of.first()?.to_string()))
    }),
    ("alloc::sync::Arc", |of| {
        let inner = format!("alloc::sync::ArcInner<{}>", of.first()?);
        Some(Pointee::Shared(inner))
    }),
    ("alloc::rc::Rc", |of| {
        let inner = format!("alloc::rc::RcInner<{}>", of.first()?);
        Some(Pointee::Shared(inner))
    }),
    ("alloc::collections::linked_list::LinkedList", |of| {
        Some(list_node(of.first()?))
    }),
    ("alloc::collections::btree::map::BTreeMap", |of| {
        Some(tree_node(of.first()?, of.get(1)?))
    }),
    ("core::ptr::non_null::NonNull", next_node),
];

fn elements(of: &[&str]) -> Option<Pointee> {
    Some(Pointee::Elements(of.first()?.to_string()))
}

/// A node that a node points to. A node's pointer to its parent is none of these: it owns nothing.
fn next_node(of: &[&str]) -> Option<Pointee> {
    let node = of.first()?;
    let of = arguments(node);
    match base(node).as_str() {
        "alloc::collections::linked_list::Node" => Some(list_node(of.first()?)),
        "alloc::collections::btree::node::LeafNode" => Some(tree_node(of.first()?, of.get(1)?)),
        _ => None,
    }
}

fn list_node(element: &str) -> Pointee {
    Pointee::Node(vec![format!(
        "alloc::collections::linked_list::Node<{element}>"
    )])
}

fn tree_node(key: &str, value: &str) -> Pointee {
    let node = |kind: &str| format!("alloc::collections::btree::node::{kind}<{key}, {value}>");
    Pointee::Node(["LeafNode", "InternalNode"].map(node).to_vec())
}

fn boxed(of: &str) -> Pointee {
    let is_slice = of.starts_with('[') && array(of).is_none();
    match of.strip_prefix('[').and_then(|of| of.strip_suffix(']')) {
        Some(element) if is_slice => Pointee::Elements(element.to_owned()),
        _ => Pointee::Value(of.to_owned()),
    }
}

/// What is behind the pointer of a type, if it is a known owner.
pub fn pointee(name: &str) -> Option<Pointee> {
    if let Some(of) = behind_c_pointer(name) {
        return Some(Pointee::Pointed(of.to_owned()));
    }
    let plain = base(name);
    let (_, rule) = OWNERS.iter().find(|(owner, _)| *owner == plain)?;
    rule(&arguments(name))
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

/// Bytes of a type of C, if they are known. Aliases that are not the language's own are not.
pub fn size_of_c(map: &ProgramMap, name: &str) -> Option<u64> {
    Some(match name {
        "char" | "signed char" | "unsigned char" | "_Bool" | "int8_t" | "uint8_t" => 1,
        "short" | "unsigned short" | "int16_t" | "uint16_t" => 2,
        "int" | "unsigned int" | "float" | "int32_t" | "uint32_t" => 4,
        "long" | "unsigned long" | "long long" | "unsigned long long" | "double" | "int64_t"
        | "uint64_t" | "size_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t" => 8,
        _ => return size_of(map, name),
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
        check("*long", Some(Pointee::Pointed("long".into())));
        for name in ["*", "*mut u8", "*const u8"] {
            check(name, None);
        }
    }

    #[test]
    fn nodes_of_lists_and_trees_point_to_their_like() {
        let check = |names: &[&str], expected: Pointee| {
            for name in names {
                assert_eq!(pointee(name), Some(expected.clone()), "{name}");
            }
        };
        let list = "alloc::collections::linked_list";
        check(
            &[
                &format!("{list}::LinkedList<(u8, a::B), alloc::alloc::Global>"),
                &format!("core::ptr::non_null::NonNull<{list}::Node<(u8, a::B)>>"),
            ],
            Pointee::Node(vec![format!("{list}::Node<(u8, a::B)>")]),
        );
        let tree = "alloc::collections::btree";
        let node = |kind: &str| format!("{tree}::node::{kind}<u64, a::B<u8, u8>>");
        check(
            &[
                &format!("{tree}::map::BTreeMap<u64, a::B<u8, u8>, alloc::alloc::Global>"),
                &format!("core::ptr::non_null::NonNull<{}>", node("LeafNode")),
            ],
            Pointee::Node(vec![node("LeafNode"), node("InternalNode")]),
        );
        let parent = format!("core::ptr::non_null::NonNull<{}>", node("InternalNode"));
        assert_eq!(pointee(&parent), None);
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
