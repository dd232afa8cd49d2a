//! Understands the command line that rustc gives to a linker.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::Error;

/// One argument, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// An object file.
    Object(PathBuf),
    /// A static library.
    Archive(PathBuf),
    /// A library by name, and whether a static one is wanted.
    Library {
        /// As after `-l`.
        name: String,
        /// Whether `-Bstatic` is in force.
        prefer_static: bool,
    },
    /// Position-independent, or not: always replaced by our choice.
    Pie,
    /// Anything else, passed on.
    Other(OsString),
}

/// What is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputKind {
    /// A program.
    Executable,
    /// A dynamic library.
    Shared,
}

/// A linker's command line.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub(super) arguments: Vec<Argument>,
    pub(super) directories: Vec<PathBuf>,
    pub(super) output: PathBuf,
    pub(super) kind: OutputKind,
    /// Whether the C library is linked statically.
    pub(super) is_static: bool,
}

/// Reads a command line, response files included.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<CommandLine, Error> {
    let arguments = expand(arguments)?;
    let mut line = CommandLine {
        arguments: Vec::with_capacity(arguments.len()),
        directories: Vec::new(),
        output: PathBuf::from("a.out"),
        kind: OutputKind::Executable,
        is_static: false,
    };
    let mut prefer_static = false;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().unwrap_or_default().to_owned();
        match text.as_str() {
            "-o" => {
                line.arguments.push(Argument::Other(argument));
                if let Some(output) = arguments.next() {
                    line.output = PathBuf::from(&output);
                    line.arguments.push(Argument::Other(output));
                }
            }
            "-L" => {
                line.arguments.push(Argument::Other(argument));
                if let Some(directory) = arguments.next() {
                    line.directories.push(PathBuf::from(&directory));
                    line.arguments.push(Argument::Other(directory));
                }
            }
            "-l" => {
                if let Some(name) = arguments.next().and_then(|name| name.into_string().ok()) {
                    line.arguments.push(Argument::Library {
                        name,
                        prefer_static,
                    });
                }
            }
            "-pie" | "-no-pie" | "--pie" | "--no-pie" => line.arguments.push(Argument::Pie),
            "-static" | "-static-pie" => {
                line.is_static = true;
                line.arguments.push(Argument::Other(argument));
            }
            "-shared" | "--shared" => {
                line.kind = OutputKind::Shared;
                line.arguments.push(Argument::Other(argument));
            }
            _ if is_plugin_option(&text) => {}
            _ if text.starts_with("-Wl,") && text.contains("plugin-opt") => {
                if let Some(kept) = without_plugin_options(&text) {
                    line.arguments.push(Argument::Other(kept.into()));
                }
            }
            _ => {
                match text.trim_start_matches("-Wl,") {
                    "-Bstatic" => prefer_static = true,
                    "-Bdynamic" => prefer_static = false,
                    _ => {}
                }
                if let Some(directory) = text.strip_prefix("-L") {
                    line.directories.push(PathBuf::from(directory));
                }
                line.arguments.push(classify(argument, prefer_static));
            }
        }
    }
    Ok(line)
}

fn classify(argument: OsString, prefer_static: bool) -> Argument {
    let text = argument.to_str().unwrap_or_default();
    if let Some(name) = text.strip_prefix("-l") {
        return Argument::Library {
            name: name.to_owned(),
            prefer_static,
        };
    }
    if text.starts_with('-') {
        return Argument::Other(argument);
    }
    match Path::new(&argument).extension().and_then(OsStr::to_str) {
        Some("o" | "bc") => Argument::Object(argument.into()),
        Some("rlib" | "a") => Argument::Archive(argument.into()),
        _ => Argument::Other(argument),
    }
}

/// Options for the linker's own LTO, which has nothing left to do.
fn is_plugin_option(text: &str) -> bool {
    text.trim_start_matches('-').starts_with("plugin-opt") && text.starts_with('-')
}

fn without_plugin_options(text: &str) -> Option<String> {
    let kept: Vec<_> = text
        .trim_start_matches("-Wl,")
        .split(',')
        .filter(|part| !is_plugin_option(part))
        .collect();
    (!kept.is_empty()).then(|| format!("-Wl,{}", kept.join(",")))
}

/// Replaces `@file` by the arguments in the file, which may name further files. What cannot
/// be read stays as it is, and the program that gets it complains.
pub(crate) fn expand(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Vec<OsString>, Error> {
    /// A file that names itself must come to an end.
    const DEEPEST: usize = 32;
    let mut expanded = Vec::new();
    expand_into(arguments, DEEPEST, &mut expanded)?;
    Ok(expanded)
}

fn expand_into(
    arguments: impl IntoIterator<Item = OsString>,
    depth: usize,
    expanded: &mut Vec<OsString>,
) -> Result<(), Error> {
    for argument in arguments {
        let path = argument.to_str().and_then(|text| text.strip_prefix('@'));
        let Some(path) = path.filter(|path| Path::new(path).is_file()) else {
            expanded.push(argument);
            continue;
        };
        let path = PathBuf::from(path);
        if depth == 0 {
            return Err(Error::Nested(path));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| Error::File {
            action: "read",
            path,
            error,
        })?;
        let inner = split(&text).into_iter().map(OsString::from);
        expand_into(inner.collect::<Vec<_>>(), depth - 1, expanded)?;
    }
    Ok(())
}

/// Splits the text of a response file, as GNU tools do.
fn split(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => {
                let escaped = characters.next();
                current.get_or_insert_default().extend(escaped);
            }
            (mark, Some(open)) if mark == open => quote = None,
            ('"' | '\'', None) => {
                current.get_or_insert_default();
                quote = Some(character);
            }
            (space, None) if space.is_whitespace() => arguments.extend(current.take()),
            _ => current.get_or_insert_default().push(character),
        }
    }
    arguments.extend(current);
    arguments
}

/// One argument as text for a response file.
pub(super) fn escape(argument: &OsStr) -> String {
    let mut escaped = String::new();
    for character in argument.to_string_lossy().chars() {
        if character == '\\' || character == '"' || character == '\'' || character.is_whitespace() {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{Argument, OutputKind, escape, parse, split};

    fn check(line: &str) -> super::CommandLine {
        parse(line.split(' ').map(Into::into)).expect("no response files")
    }

    #[test]
    fn inputs_are_told_apart() {
        let line = check("-m64 a.rcgu.o libb.rlib -Wl,-Bstatic -l c -Wl,-Bdynamic -ld -o out/x");
        assert_eq!(line.output.to_str(), Some("out/x"));
        assert_eq!(line.kind, OutputKind::Executable);
        let inputs: Vec<_> = line
            .arguments
            .into_iter()
            .filter(|argument| !matches!(argument, Argument::Other(_)))
            .collect();
        assert_eq!(
            inputs,
            [
                Argument::Object("a.rcgu.o".into()),
                Argument::Archive("libb.rlib".into()),
                Argument::Library {
                    name: "c".into(),
                    prefer_static: true
                },
                Argument::Library {
                    name: "d".into(),
                    prefer_static: false
                },
            ]
        );
    }

    #[test]
    fn options_of_the_linkers_own_lto_are_dropped() {
        let line = check(
            "-Wl,-plugin-opt=O1,-plugin-opt=mcpu=x86-64 -plugin-opt=O1 -Wl,-plugin-opt=O1,-z,now",
        );
        assert_eq!(line.arguments, [Argument::Other("-Wl,-z,now".into())]);
    }

    #[test]
    fn the_kind_of_output_is_seen() {
        assert_eq!(check("-shared a.o").kind, OutputKind::Shared);
        assert!(check("-static-pie a.o").is_static);
        assert_eq!(check("-pie").arguments, [Argument::Pie]);
    }

    #[test]
    fn directories_are_collected() {
        let line = check("-L one -Ltwo");
        assert_eq!(
            line.directories,
            [std::path::Path::new("one"), std::path::Path::new("two")]
        );
    }

    #[test]
    fn response_files_are_split_and_escaped_alike() {
        assert_eq!(
            split("a b\\ c \"d e\" 'f'\n\"\""),
            ["a", "b c", "d e", "f", ""]
        );
        let argument = "we ird\\\"path'";
        assert_eq!(split(&escape(argument.as_ref())), [argument]);
    }

    #[test]
    fn response_files_are_expanded() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("arguments");
        std::fs::write(&file, "-o\nmy\\ program\nx.o\n").expect("a written file");
        let line = parse([format!("@{}", file.display()).into()]).expect("a command line");
        assert_eq!(line.output.to_str(), Some("my program"));
        let line = parse(["@/nonexistent".into()]).expect("a command line");
        assert_eq!(line.arguments, [Argument::Other("@/nonexistent".into())]);
        std::fs::write(&file, format!("@{}", file.display())).expect("a written file");
        assert!(parse([format!("@{}", file.display()).into()]).is_err());
    }
}
