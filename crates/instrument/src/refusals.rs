//! Modules without hooks, because LLVM refused them: their objects name themselves in a section,
//! and linkers put these together.

use std::path::Path;

use object::{Object as _, ObjectSection as _};

use crate::unseen::libraries;

/// The section. It is not loaded.
const SECTION: &str = ".raddle.refused";

/// Assembly that names a module.
pub(crate) fn note(module: &str) -> String {
    let name: String = module
        .chars()
        .map(|character| match character {
            '"' | '\\' => '_',
            character if character.is_control() => '_',
            character => character,
        })
        .collect();
    format!(".pushsection {SECTION},\"\",@progbits\n.asciz \"{name}\"\n.popsection\n")
}

/// Sources of a program, and of its shared libraries, that `raddle cc` compiled without hooks
/// because LLVM refused them.
pub fn refused_sources(exe: &Path) -> Vec<String> {
    let mut names = named_in(exe);
    for (_, path) in libraries(exe) {
        names.extend(named_in(Path::new(&path)));
    }
    names.sort();
    names.dedup();
    names
}

fn named_in(file: &Path) -> Vec<String> {
    let Ok(content) = std::fs::read(file) else {
        return Vec::new();
    };
    named_by(&content)
}

fn named_by(content: &[u8]) -> Vec<String> {
    let section = object::File::parse(content)
        .ok()
        .and_then(|file| {
            file.section_by_name(SECTION)?
                .data()
                .ok()
                .map(<[u8]>::to_vec)
        })
        .unwrap_or_default();
    let names = section.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::{self, tests};

    #[test]
    fn an_object_without_hooks_names_itself() {
        tests::load_llvm();
        for (name, shown) in [("a b.c", "a b.c"), ("q\"\\\n.c", "q___.c")] {
            let bitcode = tests::compile("pub fn f() -> u32 { 1 }", "x", &[]);
            let object = passes::compile(&bitcode, name).expect("an object");
            assert_eq!(named_by(&object), [shown]);
        }
        assert!(named_by(b"no object").is_empty());
    }
}
