//! What the documentation of a method promises, and what it says that it does not: by its words.

/// What a method's documentation does not promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hedge {
    /// What it does not promise.
    pub lacks: Promise,
    /// The words that say so.
    pub words: &'static str,
}

/// What a method may promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// That it happens at one time: others may see a part of it, or it a part of what they do.
    Atomicity,
    /// Which one of several things it returns.
    Choice,
    /// That it fails only for a reason.
    Success,
    /// That its result is exact.
    Exactness,
}

/// Words by which documentation says what it does not promise, what weighs most first.
const HEDGES: &[(Promise, &[&str])] = &[
    (
        Promise::Atomicity,
        &[
            "eventually consistent",
            "may be missed",
            "may miss",
            "may not be reflected",
            "may not reflect",
            "may or may not be",
            "non-atomic",
            "non-linearizable",
            "not a consistent snapshot",
            "not an atomic",
            "not atomic",
            "not linearizable",
            "weakly consistent",
            "weakly-consistent",
        ],
    ),
    (
        Promise::Choice,
        &[
            "arbitrary element",
            "arbitrary entry",
            "arbitrary item",
            "arbitrary object",
            "arbitrary order",
            "in any order",
            "no guaranteed order",
            "no particular order",
            "unspecified order",
        ],
    ),
    (
        Promise::Success,
        &["fail spuriously", "spurious failure", "spuriously fail"],
    ),
    (
        Promise::Exactness,
        &[
            "approximat",
            "best effort",
            "best-effort",
            "estimate",
            "inaccurate",
            "may be stale",
            "not be accurate",
            "not guaranteed to be accurate",
            "not necessarily accurate",
            "outdated",
        ],
    ),
];

/// What a documentation does not promise, if it says so.
pub fn hedge(documentation: &str) -> Option<Hedge> {
    let lines = documentation.lines().map(str::trim);
    let text = lines.collect::<Vec<_>>().join(" ").to_lowercase();
    HEDGES.iter().find_map(|(lacks, all)| {
        let words = all.iter().find(|words| text.contains(**words))?;
        Some(Hedge {
            lacks: *lacks,
            words,
        })
    })
}

/// Words by which documentation says how often something is called.
const COUNTS: &[&str] = &["once", "only one", "exactly one", "at most one"];

/// Whether documentation says how often something is called.
pub fn counts_calls(documentation: &str) -> bool {
    let text = documentation.to_lowercase();
    COUNTS.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::{Promise, hedge};

    #[test]
    fn documentation_says_what_it_does_not_promise() {
        for (text, expected) in [
            (
                "Takes any item, in no\n  particular order.",
                Some(Promise::Choice),
            ),
            (
                "An approximate count; this is not atomic.",
                Some(Promise::Atomicity),
            ),
            (
                "The iterator is weakly consistent.",
                Some(Promise::Atomicity),
            ),
            (
                "May fail spuriously, like a weak exchange.",
                Some(Promise::Success),
            ),
            ("A rough estimate.", Some(Promise::Exactness)),
            ("Takes an item. Atomic.", None),
        ] {
            assert_eq!(hedge(text).map(|one| one.lacks), expected, "{text}");
        }
    }
}
