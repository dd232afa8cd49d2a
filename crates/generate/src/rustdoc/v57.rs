//! Format 57, of rustc 1.93 to 1.95.

use std::collections::HashSet;

use rustdoc_types as doc;
use rustdoc_types::{ItemEnum, Visibility};

use crate::model::{
    Alias, Bound, Crate, Definition, Function, Generics, Implementation, Parameter, Shape, Trait,
    Type, Variant, last,
};
use crate::promises::{counts_calls, hedge};

/// Modules this deep are not walked: re-exports may go round.
const DEEPEST: usize = 6;

/// The crate in our own words.
pub fn convert(krate: &doc::Crate, name: &str) -> Crate {
    let mut reader = Reader {
        krate,
        result: Crate {
            name: name.to_owned(),
            ..Crate::default()
        },
        functions: Vec::new(),
    };
    reader.walk(krate.root, name, &mut HashSet::new());
    for (path, id) in std::mem::take(&mut reader.functions) {
        let item = krate.index.get(&id);
        if let Some((item, ItemEnum::Function(function))) = item.map(|item| (item, &item.inner)) {
            let function = reader.function(item, function);
            reader.result.functions.insert(path, function);
        }
    }
    reader.items();
    reader.result
}

struct Reader<'a> {
    krate: &'a doc::Crate,
    result: Crate,
    /// Functions outside of types, with their public paths.
    functions: Vec<(String, doc::Id)>,
}

impl Reader<'_> {
    /// Notes the public path of everything below a module, through `pub use`.
    fn walk(&mut self, module: doc::Id, path: &str, seen: &mut HashSet<(doc::Id, String)>) {
        if path.matches("::").count() >= DEEPEST || !seen.insert((module, path.to_owned())) {
            return;
        }
        let Some(ItemEnum::Module(found)) = self.krate.index.get(&module).map(|item| &item.inner)
        else {
            return;
        };
        for id in &found.items {
            let Some(item) = self.krate.index.get(id) else {
                continue;
            };
            match &item.inner {
                ItemEnum::Use(used) => self.walk_use(used, path, seen),
                _ => {
                    if let Some(name) = &item.name {
                        self.offer(*id, &format!("{path}::{name}"), seen);
                    }
                }
            }
        }
    }

    fn walk_use(&mut self, used: &doc::Use, path: &str, seen: &mut HashSet<(doc::Id, String)>) {
        let Some(target) = used.id else { return };
        if !used.is_glob {
            return self.offer(target, &format!("{path}::{}", used.name), seen);
        }
        if self.krate.index.contains_key(&target) {
            self.walk(target, path, seen);
        } else if let Some(canonical) = self.path(target) {
            self.result.reexported.push((path.to_owned(), canonical));
        }
    }

    /// An item that others reach by this path.
    fn offer(&mut self, id: doc::Id, path: &str, seen: &mut HashSet<(doc::Id, String)>) {
        let canonical = self.path(id).unwrap_or_else(|| path.to_owned());
        let Some(item) = self.krate.index.get(&id) else {
            let kind = self.krate.paths.get(&id).map(|summary| summary.kind);
            if kind == Some(doc::ItemKind::Module) {
                self.result.reexported.push((path.to_owned(), canonical));
            } else {
                self.result
                    .public
                    .entry(path.to_owned())
                    .or_insert(canonical);
            }
            return;
        };
        if matches!(item.inner, ItemEnum::Function(_)) {
            self.functions.push((path.to_owned(), id));
        }
        let shortest = self.result.shortest.entry(canonical.clone());
        let shortest = shortest.or_insert_with(|| path.to_owned());
        if (path.len(), path) < (shortest.len(), shortest.as_str()) {
            path.clone_into(shortest);
        }
        self.result
            .public
            .entry(path.to_owned())
            .or_insert(canonical);
        self.walk(id, path, seen);
    }

    fn path(&self, id: doc::Id) -> Option<String> {
        self.krate
            .paths
            .get(&id)
            .map(|summary| summary.path.join("::"))
    }

    fn items(&mut self) {
        let mut on_references = Vec::new();
        for (id, item) in &self.krate.index {
            if item.crate_id != 0 {
                continue;
            }
            let Some(path) = self.path(*id) else {
                if let ItemEnum::Impl(found) = &item.inner
                    && let Some(subject) = self.referent(found)
                {
                    on_references.push((subject, *id, self.implementation(found)));
                }
                continue;
            };
            match &item.inner {
                ItemEnum::Struct(found) => {
                    let shape = self.struct_shape(item, &found.kind);
                    self.define(path, &found.generics, shape, &found.impls);
                }
                ItemEnum::Enum(found) => {
                    let shape = Shape::Variants(self.variants(&found.variants));
                    self.define(path, &found.generics, shape, &found.impls);
                }
                ItemEnum::Union(found) => {
                    self.define(path, &found.generics, Shape::Opaque, &found.impls);
                }
                ItemEnum::TypeAlias(found) => {
                    let alias = Alias {
                        generics: self.generics(&found.generics),
                        target: self.one_type(&found.type_),
                    };
                    self.result.aliases.insert(path, alias);
                }
                ItemEnum::Trait(found) => {
                    let found = self.one_trait(found);
                    self.result.traits.insert(path, found);
                }
                _ => {}
            }
        }
        // The index has no order of its own.
        on_references.sort_by_key(|(_, id, _)| id.0);
        for (subject, _, implementation) in on_references {
            if let Some(definition) = self.result.definitions.get_mut(&subject) {
                definition.implementations.push(implementation);
            }
        }
    }

    fn define(&mut self, path: String, generics: &doc::Generics, shape: Shape, impls: &[doc::Id]) {
        let implementations = impls.iter().filter_map(|id| {
            let ItemEnum::Impl(found) = &self.krate.index.get(id)?.inner else {
                return None;
            };
            let is_own = !found.is_negative && !found.is_synthetic && found.blanket_impl.is_none();
            is_own.then(|| self.implementation(found))
        });
        let denied = impls.iter().filter_map(|id| {
            let ItemEnum::Impl(found) = &self.krate.index.get(id)?.inner else {
                return None;
            };
            let of_trait = found.trait_.as_ref().filter(|_| found.is_negative)?;
            Some(last(&of_trait.path).to_owned())
        });
        let definition = Definition {
            generics: self.generics(generics),
            shape,
            implementations: implementations.collect(),
            denied: denied.collect(),
        };
        self.result.definitions.insert(path, definition);
    }

    /// The type `T` of an `impl .. for &T`.
    fn referent(&self, found: &doc::Impl) -> Option<String> {
        let doc::Type::BorrowedRef {
            is_mutable: false,
            type_,
            ..
        } = &found.for_
        else {
            return None;
        };
        match &**type_ {
            doc::Type::ResolvedPath(path) if found.blanket_impl.is_none() => self.path(path.id),
            _ => None,
        }
    }

    fn struct_shape(&self, item: &doc::Item, kind: &doc::StructKind) -> Shape {
        let is_open = !item.attrs.contains(&doc::Attribute::NonExhaustive);
        match kind {
            doc::StructKind::Unit => Shape::Unit,
            doc::StructKind::Plain {
                fields,
                has_stripped_fields: false,
            } if is_open => match self.fields(fields) {
                Some(fields) => Shape::Fields(fields),
                None => Shape::Opaque,
            },
            doc::StructKind::Tuple(fields) if is_open => {
                let ids: Option<Vec<_>> = fields.iter().copied().collect();
                match ids.and_then(|ids| self.fields(&ids)) {
                    Some(fields) => Shape::Tuple(fields.into_iter().map(|(_, one)| one).collect()),
                    None => Shape::Opaque,
                }
            }
            _ => Shape::Opaque,
        }
    }

    fn fields(&self, ids: &[doc::Id]) -> Option<Vec<(String, Type)>> {
        let one = |id: &doc::Id| {
            let item = self.krate.index.get(id)?;
            match (&item.name, &item.inner) {
                (Some(name), ItemEnum::StructField(found)) => {
                    Some((name.clone(), self.one_type(found)))
                }
                _ => None,
            }
        };
        ids.iter().map(one).collect()
    }

    fn variants(&self, ids: &[doc::Id]) -> Vec<Variant> {
        let one = |id: &doc::Id| {
            let item = self.krate.index.get(id)?;
            let (Some(name), ItemEnum::Variant(found)) = (&item.name, &item.inner) else {
                return None;
            };
            let (fields, has_names) = match &found.kind {
                doc::VariantKind::Plain => (Vec::new(), false),
                doc::VariantKind::Tuple(fields) => {
                    let ids: Option<Vec<_>> = fields.iter().copied().collect();
                    (self.fields(&ids?)?, false)
                }
                doc::VariantKind::Struct {
                    fields,
                    has_stripped_fields,
                } if !has_stripped_fields => (self.fields(fields)?, true),
                doc::VariantKind::Struct { .. } => return None,
            };
            Some(Variant {
                name: name.clone(),
                fields,
                has_names,
            })
        };
        ids.iter().filter_map(one).collect()
    }

    fn one_trait(&self, found: &doc::Trait) -> Trait {
        let implementors =
            found
                .implementations
                .iter()
                .filter_map(|id| match &self.krate.index.get(id)?.inner {
                    ItemEnum::Impl(found) if found.blanket_impl.is_none() => {
                        Some(self.one_type(&found.for_))
                    }
                    _ => None,
                });
        Trait {
            generics: self.generics(&found.generics),
            functions: self.functions_of(&found.items),
            implementors: implementors.collect(),
        }
    }

    fn functions_of(&self, ids: &[doc::Id]) -> Vec<Function> {
        let one = |id: &doc::Id| {
            let item = self.krate.index.get(id)?;
            match &item.inner {
                ItemEnum::Function(function) => Some(self.function(item, function)),
                _ => None,
            }
        };
        ids.iter().filter_map(one).collect()
    }

    fn implementation(&self, found: &doc::Impl) -> Implementation {
        let associated = found.items.iter().filter_map(|id| {
            let item = self.krate.index.get(id)?;
            match (&item.name, &item.inner) {
                (
                    Some(name),
                    ItemEnum::AssocType {
                        type_: Some(found), ..
                    },
                ) => Some((name.clone(), self.one_type(found))),
                _ => None,
            }
        });
        Implementation {
            generics: self.generics(&found.generics),
            subject: self.one_type(&found.for_),
            of_trait: found.trait_.as_ref().map(|path| self.bound(path, false)),
            functions: self.functions_of(&found.items),
            associated: associated.collect(),
            provided: found.provided_trait_methods.clone(),
        }
    }

    fn function(&self, item: &doc::Item, function: &doc::Function) -> Function {
        let is_hidden = item.attrs.iter().any(|attribute| {
            matches!(attribute, doc::Attribute::Other(text) if text.contains("doc(hidden)"))
        });
        let inputs = function.sig.inputs.iter();
        Function {
            name: item.name.clone().unwrap_or_default(),
            generics: self.generics(&function.generics),
            inputs: inputs
                .map(|(name, found)| (name.clone(), self.one_type(found)))
                .collect(),
            output: function
                .sig
                .output
                .as_ref()
                .map_or_else(Type::unit, |found| self.one_type(found)),
            is_unsafe: function.header.is_unsafe,
            is_async: function.header.is_async,
            is_public: !is_hidden
                && matches!(item.visibility, Visibility::Public | Visibility::Default),
            may_panic: item
                .docs
                .as_deref()
                .is_some_and(|text| text.to_lowercase().contains("panic")),
            hedge: item.docs.as_deref().and_then(hedge),
            counts_calls: item.docs.as_deref().is_some_and(counts_calls),
        }
    }

    fn generics(&self, generics: &doc::Generics) -> Generics {
        use doc::GenericParamDefKind as Kind;
        let parameters = generics.params.iter().filter_map(|parameter| {
            let name = parameter.name.clone();
            match &parameter.kind {
                Kind::Lifetime { .. } => None,
                Kind::Type {
                    bounds,
                    default,
                    is_synthetic,
                } => Some(Parameter {
                    name,
                    bounds: self.bounds(bounds),
                    default: default.as_ref().map(|found| self.one_type(found)),
                    is_const: false,
                    is_synthetic: *is_synthetic,
                }),
                Kind::Const { default, .. } => Some(Parameter {
                    name,
                    bounds: Vec::new(),
                    default: default.clone().map(Type::Const),
                    is_const: true,
                    is_synthetic: false,
                }),
            }
        });
        let predicates = generics
            .where_predicates
            .iter()
            .filter_map(|predicate| match predicate {
                doc::WherePredicate::BoundPredicate { type_, bounds, .. } => {
                    Some((self.one_type(type_), self.bounds(bounds)))
                }
                _ => None,
            });
        Generics {
            parameters: parameters.collect(),
            predicates: predicates.collect(),
            lifetimes: generics
                .params
                .iter()
                .filter(|parameter| matches!(parameter.kind, Kind::Lifetime { .. }))
                .count(),
        }
    }

    fn bounds(&self, bounds: &[doc::GenericBound]) -> Vec<Bound> {
        let one = |bound: &doc::GenericBound| match bound {
            doc::GenericBound::TraitBound {
                trait_, modifier, ..
            } => {
                let is_maybe = matches!(modifier, doc::TraitBoundModifier::Maybe);
                Some(self.bound(trait_, is_maybe))
            }
            _ => None,
        };
        bounds.iter().filter_map(one).collect()
    }

    fn bound(&self, path: &doc::Path, is_maybe: bool) -> Bound {
        let mut bound = Bound {
            path: self.path(path.id).unwrap_or_else(|| path.path.clone()),
            arguments: self.arguments(path.args.as_deref()),
            callable: None,
            bindings: Vec::new(),
            is_maybe,
        };
        match path.args.as_deref() {
            Some(doc::GenericArgs::Parenthesized { inputs, output }) => {
                let output = output.as_ref();
                let output = output.map_or_else(Type::unit, |found| self.one_type(found));
                let inputs = inputs.iter().map(|found| self.one_type(found)).collect();
                bound.callable = Some((inputs, Box::new(output)));
            }
            Some(doc::GenericArgs::AngleBracketed { constraints, .. }) => {
                let one = |constraint: &doc::AssocItemConstraint| match &constraint.binding {
                    doc::AssocItemConstraintKind::Equality(doc::Term::Type(found)) => {
                        Some((constraint.name.clone(), self.one_type(found)))
                    }
                    _ => None,
                };
                bound.bindings = constraints.iter().filter_map(one).collect();
            }
            _ => {}
        }
        bound
    }

    fn arguments(&self, arguments: Option<&doc::GenericArgs>) -> Vec<Type> {
        let Some(doc::GenericArgs::AngleBracketed { args, .. }) = arguments else {
            return Vec::new();
        };
        let one = |argument: &doc::GenericArg| match argument {
            doc::GenericArg::Type(found) => Some(self.one_type(found)),
            doc::GenericArg::Const(found) => Some(Type::Const(found.expr.clone())),
            _ => None,
        };
        args.iter().filter_map(one).collect()
    }

    fn one_type(&self, found: &doc::Type) -> Type {
        let boxed = |inner: &doc::Type| Box::new(self.one_type(inner));
        match found {
            doc::Type::ResolvedPath(path) => {
                let arguments = self.arguments(path.args.as_deref());
                Type::Path(
                    self.path(path.id).unwrap_or_else(|| path.path.clone()),
                    arguments,
                )
            }
            doc::Type::Generic(name) => Type::Parameter(name.clone()),
            doc::Type::Primitive(name) => Type::Primitive(name.clone()),
            doc::Type::Tuple(types) => {
                Type::Tuple(types.iter().map(|inner| self.one_type(inner)).collect())
            }
            doc::Type::Slice(inner) => Type::Slice(boxed(inner)),
            doc::Type::Array { type_, len } => Type::Array(boxed(type_), len.clone()),
            doc::Type::BorrowedRef {
                is_mutable, type_, ..
            } => Type::Reference {
                mutable: *is_mutable,
                target: boxed(type_),
            },
            doc::Type::ImplTrait(bounds) => Type::Impl(self.bounds(bounds)),
            doc::Type::DynTrait(found) => {
                let bounds = found.traits.iter();
                Type::Dyn(bounds.map(|one| self.bound(&one.trait_, false)).collect())
            }
            doc::Type::QualifiedPath {
                name, self_type, ..
            } => Type::Projection(boxed(self_type), name.clone()),
            doc::Type::FunctionPointer(_) => Type::FunctionPointer,
            doc::Type::RawPointer { .. } => Type::RawPointer,
            other => Type::Unknown(format!("{other:?}")),
        }
    }
}
