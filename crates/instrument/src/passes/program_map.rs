//! Collects a module's part of the program map from debug metadata: the types of parameters
//! and of what methods are called on, with all types inside them and behind their pointers,
//! and the functions.
//!
//! The prebuilt standard library carries no type metadata. Its types are there where a crate
//! uses them.

use std::collections::HashSet;

use raddle_trace::program_map::{FieldInfo, FunctionInfo, ProgramMap, SECTION, TypeInfo};

use super::types::{Field, Types};
use super::{Origin, is_instrumented};
use crate::llvm::{Context, Metadata, Module};
use crate::path::function_path;

/// Bytes of a map in a line of assembly.
const BYTES_IN_LINE: usize = 256;

/// The map as JSON.
pub(super) fn collect<'c>(context: &'c Context, module: &Module<'c>, origin: Origin) -> Vec<u8> {
    let mut map = ProgramMap::default();
    if origin != Origin::Prebuilt {
        let types = Types::new(context);
        let mut found = Found::default();
        for function in module.functions() {
            if !is_instrumented(function) {
                continue;
            }
            let Some(subprogram) = function.subprogram() else {
                continue;
            };
            let owner = types.owner(subprogram);
            let signature = types.signature(subprogram).into_iter().skip(1);
            for kind in owner.into_iter().chain(signature.flatten()) {
                found.add(&types, kind);
            }
            let symbol = function.name();
            let path = function_path(&symbol).unwrap_or(symbol);
            let owner = owner.map(|owner| types.name(owner).to_string());
            map.functions.push(FunctionInfo {
                receiver: owner.or_else(|| implementing_type(&path)),
                is_method: types.has_self(subprogram),
                path,
                file: subprogram.file(),
                line: subprogram.line(),
            });
        }
        map.types = found.types;
        map.normalise();
    }
    serde_json::to_vec(&map).unwrap_or_default()
}

/// Puts the map of a module into its object, in a section that is never loaded: whoever links objects of
/// C, be it through archives, has them all in the executable.
pub(super) fn embed(module: &Module<'_>, map: &[u8]) {
    let mut text = format!(".pushsection {SECTION},\"\",@progbits\n");
    for line in map.chunks(BYTES_IN_LINE) {
        let bytes: Vec<_> = line.iter().map(u8::to_string).collect();
        text += &format!(".byte {}\n", bytes.join(","));
    }
    text += ".popsection\n";
    module.append_assembly(&text);
}

/// The type of `<Type as Trait>::function`, for what has neither `self` nor a scope to tell it.
fn implementing_type(path: &str) -> Option<String> {
    let (qualified, _) = path.strip_prefix('<')?.rsplit_once(">::")?;
    let (implementing, _) = qualified.split_once(" as ")?;
    Some(implementing.to_owned())
}

/// The types that were seen.
#[derive(Default)]
struct Found<'c> {
    seen: HashSet<Metadata<'c>>,
    types: Vec<TypeInfo>,
}

impl<'c> Found<'c> {
    /// Adds a type, the types of its fields, and what they point to, to any depth.
    fn add(&mut self, types: &Types<'c>, first: Metadata<'c>) {
        let mut pending = vec![first];
        while let Some(kind) = pending.pop() {
            let Some(plain) = types.plain(kind) else {
                continue;
            };
            if !self.seen.insert(plain) {
                continue;
            }
            pending.extend(types.pointee(plain));
            pending.extend(types.element(plain));
            if !types.is_structure(plain) && !types.is_enumeration(plain) {
                continue;
            }
            let arguments = types.arguments(plain);
            let mut describe = |fields: Vec<Field<'c>>| {
                let mut fields: Vec<_> = fields
                    .into_iter()
                    .map(|field| {
                        pending.push(field.kind);
                        FieldInfo {
                            offset: field.offset,
                            name: field.name,
                            type_name: types.name(field.kind).to_string(),
                            size: types.size(field.kind),
                        }
                    })
                    .collect();
                fields.sort_unstable();
                fields
            };
            self.types.push(TypeInfo {
                name: types.name(kind).to_string(),
                size: plain.size(),
                fields: describe(types.fields(plain)),
                variants: describe(types.variants(plain)),
                arguments: arguments
                    .iter()
                    .map(|argument| types.name(*argument).to_string())
                    .collect(),
            });
            pending.extend(arguments);
        }
    }
}
