//! Units of work: what a thread is in the middle of.
//!
//! An access belongs to the outermost function on the stack that is declared on the set. A unit
//! is cut where its thread waits for others: what comes after is another unit.

use crate::declared::Declared;
use crate::instances::BaseId;
use crate::locks::Held;
use raddle_trace::event::{SiteIndex, ThreadId};

/// A unit of work that is open, with what the reader collects about it.
#[derive(Debug)]
pub struct Open<W> {
    /// What it is declared on.
    pub base: BaseId,
    /// The function.
    pub function: SiteIndex,
    /// Place in the trace from which on it is this unit.
    pub begins: u32,
    /// Collected so far.
    pub work: Option<W>,
    /// How many frames were on the stack below it.
    depth: usize,
    /// How many of the thread's acquisitions came before.
    acquisitions: usize,
}

/// A unit that has ended, or was cut.
#[derive(Debug)]
pub struct Ended<W> {
    /// The function.
    pub function: SiteIndex,
    /// Place in the trace from which on it was this unit.
    pub begins: u32,
    /// Place up to which it was.
    pub ends: u32,
    /// What was collected.
    pub work: W,
    /// The locks that its thread acquired during it.
    pub acquired: Vec<Held>,
    /// Whether it ended because its thread waits, or with the trace, and not with its function.
    pub is_cut: bool,
}

#[derive(Debug)]
struct Frame {
    function: SiteIndex,
    /// Context outside of it.
    outside: u64,
    by_arguments: bool,
}

#[derive(Debug)]
struct Stack<W> {
    frames: Vec<Frame>,
    open: Vec<Open<W>>,
    context: u64,
    acquired: Vec<Held>,
}

/// The units of all threads; `W` is what is collected about each.
#[derive(Debug)]
pub struct Units<W> {
    threads: Vec<Stack<W>>,
}

impl<W> Units<W> {
    /// No thread has entered anything.
    pub fn new(threads: usize) -> Self {
        let stack = |_| Stack {
            frames: Vec::new(),
            open: Vec::new(),
            context: 0,
            acquired: Vec::new(),
        };
        Self {
            threads: (0..threads).map(stack).collect(),
        }
    }

    fn stack(&mut self, thread: ThreadId) -> &mut Stack<W> {
        &mut self.threads[usize::from(thread.0)]
    }

    /// A function is entered; `key` tells it from others across builds.
    pub fn enter(
        &mut self,
        thread: ThreadId,
        function: SiteIndex,
        key: u64,
        declared: &Declared,
        at: u32,
    ) {
        let stack = self.stack(thread);
        let depth = stack.frames.len();
        let is_entry = declared.is_c && depth == 0;
        stack.frames.push(Frame {
            function,
            outside: stack.context,
            by_arguments: declared.by_arguments && !is_entry,
        });
        stack.context = mix(stack.context ^ key);
        for base in declared.bases.iter().filter(|_| !is_entry) {
            stack.open_unit(*base, function, depth, at);
        }
    }

    /// The function that was just entered got an instance of a type.
    pub fn got(&mut self, thread: ThreadId, base: BaseId, at: u32) {
        let stack = self.stack(thread);
        if let Some(frame) = stack.frames.last()
            && frame.by_arguments
        {
            let (function, depth) = (frame.function, stack.frames.len() - 1);
            stack.open_unit(base, function, depth, at);
        }
    }

    /// The function entered last is left.
    pub fn leave(&mut self, thread: ThreadId, at: u32, mut ended: impl FnMut(Ended<W>)) {
        let stack = self.stack(thread);
        let Some(frame) = stack.frames.pop() else {
            return;
        };
        stack.context = frame.outside;
        let depth = stack.frames.len();
        while stack.open.last().is_some_and(|open| open.depth >= depth) {
            if let Some(mut open) = stack.open.pop() {
                end(&mut open, at, &stack.acquired, false, &mut ended);
            }
        }
        if stack.open.is_empty() {
            stack.acquired.clear();
        }
    }

    /// The thread waits: what follows in its open units is another unit.
    pub fn cut(&mut self, thread: ThreadId, at: u32, mut ended: impl FnMut(Ended<W>)) {
        let stack = self.stack(thread);
        for open in &mut stack.open {
            end(open, at, &stack.acquired, true, &mut ended);
            open.begins = at;
            open.acquisitions = 0;
        }
        stack.acquired.clear();
    }

    /// The thread acquired a lock.
    pub fn acquired(&mut self, thread: ThreadId, held: Held) {
        let stack = self.stack(thread);
        if !stack.open.is_empty() {
            stack.acquired.push(held);
        }
    }

    /// What is collected about the open units of a thread.
    pub fn collected(&mut self, thread: ThreadId) -> impl Iterator<Item = &mut W> {
        let open = self.stack(thread).open.iter_mut();
        open.filter_map(|open| open.work.as_mut())
    }

    /// The unit that an access of a thread to a set belongs to, and the hash of the functions on
    /// the thread's stack.
    pub fn unit(&mut self, thread: ThreadId, base: BaseId) -> Option<(&mut Open<W>, u64)> {
        let stack = self.stack(thread);
        let context = stack.context;
        let open = stack.open.iter_mut().find(|open| open.base == base)?;
        Some((open, context))
    }

    /// The hash of the functions on the thread's stack.
    pub fn context(&mut self, thread: ThreadId) -> u64 {
        self.stack(thread).context
    }

    /// The trace is over: what is open would have gone on, or its program has ended.
    pub fn finish(mut self, mut ended: impl FnMut(Ended<W>)) {
        for stack in &mut self.threads {
            for open in &mut stack.open {
                end(open, u32::MAX, &stack.acquired, true, &mut ended);
            }
        }
    }
}

impl<W> Stack<W> {
    fn open_unit(&mut self, base: BaseId, function: SiteIndex, depth: usize, at: u32) {
        if self.open.iter().all(|open| open.base != base) {
            self.open.push(Open {
                base,
                function,
                begins: at,
                work: None,
                depth,
                acquisitions: self.acquired.len(),
            });
        }
    }
}

fn end<W>(
    open: &mut Open<W>,
    ends: u32,
    acquired: &[Held],
    is_cut: bool,
    ended: &mut impl FnMut(Ended<W>),
) {
    if let Some(work) = open.work.take() {
        ended(Ended {
            function: open.function,
            begins: open.begins,
            ends,
            work,
            acquired: acquired[open.acquisitions..].to_vec(),
            is_cut,
        });
    }
}

/// Spreads bits, so that contexts that differ little have hashes that differ much.
pub fn mix(value: u64) -> u64 {
    let mut value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
