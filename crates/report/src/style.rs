//! The few styles of the terminal output, in one place.

use console::Style;

/// All styles; plain if colours are off.
pub(crate) struct Styles {
    /// A finding's kind.
    pub bad: Style,
    /// Headings.
    pub strong: Style,
    /// What is good.
    pub good: Style,
    /// Notes and limits.
    pub warn: Style,
    /// Less important text.
    pub dim: Style,
    /// Names of threads.
    pub lane: Style,
}

impl Styles {
    pub(crate) fn new(colour: bool) -> Self {
        let style = || Style::new().force_styling(colour);
        Self {
            bad: style().red().bold(),
            strong: style().bold(),
            good: style().green().bold(),
            warn: style().yellow().bold(),
            dim: style().dim(),
            lane: style().cyan(),
        }
    }
}
