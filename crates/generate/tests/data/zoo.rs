//! A type with every shape of receiver, argument and result that discovery has to know.

use std::borrow::Borrow;
use std::future::Future;
use std::hash::Hash;
use std::ops::Deref;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

mod inner {
    /// Made in a module that nobody can name.
    #[derive(Default)]
    pub struct Shy;

    impl Shy {
        pub fn say(&self) -> bool {
            true
        }
    }
}

pub use inner::Shy as Bold;

pub mod prelude {
    pub use super::inner::*;
}

/// With every receiver.
#[derive(Default)]
pub struct Receivers;

impl Receivers {
    pub fn shared(&self) {}
    pub fn exclusive(&mut self) {}
    pub fn owned(self) {}
    pub fn in_arc(self: &Arc<Self>) {}
    pub fn by_arc(self: Arc<Self>) {}
    pub fn pinned(self: Pin<&Self>) {}
    pub unsafe fn unsafely(&self) {}
    pub async fn later(&self) -> u32 {
        0
    }
    fn private(&self) {}
    #[doc(hidden)]
    pub fn hidden(&self) {}
}

pub trait Named {
    fn name(&self) -> String;
    fn loud_name(&self) -> String {
        self.name().to_uppercase()
    }
}

impl Named for Receivers {
    fn name(&self) -> String {
        String::new()
    }
}

impl std::io::Read for &Receivers {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Ok(0)
    }
}

impl Drop for Receivers {
    fn drop(&mut self) {}
}

/// An argument with a constructor.
pub struct Options {
    limit: usize,
}

impl Options {
    pub fn with_limit(limit: usize) -> Self {
        Self { limit }
    }
}

/// An argument with variants.
pub enum Mode {
    Plain,
    Sized(u32),
    Named { name: String },
}

/// Nothing makes one.
pub struct Sealed(());

/// With every argument.
pub struct Arguments<K, V> {
    _values: Vec<(K, V)>,
}

pub type Usual = Arguments<u32, String>;

impl<K: Hash + Eq, V: Clone> Arguments<K, V> {
    pub fn new(capacity: usize) -> Self {
        let _ = capacity;
        Self { _values: Vec::new() }
    }
    pub fn primitives(&self, _: u8, _: bool, _: char, _: f64) {}
    pub fn borrowed<Q: ?Sized + Hash>(&self, _key: &Q)
    where
        K: Borrow<Q>,
    {
    }
    pub fn text(&self, name: &str, _: impl AsRef<str>, _: impl AsRef<Path>, _: impl Into<String>) {}
    pub fn many(&self, _: &[K], _: Vec<V>, _: [u8; 2], _: impl IntoIterator<Item = (K, V)>) {}
    pub fn maybe(&self, _: Option<K>, _: Result<V, ()>, _: Box<V>, _: std::time::Duration) {}
    pub fn own(&self, _: Options, _: Mode, _: &Options) {}
    pub fn update(&self, _: impl FnOnce(&mut V), _: &dyn Fn(&K) -> bool) {}
    pub fn map<R>(&self, f: impl FnOnce(&V) -> R) -> Option<R> {
        let _ = f;
        None
    }
    pub fn make<F>(&self, make: F) -> V
    where
        F: Fn() -> V,
    {
        make()
    }
    pub fn pointer(&self, _: *const u8) {}
    pub fn function(&self, _: fn()) {}
    pub fn sealed(&self, _: Sealed) {}
    pub fn constant<const N: usize>(&self) -> [u8; N] {
        [0; N]
    }
}

/// With every result.
#[derive(Default)]
pub struct Results;

pub struct Guard<'a>(&'a u32);

impl Deref for Guard<'_> {
    type Target = u32;
    fn deref(&self) -> &u32 {
        self.0
    }
}

pub struct Entry<'a>(&'a Results);

impl<'a> Entry<'a> {
    pub fn get(&self) -> u32 {
        let _ = self.0;
        0
    }
    pub fn set(&mut self, _: u32) {}
    pub fn remove(self) -> bool {
        true
    }
}

pub struct WriteGuard(u32);

impl Deref for WriteGuard {
    type Target = u32;
    fn deref(&self) -> &u32 {
        &self.0
    }
}

impl std::ops::DerefMut for WriteGuard {
    fn deref_mut(&mut self) -> &mut u32 {
        &mut self.0
    }
}

impl Results {
    pub fn write_guard(&self) -> Result<WriteGuard, ()> {
        Ok(WriteGuard(0))
    }
    pub fn guard(&self) -> Guard<'_> {
        Guard(&0)
    }
    pub fn try_guard(&self) -> Option<Guard<'_>> {
        None
    }
    pub fn entry(&self, _: u32) -> Option<Entry<'_>> {
        None
    }
    pub fn all(&self) -> impl Iterator<Item = u32> {
        [1].into_iter()
    }
    pub fn eventually(&self) -> impl Future<Output = u32> {
        async { 1 }
    }
    pub fn address(&self) -> *const u8 {
        std::ptr::null()
    }
    pub fn both(&self) -> (u32, Result<Vec<String>, ()>) {
        (0, Err(()))
    }
}

/// Two ends.
pub struct Sender<T>(Arc<T>);
/// Two ends.
pub struct Receiver<T>(Arc<T>);

impl<T> Sender<T> {
    pub fn send(&self, value: T) {
        let _ = (&self.0, value);
    }
}

impl<T> Receiver<T> {
    pub fn receive(&self) -> Option<T> {
        let _ = &self.0;
        None
    }
}

pub fn channel<T: Default>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(T::default());
    (Sender(shared.clone()), Receiver(shared))
}

/// Takes others of its kind.
#[derive(Debug, Default)]
pub struct Pot<const SALTED: bool>(std::sync::atomic::AtomicU32);

impl<const SALTED: bool> Pot<SALTED> {
    /// # Panics
    ///
    /// If there is too much.
    pub fn pour(&self, from: &Self, amount: u32) -> u32 {
        amount
    }
    pub fn share(self: Arc<Self>, with: Arc<Self>) {}
    pub fn level(&self) -> u32 {
        0
    }
    pub fn _stir(&self) {}
    #[doc(hidden)]
    pub fn spice(&self) {}
}

/// Some of it is nobody else's business.
pub trait Lid {
    fn lift(&self);
    #[doc(hidden)]
    fn wipe(&self);
}

impl<const SALTED: bool> Lid for Pot<SALTED> {
    fn lift(&self) {}
    fn wipe(&self) {}
}

/// Of texts.
#[derive(Default)]
pub struct Words<T: AsRef<str>, N>(Vec<T>, Vec<N>);

impl<T: AsRef<str>, N> Words<T, N> {
    pub fn add(&self, word: T, number: N) {}
}

/// Is what it wraps, and more.
#[derive(Default)]
pub struct Outer<T>(Inner<T>);

impl<T> Outer<T> {
    pub fn own(&self) -> u32 {
        0
    }
    pub fn shadowed(&self) {}
}

impl<T> std::ops::Deref for Outer<T> {
    type Target = Inner<T>;
    fn deref(&self) -> &Inner<T> {
        &self.0
    }
}

/// Is wrapped.
#[derive(Default)]
pub struct Inner<T>(Bold, Option<T>);

impl<T> Inner<T> {
    pub fn put(&self, value: T) -> bool {
        true
    }
    pub fn shadowed(&self) -> bool {
        true
    }
    pub fn change(&mut self) {}
}

impl<T> std::ops::Deref for Inner<T> {
    type Target = Bold;
    fn deref(&self) -> &Bold {
        &self.0
    }
}

/// A handle, of which each thread has its own: it does not need `T: Clone`.
pub struct Hub<T>(Arc<Vec<T>>);

impl<T> Hub<T> {
    pub fn new(value: T) -> Self {
        Self(Arc::new(vec![value]))
    }
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl<T> Clone for Hub<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Is copied as a whole, so that threads share one.
#[derive(Clone, Default)]
pub struct Copied<T>(Vec<T>);

impl<T> Copied<T> {
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// One thread has it, and others have its thieves.
pub struct Worker<T>(std::cell::RefCell<Vec<T>>);

impl<T> Worker<T> {
    pub fn new() -> Self {
        Self(Default::default())
    }
    pub fn push(&self, value: T) {
        self.0.borrow_mut().push(value);
    }
    pub fn pop(&mut self) -> Option<T> {
        self.0.get_mut().pop()
    }
    pub fn finish(self) -> bool {
        true
    }
    pub fn share(self: Arc<Self>) {}
    pub fn thief(&self) -> Thief<T> {
        Thief(Arc::new(None))
    }
}

/// Takes from a worker.
#[derive(Clone)]
pub struct Thief<T>(Arc<Option<T>>);

impl<T> Thief<T> {
    pub fn steal(&self) -> bool {
        self.0.is_some()
    }
}

/// Its function returns the two ends, and no ring.
pub struct Ring<T>(Vec<T>);

impl<T> Ring<T> {
    pub fn with_room(room: usize) -> (Writer<T>, Reader<T>) {
        let all = Arc::new(Mutex::new(Vec::with_capacity(room)));
        (Writer(Arc::clone(&all)), Reader(all))
    }
}

/// One end of a ring.
pub struct Writer<T>(Arc<Mutex<Vec<T>>>);

impl<T> Writer<T> {
    pub fn write(&mut self, value: T) {
        self.0.lock().unwrap().push(value);
    }
}

/// The other end.
pub struct Reader<T>(Arc<Mutex<Vec<T>>>);

impl<T> Reader<T> {
    pub fn read(&mut self) -> Option<T> {
        self.0.lock().unwrap().pop()
    }
}

/// Is taken apart before it is used.
#[derive(Default)]
pub struct Whole(Vec<u32>);

impl Whole {
    pub fn split(self) -> (Half, Half) {
        let all = Arc::new(Mutex::new(self.0));
        (Half(Arc::clone(&all)), Half(all))
    }
}

/// What is left of it.
pub struct Half(Arc<Mutex<Vec<u32>>>);

impl Half {
    pub fn put(&mut self, value: u32) {
        self.0.lock().unwrap().push(value);
    }
}

/// Only one thread can have it, and others have nothing.
#[derive(Default)]
pub struct Lonely(std::cell::Cell<u32>);

impl Lonely {
    pub fn set(&self, value: u32) {
        self.0.set(value);
    }
}

/// Many have one.
#[derive(Clone)]
pub struct Head<T>(Arc<Option<T>>);

impl<T> Head<T> {
    pub fn put(&self, value: T) -> bool {
        let _ = (&self.0, value);
        true
    }
}

/// One has it, and needs all of it.
pub struct Tail<T>(Arc<Option<T>>);

impl<T> Tail<T> {
    pub fn take(&mut self) -> Option<T> {
        None
    }
    pub fn close(self) {}
}

pub fn pipe<T>() -> (Head<T>, Tail<T>) {
    let shared = Arc::new(None);
    (Head(shared.clone()), Tail(shared))
}

/// Belongs to no type.
pub fn look_up(key: &str) -> Option<u32> {
    let _ = key;
    None
}

/// Needs what nobody can make.
pub fn seal(_: Sealed) {}

/// Only a desk gives one out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticket(u64);

/// The same, and is not copied.
#[derive(Clone)]
pub struct Tag(String);

/// What its methods return, others of them take.
#[derive(Default)]
pub struct Desk;

impl Desk {
    pub fn take(&self, value: u32) -> Option<Ticket> {
        Some(Ticket(value.into()))
    }
    pub fn look(&self, ticket: Ticket) -> Option<u32> {
        let _ = ticket;
        None
    }
    pub fn swap(&self, ticket: &Ticket, other: Option<Ticket>) -> Result<Ticket, ()> {
        let _ = other;
        Ok(*ticket)
    }
    pub fn place(&self) -> usize {
        0
    }
    pub fn at(&self, index: usize) -> bool {
        index == 0
    }
    pub fn try_tag(&self, name: &str) -> Result<Tag, ()> {
        Ok(Tag(name.to_owned()))
    }
    pub fn tagged(&self, tag: &Tag) -> bool {
        tag.0.is_empty()
    }
    pub fn tag_all(&self, tags: Vec<Tag>) {}
    /// Looks at all of it.
    pub fn len(&self) -> usize {
        0
    }
}
