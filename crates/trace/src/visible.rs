//! Text of others, made harmless to a terminal: names, paths, messages and whole files come from
//! programs and repositories, and may hold anything.

use std::fmt::Write;

/// The text with everything escaped that a terminal would obey or hide, except for line ends and
/// tabs.
pub fn visible(text: &str) -> String {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// The same for what stands in a line: line ends are escaped too.
pub fn visible_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// Whether a terminal would obey the character, or hide it, or change the order of others.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            // Marks and overrides of the direction of writing, separators of lines, and marks of
            // the byte order.
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
        )
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) && !is_kept(character) {
            push_escaped(&mut visible, character);
        } else {
            visible.push(character);
        }
    }
    visible
}

/// Adds the escape of a character, as Rust writes it.
pub fn push_escaped(text: &mut String, character: char) {
    // Writing to a string does not fail.
    let _ = match character {
        '\n' | '\r' | '\t' => write!(text, "{}", character.escape_default()),
        _ => write!(text, "{}", character.escape_unicode()),
    };
}

#[cfg(test)]
mod tests {
    use super::{visible, visible_line};

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        for (text, expected) in [
            ("plain: ä 漢 🦀 'x'", "plain: ä 漢 🦀 'x'"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\rb\u{8}c\u{7f}\0", "a\\rb\\u{8}c\\u{7f}\\u{0}"),
            ("x\u{202e}y\u{2066}z", "x\\u{202e}y\\u{2066}z"),
            ("a\n\tb", "a\n\tb"),
        ] {
            assert_eq!(visible(text), expected);
        }
        assert_eq!(visible_line("a\nerror: b\tc"), "a\\nerror: b\\tc");
    }
}
