//! A program that runs tests which are data: it asks for one, makes the objects, calls what the
//! test says from as many threads as it says, and marks when each call began and what it returned.
//! Written by raddle; everything below the line at the end is about the type under test.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

mod raddle {
    unsafe extern "C" {
        pub fn raddle_harness_input(buffer: *mut u8, capacity: usize) -> usize;
        pub fn raddle_harness_mark(kind: u32, number: u32, bytes: *const u8, len: usize);
        pub fn raddle_harness_gate(is_closed: u32);
        pub fn raddle_harness_clock(nanoseconds: u32);
    }
}

const CALL: u32 = 2;
const RETURN: u32 = 3;
/// In the number of a mark: what the call returned is used, or dropped.
const SECOND: u32 = 1 << 15;
/// In the place of a call: making the objects.
const MAKING: u32 = SECOND - 1;
/// In the place of a call: the objects are gone.
const GONE: u32 = SECOND - 2;

/// Bits of an order's turns; the others are the number of a thread.
const LEFT_OUT: u8 = 0x80;
const SECOND_STEP: u8 = 0x40;
const FIRST_STEP: u8 = 0x20;
const HOLDS: u8 = 0x10;

/// Bits of the manner in which orders are run.
const PAUSED: u8 = 1;
const OWN_THREADS: u8 = 2;
const ENDED_EARLY: u8 = 4;
const MOVED: u8 = 8;
const SLOW_CLOCK: u8 = 16;
const WAITING: u8 = 32;

fn mark(kind: u32, number: u32, text: &str) {
    unsafe { raddle::raddle_harness_mark(kind, number, text.as_ptr(), text.len()) }
}

/// What a value is made of if earlier calls did not return one: there is no other way to make one.
struct Nothing;

/// Leaves a call that there is nothing to give to.
pub fn nothing() -> ! {
    std::panic::resume_unwind(Box::new(Nothing))
}

/// What earlier calls returned: those before there were threads, and those of the thread itself.
pub struct Feed<'a> {
    before: Option<&'a Fed>,
    pub own: &'a mut Fed,
}

impl Feed<'_> {
    pub fn is_before(&self) -> bool {
        self.before.is_none()
    }
    fn value<T: Clone>(&self, which: u8, list: impl Fn(&Fed) -> &Vec<Option<T>>) -> Option<T> {
        let own = list(self.own);
        let before = self.before.map_or(own, &list);
        let first = before.get(usize::from(which) % before.len().max(1));
        match which {
            3 => own.last().or(before.last()),
            _ => first.or(own.last()),
        }?
        .clone()
    }
}

/// The bytes from which values are made, and those that follow if only one is taken.
pub struct Source<'a>(&'a [u8], Option<&'a [u8]>);

impl Source<'_> {
    /// What an earlier call returned, if that is meant and there is one.
    pub fn again<T: Clone>(
        &mut self,
        feed: &Feed<'_>,
        list: impl Fn(&Fed) -> &Vec<Option<T>>,
    ) -> Option<T> {
        let which = self.0.first()?.checked_sub(12).filter(|which| *which < 4)?;
        let (first, rest) = self.0.split_at(1);
        let value = feed.value(which, list);
        match value.is_some() {
            true => self.0 = rest,
            false => *self = Source(first, Some(rest)),
        }
        value
    }
    pub fn go_on(&mut self) {
        if let Some(rest) = self.1.take() {
            self.0 = rest;
        }
    }
    /// What an earlier call returned.
    pub fn given<T: Clone>(
        &mut self,
        feed: &Feed<'_>,
        list: impl Fn(&Fed) -> &Vec<Option<T>>,
    ) -> T {
        let which = self.next() % 4;
        feed.value(which, list).unwrap_or_else(|| nothing())
    }
    pub fn byte(&mut self) -> u8 {
        self.next()
    }
    fn next(&mut self) -> u8 {
        let first = self.0.first().copied().unwrap_or(0);
        self.0 = self.0.get(1..).unwrap_or(&[]);
        first
    }
    pub fn small(&mut self) -> u8 {
        self.next() % 4
    }
    pub fn flag(&mut self) -> bool {
        self.next() & 1 == 1
    }
    pub fn letter(&mut self) -> char {
        char::from(b'a' + self.small())
    }
    pub fn text(&mut self) -> String {
        self.static_text().to_owned()
    }
    pub fn static_text(&mut self) -> &'static str {
        let byte = self.next();
        let constant = constant(TEXTS, byte).copied();
        constant.unwrap_or(["", "a", "b", "ab"][usize::from(byte % 4)])
    }
    pub fn number(&mut self, least: i128, most: i128) -> i128 {
        let byte = self.next();
        let constant = constant(NUMBERS, byte).filter(|number| (least..=most).contains(*number));
        constant.copied().unwrap_or(i128::from(byte % 4))
    }
    pub fn one_of(&mut self, count: usize) -> usize {
        usize::from(self.next()) % count
    }
    pub fn count(&mut self) -> u8 {
        self.next() % 4
    }
}

/// One of the values that the user supplies.
pub fn pick<I: IntoIterator>(values: I, which: u8) -> I::Item {
    let values: Vec<_> = values.into_iter().collect();
    let which = usize::from(which) % values.len().max(1);
    values.into_iter().nth(which).unwrap_or_else(|| nothing())
}

/// Bytes that follow from one.
pub fn spread(seed: u8) -> Vec<u8> {
    let mut state = u32::from(seed);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..64).map(|_| next()).collect()
}

/// What the crate's source speaks of.
fn constant<T>(of: &[T], byte: u8) -> Option<&T> {
    byte.checked_sub(16).and_then(|index| of.get(usize::from(index)))
}

thread_local! {
    static NOTES: RefCell<String> = const { RefCell::new(String::new()) };
    static LAST_NOTE: RefCell<String> = const { RefCell::new(String::new()) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What closures were given is a part of the result.
pub fn note(text: &str) {
    NOTES.with(|notes| {
        let mut notes = notes.borrow_mut();
        notes.push('|');
        notes.push_str(text);
    })
}

/// What a closure was given that may be called more than once: how often is nobody's promise, and the last call counts.
pub fn note_last(text: &str) {
    LAST_NOTE.with(|note| *note.borrow_mut() = format!("|{text}"))
}

// What values look like: a test that is written down has these lines too, if it needs them.
pub struct Shown<'a, T: ?Sized>(pub &'a T);
pub trait ByDebug {
    fn shown(&self) -> String;
}
impl<T: std::fmt::Debug + ?Sized> ByDebug for &&Shown<'_, T> {
    fn shown(&self) -> String {
        format!("{:?}", self.0)
    }
}
pub trait ByTarget {
    fn shown(&self) -> String;
}
impl<T: std::ops::Deref + ?Sized> ByTarget for &Shown<'_, T>
where
    T::Target: std::fmt::Debug,
{
    fn shown(&self) -> String {
        format!("*{:?}", &**self.0)
    }
}
pub trait ByName {
    fn shown(&self) -> String;
}
impl<T: ?Sized> ByName for Shown<'_, T> {
    fn shown(&self) -> String {
        let name = std::any::type_name::<T>();
        format!("<{}>", name.split('<').next().unwrap_or(name))
    }
}
macro_rules! show {
    ($value:expr) => {
        (&&&Shown(&$value)).shown()
    };
}
// That is all.

/// What a call returned, as long as it is held.
#[derive(Default)]
pub struct Keep(Option<Box<dyn FnOnce() -> String>>);

impl Keep {
    pub fn until(&mut self, then: impl FnOnce() -> String + 'static) {
        self.0 = Some(Box::new(then));
    }
}

/// Drives a future that nobody wakes.
pub fn drive<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..100 {
        if let std::task::Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return Some(result);
        }
        std::thread::yield_now();
    }
    None
}

struct Call {
    id: u32,
    operation: u16,
    bytes: Vec<u8>,
}

struct Test {
    constructor: u8,
    bytes: Vec<u8>,
    prefix: Vec<Call>,
    threads: Vec<Vec<Call>>,
    after: Vec<Call>,
    orders: Vec<Vec<u8>>,
    manner: u8,
}

struct Reader {
    bytes: Vec<u8>,
    at: usize,
    calls: u32,
}

impl Reader {
    fn u8(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }
    fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }
    fn block(&mut self) -> Vec<u8> {
        let len = self.u8();
        (0..len).map(|_| self.u8()).collect()
    }
    fn calls(&mut self) -> Vec<Call> {
        let count = self.u8();
        let one = |reader: &mut Self| {
            let id = reader.calls;
            reader.calls += 1;
            Call { id, operation: reader.u16(), bytes: reader.block() }
        };
        (0..count).map(|_| one(self)).collect()
    }
    fn test(&mut self) -> Test {
        let (constructor, bytes) = (self.u8(), self.block());
        let prefix = self.calls();
        let threads = self.u8();
        let threads = (0..threads).map(|_| self.calls()).collect();
        let after = self.calls();
        let orders = self.u16();
        let orders = (0..orders).map(|_| self.block()).collect();
        let manner = self.u8();
        Test { constructor, bytes, prefix, threads, after, orders, manner }
    }
}

fn input() -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let len = unsafe { raddle::raddle_harness_input(bytes.as_mut_ptr(), bytes.len()) };
    if len > bytes.len() {
        bytes.resize(len, 0);
        unsafe { raddle::raddle_harness_input(bytes.as_mut_ptr(), bytes.len()) };
    }
    bytes.truncate(len);
    bytes
}

/// Runs something that may panic. The text of a panic begins with `!`.
fn guarded(action: impl FnOnce() -> String) -> (String, bool) {
    let noted = || NOTES.take() + &LAST_NOTE.take();
    drop(noted());
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(text) => (text + &noted(), true),
        Err(thrown) if thrown.is::<Nothing>() => (String::from("nothing to give"), true),
        Err(_) => (PANIC.with(|panic| format!("!{}", panic.borrow())), false),
    }
}

/// What a thread has of its own. Nothing that was borrowed from it is kept from call to call: what
/// a call returned is used or let go before the next one.
#[derive(Clone, Copy)]
struct Hand(*mut Own);

unsafe impl Send for Hand {}

impl Hand {
    fn new(own: Own) -> Self {
        Self(Box::into_raw(Box::new(own)))
    }
    fn own(self) -> &'static mut Own {
        unsafe { &mut *self.0 }
    }
    fn free(self) {
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Gives each thread its own of what it makes calls on: a clone, or the only one. If somebody drops
/// it, the last one gets ours, so that the last one to be dropped is a thread's.
fn hand_out(test: &Test, main: Hand) -> Vec<Hand> {
    let hands: Vec<_> = test.threads.iter().map(|_| Hand::new(Own::default())).collect();
    for part in OWN_PARTS {
        let is_used = |calls: &[Call]| calls.iter().any(|call| own_part(call.operation) == Some(*part));
        let is_loose = |call: &Call| own_part(call.operation) == Some(*part) && is_loose(call.operation);
        let is_given = test.threads.iter().flatten().any(is_loose);
        let last = test.threads.iter().rposition(|calls| is_used(calls));
        for (thread, hand) in hands.iter().enumerate() {
            if is_used(&test.threads[thread]) {
                lend(*part, main.own(), hand.own(), is_given && last == Some(thread));
            }
        }
    }
    hands
}

/// One thread of a test, or of the order in which its calls are made one after the other.
struct Runner<'a> {
    calls: std::slice::Iter<'a, Call>,
    hand: Hand,
    keep: Keep,
    before: Option<&'static Fed>,
    own: Fed,
    last: u32,
    order: u32,
    is_over: bool,
}

impl<'a> Runner<'a> {
    fn new(calls: &'a [Call], hand: Hand, before: Option<&'static Fed>, order: u32) -> Self {
        let (keep, own) = (Keep::default(), Fed::default());
        Self { calls: calls.iter(), hand, keep, before, own, last: 0, order, is_over: false }
    }
    /// Takes a turn of an order, which says what kind of step it is, if it says anything.
    fn follow(&mut self, turn: u8, objects: &'static Parts) {
        if turn & FIRST_STEP != 0 {
            self.let_go();
        }
        match turn & LEFT_OUT != 0 {
            true if turn & SECOND_STEP != 0 => self.let_go(),
            true => drop(self.calls.next()),
            // There may be nothing to use in this order.
            false if turn & SECOND_STEP != 0 && self.keep.0.is_none() => {}
            false => drop(self.step(objects)),
        }
        if turn & FIRST_STEP != 0 && turn & HOLDS == 0 {
            self.let_go();
        }
    }
    /// Does not use what the last call returned.
    fn let_go(&mut self) {
        let kept = self.keep.0.take();
        let _ = catch_unwind(AssertUnwindSafe(move || drop(kept)));
    }
    /// Makes the next call, or uses what the last one returned; false if there is nothing to do.
    fn step(&mut self, objects: &'static Parts) -> bool {
        if self.is_over {
            return false;
        }
        let order = self.order << 16;
        let (text, is_done) = if let Some(then) = self.keep.0.take() {
            mark(CALL, order | SECOND | self.last, "");
            let (text, is_done) = guarded(then);
            mark(RETURN, order | SECOND | self.last, &text);
            (text, is_done)
        } else if let Some(next) = self.calls.next() {
            self.last = next.id;
            mark(CALL, order | next.id, "");
            let (own, keep) = (self.hand.own(), &mut self.keep);
            let mut feed = Feed { before: self.before, own: &mut self.own };
            let mut source = Source(&next.bytes, None);
            let (text, is_done) = guarded(|| {
                call(next.operation, objects, own, &mut source, keep, &mut feed)
            });
            mark(RETURN, order | next.id, &text);
            (text, is_done)
        } else {
            return false;
        };
        self.is_over = !is_done;
        true
    }
}

/// Makes the objects; `None` if that panics.
fn made(test: &Test, order: u32) -> Option<(*mut Parts, Hand)> {
    let mut objects = None;
    let (text, is_done) = guarded(|| {
        objects = Some(make(test.constructor, &mut Source(&test.bytes, None)));
        String::new()
    });
    mark(RETURN, order << 16 | MAKING, &text);
    let (parts, own) = objects.filter(|_| is_done)?;
    Some((Box::into_raw(Box::new(parts)), Hand::new(own)))
}

/// Makes calls one after the other, and says what they returned.
fn run_all(
    calls: &[Call],
    objects: &'static Parts,
    hand: Hand,
    before: Option<&'static Fed>,
    order: u32,
) -> Fed {
    let mut runner = Runner::new(calls, hand, before, order);
    while runner.step(objects) {}
    runner.own
}

fn run_threads(test: &Arc<Test>, objects: &'static Parts, hands: &[Hand], before: &'static Fed) {
    // None is ahead of the others because they were not there yet.
    unsafe { raddle::raddle_harness_gate(1) };
    let threads: Vec<_> = hands
        .iter()
        .enumerate()
        .map(|(index, hand)| {
            let (test, hand) = (Arc::clone(test), *hand);
            std::thread::spawn(move || {
                let mut runner = Runner::new(&test.threads[index], hand, Some(before), 0);
                while runner.step(objects) {
                    if runner.keep.0.is_some() {
                        // Whatever is held is held while others run.
                        std::thread::yield_now();
                    }
                }
            })
        })
        .collect();
    unsafe { raddle::raddle_harness_gate(0) };
    for thread in threads {
        let _ = thread.join();
    }
}

fn run_order(
    test: &Test,
    (order, number): (&[u8], u32),
    objects: &'static Parts,
    hands: &[Hand],
    before: &'static Fed,
) {
    if test.manner & SLOW_CLOCK != 0 {
        unsafe { raddle::raddle_harness_clock(1_000_000) };
    }
    let threads = test.threads.iter().zip(hands);
    let mut threads: Vec<_> =
        threads.map(|(calls, hand)| Runner::new(calls, *hand, Some(before), number)).collect();
    for turn in order {
        let thread = usize::from(turn & 0x0f);
        let Some(runner) = threads.get_mut(thread) else { continue };
        pass_only_parts(hands, runner.hand);
        runner.follow(*turn, objects);
        pause(test);
    }
}

/// Whoever has a turn has what there is only one of.
fn pass_only_parts(hands: &[Hand], to: Hand) {
    for part in ONLY_PARTS {
        hands.iter().for_each(|other| pass(*part, *other, to));
    }
}

/// Lets time pass, in which others do what is left to do.
fn pause(test: &Test) {
    if test.manner & PAUSED != 0 {
        std::thread::sleep(std::time::Duration::from_secs(5));
    }
}

/// The same, where each thread of the test makes its calls. It ends with the last of them, or with the last of all.
fn run_order_by_threads(
    test: &Test,
    (order, number): (&[u8], u32),
    objects: &'static Parts,
    hands: &[Hand],
    before: &'static Fed,
) {
    std::thread::scope(|scope| {
        let (done, is_done) = std::sync::mpsc::channel::<usize>();
        let threads = test.threads.iter().zip(hands).enumerate().map(|(index, (calls, hand))| {
            let (give, turns) = std::sync::mpsc::channel::<u8>();
            let (hand, done) = (*hand, done.clone());
            let thread = scope.spawn(move || {
                // The whole of it goes to the other thread, not the pointer that is in it.
                let hand: Hand = hand;
                let mut runner = Runner::new(calls, hand, Some(before), number);
                for turn in turns {
                    runner.follow(turn, objects);
                    let _ = done.send(index);
                }
            });
            Some((give, thread))
        });
        let mut threads: Vec<_> = threads.collect();
        // Turns of each thread that it has not come to the end of.
        let mut open = vec![0_usize; threads.len()];
        for (index, turn) in order.iter().enumerate() {
            let number = usize::from(turn & 0x0f);
            let Some(Some((give, _))) = threads.get(number) else { continue };
            if open.iter().all(|turns| *turns == 0) {
                pass_only_parts(hands, hands[number]);
            }
            let _ = give.send(*turn);
            open[number] += 1;
            if test.manner & WAITING == 0 {
                open[number] -= usize::from(is_done.recv().is_ok());
            } else {
                // Time passes only when no thread can run: woken threads have run, and the others wait.
                std::thread::sleep(std::time::Duration::from_secs(3600));
                is_done.try_iter().for_each(|done| open[done] -= 1);
            }
            pause(test);
            let is_last = order[index + 1..].iter().all(|turn| usize::from(turn & 0x0f) != number);
            if is_last && test.manner & ENDED_EARLY != 0 {
                if let Some((give, thread)) = threads[number].take() {
                    drop(give);
                    let _ = thread.join();
                }
            }
        }
    });
}

/// Hands a part over, if the other one has none.
fn pass(part: usize, from: Hand, to: Hand) {
    if from.0 != to.0 {
        give(part, from.own(), to.own());
    }
}

fn with_objects(test: &Test, order: u32, run: impl FnOnce(&'static Parts, &[Hand], &'static Fed)) {
    if test.manner & MOVED != 0 {
        // What is allocated from now on lies elsewhere.
        (4..12).for_each(|power| std::mem::forget(vec![0_u8; 1 << power]));
    }
    let Some((pointer, hand)) = made(test, order) else { return };
    let mut hands = Vec::new();
    let kept: *mut Fed;
    {
        // What was made is given back below, when nobody has it any more.
        let objects: &'static Parts = unsafe { &*pointer };
        kept = Box::into_raw(Box::new(run_all(&test.prefix, objects, hand, None, order)));
        pause(test);
        let before: &'static Fed = unsafe { &*kept };
        hands.extend(hand_out(test, hand));
        run(objects, &hands, before);
        for part in ONLY_PARTS {
            hands.iter().for_each(|other| pass(*part, *other, hand));
        }
        run_all(&test.after, objects, hand, Some(before), order);
    }
    let (text, _) = guarded(|| {
        drop(unsafe { Box::from_raw(kept) });
        drop(unsafe { Box::from_raw(pointer) });
        hand.free();
        hands.into_iter().for_each(Hand::free);
        String::new()
    });
    mark(RETURN, order << 16 | GONE, &text);
}

/// Tells what a test returned that is written down in this program.
pub fn printed_results(found: &[Vec<String>]) {
    mark(RETURN, MAKING, &format!("{found:?}"));
}

fn main() {
    let bytes = input();
    if bytes.is_empty() {
        eprintln!("this program is run by `cargo raddle generate`");
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| place.to_string()).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = format!("{place}: {}", text.unwrap_or_default());
        PANIC.with(|panic| *panic.borrow_mut() = text);
    }));
    if let [0xff, 0xff, low, high] = bytes[..] {
        let (text, _) = guarded(|| {
            printed(u16::from_le_bytes([low, high]));
            String::new()
        });
        return mark(RETURN, GONE, &text);
    }
    let test = Arc::new(Reader { bytes, at: 0, calls: 0 }.test());
    if test.orders.is_empty() {
        with_objects(&test, 0, |objects, hands, before| {
            run_threads(&test, objects, hands, before);
        });
    }
    for (number, order) in test.orders.iter().enumerate() {
        let number = number as u32;
        with_objects(&test, number, |objects, hands, before| match test.manner & OWN_THREADS {
            0 => run_order(&test, (order, number), objects, hands, before),
            _ => run_order_by_threads(&test, (order, number), objects, hands, before),
        });
    }
}

// ---------------------------------------------------------------------------------------------
