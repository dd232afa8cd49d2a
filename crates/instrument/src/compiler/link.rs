//! Links programs and libraries with the runtime, as clang's driver would without it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use xxhash_rust::xxh3::xxh3_64;

use super::clang::Clang;
use super::command_line::{CommandLine, Word};
use super::compile::{Source, default_object};
use super::{Error, Language, flags};
use crate::environment::Environment;
use crate::linker;
use crate::machine_code::synchronises;

/// Shared libraries are linked for addresses from here on: above programs and their heap,
/// and below 4 GiB, so that the 32 bits of a site's name suffice in them too.
const LIBRARIES: u64 = 0x9000_0000;
/// Room for one library.
const LIBRARY_SIZE: u64 = 32 << 20;
/// How many of them there is room for.
const LIBRARY_COUNT: u64 = 48;

/// What is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Product {
    Program,
    Library,
    /// An object of several objects (`-r`).
    Object,
}

/// Compiles the sources among the inputs into a directory of their own, and links.
pub(super) fn run(
    clang: &Clang,
    language: Language,
    line: &CommandLine,
    environment: &Environment,
) -> Result<ExitCode, Error> {
    let product = product(line);
    if let Some(flag) = ["-static", "-static-pie", "--static"]
        .iter()
        .find(|flag| line.has(flag) && product == Product::Program)
    {
        return Err(Error::Static((*flag).to_owned()));
    }
    let directory = Temporary::create(&environment.objects)?;
    let mut objects = Vec::new();
    for (index, (source, named)) in line.sources().enumerate() {
        let object = directory.0.join(format!("{index}.o"));
        let source = Source {
            path: source,
            language: named,
            output: &object,
            extra: &dependencies(line, source),
        };
        let code = source.compile(clang, language, line, environment)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
        objects.push(object);
    }
    let arguments = arguments(line, product, &objects, environment);
    let command = clang.command(language);
    let code = linker::call(command, &arguments, &directory.0.join("arguments"))?;
    if product != Product::Object && code == ExitCode::SUCCESS {
        note_synchronising(line)?;
    }
    Ok(code)
}

/// Leaves a note beside a program or library for the objects and archives in it that were not
/// instrumented and can synchronise threads.
fn note_synchronising(line: &CommandLine) -> Result<(), linker::Error> {
    let output = line.output.as_deref().unwrap_or(Path::new("a.out"));
    let inputs = line.words.iter().filter_map(|word| match word {
        Word::Other(input) => Some(Path::new(input)),
        _ => None,
    });
    let names: Vec<String> = inputs
        .filter(|input| std::fs::read(input).is_ok_and(|file| synchronises(&file)))
        .map(|input| format!("{}\n", input.display()))
        .collect();
    let path = notes_beside(output);
    let result = match names.is_empty() {
        true if path.exists() => std::fs::remove_file(&path),
        true => Ok(()),
        false => std::fs::write(&path, names.concat()),
    };
    result.map_err(|error| linker::Error::File {
        action: "write",
        path,
        error,
    })
}

/// The file beside a program or library that names what can synchronise in it unseen.
pub(crate) fn notes_beside(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".raddle-native");
    path.into()
}

fn product(line: &CommandLine) -> Product {
    if ["-r", "-Wl,-r", "--relocatable", "-Wl,--relocatable"]
        .iter()
        .any(|flag| line.has(flag))
    {
        Product::Object
    } else if ["-shared", "--shared"].iter().any(|flag| line.has(flag)) {
        Product::Library
    } else {
        Product::Program
    }
}

/// The linker's arguments: the runtime comes first, because it has to come before libc in the
/// list of needed libraries.
fn arguments(
    line: &CommandLine,
    product: Product,
    objects: &[PathBuf],
    environment: &Environment,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = flags::TOLERANT.iter().map(Into::into).collect();
    if product != Product::Object {
        arguments.extend(["-Wl,--push-state", "-Wl,--no-as-needed"].map(OsString::from));
        arguments.push(environment.library().into_os_string());
        arguments.push("-Wl,--pop-state".into());
    }
    match product {
        Product::Program => arguments.push("-no-pie".into()),
        Product::Library => arguments.push(base(line).into()),
        Product::Object => {}
    }
    let mut objects = objects.iter();
    for word in &line.words {
        match word {
            Word::Flag(words) if is_position(words) => {}
            Word::Flag(words) => arguments.extend(words.iter().cloned()),
            // Of the inputs whose language `-x` names only sources are left, and these are
            // objects by now.
            Word::Language(name) => {
                let is_assembler = name.to_string_lossy().starts_with("assembler");
                let name = if is_assembler {
                    name.clone()
                } else {
                    "none".into()
                };
                arguments.extend(["-x".into(), name]);
            }
            Word::Output(path) => arguments.extend(["-o".into(), path.clone().into()]),
            Word::Source(..) => {
                arguments.extend(objects.next().map(|object| object.clone().into()));
            }
            Word::Other(input) => arguments.push(input.clone()),
        }
    }
    arguments
}

/// Whether a flag says where a program is loaded, which is our choice.
fn is_position(words: &[OsString]) -> bool {
    let is = |word: &OsString| {
        [
            "-pie",
            "-no-pie",
            "--pie",
            "--no-pie",
            "-nopie",
            "-Wl,-pie",
            "-Wl,--pie",
            "-Wl,-no-pie",
        ]
        .iter()
        .any(|flag| word == flag)
    };
    words.first().is_some_and(is)
}

/// The flag for the address that a library is linked for. The loader puts it there if nothing
/// else is there, so the address of a site is its name, as in programs. It is made of the
/// library's name, so that two of one program rarely want the same.
fn base(line: &CommandLine) -> String {
    let output = line.output.as_deref().unwrap_or(Path::new("a.out"));
    let name = output.file_name().unwrap_or_default();
    let index = xxh3_64(name.as_encoded_bytes()) % LIBRARY_COUNT;
    let address = LIBRARIES + index * LIBRARY_SIZE;
    let linker = line.words.iter().rev().find_map(|word| match word {
        Word::Flag(words) => words
            .first()?
            .to_str()?
            .strip_prefix("-fuse-ld=")
            .map(str::to_owned),
        _ => None,
    });
    let is_lld = linker.is_some_and(|name| name.contains("lld") || name.contains("mold"));
    let flag = if is_lld {
        "--image-base"
    } else {
        "-Ttext-segment"
    };
    format!("-Wl,{flag}={address:#x}")
}

/// With `-MD` and without `-MF` clang names the dependency file after the object, which has a
/// name of ours when compiling and linking are one command.
fn dependencies(line: &CommandLine, source: &Path) -> Vec<OsString> {
    if !line.has("-MD") && !line.has("-MMD") {
        return Vec::new();
    }
    let object = default_object(source);
    let mut flags = Vec::new();
    if !line.has("-MF") {
        let stem = line.output.clone().unwrap_or_else(|| object.clone());
        flags.extend(["-MF".into(), stem.with_extension("d").into_os_string()]);
    }
    if !line.has("-MT") && !line.has("-MQ") {
        flags.extend(["-MT".into(), object.into_os_string()]);
    }
    flags
}

/// A directory that vanishes with it.
struct Temporary(PathBuf);

impl Temporary {
    fn create(parent: &Path) -> Result<Self, linker::Error> {
        let path = parent.join(format!("compile-{}", std::process::id()));
        match std::fs::create_dir_all(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err(linker::Error::File {
                action: "write",
                path,
                error,
            }),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What is left costs space only.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Product, arguments, dependencies, product};
    use crate::compiler::command_line::{CommandLine, parse};
    use crate::environment::Environment;

    fn line(text: &str) -> CommandLine {
        parse(text.split_whitespace().map(Into::into).collect())
    }

    fn check(text: &str) -> Vec<String> {
        let line = line(text);
        let environment = Environment {
            runtime: "/rt".into(),
            sysroot: "/sysroot".into(),
            objects: "/objects".into(),
        };
        let objects: Vec<PathBuf> = line
            .sources()
            .enumerate()
            .map(|(index, _)| format!("/t/{index}.o").into())
            .collect();
        arguments(&line, product(&line), &objects, &environment)
            .iter()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn programs_get_the_runtime_before_everything_and_a_fixed_address() {
        let words = check("-pie -x c a.c -x none b.o -o x -lm");
        let at = |word: &str| words.iter().position(|own| own == word);
        assert!(at("/rt/libraddle_runtime.so") < at("/t/0.o"));
        assert!(at("/t/0.o") < at("b.o") && at("b.o") < at("-lm"));
        assert!(at("-no-pie").is_some() && at("-pie").is_none());
        assert!(at("a.c").is_none() && at("c").is_none());
    }

    #[test]
    fn libraries_are_linked_for_an_address_of_their_own() {
        let base = |text: &str| {
            let words = check(text);
            let flag = words.iter().find(|word| word.contains("0x")).cloned();
            flag.expect("an address")
        };
        let one = base("-shared -o lib/liba.so a.o");
        assert_eq!(one, base("-shared -o other/liba.so a.o -fPIC"));
        assert_ne!(one, base("-shared -o lib/libb.so a.o"));
        assert!(one.starts_with("-Wl,-Ttext-segment=0x"));
        assert!(base("-shared -fuse-ld=lld -o liba.so a.o").starts_with("-Wl,--image-base=0x"));
    }

    #[test]
    fn partial_links_stay_as_they_are() {
        let words = check("-nostdlib -r -o x.o a.o b.o");
        assert!(!words.iter().any(|word| word.contains("raddle")));
        assert_eq!(product(&line("-r a.o")), Product::Object);
    }

    #[test]
    fn dependency_files_are_named_as_if_there_were_no_object_of_ours() {
        let words = dependencies(&line("-MD -o prog a.c"), Path::new("src/a.c"));
        assert_eq!(words, ["-MF", "prog.d", "-MT", "a.o"]);
        assert!(dependencies(&line("-o prog a.c"), Path::new("a.c")).is_empty());
    }
}
