//! Emits the constant [`raddle_abi::site::Site`] records that hooks point at.
//!
//! Each instrumented operation has a record of its own, because its key counts operations.
//! The records of a function stand in a section of their own, so that the linker drops them
//! together with the function.

use std::collections::HashMap;
use std::rc::Rc;

use raddle_abi::key::Key;
use raddle_abi::site::{Operation, SITE_SECTION, flags};

use super::frames::{Frame, Frames, is_std_file, is_system_file};
use crate::llvm::{Context, Location, Module, Value};

/// Writes site records for one module.
pub(super) struct Sites<'c> {
    strings: HashMap<Rc<str>, Value<'c>>,
    /// Records of the call sites that code was inlined at, of the function under way.
    calls: HashMap<Location<'c>, Value<'c>>,
    /// How often an operation was seen in the function under way, by chain and operation.
    ordinals: HashMap<(u64, Operation), u32>,
    section: String,
    /// How many records were written.
    pub(super) count: u64,
}

/// What has a [`raddle_abi::site::FunctionSite`].
#[derive(Clone, Copy)]
pub(super) struct Typed<'a> {
    /// The entry of a function, or a new instance.
    pub(super) operation: Operation,
    /// One line for each pointer: what it points to.
    pub(super) types: &'a str,
    /// Beside those that follow from the location.
    pub(super) flags: u16,
}

/// What gets a record of its own.
struct Place<'a, 'c> {
    function: &'a Rc<Frame>,
    location: Option<Location<'c>>,
    operation: Operation,
    /// Beside those that follow from the location.
    flags: u16,
    /// See [`Typed`].
    types: Option<&'a str>,
}

/// Where a record's fields come from.
struct Record<'a, 'c> {
    key: u64,
    file: &'a Rc<str>,
    function: &'a str,
    inlined_at: Option<Value<'c>>,
    line: u32,
    column: u32,
    operation: Operation,
    flags: u16,
    /// See [`Typed`].
    types: Option<&'a str>,
}

impl<'c> Sites<'c> {
    pub(super) fn new() -> Self {
        Self {
            strings: HashMap::new(),
            calls: HashMap::new(),
            ordinals: HashMap::new(),
            section: SITE_SECTION.to_owned(),
            count: 0,
        }
    }

    /// Begins the next function.
    pub(super) fn begin_function(&mut self, symbol: &str) {
        self.calls.clear();
        self.ordinals.clear();
        self.section = format!("{SITE_SECTION}.{symbol}");
    }

    /// The record of an operation at a location; without one, of the function itself.
    pub(super) fn site(
        &mut self,
        context: &'c Context,
        module: &Module<'c>,
        frames: &mut Frames<'c>,
        function: &Rc<Frame>,
        location: Option<Location<'c>>,
        (operation, flags): (Operation, u16),
    ) -> Value<'c> {
        let place = Place {
            function,
            location,
            operation,
            flags,
            types: None,
        };
        self.record(context, module, frames, &place)
    }

    /// The record of something whose types are known.
    pub(super) fn typed_site(
        &mut self,
        context: &'c Context,
        module: &Module<'c>,
        frames: &mut Frames<'c>,
        location: Location<'c>,
        typed: Typed<'_>,
    ) -> Value<'c> {
        let Some(frame) = frames.frame_at(location) else {
            return context.pointer().zero();
        };
        let place = Place {
            function: &frame,
            location: Some(location),
            operation: typed.operation,
            flags: typed.flags,
            types: Some(typed.types),
        };
        self.record(context, module, frames, &place)
    }

    fn record(
        &mut self,
        context: &'c Context,
        module: &Module<'c>,
        frames: &mut Frames<'c>,
        place: &Place<'_, 'c>,
    ) -> Value<'c> {
        let Place {
            function,
            location,
            operation,
            ..
        } = *place;
        let chain = location
            .map(|location| frames.chain(location))
            .unwrap_or_default();
        let innermost = chain.first().unwrap_or(function);
        let mut hash = Key::new();
        for frame in if chain.is_empty() {
            std::slice::from_ref(function)
        } else {
            &chain[..]
        } {
            hash.add(frame.path.as_bytes());
        }
        let ordinal = self.ordinals.entry((hash.so_far(), operation)).or_insert(0);
        hash.add(operation.word().as_bytes());
        hash.add(&ordinal.to_le_bytes());
        *ordinal += 1;

        let scope = location.and_then(Location::scope);
        let file = scope.map_or_else(|| Rc::from(""), |scope| frames.file(scope));
        let is_std = if file.is_empty() {
            innermost.is_std
        } else {
            is_std_file(&file) || is_system_file(&file)
        };
        let is_quiet = function.is_quiet || chain.iter().any(|frame| frame.is_quiet);
        let record = Record {
            key: hash.finish(),
            file: &file,
            function: &innermost.path,
            inlined_at: location
                .and_then(Location::inlined_at)
                .map(|call| self.call(context, module, frames, call)),
            line: location.map_or(0, Location::line),
            column: location.map_or(0, Location::column),
            operation,
            flags: place.flags
                | if is_std { flags::STD } else { 0 }
                | if is_quiet { flags::QUIET } else { 0 },
            types: place.types,
        };
        self.emit(context, module, &record)
    }

    /// The record of a call that was inlined.
    fn call(
        &mut self,
        context: &'c Context,
        module: &Module<'c>,
        frames: &mut Frames<'c>,
        location: Location<'c>,
    ) -> Value<'c> {
        if let Some(record) = self.calls.get(&location) {
            return *record;
        }
        let chain = frames.chain(location);
        let mut hash = Key::new();
        for frame in &chain {
            hash.add(frame.path.as_bytes());
        }
        let file = location
            .scope()
            .map_or_else(|| Rc::from(""), |scope| frames.file(scope));
        let record = Record {
            key: hash.finish(),
            file: &file,
            function: chain.first().map_or("", |frame| &frame.path),
            inlined_at: location
                .inlined_at()
                .map(|call| self.call(context, module, frames, call)),
            line: location.line(),
            column: location.column(),
            operation: Operation::Unknown,
            flags: if is_std_file(&file) || is_system_file(&file) {
                flags::STD
            } else {
                0
            },
            types: None,
        };
        let record = self.emit(context, module, &record);
        self.calls.insert(location, record);
        record
    }

    fn emit(
        &mut self,
        context: &'c Context,
        module: &Module<'c>,
        record: &Record<'_, 'c>,
    ) -> Value<'c> {
        let mut fields = vec![
            context.constant(64, record.key),
            self.string(context, module, record.file),
            self.string(context, module, &Rc::from(record.function)),
            record
                .inlined_at
                .unwrap_or_else(|| context.pointer().zero()),
            context.constant(32, record.line.into()),
            context.constant(32, record.column.into()),
            context.constant(16, record.operation as u64),
            context.constant(16, record.flags.into()),
            context.constant(32, 0),
        ];
        if let Some(types) = record.types {
            fields.push(self.string(context, module, &Rc::from(types)));
        }
        let global = module.add_constant(context.constant_structure(&fields));
        module.place(global, 8, &self.section);
        self.count += 1;
        global
    }

    fn string(&mut self, context: &'c Context, module: &Module<'c>, text: &Rc<str>) -> Value<'c> {
        *self
            .strings
            .entry(Rc::clone(text))
            .or_insert_with(|| module.add_constant(context.string(text)))
    }
}
