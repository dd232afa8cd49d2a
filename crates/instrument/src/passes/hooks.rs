//! Declares the hooks in a module, and joins in their bodies.

use std::collections::HashMap;

use raddle_abi::hooks::{ALL, Hook, Type as HookType};

use crate::llvm::{Attribute, Builder, Context, Error, Linkage, Module, Type, Value};

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

    /// Inserts a call to a hook where the builder stands.
    pub(super) fn call(
        &mut self,
        context: &'c Context,
        module: &Module<'c>,
        builder: &Builder<'c>,
        hook: &Hook,
        arguments: &[Value<'c>],
    ) -> Value<'c> {
        let (kind, function) = *self.declared.entry(hook.symbol).or_insert_with(|| {
            let kind = hook_type(context, hook);
            let function = module.declare(hook.symbol, kind);
            function.add_attribute(context, Attribute::NO_UNWIND);
            (kind, function)
        });
        self.calls += 1;
        builder.call(kind, function, arguments)
    }
}

fn hook_type<'c>(context: &'c Context, hook: &Hook) -> Type<'c> {
    let lower = |kind: HookType| match kind {
        HookType::Pointer => context.pointer(),
        HookType::I8 => context.int(8),
        HookType::I16 => context.int(16),
        HookType::I32 => context.int(32),
        HookType::I64 => context.int(64),
        HookType::Void => context.void(),
    };
    let parameters: Vec<_> = hook.parameters.iter().copied().map(lower).collect();
    context.function(lower(hook.result), &parameters)
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
