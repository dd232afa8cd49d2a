//! What has to be known about a trace before its units of work are read: the types of objects, where
//! statics are taken apart, and which places two threads share and somebody writes.
//!
//! A static of C does not tell its file. It belongs to the one whose code touches it; if several do, to
//! the first by name.

use crate::instances::Instances;
use crate::type_names::c_file;
use raddle_trace::event::{Action, ObjectId, ObjectName, ThreadId, Trace};
use raddle_trace::program_map::ProgramMap;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Types of what is not reused, what is owned through pointers, and the borders inside of statics.
pub fn learn_types<'a>(trace: &'a Trace, map: &'a ProgramMap) -> Instances<'a> {
    let mut instances = Instances::new(trace, map);
    let mut borders: HashMap<u32, BTreeSet<u64>> = HashMap::new();
    let mut locks: HashMap<u32, HashSet<u64>> = HashMap::new();
    let mut files: HashMap<u32, &str> = HashMap::new();
    // What they own is known once all else is.
    let mut of_variables = Vec::new();
    for event in &trace.events {
        match &event.action {
            Action::Typed {
                location,
                type_index,
            } if !instances.is_reused(location.object) => instances.add(*location, *type_index),
            Action::Points { location, target } if !instances.is_reused(location.object) => {
                instances.point(*location, *target);
            }
            Action::Typed { .. } | Action::Points { .. } | Action::Free { .. } => {
                of_variables.push(event);
            }
            Action::Access { location, size, .. } => {
                let object = location.object.0;
                if let Some(ObjectName::Static { .. }) = trace.objects.get(object as usize) {
                    let borders = borders.entry(object).or_default();
                    let end = location.offset.saturating_add((*size).max(1).into());
                    borders.extend([location.offset, end]);
                    let site = event.site.and_then(|site| trace.sites.get(site.0 as usize));
                    if let Some(file) = site.and_then(|site| c_file(&site.file)) {
                        let known = files.entry(object).or_insert(file);
                        *known = file.min(known);
                    }
                }
            }
            Action::Lock { lock, .. } => {
                locks.entry(lock.object.0).or_default().insert(lock.offset);
            }
            _ => {}
        }
    }
    instances.join_all();
    for event in of_variables {
        match event.action {
            Action::Typed {
                location,
                type_index,
            } => {
                instances.add(location, type_index);
                instances.join_variable(location.object);
            }
            Action::Points { location, target } => {
                instances.point(location, target);
                instances.join_variable(location.object);
            }
            Action::Free { location } => instances.free(location.object),
            _ => {}
        }
    }
    instances.disown();
    instances.forget_reused();
    let mut statics: Vec<_> = borders.into_iter().collect();
    statics.sort_unstable_by_key(|(object, _)| *object);
    let none = HashSet::new();
    for (object, borders) in statics {
        let locks = locks.get(&object).unwrap_or(&none);
        let file = files.get(&object).copied();
        instances.add_static(ObjectId(object), file, &borders, locks);
    }
    instances
}

/// What the second pass learns.
pub struct Shared<'a> {
    /// Sets and places.
    pub instances: Instances<'a>,
    /// By place: whether two threads touch it and one writes it.
    pub is_relevant: Vec<bool>,
}

/// Who has touched a place.
#[derive(Clone, Copy, Default)]
struct Touched {
    by: Option<ThreadId>,
    by_others: bool,
    written: bool,
}

/// Which places are shared and written.
pub fn learn_sharing<'a>(trace: &'a Trace, mut instances: Instances<'a>) -> Shared<'a> {
    let mut touched: Vec<Touched> = vec![Touched::default(); instances.place_count()];
    for event in &trace.events {
        match &event.action {
            Action::Typed {
                location,
                type_index,
            } if instances.is_reused(location.object) => {
                instances.add(*location, *type_index);
                touched.resize(instances.place_count(), Touched::default());
            }
            Action::Access {
                access,
                location,
                size,
                ..
            } => instances.places_at(*location, *size, |place| {
                let touched = &mut touched[place.0 as usize];
                touched.by_others |= touched.by.is_some_and(|by| by != event.thread);
                touched.by.get_or_insert(event.thread);
                touched.written |= access.writes();
            }),
            _ => {}
        }
    }
    let is_relevant = touched
        .iter()
        .map(|touched| touched.by_others && touched.written)
        .collect();
    Shared {
        instances,
        is_relevant,
    }
}
