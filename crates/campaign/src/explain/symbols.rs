//! Names for code addresses, from the executable's debug information.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use addr2line::Loader;
use raddle_trace::demangle::demangle;
use raddle_trace::finding::Place;
use raddle_trace::libraries::libraries;

use super::paths::{Owner, Paths};
use super::variables::{Variable, Variables};

/// One source frame; several may stand for one address where calls were inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Where.
    pub place: Place,
    /// Whose code it is.
    pub owner: Owner,
}

/// Looks up addresses of one executable and its instrumented libraries. The debug information
/// is loaded on first use.
pub(crate) struct Symbols {
    loader: Option<Loader>,
    libraries: Vec<(Range<u64>, Loader)>,
    paths: Paths,
    known: HashMap<u64, Vec<Frame>>,
    variables: Variables,
}

impl Symbols {
    /// Looks up addresses of `executable`; without readable debug information there are no names.
    pub fn new(executable: &Path, paths: Paths) -> Self {
        Self {
            loader: Loader::new(executable).ok(),
            libraries: libraries(executable)
                .into_iter()
                .filter_map(|library| Some((library.addresses, Loader::new(library.path).ok()?)))
                .collect(),
            paths,
            known: HashMap::new(),
            variables: Variables::new(executable),
        }
    }

    /// Knows these frames and nothing else.
    #[cfg(test)]
    pub fn known(frames: impl IntoIterator<Item = (u64, Vec<Frame>)>) -> Self {
        let paths = Paths::new(Path::new("/nowhere"), Path::new("/nowhere"));
        Self {
            loader: None,
            libraries: Vec::new(),
            paths,
            known: frames.into_iter().collect(),
            variables: Variables::new(Path::new("/nowhere")),
        }
    }

    /// How files are shown.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// What stands in a frame of the executable, by its distance from the frame pointer of the
    /// function at `code`.
    pub fn variable(&mut self, code: u64, offset: i64) -> Option<Variable> {
        self.variables.at(code, offset)
    }

    /// Source frames of a stack of return addresses, innermost first.
    pub fn stack(&mut self, addresses: &[u64]) -> Vec<Frame> {
        addresses
            .iter()
            .flat_map(|&address| self.frames(address).to_vec())
            .collect()
    }

    /// Source frames of one return address, innermost first.
    pub fn frames(&mut self, address: u64) -> &[Frame] {
        if !self.known.contains_key(&address) {
            let frames = self.look_up(address);
            self.known.insert(address, frames);
        }
        &self.known[&address]
    }

    fn look_up(&self, address: u64) -> Vec<Frame> {
        let library = self
            .libraries
            .iter()
            .find(|(addresses, _)| addresses.contains(&address))
            .map(|(_, loader)| loader);
        let Some(loader) = library.or(self.loader.as_ref()) else {
            return Vec::new();
        };
        // A return address may already belong to the next line, or the next function.
        let Ok(mut found) = loader.find_frames(address.saturating_sub(1)) else {
            return Vec::new();
        };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame
                .function
                .as_ref()
                .and_then(|function| function.raw_name().ok());
            let location = frame.location;
            let Some(function) = name.map(|name| function_path(&name)).or_else(|| {
                loader
                    .find_symbol(address.saturating_sub(1))
                    .map(function_path)
            }) else {
                continue;
            };
            let file = location
                .as_ref()
                .and_then(|location| location.file)
                .unwrap_or_default();
            let (file, owner) = self.paths.shown(file);
            frames.push(Frame {
                place: Place {
                    file,
                    line: location
                        .as_ref()
                        .and_then(|location| location.line)
                        .unwrap_or(0),
                    column: location
                        .as_ref()
                        .and_then(|location| location.column)
                        .unwrap_or(0),
                    function,
                },
                owner,
            });
        }
        frames
    }
}

/// The path of a mangled function: demangled, without hash and generic arguments.
pub(crate) fn function_path(mangled: &str) -> String {
    let path = without_generics(&demangle(mangled));
    // The two manglings differ in how they write closures and inherent methods.
    let path = path.replace("{{closure}}", "{closure}");
    match path
        .strip_prefix('<')
        .and_then(|inside| inside.split_once(">::"))
    {
        Some((receiver, method)) if !receiver.contains(" as ") => format!("{receiver}::{method}"),
        _ => path,
    }
}

/// Drops generic arguments (`Vec<T>` and `::<T>`), but keeps a leading `<T as Trait>`.
pub(crate) fn without_generics(path: &str) -> String {
    let mut result = String::with_capacity(path.len());
    let mut characters = path.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let is_argument_list = character == '<'
            && path[..at]
                .ends_with(|before: char| before.is_alphanumeric() || "_:>".contains(before));
        if !is_argument_list {
            result.push(character);
            continue;
        }
        let mut depth = 1;
        let mut previous = '<';
        for (_, character) in characters.by_ref() {
            match character {
                '<' => depth += 1,
                // An arrow (`->`) closes nothing.
                '>' if previous != '-' => depth -= 1,
                _ => {}
            }
            previous = character;
            if depth == 0 {
                break;
            }
        }
        if result.ends_with("::") {
            result.truncate(result.len() - 2);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_arguments_are_dropped() {
        for (path, expected) in [
            ("a::b", "a::b"),
            ("a::b::<u32>", "a::b"),
            ("a::b::<u32>::{closure#0}", "a::b::{closure#0}"),
            (
                "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
                "<alloc::vec::Vec as core::ops::Drop>::drop",
            ),
            ("a::c<fn() -> Vec<u8>>::d", "a::c::d"),
            (
                "core::ops::FnOnce::call_once{{vtable.shim}}",
                "core::ops::FnOnce::call_once{{vtable.shim}}",
            ),
        ] {
            assert_eq!(without_generics(path), expected, "{path}");
        }
    }

    #[test]
    fn mangled_names_lose_their_hash() {
        assert_eq!(
            function_path("_ZN4core9panicking5panic17h0123456789abcdefE"),
            "core::panicking::panic"
        );
        let v0 = "_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended";
        assert_eq!(
            function_path(v0),
            "std::sys::sync::mutex::futex::Mutex::lock_contended"
        );
    }

    /// Where the kernel put this executable.
    fn load_address() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let executable = std::env::current_exe().unwrap().display().to_string();
        let line = maps
            .lines()
            .find(|line| line.ends_with(&executable))
            .unwrap();
        u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
    }

    #[test]
    fn an_address_of_this_very_test_has_a_name() {
        let executable = std::env::current_exe().unwrap();
        let mut symbols = Symbols::new(
            &executable,
            Paths::new(Path::new("/nowhere"), Path::new("/nowhere")),
        );
        let address = load_address as fn() -> u64 as usize as u64 - load_address() + 1;
        let frames = symbols.stack(&[address, 1]);
        assert_eq!(frames.len(), 1, "{frames:?}");
        assert!(frames[0].place.function.ends_with("load_address"));
        assert!(frames[0].place.file.ends_with("src/explain/symbols.rs"));
        assert!(frames[0].place.line > 0);
    }
}
