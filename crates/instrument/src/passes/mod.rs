//! What is done to one module: clean, insert hooks, join in their bodies, optimise, emit.
//!
//! Optimising before the hooks are in would merge and hoist the very accesses that race, so
//! crates arrive unoptimised and are optimised last. The prebuilt standard library arrives
//! optimised; there, accesses may already have been hoisted or merged.

mod assembly;
mod atomics;
mod calls;
mod channels;
mod escape;
mod frames;
mod functions;
mod hooks;
mod instances;
mod libc_calls;
mod locks;
mod phases;
mod program_map;
mod sites;
mod types;
mod walker;

use std::path::Path;

pub use self::assembly::Assembly;
use crate::llvm::{Attribute, Context, Error, Linkage, Machine, Module, Value};
use crate::path::function_path;
use crate::refusals;

/// Identifies these passes' sources: it is part of the cache's key.
pub const FINGERPRINT: &str = env!("RADDLE_PASSES");

/// Removes what a compiler front end leaves behind, and inlines small functions, without
/// moving or merging accesses to shared memory. What turns out to be local needs no hook.
const CLEAN: &str =
    "always-inline,function(sroa,simplifycfg),cgscc(inline,function(sroa,simplifycfg)),globaldce";
/// Removes locals that [`CLEAN`] had to leave in memory for the hooks of function entries.
const CLEAN_AGAIN: &str = "function(sroa,simplifycfg)";
/// Gives the way from a call that may unwind to where it returns a block of its own.
const OWN_EDGES: &str = "function(break-crit-edges)";
/// After the hooks, for crates that arrive unoptimised.
const OPTIMIZE_CRATE: &str = "always-inline,globaldce,default<O1>";
/// After the hooks, for what arrives optimised.
const OPTIMIZE_PREBUILT: &str = "always-inline,globaldce,function(instsimplify,simplifycfg)";

/// Where a module comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// A crate that was compiled for this build, unoptimised.
    Crate,
    /// The prebuilt standard library, optimised.
    Prebuilt,
    /// A C or C++ source, unoptimised.
    C,
}

/// What is wanted beyond what every build has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Options {
    /// Announce which way branches go. That costs time even where nobody records it.
    pub branches: bool,
    /// Inline as much before the hooks go in as an optimising compiler would. What is local then
    /// needs no hooks.
    pub optimized: bool,
}

impl Options {
    /// As the tool tells them to the wrappers.
    pub fn from_variables() -> Self {
        Self {
            branches: std::env::var_os(raddle_abi::env::BRANCHES).is_some(),
            optimized: std::env::var_os(raddle_abi::env::OPTIMIZED).is_some(),
        }
    }

    /// How large a function may be that is inlined before the operations' hooks go in, in LLVM's
    /// units; its own limit at `-O2` is the larger one.
    const fn threshold(self) -> u64 {
        match self.optimized {
            true => 225,
            false => 60,
        }
    }
}

/// An instrumented module.
pub struct Instrumented {
    /// The object file.
    pub object: Vec<u8>,
    /// Calls to hooks that were inserted.
    pub hooks: u64,
    /// Site records that were written.
    pub sites: u64,
    /// The module's part of the program map, as JSON.
    pub map: Vec<u8>,
    /// Assembly in it that has no hooks.
    pub assembly: Option<Assembly>,
}

/// Instruments a module. With `dump`, its IR is written there before and after.
pub fn instrument(
    bitcode: &[u8],
    name: &str,
    origin: Origin,
    options: Options,
    hook_bodies: &[u8],
    dump: Option<&Path>,
) -> Result<Instrumented, Error> {
    let context = Context::new();
    let module = Module::parse(&context, bitcode, name)?;
    let machine = Machine::new(&module)?;
    let assembly = assembly::look(&module.assembly());
    let map = program_map::collect(&context, &module, origin);
    let mut counts = (0, 0);
    if origin != Origin::Prebuilt {
        mark_inlining(&context, &module, options);
        counts = functions::insert(&context, &module, origin, options);
        clean(&context, &module, &machine)?;
    }
    dump_to(&module, dump, name, "before")?;
    if libc_calls::needs_own_edges(&module) {
        machine.run(&module, OWN_EDGES)?;
    }
    let (hooks, sites) = insert_hooks(&context, &module, origin, options);
    hooks::link_bodies(&context, &module, hook_bodies)?;
    prepare_functions(&context, &module);
    machine.run(
        &module,
        match origin {
            Origin::Crate | Origin::C => OPTIMIZE_CRATE,
            Origin::Prebuilt => OPTIMIZE_PREBUILT,
        },
    )?;
    place_globals(&module);
    if origin == Origin::C {
        program_map::embed(&module, &map);
    }
    module.verify()?;
    dump_to(&module, dump, name, "after")?;
    let object = machine.emit(&module)?;
    context.check("compile the module")?;
    Ok(Instrumented {
        object,
        hooks: hooks + counts.0,
        sites: sites + counts.1,
        map,
        assembly,
    })
}

/// Runs [`CLEAN`]. In `a() && global`, simplifycfg would read the global whatever `a` returns,
/// as that does no harm: but the read would then race where the program's does not.
fn clean<'c>(context: &'c Context, module: &Module<'c>, machine: &Machine) -> Result<(), Error> {
    let defined = || {
        module
            .functions()
            .into_iter()
            .filter(|function| !function.is_declaration())
    };
    for function in defined() {
        function.add_attribute(context, Attribute::SANITIZE_THREAD);
    }
    machine.run(module, CLEAN)?;
    if functions::forget_private(context, module) {
        machine.run(module, CLEAN_AGAIN)?;
    }
    // The hooks' bodies could not be inlined into functions that differ in this.
    for function in defined() {
        function.remove_attribute(Attribute::SANITIZE_THREAD);
    }
    Ok(())
}

/// Turns a module into an object without hooks, which says so itself: no linker tells us what it
/// puts into a program of C.
pub fn compile(bitcode: &[u8], name: &str) -> Result<Vec<u8>, Error> {
    let context = Context::new();
    let module = Module::parse(&context, bitcode, name)?;
    module.append_assembly(&refusals::note(name));
    let machine = Machine::new(&module)?;
    prepare_functions(&context, &module);
    place_globals(&module);
    let object = machine.emit(&module)?;
    context.check("compile the module")?;
    Ok(object)
}

fn insert_hooks<'c>(
    context: &'c Context,
    module: &Module<'c>,
    origin: Origin,
    options: Options,
) -> (u64, u64) {
    let mut walker = walker::Walker::new(context, module);
    walker.branches = options.branches && origin != Origin::Prebuilt;
    for function in module.functions() {
        if is_instrumented(function) && !(origin == Origin::Prebuilt && is_symbolizer(function)) {
            walker.walk(function);
        }
    }
    (walker.hooks.calls, walker.sites.count)
}

/// Whether a function of std serves only to print backtraces. That is a quarter of std; it
/// runs under std's backtrace lock, shares no memory with anything else, and would make
/// every panic slow.
fn is_symbolizer(function: Value<'_>) -> bool {
    const CRATES: &[&str] = &[
        "std::backtrace_rs::",
        "gimli::",
        "addr2line::",
        "miniz_oxide::",
        "object::",
        "rustc_demangle::",
    ];
    function_path(&function.name()).is_some_and(|path| {
        let path = path.trim_start_matches(['<', '&']);
        CRATES.iter().any(|name| path.starts_with(name))
    })
}

fn is_instrumented(function: Value<'_>) -> bool {
    !function.is_declaration()
        && !function.has_linkage(Linkage::AvailableExternally)
        && !function.has_attribute(Attribute::NAKED)
}

/// Says what is inlined before the hooks go in: the wrappers of std around atomics and
/// locks, and whatever is small. An operation's site then says which code performs it, not only which
/// wrapper. Functions that passes recognise by name stay functions, and so does what catches unwinding:
/// whatever was unwound there is known by its frame to be over.
fn mark_inlining<'c>(context: &'c Context, module: &Module<'c>, options: Options) {
    /// Instructions, unoptimised, of the largest wrapper of std around an operation.
    const WRAPPER: usize = 150;
    /// How the symbols begin of the functions in which `catch_unwind` catches.
    const CATCHING: &str = "__rust_try";
    for function in module.functions() {
        if !is_instrumented(function) {
            continue;
        }
        set_threshold(context, function, options, 0);
        if function.name().starts_with(CATCHING) {
            function.add_attribute(context, Attribute::NO_INLINE);
        }
        let Some(path) = function_path(&function.name()) else {
            continue;
        };
        let is_fixed = function.has_attribute(Attribute::NO_INLINE)
            || function.has_attribute(Attribute::OPTIMIZE_NONE)
            || function.has_attribute(Attribute::ALWAYS_INLINE);
        if is_fixed {
            continue;
        }
        let is_wrapper = ["std::sync::", "alloc::sync::"]
            .iter()
            .any(|module| path.trim_start_matches('<').starts_with(module))
            && function.instructions().len() < WRAPPER;
        if is_wrapper || path.starts_with("core::sync::atomic::") {
            function.add_attribute(context, Attribute::ALWAYS_INLINE);
        } else if phases::phase_of(&path).is_some()
            || matches!(locks::role(&path), Some(locks::Role::SlowAcquire(_)))
        {
            function.add_attribute(context, Attribute::NO_INLINE);
        }
    }
}

/// Says how large a function may be that is inlined before the operations' hooks go in, not
/// counting so many hooks that it has already.
fn set_threshold<'c>(context: &'c Context, function: Value<'c>, options: Options, hooks: u64) {
    /// What LLVM takes a call with a few arguments for.
    const CALL: u64 = 50;
    let threshold = (options.threshold() + CALL * hooks).to_string();
    function.add_text_attribute(context, "function-inline-threshold", &threshold);
}

/// Gives every function frame pointers, so that stacks can be walked, and a section of its
/// own, so that the linker drops what nobody calls.
fn prepare_functions<'c>(context: &'c Context, module: &Module<'c>) {
    for function in module.functions() {
        if function.is_declaration() || function.has_attribute(Attribute::NAKED) {
            continue;
        }
        // Stacks are walked by frame pointers, and show every caller.
        function.add_text_attribute(context, "frame-pointer", "all");
        function.add_text_attribute(context, "disable-tail-calls", "true");
        if !function.has_section() {
            function.set_section(&format!(".text.{}", function.name()));
        }
    }
}

/// Gives each global that refers to others a section of its own: one shared section of
/// vtables would keep every function alive.
fn place_globals(module: &Module<'_>) {
    for global in module.globals() {
        if global.is_declaration() || global.has_section() || global.is_thread_local() {
            continue;
        }
        if global.initializer().is_some_and(Value::holds_addresses) {
            let prefix = if global.is_constant_global() {
                ".data.rel.ro"
            } else {
                ".data"
            };
            global.set_section(&format!("{prefix}.{}", global.name()));
        }
    }
}

fn dump_to(
    module: &Module<'_>,
    directory: Option<&Path>,
    name: &str,
    when: &str,
) -> Result<(), Error> {
    let Some(directory) = directory else {
        return Ok(());
    };
    let file: String = name
        .chars()
        .map(|character| {
            if character.is_alphanumeric() || "-_.".contains(character) {
                character
            } else {
                '_'
            }
        })
        .collect();
    let start = file.len().saturating_sub(120);
    module.dump(&directory.join(format!("{}.{when}.ll", &file[start..])))
}

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod types_tests;
