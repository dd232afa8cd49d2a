//! The literal that the bytes of a test come to, for a test that people read. It takes the bytes as the
//! harness does.

use std::collections::BTreeMap;

use crate::constants::{Constants, range};
use crate::recipe::{Closure, LONGEST, Recipe, Returned, SMALL, TEXTS};
use crate::remembered::{Presence, Remembered};

/// The first of four bytes that mean a value which an earlier call returned, where that is possible. Lower
/// ones mean small values, and higher ones constants.
pub const FED: u8 = 12;
/// What a call shows that is not made because there is nothing to give to it.
pub(crate) const NOTHING: &str = "nothing to give";

/// How values that the user supplies are shown, by the number of the function and the byte that chooses.
pub type Shown = BTreeMap<(usize, u8), String>;

/// What is shown of a value of this type, as Rust code writes it.
fn literal(kind: &str, text: &str) -> String {
    match kind {
        "String" => format!("String::from({text})"),
        "bool" | "char" => text.to_owned(),
        kind => format!("{text}{kind}"),
    }
}

impl Recipe {
    /// As the literal that these bytes come to.
    pub fn literal(&self, bytes: &mut Bytes<'_>) -> String {
        match self {
            Self::Number(name) if name.starts_with('f') => format!("{}.0", bytes.small()),
            Self::Number(name) => format!("{}{name}", bytes.number(name)),
            Self::Capacity(_) => (1_u64 << bytes.small()).to_string(),
            Self::Flag => bytes.flag().to_string(),
            Self::Letter => format!("'{}'", char::from(b'a' + bytes.small())),
            Self::Text => {
                let text = bytes.text();
                format!("String::from({text:?})")
            }
            Self::StaticText => format!("{:?}", bytes.text()),
            Self::Fixed(text) => text.clone(),
            Self::Around {
                before,
                parts,
                after,
            } => {
                let parts = parts.iter();
                let parts: Vec<_> = parts
                    .map(|(label, part)| format!("{label}{}", part.literal(bytes)))
                    .collect();
                format!("{before}{}{after}", parts.join(", "))
            }
            Self::Reference {
                mutable,
                value,
                after,
            } => {
                let word = if *mutable { "mut " } else { "" };
                format!("&{word}{}{after}", value.earlier(bytes, *mutable))
            }
            Self::Optional(value) => match bytes.flag() {
                true => format!("Some({})", value.literal(bytes)),
                false => "None".to_owned(),
            },
            Self::Choice(options) => {
                let chosen = usize::from(bytes.next()) % options.len();
                options[chosen].literal(bytes)
            }
            Self::Many {
                collection,
                element,
            } => {
                let count = bytes.next() % (LONGEST + 1);
                let elements: Vec<_> = (0..count).map(|_| element.literal(bytes)).collect();
                match collection.starts_with("Vec") {
                    true => format!("vec![{}]", elements.join(", ")),
                    false => {
                        let name = collection.split('<').next().unwrap_or(collection);
                        format!("{name}::from([{}])", elements.join(", "))
                    }
                }
            }
            Self::Closure(closure) => closure.literal(bytes),
            Self::Byte => bytes.next().to_string(),
            Self::Fed { .. } => self.earlier(bytes, true),
            Self::Shown {
                number,
                kind,
                value,
            } => {
                let key = (*number, bytes.left.first().copied().unwrap_or(0));
                let call = value.literal(bytes);
                bytes.shown.push(key);
                let shown = bytes.values.and_then(|values| values.get(&key));
                shown.map_or(call, |text| literal(kind, text))
            }
        }
    }

    /// The same, where a value that an earlier call returned need not be a copy of it.
    fn earlier(&self, bytes: &mut Bytes<'_>, is_taken: bool) -> String {
        let Self::Fed { fed, plain, .. } = self else {
            return self.literal(bytes);
        };
        let (which, plain) = match plain {
            Some(plain) => match bytes.fed() {
                // Whatever takes its place is made of this byte alone.
                Some(which) => (which, Some(plain.literal(&mut bytes.alone()))),
                None => return plain.literal(bytes),
            },
            None => (bytes.next() % 4, None),
        };
        bytes.asks_earlier = true;
        let found = bytes.remembered.and_then(|all| all.earlier(which, *fed));
        let found = found.filter(|found| found.presence != Presence::Never);
        let Some(found) = found else {
            bytes.is_unmade |= plain.is_none();
            return plain.unwrap_or_default();
        };
        bytes.used.push(found.call);
        let name = match is_taken && !found.is_copy {
            true => format!("{}.clone()", found.name),
            false => found.name.clone(),
        };
        match (found.presence, plain) {
            (Presence::Maybe, Some(plain)) if found.is_copy => {
                format!("{}.unwrap_or({plain})", found.name)
            }
            (Presence::Maybe, Some(plain)) => format!("{}.clone().unwrap_or({plain})", found.name),
            (Presence::Maybe, None) => {
                bytes.asked.push((found.name.clone(), found.is_copy));
                name
            }
            _ => name,
        }
    }
}

/// Types of parameters whose `{:?}` is known to be there.
const SHOWN: &[&str] = &[
    "u8", "u16", "u32", "u64", "usize", "i32", "i64", "bool", "char", "String",
];

impl Closure {
    /// The text of all that it is given.
    fn seen(&self, names: &[String]) -> String {
        let is_shown =
            |one: &String| SHOWN.contains(&one.trim_start_matches('&').trim_start_matches("mut "));
        if names.is_empty() {
            return "String::new()".to_owned();
        }
        if self.parameters.iter().all(is_shown) {
            let given = names.iter().map(|name| format!("{{{name}:?}}"));
            return format!("format!(\"{}\")", given.collect::<String>());
        }
        let shown: Vec<_> = names.iter().map(|name| format!("show!({name})")).collect();
        match shown.as_slice() {
            [only] => only.clone(),
            several => format!("[{}].concat()", several.join(", ")),
        }
    }

    /// Whether it is given more than numbers and the like: looking at it is an access to memory.
    fn is_given_places(&self) -> bool {
        let is_value = |one: &String| SHOWN.contains(&one.as_str());
        !self.parameters.iter().all(is_value)
    }

    fn literal(&self, bytes: &mut Bytes<'_>) -> String {
        let parameters: Vec<_> = (0..self.parameters.len())
            .map(|index| match self.parameters.len() {
                1 => "value".to_owned(),
                _ => format!("value_{index}"),
            })
            .collect();
        let mut body: Vec<String> = Vec::new();
        let seen = self.seen(&parameters);
        match self.notes.function().filter(|_| bytes.notes) {
            Some(note) => body.push(format!("{note}(&{seen});")),
            // What it is given is looked at, as it was when the failure was seen.
            None if self.is_given_places() => body.push(format!("let _ = {seen};")),
            None => {}
        }
        for (index, value) in &self.writes {
            body.push(format!(
                "*{} = {};",
                parameters[*index],
                value.literal(bytes)
            ));
        }
        let result = match &self.result {
            Returned::Unit => String::new(),
            Returned::Argument(index) => parameters[*index].clone(),
            Returned::Seen => seen,
            Returned::Value(value) | Returned::Changed(value) => value.literal(bytes),
        };
        let list = self.list(&parameters);
        if bytes.elides {
            return "closure".to_owned();
        }
        body.push(result);
        let returns = match self.returns.is_empty() {
            true => String::new(),
            false => format!("-> {} ", self.returns),
        };
        format!("move |{list}| {returns}{{ {} }}", body.join(" ").trim())
    }
}

/// The bytes of a test from which values are made; the harness reads them in the same way.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    left: &'a [u8],
    /// Whether closures note down what they are given.
    notes: bool,
    /// Whether closures are left out.
    elides: bool,
    /// What some of them mean.
    constants: Option<&'a Constants>,
    /// What earlier calls returned.
    remembered: Option<&'a Remembered>,
    /// Whether the result of an earlier call was asked for.
    pub(crate) asks_earlier: bool,
    /// Calls whose results were used.
    pub(crate) used: Vec<usize>,
    /// Values that the user supplies, as far as they are known.
    values: Option<&'a Shown>,
    /// Those that were asked for.
    pub(crate) shown: Vec<(usize, u8)>,
    /// Names of what earlier calls may have returned, and without which this one is not made; whether
    /// they are copied.
    pub(crate) asked: Vec<(String, bool)>,
    /// Whether there is nothing to give, so that the call is not made.
    pub(crate) is_unmade: bool,
}

impl<'a> Bytes<'a> {
    /// From the first on.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self {
            left: bytes,
            notes: false,
            elides: false,
            constants: None,
            remembered: None,
            asks_earlier: false,
            used: Vec::new(),
            values: None,
            shown: Vec::new(),
            asked: Vec::new(),
            is_unmade: false,
        }
    }

    /// The same, with values that the user supplies.
    pub(crate) fn showing(self, values: &'a Shown) -> Self {
        Self {
            values: Some(values),
            ..self
        }
    }

    /// The same, with what earlier calls returned.
    pub(crate) fn remembering(self, remembered: &'a Remembered) -> Self {
        Self {
            remembered: Some(remembered),
            ..self
        }
    }

    /// The same, with what some of them mean.
    pub fn meaning(self, constants: &'a Constants) -> Self {
        Self {
            constants: Some(constants),
            ..self
        }
    }

    /// The same, with closures that note down what they are given.
    pub fn noting(self, notes: bool) -> Self {
        Self { notes, ..self }
    }

    /// The same, without what closures are.
    pub(crate) fn eliding(self) -> Self {
        Self {
            elides: true,
            ..self
        }
    }

    fn next(&mut self) -> u8 {
        let first = self.left.first().copied().unwrap_or(0);
        self.left = self.left.get(1..).unwrap_or(&[]);
        first
    }

    /// Bytes that were not read.
    pub(crate) fn left(&self) -> &'a [u8] {
        self.left
    }

    /// Which earlier value the next one means, if it means one.
    fn fed(&self) -> Option<u8> {
        let which = self.left.first()?.checked_sub(FED)?;
        Some(which).filter(|which| *which < 4)
    }

    /// The next one, without those that follow it.
    fn alone(&mut self) -> Self {
        let (first, rest) = self.left.split_at(self.left.len().min(1));
        self.left = rest;
        Self {
            left: first,
            notes: self.notes,
            elides: self.elides,
            constants: self.constants,
            ..Self::new(&[])
        }
    }

    fn small(&mut self) -> u8 {
        self.next() % SMALL
    }

    fn number(&mut self, name: &str) -> i128 {
        let byte = self.next();
        let constants = self.constants.zip(range(name));
        let number = constants.and_then(|(one, (least, most))| one.number(byte, least, most));
        number.unwrap_or_else(|| i128::from(byte % SMALL))
    }

    fn text(&mut self) -> &'a str {
        let byte = self.next();
        let text = self.constants.and_then(|constants| constants.text(byte));
        text.unwrap_or(TEXTS[usize::from(byte) % TEXTS.len()])
    }

    /// The next one, as a truth.
    pub(crate) fn flag(&mut self) -> bool {
        self.next() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, FED};
    use crate::recipe::Recipe;
    use crate::remembered::{Earlier, Presence, Remembered};

    fn earlier(name: &str, presence: Presence, is_copy: bool) -> Earlier {
        Earlier {
            call: 0,
            name: name.to_owned(),
            presence,
            is_copy,
        }
    }

    fn fed(plain: Option<Recipe>) -> Recipe {
        let value = Recipe::Fed {
            fed: 0,
            name: String::new(),
            plain: plain.map(Box::new),
        };
        Recipe::list("f(", vec![value, Recipe::Flag], ")")
    }

    #[test]
    fn some_bytes_mean_what_earlier_calls_returned() {
        let number = Recipe::Number("u32".to_owned());
        let pair = Recipe::list("(", vec![number.clone(), number.clone()], ")");
        let (plain, wide) = (fed(Some(number)), fed(Some(pair)));
        let known = Remembered::of(
            &[
                earlier("key_1", Presence::Always, true),
                earlier("key_2", Presence::Never, true),
                earlier("tag", Presence::Always, false),
            ],
            &[earlier("own", Presence::Maybe, true)],
        );
        let literal = |recipe: &Recipe, bytes: &[u8]| {
            recipe.literal(&mut Bytes::new(bytes).remembering(&known))
        };
        assert_eq!(literal(&plain, &[2, 1]), "f(2u32, true)");
        assert_eq!(literal(&plain, &[FED, 1]), "f(key_1, true)");
        // What takes the place of a value that is not there takes one byte too.
        assert_eq!(literal(&wide, &[FED, 1]), "f(key_1, true)");
        assert_eq!(literal(&wide, &[FED + 1, 1]), "f((1u32, 0u32), true)");
        assert_eq!(literal(&plain, &[FED + 2, 1]), "f(tag.clone(), true)");
        assert_eq!(
            literal(&plain, &[FED + 3, 1]),
            "f(own.unwrap_or(3u32), true)"
        );
        assert_eq!(literal(&plain, &[]), "f(0u32, false)");
    }

    #[test]
    fn what_there_is_no_other_way_to_make_is_asked_for() {
        let opaque = fed(None);
        let own = earlier("own", Presence::Maybe, true);
        let known = Remembered::of(&[], &[own]);
        let mut bytes = Bytes::new(&[1, 1]).remembering(&known);
        assert_eq!(opaque.literal(&mut bytes), "f(own, true)");
        assert_eq!(bytes.asked, [("own".to_owned(), true)]);
        assert!(!bytes.is_unmade);
        let nothing = Remembered::default();
        let mut bytes = Bytes::new(&[1, 1]).remembering(&nothing);
        let _ = opaque.literal(&mut bytes);
        assert!(bytes.is_unmade);
    }
}
