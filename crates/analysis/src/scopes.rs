//! Threads that end with a scope.
//!
//! Nobody joins them by name: the last one to end wakes whoever left the scope, if that waits already,
//! and otherwise it does not wait at all. What shows is where the accesses stand: a thread that
//! has come to the end of its function disposes of its result, and whoever has left a scope looks at
//! the result of the scope's own function.
//!
//! Limit: a thread that its starter does not wait for, and that had ended when its starter began or left
//! a scope, counts as joined there.

use raddle_trace::event::{SiteIndex, Trace};

/// Functions in which a thread disposes of its result, of this and earlier versions of the
/// standard library.
const ENDS: &[&str] = &[
    "<std::thread::lifecycle::Packet as core::ops::drop::Drop>::drop",
    "<std::thread::Packet as core::ops::drop::Drop>::drop",
];
/// Functions that return when all threads have ended that were started in them.
const JOINS: &[&str] = &["std::thread::scoped::scope"];

/// What an access at a site says about threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its thread has done what it was started for.
    Ends,
    /// Those that its thread has started and that have ended are joined.
    Joins,
}

/// The roles of the sites of a trace.
#[derive(Debug, Default)]
pub struct Roles(Vec<Option<Role>>);

impl Roles {
    /// Those of a trace.
    pub fn new(trace: &Trace) -> Self {
        let roles = trace.sites.iter().map(|site| {
            let is_one_of = |functions: &[&str]| functions.contains(&site.function.as_str());
            match (is_one_of(ENDS), is_one_of(JOINS)) {
                (true, _) => Some(Role::Ends),
                (_, true) => Some(Role::Joins),
                _ => None,
            }
        });
        Self(roles.collect())
    }

    /// That of a site.
    pub fn of(&self, site: Option<SiteIndex>) -> Option<Role> {
        *self.0.get(site?.0 as usize)?
    }
}
