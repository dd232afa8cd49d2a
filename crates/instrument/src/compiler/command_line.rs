//! Understands a compiler's command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::flags;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Anything but objects and programs: clang does it alone.
    Ask,
    /// Objects (`-c`).
    Compile,
    /// A program or a library, perhaps with sources among the inputs.
    Link,
}

/// One word, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A flag, with its value if that is a word of its own.
    Flag(Vec<OsString>),
    /// `-x`: the language of the inputs that follow.
    Language(OsString),
    /// `-o`.
    Output(PathBuf),
    /// A source that clang compiles, with the language that `-x` names.
    Source(PathBuf, Option<OsString>),
    /// An object, a library or anything else that is only linked.
    Other(OsString),
}

/// A compiler's command line, without the flags that are dropped.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub(super) words: Vec<Word>,
    pub(super) mode: Mode,
    pub(super) output: Option<PathBuf>,
    /// Everything as it came.
    whole: Vec<OsString>,
}

/// Flags after which no object is made.
const QUESTIONS: &[&str] = &[
    "-###",
    "-E",
    "-M",
    "-MM",
    "-S",
    "--analyze",
    "--assemble",
    "--help",
    "--precompile",
    "--preprocess",
    "--version",
    "-emit-ast",
    "-emit-llvm",
    "-fsyntax-only",
    "-rewrite-objc",
];

/// How sources end whose language is C or C++ (or C after the preprocessor).
const SOURCES: &[&str] = &[
    "c", "i", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "ii", "cppm", "ixx",
];

/// How headers end: they become precompiled headers.
const HEADERS: &[&str] = &["h", "H", "hh", "hp", "hxx", "hpp", "HPP", "h++", "tcc"];

/// Languages of `-x` that clang turns into bitcode.
const LANGUAGES: &[&str] = &[
    "c",
    "c++",
    "cpp-output",
    "c-cpp-output",
    "c++-cpp-output",
    "c++-module",
];

/// Reads a command line whose response files are expanded.
pub(super) fn parse(arguments: Vec<OsString>) -> CommandLine {
    let mut line = CommandLine {
        words: Vec::with_capacity(arguments.len()),
        mode: Mode::Link,
        output: None,
        whole: arguments.clone(),
    };
    let mut language: Option<OsString> = None;
    let (mut asks, mut compiles, mut has_input) = (false, false, false);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().unwrap_or_default().to_owned();
        if text == "-c" || text == "--compile" {
            compiles = true;
        } else if QUESTIONS.contains(&text.as_str()) || text.starts_with("-print-") {
            asks = true;
        } else if let Some(name) = value(&text, "-o", &mut arguments) {
            line.output = Some(PathBuf::from(&name));
            line.words.push(Word::Output(name.into()));
        } else if let Some(name) = value(&text, "-x", &mut arguments) {
            language = (name != "none").then(|| name.clone());
            asks |= name.to_string_lossy().ends_with("-header");
            line.words.push(Word::Language(name));
        } else if text.starts_with('-') && text != "-" {
            let mut words = vec![argument];
            if flags::takes_value(&text) {
                words.extend(arguments.next());
            }
            has_input |= text.starts_with("-l");
            if !flags::is_dropped(&text) {
                line.words.push(Word::Flag(words));
            }
        } else {
            has_input = true;
            asks |= language.is_none() && ends_with(&argument, HEADERS);
            line.words.push(input(argument, language.as_ref()));
        }
    }
    line.mode = if asks || !has_input {
        Mode::Ask
    } else if compiles {
        Mode::Compile
    } else {
        Mode::Link
    };
    line
}

/// The value of a flag that may be joined to it.
fn value(
    text: &str,
    flag: &str,
    arguments: &mut impl Iterator<Item = OsString>,
) -> Option<OsString> {
    match text.strip_prefix(flag)? {
        "" => arguments.next(),
        joined => Some(joined.into()),
    }
}

fn writes_dependencies(words: &[OsString]) -> bool {
    let text = words.first().and_then(|word| word.to_str());
    text.is_some_and(|text| text.starts_with("-M") || text.starts_with("-Wp,-M"))
}

fn ends_with(path: &OsStr, endings: &[&str]) -> bool {
    let ending = Path::new(path).extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| endings.contains(&ending))
}

fn input(argument: OsString, language: Option<&OsString>) -> Word {
    let is_source = match language {
        Some(language) => LANGUAGES.iter().any(|known| language == known),
        None => ends_with(&argument, SOURCES),
    };
    match (is_source, language) {
        (true, language) => Word::Source(argument.into(), language.cloned()),
        // Assembler with an explicit language: clang compiles it as the words say.
        (false, _) => Word::Other(argument),
    }
}

impl CommandLine {
    /// All words, for a clang that does everything by itself. Only what clang does not know
    /// is missing.
    pub(super) fn unchanged(&self) -> Vec<OsString> {
        let kept = self.whole.iter().filter(|argument| {
            !argument
                .to_str()
                .is_some_and(|text| flags::is_dropped(text) && !self.follows_flag(argument))
        });
        flags::TOLERANT
            .iter()
            .map(OsString::from)
            .chain(kept.cloned())
            .collect()
    }

    /// Whether a word is the value of a flag: `-Xlinker -s` is not `-s`.
    fn follows_flag(&self, word: &OsString) -> bool {
        self.words.iter().any(|known| match known {
            Word::Flag(words) => words.get(1) == Some(word),
            _ => false,
        })
    }

    /// The flags alone, in order.
    pub(super) fn flags(&self) -> impl Iterator<Item = &OsString> {
        self.words.iter().flat_map(|word| match word {
            Word::Flag(words) => words.as_slice(),
            _ => &[],
        })
    }

    /// The flags without those that write files of dependencies.
    pub(super) fn flags_without_dependencies(&self) -> impl Iterator<Item = &OsString> {
        self.words.iter().flat_map(|word| match word {
            Word::Flag(words) if !writes_dependencies(words) => words.as_slice(),
            _ => &[],
        })
    }

    /// Whether there is this flag.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.words.iter().any(|word| match word {
            Word::Flag(words) => words.first().is_some_and(|first| first == flag),
            _ => false,
        })
    }

    /// The sources, with their languages.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&Path, Option<&OsString>)> {
        self.words.iter().filter_map(|word| match word {
            Word::Source(path, language) => Some((path.as_path(), language.as_ref())),
            _ => None,
        })
    }

    /// A flag that asks for code of another machine.
    pub(super) fn foreign_machine(&self) -> Option<String> {
        if self.mode == Mode::Ask {
            return None;
        }
        self.words.iter().find_map(|word| {
            let Word::Flag(words) = word else { return None };
            let text: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            let text = text.join(" ");
            let target = text
                .strip_prefix("--target=")
                .or_else(|| text.strip_prefix("--target "))
                .or_else(|| text.strip_prefix("-target "));
            let is_foreign = matches!(text.as_str(), "-m32" | "-mx32" | "-m16")
                || target
                    .is_some_and(|target| !target.starts_with("x86_64") || target.ends_with("x32"));
            is_foreign.then_some(text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, Mode, Word, parse};

    fn check(line: &str) -> CommandLine {
        parse(line.split_whitespace().map(Into::into).collect())
    }

    #[test]
    fn modes_are_told_apart() {
        for (line, mode) in [
            ("--version", Mode::Ask),
            ("-v", Mode::Ask),
            ("-print-prog-name=ld", Mode::Ask),
            ("-E a.c", Mode::Ask),
            ("-S a.c -o a.s", Mode::Ask),
            ("-MM a.c", Mode::Ask),
            ("-x c-header a.h", Mode::Ask),
            ("a.h", Mode::Ask),
            ("-c a.c", Mode::Compile),
            ("-MD -MF a.d -c -o a.o a.c", Mode::Compile),
            ("-c -x c -", Mode::Compile),
            ("a.c", Mode::Link),
            ("-o x a.o -lpthread", Mode::Link),
            ("-o x.o", Mode::Ask),
        ] {
            assert_eq!(check(line).mode, mode, "{line}");
        }
    }

    #[test]
    fn inputs_are_told_from_values() {
        let line = check("-I include -include a.h -o out.o -x c - -x none b.o -Lx c.cpp d.s");
        let sources: Vec<_> = line
            .sources()
            .map(|(path, language)| (path.to_str().unwrap_or(""), language.is_some()))
            .collect();
        assert_eq!(sources, [("-", true), ("c.cpp", false)]);
        assert!(line.words.contains(&Word::Other("b.o".into())));
        assert!(line.words.contains(&Word::Other("d.s".into())));
        assert_eq!(line.output.as_deref(), Some("out.o".as_ref()));
    }

    #[test]
    fn what_clang_does_not_know_is_dropped_everywhere() {
        let line = check("-E -fno-tree-vectorize -Xlinker -s a.c");
        let unchanged = line.unchanged();
        assert!(!unchanged.contains(&"-fno-tree-vectorize".into()));
        assert!(unchanged.contains(&"-s".into()));
        assert!(!check("-c -flto a.c").has("-flto"));
    }

    #[test]
    fn flags_that_write_dependencies_can_be_left_out() {
        let line = check("-O2 -MD -MF a.d -MT x -Wp,-MD,b.d -DX -c a.c");
        let flags: Vec<_> = line.flags_without_dependencies().collect();
        assert_eq!(flags, ["-O2", "-DX"]);
    }

    #[test]
    fn other_machines_are_seen() {
        assert_eq!(
            check("-m32 -c a.c").foreign_machine().as_deref(),
            Some("-m32")
        );
        assert!(
            check("-target aarch64-linux-gnu -c a.c")
                .foreign_machine()
                .is_some()
        );
        assert!(
            check("--target=x86_64-linux-gnu -c a.c")
                .foreign_machine()
                .is_none()
        );
        assert!(check("-m64 -c a.c").foreign_machine().is_none());
    }
}
