//! Collects a module's part of the program map from debug metadata: the types that methods
//! are called on, with all types inside them, and the functions.
//!
//! The prebuilt standard library carries no type metadata and is left out.

use std::collections::HashMap;

use raddle_trace::program_map::{FieldInfo, FunctionInfo, ProgramMap, TypeInfo};

use super::{Origin, is_instrumented};
use crate::llvm::{Context, Kind, Metadata, Module};
use crate::path::function_path;

/// DWARF tags.
const POINTER: u16 = 0x0f;
const MEMBER: u16 = 0x0d;

/// The map as JSON.
pub(super) fn collect<'c>(context: &'c Context, module: &Module<'c>, origin: Origin) -> Vec<u8> {
    let mut map = ProgramMap::default();
    if origin != Origin::Prebuilt {
        let mut types = Types {
            context,
            names: HashMap::new(),
            found: Vec::new(),
        };
        for function in module.functions() {
            if !is_instrumented(function) {
                continue;
            }
            let Some(subprogram) = function.subprogram() else {
                continue;
            };
            let receiver = types.receiver(subprogram);
            if let Some(receiver) = receiver {
                types.add(receiver);
            }
            let symbol = function.name();
            map.functions.push(FunctionInfo {
                path: function_path(&symbol).unwrap_or(symbol),
                receiver: receiver.map(|receiver| types.name(receiver)),
                file: subprogram.file(),
                line: subprogram.line(),
            });
        }
        map.types = types.found;
        map.normalise();
    }
    serde_json::to_vec(&map).unwrap_or_default()
}

/// Types by their metadata.
struct Types<'c> {
    context: &'c Context,
    /// Full names; also which types were seen.
    names: HashMap<Metadata<'c>, String>,
    found: Vec<TypeInfo>,
}

impl<'c> Types<'c> {
    /// The type whose method a function is: the type it is defined in, or what its first
    /// parameter is or points to, for methods of traits.
    fn receiver(&self, subprogram: Metadata<'c>) -> Option<Metadata<'c>> {
        let parent = subprogram.parent(self.context);
        if let Some(parent) = parent.filter(|parent| parent.kind() == Kind::CompositeType) {
            return Some(parent);
        }
        let in_implementation = parent.is_some_and(|parent| {
            parent
                .strings(self.context)
                .first()
                .is_some_and(|name| name.starts_with("{impl#"))
        });
        if !in_implementation {
            return None;
        }
        let signature = self.operand(subprogram, Kind::SubroutineType)?;
        let types = self.operand(signature, Kind::Tuple)?.operands(self.context);
        let first = types.get(1).copied().flatten()?;
        match first.kind() {
            Kind::CompositeType => Some(first),
            Kind::DerivedType if first.tag() == POINTER => self
                .base(first)
                .filter(|base| base.kind() == Kind::CompositeType),
            _ => None,
        }
    }

    fn operand(&self, node: Metadata<'c>, kind: Kind) -> Option<Metadata<'c>> {
        node.operands(self.context)
            .into_iter()
            .flatten()
            .find(|operand| operand.kind() == kind)
    }

    /// What a pointer or member is of. Its scope, which may be a type too, comes before it.
    fn base(&self, derived: Metadata<'c>) -> Option<Metadata<'c>> {
        let operands = derived.operands(self.context);
        operands
            .into_iter()
            .flatten()
            .rfind(|operand| operand.is_type())
    }

    /// Adds a type and the types of its fields, to any depth.
    fn add(&mut self, first: Metadata<'c>) {
        let mut pending = vec![first];
        while let Some(kind) = pending.pop() {
            if kind.kind() != Kind::CompositeType || self.names.contains_key(&kind) {
                continue;
            }
            let name = self.full_name(kind);
            self.names.insert(kind, name.clone());
            let mut fields: Vec<FieldInfo> = Vec::new();
            let elements = self.operand(kind, Kind::Tuple);
            for element in elements
                .map(|list| list.operands(self.context))
                .unwrap_or_default()
            {
                let Some(member) = element.filter(|element| element.tag() == MEMBER) else {
                    continue;
                };
                let Some(base) = self.base(member) else {
                    continue;
                };
                pending.push(base);
                fields.push(FieldInfo {
                    offset: member.offset(),
                    name: member.type_name(),
                    type_name: self.name(base),
                    size: base.size(),
                });
            }
            fields.sort_unstable();
            self.found.push(TypeInfo {
                name,
                size: kind.size(),
                fields,
            });
        }
    }

    fn name(&self, kind: Metadata<'c>) -> String {
        self.names
            .get(&kind)
            .cloned()
            .unwrap_or_else(|| self.full_name(kind))
    }

    /// The name with the namespaces around it.
    fn full_name(&self, kind: Metadata<'c>) -> String {
        let mut parts = vec![kind.type_name()];
        let mut scope = kind.parent(self.context);
        while let Some(parent) = scope {
            parts.push(match parent.kind() {
                Kind::CompositeType => parent.type_name(),
                _ => parent
                    .strings(self.context)
                    .into_iter()
                    .next()
                    .unwrap_or_default(),
            });
            scope = parent.parent(self.context);
        }
        parts.retain(|part| !part.is_empty());
        parts.reverse();
        parts.join("::")
    }
}
