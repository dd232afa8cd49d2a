//! libtest's own arguments, as far as they choose tests.

use crate::exit::{Exit, Failure};

/// Which tests of an executable are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestSelection {
    /// Names or parts of names; empty means all.
    pub filters: Vec<String>,
    /// Parts of names of those left out.
    pub skip: Vec<String>,
    /// Whether filters are whole names.
    pub exact: bool,
    /// Which of the `#[ignore]`d tests.
    pub ignored: Ignored,
}

/// What happens to `#[ignore]`d tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// They are left out.
    #[default]
    Skip,
    /// They are run like all others.
    Include,
    /// Only they are run.
    Only,
}

impl TestSelection {
    /// Understands cargo's filter and what stands after `--`.
    pub(crate) fn parse(filter: Option<&String>, rest: &[String]) -> Result<Self, Failure> {
        let mut selection = Self {
            filters: filter.into_iter().cloned().collect(),
            ..Self::default()
        };
        let mut rest = rest.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--exact" => selection.exact = true,
                "--ignored" => selection.ignored = Ignored::Only,
                "--include-ignored" => selection.ignored = Ignored::Include,
                "--skip" => match rest.next() {
                    Some(name) => selection.skip.push(name.clone()),
                    None => return Err(Failure::new(Exit::Usage, "`--skip` needs a name")),
                },
                other => match other.strip_prefix("--skip=") {
                    Some(name) => selection.skip.push(name.to_owned()),
                    None if other.starts_with('-') => return Err(unknown(other)),
                    None => selection.filters.push(other.to_owned()),
                },
            }
        }
        Ok(selection)
    }

    /// Whether libtest would run the test with these arguments.
    pub(crate) fn wants(&self, name: &str, ignored: bool) -> bool {
        let matches = |pattern: &String| {
            if self.exact {
                name == pattern
            } else {
                name.contains(pattern.as_str())
            }
        };
        let by_attribute = match self.ignored {
            Ignored::Skip => !ignored,
            Ignored::Include => true,
            Ignored::Only => ignored,
        };
        by_attribute
            && (self.filters.is_empty() || self.filters.iter().any(matches))
            && !self.skip.iter().any(matches)
    }

    /// The same selection with `#[ignore]`d tests.
    pub(crate) fn including_ignored(mut self) -> Self {
        if self.ignored == Ignored::Skip {
            self.ignored = Ignored::Include;
        }
        self
    }
}

fn unknown(argument: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        format!(
            "`{argument}` is not understood after `--`: \
             only --exact, --ignored, --include-ignored, --skip NAME and filters are"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::TestSelection;

    fn selection(filter: &str, rest: &str) -> TestSelection {
        let filter = (!filter.is_empty()).then(|| filter.to_owned());
        let rest: Vec<_> = rest.split_whitespace().map(str::to_owned).collect();
        TestSelection::parse(filter.as_ref(), &rest).unwrap()
    }

    #[test]
    fn tests_are_chosen_as_libtest_does() {
        for (filter, rest, name, ignored, wanted) in [
            ("", "", "a::b", false, true),
            ("", "", "a::b", true, false),
            ("", "--include-ignored", "a::b", true, true),
            ("", "--ignored", "a::b", false, false),
            ("a::", "", "a::b", false, true),
            ("b", "--exact", "a::b", false, false),
            ("a::b", "--exact", "a::b", false, true),
            ("", "--skip b", "a::b", false, false),
            ("", "--skip=c", "a::b", false, true),
            ("x", "y b", "a::b", false, true),
        ] {
            let selection = selection(filter, rest);
            assert_eq!(selection.wants(name, ignored), wanted, "{filter} {rest}");
        }
    }

    #[test]
    fn other_arguments_are_refused() {
        for rest in ["--nocapture", "--skip"] {
            assert!(TestSelection::parse(None, &[rest.to_owned()]).is_err());
        }
    }
}
