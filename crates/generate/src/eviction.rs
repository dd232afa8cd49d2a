//! Evictions: a cache may drop an entry at any time, so a lookup that misses is right although no call removed the entry.
//!
//! An eviction is a call that the environment makes: a removal with the key of one of the test's calls, on an additional thread.
//! The search for an order ([`crate::linearize`]) may place one just before each call with the same key, and one before the
//! calls after all threads. Elsewhere nobody could tell.

use std::ops::Range;

use crate::linearize::Observation;
use crate::literal::Bytes;
use crate::methods::Operation;
use crate::order::{SECOND, next, turn};
use crate::program::Program;
use crate::recipe::Recipe;
use crate::sequential::all_orders;
use crate::test_case::{Call, TestCase};

/// Parts of a path that name a cache.
const CACHES: &[&str] = &["cache", "lru"];
/// Methods that remove one entry, by a word in their names.
const REMOVING: &[&str] = &["delete", "evict", "invalidate", "remove"];
/// Most threads of a test, with those that evict.
const THREADS: usize = 12;

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

    /// Those of a call's bytes that say what is removed; `None` if an earlier call's result says it.
    fn key<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let mut read = Bytes::new(bytes);
        let _ = self.call.literal(&mut read);
        (!read.asks_earlier).then(|| &bytes[..bytes.len() - read.left().len()])
    }
}

/// What a cache may evict in the course of a test.
pub(crate) enum Evictions {
    /// Nothing: the type is no cache, or has no method that removes one entry.
    Never,
    /// Keys are not known before the calls are made.
    Unknown,
    /// Some keys.
    Possible(Evicting),
}

/// A test with calls that evict.
pub(crate) struct Evicting {
    /// The test, with one additional thread for each key.
    pub(crate) test: TestCase,
    /// By thread of the test and call: the thread that evicts the call's key.
    keys: Vec<Vec<usize>>,
}

impl Evictions {
    /// Of a test.
    pub(crate) fn of(program: &Program, test: &TestCase) -> Self {
        let methods = program.methods.iter();
        let removals = methods.filter_map(|(number, method)| {
            let removal = method.removal.as_ref().filter(|_| method.is_quiet())?;
            Some((*number, removal, method.name.len()))
        });
        // The one with the shortest name has no further conditions.
        let removal = removals.min_by_key(|(_, _, length)| *length);
        match removal.filter(|_| program.is_cache) {
            None => Self::Never,
            Some((operation, removal, _)) => {
                Evicting::new(test, operation, removal).map_or(Self::Unknown, Self::Possible)
            }
        }
    }
}

impl Evicting {
    fn new(test: &TestCase, operation: u16, removal: &Removal) -> Option<Self> {
        let own = test.threads.len();
        let mut evictions: Vec<(&[u8], Vec<Call>)> = Vec::new();
        let mut evict = |bytes: &'_ [u8], key| {
            let known = evictions.iter().position(|(one, _)| *one == key);
            let index = known.unwrap_or_else(|| {
                evictions.push((key, Vec::new()));
                evictions.len() - 1
            });
            evictions[index].1.push(Call {
                operation,
                bytes: bytes.to_vec(),
            });
            own + index
        };
        let mut keys = Vec::new();
        for calls in &test.threads {
            let calls = calls.iter();
            let evictors = calls.map(|call| Some(evict(&call.bytes, removal.key(&call.bytes)?)));
            keys.push(evictors.collect::<Option<Vec<usize>>>()?);
        }
        // One eviction is left of each key for the end.
        for call in test
            .threads
            .iter()
            .flatten()
            .chain(&test.prefix)
            .chain(&test.after)
        {
            evict(&call.bytes, removal.key(&call.bytes)?);
        }
        let evictions = evictions.into_iter().map(|(_, calls)| calls);
        let threads: Vec<_> = test.threads.iter().cloned().chain(evictions).collect();
        (threads.len() <= THREADS).then(|| Self {
            test: TestCase {
                threads,
                ..test.clone()
            },
            keys,
        })
    }

    /// The threads that evict.
    fn evictors(&self) -> Range<usize> {
        self.keys.len()..self.test.threads.len()
    }

    /// What was observed of the test, with evictions that may or may not have happened.
    pub(crate) fn observe(&self, mut observation: Observation) -> Observation {
        for (steps, keys) in observation.threads.iter_mut().zip(&self.keys) {
            // A call of two steps begins with a turn that is not the second one.
            let mut calls = keys.iter();
            for step in steps {
                if step.turn & SECOND == 0 {
                    step.before = calls.next().map(|thread| turn(*thread, false, false));
                }
            }
        }
        let evictors = self.evictors().map(|thread| turn(thread, false, false));
        observation.finally = evictors.collect();
        observation
    }

    /// All orders of the calls in which any of the evictions happen; nothing if there are more than `most`. `steps` says for
    /// a call how many steps it has at most.
    pub(crate) fn orders(
        &self,
        steps: &dyn Fn(&Call) -> usize,
        most: usize,
    ) -> Option<Vec<Vec<u8>>> {
        let own = self.test.threads.iter().zip(&self.keys);
        // By thread and step.
        let evictors: Vec<Vec<usize>> = own
            .map(|(calls, keys)| {
                let calls = calls.iter().zip(keys);
                let steps = calls.map(|(call, evictor)| vec![*evictor; steps(call)]);
                steps.flatten().collect()
            })
            .collect();
        let counts: Vec<usize> = evictors.iter().map(Vec::len).collect();
        let mut found = Vec::new();
        for order in all_orders(&counts, most)? {
            let mut evicting = vec![Vec::new()];
            let mut positions = vec![0; counts.len()];
            for turn in order {
                let thread = crate::order::thread(turn);
                let evictor = evictors[thread][positions[thread]];
                positions[thread] += 1;
                either(&mut evicting, evictor);
                evicting.iter_mut().for_each(|order| order.push(turn));
            }
            for evictor in self.evictors() {
                either(&mut evicting, evictor);
            }
            found.extend(evicting);
            if found.len() > most {
                return None;
            }
        }
        Some(found)
    }
}

/// Lets each of the orders go on with a turn of a thread, or without.
fn either(orders: &mut Vec<Vec<u8>>, thread: usize) {
    let with = orders
        .iter()
        .map(|order| [&order[..], &[next(thread)]].concat());
    let with: Vec<_> = with.collect();
    orders.extend(with);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Evicting, Evictions, Removal, is_cache};
    use crate::linearize::{Freedom, Observation, Observed};
    use crate::order::turn;
    use crate::program::{Method, Program};
    use crate::recipe::Recipe;
    use crate::test_case::{Call, TestCase};

    fn program(is_cache: bool) -> Program {
        let key = Recipe::Fed {
            fed: 0,
            name: String::new(),
            plain: Some(Box::new(Recipe::Number("u32".to_owned()))),
        };
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

    fn call(operation: u16, bytes: &[u8]) -> Call {
        Call {
            operation,
            bytes: bytes.to_vec(),
        }
    }

    fn test_case() -> TestCase {
        TestCase {
            prefix: vec![call(3, &[1, 5])],
            threads: vec![
                vec![call(3, &[1, 9]), call(0, &[1])],
                vec![call(3, &[2, 9])],
            ],
            ..TestCase::default()
        }
    }

    fn evicting(test: &TestCase) -> Evicting {
        match Evictions::of(&program(true), test) {
            Evictions::Possible(evicting) => evicting,
            _ => panic!("keys are known"),
        }
    }

    #[test]
    fn a_path_says_whether_a_type_is_a_cache() {
        assert!(is_cache("quick_cache::sync::Cache<u32, u32>"));
        assert!(is_cache("lru_pool::Pool"));
        assert!(!is_cache("map::Map<cache::Key>"));
    }

    #[test]
    fn each_key_has_a_thread_that_evicts_it_as_often_as_somebody_could_tell() {
        let test = test_case();
        assert!(matches!(
            Evictions::of(&program(false), &test),
            Evictions::Never
        ));
        let evicting = evicting(&test);
        assert_eq!(evicting.test.threads[..2], test.threads);
        let evictors = evicting.test.threads[2..].iter();
        let keys: Vec<Vec<u8>> = evictors
            .map(|calls| calls.iter().map(|call| call.bytes[0]).collect())
            .collect();
        // Before each concurrent call, and once for each call at the end.
        assert_eq!(keys, [vec![1; 5], vec![2; 2]]);
        assert_eq!(evicting.keys, [vec![2, 2], vec![3]]);
    }

    #[test]
    fn a_key_that_an_earlier_call_returned_is_not_known() {
        let mut test = test_case();
        test.threads[1].push(call(0, &[crate::literal::FED]));
        assert!(matches!(
            Evictions::of(&program(true), &test),
            Evictions::Unknown
        ));
    }

    #[test]
    fn evictions_may_come_before_calls_with_their_keys_and_at_the_end() {
        let step = |thread| Observed {
            turn: turn(thread, false, false),
            started: 0,
            ended: Some(1),
            result: None,
            freedom: Freedom::Strict,
            before: None,
        };
        let observation = evicting(&test_case()).observe(Observation {
            threads: vec![vec![step(0), step(0)], vec![step(1)]],
            ..Observation::default()
        });
        let before = observation.threads.iter();
        let before: Vec<Vec<_>> = before
            .map(|steps| steps.iter().map(|step| step.before).collect())
            .collect();
        let [one, other] = [2, 3].map(|thread| turn(thread, false, false));
        assert_eq!(before, [vec![Some(one), Some(one)], vec![Some(other)]]);
        assert_eq!(observation.finally, [one, other]);
    }

    #[test]
    fn orders_have_any_of_the_evictions() {
        let evicting = evicting(&test_case());
        // 3 orders of the calls, with or without an eviction before each of 3 calls and of 2 keys at the end.
        let orders = evicting.orders(&|_| 1, 96).unwrap();
        let distinct: std::collections::BTreeSet<_> = orders.iter().collect();
        assert_eq!((orders.len(), distinct.len()), (3 << 5, 3 << 5));
        assert_eq!(evicting.orders(&|_| 1, 95), None);
    }
}
