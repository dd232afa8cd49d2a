//! `com.thoughtworks.xstream.XStream`: an alias stands in two tables, one for each direction, which are written one after the
//! other. Whoever writes a value in between finds a name that leads nowhere.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::lock;

/// Writes values as text, and reads them.
#[derive(Default)]
pub struct XStream<const FIXED: bool> {
    names: Mutex<BTreeMap<u32, String>>,
    types: Mutex<BTreeMap<String, u32>>,
    both: Mutex<()>,
    mode: Mutex<u8>,
    class_loader: Mutex<String>,
    marshalling: Mutex<u8>,
    omitted: Mutex<Vec<u32>>,
    converters: Mutex<Vec<u32>>,
    ignores_unknown: Mutex<bool>,
}

impl<const FIXED: bool> XStream<FIXED> {
    properties! {
        mode, set_mode: u8;
        class_loader, set_class_loader: String;
        marshalling, set_marshalling: u8;
        ignores_unknown, set_ignores_unknown: bool;
    }

    /// Gives a type a name, if neither has been given away.
    pub fn alias(&self, name: String, of: u32) -> bool {
        let _guard = FIXED.then(|| lock(&self.both));
        if lock(&self.types).contains_key(&name) || lock(&self.names).contains_key(&of) {
            return false;
        }
        lock(&self.names).insert(of, name.clone());
        lock(&self.types).insert(name, of);
        true
    }

    /// The name of a type.
    pub fn name_of(&self, of: u32) -> Option<String> {
        let _guard = FIXED.then(|| lock(&self.both));
        lock(&self.names).get(&of).cloned()
    }

    /// The type with a name.
    pub fn type_of(&self, name: String) -> Option<u32> {
        let _guard = FIXED.then(|| lock(&self.both));
        lock(&self.types).get(&name).copied()
    }

    /// Writes a value of a type, if it has a name, and reads it again.
    pub fn round_trip(&self, of: u32) -> Option<String> {
        let _guard = FIXED.then(|| lock(&self.both));
        let name = lock(&self.names).get(&of).cloned()?;
        let read = lock(&self.types).get(&name).copied();
        assert_eq!(read, Some(of), "a name leads to its type");
        Some(format!("<{name}/>"))
    }

    /// A field that is not written.
    pub fn omit_field(&self, field: u32) -> usize {
        let mut omitted = lock(&self.omitted);
        omitted.push(field);
        omitted.len()
    }

    /// Whether a field is not written.
    pub fn omits(&self, field: u32) -> bool {
        lock(&self.omitted).contains(&field)
    }

    /// Somebody who writes values of his own.
    pub fn register_converter(&self, converter: u32) -> usize {
        let mut converters = lock(&self.converters);
        converters.push(converter);
        converters.len()
    }

    /// Who writes values first.
    pub fn converter(&self, index: usize) -> Option<u32> {
        lock(&self.converters).get(index).copied()
    }
}
