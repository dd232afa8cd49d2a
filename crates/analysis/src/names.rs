//! Names that hold in every trace of a program, for what traces number each in their own way.

use crate::instances::Behind;
use raddle_trace::event::{Location, ObjectName, ThreadId, Trace};

/// A thread: where it and its ancestors were started, the oldest first, and how often before.
pub type ThreadPath = Vec<(u64, u32)>;

/// The name of a thread.
pub fn thread(trace: &Trace, id: ThreadId) -> ThreadPath {
    let mut path = Vec::new();
    let mut next = Some(id);
    // A damaged trace may have a thread that started itself.
    while let Some(name) = next
        .and_then(|id| trace.threads.get(usize::from(id.0)))
        .filter(|_| path.len() <= trace.threads.len())
    {
        path.push((name.site_key, name.occurrence));
        next = name.parent;
    }
    path.reverse();
    path
}

/// A place in an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceName {
    /// What the object is.
    pub object: String,
    /// Bytes from its start.
    pub offset: u64,
    /// Of what an instance owns: how it is reached from there. Then neither of the others says
    /// anything: the block may be another one in each execution.
    pub behind: Option<Behind>,
}

/// The name of a place.
pub fn place(trace: &Trace, location: Location) -> PlaceName {
    let name = trace.objects.get(location.object.0 as usize);
    let object = match name {
        Some(ObjectName::Heap {
            site_key,
            thread: by,
            occurrence,
            context,
            ..
        }) => {
            let by = thread(trace, *by);
            format!("heap {site_key:x} {by:x?} {context:x} {occurrence}")
        }
        Some(ObjectName::Stack {
            function,
            variable,
            context,
            thread: of,
            occurrence,
        }) => {
            let of = thread(trace, *of);
            format!("stack {function} {variable} {context:x} {of:x?} {occurrence}")
        }
        Some(ObjectName::Static { path }) => format!("static {path}"),
        Some(ObjectName::Region {
            site_key,
            thread: by,
            occurrence,
        }) => {
            let by = thread(trace, *by);
            format!("region {site_key:x} {by:x?} {occurrence}")
        }
        None => String::new(),
    };
    PlaceName {
        object,
        offset: location.offset,
        behind: None,
    }
}
