//! The few styles of the terminal output, in one place, and the way of all text to the terminal.
//!
//! Text is styled with marks that hold a number nobody else knows. When it is written, marks with
//! that number become what the terminal obeys, and everything else that it would obey is escaped:
//! names and messages come from programs and files of others.

use std::fmt::{self, Display, Formatter};
use std::hash::{BuildHasher, RandomState};

use raddle_trace::visible::{is_hidden, push_escaped};

/// All styles; plain if colours are off.
pub(crate) struct Styles {
    /// A finding's kind.
    pub bad: Style,
    /// Headings.
    pub strong: Style,
    /// What is good.
    pub good: Style,
    /// Notes and limits.
    pub warn: Style,
    /// Less important text.
    pub dim: Style,
    /// Names of threads.
    pub lane: Style,
    /// Beginning of a mark.
    mark: String,
}

impl Styles {
    pub(crate) fn new(colour: bool) -> Self {
        // Shaped like a terminal's own, so that measuring text passes over it.
        let mark = format!("\u{1b}[{};", RandomState::new().hash_one(0));
        let style = |codes| Style {
            codes,
            mark: colour.then(|| mark.clone()),
        };
        Self {
            bad: style("31;1"),
            strong: style("1"),
            good: style("32;1"),
            warn: style("33;1"),
            dim: style("2"),
            lane: style("36"),
            mark,
        }
    }

    /// Text as it may be written to a terminal.
    pub(crate) fn finish(&self, text: &str) -> String {
        let mut finished = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            if let Some((codes, behind)) = rest
                .strip_prefix(&self.mark)
                .and_then(|rest| rest.split_once('m'))
            {
                for code in codes.split(';') {
                    finished.push_str(&format!("\u{1b}[{code}m"));
                }
                rest = behind;
                continue;
            }
            match character {
                '\n' | '\t' => finished.push(character),
                _ if is_hidden(character) => push_escaped(&mut finished, character),
                _ => finished.push(character),
            }
            rest = &rest[character.len_utf8()..];
        }
        finished
    }
}

/// One style.
pub(crate) struct Style {
    /// The terminal's codes.
    codes: &'static str,
    mark: Option<String>,
}

impl Style {
    /// The value in this style.
    pub(crate) fn apply_to<T: Display>(&self, value: T) -> Styled<'_, T> {
        Styled { style: self, value }
    }
}

/// A value in a style.
pub(crate) struct Styled<'a, T> {
    style: &'a Style,
    value: T,
}

impl<T: Display> Display for Styled<'_, T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Some(mark) = &self.style.mark else {
            return self.value.fmt(formatter);
        };
        write!(formatter, "{mark}{}m", self.style.codes)?;
        self.value.fmt(formatter)?;
        write!(formatter, "{mark}0m")
    }
}

#[cfg(test)]
mod tests {
    use super::Styles;

    #[test]
    fn only_own_styles_reach_the_terminal() {
        let styles = Styles::new(true);
        let text = format!("{:>5}\n", styles.bad.apply_to("a\u{1b}[2J"));
        let expected = "\u{1b}[31m\u{1b}[1ma\\u{1b}[2J\u{1b}[0m\n";
        assert_eq!(styles.finish(&text), expected);
        let others = Styles::new(true);
        assert!(!others.finish(&text).contains('\u{1b}'));
        for foreign in ["\u{1b}[31m", "\u{1b}[0m", "\u{1b}", "\u{1b}[0;0m"] {
            assert!(!styles.finish(foreign).contains('\u{1b}'));
        }
    }

    #[test]
    fn without_colours_nothing_is_marked() {
        let styles = Styles::new(false);
        let text = format!("{:>3}|", styles.bad.apply_to("a"));
        assert_eq!(styles.finish(&text), "  a|");
    }
}
