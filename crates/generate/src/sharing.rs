//! Calls that share one effect: those who wait while another one loads a value are given what it loads, and need not load it
//! themselves, though they would have to if they came later.
//!
//! Methods may do so that are given a closure which is called once at most, and what it makes is the result. Such a call may
//! have had no effect if its closure was not called, and it returned what another call of the same method with the same arguments
//! returned while both ran. Beside the value a result may say whether it is shared, by a flag or the name of a variant.

use crate::history::{History, Step};
use crate::literal::Bytes;
use crate::methods::Operation;
use crate::recipe::{Noted, Recipe, Returned};
use crate::test_case::{Call, TestCase};

/// How calls of a method may share one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// The call, by which arguments are compared.
    call: Recipe,
}

impl Sharing {
    /// Of a method that is given what makes its result.
    pub(crate) fn of(operation: &Operation) -> Option<Self> {
        let mut closures = operation.steps.iter().flat_map(|step| step.call.closures());
        let makes = closures.any(|closure| {
            let is_made = matches!(closure.result, Returned::Value(_));
            closure.notes == Noted::Once && is_made
        });
        let call = operation.steps.first().map(|step| step.call.clone());
        call.filter(|_| makes).map(|call| Self { call })
    }

    /// The arguments of a call, without closures.
    fn arguments(&self, call: &Call) -> String {
        self.call.literal(&mut Bytes::new(&call.bytes).eliding())
    }

    /// Whether the effect of a step may be that of another one.
    pub(crate) fn is_shared(&self, test: &TestCase, history: &History, step: &Step) -> bool {
        let Some((call, result)) = test.call(step.call).zip(step.result.as_deref()) else {
            return false;
        };
        // What its closure was given is a part of the result.
        if step.is_second || result.contains('|') {
            return false;
        }
        let arguments = self.arguments(call);
        history.concurrent().any(|other| {
            let Some(same) = test.call(other.call).filter(|_| other.call != step.call) else {
                return false;
            };
            let ended = |step: &Step| step.ended.unwrap_or(usize::MAX);
            let overlaps = other.started < ended(step) && step.started < ended(other);
            let returned = other.result.as_deref().map(without_notes);
            overlaps
                && same.operation == call.operation
                && returned.is_some_and(|returned| carry_the_same(returned, result))
                && self.arguments(same) == arguments
        })
    }
}

/// A result without what closures were given.
fn without_notes(result: &str) -> &str {
    result.split('|').next().unwrap_or(result)
}

/// Names that say more than whether a value is shared.
const MEANING: &[&str] = &["Err", "None", "Ok", "Some"];

/// Whether two results are the same, but for flags and names of variants beside values.
fn carry_the_same(one: &str, other: &str) -> bool {
    let (values, others) = (values(one), values(other));
    let has_value = values.contains(|one: char| one.is_ascii_digit() || one == '"');
    one == other || has_value && values == others
}

/// A result without flags and names of variants.
fn values(result: &str) -> String {
    let mut rest = String::new();
    let mut left = result;
    while let Some(first) = left.chars().next() {
        let is_in_name = |one: char| one.is_alphanumeric() || one == '_';
        let len = match first {
            '"' => left[1..].find('"').map_or(left.len(), |end| end + 2),
            one if is_in_name(one) => left.find(|one| !is_in_name(one)).unwrap_or(left.len()),
            one => one.len_utf8(),
        };
        let (token, after) = left.split_at(len);
        let is_flag =
            ["false", "true"].contains(&token) || first.is_uppercase() && !MEANING.contains(&token);
        rest.push_str(if is_flag { "_" } else { token });
        left = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::Sharing;
    use crate::history::{History, Step};
    use crate::recipe::{Closure, Noted, Recipe, Returned};
    use crate::test_case::{Call, TestCase};

    fn step(call: usize, (started, ended): (usize, usize), result: &str) -> Step {
        Step {
            call,
            is_second: false,
            started,
            ended: Some(ended),
            result: Some(result.to_owned()),
        }
    }

    /// Whether the second of two calls, with these keys, shares the effect of the first.
    fn is_shared(keys: [u8; 2], times: [(usize, usize); 2], results: [&str; 2]) -> bool {
        let number = || Recipe::Number("u32".to_owned());
        let closure = Recipe::Closure(Box::new(Closure {
            parameters: Vec::new(),
            writes: Vec::new(),
            result: Returned::Value(number()),
            returns: String::new(),
            notes: Noted::Once,
        }));
        let sharing = Sharing {
            call: Recipe::list("{o}.get_with(", vec![number(), closure], ")"),
        };
        let call = |key: u8, value: u8| Call {
            operation: 0,
            bytes: vec![key, value],
        };
        let test = TestCase {
            threads: vec![vec![call(keys[0], 1)], vec![call(keys[1], 2)]],
            ..TestCase::default()
        };
        let history = History {
            threads: vec![
                vec![step(0, times[0], results[0])],
                vec![step(1, times[1], results[1])],
            ],
            ..History::default()
        };
        sharing.is_shared(&test, &history, &history.threads[1][0])
    }

    #[test]
    fn who_waits_for_the_same_load_is_given_what_it_loads() {
        let overlapping = [(0, 3), (1, 4)];
        assert!(is_shared([1, 1], overlapping, ["7|", "7"]));
        // Its own closure was called, it came later, it asked for something else, or it got something else.
        assert!(!is_shared([1, 1], overlapping, ["7|", "7|"]));
        assert!(!is_shared([1, 1], [(0, 1), (2, 3)], ["7|", "7"]));
        assert!(!is_shared([1, 2], overlapping, ["7|", "7"]));
        assert!(!is_shared([1, 1], overlapping, ["7|", "8"]));
        // A flag says whether the value is shared, if it is not the value.
        assert!(is_shared(
            [1, 1],
            overlapping,
            ["(Ok(7), false)|", "(Ok(7), true)"]
        ));
        assert!(is_shared([1, 1], overlapping, ["Loaded(7)|", "Shared(7)"]));
        assert!(!is_shared(
            [1, 1],
            overlapping,
            ["(Ok(7), false)|", "(Err(7), true)"]
        ));
        assert!(!is_shared(
            [1, 1],
            overlapping,
            ["Some(true)|", "Some(false)"]
        ));
    }
}
