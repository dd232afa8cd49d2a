//! What pointers lead to, and whose it is.

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
    (u64, u64) 16 __0 u64 0 8, __1 u64 8 8
    a::Chain 24 list alloc::collections::linked_list::LinkedList<a::Wide> 0 24
    alloc::collections::linked_list::LinkedList<a::Wide> 24 \
        head core::option::Option<core::ptr::non_null::NonNull<alloc::collections::linked_list::Node<a::Wide>>> 0 8, \
        tail core::option::Option<core::ptr::non_null::NonNull<alloc::collections::linked_list::Node<a::Wide>>> 8 8, \
        len usize 16 8
    core::option::Option<core::ptr::non_null::NonNull<alloc::collections::linked_list::Node<a::Wide>>> 8 | \
        None none 0 8, Some some 0 8
    some 8 __0 core::ptr::non_null::NonNull<alloc::collections::linked_list::Node<a::Wide>> 0 8
    alloc::collections::linked_list::Node<a::Wide> 64 \
        next core::option::Option<core::ptr::non_null::NonNull<alloc::collections::linked_list::Node<a::Wide>>> 0 8, \
        prev core::option::Option<core::ptr::non_null::NonNull<alloc::collections::linked_list::Node<a::Wide>>> 8 8, \
        element [u64; 6] 16 48
    a::Wide 48
    a::Tree 24 map alloc::collections::btree::map::BTreeMap<u64, u64, alloc::alloc::Global> 0 24
    alloc::collections::btree::map::BTreeMap<u64, u64, alloc::alloc::Global> 24 root usize 0 16, length usize 16 8
    alloc::collections::btree::node::LeafNode<u64, u64> 48 parent usize 0 8, keys [u64; 2] 8 16, vals [u64; 2] 24 16
    alloc::collections::btree::node::InternalNode<u64, u64> 64 \
        data alloc::collections::btree::node::LeafNode<u64, u64> 0 48, \
        edges [core::ptr::non_null::NonNull<alloc::collections::btree::node::LeafNode<u64, u64>>; 2] 48 16
    core::ptr::non_null::NonNull<alloc::collections::btree::node::LeafNode<u64, u64>> 8 pointer usize 0 8
    buffer 24 begin *long 0 8, end *long 8 8, count long 16 8
    list 8 head *node 0 8
    node 16 next *node 0 8, value long 8 8";

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
    let types = [
        "a::List",
        "a::Deep",
        "a::Handle",
        "a::Table",
        "a::Chain",
        "a::Tree",
        "buffer",
        "list",
    ];
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
    instances.disown();
    let mut found = Vec::new();
    instances.places_at(at(3, 0), 24, |id| {
        let place = instances.place(id);
        let set = instances.of(place.set);
        let instance = set.location.expect("an instance");
        let behind = instances.behind(place.location, place.set);
        let reached = behind.map_or_else(String::new, |behind| {
            let among = if behind.is_among { "*" } else { "" };
            let (holder, inside) = (behind.holder, behind.inside);
            format!(" {holder}{:?}{inside}{among}", behind.elements)
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

#[test]
fn nodes_of_a_list_are_the_lists_and_not_told_apart() {
    let places = "a::Chain@0 0[]0*, a::Chain@0 0[]8*, a::Chain@0 0[]16*";
    // By the end, or one after the other.
    check(&[(at(0, 0), 4)], &[(at(0, 8), at(3, 0))], places);
    let next = [
        (at(0, 0), at(1, 0)),
        (at(1, 0), at(2, 0)),
        (at(2, 0), at(3, 0)),
    ];
    check(&[(at(0, 0), 4)], &next, places);
    // A node that was moved to another list is neither's.
    let lists = [(at(0, 0), 4), (at(2, 0), 4)];
    check(&lists, &[(at(0, 0), at(3, 0)), (at(2, 0), at(3, 0))], "");
}

#[test]
fn nodes_of_a_tree_are_the_trees() {
    let places = "a::Tree@0 0[]0*, a::Tree@0 0[]8*, a::Tree@0 0[]16*";
    check(&[(at(0, 0), 5)], &[(at(0, 0), at(3, 0))], places);
    let edges = [(at(0, 0), at(1, 0)), (at(1, 56), at(3, 0))];
    check(&[(at(0, 0), 5)], &edges, places);
    // Up to the parent nothing is owned.
    let parent = [(at(0, 0), at(1, 0)), (at(1, 0), at(3, 0))];
    check(&[(at(0, 0), 5)], &parent, "");
}

#[test]
fn in_c_who_alone_points_to_a_block_has_it() {
    let places = "buffer@0 0[0]0, buffer@0 0[1]0, buffer@0 0[2]0";
    let begin = (at(0, 0), at(3, 0));
    check(&[(at(0, 0), 6)], &[begin], places);
    // The same instance may have another pointer, and so may a variable.
    let same = [begin, (at(0, 8), at(3, 32)), (at(4, 0), at(3, 8))];
    check(&[(at(0, 0), 6)], &same, places);
    // Neither another instance nor something without a type may.
    for other in [at(1, 0), at(2, 24)] {
        let typed = [(at(0, 0), 6), (at(1, 0), 6)];
        check(&typed, &[begin, (other, at(3, 16))], "");
    }
}

#[test]
fn in_c_structures_behind_pointers_have_sets_of_their_own() {
    check(
        &[(at(0, 0), 7)],
        &[(at(0, 0), at(3, 0)), (at(1, 0), at(3, 0))],
        "node@3, node@3, node@3",
    );
}
