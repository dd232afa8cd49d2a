//! What a function's debug entry says about it: path, file, and whether it is std's.

use std::collections::HashMap;
use std::rc::Rc;

use crate::llvm::{Context, Kind, Location, Metadata};
use crate::path::{function_path, normalize};

/// One function, inlined or not.
#[derive(Debug)]
pub(super) struct Frame {
    /// Its path.
    pub(super) path: String,
    /// Whether it is the standard library's.
    pub(super) is_std: bool,
    /// Whether scheduling inside it is noise: thread start and exit, the test harness, and the
    /// spinning that comes before blocking.
    pub(super) is_quiet: bool,
    /// Whether it only hands allocations on: whoever called it is the one to name.
    pub(super) is_allocator: bool,
}

/// Source files of std and libtest whose operations are no scheduling points: their atomics
/// drown a random walk, and their locks order threads by accident.
const QUIET_FILES: &[&str] = &[
    "std/src/thread/lifecycle.rs",
    "std/src/thread/spawnhook.rs",
    "std/src/thread/id.rs",
    "std/src/thread/current.rs",
    "std/src/thread/main_thread.rs",
    "std/src/sys/thread/",
    "std/src/sys/pal/unix/stack_overflow",
    "std/src/rt.rs",
    "std/src/sys/exit.rs",
    "library/test/",
];

/// Functions of std whose operations are no scheduling points either, by the beginning of their
/// paths. Those that spin for a while before they block: a thread that is going to block
/// blocks at once. The look at the futex before the system call, which looks again, with the
/// same result if the value has changed: it is there to save the call. And the books about
/// panics and poisoning that every lock looks into.
const QUIET_FUNCTIONS: &[&str] = &[
    "std::sys::pal::unix::futex::futex_wait",
    "std::sys::sync::mutex::futex::Mutex::spin",
    "std::sys::sync::rwlock::futex::RwLock::spin_",
    "std::panicking::panic_count::",
    "std::sync::poison::Flag::",
];

/// Where std's own allocator hands over to libc's.
const ALLOCATOR: &str = "std/src/sys/alloc/";

fn is_quiet_function(path: &str) -> bool {
    QUIET_FUNCTIONS
        .iter()
        .any(|prefix| path.starts_with(prefix))
}

/// Whether a source file belongs to the standard library or to what it is built from.
pub(super) fn is_std_file(file: &str) -> bool {
    file.starts_with("/rustc/")
        || file.starts_with("/rust/deps/")
        || file.contains("/lib/rustlib/src/rust/library/")
}

/// Whether a source file is a header of the system: what is inlined from there is to be shown
/// at the user's call.
pub(super) fn is_system_file(file: &str) -> bool {
    file.starts_with("/usr/include/") || file.starts_with("/usr/lib/")
}

fn is_quiet_file(file: &str) -> bool {
    is_std_file(file) && QUIET_FILES.iter().any(|pattern| file.contains(pattern))
}

/// Frames by debug entry, and source files by scope.
pub(super) struct Frames<'c> {
    context: &'c Context,
    frames: HashMap<Metadata<'c>, Rc<Frame>>,
    subprograms: HashMap<Metadata<'c>, Option<Metadata<'c>>>,
    files: HashMap<Metadata<'c>, Rc<str>>,
}

impl<'c> Frames<'c> {
    pub(super) fn new(context: &'c Context) -> Self {
        Self {
            context,
            frames: HashMap::new(),
            subprograms: HashMap::new(),
            files: HashMap::new(),
        }
    }

    /// The frame of a debug entry.
    pub(super) fn frame(&mut self, subprogram: Metadata<'c>) -> Rc<Frame> {
        if let Some(frame) = self.frames.get(&subprogram) {
            return Rc::clone(frame);
        }
        let file = self.file(subprogram);
        let path = path_of(self.context, subprogram);
        let frame = Rc::new(Frame {
            is_std: is_std_file(&file),
            is_quiet: is_quiet_file(&file) || is_quiet_function(&path),
            is_allocator: is_std_file(&file) && file.contains(ALLOCATOR),
            path,
        });
        self.frames.insert(subprogram, Rc::clone(&frame));
        frame
    }

    /// The frame that a location is in.
    pub(super) fn frame_at(&mut self, location: Location<'c>) -> Option<Rc<Frame>> {
        let scope = location.scope()?;
        let context = self.context;
        let subprogram = *self
            .subprograms
            .entry(scope)
            .or_insert_with(|| scope.subprogram(context));
        Some(self.frame(subprogram?))
    }

    /// The frames at a location, innermost first.
    pub(super) fn chain(&mut self, location: Location<'c>) -> Vec<Rc<Frame>> {
        std::iter::successors(Some(location), |location| location.inlined_at())
            .filter_map(|location| self.frame_at(location))
            .collect()
    }

    /// The source file of a scope.
    pub(super) fn file(&mut self, scope: Metadata<'c>) -> Rc<str> {
        Rc::clone(
            self.files
                .entry(scope)
                .or_insert_with(|| scope.file().into()),
        )
    }
}

/// The path from the linkage name, or from the scopes where there is none.
fn path_of<'c>(context: &'c Context, subprogram: Metadata<'c>) -> String {
    let strings = subprogram.strings(context);
    if let Some(path) = strings
        .iter()
        .skip(1)
        .find_map(|string| function_path(string))
    {
        return path;
    }
    let mut parts = vec![strings.into_iter().next().unwrap_or_default()];
    let mut scope = subprogram.parent(context);
    while let Some(parent) = scope {
        let name = match parent.kind() {
            Kind::CompositeType => parent.type_name(),
            _ => parent
                .strings(context)
                .into_iter()
                .next()
                .unwrap_or_default(),
        };
        parts.push(name);
        scope = parent.parent(context);
    }
    parts.retain(|part| !part.is_empty());
    parts.reverse();
    normalize(&parts.join("::"))
}
