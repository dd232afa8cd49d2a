//! Findings the user has decided not to hear about.

use raddle_abi::finding::Kind;
use raddle_trace::finding::Finding;

/// One `[[ignore]]` of `raddle.toml`: an id, or a kind and a function glob. What is given
/// must match; a rule with nothing given matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoreRule {
    /// Id of the finding.
    pub id: Option<String>,
    /// Kind of the finding.
    pub kind: Option<Kind>,
    /// Glob (`*` matches any text) over the function paths of the finding's places.
    pub function: Option<String>,
    /// Why it is ignored.
    pub reason: String,
}

impl IgnoreRule {
    /// Whether the rule covers this finding.
    pub fn matches(&self, finding: &Finding) -> bool {
        if self.id.is_none() && self.kind.is_none() && self.function.is_none() {
            return false;
        }
        self.id.as_ref().is_none_or(|id| *id == finding.id)
            && self.kind.is_none_or(|kind| kind == finding.kind)
            && self.function.as_ref().is_none_or(|glob| {
                let places = finding.sites.iter();
                let frames = finding.stacks.iter().flat_map(|stack| &stack.frames);
                places
                    .chain(frames)
                    .any(|place| glob_matches(glob, &place.function))
            })
    }
}

/// Whether `text` matches `glob`, in which `*` stands for any text.
fn glob_matches(glob: &str, text: &str) -> bool {
    let mut parts = glob.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::glob_matches;

    #[test]
    fn a_star_stands_for_any_text() {
        for (glob, text, expected) in [
            ("a::b", "a::b", true),
            ("a::b", "a::bc", false),
            ("a::*", "a::b::c", true),
            ("*::c", "a::b::c", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(glob_matches(glob, text), expected, "{glob} against {text}");
        }
    }
}
