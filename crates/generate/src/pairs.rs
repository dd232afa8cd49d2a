//! Coverage of concurrent method pairs: which pairs of methods ran at the same time, how often,
//! and which pair is worth trying next.
//!
//! Choudhary, Lu, Pradel: "Efficient detection of thread safety violations via coverage-guided
//! generation of concurrent tests" (ICSE 2017), Algorithm 1 and section III-C; the numbers that
//! the paper's text lost are those of the authors' tool.
//!
//! Nested calls are in the trace if a method of the type is called inside of another one (see
//! [`crate::callees`]).
//!
//! Deviations: 1. c(p) grows by the mean over the executions of a test, because a test is run under
//! many schedules here, so that it stays comparable with r(p), which counts tests; with one
//! schedule it is the paper's. 2. A call that is made on what another returned counts as that
//! other's.

use std::collections::BTreeMap;

/// A method that begins or ends, in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// It begins.
    Start,
    /// It ends, be it by unwinding.
    End,
}

/// One entry of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Beginning or end.
    pub edge: Edge,
    /// The method.
    pub method: usize,
    /// The thread.
    pub thread: usize,
}

/// An unordered pair of methods, the lower first.
pub type Pair = (usize, usize);

/// The pair of two methods.
pub fn pair(one: usize, other: usize) -> Pair {
    (one.min(other), one.max(other))
}

/// Algorithm 1: how often each pair ran at the same time.
pub fn covered(trace: &[Entry]) -> BTreeMap<Pair, u32> {
    let mut running: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for entry in trace {
        match entry.edge {
            Edge::Start => {
                for (_, stack) in running
                    .iter()
                    .filter(|(thread, _)| **thread != entry.thread)
                {
                    for method in stack {
                        *counts.entry(pair(*method, entry.method)).or_insert(0) += 1;
                    }
                }
                running.entry(entry.thread).or_default().push(entry.method);
            }
            Edge::End => {
                // Unwinding ends whatever lies above.
                let stack = running.entry(entry.thread).or_default();
                if let Some(place) = stack.iter().rposition(|method| *method == entry.method) {
                    stack.truncate(place);
                }
            }
        }
    }
    counts
}

/// How much a pair is worth: the lowest comes first.
pub fn score(tried: u32, covered: f64) -> f64 {
    if tried == 0 {
        return 0.0;
    }
    let tried = f64::from(tried);
    (tried - covered).abs().max(1.0) * tried.max(1.0)
}

/// What is known about a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    /// r(p): how many times it was selected.
    pub tried: u32,
    /// c(p): how often it was covered, as a mean over the executions of a test.
    pub covered: f64,
}

/// All pairs of the methods with these numbers.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<Pair, Count>,
}

impl Coverage {
    /// Nothing is covered yet.
    pub fn new(methods: &[usize]) -> Self {
        Self::among(methods, |_| true)
    }

    /// The same, for pairs that can run at the same time.
    pub fn among(methods: &[usize], can_meet: impl Fn(Pair) -> bool) -> Self {
        let pairs = methods.iter().enumerate().flat_map(|(index, one)| {
            methods[index..]
                .iter()
                .map(|other| (pair(*one, *other), Count::default()))
        });
        Self {
            counts: pairs.filter(|(pair, _)| can_meet(*pair)).collect(),
        }
    }

    /// Every pair with what is known about it.
    pub fn counts(&self) -> &BTreeMap<Pair, Count> {
        &self.counts
    }

    /// |P|.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many pairs were covered.
    pub fn covered(&self) -> usize {
        self.counts
            .values()
            .filter(|count| count.covered > 0.0)
            .count()
    }

    /// A pair was selected.
    pub fn select(&mut self, pair: Pair) -> u32 {
        let count = self.counts.entry(pair).or_default();
        count.tried += 1;
        count.tried
    }

    /// A test was run so many times, and covered this in total.
    pub fn add(&mut self, counts: &BTreeMap<Pair, u32>, executions: u64) {
        for (pair, total) in counts {
            if let Some(count) = self.counts.get_mut(pair) {
                count.covered += f64::from(*total) / executions.max(1) as f64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Coverage, Edge, Entry, covered, score};

    /// One entry per word: thread, then `+` or `-`, then the method.
    fn trace(text: &str) -> Vec<Entry> {
        let one = |word: &str| {
            let (thread, rest) = word.split_at(1);
            let (edge, method) = rest.split_at(1);
            Entry {
                edge: if edge == "+" { Edge::Start } else { Edge::End },
                method: method
                    .bytes()
                    .next()
                    .map_or(0, |letter| usize::from(letter - b'a')),
                thread: thread.parse().unwrap(),
            }
        };
        text.split_whitespace().map(one).collect()
    }

    fn check(text: &str, expected: &[(&str, u32)]) {
        let found = covered(&trace(text));
        let shown: Vec<_> = found
            .iter()
            .map(|((one, other), count)| {
                let letter = |method: usize| char::from(b'a' + method as u8);
                (format!("{}{}", letter(*one), letter(*other)), *count)
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(pair, count)| ((*pair).to_owned(), *count))
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn methods_that_overlap_are_covered_and_others_are_not() {
        check("1+a 1-a 2+b 2-b", &[]);
        check("1+a 2+b 1-a 2-b", &[("ab", 1)]);
        check("1+b 2+a 2-a 2+a 1-b 2-a", &[("ab", 2)]);
        check("1+a 2+a 2-a 1-a", &[("aa", 1)]);
    }

    #[test]
    fn three_threads_cover_each_pair_of_theirs() {
        check(
            "1+a 2+b 3+c 1-a 1+b 3-c 2-b 1-b",
            &[("ab", 1), ("ac", 1), ("bb", 1), ("bc", 2)],
        );
    }

    #[test]
    fn nested_calls_count_while_they_are_on_the_stack() {
        check("1+a 1+b 2+c 1-b 2-c 1-a", &[("ac", 1), ("bc", 1)]);
        check("1+a 1+b 1-b 2+c 2-c 1-a", &[("ac", 1)]);
        // Both are inside of something, and one method is inside of itself.
        check(
            "1+a 2+c 1+b 2+d 2-d 1-b 2-c 1-a",
            &[("ac", 1), ("ad", 1), ("bc", 1), ("bd", 1)],
        );
        check("1+a 1+a 2+b 1-a 2-b 2+b 1-a 2-b 2+b", &[("ab", 3)]);
    }

    #[test]
    fn nested_calls_of_three_threads_count_with_each_other() {
        check(
            "1+a 1+b 2+a 3+c 1-b 3+b 2-a 3-b 1-a 3-c",
            &[("aa", 1), ("ab", 3), ("ac", 2), ("bc", 1)],
        );
    }

    #[test]
    fn unwinding_ends_what_lies_above() {
        check("1+a 1+b 1-a 2+c 2-c", &[]);
        check("1+a 1+b 1-a 1-b 1+c 2+b 2-b 1-c", &[("bc", 1)]);
        // What lies above in another thread goes on, and what lies below in the same one.
        check(
            "1+a 1+b 1+c 3+b 1-b 2+d 3-b 2-d 1-a",
            &[("ab", 1), ("ad", 1), ("bb", 1), ("bc", 1), ("bd", 1)],
        );
    }

    #[test]
    fn the_score_is_that_of_the_authors_tool() {
        let row = |tried: u32, last: u32| -> Vec<u32> {
            (0..=last)
                .map(|covered| score(tried, f64::from(covered)) as u32)
                .collect()
        };
        assert_eq!(row(0, 2), [0, 0, 0]);
        assert_eq!(row(1, 10), [1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(row(5, 10), [25, 20, 15, 10, 5, 5, 5, 10, 15, 20, 25]);
        assert_eq!(row(10, 10), [100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 10]);
    }

    #[test]
    fn coverage_grows_by_the_mean() {
        let mut coverage = Coverage::new(&[1, 2]);
        assert_eq!((coverage.len(), coverage.covered()), (3, 0));
        coverage.add(&[((1, 2), 5), ((7, 7), 1)].into(), 10);
        assert_eq!(coverage.covered(), 1);
        assert!((coverage.counts()[&(1, 2)].covered - 0.5).abs() < 1e-9);
    }
}
