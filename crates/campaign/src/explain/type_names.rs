//! Full names of the structures in debug information, as the program map has them.

use std::collections::HashMap;

use gimli::{AttributeValue, Dwarf, Reader as _, Unit, UnitOffset};

use super::variables::Bytes;

/// The structures of one unit.
pub(super) struct TypeNames {
    names: HashMap<UnitOffset, String>,
}

impl TypeNames {
    /// Reads them all: what a type stands in is known only on the way to it.
    pub fn read(dwarf: &Dwarf<Bytes>, unit: &Unit<Bytes>) -> gimli::Result<Self> {
        let mut names = HashMap::new();
        // Depths and names of the namespaces and types around an entry.
        let mut around: Vec<(isize, String)> = Vec::new();
        let mut entries = unit.entries();
        let mut depth = 0;
        while let Some((step, entry)) = entries.next_dfs()? {
            depth += step;
            around.retain(|(outer, _)| *outer < depth);
            let is_named = is_structure(entry.tag()) || entry.tag() == gimli::DW_TAG_typedef;
            if !is_named && entry.tag() != gimli::DW_TAG_namespace {
                continue;
            }
            let name = match entry.attr_value(gimli::DW_AT_name)? {
                Some(name) => dwarf
                    .attr_string(unit, name)?
                    .to_string_lossy()?
                    .into_owned(),
                None => String::new(),
            };
            if is_named && !name.is_empty() {
                let outer = around.iter().map(|(_, name)| name.as_str());
                let parts: Vec<&str> = outer
                    .chain([name.as_str()])
                    .filter(|part| !part.is_empty())
                    .collect();
                names.insert(entry.offset(), parts.join("::"));
            }
            around.push((depth, name));
        }
        Ok(Self { names })
    }

    /// The name of a type behind aliases and qualifiers, if it is a structure. An alias lends its
    /// name to one that has none.
    pub fn structure(
        &self,
        unit: &Unit<Bytes>,
        of: UnitOffset,
        deepest: usize,
    ) -> gimli::Result<Option<String>> {
        let mut alias = None;
        let mut of = of;
        for _ in 0..deepest {
            let entry = unit.entry(of)?;
            let name = self.names.get(&of).cloned();
            match entry.tag() {
                tag if is_structure(tag) => return Ok(name.or(alias)),
                gimli::DW_TAG_typedef => alias = name.or(alias),
                gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => {}
                _ => break,
            }
            let Some(AttributeValue::UnitRef(inner)) = entry.attr_value(gimli::DW_AT_type)? else {
                break;
            };
            of = inner;
        }
        Ok(None)
    }
}

fn is_structure(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
    )
}
