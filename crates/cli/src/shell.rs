//! Command lines that the user can paste.

/// Words as a shell takes them.
pub(crate) fn shell_words<Word: AsRef<str>>(words: impl IntoIterator<Item = Word>) -> String {
    let quoted = words.into_iter().map(|word| quoted(word.as_ref()));
    quoted.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::shell_words;

    #[test]
    fn words_survive_a_shell() {
        let words = ["./a", "", "-c", "it's; rm x", "$y"];
        assert_eq!(shell_words(words), r"./a '' -c 'it'\''s; rm x' '$y'");
    }
}
