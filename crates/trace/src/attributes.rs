//! What a program says itself about atomic sets and units of work, with attributes of the crate
//! `raddle`: ELF notes in its executable.
//!
//! A note is about the type that it names, or about the function that its own symbol stands in. Any
//! file is survived; what makes no sense says nothing.

use crate::demangle::demangle;
use crate::overrides::{Overrides, SetOverride};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::HashMap;

/// The section with the notes.
const SECTION: &str = ".note.raddle";
/// The name that the notes have.
const NAME: &[u8] = b"raddle";

/// Adds what an executable says.
pub fn read(executable: &[u8], overrides: &mut Overrides) {
    let Ok(file) = object::File::parse(executable) else {
        return;
    };
    let Some(section) = file.section_by_name(SECTION) else {
        return;
    };
    let symbols: HashMap<u64, &str> = file
        .symbols()
        .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?)))
        .filter(|(_, name)| name.contains("RADDLE_NOTE"))
        .collect();
    let data = section.data().unwrap_or_default();
    for (offset, text) in notes(data) {
        let symbol = symbols.get(&(section.address() + offset as u64));
        add(&text, symbol.map(|symbol| demangle(symbol)), overrides);
    }
}

/// The texts of notes, and where each note begins.
fn notes(data: &[u8]) -> Vec<(usize, String)> {
    let word = |at: usize| -> Option<usize> {
        let bytes = data.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes) as usize)
    };
    let mut notes = Vec::new();
    let mut at = 0;
    while let (Some(name), Some(text)) = (word(at), word(at + 4)) {
        let name_at = at + 12;
        let text_at = name_at.saturating_add(name.next_multiple_of(4));
        let Some(bytes) = data.get(text_at..text_at.saturating_add(text)) else {
            break;
        };
        if data
            .get(name_at..)
            .is_some_and(|rest| rest.starts_with(NAME))
        {
            notes.push((at, String::from_utf8_lossy(bytes).into_owned()));
        }
        at = text_at + text.next_multiple_of(4);
    }
    notes
}

fn add(text: &str, symbol: Option<String>, overrides: &mut Overrides) {
    let mut words = text.split_whitespace();
    let (kind, type_name) = (words.next(), words.next());
    let fields = words.map(str::to_owned);
    let function = symbol.as_deref().and_then(function_of);
    match (kind, type_name, function) {
        (Some("unit"), None, Some(function)) => overrides.units.push(function),
        (Some("ignore"), None, Some(function)) => overrides.ignore.push(function),
        (Some("ignore"), Some(name), _) => overrides.ignore.push(name.to_owned()),
        (Some("ignore-fields"), Some(name), _) => {
            let paths = fields.map(|field| format!("{name}::{field}"));
            overrides.ignore.extend(paths);
        }
        (Some("set"), Some(name), _) => overrides.set.push(SetOverride {
            type_name: name.to_owned(),
            fields: fields.collect(),
        }),
        _ => {}
    }
}

/// The function that a static stands in, as sites name it: without generic arguments, and with
/// brackets only around a trait's implementation.
fn function_of(path: &str) -> Option<String> {
    let function = path.strip_suffix("::_::RADDLE_NOTE")?;
    // The body of an async function.
    let function = function.replace("::{{closure}}", "::{async_fn#0}");
    let Some(rest) = function.strip_prefix('<') else {
        return Some(without_arguments(&function));
    };
    let mut depth = 1_u32;
    let end = rest.char_indices().find_map(|(at, letter)| {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    let (inside, after) = (&rest[..end], without_arguments(&rest[end + 1..]));
    Some(match inside.split_once(" as ") {
        Some((of, name)) => {
            let (of, name) = (without_arguments(of), without_arguments(name));
            format!("<{of} as {name}>{after}")
        }
        None => without_arguments(inside) + &after,
    })
}

fn without_arguments(path: &str) -> String {
    let mut depth = 0_u32;
    let kept = path.chars().filter(|letter| {
        match letter {
            '<' => depth += 1,
            '>' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0
    });
    let kept = kept.collect::<String>().replace("::::", "::");
    kept.strip_suffix("::").unwrap_or(&kept).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [7, text.len() as u32, 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(b"raddle\0\0");
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn notes_stand_one_after_the_other() {
        let bytes = [note("unit"), note("set a::B x y")].concat();
        let expected = [(0, "unit".to_owned()), (24, "set a::B x y".to_owned())];
        assert_eq!(notes(&bytes), expected);
        assert_eq!(notes(&bytes[..30]), expected[..1]);
        assert_eq!(notes(&[0xff; 64]), []);
    }

    #[test]
    fn a_note_is_about_a_type_or_about_the_function_that_it_stands_in() {
        let mut overrides = Overrides::default();
        let mut say = |text: &str, symbol: &str| add(text, Some(symbol.into()), &mut overrides);
        say("set a::B x y", "a::_::RADDLE_NOTE");
        say("ignore a::C", "a::_::RADDLE_NOTE");
        say("ignore-fields a::D hits __0", "a::_::RADDLE_NOTE");
        say("unit", "a::B<T>::sum::_::RADDLE_NOTE");
        say("unit", "<a::B<T> as a::Trait<u8>>::go::_::RADDLE_NOTE");
        say("unit", "<a::m::B>::more::<T>::_::RADDLE_NOTE");
        say("unit", "a::B<T>::wait::{{closure}}::_::RADDLE_NOTE");
        say("ignore", "a::free::_::RADDLE_NOTE");
        say("unit", "nowhere");
        say("other a::B", "a::_::RADDLE_NOTE");
        let units = [
            "a::B::sum",
            "<a::B as a::Trait>::go",
            "a::m::B::more",
            "a::B::wait::{async_fn#0}",
        ];
        let ignored = ["a::C", "a::D::hits", "a::D::__0", "a::free"];
        assert_eq!(overrides.units, units);
        assert_eq!(overrides.ignore, ignored);
        assert_eq!(overrides.set[0].fields, ["x", "y"]);
        assert_eq!(overrides.set.len(), 1);
    }
}
