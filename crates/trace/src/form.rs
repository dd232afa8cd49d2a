//! What the binary and the text format of a trace share: every line or record is a form of
//! this list, a keyword with named fields. A new kind of event is one line here and one arm
//! in each of [`crate::unparse`] and [`crate::reparse`].

use crate::event::{Access, LockStep, Mark, Order};
use std::borrow::Cow;

/// What a field's value is.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
    /// A number, in decimal.
    Number,
    /// A site key, in hex.
    Key,
    /// Quoted text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// The shape of a record.
#[derive(Debug)]
pub struct Form {
    /// The keyword of the text format. Its number in the binary format is its place in the list.
    pub keyword: &'static str,
    /// Names and types of the fields. Fields that are 0 or empty are left out of the text.
    pub fields: &'static [(&'static str, FieldType)],
}

/// A field's value: texts are texts, everything else is a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number, a key, or the index of a word.
    Number(u64),
    /// Text.
    Text(Cow<'a, str>),
}

/// A record: the index of its form, and as many values as that has fields.
pub type Record<'a> = (usize, Vec<Value<'a>>);

use FieldType::{Key, Number, Text, Word};

const THREAD: (&str, FieldType) = ("thread", Number);
const SITE: (&str, FieldType) = ("site", Number);
const OBJECT: (&str, FieldType) = ("object", Number);
const OFFSET: (&str, FieldType) = ("offset", Number);
const NUMBER: (&str, FieldType) = ("number", Number);
const SHARED: (&str, FieldType) = ("mode", Word(&["exclusive", "shared"]));
const KEY: (&str, FieldType) = ("key", Key);
const CONTEXT: (&str, FieldType) = ("context", Key);
const FUNCTION: (&str, FieldType) = ("function", Text);
const OCCURRENCE: (&str, FieldType) = ("occurrence", Number);

macro_rules! forms {
    ($($constant:ident = $keyword:literal [$($field:expr),*];)*) => {
        forms!(@number 0; $($constant)*);
        /// All forms. Only ever append: the place in the list is a number in files.
        pub static FORMS: &[Form] = &[$(Form { keyword: $keyword, fields: &[$($field),*] },)*];
    };
    (@number $number:expr; $constant:ident $($rest:ident)*) => {
        pub const $constant: usize = $number;
        forms!(@number $number + 1; $($rest)*);
    };
    (@number $number:expr;) => {};
}

forms! {
    END = "end" [];
    BUILD = "build" [("id", Text)];
    TEST = "test" [("name", Text)];
    NAMED_THREAD = "thread" [("parent", Number), KEY, OCCURRENCE];
    HEAP = "heap" [KEY, THREAD, OCCURRENCE, ("size", Number), CONTEXT, FUNCTION];
    STATIC = "static" [("path", Text)];
    REGION = "region" [KEY, THREAD, OCCURRENCE];
    NAMED_SITE = "site" [KEY, ("file", Text), FUNCTION, ("line", Number), ("column", Number)];
    ACCESS = "access" [
        THREAD, ("kind", Word(Access::WORDS)), OBJECT, OFFSET, ("size", Number), ("value", Number),
        ("order", Word(Order::WORDS)), SITE
    ];
    FENCE = "fence" [THREAD, ("order", Word(Order::WORDS)), SITE];
    LOCK = "lock" [THREAD, ("step", Word(LockStep::WORDS)), OBJECT, OFFSET, SHARED, SITE];
    SEND_START = "send-start" [THREAD, ("other", Number), SITE];
    RECEIVE_START = "receive-start" [THREAD, ("other", Number), SITE];
    SEND_END = "send-end" [THREAD, ("other", Number), SITE];
    RECEIVE_END = "receive-end" [THREAD, ("other", Number), SITE];
    SEND_WAKE = "send-wake" [THREAD, OBJECT, OFFSET, SITE];
    RECEIVE_WAKE = "receive-wake" [THREAD, OBJECT, OFFSET, SITE];
    SEND_ITEM = "send-item" [THREAD, OBJECT, OFFSET, NUMBER, SITE];
    RECEIVE_ITEM = "receive-item" [THREAD, OBJECT, OFFSET, NUMBER, SITE];
    WAIT = "wait" [THREAD, OBJECT, OFFSET, SITE];
    ALLOC = "alloc" [THREAD, OBJECT, SITE];
    FREE = "free" [THREAD, OBJECT, OFFSET, SITE];
    ENTER = "enter" [THREAD, ("receiver", Number), OFFSET, SITE];
    LEAVE = "leave" [THREAD, SITE];
    BRANCH = "branch" [THREAD, ("way", Number), SITE];
    MARK = "mark" [THREAD, ("kind", Word(Mark::WORDS)), SITE];
    NAMED_TYPE = "type" [("name", Text)];
    TYPED = "typed" [THREAD, OBJECT, OFFSET, ("type", Number), SITE];
    UNWIND = "unwind" [THREAD, SITE];
    STACK = "stack" [FUNCTION, CONTEXT, THREAD, OCCURRENCE];
    VARIABLE = "variable" [("name", Text), FUNCTION, CONTEXT, THREAD, OCCURRENCE];
    VALUE = "value" [THREAD, OBJECT, OFFSET, ("size", Number), ("value", Number), SITE];
    NAMED_LOCK = "lock-name" [OBJECT, OFFSET, ("type", Number), ("path", Text)];
    POINTS = "points" [THREAD, OBJECT, OFFSET, ("target", Number), ("at", Number), SITE];
}
