//! Evictions: a cache may drop an entry at any time, so a lookup that misses is right although no call removed the entry.
//!
//! An eviction is a call that the environment makes: a removal with the key of one of the test's calls, on an additional thread,
//! that never returned. The search for an order ([`crate::linearize`]) places such a call anywhere, or nowhere.

use std::collections::BTreeSet;

use crate::linearize::{Freedom, Observation, Observed};
use crate::literal::Bytes;
use crate::methods::Operation;
use crate::order::turn;
use crate::program::Program;
use crate::recipe::Recipe;
use crate::sequential::all_orders;
use crate::test_case::{Call, TestCase};

/// Parts of a path that name a cache.
const CACHES: &[&str] = &["cache", "lru"];
/// Methods that remove one entry, by a word in their names.
const REMOVING: &[&str] = &["delete", "evict", "invalidate", "remove"];
/// Most evictions in one execution of a test.
const MOST: usize = 3;

/// Whether a type may drop entries by itself, by its path without arguments.
pub(crate) fn is_cache(path: &str) -> bool {
    let path = path.split('<').next().unwrap_or(path).to_lowercase();
    CACHES.iter().any(|word| path.contains(word))
}

/// A method that removes one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The call, by which keys are compared.
    call: Recipe,
}

impl Removal {
    /// Of a method that removes what its arguments name.
    pub(crate) fn of(operation: &Operation) -> Option<Self> {
        let [step] = operation.steps.as_slice() else {
            return None;
        };
        let mut words = operation.name.split('_');
        let removes = words.any(|word| REMOVING.contains(&word));
        let is_plain = !operation.is_future && step.call.closures().is_empty();
        (removes && is_plain).then(|| Self {
            call: step.call.clone(),
        })
    }

    /// Those of a call's bytes that say what is removed.
    fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let mut read = Bytes::new(bytes);
        let _ = self.call.literal(&mut read);
        &bytes[..bytes.len() - read.left().len()]
    }
}

/// The test with one additional thread for each possible eviction; nothing if the type drops no entries by itself, or has
/// no method that removes one.
pub(crate) fn with_evictions(program: &Program, test: &TestCase) -> Option<TestCase> {
    if !program.is_cache {
        return None;
    }
    let methods = program.methods.iter();
    let removals = methods.filter_map(|(number, method)| {
        let removal = method.removal.as_ref().filter(|_| method.is_quiet())?;
        Some((*number, removal, method.name.len()))
    });
    // The one with the shortest name has no further conditions.
    let (operation, removal, _) = removals.min_by_key(|(_, _, length)| *length)?;
    // Keys of concurrent calls first: they are the ones that lookups are about.
    let calls = test.threads.iter().flatten().chain(&test.prefix);
    let mut keys = BTreeSet::new();
    let keyed = calls.filter(|call| keys.insert(removal.key(&call.bytes)));
    let evictions = keyed.take(MOST).map(|call| {
        vec![Call {
            operation,
            bytes: call.bytes.clone(),
        }]
    });
    let evictions: Vec<_> = evictions.collect();
    Some(TestCase {
        threads: [test.threads.clone(), evictions].concat(),
        ..test.clone()
    })
}

/// What was observed of a test, with evictions of `evicting` that may or may not have happened.
pub(crate) fn observe(
    observation: Observation,
    test: &TestCase,
    evicting: &TestCase,
) -> Observation {
    let additional = test.threads.len()..evicting.threads.len();
    let evictions = additional.map(|thread| {
        vec![Observed {
            turn: turn(thread, false, false),
            started: 0,
            ended: None,
            result: None,
            freedom: Freedom::Any,
        }]
    });
    Observation {
        threads: observation.threads.into_iter().chain(evictions).collect(),
        ..observation
    }
}

/// All orders of a test's calls in which any of the evictions happen; nothing if there are more than `most`. `steps` has the
/// steps of each thread of `evicting`.
pub(crate) fn orders(test: &TestCase, steps: &[usize], most: usize) -> Option<Vec<Vec<u8>>> {
    let own = test.threads.len();
    let evictions = steps.len() - own;
    let mut found = Vec::new();
    for chosen in 0..1_usize << evictions {
        let is_chosen = |thread: usize| thread < own || chosen >> (thread - own) & 1 == 1;
        let steps = steps.iter().enumerate();
        let steps = steps.map(|(thread, count)| if is_chosen(thread) { *count } else { 0 });
        let steps: Vec<usize> = steps.collect();
        found.extend(all_orders(&steps, most.checked_sub(found.len())?)?);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Removal, is_cache, observe, orders, with_evictions};
    use crate::linearize::{Freedom, Observation, Observed};
    use crate::program::{Method, Program};
    use crate::recipe::Recipe;
    use crate::test_case::{Call, TestCase};

    fn program(is_cache: bool) -> Program {
        let key = Recipe::Number("u32".to_owned());
        let removal = Removal {
            call: Recipe::list("{o}.remove(", vec![key], ")"),
        };
        let method = |name: &str| Method {
            name: name.to_owned(),
            removal: name.starts_with("remove").then(|| removal.clone()),
            ..Method::default()
        };
        let methods = ["get", "remove_if", "remove", "insert"].map(method);
        Program {
            methods: BTreeMap::from_iter((0..).zip(methods)),
            is_cache,
            ..Program::default()
        }
    }

    fn test_case() -> TestCase {
        let call = |operation, bytes: &[u8]| Call {
            operation,
            bytes: bytes.to_vec(),
        };
        TestCase {
            prefix: vec![call(3, &[1, 5])],
            threads: vec![
                vec![call(3, &[1, 9]), call(0, &[1])],
                vec![call(3, &[2, 9])],
            ],
            ..TestCase::default()
        }
    }

    #[test]
    fn a_path_says_whether_a_type_is_a_cache() {
        assert!(is_cache("quick_cache::sync::Cache<u32, u32>"));
        assert!(is_cache("lru_pool::Pool"));
        assert!(!is_cache("map::Map<cache::Key>"));
    }

    #[test]
    fn each_key_may_be_evicted_once() {
        let test = test_case();
        assert_eq!(with_evictions(&program(false), &test), None);
        let evicting = with_evictions(&program(true), &test).unwrap();
        let removal = |bytes: &[u8]| {
            vec![Call {
                operation: 2,
                bytes: bytes.to_vec(),
            }]
        };
        assert_eq!(evicting.threads[..2], test.threads);
        assert_eq!(evicting.threads[2..], [removal(&[1, 9]), removal(&[2, 9])]);
    }

    #[test]
    fn evictions_are_observed_as_calls_that_never_returned() {
        let test = test_case();
        let evicting = with_evictions(&program(true), &test).unwrap();
        let observation = Observation {
            threads: vec![Vec::new(), Vec::new()],
            ..Observation::default()
        };
        let observation = observe(observation, &test, &evicting);
        let is_open = |steps: &Vec<Observed>| matches!(steps.as_slice(), [step] if step.ended.is_none() && step.freedom == Freedom::Any);
        assert_eq!(observation.threads.len(), 4);
        assert!(observation.threads[2..].iter().all(is_open));
    }

    #[test]
    fn orders_have_any_of_the_evictions() {
        let test = test_case();
        // 3 orders of the calls; 4 places for the one eviction or the other, and 4 * 5 for both.
        assert_eq!(
            orders(&test, &[2, 1, 1, 1], 100).unwrap().len(),
            3 + 12 + 12 + 60
        );
        assert_eq!(orders(&test, &[2, 1, 1, 1], 80), None);
    }
}
