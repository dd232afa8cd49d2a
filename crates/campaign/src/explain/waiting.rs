//! What threads wait on, as data: which functions wait, and which ones end a wait.
//!
//! A blocked thread stands in a futex, which tells people little. The call on its stack that the
//! user knows tells what it waits for. The address of the object behind it is that of the word that
//! the call itself touches, which is not always the futex: `parking_lot` keeps threads in queues and
//! lets each wait on a word of its own.

use raddle_abi::record::{RawEvent, wake};
use raddle_abi::site::Operation;
use raddle_trace::runner::{RawRecording, RawWait};

use super::locate::Located;
use super::paths::Owner;
use super::symbols::Frame;

/// A type of object that threads wait on until another thread ends their wait.
pub(super) struct Object {
    /// What it is.
    pub noun: &'static str,
    /// What ends a wait.
    pub wake_up: &'static str,
    /// Types, by their paths with the last `::`, and functions that stand alone.
    paths: &'static [&'static str],
    /// How names of functions begin that wait.
    waits: &'static [&'static str],
    /// How names of functions begin that end a wait.
    wakes: &'static [&'static str],
    /// Paths of functions that touch the object's own word.
    inner: &'static [&'static str],
    /// Whether a wake-up that finds no waiting thread serves the next wait.
    pub keeps: bool,
    /// Whether tasks wait on it, and not threads.
    pub of_tasks: bool,
}

/// Objects whose waits and wake-ups are told.
static OBJECTS: [Object; 3] = [
    Object {
        noun: "condition variable",
        wake_up: "notification",
        paths: &[
            "std::sync::poison::condvar::Condvar::",
            "std::sync::nonpoison::condvar::Condvar::",
            "std::sync::condvar::Condvar::",
            "parking_lot::condvar::Condvar::",
        ],
        waits: &["wait"],
        wakes: &["notify"],
        inner: &["std::sys::sync::condvar::", "parking_lot::condvar::"],
        keeps: false,
        of_tasks: false,
    },
    Object {
        noun: "thread",
        wake_up: "`unpark`",
        paths: &[
            "std::thread::functions::",
            "std::thread::thread::Thread::",
            "std::thread::Thread::",
            "std::thread::park",
        ],
        waits: &["park"],
        wakes: &["unpark"],
        inner: &["std::sys::sync::thread_parking::"],
        keeps: true,
        of_tasks: false,
    },
    Object {
        noun: "`Notify`",
        wake_up: "notification",
        paths: &[
            "tokio::sync::notify::Notify::",
            "tokio::sync::notify::Notified::",
            "tokio::sync::notify::OwnedNotified::",
            "tokio::sync::notify::NotifiedProject::",
        ],
        waits: &["poll", "notified"],
        wakes: &["notify_"],
        inner: &["tokio::sync::notify::"],
        keeps: false,
        of_tasks: true,
    },
];

/// An object of libc, as the runtime records the beginning of a wait on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfLibc {
    Condition,
    Semaphore,
    Barrier,
    Once,
}

impl OfLibc {
    /// What a thread waits on, if it is an object of libc.
    pub fn of(recording: &RawRecording, wait: &RawWait) -> Option<Self> {
        let is_wait = |event: &&RawEvent| {
            event.thread == wait.thread
                && event.operation == wait.operation as u16
                && event.address == wait.object
        };
        let event = recording.events.iter().rev().find(is_wait)?;
        let kinds = [
            (wake::CONDITION, Self::Condition),
            (wake::SEMAPHORE, Self::Semaphore),
            (wake::BARRIER, Self::Barrier),
            (wake::ONCE, Self::Once),
        ];
        let known = matches!(wait.operation, Operation::FutexWait | Operation::LockWant);
        let kind = kinds.into_iter().find(|(bit, _)| event.len & bit != 0);
        kind.filter(|_| known).map(|(_, kind)| kind)
    }

    /// What it is.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Condition => "condition variable",
            Self::Semaphore => "semaphore",
            Self::Barrier => "barrier",
            Self::Once => "initialization",
        }
    }

    /// What ends a wait.
    pub const fn wake_up(self) -> &'static str {
        match self {
            Self::Condition => "signal",
            Self::Semaphore => "post",
            Self::Barrier | Self::Once => "wake-up",
        }
    }
}

/// Calls in which a thread waits for something that has a better name than a wake-up: paths, how
/// names of functions begin, what it waits for.
const CALLS: &[(&[&str], &[&str], &str)] = &[
    (
        &[
            "std::sync::mpsc::Receiver::",
            "std::sync::mpsc::Iter::",
            "std::sync::mpsc::IntoIter::",
            "std::sync::mpmc::Receiver::",
            "crossbeam_channel::channel::Receiver::",
            "crossbeam_channel::channel::Iter::",
            "crossbeam_channel::channel::IntoIter::",
            "flume::Receiver::",
            "async_channel::Receiver::",
        ],
        &["recv", "next", "iter"],
        "a message",
    ),
    (
        &[
            "std::sync::mpsc::SyncSender::",
            "std::sync::mpmc::Sender::",
            "crossbeam_channel::channel::Sender::",
            "flume::Sender::",
            "async_channel::Sender::",
        ],
        &["send"],
        "room in a channel",
    ),
    (
        &["std::sync::barrier::Barrier::"],
        &["wait"],
        "other threads at a barrier",
    ),
    (
        &["crossbeam_utils::sync::wait_group::WaitGroup::"],
        &["wait"],
        "the other members of a wait group",
    ),
    (
        &["std::thread::scoped::"],
        &["scope"],
        "the threads of a scope",
    ),
    (
        &[
            "std::sync::poison::once::Once::",
            "std::sync::once::Once::",
            "std::sync::once_lock::OnceLock::",
            "std::sync::lazy_lock::LazyLock::",
            "once_cell::sync::",
        ],
        &[
            "call",
            "wait",
            "get_or",
            "initialize",
            "force",
            "deref",
            "OnceCell::",
            "Lazy::",
        ],
        "the end of an initialization",
    ),
    (
        &[
            "std::future::",
            "std::shared_future::",
            "std::__basic_future::",
            "std::__future_base::_State_baseV2::",
        ],
        &["get", "wait", "_M_get_result"],
        "the value of a promise",
    ),
];

/// Runtimes of tasks: what they wait for says nothing about what a task waits for.
const TASKS: &[&str] = &["tokio::runtime::", "async_executor::", "futures_executor::"];

/// Functions between an operation and the one that means it.
const BETWEEN: &[&str] = &[
    "core::sync::atomic::",
    "std::sys::pal::",
    "core::ptr::",
    "core::option::",
    "core::intrinsics::",
];

/// Whether a wake-up by this function is kept for the next wait if none waits.
pub(super) fn keeps_permit(function: &str) -> bool {
    let keeping = ["Notify::notify_one", "Notify::notify_last"];
    keeping.iter().any(|name| function.ends_with(name))
}

/// What a thread waits for, by its stack.
pub(super) enum Awaited {
    /// A wake-up through one of [`OBJECTS`].
    Object(&'static Object),
    /// Something else that has a name.
    Named(&'static str),
    /// Something that one of its tasks waits for, perhaps an object of this type.
    Task(&'static Object),
    /// Not known.
    Unknown,
}

/// What a call does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Waits.
    Wait,
    /// Ends a wait.
    Wake,
}

/// What the outermost call on a stack that has a name waits for.
pub(super) fn awaited(located: &Located) -> Awaited {
    for frame in called(located).iter().rev() {
        let path = path(frame);
        let named = CALLS
            .iter()
            .find(|(paths, functions, _)| is_in(&path, paths, functions));
        if let Some((_, _, what)) = named {
            return Awaited::Named(what);
        }
        let is_task = is_in(&path, TASKS, &[""]);
        let object = OBJECTS.iter().find(|object| match is_task {
            true => object.of_tasks,
            false => is_in(&path, object.paths, object.waits),
        });
        if let Some(object) = object {
            return match is_task {
                true => Awaited::Task(object),
                false => Awaited::Object(object),
            };
        }
    }
    Awaited::Unknown
}

impl Object {
    /// What a stack does to objects of this type, and the name of the function.
    pub fn role(&self, located: &Located) -> Option<(Role, String)> {
        called(located).iter().rev().find_map(|frame| {
            let path = path(frame);
            let role = if is_in(&path, self.paths, self.wakes) {
                Role::Wake
            } else if is_in(&path, self.paths, self.waits) {
                Role::Wait
            } else {
                return None;
            };
            Some((role, super::locate::short(&frame.place.function)))
        })
    }

    /// Whether an operation at this place is one on the object's own word.
    pub fn is_own_word(&self, located: &Located) -> bool {
        let meant = located
            .frames
            .iter()
            .map(path)
            .find(|path| !BETWEEN.iter().any(|between| path.starts_with(between)));
        meant.is_some_and(|path| self.inner.iter().any(|inner| path.starts_with(inner)))
    }
}

/// What the user's innermost function called: what stands outside of it may be a call that runs
/// the user's closure, or task.
fn called(located: &Located) -> &[Frame] {
    let is_user = |frame: &Frame| frame.owner == Owner::Workspace;
    let end = located.frames.iter().position(is_user);
    &located.frames[..end.unwrap_or(located.frames.len())]
}

/// Path of a frame's function; of a trait's method, that of the type.
fn path(frame: &Frame) -> String {
    let function = &frame.place.function;
    let Some((receiver, method)) = function
        .strip_prefix('<')
        .and_then(|inside| inside.rsplit_once(">::"))
    else {
        return function.clone();
    };
    let receiver = receiver.split(" as ").next().unwrap_or(receiver);
    format!("{receiver}::{method}")
}

fn is_in(path: &str, paths: &[&str], functions: &[&str]) -> bool {
    let rest = paths.iter().find_map(|known| match known.ends_with("::") {
        true => path.strip_prefix(known),
        // A function that stands alone.
        false => path
            .starts_with(known)
            .then(|| path.rsplit("::").next().unwrap_or(path)),
    });
    rest.is_some_and(|rest| functions.iter().any(|function| rest.starts_with(function)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_trace::finding::Place;

    fn located(functions: &[&str]) -> Located {
        let frame = |function: &&str| Frame {
            place: Place {
                function: (*function).to_owned(),
                ..Place::default()
            },
            owner: match function.starts_with("mine::") {
                true => Owner::Workspace,
                false => Owner::Std,
            },
        };
        Located {
            key: 1,
            frames: functions.iter().map(frame).collect(),
        }
    }

    #[test]
    fn the_outermost_call_says_what_a_thread_waits_for() {
        let receive = located(&[
            "std::sys::pal::unix::futex::futex_wait",
            "std::sys::sync::thread_parking::futex::Parker::park",
            "std::thread::thread::Thread::park",
            "std::sync::mpsc::Receiver::recv",
            "mine::f",
        ]);
        assert!(matches!(awaited(&receive), Awaited::Named("a message")));
        let task = located(&[
            "std::sync::poison::condvar::Condvar::wait",
            "tokio::runtime::park::Inner::park",
            "mine::f",
        ]);
        assert!(matches!(awaited(&task), Awaited::Task(_)));
        let park = located(&["std::thread::thread::Thread::park", "mine::f"]);
        assert!(matches!(awaited(&park), Awaited::Object(object) if object.keeps));
        assert!(matches!(awaited(&located(&["mine::f"])), Awaited::Unknown));
        let in_scope = located(&["mine::f", "std::thread::scoped::scope", "mine::g"]);
        assert!(matches!(awaited(&in_scope), Awaited::Unknown));
    }

    #[test]
    fn the_objects_word_is_not_that_of_a_queue_or_a_lock() {
        let condition = &OBJECTS[0];
        for (functions, expected) in [
            (
                [
                    "core::sync::atomic::AtomicPtr::load",
                    "parking_lot::condvar::Condvar::notify_one",
                ],
                true,
            ),
            (
                [
                    "core::sync::atomic::AtomicU8::swap",
                    "parking_lot::raw_mutex::RawMutex::unlock",
                ],
                false,
            ),
            (
                [
                    "std::sys::pal::unix::futex::futex_wake",
                    "std::sys::sync::condvar::futex::Condvar::notify_one",
                ],
                true,
            ),
        ] {
            assert_eq!(condition.is_own_word(&located(&functions)), expected);
        }
        let notify =
            located(&["<tokio::sync::notify::Notified as core::future::future::Future>::poll"]);
        assert_eq!(OBJECTS[2].role(&notify).unwrap().0, Role::Wait);
    }
}
