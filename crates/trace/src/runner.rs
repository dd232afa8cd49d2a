//! The one way in which everything above gets a program executed.
