//! The text format of traces, for people and for tests: one line per record, a keyword and
//! then fields by name. Fields that are 0 or empty may be left out; `#` begins a comment.
//!
//! ```text
//! raddle trace 2
//! build id "5b0f3c"
//! test name "tests::push"
//! thread
//! thread parent 1 key 00f1e2d3c4b5a697
//! heap key 8a7b6c5d4e3f2a1b thread 0 size 16
//! site key 1 file "src/lib.rs" function "a::push" line 3
//! send-start other 1
//! access thread 1 kind write object 0 offset 8 size 4 value 7 site 1
//! end
//! ```
//!
//! Threads and objects count from 0. Where a reference may be missing (`parent`, `receiver`,
//! `site`), it counts from 1.

use crate::event::Trace;
use crate::form::{FORMS, FieldType, Form, Record, Value};
use crate::reparse::Builder;
use crate::unparse;
use std::borrow::Cow;
use std::fmt::Write;

const MAGIC: &str = "raddle trace";
/// Version of the format.
pub const VERSION: u32 = 2;

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The first line is another.
    #[error("this is not a trace of Raddle")]
    NotATrace,
    /// It was written by another version.
    #[error("the trace has version {0}, but only version {VERSION} can be read")]
    Version(String),
    /// A line makes no sense.
    #[error("line {line}: {problem}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The last line is missing.
    #[error("the trace has no line `end`")]
    CutOff,
}

/// The text of a trace.
pub fn write(trace: &Trace) -> String {
    let mut text = format!("{MAGIC} {VERSION}\n");
    // Writing to a string cannot fail.
    let _ = unparse::records(trace, |record| write_record(&mut text, &record));
    text
}

fn write_record(text: &mut String, (form, values): &Record<'_>) -> std::fmt::Result {
    let shape = &FORMS[*form];
    text.write_str(shape.keyword)?;
    for ((name, field_type), value) in shape.fields.iter().zip(values) {
        match (value, field_type) {
            (Value::Number(0), FieldType::Number | FieldType::Key) => {}
            (Value::Number(number), FieldType::Key) => write!(text, " {name} {number:016x}")?,
            (Value::Number(number), FieldType::Word(words)) => {
                let word = usize::try_from(*number)
                    .ok()
                    .and_then(|index| words.get(index));
                write!(text, " {name} {}", word.unwrap_or(&"unknown"))?;
            }
            (Value::Number(number), _) => write!(text, " {name} {number}")?,
            (Value::Text(value), _) if value.is_empty() => {}
            (Value::Text(value), _) => write!(text, " {name} {}", quote(value))?,
        }
    }
    text.write_char('\n')
}

/// Reads a trace from its text.
///
/// # Errors
///
/// If it is something else, damaged, cut off, or of another version.
pub fn parse(text: &str) -> Result<Trace, TextError> {
    let mut lines = text.split('\n').enumerate();
    let header = lines.next().map_or("", |(_, line)| line.trim_end());
    let version = header
        .strip_prefix(MAGIC)
        .ok_or(TextError::NotATrace)?
        .trim();
    if version.parse() != Ok(VERSION) {
        return Err(TextError::Version(version.into()));
    }
    let mut builder = Builder::default();
    for (index, line) in lines {
        let problem = |problem| TextError::Line {
            line: index + 1,
            problem,
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let record = parse_record(line).map_err(problem)?;
        if builder.add(record).map_err(problem)? {
            return Ok(builder.finish());
        }
    }
    Err(TextError::CutOff)
}

fn parse_record(line: &str) -> Result<Record<'_>, String> {
    let (keyword, mut rest) = split_word(line);
    let form = FORMS
        .iter()
        .position(|form| form.keyword == keyword)
        .ok_or_else(|| format!("`{keyword}` is not known here"))?;
    let shape = &FORMS[form];
    let mut values: Vec<_> = shape
        .fields
        .iter()
        .map(|(_, kind)| missing(*kind))
        .collect();
    let mut seen = vec![false; values.len()];
    while !rest.is_empty() && !rest.starts_with('#') {
        let (name, after) = split_word(rest);
        let index = field(shape, name)?;
        if std::mem::replace(&mut seen[index], true) {
            return Err(format!("there is a second `{name}`"));
        }
        let (value, after) = parse_value(shape.fields[index].1, name, after)?;
        values[index] = value;
        rest = after;
    }
    Ok((form, values))
}

/// The value of a field that is left out.
const fn missing<'a>(field_type: FieldType) -> Value<'a> {
    match field_type {
        FieldType::Text => Value::Text(Cow::Borrowed("")),
        _ => Value::Number(0),
    }
}

fn field(shape: &Form, name: &str) -> Result<usize, String> {
    let position = shape.fields.iter().position(|(field, _)| *field == name);
    position.ok_or_else(|| format!("`{}` has no field `{name}`", shape.keyword))
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn parse_value<'a>(
    field_type: FieldType,
    name: &str,
    text: &'a str,
) -> Result<(Value<'a>, &'a str), String> {
    if matches!(field_type, FieldType::Text) {
        let (text, rest) =
            unquote(text).ok_or_else(|| format!("the value of `{name}` is not quoted"))?;
        return Ok((Value::Text(Cow::Owned(text)), rest.trim_start()));
    }
    let (word, rest) = split_word(text);
    let number = match field_type {
        FieldType::Key => u64::from_str_radix(word, 16).ok(),
        FieldType::Word(words) => words
            .iter()
            .position(|known| *known == word)
            .map(|index| index as u64),
        _ => word.parse().ok(),
    };
    match number {
        Some(number) => Ok((Value::Number(number), rest)),
        None => Err(format!("`{word}` is not a value of `{name}`")),
    }
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The text between the quotes at the start of `text`, and what follows them.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut unquoted = String::new();
    let mut characters = text.strip_prefix('"')?.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((unquoted, &text[index + 2..])),
            '\\' => unquoted.push(match characters.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                other => other,
            }),
            other => unquoted.push(other),
        }
    }
    None
}
