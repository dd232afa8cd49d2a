//! Walks one function and inserts hooks at its operations.

use std::rc::Rc;

use raddle_abi::hooks::{self, Hook};
use raddle_abi::site::{Operation, flags};

use super::escape::Escapes;
use super::frames::{Frame, Frames};
use super::hooks::Hooks;
use super::locks::{self, Role};
use super::phases::{self, Phase};
use super::sites::Sites;
use super::{atomics, calls, libc_calls};
use crate::llvm::{
    Attribute, Builder, Context, Instruction, Location, Module, Opcode, TypeKind, Value,
};
use crate::path::function_path;

/// What is shared by all functions of a module.
pub(super) struct Walker<'m, 'c> {
    pub(super) context: &'c Context,
    pub(super) module: &'m Module<'c>,
    pub(super) builder: Builder<'c>,
    pub(super) hooks: Hooks<'c>,
    pub(super) sites: Sites<'c>,
    /// Whether branches are announced.
    pub(super) branches: bool,
    frames: Frames<'c>,
    invariant_load: u32,
}

/// The function under way.
pub(super) struct Body<'c> {
    function: Value<'c>,
    frame: Rc<Frame>,
    /// For hooks at operations without a location: LLVM wants one for each inlined call.
    fallback: Option<Location<'c>>,
    pub(super) escapes: Escapes<'c>,
    /// Room for the variadic arguments of calls of libc's functions, and their number.
    pub(super) variadic: Option<Value<'c>>,
    phase: Option<Phase>,
    /// Events of a lock's slow path: at entry, on success, on failure.
    slow_lock: Option<(u32, u32, u32)>,
}

/// One operation of the function under way, at which hooks are inserted.
#[derive(Clone)]
pub(super) struct Point<'c> {
    /// The instruction before which hooks go.
    pub(super) instruction: Instruction<'c>,
    /// Its location.
    pub(super) location: Option<Location<'c>>,
    /// The function.
    frame: Rc<Frame>,
}

impl<'m, 'c> Walker<'m, 'c> {
    pub(super) fn new(context: &'c Context, module: &'m Module<'c>) -> Self {
        Self {
            context,
            module,
            builder: Builder::new(context),
            hooks: Hooks::new(),
            sites: Sites::new(),
            branches: false,
            frames: Frames::new(context),
            invariant_load: context.metadata_kind("invariant.load"),
        }
    }

    /// Inserts hooks into a function.
    pub(super) fn walk(&mut self, function: Value<'c>) {
        let symbol = function.name();
        let subprogram = function.subprogram();
        let frame = match subprogram {
            Some(subprogram) => self.frames.frame(subprogram),
            None => Rc::new(Frame {
                path: function_path(&symbol).unwrap_or_else(|| symbol.clone()),
                is_std: false,
                is_quiet: false,
                is_allocator: false,
            }),
        };
        self.sites.begin_function(&symbol);
        let context = self.context;
        let mut body = Body {
            function,
            phase: phases::phase_of(&frame.path),
            slow_lock: match locks::role(&frame.path) {
                Some(Role::SlowAcquire(mode)) => Some(locks::slow_events(mode)),
                _ => None,
            },
            fallback: subprogram
                .map(|subprogram| Location::artificial(context, subprogram, subprogram.line())),
            escapes: Escapes::default(),
            variadic: None,
            frame,
        };
        let instructions = function.instructions();
        let most = libc_calls::most_variadic(self.module, &instructions);
        if let (1.., Some(first)) = (most, instructions.first()) {
            self.builder.stand_before(*first, body.fallback);
            let room = self.context.constant(32, u64::from(most) + 1);
            body.variadic = Some(self.builder.array(self.context.int(64), room));
        }
        self.enter(&body, &instructions);
        for instruction in instructions {
            self.visit(&mut body, instruction);
        }
    }

    /// Inserts what belongs to the function's entry.
    fn enter(&mut self, body: &Body<'c>, instructions: &[Instruction<'c>]) {
        let first = instructions
            .iter()
            .find(|instruction| instruction.opcode() != Opcode::Alloca);
        let Some(first) = first else { return };
        let point = Point {
            instruction: *first,
            location: body.fallback,
            frame: Rc::clone(&body.frame),
        };
        if phases::is_panic_entry(&body.frame.path) {
            let site = self.site(&point, Operation::Panic);
            self.hook(&point, &hooks::PANIC, &[site]);
        }
        if let Some(phase) = body.phase {
            let nothing = self.context.constant(64, 0);
            self.phase(&point, phase.begin, nothing);
        }
        if let (Some((want, ..)), Some(lock)) = (body.slow_lock, body.function.parameters().first())
        {
            let event = self.context.constant(32, want.into());
            self.lock(&point, event, *lock, Operation::LockWant);
        }
    }

    fn visit(&mut self, body: &mut Body<'c>, instruction: Instruction<'c>) {
        let point = Point {
            instruction,
            location: instruction.location().or(body.fallback),
            frame: Rc::clone(&body.frame),
        };
        match instruction.opcode() {
            Opcode::Load | Opcode::Store if instruction.ordering() != 0 => {
                atomics::load_or_store(self, &point);
            }
            Opcode::Load => self.plain(body, &point, 0, instruction.value()),
            Opcode::Store => self.plain(body, &point, 1, instruction.operand(0)),
            Opcode::ReadModifyWrite => atomics::read_modify_write(self, &point),
            Opcode::CompareExchange => atomics::compare_exchange(self, &point),
            Opcode::Fence if !instruction.is_single_thread() => {
                let site = self.site(&point, Operation::Fence);
                let order = self.context.constant(32, instruction.ordering().into());
                self.hook(&point, &hooks::FENCE, &[order, site]);
            }
            Opcode::Call | Opcode::Invoke => self.call(body, &point),
            Opcode::Return => self.leave(body, point),
            Opcode::Branch | Opcode::Switch if self.branches => self.branch(&point),
            Opcode::Resume => {
                if let Some(event) = body.phase.and_then(|phase| phase.unwind) {
                    let nothing = self.context.constant(64, 0);
                    self.phase(&point, event, nothing);
                }
            }
            _ => {}
        }
    }

    /// A load or store that is not atomic; its address is operand `address`.
    fn plain(&mut self, body: &mut Body<'c>, point: &Point<'c>, address: u32, value: Value<'c>) {
        let instruction = point.instruction;
        let pointer = instruction.operand(address);
        let is_write = instruction.opcode() == Opcode::Store;
        if pointer.value_type().address_space() != 0
            || body.escapes.is_private(pointer)
            || instruction.has_metadata(self.invariant_load)
        {
            return;
        }
        let size = self.module.store_size(value.value_type());
        if size == 0 {
            return;
        }
        let len = self.context.constant(64, size);
        if instruction.is_volatile() {
            let operation = if is_write {
                Operation::VolatileWrite
            } else {
                Operation::VolatileRead
            };
            let site = self.site(point, operation);
            let write = self.context.constant(32, is_write.into());
            self.hook(point, &hooks::VOLATILE, &[pointer, len, write, site]);
        } else {
            self.access(point, pointer, len, is_write);
        }
    }

    fn access(&mut self, point: &Point<'c>, pointer: Value<'c>, len: Value<'c>, is_write: bool) {
        let (hook, operation) = if is_write {
            (&hooks::WRITE, Operation::Write)
        } else {
            (&hooks::READ, Operation::Read)
        };
        let site = self.site(point, operation);
        self.hook(point, hook, &[pointer, len, site]);
    }

    fn call(&mut self, body: &mut Body<'c>, point: &Point<'c>) {
        let call = point.instruction;
        if let Some((assembly, constraints)) = call.assembly() {
            // Empty assembly is `black_box`; std's own is `cpuid` and the like.
            let is_std = self.innermost(point).is_std;
            // A star marks an operand in memory, as of a hand-written atomic increment.
            let touches = constraints.contains("~{memory}") || constraints.contains('*');
            if !assembly.trim().is_empty() && touches && !is_std {
                let flags = match constraints.contains(['=', '+']) {
                    true => 0,
                    false => flags::TELLS_NOTHING,
                };
                let site = self.flagged_site(point, Operation::Asm, flags);
                self.hook(point, &hooks::ASM, &[site]);
            }
            return;
        }
        let Some(callee) = call.callee().filter(|callee| callee.is_function()) else {
            return;
        };
        let name = callee.name();
        if name == "llvm.x86.sse2.pause" {
            if !self.is_quiet(point) {
                let site = self.site(point, Operation::Yield);
                self.hook(point, &hooks::SPIN, &[site]);
            }
            // The hook pauses where nobody schedules; elsewhere a pause only costs time.
            // SAFETY: the walk does not come back to this instruction.
            unsafe { point.instruction.replace_with(None) };
        } else if calls::reads_cycles(&name) {
            self.cycles(point);
        } else if let Some(block) = calls::block_access(&name) {
            self.block(body, point, block);
        } else {
            // Its scheduling point would let others announce calls of theirs in between.
            if let Some(number) = libc_calls::function(self.module, call) {
                libc_calls::announce(self, body, point, number);
            }
            let Some(operation) = calls::announced(call, callee, &name) else {
                return;
            };
            let is_memory = matches!(operation, Operation::Alloc | Operation::Free);
            if is_memory && self.innermost(point).is_allocator {
                return;
            }
            let site = self.site(point, operation);
            self.hook(point, &hooks::AT, &[site]);
        }
    }

    /// A read of the processor's counter of cycles, alone or beside the number of the processor.
    fn cycles(&mut self, point: &Point<'c>) {
        let cycles = self.perform(point, &hooks::CYCLES, &[]);
        let result = point.instruction.value().value_type();
        let value = match result.kind() {
            TypeKind::Integer => cycles,
            _ => {
                let pair = self.builder.insert(result.poison(), cycles, 0);
                self.builder.insert(pair, self.context.constant(32, 0), 1)
            }
        };
        // SAFETY: the walk does not come back to this instruction.
        unsafe { point.instruction.replace_with(Some(value)) };
    }

    fn block(&mut self, body: &mut Body<'c>, point: &Point<'c>, block: calls::BlockAccess) {
        let call = point.instruction;
        if call.argument_count() <= block.len || call.operand(block.len).integer() == Some(0) {
            return;
        }
        let sides = block.reads.iter().map(|read| (*read, false));
        for (argument, is_write) in sides.chain(block.writes.iter().map(|write| (*write, true))) {
            let pointer = call.operand(argument);
            if pointer.value_type().address_space() != 0 || body.escapes.is_private(pointer) {
                continue;
            }
            self.access(point, pointer, call.operand(block.len), is_write);
        }
    }

    /// A branch with a condition, or a switch: the first operand decides.
    fn branch(&mut self, point: &Point<'c>) {
        if point.instruction.operand_count() < 2 || self.innermost(point).is_std {
            return;
        }
        let site = self.site(point, Operation::Branch);
        self.stand(point);
        let decides = point.instruction.operand(0);
        let way = self.builder.resize(decides, self.context.int(32));
        self.hook(point, &hooks::BRANCH, &[way, site]);
    }

    /// Inserts what belongs before a return.
    fn leave(&mut self, body: &Body<'c>, mut point: Point<'c>) {
        let result = (point.instruction.operand_count() == 1).then(|| point.instruction.operand(0));
        if let Some(call) = point
            .instruction
            .previous()
            .filter(|previous| previous.is_must_tail())
        {
            point.instruction = call;
        }
        if let Some(phase) = body.phase
            && let Some(event) = phase.end
        {
            self.stand(&point);
            let value = if phase.result {
                self.first_word(body.function, result)
            } else {
                None
            };
            let value = value.unwrap_or_else(|| self.context.constant(64, 0));
            self.phase(&point, event, value);
        }
        if let (Some((_, acquired, failed)), Some(lock)) =
            (body.slow_lock, body.function.parameters().first())
        {
            self.stand(&point);
            let flag = result.filter(|value| value.value_type() == self.context.int(1));
            let event = self.choose(flag, acquired, failed);
            self.lock(&point, event, *lock, Operation::LockAcquire);
        }
    }

    /// First eight bytes of what a function returns, in memory or in a register.
    fn first_word(&self, function: Value<'c>, result: Option<Value<'c>>) -> Option<Value<'c>> {
        let word = self.context.int(64);
        // Optimised code keeps no `sret` on local functions, but still says `writable`.
        let in_memory = [Attribute::STRUCT_RETURN, Attribute::WRITABLE]
            .iter()
            .any(|attribute| function.parameter_has_attribute(0, *attribute));
        if result.is_none() && in_memory {
            return Some(self.builder.load(word, *function.parameters().first()?));
        }
        let result = result?;
        match result.value_type().kind() {
            TypeKind::Pointer => Some(self.builder.pointer_to_int(result, word)),
            TypeKind::Integer if self.module.store_size(result.value_type()) <= 8 => {
                Some(self.builder.widen(result, word))
            }
            _ => None,
        }
    }

    /// `yes` if the flag is set or there is none, else `no`.
    pub(super) fn choose(&self, flag: Option<Value<'c>>, yes: u32, no: u32) -> Value<'c> {
        let yes = self.context.constant(32, yes.into());
        match flag {
            Some(flag) => self
                .builder
                .select(flag, yes, self.context.constant(32, no.into())),
            None => yes,
        }
    }

    fn phase(&mut self, point: &Point<'c>, event: u32, value: Value<'c>) {
        let operation = match event {
            hooks::phase::TEST_BEGIN => Operation::TestBegin,
            hooks::phase::TEST_END => Operation::TestEnd,
            hooks::phase::USER_END => Operation::Exit,
            _ => Operation::Start,
        };
        let site = self.site(point, operation);
        self.stand(point);
        let (kind, frame_address) = self
            .module
            .intrinsic("llvm.frameaddress", &[self.context.pointer()]);
        let frame = self
            .builder
            .call(kind, frame_address, &[self.context.constant(32, 0)]);
        let event = self.context.constant(32, event.into());
        self.hook(point, &hooks::PHASE, &[event, value, frame, site]);
    }

    /// Announces a lock event.
    pub(super) fn lock(
        &mut self,
        point: &Point<'c>,
        event: Value<'c>,
        lock: Value<'c>,
        operation: Operation,
    ) {
        let site = self.site(point, operation);
        self.hook(point, &hooks::LOCK, &[event, lock, site]);
    }

    /// What the function that directly performs an atomic operation does to a lock; the
    /// wrappers in `core` do not count.
    pub(super) fn lock_role(&mut self, point: &Point<'c>) -> Option<Role> {
        let chain = point
            .location
            .map(|location| self.frames.chain(location))
            .unwrap_or_default();
        let is_wrapper = |frame: &Rc<Frame>| {
            frame.path.starts_with("core::") || frame.path.starts_with("<core::")
        };
        let direct = chain
            .iter()
            .find(|frame| !is_wrapper(frame))
            .unwrap_or(&point.frame);
        locks::role(&direct.path)
    }

    /// Whether an operation at a point is no scheduling point.
    pub(super) fn is_quiet(&mut self, point: &Point<'c>) -> bool {
        point.frame.is_quiet
            || point.location.is_some_and(|location| {
                let chain = self.frames.chain(location);
                chain.iter().any(|frame| frame.is_quiet)
            })
    }

    fn innermost(&mut self, point: &Point<'c>) -> Rc<Frame> {
        point
            .location
            .and_then(|location| self.frames.frame_at(location))
            .unwrap_or_else(|| Rc::clone(&point.frame))
    }

    /// The site record of an operation at a point.
    pub(super) fn site(&mut self, point: &Point<'c>, operation: Operation) -> Value<'c> {
        self.flagged_site(point, operation, 0)
    }

    /// The same, with flags of its own.
    fn flagged_site(&mut self, point: &Point<'c>, operation: Operation, flags: u16) -> Value<'c> {
        self.sites.site(
            self.context,
            self.module,
            &mut self.frames,
            &point.frame,
            point.location,
            (operation, flags),
        )
    }

    /// Lets the builder stand at a point.
    pub(super) fn stand(&self, point: &Point<'c>) {
        self.builder.stand_before(point.instruction, point.location);
    }

    /// A pointer or an integer as a word.
    pub(super) fn word(&self, value: Value<'c>) -> Option<Value<'c>> {
        let word = self.context.int(64);
        let kind = value.value_type();
        match kind.kind() {
            TypeKind::Pointer if kind.address_space() == 0 => {
                Some(self.builder.pointer_to_int(value, word))
            }
            TypeKind::Integer => Some(self.builder.extend(value, word)),
            _ => None,
        }
    }

    /// Inserts a call to a hook at a point.
    pub(super) fn hook(&mut self, point: &Point<'c>, hook: &Hook, arguments: &[Value<'c>]) {
        self.stand(point);
        self.hooks
            .call(self.context, self.module, &self.builder, hook, arguments);
    }

    /// Inserts a call to a hook that performs an operation, with arguments of the types that the
    /// hook has.
    pub(super) fn perform(
        &mut self,
        point: &Point<'c>,
        hook: &Hook,
        arguments: &[Value<'c>],
    ) -> Value<'c> {
        self.stand(point);
        self.hooks
            .call(self.context, self.module, &self.builder, hook, arguments)
            .expect("arguments of the hook's types")
    }
}
