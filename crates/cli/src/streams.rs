//! Whether the user's output was closed when the tool was started.
//!
//! Before `main`, std opens `/dev/null` in the place of standard streams that are closed, and
//! writes to it succeed. So the check has to run earlier, as a constructor.

use std::sync::atomic::{AtomicBool, Ordering};

static OUTPUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = check_output;

extern "C" fn check_output() {
    // SAFETY: asks about a descriptor, open or not.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
    OUTPUT_IS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// Whether standard output was closed.
pub(crate) fn output_is_closed() -> bool {
    OUTPUT_IS_CLOSED.load(Ordering::Relaxed)
}
