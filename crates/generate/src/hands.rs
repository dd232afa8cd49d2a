//! How a test that is written down gives threads what they own: each gets a clone, or the only one. What
//! a thread has not dropped outlives it.

use crate::holding::{Access, Holding};
use crate::literal::Bytes;
use crate::print::Printer;
use crate::recipe::Recipe;
use crate::test_case::{Call, TestCase};

/// What the threads of a test own.
pub(crate) struct Hands<'a> {
    printer: &'a Printer<'a>,
    test: &'a TestCase,
    objects: Vec<String>,
}

impl<'a> Hands<'a> {
    pub(crate) fn new(printer: &'a Printer<'a>, test: &'a TestCase) -> Self {
        Self {
            objects: printer.objects(),
            printer,
            test,
        }
    }

    /// The name that an object gets when it is made.
    pub(crate) fn made(&self, part: usize) -> String {
        // Whoever needs no other thread needs none at all.
        let threads = self.test.threads.as_slice();
        let alone = threads.iter().take(1).filter(|_| threads.len() == 1);
        let alone = alone.flatten();
        let calls = self.test.prefix.iter().chain(alone).chain(&self.test.after);
        self.name(part, calls)
    }

    /// How a thread comes to what it works with.
    pub(crate) fn taken(&self, thread: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for (part, holding) in self.printer.discovery.holdings.iter().enumerate() {
            let object = &self.objects[part];
            if !holding.is_own() {
                lines.push(format!("let {object} = std::sync::Arc::clone(&{object});"));
            } else if self.has(thread, part) {
                let name = self.name(part, &self.test.threads[thread]);
                lines.push(match self.is_given(thread, part) {
                    true => format!("let {name} = {object};"),
                    false => format!("let {name} = {object}.clone();"),
                });
            }
        }
        lines
    }

    /// What a thread ends with: its results, and what it still has.
    pub(crate) fn left(&self, thread: usize, compares: bool) -> Option<String> {
        let left = self.kept(thread).into_iter();
        let left = left.map(|part| self.objects[part].clone());
        let results = compares.then(|| "results".to_owned());
        tuple(results.into_iter().chain(left).collect())
    }

    /// The names that this gets when the thread has ended.
    pub(crate) fn back(&self, thread: usize, compares: bool) -> Option<String> {
        let number = thread + 1;
        let left = self.kept(thread).into_iter().map(|part| {
            let object = &self.objects[part];
            match self.printer.discovery.holdings[part] {
                Holding::Owned => match self.name(part, &self.test.after) {
                    name if self.is_called(part, &self.test.after) => name,
                    name => format!("_{name}"),
                },
                _ => format!("_{object}_{number}"),
            }
        });
        let results = compares.then(|| format!("results_{number}"));
        tuple(results.into_iter().chain(left).collect())
    }

    /// Whether a thread still has something of its own in the end.
    pub(crate) fn has_left(&self, thread: usize) -> bool {
        !self.kept(thread).is_empty()
    }

    /// Parts that a thread has when it ends.
    fn kept(&self, thread: usize) -> Vec<usize> {
        let has_left = |part: &usize| {
            let calls = self.test.threads[thread].iter().rev();
            let mut loose = calls
                .filter(|call| self.is_on(*part, call))
                .map(|call| self.access(call))
                .filter(|access| access.is_loose());
            loose.next() != Some(Access::Drop)
        };
        let parts = 0..self.objects.len();
        let own = parts.filter(|part| self.has(thread, *part));
        own.filter(has_left).collect()
    }

    /// Whether a thread has an object of its own.
    fn has(&self, thread: usize, part: usize) -> bool {
        self.is_called(part, &self.test.threads[thread])
    }

    /// Whether a thread gets the object itself.
    fn is_given(&self, thread: usize, part: usize) -> bool {
        let threads = &self.test.threads;
        let mut calls = threads.iter().flatten();
        let is_loose = calls.any(|call| self.is_on(part, call) && self.access(call).is_loose());
        let is_last = (thread + 1..threads.len()).all(|other| !self.has(other, part));
        let is_only = self.printer.discovery.holdings[part] == Holding::Owned;
        is_only || (is_loose && is_last)
    }

    fn is_called(&self, part: usize, calls: &[Call]) -> bool {
        calls.iter().any(|call| self.is_on(part, call))
    }

    fn is_on(&self, part: usize, call: &Call) -> bool {
        let operation = &self.printer.discovery.operations[usize::from(call.operation)];
        operation.part == part && operation.access.is_own()
    }

    fn access(&self, call: &Call) -> Access {
        self.printer.discovery.operations[usize::from(call.operation)].access
    }

    /// The name of an object that these calls are made on.
    fn name<'b>(&self, part: usize, calls: impl IntoIterator<Item = &'b Call>) -> String {
        let object = &self.objects[part];
        let mut calls = calls.into_iter().filter(|call| self.is_on(part, call));
        let is_changed = calls.any(|call| {
            let operation = &self.printer.discovery.operations[usize::from(call.operation)];
            let text = operation.steps[0].call.literal(&mut Bytes::new(&[]));
            operation.access == Access::Make || text.contains("&mut **{o}")
        });
        match is_changed {
            true => format!("mut {object}"),
            false => object.clone(),
        }
    }
}

fn tuple(names: Vec<String>) -> Option<String> {
    match names.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("({})", several.join(", "))),
    }
}

/// A call on a thread's own object.
pub(crate) fn on_own(call: &Recipe, object: &str, bytes: &mut Bytes<'_>) -> String {
    let text = call.literal(bytes);
    text.replace("(&**{o}).", &format!("{object}."))
        .replace("(&mut **{o}).", &format!("{object}."))
        .replace("(&***{o}).", &format!("{object}."))
        .replace("(&****{o}).", &format!("{object}."))
        .replace("(*{o}).", &format!("{object}."))
        .replace("(&***{o})", &format!("&*{object}"))
        .replace("(&****{o})", &format!("&**{object}"))
        .replace("(&**{o})", &format!("&{object}"))
        .replace("(&mut **{o})", &format!("&mut {object}"))
        .replace("(&mut &**{o})", &format!("&mut &{object}"))
        .replace("(&&**{o})", &format!("&&{object}"))
        .replace("&mut **{o}", &format!("&mut {object}"))
        .replace("&**{o}", &format!("&{object}"))
        .replace("(*{o})", object)
}
