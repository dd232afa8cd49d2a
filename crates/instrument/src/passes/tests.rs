//! Compiles small sources with the rustc in use and looks at the hooks in their IR.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use raddle_trace::program_map::ProgramMap;

use super::{Options, Origin, clean, functions, insert_hooks, instrument, mark_inlining};
use crate::llvm::{Context, Machine, Module};

fn rustc(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("rustc")
        .args(arguments)
        .output()
        .expect("rustc runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

pub(crate) fn load_llvm() {
    static LOADED: OnceLock<()> = OnceLock::new();
    LOADED.get_or_init(|| {
        let sysroot = String::from_utf8(rustc(&["--print", "sysroot"])).expect("a path");
        let library = crate::locate_llvm(sysroot.trim().as_ref()).expect("libLLVM");
        crate::llvm::load(&library).expect("a usable libLLVM");
    });
}

pub(crate) fn compile(source: &str, name: &str, flags: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file: PathBuf = directory.path().join("case.rs");
    let output = directory.path().join("case.bc");
    std::fs::write(&file, source).expect("a written file");
    let (file, output) = (file.to_string_lossy(), output.to_string_lossy());
    let mut arguments = vec![
        "--edition=2024",
        "--crate-type=lib",
        "--emit=llvm-bc",
        "-Cpanic=unwind",
        "--crate-name",
    ];
    arguments.extend([
        name,
        "-Cdebuginfo=2",
        "-Ccodegen-units=1",
        &file,
        "-o",
        &output,
    ]);
    arguments.extend(flags);
    rustc(&arguments);
    std::fs::read(&*output).expect("bitcode")
}

fn compile_crate(source: &str) -> Vec<u8> {
    compile(
        source,
        "case",
        &["-Copt-level=1", "-Cno-prepopulate-passes"],
    )
}

pub(super) fn hook_bodies() -> &'static [u8] {
    static BODIES: OnceLock<Vec<u8>> = OnceLock::new();
    BODIES.get_or_init(|| {
        let source = include_str!("../../../runtime/hooks/fast.rs");
        compile(
            source,
            "raddle_hooks",
            &["-Copt-level=1", "-Cpanic=abort", "-Cdebuginfo=0"],
        )
    })
}

fn check(source: &str, function: &str, expected: &[&str]) {
    assert_eq!(hooks_in(source, function), expected);
}

/// The hooks that `function` calls, in order, each with the line of its site, before the
/// hooks' bodies are joined in.
fn hooks_in(source: &str, function: &str) -> Vec<String> {
    hooks_with(source, function, Options::default())
}

fn hooks_with(source: &str, function: &str, options: Options) -> Vec<String> {
    let text = with_hooks(source, options);
    let start = text
        .lines()
        .position(|line| line.starts_with("define") && line.contains(function))
        .unwrap_or_else(|| panic!("no function {function} in:\n{text}"));
    text.lines()
        .skip(start)
        .take_while(|line| *line != "}")
        .filter_map(|line| {
            let (_, call) = line.split_once("@__raddle_")?;
            let name = call.split('(').next()?;
            let site = call.split("@raddle").last()?.split(')').next()?;
            Some(format!(
                "{name}:{}",
                outermost_line(&text, &format!("@raddle{site}"))
            ))
        })
        .collect()
}

/// The text of a module with calls to hooks, before their bodies are joined in.
fn with_hooks(source: &str, options: Options) -> String {
    load_llvm();
    let context = Context::new();
    let module = Module::parse(&context, &compile_crate(source), "case").expect("bitcode");
    let machine = Machine::new(&module).expect("a machine");
    mark_inlining(&context, &module, options);
    functions::insert(&context, &module, Origin::Crate, options);
    clean(&context, &module, &machine).expect("clean bitcode");
    insert_hooks(&context, &module, Origin::Crate, options);
    module.verify().expect("valid bitcode");
    module.text()
}

#[test]
fn reads_of_the_cycle_counter_become_calls_of_the_hook() {
    let source = "
        #[unsafe(no_mangle)]
        pub fn cycles() -> u64 {
            let mut processor = 0;
            let cycles = unsafe {
                core::arch::x86_64::_rdtsc() + core::arch::x86_64::__rdtscp(&mut processor)
            };
            cycles + u64::from(processor)
        }";
    let text = with_hooks(source, Options::default());
    assert_eq!(text.matches("call i64 @__raddle_cycles()").count(), 2);
    assert!(!text.contains("call i64 @llvm.x86.rdtsc"), "{text}");
    assert!(!text.contains("@llvm.x86.rdtscp()\n"), "{text}");
}

#[test]
fn what_optimised_code_keeps_to_itself_has_no_hooks() {
    let source = "
        pub struct Sums { even: u64, odd: u64, all: u64, last: u64 }
        fn add(sums: &mut Sums, values: &[u64; 4]) {
            sums.even = sums.even.wrapping_add(values[0]).wrapping_add(values[2]).rotate_left(3);
            sums.odd = sums.odd.wrapping_add(values[1]).wrapping_add(values[3]).rotate_left(5);
            sums.all = sums.all.wrapping_mul(sums.even).wrapping_mul(sums.odd).rotate_left(7);
            sums.last = (sums.last ^ values[3]).wrapping_mul(sums.all).wrapping_add(sums.even);
        }
        #[unsafe(no_mangle)]
        pub fn caller(value: u64) -> u64 {
            let mut sums = Sums { even: value, odd: 1, all: 2, last: 3 };
            add(&mut sums, &[value, 1, 2, 3]);
            add(&mut sums, &[4, 5, value, 7]);
            sums.last
        }";
    let accesses = |hooks: Vec<String>| {
        let is_access = |hook: &&String| hook.starts_with("read") || hook.starts_with("write");
        hooks.iter().filter(is_access).count()
    };
    assert_eq!(accesses(hooks_in(source, "caller")), 13);
    let optimized = Options {
        optimized: true,
        ..Options::default()
    };
    assert_eq!(accesses(hooks_with(source, "caller", optimized)), 0);
}

/// The line of the outermost frame of a site, whose record reads
/// `{ i64 key, ptr file, ptr function, ptr inlined_at, i32 line, ...`.
fn outermost_line(text: &str, site: &str) -> String {
    let definition = text
        .lines()
        .find(|line| line.starts_with(&format!("{site} = ")))
        .unwrap_or_else(|| panic!("no record {site}"));
    let fields: Vec<_> = definition
        .rsplit("{ i64 ")
        .next()
        .unwrap_or_default()
        .split(", ")
        .collect();
    match fields[3].strip_prefix("ptr @") {
        Some(outer) => outermost_line(text, &format!("@{outer}")),
        None => fields[4].trim_start_matches("i32 ").to_owned(),
    }
}

#[test]
fn plain_accesses_are_announced_with_their_lines() {
    check(
        "#[unsafe(no_mangle)]\npub fn swap(a: &mut u32, b: &mut u64) {\n    let old = *a;\n    *b = old.into();\n}",
        "@swap",
        &["read:3", "write:4"],
    );
}

#[test]
fn locals_and_constants_need_no_hooks() {
    check(
        "#[unsafe(no_mangle)]\npub fn local(n: u32) -> u32 {\n    let mut table = [1, 2, 3, 4];\n    table[1] = n;\n    table[0] | table[1]\n}",
        "@local",
        &[],
    );
}

#[test]
fn atomics_are_performed_by_hooks_at_the_line_of_the_caller() {
    check(
        "use std::sync::atomic::{AtomicU64, AtomicPtr, Ordering::*, fence};
#[unsafe(no_mangle)]
pub fn all(a: &AtomicU64, p: &AtomicPtr<u8>) {
    a.load(Acquire);
    a.store(1, Release);
    a.fetch_add(1, Relaxed);
    let _ = a.compare_exchange(1, 2, SeqCst, Relaxed);
    p.swap(std::ptr::null_mut(), AcqRel);
    fence(SeqCst);
    std::hint::spin_loop();
}",
        "@all",
        &[
            "enter:3",
            "load_64:4",
            "store_64:5",
            "rmw_64:6",
            "cas_64:7",
            "rmw_64:8",
            "fence:9",
            "spin:10",
            "leave:3",
        ],
    );
}

#[test]
fn volatile_accesses_and_assembly_are_announced() {
    check(
        "#[unsafe(no_mangle)]
pub unsafe fn raw(p: *mut u16) {
    unsafe { p.write_volatile(1) };
    unsafe { p.read_volatile() };
    unsafe { std::arch::asm!(\"mfence\") };
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}",
        "@raw",
        &["volatile:3", "volatile:4", "asm:5"],
    );
}

#[test]
fn copies_are_accesses_of_their_whole_length() {
    check(
        "#[unsafe(no_mangle)]\npub fn copy(to: &mut [u8; 100], from: &[u8; 100]) {\n    *to = *from;\n}",
        "@copy",
        &["read:3", "write:3"],
    );
}

#[test]
fn allocations_and_panics_are_announced() {
    check(
        "#[unsafe(no_mangle)]\npub fn make(n: u64) -> Box<u64> {\n    if n == 7 {\n        panic!();\n    }\n    Box::new(n)\n}",
        "@make",
        // The panic, the allocation, its failure, and the store into the new box.
        &["at:4", "at:6", "at:6", "write:6"],
    );
}

#[test]
fn locks_give_events_beside_their_operations() {
    let source = "pub fn touch(lock: &std::sync::Mutex<()>) -> bool { lock.try_lock().is_ok() }";
    let hooks = hooks_in(source, "Mutex$LT$T$GT$8try_lock");
    let names: Vec<_> = hooks.iter().map(|hook| hook.split(':').next()).collect();
    assert_eq!(names[..2], [Some("cas_32"), Some("lock")]);
}

#[test]
fn methods_are_entered_and_left_even_if_inlined() {
    let source = "pub struct Pair { small: u8, large: u64 }
impl Pair {
    fn sum(&self) -> u64 {
        self.large
    }
}
#[unsafe(no_mangle)]
pub fn twice(pair: &Pair, other: &mut u8) -> u64 {
    *other = pair.small;
    pair.sum()
}";
    check(
        source,
        "@twice",
        &[
            "enter:8", "read:9", "write:9", "enter:3", "read:10", "leave:3", "leave:8",
        ],
    );
}

#[test]
fn what_unwinds_through_a_function_is_announced() {
    let source = "pub struct Guard<'a>(&'a mut u8);
impl Drop for Guard<'_> {
    #[inline(never)]
    fn drop(&mut self) { *self.0 = 1; }
}
#[unsafe(no_mangle)]
pub fn run(guard: &mut Guard, work: fn()) {
    let _inner = Guard(guard.0);
    work();
}";
    // A return, two landing pads, of which one ends in an abort, and the resumption.
    check(
        source,
        "@run",
        &[
            "enter:7", "read:8", "write:8", "leave:7", "leave:7", "leave:7", "at:7", "leave:7",
        ],
    );
}

#[test]
fn locals_stay_out_of_memory_though_methods_are_called_on_them() {
    let source = "struct Count { n: u64, step: u64 }
impl Count { fn next(&mut self) { self.n += self.step; } }
#[unsafe(no_mangle)]
pub fn count(from: u64) -> u64 {
    let mut count = Count { n: from, step: 3 };
    count.next();
    count.n
}";
    check(source, "@count", &["enter:2", "leave:2"]);
}

#[test]
fn functions_without_instances_are_not_announced() {
    let source = "#[unsafe(no_mangle)]
pub fn add(list: &[u64], to: &mut u64) { *to = list.iter().map(|n| n + 1).sum(); }";
    let hooks = hooks_in(source, "@add");
    assert!(
        hooks.iter().all(|hook| !hook.starts_with("enter")),
        "{hooks:?}"
    );
}

#[test]
fn branches_are_announced_where_that_is_asked_for() {
    let source = "#[unsafe(no_mangle)]
pub fn choose(n: u64, to: &mut u64) {
    if n > 9 {
        *to = 1;
    }
    match n {
        1 => *to = n,
        2 => *to += n,
        7 => *to -= 1,
        _ => {}
    }
}";
    let ways = |options| -> Vec<_> {
        let hooks = hooks_with(source, "@choose", options);
        let ways = hooks.into_iter().filter(|hook| hook.starts_with("branch"));
        ways.collect()
    };
    assert_eq!(
        ways(Options {
            branches: true,
            ..Options::default()
        })[..2],
        ["branch:3", "branch:6"]
    );
    assert!(ways(Options::default()).is_empty());
}

#[test]
fn an_instrumented_module_becomes_an_object_without_hooks_left() {
    load_llvm();
    let source = "pub fn read(a: &std::sync::atomic::AtomicU8, b: &u8) -> u8 { a.load(std::sync::atomic::Ordering::SeqCst) + *b }";
    let done = instrument(
        &compile_crate(source),
        "case",
        Origin::Crate,
        Options::default(),
        hook_bodies(),
        None,
    )
    .expect("an object");
    assert!(done.object.starts_with(b"\x7fELF"));
    assert!(done.hooks >= 2 && done.sites >= 2);
    let has = |text: &str| {
        done.object
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(has("__raddle_slow_load") && has("__raddle_flags"));
    assert!(!has("__raddle_load_8"));
}

fn program_map(source: &str) -> ProgramMap {
    load_llvm();
    let bitcode = compile_crate(source);
    let done = instrument(
        &bitcode,
        "case",
        Origin::Crate,
        Options::default(),
        hook_bodies(),
        None,
    );
    serde_json::from_slice(&done.expect("an object").map).expect("a program map")
}

/// Names, offsets and sizes of a type's fields.
fn fields<'m>(map: &'m ProgramMap, name: &str) -> Vec<(&'m str, u64, u64)> {
    let info = map
        .type_named(name)
        .unwrap_or_else(|| panic!("no {name} in {:#?}", map.types));
    let fields = info.fields.iter();
    fields
        .map(|field| (field.name.as_str(), field.offset, field.size))
        .collect()
}

#[test]
fn the_program_map_knows_fields_and_methods() {
    let map = program_map(
        "pub struct Pair { small: u8, large: u64 }
impl Pair { #[inline(never)] pub fn sum(&self) -> u64 { u64::from(self.small) + self.large } }
impl Pair { #[inline(never)] pub fn new(large: u64) -> Self { Self { small: 0, large } } }
impl Default for Pair { #[inline(never)] fn default() -> Self { Self::new(1) } }
impl Drop for Pair { #[inline(never)] fn drop(&mut self) { self.large = 0; } }",
    );
    let sum = map.function("case::Pair::sum").expect("the method");
    assert_eq!(sum.line, 2);
    let methods: Vec<_> = map
        .functions_of("case::Pair")
        .map(|function| (function.path.as_str(), function.is_method))
        .collect();
    let expected = [
        ("<case::Pair as core::default::Default>::default", false),
        ("<case::Pair as core::ops::drop::Drop>::drop", true),
        ("case::Pair::new", false),
        ("case::Pair::sum", true),
    ];
    assert_eq!(methods, expected);
    let pair = fields(&map, "case::Pair");
    assert_eq!(pair, [("large", 0, 8), ("small", 8, 1)]);
}

#[test]
fn the_program_map_sees_through_types_of_std_and_generic_ones() {
    let map = program_map(
        "use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, atomic::AtomicU32};
pub enum Shape { Round(u64), Square { side: u32, tall: bool } }
pub struct Inner { words: Vec<u16>, queue: VecDeque<u8>, table: HashMap<u32, u64>, slots: [Slot; 3] }
pub struct Slot { key: u32 }
pub struct Bank<T> { count: AtomicU32, inner: Arc<Mutex<Inner>>, extra: T }
impl<T> Bank<T> { #[inline(never)] pub fn look(&self) -> &T { &self.extra } }
pub fn use_it(bank: &Bank<Shape>) -> &Shape { bank.look() }",
    );
    let bank = "case::Bank<case::Shape>";
    let methods: Vec<_> = map.functions_of(bank).map(|info| &info.path).collect();
    assert_eq!(methods, ["case::Bank::look"]);
    let info = map.type_named(bank).expect("the bank");
    assert_eq!(info.arguments, ["case::Shape"]);
    let sizes: HashMap<_, _> = fields(&map, bank)
        .into_iter()
        .map(|(name, _, size)| (name, size))
        .collect();
    let expected = [("count", 4), ("inner", 8), ("extra", 16)];
    assert_eq!(sizes, HashMap::from(expected));
    // Through Arc's pointer to the counted block, and the lock in it, to the data.
    let counted = map
        .types
        .iter()
        .find(|info| info.name.starts_with("alloc::sync::ArcInner<"))
        .expect("what an Arc points to");
    let names: Vec<_> = counted.fields.iter().map(|field| &field.name).collect();
    assert_eq!(names, ["strong", "weak", "data"]);
    let data = &counted.fields[2];
    assert!(data.type_name.ends_with("Mutex<case::Inner>"), "{data:?}");
    let lock = fields(&map, &data.type_name);
    assert!(lock.iter().any(|(name, ..)| *name == "data"), "{lock:?}");
    let inner: HashMap<_, _> = fields(&map, "case::Inner")
        .into_iter()
        .map(|(name, _, size)| (name, size))
        .collect();
    let expected = [("words", 24), ("queue", 32), ("table", 48), ("slots", 12)];
    assert_eq!(inner, HashMap::from(expected));
    for (beginning, argument) in [
        ("alloc::vec::Vec<u16,", "u16"),
        ("alloc::collections::vec_deque::VecDeque<u8,", "u8"),
        ("std::collections::hash::map::HashMap<u32, u64,", "u32"),
    ] {
        let mut types = map.types.iter();
        let info = types.find(|info| info.name.starts_with(beginning));
        let info = info.unwrap_or_else(|| panic!("no {beginning}"));
        assert_eq!(info.arguments[0], argument);
        assert!(info.size > 0 && !info.fields.is_empty());
    }
    let info = map.type_named("case::Inner").expect("what is inside");
    let slots = info.fields.iter().find(|field| field.name == "slots");
    assert_eq!(
        slots.map(|field| field.type_name.as_str()),
        Some("[case::Slot; 3]")
    );
    assert_eq!(fields(&map, "case::Slot"), [("key", 0, 4)]);
    let shape = map.type_named("case::Shape").expect("the enum");
    let variants: Vec<_> = shape.variants.iter().map(|variant| &variant.name).collect();
    assert_eq!(variants, ["Round", "Square"]);
    let square = fields(&map, &shape.variants[1].type_name);
    let names: HashSet<_> = square.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, HashSet::from(["side", "tall"]));
}

#[test]
fn what_is_not_bitcode_is_refused() {
    load_llvm();
    let context = Context::new();
    assert!(Module::parse(&context, b"", "nothing").is_err());
}

#[test]
fn a_read_behind_a_condition_stays_behind_it() {
    let source = "static mut LAST: i32 = 0;
        #[inline(never)]
        #[unsafe(no_mangle)]
        pub extern \"C\" fn is_last(done: bool, number: i32) -> bool {
            done && number >= unsafe { LAST }
        }";
    load_llvm();
    let context = Context::new();
    let module = Module::parse(&context, &compile_crate(source), "case").expect("bitcode");
    let machine = Machine::new(&module).expect("a machine");
    mark_inlining(&context, &module, Options::default());
    clean(&context, &module, &machine).expect("clean bitcode");
    let text = module.text();
    let function = text.split("@is_last(").nth(1).expect("the function");
    let (branch, load) = (function.find("br i1"), function.find("load i32"));
    assert!(branch.expect("a branch") < load.expect("a load"), "{text}");
}

#[test]
fn calls_of_libc_are_announced_before_and_where_it_matters_behind_too() {
    let source = "use std::ffi::{c_char, c_int};
unsafe extern \"C\" {
    fn strlen(text: *const c_char) -> usize;
    fn snprintf(to: *mut c_char, bytes: usize, format: *const c_char, ...) -> c_int;
    fn getline(line: *mut c_char, bytes: usize) -> c_int;
}
#[unsafe(no_mangle)]
pub extern \"C\" fn strdup(text: *const c_char) -> *const c_char { text }
#[unsafe(no_mangle)]
pub unsafe fn once(text: *const c_char) -> usize {
    unsafe { strlen(text) }
}
#[unsafe(no_mangle)]
pub unsafe fn twice(to: *mut c_char, text: *const c_char) -> c_int {
    unsafe { snprintf(to, 8, c\"%s\".as_ptr(), text) }
}
#[unsafe(no_mangle)]
pub unsafe fn constant() -> usize {
    unsafe { strlen(c\"text\".as_ptr()) }
}
#[unsafe(no_mangle)]
pub unsafe fn other_arguments(line: *mut c_char) -> c_int {
    unsafe { getline(line, 8) }
}
#[unsafe(no_mangle)]
pub unsafe fn own(text: *const c_char) -> *const c_char {
    strdup(text)
}";
    check(source, "@once(", &["call:11"]);
    check(source, "@twice(", &["call:15", "call:15"]);
    check(source, "@constant(", &[]);
    check(source, "@other_arguments(", &[]);
    check(source, "@own(", &[]);
}
