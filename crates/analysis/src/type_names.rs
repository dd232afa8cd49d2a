//! What the name of a type says: whose it is, what it is without its generic arguments, and
//! whether it is one of the known types that are looked through or left out.

/// What a type is to the inference of atomic sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It has an atomic set of its own.
    Own,
    /// It is looked through: what is inside belongs to whoever holds it.
    Wrapper,
    /// It keeps others apart or in order, and is no data.
    LeftOut,
}

/// Types (or beginnings of their paths) that are no data: locks, flags, channels, streams.
const LEFT_OUT: &[&str] = &[
    "core::fmt::",
    "core::marker::",
    "core::task::",
    "alloc::alloc::",
    "std::alloc::",
    "std::io::",
    "std::sys::",
    "std::thread::",
    "std::sync::barrier::",
    "std::sync::mpmc::",
    "std::sync::mpsc::",
    "std::sync::once::Once",
    "std::sync::poison::Flag",
    "std::sync::poison::condvar::",
    "std::sync::poison::once::Once",
    "std::sync::reentrant_lock::",
    "crossbeam_channel::",
    "flume::",
    "parking_lot::condvar::",
    "parking_lot::raw_",
    "parking_lot_core::",
    "pthread_",
    "sem_t",
];

/// Types on which threads wait by loading a value first: they may find that it has changed, and
/// then nothing shows that they would have waited.
const WAITED_ON: &[&str] = &["std::sync::poison::condvar::", "std::sys::sync::condvar::"];

/// Fields of known types that are no data, by type and name.
const LEFT_OUT_FIELDS: &[(&str, &str)] = &[
    ("core::cell::RefCell", "borrow"),
    ("alloc::sync::ArcInner", "strong"),
    ("alloc::sync::ArcInner", "weak"),
    ("alloc::rc::RcInner", "strong"),
    ("alloc::rc::RcInner", "weak"),
    ("alloc::rc::RcBox", "strong"),
    ("alloc::rc::RcBox", "weak"),
    ("spin::mutex::spin::SpinMutex", "lock"),
    ("spin::mutex::ticket::TicketMutex", "next_ticket"),
    ("spin::mutex::ticket::TicketMutex", "next_serving"),
    ("spin::rwlock::RwLock", "lock"),
    ("spin::once::Once", "status"),
];

/// Beginnings of the paths of types that are looked through.
const WRAPPERS: &[&str] = &[
    "core::",
    "alloc::",
    "std::",
    "hashbrown::",
    "lock_api::",
    "once_cell::",
    "parking_lot::",
    "spin::",
    "crossbeam_utils::cache_padded::",
];

/// Endings of files in which functions have no implementations to stand in.
const C_FILES: [&str; 2] = [".c", ".h"];

/// What a type is.
pub fn class(name: &str) -> Class {
    if begins_with(name, LEFT_OUT) {
        return Class::LeftOut;
    }
    let begins = name.chars().next().unwrap_or('(');
    let is_named = begins.is_alphabetic() || begins == '_';
    let is_path = is_named && !name.contains("{closure_env") && !name.starts_with("dyn ");
    match is_path && !begins_with(name, WRAPPERS) {
        true => Class::Own,
        false => Class::Wrapper,
    }
}

/// Whether threads wait on a type by loading from it.
pub fn is_waited_on(name: &str) -> bool {
    begins_with(name, WAITED_ON)
}

/// Whether a field of a type is no data.
pub fn is_left_out(type_name: &str, field: &str) -> bool {
    let base = base(type_name);
    LEFT_OUT_FIELDS.contains(&(base.as_str(), field))
}

/// Whether a static is one of the language's own libraries.
pub fn is_foreign_static(path: &str) -> bool {
    let path = path.trim_start_matches(['<', '&', '_']);
    begins_with(path, &["core::", "alloc::", "std::", "test::"]) || begins_with(path, LEFT_OUT)
}

fn begins_with(name: &str, beginnings: &[&str]) -> bool {
    beginnings
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// A name without generic arguments: `a::Foo` for `a::Foo<b::Bar>`.
pub fn base(name: &str) -> String {
    let mut base = String::with_capacity(name.len());
    let mut depth = 0_u32;
    let mut before = ' ';
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            // Not the end of arguments but of an arrow.
            '>' if before == '-' => {}
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => base.push(letter),
            _ => {}
        }
        before = letter;
    }
    base
}

/// The generic arguments of a name.
pub fn arguments(name: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let Some((_, rest)) = name.split_once('<') else {
        return found;
    };
    let (mut depth, mut from) = (0_u32, 0);
    let mut before = ' ';
    for (at, letter) in rest.char_indices() {
        match letter {
            '>' if before == '-' => {}
            ',' | '>' if depth == 0 => {
                found.push(rest[from..at].trim());
                from = at + 1;
                if letter == '>' {
                    break;
                }
            }
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = letter;
    }
    found
}

/// What a pointer of C points to, by its name. Pointers of Rust say whether they are `const` or `mut`.
pub fn behind_c_pointer(name: &str) -> Option<&str> {
    let of = name.strip_prefix('*')?;
    let is_c = !of.is_empty() && !of.starts_with("const ") && !of.starts_with("mut ");
    is_c.then_some(of)
}

/// The type and the number of elements of an array's name, `[u8; 4]`.
pub fn array(name: &str) -> Option<(&str, u64)> {
    let inside = name.strip_prefix('[')?.strip_suffix(']')?;
    let (element, count) = inside.rsplit_once("; ")?;
    Some((element, count.parse().ok()?))
}

/// What a reference or pointer points to, by its name; the name itself for other types.
pub fn behind_pointers(name: &str) -> &str {
    let mut name = name.trim();
    loop {
        let shorter = ["&mut ", "&", "*const ", "*mut ", "mut "]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .or_else(|| name.strip_suffix('*').map(str::trim_end));
        match shorter {
            Some(shorter) => name = shorter,
            None => return name,
        }
    }
}

/// The name of a file of C, which has no modules, without its directories.
pub fn c_file(path: &str) -> Option<&str> {
    let is_c = C_FILES.iter().any(|ending| path.ends_with(ending));
    let name = path.rsplit('/').next();
    name.filter(|_| is_c)
}

/// The path that something stands in: `a::b` for `a::b::C`.
pub fn parent(path: &str) -> &str {
    path.rsplit_once("::").map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_arguments_are_taken_off() {
        assert_eq!(base("a::Foo<b::Bar<u8>, fn(u8) -> u8>"), "a::Foo");
        assert_eq!(base("a::Foo"), "a::Foo");
        assert_eq!(base("a::Foo<u8>::Variant"), "a::Foo::Variant");
    }

    #[test]
    fn generic_arguments_are_told_apart() {
        let name = "a::Foo<(u8, b::Bar<u8, u16>), fn(u8) -> u8, [u8; 2]>::Variant";
        let expected = ["(u8, b::Bar<u8, u16>)", "fn(u8) -> u8", "[u8; 2]"];
        assert_eq!(arguments(name), expected);
        assert!(arguments("a::Foo").is_empty());
    }

    #[test]
    fn the_users_types_are_told_from_wrappers_and_locks() {
        for name in ["a::Foo<u8>", "account", "_Node", "spinning::Lock"] {
            assert_eq!(class(name), Class::Own, "{name}");
        }
        let wrappers = [
            "alloc::sync::Arc<a::Foo>",
            "(u8, u8)",
            "&a::Foo",
            "[u8; 4]",
            "a::f::{closure_env#0}",
            "lock_api::mutex::Mutex<parking_lot::raw_mutex::RawMutex, u8>",
        ];
        for name in wrappers {
            assert_eq!(class(name), Class::Wrapper, "{name}");
        }
        for name in [
            "std::sys::sync::mutex::futex::Mutex",
            "parking_lot::raw_mutex::RawMutex",
        ] {
            assert_eq!(class(name), Class::LeftOut, "{name}");
        }
    }

    #[test]
    fn counts_and_borrow_flags_are_no_data() {
        assert!(is_left_out("alloc::sync::ArcInner<a::Foo>", "strong"));
        assert!(!is_left_out("alloc::sync::ArcInner<a::Foo>", "data"));
        assert!(is_left_out("core::cell::RefCell<u8>", "borrow"));
    }

    #[test]
    fn arrays_and_pointers_are_taken_apart() {
        assert_eq!(array("[[u8; 2]; 16]"), Some(("[u8; 2]", 16)));
        assert_eq!(array("[u8]"), None);
        assert_eq!(behind_pointers("&mut *const a::Foo"), "a::Foo");
        assert_eq!(behind_pointers("account *"), "account");
    }
}
