//! Types in debug metadata: names, fields, what points to what, and whose method a function is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::llvm::{Context, Kind, Metadata};

/// DWARF tags.
mod tag {
    pub(super) const ARRAY: u16 = 0x01;
    pub(super) const CLASS: u16 = 0x02;
    pub(super) const ENUMERATION: u16 = 0x04;
    pub(super) const MEMBER: u16 = 0x0d;
    pub(super) const POINTER: u16 = 0x0f;
    pub(super) const REFERENCE: u16 = 0x10;
    pub(super) const STRUCTURE: u16 = 0x13;
    pub(super) const TYPEDEF: u16 = 0x16;
    pub(super) const UNION: u16 = 0x17;
    pub(super) const CONST: u16 = 0x26;
    pub(super) const VARIANT_PART: u16 = 0x33;
    pub(super) const VOLATILE: u16 = 0x35;
    pub(super) const RESTRICT: u16 = 0x37;
    pub(super) const RVALUE_REFERENCE: u16 = 0x42;
    pub(super) const ATOMIC: u16 = 0x47;
}

/// A field of a type.
pub(super) struct Field<'c> {
    /// Name, or position in a tuple.
    pub(super) name: String,
    /// Bytes from the start of the type.
    pub(super) offset: u64,
    /// What it is.
    pub(super) kind: Metadata<'c>,
}

/// The types of a module.
pub(super) struct Types<'c> {
    context: &'c Context,
    names: RefCell<HashMap<Metadata<'c>, Rc<str>>>,
}

impl<'c> Types<'c> {
    pub(super) fn new(context: &'c Context) -> Self {
        Self {
            context,
            names: RefCell::default(),
        }
    }

    /// The first operand of this kind.
    fn operand(&self, node: Metadata<'c>, kind: Kind) -> Option<Metadata<'c>> {
        node.operands(self.context)
            .into_iter()
            .flatten()
            .find(|operand| operand.kind() == kind)
    }

    /// What a pointer, alias or member is of. Its scope, which may be a type too, comes before it.
    fn base(&self, derived: Metadata<'c>) -> Option<Metadata<'c>> {
        let operands = derived.operands(self.context);
        operands
            .into_iter()
            .flatten()
            .rfind(|operand| operand.is_type())
    }

    /// The type behind aliases and qualifiers.
    pub(super) fn plain(&self, kind: Metadata<'c>) -> Option<Metadata<'c>> {
        const ALIASES: [u16; 5] = [
            tag::TYPEDEF,
            tag::CONST,
            tag::VOLATILE,
            tag::RESTRICT,
            tag::ATOMIC,
        ];
        let mut plain = kind;
        while plain.kind() == Kind::DerivedType && ALIASES.contains(&plain.tag()) {
            plain = self.base(plain)?;
        }
        Some(plain)
    }

    /// What a pointer or reference points to. `None` for what is neither, and for `void *`.
    pub(super) fn pointee(&self, kind: Metadata<'c>) -> Option<Metadata<'c>> {
        self.base(kind).filter(|_| self.is_pointer(kind))
    }

    /// Whether it is a pointer or reference.
    pub(super) fn is_pointer(&self, kind: Metadata<'c>) -> bool {
        const POINTERS: [u16; 3] = [tag::POINTER, tag::REFERENCE, tag::RVALUE_REFERENCE];
        kind.kind() == Kind::DerivedType && POINTERS.contains(&kind.tag())
    }

    /// Whether it is a structure, class or union, as enums with data are too.
    pub(super) fn is_structure(&self, kind: Metadata<'c>) -> bool {
        const STRUCTURES: [u16; 3] = [tag::STRUCTURE, tag::CLASS, tag::UNION];
        kind.kind() == Kind::CompositeType && STRUCTURES.contains(&kind.tag())
    }

    /// Whether it is an array.
    pub(super) fn is_array(&self, kind: Metadata<'c>) -> bool {
        kind.kind() == Kind::CompositeType && kind.tag() == tag::ARRAY
    }

    /// What an array consists of.
    pub(super) fn element(&self, kind: Metadata<'c>) -> Option<Metadata<'c>> {
        self.base(kind).filter(|_| self.is_array(kind))
    }

    /// Whether it is an enumeration without data.
    pub(super) fn is_enumeration(&self, kind: Metadata<'c>) -> bool {
        kind.kind() == Kind::CompositeType && kind.tag() == tag::ENUMERATION
    }

    /// Bytes of a type.
    pub(super) fn size(&self, kind: Metadata<'c>) -> u64 {
        self.plain(kind).map_or(0, Metadata::size)
    }

    /// What a type consists of: fields, or the elements of another kind that it has.
    fn elements(&self, kind: Metadata<'c>) -> Vec<Metadata<'c>> {
        let list = self.operand(kind, Kind::Tuple);
        list.map(|list| list.operands(self.context))
            .unwrap_or_default()
            .into_iter()
            .flatten()
            .collect()
    }

    /// The members among some elements.
    fn members(&self, elements: &[Metadata<'c>]) -> Vec<Field<'c>> {
        let members = elements
            .iter()
            .filter(|element| element.tag() == tag::MEMBER);
        members
            .filter_map(|member| {
                Some(Field {
                    name: member.type_name(),
                    offset: member.offset(),
                    kind: self.base(*member)?,
                })
            })
            .collect()
    }

    /// The fields of a structure.
    pub(super) fn fields(&self, kind: Metadata<'c>) -> Vec<Field<'c>> {
        self.members(&self.elements(kind))
    }

    /// The variants of an enum with data, each a structure; they overlap.
    pub(super) fn variants(&self, kind: Metadata<'c>) -> Vec<Field<'c>> {
        let elements = self.elements(kind);
        let parts = elements.iter().filter(|element| {
            element.kind() == Kind::CompositeType && element.tag() == tag::VARIANT_PART
        });
        parts
            .flat_map(|part| self.members(&self.elements(*part)))
            .collect()
    }

    /// The types that a type is generic over.
    pub(super) fn arguments(&self, kind: Metadata<'c>) -> Vec<Metadata<'c>> {
        let lists = kind.operands(self.context).into_iter().flatten();
        lists
            .filter(|operand| operand.kind() == Kind::Tuple)
            .flat_map(|list| list.operands(self.context))
            .flatten()
            .filter(|parameter| parameter.kind() == Kind::TemplateType)
            .filter_map(|parameter| self.base(parameter))
            .collect()
    }

    /// The types in a function's signature: the result, then the parameters.
    pub(super) fn signature(&self, subprogram: Metadata<'c>) -> Vec<Option<Metadata<'c>>> {
        self.operand(subprogram, Kind::SubroutineType)
            .and_then(|signature| self.operand(signature, Kind::Tuple))
            .map(|list| list.operands(self.context))
            .unwrap_or_default()
    }

    /// The type whose method or associated function this is: the type that it is defined in,
    /// or what the first parameter is or points to, for methods of traits.
    pub(super) fn owner(&self, subprogram: Metadata<'c>) -> Option<Metadata<'c>> {
        let parent = subprogram.parent(self.context)?;
        if parent.kind() == Kind::CompositeType {
            return Some(parent);
        }
        if !self.is_implementation(parent) && !self.has_self(subprogram) {
            return None;
        }
        let first = self.signature(subprogram).get(1).copied().flatten()?;
        let first = self.pointee(first).unwrap_or(first);
        Some(first).filter(|first| first.kind() == Kind::CompositeType)
    }

    /// Whether a function stands in an implementation of a type or trait.
    pub(super) fn is_associated(&self, subprogram: Metadata<'c>) -> bool {
        subprogram.parent(self.context).is_some_and(|parent| {
            parent.kind() == Kind::CompositeType || self.is_implementation(parent)
        })
    }

    fn is_implementation(&self, scope: Metadata<'c>) -> bool {
        let names = scope.strings(self.context);
        names.first().is_some_and(|name| name.starts_with("{impl#"))
    }

    /// Whether a function has a parameter `self`, or is a C++ method.
    pub(super) fn has_self(&self, subprogram: Metadata<'c>) -> bool {
        let lists = subprogram.operands(self.context).into_iter().flatten();
        let mut variables = lists
            .filter(|operand| operand.kind() == Kind::Tuple)
            .flat_map(|list| list.operands(self.context))
            .flatten()
            .filter(|node| node.kind() == Kind::LocalVariable);
        let is_self = |variable: Metadata<'c>| {
            let names = variable.strings(self.context);
            names.first().is_some_and(|name| name == "self")
        };
        variables.any(is_self) || self.has_this(subprogram)
    }

    fn has_this(&self, subprogram: Metadata<'c>) -> bool {
        let parent = subprogram.parent(self.context);
        let first = self.signature(subprogram).get(1).copied().flatten();
        let is_class = parent
            .is_some_and(|parent| parent.kind() == Kind::CompositeType && is_cxx(&parent.file()));
        is_class && first.and_then(|first| self.pointee(first)) == parent
    }

    /// A type's name with the namespaces around it. An alias lends its name to what has none.
    pub(super) fn name(&self, kind: Metadata<'c>) -> Rc<str> {
        if let Some(name) = self.names.borrow().get(&kind) {
            return Rc::clone(name);
        }
        let name: Rc<str> = self.full_name(kind).into();
        self.names.borrow_mut().insert(kind, Rc::clone(&name));
        name
    }

    fn full_name(&self, kind: Metadata<'c>) -> String {
        let name = kind.type_name();
        if name.is_empty() && self.is_pointer(kind) {
            let pointee = self.pointee(kind);
            let pointee = pointee.map_or_else(|| "void".into(), |pointee| self.name(pointee));
            return format!("*{pointee}");
        }
        if let Some(element) = self.element(kind) {
            let count = kind.size().checked_div(self.size(element)).unwrap_or(0);
            return format!("[{}; {count}]", self.name(element));
        }
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

/// Whether a file is none of Rust's.
fn is_cxx(file: &str) -> bool {
    !file.is_empty() && !file.ends_with(".rs") && !file.ends_with("<unknown>")
}
