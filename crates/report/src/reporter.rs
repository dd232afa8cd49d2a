//! The one interface of all output formats.

use std::io;

use crate::Event;

/// Shows events. The only errors are those of the stream written to.
pub trait Reporter {
    /// Shows one event, now.
    fn report(&mut self, event: &Event) -> io::Result<()>;
}
