//! Which functions are units of work, and on what.
//!
//! A function is one for its type's sets if it stands in an implementation of the type, be it
//! without a receiver (the paper's own bug is a constructor), of a trait, or the body of an async
//! function. So it is for the sets of types that its type holds directly, and for the statics of
//! the module that its type stands in. What the user says besides ([`Overrides`]) comes first. In C, a
//! function is one for the types that it gets pointers to, for those that these hold directly or have pointers
//! to, and for the statics of its file, unless a thread begins with it. Free functions of Rust are none, and neither are closures, tests and entries
//! of threads.
//!
//! [`Overrides`]: raddle_trace::overrides::Overrides

use crate::instances::{BaseId, Instances, statics_of};
use crate::type_names::{
    Class, array, base, behind_c_pointer, behind_pointers, c_file, class, parent,
};
use raddle_trace::event::TraceSite;
use raddle_trace::program_map::ProgramMap;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// What a function is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// What it is a unit for, by ascending number.
    pub bases: Vec<BaseId>,
    /// Whether it is also one for the types that it gets pointers to.
    pub by_arguments: bool,
    /// Whether it is a function of C, which is no unit if a thread begins with it.
    pub is_c: bool,
}

/// The user's types that a type holds, without generic arguments.
type Held = Rc<BTreeSet<String>>;

/// Looks functions up in a program's map.
pub struct Declarations<'a> {
    map: &'a ProgramMap,
    /// What the types hold that were asked for; nothing if there is no such type. A program has
    /// far more types than an execution has to do with.
    held: RefCell<HashMap<String, Option<Held>>>,
}

impl<'a> Declarations<'a> {
    /// From the program's map.
    pub fn new(map: &'a ProgramMap) -> Self {
        Self {
            map,
            held: RefCell::default(),
        }
    }

    /// What a function that gets an instance of a type is a unit for: the type, by its name without
    /// generic arguments, and what it holds.
    pub fn of_argument(&self, name: &str, instances: &mut Instances<'_>) -> Vec<BaseId> {
        let held = self.held(name);
        let held = held.iter().flat_map(|held| held.iter().map(String::as_str));
        let names: BTreeSet<&str> = held.chain([name]).collect();
        names.iter().map(|name| instances.base(name)).collect()
    }

    /// What a type of the user's holds, by its name without generic arguments.
    fn held(&self, owner: &str) -> Option<Held> {
        if let Some(known) = self.held.borrow().get(owner) {
            return known.clone();
        }
        let types = &self.map.types;
        let first = types.partition_point(|info| info.name.as_str() < owner);
        let mut of_owner = types[first..]
            .iter()
            .take_while(|info| info.name.starts_with(owner))
            .filter(|info| class(&info.name) == Class::Own && base(&info.name) == owner)
            .peekable();
        let held = of_owner.peek().is_some().then(|| {
            let mut held = BTreeSet::new();
            for info in of_owner {
                let mut seen = BTreeSet::new();
                for field in info.fields.iter().chain(&info.variants) {
                    collect(self.map, &field.type_name, &mut held, &mut seen);
                }
            }
            Rc::new(held)
        });
        self.held
            .borrow_mut()
            .insert(owner.to_owned(), held.clone());
        held
    }

    /// What the function is that is entered at a site.
    pub fn of(&self, site: &TraceSite, instances: &mut Instances<'_>) -> Declared {
        let overrides = &self.map.overrides;
        if overrides.is_ignored(&site.function) {
            return Declared::default();
        }
        if overrides.is_unit(&site.function) {
            let statics = statics_of(parent(&site.function));
            return Declared {
                bases: vec![instances.base(&statics)],
                by_arguments: true,
                is_c: false,
            };
        }
        if let Some(file) = c_file(&site.file) {
            return Declared {
                bases: vec![instances.base(&statics_of(file))],
                by_arguments: true,
                is_c: true,
            };
        }
        let Some(owner) = self.owner(&site.function) else {
            return Declared::default();
        };
        let mut names: BTreeSet<String> = BTreeSet::from([owner.clone()]);
        names.extend(
            self.held(&owner)
                .iter()
                .flat_map(|held| held.iter().cloned()),
        );
        names.insert(statics_of(parent(&owner)));
        let mut bases: Vec<_> = names.iter().map(|name| instances.base(name)).collect();
        bases.sort_unstable();
        Declared {
            bases,
            by_arguments: false,
            is_c: false,
        }
    }

    /// The type that a function belongs to, without generic arguments.
    fn owner(&self, path: &str) -> Option<String> {
        // The body of an async function belongs to the function.
        let mut path = path;
        while let Some((rest, last)) = path.rsplit_once("::")
            && last.starts_with('{')
        {
            if last.starts_with("{closure") {
                return None;
            }
            path = rest;
        }
        if let Some(function) = self.map.function(path) {
            let owner = function.receiver.as_deref().map(behind_pointers)?;
            return (class(owner) == Class::Own).then(|| base(owner));
        }
        let owner = parent(path);
        self.held(owner).map(|_| owner.to_owned())
    }
}

/// Adds the user's types that a type is, or holds through known wrappers. `seen` are the wrappers
/// that were looked through: they may hold pointers to each other.
fn collect<'a>(
    map: &'a ProgramMap,
    name: &'a str,
    found: &mut BTreeSet<String>,
    seen: &mut BTreeSet<&'a str>,
) {
    let name = behind_pointers(name);
    let name = behind_c_pointer(name).unwrap_or(name);
    match class(name) {
        Class::Own => {
            found.insert(base(name));
        }
        Class::LeftOut => {}
        Class::Wrapper => {
            if !seen.insert(name) {
                return;
            }
            if let Some((element, _)) = array(name) {
                collect(map, element, found, seen);
            }
            let Some(info) = map.type_named(name) else {
                return;
            };
            for argument in &info.arguments {
                collect(map, argument, found, seen);
            }
            // Enums, tuples and pointers to slices have no arguments.
            if info.arguments.is_empty() {
                let variants = info.variants.iter();
                let payloads = variants.filter_map(|variant| map.type_named(&variant.type_name));
                let inside = payloads.flat_map(|payload| &payload.fields);
                for field in info.fields.iter().chain(inside) {
                    collect(map, &field.type_name, found, seen);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::map;
    use raddle_trace::event::Trace;

    fn check(function: &str, file: &str, expected: &[&str]) {
        let types = "
            a::Outer<u8> 16 inner alloc::sync::Arc<std::sync::poison::mutex::Mutex<a::Inner>> 0 8
            alloc::sync::Arc<std::sync::poison::mutex::Mutex<a::Inner>> 8
            std::sync::poison::mutex::Mutex<a::Inner> 24
            a::Inner 16 deep a::Deep 0 8
            a::Deep 8 x u64 0 8
            a::Table 40 slots [a::Inner; 2] 0 32, first core::option::Option<a::Deep> 32 8
            core::option::Option<a::Deep> 8 | None n 0 8, Some s 0 8
            s 8 __0 a::Deep 0 8";
        let functions = "
            a::Table::get a::Table
            a::Outer::new a::Outer<u8>
            a::free
            <a::Inner as a::Trait>::go &a::Inner
            a::Outer::poll a::Outer<u8>
            a::Outer::new::{closure}";
        let map = map(types, functions);
        let trace = Trace::default();
        let mut instances = Instances::new(&trace, &map);
        let site = TraceSite {
            key: 1,
            file: file.into(),
            function: function.into(),
            line: 1,
            column: 1,
        };
        let declared = Declarations::new(&map).of(&site, &mut instances);
        let mut expected: Vec<_> = expected.iter().map(|name| instances.base(name)).collect();
        expected.sort_unstable();
        assert_eq!(declared.bases, expected, "{function}");
        assert_eq!(declared.by_arguments, file.ends_with(".c"));
        assert_eq!(declared.is_c, declared.by_arguments);
    }

    #[test]
    fn functions_of_a_type_are_units_for_it_and_for_what_it_holds() {
        let outer = ["a::Outer", "a::Inner", "static a"];
        check("a::Outer::new", "src/lib.rs", &outer);
        check("a::Outer::poll::{async_fn#0}", "src/lib.rs", &outer);
        let inner = ["a::Inner", "a::Deep", "static a"];
        check("<a::Inner as a::Trait>::go", "src/lib.rs", &inner);
        let table = ["a::Table", "a::Inner", "a::Deep", "static a"];
        check("a::Table::get", "src/lib.rs", &table);
    }

    #[test]
    fn functions_of_c_are_units_for_the_statics_of_their_file() {
        check("step", "src/main.c", &["static main.c"]);
    }

    #[test]
    fn in_c_they_are_units_for_what_their_arguments_point_to() {
        let types = "
            list 32 head *node 0 8, count long 8 8, slots [*slot; 2] 16 16
            node 16 next *node 0 8, value *long 8 8
            slot 8 list *list 0 8";
        let map = map(types, "");
        let trace = Trace::default();
        let mut instances = Instances::new(&trace, &map);
        let declarations = Declarations::new(&map);
        let bases = declarations.of_argument("list", &mut instances);
        // A number has no set, so that nothing comes of it.
        let expected = ["list", "node", "slot", "long"].map(|name| instances.base(name));
        assert!(bases.iter().all(|base| expected.contains(base)));
        assert!(expected[..3].iter().all(|base| bases.contains(base)));
    }

    #[test]
    fn the_user_says_what_else_is_a_unit_and_what_is_none() {
        let mut map = map("a::Inner 16 x u64 0 8", "a::free\na::Inner::go a::Inner");
        map.overrides.units.push("a::free".into());
        map.overrides.ignore.push("a::Inner::go".into());
        let trace = Trace::default();
        let mut instances = Instances::new(&trace, &map);
        let declarations = Declarations::new(&map);
        let mut of = |function: &str| {
            let site = TraceSite {
                key: 1,
                file: "src/lib.rs".into(),
                function: function.into(),
                line: 1,
                column: 1,
            };
            declarations.of(&site, &mut instances)
        };
        assert!(of("a::free").by_arguments);
        assert_eq!(of("a::Inner::go"), Declared::default());
        assert!(!of("a::Inner::stop").bases.is_empty());
    }

    #[test]
    fn free_functions_and_closures_are_none() {
        check("a::free", "src/lib.rs", &[]);
        check("a::Outer::new::{closure}", "src/lib.rs", &[]);
        check("b::unknown", "src/lib.rs", &[]);
    }

    #[test]
    fn wrappers_that_point_to_each_other_are_looked_through_once() {
        let fields = |name: &str| {
            let fields = (0..8).map(|at| format!("f{at} &{name} {} 8", at * 8));
            fields.collect::<Vec<_>>().join(", ")
        };
        let types = format!(
            "a::Holder 8 list &core::cell::One 0 8
             core::cell::One 64 {}
             core::cell::Two 72 {}, own a::Held 64 8
             a::Held 8 x u64 0 8",
            fields("core::cell::Two"),
            fields("core::cell::One"),
        );
        let map = map(&types, "");
        let declarations = Declarations::new(&map);
        let held = &declarations.held("a::Holder").expect("a type");
        assert!(held.contains("a::Held"), "{held:?}");
    }
}
