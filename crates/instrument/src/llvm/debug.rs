//! Debug metadata: locations, scopes and types.
//!
//! Operands are found by their kind, never by their position: LLVM majors reorder them.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::api::{RawMetadata, api, text};
use super::context::Context;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// Kinds of metadata, numbered as in LLVM's C API.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
            /// Any other.
            Other,
        }

        impl Kind {
            fn from_number(number: u32) -> Self {
                match number { $($number => Self::$name,)* _ => Self::Other }
            }
        }
    };
}

kinds! {
    /// A string.
    String = 0,
    /// A list.
    Tuple = 4,
    /// A location.
    Location = 5,
    /// A primitive type.
    BasicType = 11,
    /// A member, pointer, reference or alias.
    DerivedType = 12,
    /// A structure, union, enum or array.
    CompositeType = 13,
    /// A function type.
    SubroutineType = 14,
    /// A file.
    File = 15,
    /// A compilation unit.
    CompileUnit = 16,
    /// A function.
    Subprogram = 17,
    /// A block in a function.
    LexicalBlock = 18,
    /// A block in a function, from another file.
    LexicalBlockFile = 19,
    /// A module of the source.
    Namespace = 20,
    /// A type that something is generic over.
    TemplateType = 22,
    /// A variable or parameter of a function.
    LocalVariable = 25,
}

/// Any metadata.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Metadata<'c> {
    raw: NonNull<RawMetadata>,
    context: PhantomData<&'c Context>,
}

impl<'c> Metadata<'c> {
    pub(super) fn option(raw: *mut RawMetadata) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            context: PhantomData,
        })
    }

    pub(super) fn raw(self) -> *mut RawMetadata {
        self.raw.as_ptr()
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        // SAFETY: the metadata is alive.
        Kind::from_number(unsafe { (api().LLVMGetMetadataKind)(self.raw()) })
    }

    /// The operands of a node; nothing for what is not a node.
    pub fn operands(self, context: &'c Context) -> Vec<Option<Metadata<'c>>> {
        if matches!(self.kind(), Kind::String | Kind::Other) {
            return Vec::new();
        }
        // SAFETY: the kinds that remain are nodes; the array has room for every operand.
        unsafe {
            let value = (api().LLVMMetadataAsValue)(context.raw(), self.raw());
            let count = (api().LLVMGetMDNodeNumOperands)(value) as usize;
            let mut raw = vec![std::ptr::null_mut(); count];
            (api().LLVMGetMDNodeOperands)(value, raw.as_mut_ptr());
            raw.into_iter()
                .map(|operand| {
                    NonNull::new(operand).and_then(|operand| {
                        Self::option((api().LLVMValueAsMetadata)(operand.as_ptr()))
                    })
                })
                .collect()
        }
    }

    /// The text of a string.
    pub fn string(self, context: &'c Context) -> Option<String> {
        if self.kind() != Kind::String {
            return None;
        }
        let mut len = 0;
        // SAFETY: it is a string; LLVM writes its length.
        unsafe {
            let value = (api().LLVMMetadataAsValue)(context.raw(), self.raw());
            let start = (api().LLVMGetMDString)(value, &raw mut len);
            Some(text(start, len as usize))
        }
    }

    /// The strings among its operands, in order. A node's name is the first.
    pub fn strings(self, context: &'c Context) -> Vec<String> {
        self.operands(context)
            .into_iter()
            .flatten()
            .filter_map(|operand| operand.string(context))
            .collect()
    }

    fn is_scope(self) -> bool {
        matches!(
            self.kind(),
            Kind::Subprogram
                | Kind::LexicalBlock
                | Kind::LexicalBlockFile
                | Kind::Namespace
                | Kind::CompositeType
        )
    }

    /// The scope around a function, block, namespace or type.
    pub fn parent(self, context: &'c Context) -> Option<Metadata<'c>> {
        if !self.is_scope() {
            return None;
        }
        // A scope's own scope comes before its other operands; elements, types and declarations,
        // which may be scopes too, come after it.
        self.operands(context)
            .into_iter()
            .take(2)
            .flatten()
            .find(|operand| operand.is_scope())
    }

    /// The function that a scope is in.
    pub fn subprogram(self, context: &'c Context) -> Option<Metadata<'c>> {
        let mut scope = self;
        while scope.kind() != Kind::Subprogram {
            if !matches!(scope.kind(), Kind::LexicalBlock | Kind::LexicalBlockFile) {
                return None;
            }
            scope = scope.parent(context)?;
        }
        Some(scope)
    }

    /// Path of a scope's file, with its directory where that is relative.
    pub fn file(self) -> String {
        if !self.is_scope() {
            return String::new();
        }
        let (mut len, mut directory_len) = (0, 0);
        // SAFETY: it is a scope; LLVM writes the lengths of the strings it returns.
        unsafe {
            let file = (api().LLVMDIScopeGetFile)(self.raw());
            if file.is_null() {
                return String::new();
            }
            let start = (api().LLVMDIFileGetFilename)(file, &raw mut len);
            let name = text(start, len as usize);
            let start = (api().LLVMDIFileGetDirectory)(file, &raw mut directory_len);
            let directory = text(start, directory_len as usize);
            if name.starts_with('/') || directory.is_empty() {
                name
            } else {
                format!("{}/{name}", directory.trim_end_matches('/'))
            }
        }
    }

    /// Line of a function.
    pub fn line(self) -> u32 {
        if self.kind() != Kind::Subprogram {
            return 0;
        }
        // SAFETY: it is a function's entry.
        unsafe { (api().LLVMDISubprogramGetLine)(self.raw()) }
    }

    /// Whether it is a type.
    pub fn is_type(self) -> bool {
        matches!(
            self.kind(),
            Kind::BasicType | Kind::DerivedType | Kind::CompositeType
        )
    }

    /// Name of a type or member.
    pub fn type_name(self) -> String {
        if !self.is_type() {
            return String::new();
        }
        let mut len = 0;
        // SAFETY: it is a type; LLVM writes the name's length.
        unsafe {
            let start = (api().LLVMDITypeGetName)(self.raw(), &raw mut len);
            text(start, len)
        }
    }

    /// Size of a type or member in bytes.
    pub fn size(self) -> u64 {
        if !self.is_type() {
            return 0;
        }
        // SAFETY: it is a type.
        unsafe { (api().LLVMDITypeGetSizeInBits)(self.raw()) / 8 }
    }

    /// Offset of a member in bytes.
    pub fn offset(self) -> u64 {
        if !self.is_type() {
            return 0;
        }
        // SAFETY: it is a type.
        unsafe { (api().LLVMDITypeGetOffsetInBits)(self.raw()) / 8 }
    }

    /// DWARF tag of a node.
    pub fn tag(self) -> u16 {
        if !self.is_type() {
            return 0;
        }
        // SAFETY: it is a node with a tag.
        unsafe { (api().LLVMGetDINodeTag)(self.raw()) }
    }
}

/// A debug location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Location<'c> {
    metadata: Metadata<'c>,
}

impl<'c> Location<'c> {
    pub(super) fn option(raw: *mut RawMetadata) -> Option<Self> {
        Some(Self {
            metadata: Metadata::option(raw)?,
        })
    }

    /// A location without line in a function, for code that has no source.
    pub fn artificial(context: &'c Context, subprogram: Metadata<'c>, line: u32) -> Self {
        debug_assert_eq!(subprogram.kind(), Kind::Subprogram);
        // SAFETY: the scope is a function's entry.
        let raw = unsafe {
            (api().LLVMDIBuilderCreateDebugLocation)(
                context.raw(),
                line,
                0,
                subprogram.raw(),
                std::ptr::null_mut(),
            )
        };
        Self::option(raw).expect("LLVM makes a location")
    }

    pub(super) fn raw(self) -> *mut RawMetadata {
        self.metadata.raw()
    }

    /// Line, from 1; 0 if unknown.
    pub fn line(self) -> u32 {
        // SAFETY: it is a location.
        unsafe { (api().LLVMDILocationGetLine)(self.raw()) }
    }

    /// Column, from 1; 0 if unknown.
    pub fn column(self) -> u32 {
        // SAFETY: it is a location.
        unsafe { (api().LLVMDILocationGetColumn)(self.raw()) }
    }

    /// Its innermost scope.
    pub fn scope(self) -> Option<Metadata<'c>> {
        // SAFETY: it is a location.
        Metadata::option(unsafe { (api().LLVMDILocationGetScope)(self.raw()) })
    }

    /// Where it was inlined.
    pub fn inlined_at(self) -> Option<Location<'c>> {
        // SAFETY: it is a location.
        Self::option(unsafe { (api().LLVMDILocationGetInlinedAt)(self.raw()) })
    }
}
