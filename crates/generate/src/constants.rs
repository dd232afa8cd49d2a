//! Numbers and texts that a crate's source speaks of, as arguments: a method that treats 1024 in
//! its own way is not found out with four small numbers.
//!
//! This reads text and not Rust: what looks like a literal is one. What is compared with comes
//! first, and there are few, so that calls still meet each other.

/// Most numbers, and most texts.
const MOST: usize = 12;
/// Longer texts are sentences for people.
const LONGEST: usize = 16;
/// Numbers below this are among the arguments anyway.
const KNOWN: i128 = 4;
/// The first byte of a test that means a constant; lower ones mean small values.
pub const FIRST: u8 = 16;

/// What a source speaks of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constants {
    /// Numbers.
    pub numbers: Vec<i128>,
    /// Texts.
    pub texts: Vec<String>,
}

/// A piece of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(i128),
    Text(String),
    /// An operator, as long as it is, or anything else.
    Other(String),
}

impl Constants {
    /// Of these sources.
    pub fn of<'a>(sources: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut compared, mut others) = (Self::default(), Self::default());
        for source in sources {
            let tokens = tokens(source);
            for (index, token) in tokens.iter().enumerate() {
                let before = index.checked_sub(1).and_then(|index| tokens.get(index));
                let is_compared = [before, tokens.get(index + 1)]
                    .into_iter()
                    .flatten()
                    .any(compares);
                let known = if is_compared {
                    &mut compared
                } else {
                    &mut others
                };
                match token {
                    Token::Number(number) if *number >= KNOWN => known.numbers.push(*number),
                    Token::Text(text) if is_value(text) => known.texts.push(text.clone()),
                    _ => {}
                }
            }
        }
        Self {
            numbers: some(compared.numbers, others.numbers),
            texts: some(compared.texts, others.texts),
        }
    }

    /// How many bytes mean a constant.
    pub fn count(&self) -> usize {
        self.numbers.len().max(self.texts.len())
    }

    /// The number that a byte means, if it means one and that lies between these.
    pub fn number(&self, byte: u8, least: i128, most: i128) -> Option<i128> {
        let index = byte.checked_sub(FIRST)?;
        let number = self.numbers.get(usize::from(index)).copied();
        number.filter(|number| (least..=most).contains(number))
    }

    /// The text that a byte means, if it means one.
    pub fn text(&self, byte: u8) -> Option<&str> {
        let index = byte.checked_sub(FIRST)?;
        self.texts.get(usize::from(index)).map(String::as_str)
    }

    /// As code of the harness.
    pub fn code(&self) -> String {
        format!(
            "const NUMBERS: &[i128] = &{:?}; const TEXTS: &[&str] = &{:?};",
            self.numbers, self.texts
        )
    }
}

/// The first of both, each once.
fn some<T: PartialEq>(one: Vec<T>, other: Vec<T>) -> Vec<T> {
    let mut result = Vec::new();
    for value in one.into_iter().chain(other) {
        if result.len() < MOST && !result.contains(&value) {
            result.push(value);
        }
    }
    result
}

/// Numbers of a type that are passed: what may become a size is not so large that making it takes
/// all the time.
pub fn range(name: &str) -> Option<(i128, i128)> {
    Some(match name {
        "u8" => (0, u8::MAX.into()),
        "i8" => (i8::MIN.into(), i8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "i16" => (i16::MIN.into(), i16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "i32" => (i32::MIN.into(), i32::MAX.into()),
        "u64" | "u128" => (0, u64::MAX.into()),
        "i64" | "i128" => (i64::MIN.into(), i64::MAX.into()),
        "usize" | "isize" => (0, 256),
        _ => return None,
    })
}

fn compares(token: &Token) -> bool {
    const WORDS: [&str; 7] = ["==", "!=", "<", ">", "<=", ">=", "=>"];
    matches!(token, Token::Other(text) if WORDS.contains(&text.as_str()))
}

/// Whether a text is no sentence and no pattern.
fn is_value(text: &str) -> bool {
    let is_letter = |one: char| one.is_ascii_alphanumeric() || "-_./".contains(one);
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_letter)
}

/// The pieces of a source up to its tests, without comments and attributes.
fn tokens(source: &str) -> Vec<Token> {
    let source = source.split("#[cfg(test)]").next().unwrap_or(source);
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("#[") || rest.starts_with("#![") {
            rest.find(']').map_or(rest.len(), |end| end + 1)
        } else if first == '"' {
            let end = text_end(rest);
            let text = rest.get(1..end.saturating_sub(1)).unwrap_or("");
            tokens.push(Token::Text(text.to_owned()));
            end
        } else if first == '\'' {
            letter_end(rest)
        } else if first.is_ascii_digit() {
            let len = word_end(rest);
            let is_place = tokens.last() == Some(&Token::Other(".".to_owned()));
            let is_fraction = rest[len..].starts_with('.')
                && rest[len + 1..].starts_with(|one: char| one.is_ascii_digit());
            let number = number(&rest[..len]).filter(|_| !is_place && !is_fraction);
            tokens.push(number.map_or_else(|| Token::Other("0".to_owned()), Token::Number));
            len
        } else if first.is_alphanumeric() || first == '_' {
            tokens.push(Token::Other("word".to_owned()));
            word_end(rest)
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let is_operator = |one: char| "=!<>".contains(one);
            let operator = rest.find(|one| !is_operator(one)).unwrap_or(rest.len());
            let len = operator.max(first.len_utf8());
            tokens.push(Token::Other(rest[..len].to_owned()));
            len
        };
        rest = &rest[len..];
    }
    tokens
}

fn word_end(rest: &str) -> usize {
    rest.find(|one: char| !one.is_alphanumeric() && one != '_')
        .unwrap_or(rest.len())
}

/// Where a text ends, which may say that a quotation mark is a part of it.
fn text_end(rest: &str) -> usize {
    let mut is_escaped = true;
    for (index, one) in rest.char_indices() {
        match (is_escaped, one) {
            (false, '"') => return index + 1,
            (false, '\\') => is_escaped = true,
            _ => is_escaped = false,
        }
    }
    rest.len()
}

/// Where a letter ends, or the mark of a lifetime.
fn letter_end(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), _) => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

fn number(word: &str) -> Option<i128> {
    let word = word.replace('_', "");
    let (radix, digits) = match word.get(..2) {
        Some("0x") => (16, &word[2..]),
        Some("0o") => (8, &word[2..]),
        Some("0b") => (2, &word[2..]),
        _ => (10, word.as_str()),
    };
    let is_suffix = |one: char| matches!(one, 'u' | 'i') && radix <= 16;
    let digits = digits.split(is_suffix).next().unwrap_or(digits);
    let number = i128::from_str_radix(digits, radix).ok();
    number.filter(|number| *number <= i128::from(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{Constants, FIRST, range};

    const SOURCE: &str = r##"
        //! Speaks of 99 and "nothing".
        #[repr(align(64))]
        pub struct Table<'a> { slots: [u32; 32], name: &'a str, pair: (u32, f64) }
        fn find(&self, key: u32, name: &str) -> u32 {
            let first = self.pair.9;
            if key == 0x40 || 1_000u32 <= key { return 7 }
            if name == "root" { panic!("a sentence with \"words\"") }
            match key { 21 => '\'' as u32 + 3, _ => 2.55 as u32 }
        }
        #[cfg(test)]
        mod tests { const MANY: u32 = 4711; }
    "##;

    #[test]
    fn what_is_compared_with_comes_first() {
        let constants = Constants::of([SOURCE, SOURCE]);
        assert_eq!(constants.numbers, [64, 1000, 21, 32, 7]);
        assert_eq!(constants.texts, ["root"]);
        assert_eq!(constants.count(), 5);
    }

    #[test]
    fn bytes_mean_constants_that_fit() {
        let constants = Constants::of([SOURCE]);
        let number = |byte, name| {
            let (least, most) = range(name).unwrap();
            constants.number(byte, least, most)
        };
        assert_eq!(number(FIRST, "u8"), Some(64));
        assert_eq!(number(FIRST + 1, "u8"), None);
        assert_eq!(number(FIRST + 1, "u16"), Some(1000));
        assert_eq!(number(FIRST + 1, "usize"), None);
        assert_eq!(number(3, "u8"), None);
        assert_eq!(constants.text(FIRST), Some("root"));
        assert_eq!(constants.text(FIRST + 1), None);
    }
}
