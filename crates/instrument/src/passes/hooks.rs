//! Declares the hooks in a module, and joins in their bodies.

use std::collections::HashMap;

use raddle_abi::hooks::{ALL, Hook, Type as HookType};

use crate::llvm::{Attribute, Builder, Context, Error, Linkage, Module, Type, TypeKind, Value};

/// The hooks that a module uses.
pub(super) struct Hooks<'c> {
    declared: HashMap<&'static str, (Type<'c>, Value<'c>)>,
    /// How many calls to hooks were inserted.
    pub(super) calls: u64,
}

impl<'c> Hooks<'c> {
    pub(super) fn new() -> Self {
        Self {
            declared: HashMap::new(),
            calls: 0,
        }
    }

    /// Inserts a call to a hook where the builder stands. `None`, and no call, if the program
    /// passes something in the place of an argument that cannot be one.
    ///
    /// What a function of the program is known to do is known by its name: another version of it
    /// may pass a number where a pointer is expected, or the other way round.
    pub(super) fn call(
        &mut self,
        context: &'c Context,
        module: &Module<'c>,
        builder: &Builder<'c>,
        hook: &Hook,
        arguments: &[Value<'c>],
    ) -> Option<Value<'c>> {
        let arguments = hook
            .parameters
            .iter()
            .zip(arguments)
            .map(|(parameter, value)| fit(context, builder, lower(context, *parameter), *value))
            .collect::<Option<Vec<_>>>()?;
        let (kind, function) = *self.declared.entry(hook.symbol).or_insert_with(|| {
            let kind = hook_type(context, hook);
            let function = module.declare(hook.symbol, kind);
            function.add_attribute(context, Attribute::NO_UNWIND);
            (kind, function)
        });
        self.calls += 1;
        Some(builder.call(kind, function, &arguments))
    }
}

/// A value as an argument of this type, if it can be one.
fn fit<'c>(
    context: &'c Context,
    builder: &Builder<'c>,
    wanted: Type<'c>,
    value: Value<'c>,
) -> Option<Value<'c>> {
    let given = value.value_type();
    if given == wanted {
        return Some(value);
    }
    match (wanted.kind(), given.kind()) {
        (TypeKind::Integer, TypeKind::Integer) => Some(builder.resize(value, wanted)),
        (TypeKind::Integer, TypeKind::Pointer) => Some(builder.pointer_to_int(value, wanted)),
        (TypeKind::Pointer, TypeKind::Integer) => {
            let address = builder.resize(value, context.int(64));
            Some(builder.int_to_pointer(address, wanted))
        }
        // A structure, or a pointer into another address space, which tells no address.
        _ => None,
    }
}

fn lower(context: &Context, kind: HookType) -> Type<'_> {
    match kind {
        HookType::Pointer => context.pointer(),
        HookType::I8 => context.int(8),
        HookType::I16 => context.int(16),
        HookType::I32 => context.int(32),
        HookType::I64 => context.int(64),
        HookType::Void => context.void(),
    }
}

fn hook_type<'c>(context: &'c Context, hook: &Hook) -> Type<'c> {
    let parameters: Vec<_> = hook
        .parameters
        .iter()
        .map(|parameter| lower(context, *parameter))
        .collect();
    context.function(lower(context, hook.result), &parameters)
}

/// Joins the hooks' bodies into a module, as local functions that are always inlined.
pub(super) fn link_bodies<'c>(
    context: &'c Context,
    module: &Module<'c>,
    bitcode: &[u8],
) -> Result<(), Error> {
    module.link(Module::parse(context, bitcode, "the hooks")?)?;
    for hook in ALL {
        let Some(function) = module.function(hook.symbol) else {
            continue;
        };
        if function.is_declaration() {
            let message = format!("the hooks have no body for {}", hook.symbol);
            return Err(Error::Failed {
                action: "link hooks",
                message,
            });
        }
        function.set_linkage(Linkage::Internal);
        function.remove_attribute(Attribute::NO_INLINE);
        function.add_attribute(context, Attribute::ALWAYS_INLINE);
    }
    for function in module.functions() {
        if function.name().starts_with("__raddle_slow_") {
            function.add_attribute(context, Attribute::COLD);
            function.add_attribute(context, Attribute::NO_UNWIND);
        }
    }
    Ok(())
}
