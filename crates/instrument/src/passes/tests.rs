//! Compiles small sources with the rustc in use and looks at the hooks in their IR.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::{Origin, clean, functions, insert_hooks, instrument, mark_inlining};
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

fn load_llvm() {
    static LOADED: OnceLock<()> = OnceLock::new();
    LOADED.get_or_init(|| {
        let sysroot = String::from_utf8(rustc(&["--print", "sysroot"])).expect("a path");
        let library = crate::locate_llvm(sysroot.trim().as_ref()).expect("libLLVM");
        crate::llvm::load(&library).expect("a usable libLLVM");
    });
}

fn compile(source: &str, name: &str, flags: &[&str]) -> Vec<u8> {
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

fn hook_bodies() -> &'static [u8] {
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
    load_llvm();
    let context = Context::new();
    let module = Module::parse(&context, &compile_crate(source), "case").expect("bitcode");
    let machine = Machine::new(&module).expect("a machine");
    mark_inlining(&context, &module);
    functions::insert(&context, &module);
    clean(&context, &module, &machine).expect("clean bitcode");
    insert_hooks(&context, &module, Origin::Crate);
    module.verify().expect("valid bitcode");
    let text = module.text();
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
fn an_instrumented_module_becomes_an_object_without_hooks_left() {
    load_llvm();
    let source = "pub fn read(a: &std::sync::atomic::AtomicU8, b: &u8) -> u8 { a.load(std::sync::atomic::Ordering::SeqCst) + *b }";
    let done = instrument(
        &compile_crate(source),
        "case",
        Origin::Crate,
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

#[test]
fn the_program_map_knows_fields_and_methods() {
    load_llvm();
    let source = "pub struct Pair { small: u8, large: u64 }
impl Pair { #[inline(never)] pub fn sum(&self) -> u64 { u64::from(self.small) + self.large } }
impl Drop for Pair { #[inline(never)] fn drop(&mut self) { self.large = 0; } }";
    let done = instrument(
        &compile_crate(source),
        "case",
        Origin::Crate,
        hook_bodies(),
        None,
    )
    .expect("an object");
    let map: raddle_trace::program_map::ProgramMap =
        serde_json::from_slice(&done.map).expect("a program map");
    let sum = map.function("case::Pair::sum").expect("the method");
    assert_eq!((sum.receiver.as_deref(), sum.line), (Some("case::Pair"), 2));
    let drop = map
        .function("<case::Pair as core::ops::drop::Drop>::drop")
        .unwrap_or_else(|| panic!("{:?}", map.functions));
    assert_eq!(drop.receiver.as_deref(), Some("case::Pair"));
    let pair = map.type_named("case::Pair").expect("the type");
    let fields: Vec<_> = pair
        .fields
        .iter()
        .map(|field| (field.name.as_str(), field.size))
        .collect();
    assert_eq!((pair.size, fields), (16, vec![("large", 8), ("small", 1)]));
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
    mark_inlining(&context, &module);
    clean(&context, &module, &machine).expect("clean bitcode");
    let text = module.text();
    let function = text.split("@is_last(").nth(1).expect("the function");
    let (branch, load) = (function.find("br i1"), function.find("load i32"));
    assert!(branch.expect("a branch") < load.expect("a load"), "{text}");
}
