//! Function paths: the one spelling of a function's name across builds and mangling schemes.
//!
//! A path is the demangled symbol without hash and without generic arguments:
//! `alloc::sync::Arc::new`, `<spin::once::Once as core::ops::drop::Drop>::drop`,
//! `my_crate::run::{closure}`.

/// The path of a mangled symbol; `None` if it is not a Rust symbol.
pub fn function_path(symbol: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(symbol).ok()?;
    Some(normalize(&format!("{demangled:#}")))
}

/// Removes generic arguments and closure numbers from a demangled name.
pub fn normalize(demangled: &str) -> String {
    let mut out = String::with_capacity(demangled.len());
    let mut rest = demangled;
    while let Some(character) = rest.chars().next() {
        match character {
            '<' => {
                let (inside, after) = split_brackets(rest);
                let continues_name = out
                    .chars()
                    .last()
                    .is_some_and(|last| last.is_alphanumeric() || "_:}>".contains(last));
                if !continues_name {
                    out.push_str(&qualified_self(inside));
                } else if let Some(subject) = inside.strip_prefix("impl ") {
                    out.push_str("<impl ");
                    out.push_str(&normalize(subject));
                    out.push('>');
                } else if out.ends_with("::") {
                    out.truncate(out.len() - 2);
                }
                rest = after;
            }
            '{' => {
                let end = rest.find('}').map_or(rest.len(), |end| end + 1);
                let end = if rest[end..].starts_with('}') {
                    end + 1
                } else {
                    end
                };
                let word = rest[..end].trim_matches(['{', '}']);
                let word = word.split('#').next().unwrap_or(word);
                out.push('{');
                out.push_str(word);
                out.push('}');
                rest = &rest[end..];
            }
            _ => {
                out.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    out
}

/// `X as Trait` stays in brackets; a lone path `X` (an inherent method in v0 mangling) does not.
fn qualified_self(inside: &str) -> String {
    if let Some((subject, interface)) = split_as(inside) {
        return format!("<{} as {}>", normalize(subject), normalize(interface));
    }
    let subject = normalize(inside);
    let is_path =
        subject.starts_with(|first: char| first.is_alphabetic() || first == '_' || first == '<');
    if is_path && !subject.contains(' ') {
        subject
    } else {
        format!("<{subject}>")
    }
}

/// Splits text that starts with `<` behind the matching `>`: what is inside, what follows.
fn split_brackets(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let mut previous = ' ';
    for (index, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if previous != '-' => {
                depth -= 1;
                if depth == 0 {
                    return (&text[1..index], &text[index + 1..]);
                }
            }
            _ => {}
        }
        previous = character;
    }
    (&text[1..], "")
}

/// Splits at ` as ` outside of inner brackets.
fn split_as(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_i32;
    let mut previous = ' ';
    for (index, character) in text.char_indices() {
        match character {
            '<' | '(' | '[' => depth += 1,
            '>' if previous != '-' => depth -= 1,
            ')' | ']' => depth -= 1,
            ' ' if depth == 0 && text[index..].starts_with(" as ") => {
                return Some((&text[..index], &text[index + 4..]));
            }
            _ => {}
        }
        previous = character;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{function_path, normalize};

    #[test]
    fn generic_arguments_are_dropped() {
        assert_eq!(
            normalize("core::ptr::drop_in_place::<alloc::vec::Vec<u8>>"),
            "core::ptr::drop_in_place"
        );
        assert_eq!(
            normalize("core::ptr::drop_in_place<alloc::vec::Vec<u8>>"),
            "core::ptr::drop_in_place"
        );
        assert_eq!(
            normalize("alloc::vec::Vec<T,A>::push"),
            "alloc::vec::Vec::push"
        );
        assert_eq!(
            normalize("a::call::<fn(u8) -> u8>::{closure#0}"),
            "a::call::{closure}"
        );
    }

    #[test]
    fn both_manglings_spell_inherent_methods_alike() {
        assert_eq!(
            normalize("<alloc::sync::Arc<u8>>::drop_slow"),
            "alloc::sync::Arc::drop_slow"
        );
        assert_eq!(
            normalize("alloc::sync::Arc<T,A>::drop_slow"),
            "alloc::sync::Arc::drop_slow"
        );
    }

    #[test]
    fn trait_implementations_keep_type_and_trait() {
        let path = "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock";
        assert_eq!(normalize(path), path);
        assert_eq!(
            normalize("<alloc::sync::Arc<T> as core::ops::drop::Drop>::drop"),
            "<alloc::sync::Arc as core::ops::drop::Drop>::drop"
        );
        assert_eq!(
            normalize("core::slice::<impl [T]>::len"),
            "core::slice::<impl [T]>::len"
        );
        assert_eq!(normalize("<[u8]>::len"), "<[u8]>::len");
    }

    #[test]
    fn closures_lose_their_numbers() {
        assert_eq!(normalize("m::f::{{closure}}"), "m::f::{closure}");
        assert_eq!(
            normalize("m::f::{closure#3}::{closure#0}"),
            "m::f::{closure}::{closure}"
        );
    }

    #[test]
    fn symbols_of_both_schemes_are_understood() {
        assert_eq!(
            function_path("_ZN3foo3bar17h0123456789abcdefE").as_deref(),
            Some("foo::bar")
        );
        assert_eq!(
            function_path("_RNvCs1234_7mycrate3foo").as_deref(),
            Some("mycrate::foo")
        );
        assert_eq!(function_path("pthread_create"), None);
    }
}
