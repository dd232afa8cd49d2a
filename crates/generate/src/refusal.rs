//! Calls that are refused: panics by which a crate says what a caller must not do, and errors that name one of several reasons.

/// Beginnings of the messages of panics that std raises, and of macros without a message: nobody wrote them for their place.
const UNINTENDED: &[&str] = &[
    "already ",
    "assertion ",
    "attempt to ",
    "byte index ",
    "called `",
    "cannot ",
    "capacity overflow",
    "explicit panic",
    "index ",
    "internal error: ",
    "misaligned ",
    "not implemented",
    "not yet implemented",
    "null pointer ",
    "range ",
    "slice index ",
    "source slice length",
    "unsafe precondition",
];

/// Words by which a message says that the crate itself is wrong.
const OWN_FAULT: &[&str] = &["bug", "corrupt", "invariant", "unreachable"];

/// Whether a panic has a message of its own, by which the crate says what a caller must not do.
pub fn is_refusal(panic: &str) -> bool {
    let message = panic.split_once(": ").map_or("", |(_, message)| message);
    let lower = message.to_lowercase();
    let is_unintended = UNINTENDED.iter().any(|words| message.starts_with(words))
        || OWN_FAULT.iter().any(|word| lower.contains(word));
    !message.is_empty() && !is_unintended
}

/// Whether two results refuse the same for different reasons: both are errors that differ in nothing but the names of variants and in
/// messages. Errors that carry different values, as those of a comparison that failed, are different results.
pub fn differ_in_reason(one: &str, other: &str) -> bool {
    match (error_in(one), error_in(other)) {
        (Some((place, one)), Some((other_place, other))) => {
            place == other_place && without_reason(one) == without_reason(other)
        }
        _ => false,
    }
}

/// The error in a result, and what stands before it (`Ready(`).
fn error_in(result: &str) -> Option<(&str, &str)> {
    let (place, error) = result.split_once("Err(")?;
    let is_wrapper = place.chars().all(|one| one.is_alphabetic() || one == '(');
    is_wrapper.then_some((place, error))
}

/// An error without names of variants, and without messages, which are texts of several words.
fn without_reason(error: &str) -> String {
    let mut rest = String::new();
    let mut left = error;
    while let Some(first) = left.chars().next() {
        let is_in_name = |one: char| one.is_alphanumeric() || one == '_';
        let len = match first {
            '"' => left[1..].find('"').map_or(left.len(), |end| end + 2),
            one if is_in_name(one) => left.find(|one| !is_in_name(one)).unwrap_or(left.len()),
            one => one.len_utf8(),
        };
        let (token, after) = left.split_at(len);
        let is_reason = match first {
            '"' => token.contains(' '),
            one => one.is_uppercase(),
        };
        rest.push_str(if is_reason { "_" } else { token });
        left = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::{differ_in_reason, is_refusal};

    #[test]
    fn refusals_differ_in_their_reason_if_they_carry_the_same() {
        for (one, other) in [
            ("Err(Full)", "Err(Closed)"),
            ("Err(Full(3))", "Err(Closed(3))"),
            (
                "Err(SendError { kind: Full })",
                "Err(SendError { kind: Disconnected })",
            ),
            ("Ready(Err(Full))", "Ready(Err(Closed))"),
            ("Err(\"it is full\")", "Err(\"it is closed\")"),
        ] {
            assert!(differ_in_reason(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("Err(3)", "Err(4)"),
            ("Err(Full(3))", "Err(Closed(4))"),
            ("Err(Some(3))", "Err(None)"),
            ("Err(true)", "Err(false)"),
            ("Err(\"a\")", "Err(\"b\")"),
            ("Ok(Full)", "Err(Full)"),
            ("Err(Full)", "None"),
        ] {
            assert!(!differ_in_reason(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_message_of_the_crate_is_a_refusal_and_one_of_std_is_not() {
        assert!(is_refusal("!src/lib.rs:9:5: invalid key"));
        for message in [
            "index out of bounds: the len is 3 but the index is 7",
            "called `Option::unwrap()` on a `None` value",
            "internal error: entered unreachable code",
            "attempt to subtract with overflow",
            "assertion failed: count > 0",
            "BUG: the list is empty",
            "",
        ] {
            assert!(
                !is_refusal(&format!("!src/lib.rs:9:5: {message}")),
                "{message}"
            );
        }
        assert!(!is_refusal("!src/lib.rs:9:5"));
    }
}
