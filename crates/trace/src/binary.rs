//! The binary format of traces: magic, version, records, and a hash of all that.
//!
//! A record is the number of its form (see `form.rs`) and its fields: numbers as LEB128,
//! texts as length and bytes. The reader survives any input: it never panics, and allocates
//! no more than a small multiple of the input's size.

use crate::event::Trace;
use crate::form::{FORMS, FieldType, Record, Value};
use crate::reparse::Builder;
use crate::unparse;
use std::borrow::Cow;

/// The first bytes of a file.
pub const MAGIC: &[u8; 8] = b"RADDLETR";
/// Version of the format.
pub const VERSION: u32 = 2;

/// Why a trace cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// The first bytes are others.
    #[error("this is not a trace of Raddle")]
    NotATrace,
    /// It was written by another version.
    #[error("the trace has version {0}, but only version {VERSION} can be read; record it again")]
    Version(u32),
    /// Something makes no sense.
    #[error("the trace is damaged at offset {offset}: {problem}")]
    Damaged {
        /// Bytes from the start of the file.
        offset: usize,
        /// What is wrong.
        problem: String,
    },
    /// The end is missing.
    #[error("the trace was cut off at offset {0}")]
    CutOff(usize),
}

/// The bytes of a trace.
pub fn write(trace: &Trace) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    let written: Result<(), std::convert::Infallible> =
        unparse::records(trace, |(form, values)| {
            put_number(&mut bytes, form as u64);
            for value in values {
                match value {
                    Value::Number(number) => put_number(&mut bytes, number),
                    Value::Text(text) => {
                        put_number(&mut bytes, text.len() as u64);
                        bytes.extend(text.as_bytes());
                    }
                }
            }
            Ok(())
        });
    let Ok(()) = written;
    let hash = hash(&bytes);
    bytes.extend(hash.to_le_bytes());
    bytes
}

/// Reads a trace from its bytes.
///
/// # Errors
///
/// If it is something else, damaged, cut off, or of another version.
pub fn read(bytes: &[u8]) -> Result<Trace, BinaryError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(BinaryError::NotATrace)?;
    let (version, rest) = rest
        .split_first_chunk()
        .ok_or(BinaryError::CutOff(bytes.len()))?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(BinaryError::Version(version));
    }
    let mut reader = Reader { all: bytes, rest };
    let mut builder = Builder::default();
    loop {
        let offset = reader.offset();
        let record = reader.record()?;
        if builder
            .add(record)
            .map_err(|problem| BinaryError::Damaged { offset, problem })?
        {
            break;
        }
    }
    let end = reader.offset();
    match reader.rest.split_first_chunk() {
        None => Err(BinaryError::CutOff(bytes.len())),
        Some((expected, _)) if u64::from_le_bytes(*expected) != hash(&bytes[..end]) => {
            let problem = "its contents do not fit its hash".into();
            Err(BinaryError::Damaged {
                offset: end,
                problem,
            })
        }
        Some((_, rest)) if !rest.is_empty() => {
            let problem = "something follows its end".into();
            Err(BinaryError::Damaged {
                offset: bytes.len() - rest.len(),
                problem,
            })
        }
        Some(_) => Ok(builder.finish()),
    }
}

struct Reader<'a> {
    all: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn offset(&self) -> usize {
        self.all.len() - self.rest.len()
    }

    fn damaged<T>(&self, problem: &str) -> Result<T, BinaryError> {
        Err(BinaryError::Damaged {
            offset: self.offset(),
            problem: problem.into(),
        })
    }

    fn record(&mut self) -> Result<Record<'a>, BinaryError> {
        let form = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let Some(shape) = FORMS.get(form) else {
            return self.damaged("there is no such kind of record");
        };
        let mut values = Vec::with_capacity(shape.fields.len());
        for (_, field_type) in shape.fields {
            values.push(match field_type {
                FieldType::Text => Value::Text(Cow::Borrowed(self.text()?)),
                _ => Value::Number(self.number()?),
            });
        }
        Ok((form, values))
    }

    fn number(&mut self) -> Result<u64, BinaryError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = self.rest.split_first() else {
                return Err(BinaryError::CutOff(self.all.len()));
            };
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return self.damaged("a number is too large");
            }
            self.rest = rest;
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        self.damaged("a number is too long")
    }

    fn text(&mut self) -> Result<&'a str, BinaryError> {
        let len = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let Some((text, rest)) = self.rest.split_at_checked(len) else {
            return Err(BinaryError::CutOff(self.all.len()));
        };
        match std::str::from_utf8(text) {
            Ok(text) => {
                self.rest = rest;
                Ok(text)
            }
            Err(_) => self.damaged("a text is not UTF-8"),
        }
    }
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// FNV-1a: enough to notice accidents.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
