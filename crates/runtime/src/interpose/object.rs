//! What the synchronisation objects of libc have in common.
//!
//! An object's state stands in the object itself, where libc keeps it: static initialisers
//! work, snapshots bring it back, and an object that was locked before the program came under
//! control stays locked. Owners are logical threads, whichever OS thread carries them.

use crate::arch::errno::EINVAL;
use crate::clock;
use crate::native;
use crate::oracles::shadow::access;
use crate::oracles::{heap, race};
use crate::record;
use crate::scheduler::{self, Woken};
use crate::thread::Wait;
use crate::weak;
use crate::world::{arm, live, take_at_site, world};
use core::sync::atomic::AtomicU32;
use raddle_abi::hooks::order;
use raddle_abi::site::{Operation, SiteId};

const SECOND: i64 = 1_000_000_000;

/// Declares functions that take the place of libc's. Until the program is under control each
/// calls libc's own; then it is the expression after `=>`.
macro_rules! interpose {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $ty:ty),* $(,)?) -> $result:ty => $body:expr;)*) => {
        $($(#[$doc])*
        #[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> $result {
            if !$crate::world::is_controlled() {
                static REAL: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
                let real = $crate::interpose::real::resolve(&REAL, concat!(stringify!($name), "\0"));
                // SAFETY: libc's function of this name has this signature.
                return unsafe {
                    let real: unsafe extern "C" fn($($ty),*) -> $result = core::mem::transmute(real);
                    real($($argument),*)
                };
            }
            $body
        })*
    };
}
pub(crate) use interpose;

/// A scheduling point before an operation on an object. Returns its site.
pub fn begin(operation: Operation, object: usize) -> SiteId {
    let site = take_at_site();
    if live() {
        scheduler::point(operation, true, object, site);
    }
    site
}

/// The number by which objects know the running thread.
pub fn me() -> u32 {
    crate::syscalls::owner_id() as u32
}

/// A word of an object.
pub fn word(object: usize, offset: usize) -> &'static mut u32 {
    // SAFETY: the program passed the object, and every object is at least that large.
    unsafe { &mut *((object + offset) as *mut u32) }
}

/// The same for words that native threads change too.
pub fn atomic_word(object: usize, offset: usize) -> &'static AtomicU32 {
    // SAFETY: as for `word`; nobody holds on to a reference that `word` returns.
    unsafe { AtomicU32::from_ptr((object + offset) as *mut u32) }
}

fn is_watched() -> bool {
    let world = world();
    let current = world.execution.current;
    world.running && world.orders.race && world.execution.threads[current].entered
}

/// The running thread is about to read a word that has to exist.
pub fn look_at(object: usize, operation: Operation, site: SiteId) {
    if heap::is_on() && !heap::may_touch(object, 4) {
        heap::touched(operation, object, 4, site);
    }
}

/// The running thread is about to change an object, as an atomic operation would.
pub fn touch(object: usize, site: SiteId) {
    look_at(object, Operation::AtomicRmw, site);
    if is_watched() {
        race::access(object, 4, access::ATOMIC | access::WRITE, site);
    }
}

/// What the running thread does from now on comes after the last [`release`] of the object.
pub fn acquire(object: usize) {
    weak::acquire(object);
    if is_watched() {
        race::load(object, order::ACQUIRE);
    }
}

/// What the running thread did so far comes before the next [`acquire`] of the object.
pub fn release(object: usize) {
    weak::release(object, false);
    if is_watched() {
        race::store(object, order::RELEASE);
    }
}

/// As [`release`], beside what others have released before.
pub fn release_too(object: usize) {
    weak::release(object, true);
    if is_watched() {
        race::modify(object, order::RELEASE);
    }
}

/// Blocks the running thread, also where hooks are off. True if its time ran out.
pub fn block(wait: Wait) -> bool {
    let off = core::mem::take(&mut world().off);
    if off != 0 {
        arm();
    }
    let timed_out = scheduler::block(wait);
    if off != 0 {
        world().off = off;
        arm();
    }
    timed_out
}

/// Wakes all who wait for an object that may have become free.
pub fn wake_all(operation: Operation, object: usize) -> Woken {
    let woken = scheduler::wake_waiters(operation, object, u32::MAX, !0);
    native::wake_strangers(object);
    world().execution.changed();
    woken
}

/// Wakes up to `count` of those who wait for an event, at an object of this kind.
pub fn notify(object: usize, count: u32, bits: u32, kind: u32, site: SiteId) -> u32 {
    let woken = scheduler::wake_waiters(Operation::FutexWait, object, count, bits);
    native::wake_strangers(object);
    record_wake(object, woken, kind, site);
    woken.count
}

/// Records a wake-up, and which thread it woke first.
pub fn record_wake(object: usize, woken: Woken, flags: u32, site: SiteId) {
    let first = woken.first.map_or(0, |thread| thread as u16 + 1);
    let count = u64::from(woken.count);
    record::event(
        Operation::FutexWake,
        object as u64,
        count,
        flags,
        first,
        site,
    );
}

/// When a wait ends by itself: never, at a virtual time, or not at all because the program
/// passed something that is no time.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Result<u64, i32>);

impl Deadline {
    /// No time limit.
    pub const NEVER: Self = Self(Ok(u64::MAX));

    /// An absolute time on a clock, at the program's timespec.
    pub fn at(clock: i32, timespec: usize) -> Self {
        // SAFETY: the program's timespec.
        let [seconds, nanoseconds] = unsafe { *(timespec as *const [i64; 2]) };
        if !(0..SECOND).contains(&nanoseconds) || !clock::is_waitable(clock) {
            return Self(Err(EINVAL as i32));
        }
        Self(Ok(clock::absolute(clock, seconds, nanoseconds)))
    }

    /// The virtual time, or the error that a function returns once it has to wait.
    pub fn time(self) -> Result<u64, i32> {
        self.0
    }

    /// Whether the time is over already.
    pub fn is_past(time: u64) -> bool {
        time <= world().execution.now
    }
}
