//! Announces that functions are entered and left, and what their pointer parameters point to.
//!
//! This happens before anything is inlined, so that a function that is going to be inlined has
//! its entry and exit too. Which functions: those outside of the standard library that stand
//! in an implementation of a type or trait, or get a pointer to a structure, and the bodies of
//! async functions and blocks. Free functions without such a pointer tell nothing about any
//! instance; closures belong to what calls them; compiler shims and drop glue are std's. In C, which
//! has nothing but free functions, all of them are announced: they work on what is global in their file.
//!
//! Limit: where a parameter of several registers cannot be told from its debug type (a small
//! enum or C structure by value), the parameters behind it are not announced.

use raddle_abi::hooks::{self, PARAMETERS, leave};
use raddle_abi::site::{Operation, flags};

use super::escape::Escapes;
use super::frames::{Frames, is_system_file};
use super::hooks::Hooks;
use super::sites::{Sites, Typed};
use super::types::Types;
use super::{Options, Origin, channels, instances, is_instrumented};
use crate::llvm::{
    Attribute, Builder, Context, Instruction, Location, Metadata, Module, Opcode, TypeKind, Value,
};

/// What a register that a parameter arrives in holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Register<'c> {
    /// A pointer to this, if it is known.
    Pointer(Option<Metadata<'c>>),
    /// Something else.
    Number,
    /// A pointer or something else.
    Any,
}

/// A pointer parameter and what it points to.
struct Parameter<'c> {
    /// Position in the source, from 0.
    position: usize,
    value: Value<'c>,
    pointee: Metadata<'c>,
}

/// Inserts hooks at entries and exits. Returns how many hooks and sites there are now.
pub(super) fn insert<'c>(
    context: &'c Context,
    module: &Module<'c>,
    origin: Origin,
    options: Options,
) -> (u64, u64) {
    let mut functions = Functions {
        context,
        module,
        builder: Builder::new(context),
        hooks: Hooks::new(),
        sites: Sites::new(),
        frames: Frames::new(context),
        types: Types::new(context),
        origin,
        options,
    };
    for function in module.functions() {
        if is_instrumented(function)
            && let Some(subprogram) = function.subprogram()
        {
            functions.visit(function, subprogram);
        }
    }
    (functions.hooks.calls, functions.sites.count)
}

pub(super) struct Functions<'m, 'c> {
    context: &'c Context,
    module: &'m Module<'c>,
    builder: Builder<'c>,
    hooks: Hooks<'c>,
    sites: Sites<'c>,
    frames: Frames<'c>,
    pub(super) types: Types<'c>,
    origin: Origin,
    options: Options,
}

impl<'c> Functions<'_, 'c> {
    fn visit(&mut self, function: Value<'c>, subprogram: Metadata<'c>) {
        let frame = self.frames.frame(subprogram);
        for role in channels::roles(&frame.path) {
            channels::insert(self, function, subprogram, role);
        }
        instances::insert(self, function, subprogram, &frame.path);
        if frame.is_std || is_system_file(&self.frames.file(subprogram)) {
            return;
        }
        let name = subprogram.strings(self.context).into_iter().next();
        let name = name.unwrap_or_default();
        if name.starts_with("{closure") {
            return;
        }
        let parameters = self.parameters(function, subprogram);
        let is_coroutine = name.starts_with("{async") || name.starts_with("{gen");
        let is_of_type = is_coroutine || self.types.is_associated(subprogram);
        if parameters.is_empty() && !is_of_type && self.origin != Origin::C {
            return;
        }
        let is_method = self.types.has_self(subprogram)
            && parameters
                .first()
                .is_some_and(|parameter| parameter.position == 0);
        self.announce(function, subprogram, &parameters, is_method);
    }

    /// Inserts the hooks of one function.
    fn announce(
        &mut self,
        function: Value<'c>,
        subprogram: Metadata<'c>,
        parameters: &[Parameter<'c>],
        is_method: bool,
    ) {
        let before = self.hooks.calls;
        let instructions = function.instructions();
        let Some(first) = instructions
            .iter()
            .find(|instruction| instruction.opcode() != Opcode::Alloca)
        else {
            return;
        };
        let location = Location::artificial(self.context, subprogram, subprogram.line());
        let names: Vec<_> = parameters
            .iter()
            .map(|parameter| self.types.name(parameter.pointee))
            .collect();
        let site = self.typed_site(
            function,
            location,
            Typed {
                operation: Operation::Enter,
                types: &names.join("\n"),
                flags: if is_method { flags::METHOD } else { 0 },
            },
        );
        let mut arguments: Vec<_> = parameters.iter().map(|parameter| parameter.value).collect();
        arguments.resize(PARAMETERS, self.context.pointer().zero());
        arguments.push(site);
        self.stand(*first, location);
        self.hook(&hooks::ENTER, &arguments);
        for instruction in instructions {
            let how = match instruction.opcode() {
                Opcode::Return => leave::RETURN,
                Opcode::Resume => leave::UNWIND,
                Opcode::LandingPad => leave::LANDING,
                _ => continue,
            };
            let place = match instruction.opcode() {
                Opcode::LandingPad => instruction.next(),
                _ => instruction
                    .previous()
                    .filter(|previous| previous.is_must_tail())
                    .or(Some(instruction)),
            };
            let Some(place) = place else { continue };
            self.stand(place, instruction.location().unwrap_or(location));
            let how = self.context.constant(32, how.into());
            self.hook(&hooks::LEAVE, &[how, site]);
        }
        // The hooks must not keep small functions from being inlined.
        super::set_threshold(
            self.context,
            function,
            self.options,
            self.hooks.calls - before,
        );
    }

    /// The record of the only thing in a function whose types are known.
    pub(super) fn typed_site(
        &mut self,
        function: Value<'c>,
        location: Location<'c>,
        typed: Typed<'_>,
    ) -> Value<'c> {
        self.sites.begin_function(&function.name());
        let (context, module) = (self.context, self.module);
        self.sites
            .typed_site(context, module, &mut self.frames, location, typed)
    }

    /// The site record of an operation at the beginning of a function.
    pub(super) fn site(
        &mut self,
        function: Value<'c>,
        location: Location<'c>,
        operation: Operation,
    ) -> Option<Value<'c>> {
        self.sites.begin_function(&function.name());
        let frame = self.frames.frame_at(location)?;
        let (context, module) = (self.context, self.module);
        let (sites, frames) = (&mut self.sites, &mut self.frames);
        Some(sites.site(
            context,
            module,
            frames,
            &frame,
            Some(location),
            (operation, 0),
        ))
    }

    /// The context of everything.
    pub(super) const fn context(&self) -> &'c Context {
        self.context
    }

    /// Where instructions are inserted.
    pub(super) const fn builder(&self) -> &Builder<'c> {
        &self.builder
    }

    /// Lets the builder stand before an instruction.
    pub(super) fn stand(&self, instruction: Instruction<'c>, location: Location<'c>) {
        self.builder.stand_before(instruction, Some(location));
    }

    /// Inserts a call to a hook where the builder stands.
    pub(super) fn hook(&mut self, hook: &hooks::Hook, arguments: &[Value<'c>]) {
        let (context, module) = (self.context, self.module);
        self.hooks
            .call(context, module, &self.builder, hook, arguments);
    }

    /// The first pointer parameters of a function that point to structures.
    fn parameters(&self, function: Value<'c>, subprogram: Metadata<'c>) -> Vec<Parameter<'c>> {
        let mut parameters = Vec::new();
        let mut values = function.parameters().into_iter();
        if function.parameter_has_attribute(0, Attribute::STRUCT_RETURN) {
            values.next();
        }
        let signature = self.types.signature(subprogram);
        for (position, kind) in signature.into_iter().skip(1).enumerate() {
            let Some(registers) = kind.and_then(|kind| self.registers(kind)) else {
                break;
            };
            for register in registers {
                let Some(value) = values.next() else {
                    return Vec::new();
                };
                let is_pointer = value.value_type().kind() == TypeKind::Pointer;
                match register {
                    Register::Pointer(pointee) if is_pointer => {
                        let pointee = pointee.filter(|pointee| self.is_instance(*pointee));
                        parameters.extend(pointee.map(|pointee| Parameter {
                            position,
                            value,
                            pointee,
                        }));
                    }
                    Register::Number if !is_pointer => {}
                    Register::Any => {}
                    // The function is called in another way than its types say.
                    _ => {
                        parameters.retain(|parameter| parameter.position == 0 && position != 0);
                        return parameters;
                    }
                }
            }
        }
        parameters.truncate(PARAMETERS);
        parameters
    }

    /// What the pointer points to that a function returns in a register, if that is an instance.
    pub(super) fn returned(&self, subprogram: Metadata<'c>) -> Option<Metadata<'c>> {
        let result = self
            .types
            .signature(subprogram)
            .first()
            .copied()
            .flatten()?;
        match self.registers(result)?.as_slice() {
            [Register::Pointer(pointee)] => pointee.filter(|pointee| self.is_instance(*pointee)),
            _ => None,
        }
    }

    /// Whether a pointer to this type points to an instance worth naming.
    fn is_instance(&self, pointee: Metadata<'c>) -> bool {
        let is_structure = self
            .types
            .plain(pointee)
            .is_some_and(|plain| self.types.is_structure(plain) && plain.size() > 0);
        is_structure && !self.types.name(pointee).starts_with("dyn ")
    }

    /// The registers in which a parameter of this type arrives; `None` if that is not known.
    fn registers(&self, kind: Metadata<'c>) -> Option<Vec<Register<'c>>> {
        /// What is larger arrives in memory.
        const LARGEST: u64 = 16;
        let plain = self.types.plain(kind)?;
        if self.types.is_pointer(plain) {
            return Some(vec![Register::Pointer(self.types.pointee(plain))]);
        }
        let size = plain.size();
        let is_scalar = !self.types.is_structure(plain) && !self.types.is_array(plain);
        if size == 0 {
            Some(Vec::new())
        } else if is_scalar || self.types.is_enumeration(plain) {
            Some(vec![Register::Number])
        } else if size > LARGEST {
            Some(vec![Register::Pointer(Some(plain))])
        } else if self.types.is_array(plain) {
            None
        } else if !self.types.variants(plain).is_empty() {
            (size == 8).then(|| vec![Register::Any])
        } else {
            let mut fields = self.types.fields(plain);
            fields.sort_by_key(|field| field.offset);
            let mut registers = Vec::new();
            for field in fields {
                registers.extend(self.registers(field.kind)?);
            }
            // One or two scalars are passed as such; more are packed.
            (registers.len() <= 2 && is_rust(plain)).then_some(registers)
        }
    }
}

/// Whether a structure is one of Rust's, whose compiler gives types no file.
fn is_rust(kind: Metadata<'_>) -> bool {
    let file = kind.file();
    file.is_empty() || file.ends_with("<unknown>") || file.ends_with(".rs")
}

/// Takes pointers to what no other thread can see out of the entries' hooks: they tell nothing,
/// and would keep locals in memory. True if there were any.
pub(super) fn forget_private<'c>(context: &'c Context, module: &Module<'c>) -> bool {
    let Some(hook) = module.function(hooks::ENTER.symbol) else {
        return false;
    };
    let mut escapes = Escapes::default();
    let mut any = false;
    for call in hook
        .users()
        .filter_map(Value::instruction)
        .collect::<Vec<_>>()
    {
        for index in 0..PARAMETERS as u32 {
            if escapes.is_private(call.operand(index)) {
                call.set_operand(index, context.pointer().zero());
                any = true;
            }
        }
    }
    any
}
