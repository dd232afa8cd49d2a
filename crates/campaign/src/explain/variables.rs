//! Names for memory in a function's frame, from the executable's debug information.
//!
//! Limits: only variables that stand at one place in the frame all the time are known, as in code
//! that is built without optimisation, and only while they are visible: others may have had the
//! place before, or have it afterwards.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use gimli::{
    self, AttributeValue, DebuggingInformationEntry, DwTag, Dwarf, EndianArcSlice, Operation,
    Reader, RunTimeEndian, Unit, UnitOffset,
};
use object::{Object as _, ObjectSection as _};

use super::type_names::TypeNames;

pub(super) type Bytes = EndianArcSlice<RunTimeEndian>;
type Entry<'a> = DebuggingInformationEntry<'a, 'a, Bytes>;

/// How deep a type may refer to others until its size is known.
const DEEPEST_TYPE: usize = 16;

/// A variable in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its name.
    pub name: String,
    /// Where it stands, counted from the frame pointer.
    pub place: Range<i64>,
    /// Full name of its type, if that is a structure.
    pub type_name: Option<String>,
    /// The code in which it is visible; all of the function without any.
    scope: Vec<Range<u64>>,
}

/// Looks up variables of one executable. Its debug information is read on first use.
pub(crate) struct Variables {
    executable: PathBuf,
    read: Option<Option<Information>>,
    functions: HashMap<u64, Rc<[Variable]>>,
}

/// Debug information, and which code its units are about.
struct Information {
    dwarf: Dwarf<Bytes>,
    units: Vec<Unit<Bytes>>,
    code: Vec<(Range<u64>, usize)>,
    /// By unit, once they were asked for.
    types: RefCell<HashMap<usize, Rc<TypeNames>>>,
    /// By unit, once they were asked for: where in the code functions are, and in the unit.
    functions: RefCell<HashMap<usize, Rc<[Function]>>>,
}

/// Code of a function, and its entry.
type Function = (Range<u64>, UnitOffset);

impl Variables {
    pub fn new(executable: &Path) -> Self {
        Self {
            executable: executable.to_owned(),
            read: None,
            functions: HashMap::new(),
        }
    }

    /// The variable at `offset` from the frame pointer of the function that `code`, a return
    /// address, lies in.
    pub fn at(&mut self, code: u64, offset: i64) -> Option<Variable> {
        // A return address may already belong to the next function.
        let code = code.saturating_sub(1);
        let variables = self.of_function(code);
        choose(&variables, code, offset).cloned()
    }

    fn of_function(&mut self, code: u64) -> Rc<[Variable]> {
        if let Some(known) = self.functions.get(&code) {
            return known.clone();
        }
        let executable = &self.executable;
        let information = self
            .read
            .get_or_insert_with(|| Information::read(executable));
        let found = information
            .as_ref()
            .and_then(|information| information.variables(code).ok())
            .unwrap_or_default();
        let found: Rc<[Variable]> = found.into();
        self.functions.insert(code, found.clone());
        found
    }
}

/// The variable at a place: the innermost one that is visible.
fn choose(variables: &[Variable], code: u64, offset: i64) -> Option<&Variable> {
    variables.iter().rfind(|variable| {
        let mut scope = variable.scope.iter();
        let is_visible = variable.scope.is_empty() || scope.any(|range| range.contains(&code));
        is_visible && variable.place.contains(&offset)
    })
}

impl Information {
    fn read(executable: &Path) -> Option<Self> {
        let bytes = std::fs::read(executable).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let section = |id: gimli::SectionId| {
            let data = file
                .section_by_name(id.name())
                .and_then(|section| section.uncompressed_data().ok())
                .unwrap_or_default();
            Ok::<_, gimli::Error>(EndianArcSlice::new(
                Arc::from(&*data),
                RunTimeEndian::Little,
            ))
        };
        let dwarf = Dwarf::load(section).ok()?;
        let (mut units, mut code) = (Vec::new(), Vec::new());
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else {
                continue;
            };
            if let Ok(mut ranges) = dwarf.unit_ranges(&unit) {
                while let Ok(Some(range)) = ranges.next() {
                    code.push((range.begin..range.end, units.len()));
                }
            }
            units.push(unit);
        }
        Some(Self {
            dwarf,
            units,
            code,
            types: RefCell::default(),
            functions: RefCell::default(),
        })
    }

    /// The variables of the function that `code` lies in.
    fn variables(&self, code: u64) -> gimli::Result<Vec<Variable>> {
        let mut found = Vec::new();
        let here = |(range, _): &&(Range<u64>, usize)| range.contains(&code);
        let Some((_, unit)) = self.code.iter().find(here) else {
            return Ok(found);
        };
        let functions = self.functions(*unit)?;
        let here = |(range, _): &&Function| range.contains(&code);
        let Some((_, function)) = functions.iter().find(here) else {
            return Ok(found);
        };
        let types = self.types(*unit)?;
        let unit = &self.units[*unit];
        if !counts_from_frame_pointer(unit, &unit.entry(*function)?)? {
            return Ok(found);
        }
        let mut entries = unit.entries_at_offset(*function)?;
        entries.next_dfs()?;
        // Depth in the function, and the scopes around the entry.
        let mut depth: isize = 0;
        let mut scopes: Vec<(isize, Vec<Range<u64>>)> = Vec::new();
        while let Some((step, entry)) = entries.next_dfs()? {
            depth += step;
            if depth <= 0 {
                break;
            }
            scopes.retain(|(around, _)| *around < depth);
            match entry.tag() {
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                    scopes.push((depth, self.ranges(unit, entry)?));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let scope = scopes.last().map(|(_, ranges)| ranges.clone());
                    let scope = scope.unwrap_or_default();
                    found.extend(self.variable(unit, &types, entry, scope)?);
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// The functions of a unit, in the order of its entries.
    fn functions(&self, index: usize) -> gimli::Result<Rc<[Function]>> {
        if let Some(known) = self.functions.borrow().get(&index) {
            return Ok(Rc::clone(known));
        }
        let unit = &self.units[index];
        let mut found = Vec::new();
        let mut entries = unit.entries();
        while let Some((_, entry)) = entries.next_dfs()? {
            if entry.tag() == gimli::DW_TAG_subprogram {
                let ranges = self.ranges(unit, entry)?.into_iter();
                found.extend(ranges.map(|range| (range, entry.offset())));
            }
        }
        let found: Rc<[Function]> = found.into();
        let mut functions = self.functions.borrow_mut();
        functions.insert(index, Rc::clone(&found));
        Ok(found)
    }

    fn types(&self, unit: usize) -> gimli::Result<Rc<TypeNames>> {
        if let Some(known) = self.types.borrow().get(&unit) {
            return Ok(Rc::clone(known));
        }
        let names = Rc::new(TypeNames::read(&self.dwarf, &self.units[unit])?);
        self.types.borrow_mut().insert(unit, Rc::clone(&names));
        Ok(names)
    }

    fn ranges(&self, unit: &Unit<Bytes>, entry: &Entry<'_>) -> gimli::Result<Vec<Range<u64>>> {
        let mut ranges = self.dwarf.die_ranges(unit, entry)?;
        let mut found = Vec::new();
        while let Some(range) = ranges.next()? {
            found.push(range.begin..range.end);
        }
        Ok(found)
    }

    fn variable(
        &self,
        unit: &Unit<Bytes>,
        types: &TypeNames,
        entry: &Entry<'_>,
        scope: Vec<Range<u64>>,
    ) -> gimli::Result<Option<Variable>> {
        let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location)?
        else {
            return Ok(None);
        };
        let mut operations = expression.operations(unit.encoding());
        let (first, rest) = (operations.next()?, operations.next()?);
        let (Some(Operation::FrameOffset { offset }), None) = (first, rest) else {
            return Ok(None);
        };
        // What is inlined says elsewhere what it is.
        let described = match entry.attr_value(gimli::DW_AT_abstract_origin)? {
            Some(AttributeValue::UnitRef(origin)) => unit.entry(origin)?,
            _ => entry.clone(),
        };
        let Some(name) = described.attr_value(gimli::DW_AT_name)? else {
            return Ok(None);
        };
        let name = self.dwarf.attr_string(unit, name)?;
        let (size, type_name) = match described.attr_value(gimli::DW_AT_type)? {
            Some(AttributeValue::UnitRef(of)) => (
                size(unit, of, DEEPEST_TYPE)?,
                types.structure(unit, of, DEEPEST_TYPE)?,
            ),
            _ => (0, None),
        };
        let end = offset.saturating_add(i64::try_from(size).unwrap_or(i64::MAX));
        Ok((size > 0).then(|| Variable {
            name: name
                .to_string_lossy()
                .map(|name| name.into_owned())
                .unwrap_or_default(),
            place: offset..end,
            type_name,
            scope,
        }))
    }
}

/// Whether the places of a function's variables are distances from the frame pointer.
fn counts_from_frame_pointer(unit: &Unit<Bytes>, entry: &Entry<'_>) -> gimli::Result<bool> {
    let Some(AttributeValue::Exprloc(base)) = entry.attr_value(gimli::DW_AT_frame_base)? else {
        return Ok(false);
    };
    let first = base.operations(unit.encoding()).next()?;
    Ok(matches!(
        first,
        Some(Operation::Register {
            register: gimli::X86_64::RBP
        })
    ))
}

/// Bytes of a type, or 0 if that is not known.
fn size(unit: &Unit<Bytes>, of: UnitOffset, deepest: usize) -> gimli::Result<u64> {
    let entry = unit.entry(of)?;
    if let Some(bytes) = entry.attr_value(gimli::DW_AT_byte_size)? {
        return Ok(bytes.udata_value().unwrap_or(0));
    }
    if is_pointer(entry.tag()) {
        return Ok(u64::from(unit.encoding().address_size));
    }
    let inner = match entry.attr_value(gimli::DW_AT_type)? {
        Some(AttributeValue::UnitRef(inner)) if deepest > 0 => size(unit, inner, deepest - 1)?,
        _ => return Ok(0),
    };
    if entry.tag() != gimli::DW_TAG_array_type {
        return Ok(inner);
    }
    let mut count = 1;
    let mut tree = unit.entries_tree(Some(of))?;
    let mut dimensions = tree.root()?.children();
    while let Some(dimension) = dimensions.next()? {
        let length = dimension.entry().attr_value(gimli::DW_AT_count)?;
        count *= length.and_then(|length| length.udata_value()).unwrap_or(0);
    }
    Ok(inner.saturating_mul(count))
}

fn is_pointer(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, place: Range<i64>, scope: Option<Range<u64>>) -> Variable {
        Variable {
            name: name.into(),
            place,
            type_name: None,
            scope: scope.into_iter().collect(),
        }
    }

    #[test]
    fn the_visible_one_of_those_that_share_a_place_is_chosen() {
        let variables = [
            variable("whole", -16..-8, None),
            variable("first", -32..-24, Some(10..20)),
            variable("second", -32..-16, Some(20..30)),
        ];
        let at = |code, offset| choose(&variables, code, offset).map(|found| found.name.as_str());
        assert_eq!(at(15, -9), Some("whole"));
        assert_eq!(at(15, -32), Some("first"));
        assert_eq!(at(25, -32), Some("second"));
        assert_eq!(at(40, -32), None);
        assert_eq!(at(15, -8), None);
    }
}
