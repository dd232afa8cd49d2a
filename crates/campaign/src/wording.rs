//! Keeps texts short, whatever they are made of.

use std::collections::HashSet;

/// "a", "a and b", or "a, b and 9 others" of more than `most` names. Names that come up
/// again are left out.
pub(crate) fn list(names: impl IntoIterator<Item = String>, most: usize) -> String {
    let mut seen = HashSet::new();
    let distinct: Vec<String> = names
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .collect();
    if distinct.len() > most {
        // At least two are left out, so that "others" is right.
        let shown = most.saturating_sub(1).max(1);
        let others = distinct.len() - shown;
        return format!("{} and {others} others", distinct[..shown].join(", "));
    }
    match distinct.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}

/// `text` on one line of at most `most` characters, without what a terminal would obey.
pub(crate) fn line(text: &str, most: usize) -> String {
    let visible = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut letters = text.chars().map(visible);
    let mut line: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], most: usize, expected: &str) {
        let names = names.iter().map(|name| (*name).to_owned());
        assert_eq!(list(names, most), expected);
    }

    #[test]
    fn lists_are_short_and_name_nothing_twice() {
        check(&[], 3, "");
        check(&["a"], 3, "a");
        check(&["a", "b", "a"], 3, "a and b");
        check(&["a", "b", "c"], 3, "a, b and c");
        check(&["a", "b", "c", "d", "d"], 3, "a, b and 2 others");
    }

    #[test]
    fn lines_are_short_and_have_no_control_characters() {
        assert_eq!(line("a\tb\u{1b}[0m\n", 20), "a b [0m ");
        assert_eq!(line("äöü", 3), "äöü");
        assert_eq!(line("äöüß", 3), "äö…");
    }
}
