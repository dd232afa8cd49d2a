//! From a site and a stack of return addresses to source frames.

use raddle_abi::site::SiteId;
use raddle_trace::finding::Place;
use raddle_trace::site_table::{CallSite, SiteTable};

use super::paths::Owner;
use super::symbols::{Frame, Symbols};
use super::variables::Variable;

/// Functions of std that only wrap one operation of the user's: an access through them is
/// the user's own.
const THIN: &[&str] = &[
    "core::sync::atomic::",
    "<core::sync::atomic::",
    "core::cell::",
    "<core::cell::",
    "core::ptr::",
    "core::mem::",
    "core::intrinsics::",
    "core::hint::",
    "core::slice::",
    "<core::slice::",
    "core::num::",
];

/// Reads sites and symbols of one executable.
pub(crate) struct Locator {
    sites: Option<SiteTable>,
    symbols: Symbols,
}

/// A place in the program, with everything around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Located {
    /// Key of the site, or 0.
    pub key: u64,
    /// Source frames, innermost first, inlined ones included.
    pub frames: Vec<Frame>,
}

impl Locator {
    /// Of an executable with these sites and symbols.
    pub fn new(sites: Option<SiteTable>, symbols: Symbols) -> Self {
        Self { sites, symbols }
    }

    /// Key of a site, or 0.
    pub fn key(&self, site: SiteId) -> u64 {
        self.sites
            .as_ref()
            .and_then(|sites| sites.key(site))
            .unwrap_or(0)
    }

    /// A source file as it is shown.
    pub fn shown(&self, file: &str) -> String {
        self.symbols.paths().shown(file).0
    }

    /// The same, and whose it is.
    pub fn shown_with_owner(&self, file: &str) -> (String, Owner) {
        self.symbols.paths().shown(file)
    }

    /// The sites, if the executable has any.
    pub fn sites(&self) -> Option<&SiteTable> {
        self.sites.as_ref()
    }

    /// Frames of a stack without a site.
    pub fn stack(&mut self, addresses: &[u64]) -> Vec<Frame> {
        let mut frames = self.symbols.stack(addresses);
        frames.retain(|frame| !is_ours(frame));
        frames
    }

    /// What stands in a frame, by its distance from the frame pointer of the function at `code`.
    pub fn variable(&mut self, code: u64, offset: i64) -> Option<Variable> {
        self.symbols.variable(code, offset)
    }

    /// Where an operation stands. The site is exact about the operation itself; the return
    /// addresses tell who called.
    pub fn locate(&mut self, site: SiteId, addresses: &[u64]) -> Located {
        let info = self.sites.as_ref().and_then(|sites| sites.site(site));
        let Some(info) = info else {
            return Located {
                key: 0,
                frames: self.stack(addresses),
            };
        };
        let mut chain = vec![self.frame(&info.location())];
        chain.extend(info.inlined_at.iter().map(|call| self.frame(call)));
        // The site's own function is among the innermost of the stack, below our hooks; a
        // call in tail position may have taken its frame's place, then it is not there.
        let own = chain.last().map(|frame| frame.place.clone());
        let holder = addresses
            .iter()
            .take(4)
            .enumerate()
            .find_map(|(at, &address)| {
                let frames = self.symbols.frames(address);
                let is_own = |frame: &Frame| {
                    own.as_ref()
                        .is_some_and(|own| is_same_function(own, &frame.place))
                };
                let inlined = frames.iter().position(is_own)?;
                Some((at, frames[inlined + 1..].to_vec()))
            });
        let callers = match holder {
            Some((at, mut callers)) => {
                callers.extend(self.stack(&addresses[at + 1..]));
                callers
            }
            None => self.stack(addresses),
        };
        chain.extend(callers);
        Located {
            key: info.key,
            frames: chain,
        }
    }

    fn frame(&self, call: &CallSite) -> Frame {
        let (file, owner) = self.symbols.paths().shown(&call.file);
        let owner = if call.is_std { Owner::Std } else { owner };
        Frame {
            place: Place {
                file,
                line: call.line,
                column: call.column,
                function: call.function.clone(),
            },
            owner,
        }
    }
}

impl Located {
    /// The innermost frame outside of std; with `workspace`, preferably one of the workspace.
    pub fn user(&self, workspace: bool) -> Option<&Frame> {
        user_frame(&self.frames, workspace)
    }

    /// The user's place, else the innermost one.
    pub fn place(&self, workspace: bool) -> Place {
        self.user(workspace)
            .or(self.frames.first())
            .map_or_else(unknown_place, |frame| frame.place.clone())
    }

    /// The function of std that the user's code called to get here, if the operation is not
    /// the user's own.
    pub fn std_callee(&self) -> Option<&str> {
        let user = self
            .frames
            .iter()
            .position(|frame| frame.owner != Owner::Std)?;
        let callee = self.frames[..user].last()?;
        let is_thin = self.frames[..user].iter().all(|frame| {
            THIN.iter()
                .any(|thin| frame.place.function.starts_with(thin))
        });
        (!is_thin).then_some(callee.place.function.as_str())
    }

    /// What names this place across builds: its site's key if that is the user's own, else
    /// the key together with the nearest user function.
    pub fn identity(&self) -> String {
        let is_std = self
            .frames
            .first()
            .is_none_or(|frame| frame.owner == Owner::Std);
        let function = self
            .user(true)
            .map_or("", |frame| frame.place.function.as_str());
        match (self.key, is_std) {
            (0, _) => function.to_owned(),
            (key, false) => format!("{key:016x}"),
            (key, true) => format!("{key:016x} {function}"),
        }
    }
}

/// The innermost frame outside of std; with `workspace`, preferably one of the workspace.
pub(crate) fn user_frame(frames: &[Frame], workspace: bool) -> Option<&Frame> {
    let own = || frames.iter().find(|frame| frame.owner == Owner::Workspace);
    let foreign = || frames.iter().find(|frame| frame.owner != Owner::Std);
    if workspace {
        own().or_else(foreign)
    } else {
        foreign()
    }
}

/// Stands for a place nobody knows.
pub(crate) fn unknown_place() -> Place {
    Place {
        file: String::new(),
        line: 0,
        column: 0,
        function: String::new(),
    }
}

/// The last segments of a function path, enough for people to recognise it.
pub(crate) fn short(function: &str) -> String {
    if let Some(inside) = function.strip_prefix('<')
        && let Some((receiver, method)) = inside.rsplit_once(">::")
    {
        let receiver = receiver.split(" as ").next().unwrap_or(receiver);
        return format!("{}::{method}", last_name(receiver));
    }
    let segments: Vec<&str> = function.split("::").collect();
    let mut start = segments.len().saturating_sub(1);
    // A closure says nothing without the function around it, a method without its type.
    while start > 0 && segments[start].starts_with('{') {
        start -= 1;
    }
    if start > 0 && segments[start - 1].starts_with(|first: char| first.is_uppercase()) {
        start -= 1;
    }
    segments[start..].join("::")
}

/// Two ways to learn of a function may write its path differently, so its file, and its last
/// name or the line, have to do.
fn is_same_function(one: &Place, other: &Place) -> bool {
    let name = |place: &Place| {
        let closures = place.function.matches("{closure").count();
        (last_name(&place.function).to_owned(), closures)
    };
    one.file == other.file
        && (name(one) == name(other) || (one.line != 0 && one.line == other.line))
}

fn last_name(function: &str) -> &str {
    let end = function.find("::{").unwrap_or(function.len());
    let function = &function[..end];
    function.rsplit("::").next().unwrap_or(function)
}

fn is_ours(frame: &Frame) -> bool {
    frame.place.function.contains("__raddle_") || frame.place.file.ends_with("hooks/fast.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, owner: Owner) -> Frame {
        Frame {
            place: Place {
                file: "f".to_owned(),
                line: 1,
                column: 1,
                function: function.to_owned(),
            },
            owner,
        }
    }

    #[test]
    fn atomics_called_by_the_user_are_the_users_own() {
        let located = Located {
            key: 1,
            frames: vec![
                frame("core::sync::atomic::atomic_load", Owner::Std),
                frame("core::sync::atomic::AtomicBool::load", Owner::Std),
                frame("mine::f", Owner::Workspace),
            ],
        };
        assert_eq!(located.std_callee(), None);
        assert_eq!(located.place(false).function, "mine::f");
    }

    #[test]
    fn what_std_does_inside_is_named_by_the_call_into_it() {
        let located = Located {
            key: 1,
            frames: vec![
                frame("core::sync::atomic::atomic_load", Owner::Std),
                frame("std::sync::mpmc::array::Channel::write", Owner::Std),
                frame("std::sync::mpsc::Sender::send", Owner::Std),
                frame("dep::g", Owner::Dependency),
                frame("mine::f", Owner::Workspace),
            ],
        };
        assert_eq!(located.std_callee(), Some("std::sync::mpsc::Sender::send"));
        assert_eq!(located.place(false).function, "dep::g");
        assert_eq!(located.place(true).function, "mine::f");
        assert_eq!(located.identity(), "0000000000000001 mine::f");
    }

    #[test]
    fn short_names_are_enough_to_recognise() {
        for (function, expected) in [
            ("a::b::c", "c"),
            ("a::Queue::push", "Queue::push"),
            ("a::f::{closure#0}", "f::{closure#0}"),
            ("<a::Queue as core::ops::Drop>::drop", "Queue::drop"),
            ("main", "main"),
        ] {
            assert_eq!(short(function), expected);
        }
    }
}
