//! Findings that have one cause: races that one weak store or load lets happen, those of the same two functions
//! on the same static or variable, or on the heap, and uses of one freed block, be they before or after the free.
//!
//! A race is seen as two sites, and a missing lock shows as many of these. What the accesses are about
//! is known from a recording only, so it is the confirmed finding that is named by its object. That name
//! depends on neither the order of the accesses nor on which of them were seen first.

use raddle_abi::finding::Kind;
use raddle_abi::record::RawEvent;
use raddle_abi::site::Operation;
use raddle_trace::event::{Action, ObjectName};
use raddle_trace::naming;
use raddle_trace::runner::{RawFinding, RawRecording, RawStep};

use super::Explainer;
use super::names::Names;
use super::paths::Owner;
use super::race::earlier_stack;
use super::{heap, publication};

/// Functions of the user by which the allocation of a block is known.
const ALLOCATING: usize = 3;

impl Explainer {
    /// What names a finding together with all others of its cause; `None` for what is neither a race nor about
    /// a freed block, or where the object has no name.
    pub(super) fn group(
        &mut self,
        raw: &RawFinding,
        recording: &RawRecording,
    ) -> Option<Vec<String>> {
        if matches!(raw.kind, Kind::UseAfterFree | Kind::DoubleFree) {
            let ends = heap::freed_block(raw, &recording.events)?;
            return self.freed_block(ends, recording);
        }
        let [later, earlier] = &raw.steps[..] else {
            return None;
        };
        if raw.kind != Kind::DataRace {
            return None;
        }
        if let Some(weak) = publication::too_weak(recording, later, earlier) {
            let mut name = |event: &RawEvent| {
                let located = self.locator.locate(event.site, recording.stack(event));
                located.identity()
            };
            let sites = weak.into_iter().map(&mut name);
            return Some(sites.chain(["too weak".to_owned()]).collect());
        }
        let free = [later, earlier]
            .into_iter()
            .find(|step| step.operation == Operation::Free);
        if let Some(free) = free {
            let ends = heap::block_of_free(free, &recording.events)?;
            return self.freed_block(ends, recording);
        }
        let object = self.object(later, recording)?;
        let mut parts = vec![object];
        for step in [later, earlier] {
            let frames = match step.frames.is_empty() {
                false => &step.frames[..],
                true => earlier_stack(recording, step),
            };
            let function = self.locator.locate(step.site, frames).place(false).function;
            if function.is_empty() {
                return None;
            }
            parts.push(function);
        }
        Some(parts)
    }

    /// A block, of which these events are the free and the allocation, by the function that freed it, and by those that allocated it: an allocator of the program's own
    /// hands out all of its blocks.
    fn freed_block(&mut self, ends: [usize; 2], recording: &RawRecording) -> Option<Vec<String>> {
        let mut parts = Vec::new();
        for ((word, callers), at) in [("freed", 1), ("allocated", ALLOCATING)]
            .into_iter()
            .zip(ends)
        {
            let event = recording.events.get(at)?;
            let located = self.locator.locate(event.site, recording.stack(event));
            let users = located
                .frames
                .iter()
                .filter(|frame| frame.owner != Owner::Std);
            let functions = users.take(callers).map(|frame| &frame.place.function);
            let path: Vec<&str> = functions.map(String::as_str).collect();
            if path.is_empty() {
                return None;
            }
            parts.push(format!("{word} {}", path.join(" < ")));
        }
        Some(parts)
    }

    /// Name of the object that an access touches.
    fn object(&mut self, step: &RawStep, recording: &RawRecording) -> Option<String> {
        let map = self.map();
        let names = Names::new(&mut self.locator, map);
        let (trace, origins) = naming::name_with_origins(recording, &names, "", "");
        let is_same = |event: &RawEvent| {
            let end = event.address.saturating_add(u64::from(event.len.max(1)));
            event.thread == step.thread
                && event.site == step.site
                && (event.address..end).contains(&step.address)
        };
        let events = trace.events.iter().zip(&origins).rev();
        let action = events
            .filter(|(_, origin)| is_same(&recording.events[**origin as usize]))
            .find_map(|(event, _)| match &event.action {
                Action::Access { location, .. } | Action::Free { location } => Some(*location),
                _ => None,
            })?;
        name(trace.objects.get(action.object.0 as usize)?)
    }
}

/// What all tests call the object: a block is told from others by the functions that touch it.
fn name(object: &ObjectName) -> Option<String> {
    match object {
        ObjectName::Heap { .. } => Some("heap".to_owned()),
        ObjectName::Static { path } if !path.is_empty() => Some(format!("static {path}")),
        ObjectName::Stack {
            function, variable, ..
        } if !variable.is_empty() => Some(format!("stack {function} {variable}")),
        _ => None,
    }
}
