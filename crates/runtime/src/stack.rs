//! Call stacks by frame pointers, which all instrumented code keeps.

use crate::arch;
use crate::unwind;
use crate::world::world;

/// Most frames that are taken.
pub const MAX_FRAMES: usize = 48;

/// Return addresses, innermost first. Only those inside the executable (below 4 GiB) are kept.
pub struct Frames {
    addresses: [u64; MAX_FRAMES],
    count: usize,
}

impl Frames {
    /// No frames.
    pub const EMPTY: Self = Self {
        addresses: [0; MAX_FRAMES],
        count: 0,
    };

    /// The addresses.
    pub fn as_slice(&self) -> &[u64] {
        &self.addresses[..self.count]
    }

    /// Adds an address, if there is room and it lies inside the executable.
    pub fn push(&mut self, address: u64) {
        if self.count < MAX_FRAMES && address != 0 && address < 1 << 32 {
            self.addresses[self.count] = address;
            self.count += 1;
        }
    }

    fn walk(&mut self, frame: usize, stack: (usize, usize)) {
        for (_, address) in chain(frame, stack) {
            self.push(address);
        }
    }
}

/// Frames from `frame` on, each with the address that it returns to.
fn chain(frame: usize, stack: (usize, usize)) -> impl Iterator<Item = (usize, u64)> {
    let mut next = Some(frame);
    let frames = core::iter::from_fn(move || {
        let frame = next.take()?;
        if frame & 7 != 0 || frame < stack.0 || frame + 16 > stack.1 {
            return None;
        }
        // SAFETY: two words inside the thread's stack.
        let (caller, address) = unsafe { (*(frame as *const usize), *((frame + 8) as *const u64)) };
        next = (caller > frame).then_some(caller);
        Some((frame, address))
    });
    frames.take(4 * MAX_FRAMES)
}

/// The frames of the running thread, the runtime's own included, innermost first, each with the
/// address that it returns to.
#[inline(never)]
pub fn frames_of_running() -> impl Iterator<Item = (usize, u64)> {
    let execution = &world().execution;
    let stack = execution
        .threads
        .get(execution.current)
        .map_or((0, 0), |thread| thread.stack);
    // SAFETY: reads the saved frame pointer of the caller, which lives as long as the walk.
    chain(unsafe { *(arch::frame_pointer() as *const usize) }, stack)
}

/// A frame that memory on a stack belongs to.
pub struct Owner {
    /// The thread.
    pub thread: usize,
    /// Lowest address of the frame.
    pub low: usize,
    /// Its frame pointer.
    pub high: usize,
    /// Where its function is, then its callers.
    pub frames: Frames,
}

/// The frame that `address` lies in, if it lies on a stack.
pub fn owner(address: usize) -> Option<Owner> {
    let execution = &world().execution;
    let holds = |number: usize| {
        let stack = execution
            .threads
            .get(number)
            .map_or((0, 0), |thread| thread.stack);
        (stack.0..stack.1).contains(&address)
    };
    let current = execution.current;
    let thread = Some(current)
        .filter(|current| holds(*current))
        .or_else(|| (0..execution.threads.len()).find(|number| holds(*number)))?;
    let mut inner: Option<(usize, u64)> = None;
    let mut found: Option<Owner> = None;
    let mut visit = |(frame, returns_to): (usize, u64)| {
        if let Some(owner) = &mut found {
            owner.frames.push(returns_to);
        } else if frame >= address
            && let Some((below, code)) = inner
        {
            let mut frames = Frames::EMPTY;
            frames.push(code);
            frames.push(returns_to);
            // Between the two stand the inner frame's return address and its frame pointer.
            let low = below + 16;
            found = Some(Owner {
                thread,
                low,
                high: frame,
                frames,
            });
        }
        inner = Some((frame, returns_to));
    };
    if thread == current {
        frames_of_running().for_each(&mut visit);
    } else {
        let (sp, stack) = {
            let thread = &execution.threads[thread];
            (thread.sp, thread.stack)
        };
        if sp > stack.0 && sp < stack.1 {
            // SAFETY: the thread was switched out, so its registers stand at `sp`.
            chain(unsafe { arch::saved_frame_pointer(sp) }, stack).for_each(&mut visit);
        }
    }
    found
}

/// The frame of the program's function that called the runtime, and where it returns to.
pub fn program_frame() -> Option<(usize, u64)> {
    let mut frames = frames_of_running();
    // What returns into the executable was called by it.
    frames.find(|&(_, address)| address != 0 && address < 1 << 32)?;
    frames.next()
}

/// The stack of the running thread from the calling function's caller on.
#[inline(never)]
pub fn of_running() -> Frames {
    let mut frames = Frames::EMPTY;
    let execution = &world().execution;
    if let Some(thread) = execution.threads.get(execution.current) {
        frames.walk(arch::frame_pointer(), thread.stack);
    }
    frames
}

/// The stack of the running thread, where a library may stand between the program and the runtime.
#[inline(never)]
pub fn of_running_in_library() -> Frames {
    let mut frames = Frames::EMPTY;
    unwind::callers(|address| frames.push(address));
    match frames.count {
        0 => of_running(),
        _ => frames,
    }
}

/// The stack of a thread that does not run.
pub fn of_thread(number: usize) -> Frames {
    let execution = &world().execution;
    if number == execution.current {
        return of_running();
    }
    let mut frames = Frames::EMPTY;
    let thread = &execution.threads[number];
    if thread.sp > thread.stack.0 && thread.sp < thread.stack.1 {
        // SAFETY: the thread was switched out, so its registers stand at `sp`.
        frames.walk(
            unsafe { arch::saved_frame_pointer(thread.sp) },
            thread.stack,
        );
    }
    frames
}

/// The stack of the program's code that called the runtime, which a signal interrupted.
pub fn of_interrupted_hook(context: &arch::Interrupted) -> Frames {
    let mut frames = Frames::EMPTY;
    let execution = &world().execution;
    if let Some(thread) = execution.threads.get(execution.current) {
        frames.walk(context.frame_pointer(), thread.stack);
    }
    frames
}

/// Below this, no code is ever mapped.
const FIRST_CODE: usize = 1 << 16;

/// The stack of code that a signal interrupted. The interrupted instruction is given as if it were
/// a call, by the address behind its first byte.
pub fn of_interrupted(context: &arch::Interrupted) -> Frames {
    let mut frames = Frames::EMPTY;
    let execution = &world().execution;
    let Some(thread) = execution.threads.get(execution.current) else {
        return frames;
    };
    let instruction = context.instruction();
    if instruction >= FIRST_CODE {
        frames.push(instruction as u64 + 1);
    }
    if frames.count == 0 {
        // A library, which keeps no frame pointers, or nothing at all.
        unwind::callers(|address| frames.push(address));
        if frames.count > 0 {
            return frames;
        }
        let top = context.stack_pointer();
        if top & 7 == 0 && top >= thread.stack.0 && top + 8 <= thread.stack.1 {
            // A call of what is no code has pushed where it came from, and nothing else.
            // SAFETY: a word inside the thread's stack.
            frames.push(unsafe { *(top as *const u64) });
        }
    }
    frames.walk(context.frame_pointer(), thread.stack);
    frames
}
