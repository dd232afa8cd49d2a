//! How many more threads the system lets this process start.
//!
//! The kernel counts threads like processes, over all that the user runs or the container has, so
//! that only starting them tells. The threads are not std's: a thread of std that gets no memory
//! for its signal stack panics.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::ptr;

/// Bytes of the stack of a thread that only waits.
const STACK: usize = 32 << 10;

/// A thread could not be started.
pub(crate) struct Refusal {
    /// Number of threads that were started before.
    pub started: usize,
    /// Reason of the system.
    pub error: io::Error,
}

/// Starts this many threads, and ends them.
pub(crate) fn probe(wanted: usize) -> Result<(), Refusal> {
    let refused = |started, error| Refusal { started, error };
    let (reader, writer) = io::pipe().map_err(|error| refused(0, error))?;
    let mut threads = Vec::with_capacity(wanted);
    let refusal = loop {
        if threads.len() == wanted {
            break None;
        }
        match start(reader.as_raw_fd()) {
            Ok(thread) => threads.push(thread),
            Err(error) => break Some(refused(threads.len(), error)),
        }
    };
    // All of them read the end of the pipe then.
    drop(writer);
    for thread in threads {
        // SAFETY: a thread that was started here, and is joined once.
        unsafe { libc::pthread_join(thread, ptr::null_mut()) };
    }
    match refusal {
        None => Ok(()),
        Some(refusal) => Err(refusal),
    }
}

/// Starts a thread that waits for the end of a pipe.
fn start(pipe: i32) -> io::Result<libc::pthread_t> {
    let mut attributes = MaybeUninit::uninit();
    let mut thread = 0;
    // SAFETY: the attributes are made, used and destroyed here; the thread gets a number.
    let code = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
        let argument = ptr::without_provenance_mut(pipe.cast_unsigned() as usize);
        let code =
            libc::pthread_create(&raw mut thread, attributes.as_ptr(), wait_for_end, argument);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        code
    };
    match code {
        0 => Ok(thread),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

extern "C" fn wait_for_end(pipe: *mut c_void) -> *mut c_void {
    let mut byte = 0u8;
    // SAFETY: reads into a live byte; nothing is ever written to the pipe.
    unsafe { libc::read(pipe.addr() as i32, (&raw mut byte).cast(), 1) };
    ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::probe;

    #[test]
    fn a_few_threads_can_be_started() {
        assert!(probe(3).is_ok());
    }
}
