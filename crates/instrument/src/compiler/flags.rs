//! Lists of flags: which ones take a value, which ones are dropped and why.

/// Flags whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-A",
    "-B",
    "-D",
    "-F",
    "-G",
    "-I",
    "-L",
    "-MF",
    "-MJ",
    "-MQ",
    "-MT",
    "-T",
    "-U",
    "-V",
    "-Xanalyzer",
    "-Xassembler",
    "-Xclang",
    "-Xlinker",
    "-Xpreprocessor",
    "-allowable_client",
    "-arch",
    "-aux-info",
    "-b",
    "-compatibility_version",
    "-current_version",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-e",
    "-framework",
    "-gcc-toolchain",
    "-h",
    "-idirafter",
    "-imacros",
    "-imultilib",
    "-include",
    "-include-pch",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-isystem-after",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-iwithsysroot",
    "-l",
    "-mllvm",
    "-o",
    "-rpath",
    "-serialize-diagnostics",
    "-specs",
    "-target",
    "-u",
    "-wrapper",
    "-x",
    "-z",
    "--assert",
    "--config",
    "--define-macro",
    "--entry",
    "--imacros",
    "--include",
    "--include-directory",
    "--language",
    "--library-directory",
    "--param",
    "--sysroot",
    "--target",
    "--undefine-macro",
];

/// Whether the word after this flag belongs to it.
pub(super) fn takes_value(flag: &str) -> bool {
    WITH_VALUE.contains(&flag)
}

/// What gcc understands and clang 14 refuses, by the beginning without `no-`. They choose
/// among gcc's own passes, diagnostics and dumps: clang has others.
const GCC_ONLY: &[&str] = &[
    "-fabi-compat-version=",
    "-fabi-version=",
    "-faggressive-loop-optimizations",
    "-fallocation-dce",
    "-fallow-store-data-races",
    "-fanalyzer",
    "-fauto-inc-dec",
    "-fbit-tests",
    "-fbranch-probabilities",
    "-fbtr-bb-exclusive",
    "-fcall-saved-",
    "-fcall-used-",
    "-fcallgraph-info",
    "-fcanonical-system-headers",
    "-fchecking",
    "-fcode-hoisting",
    "-fcombine-stack-adjustments",
    "-fcompare-debug",
    "-fcompare-elim",
    "-fconcepts",
    "-fconserve-stack",
    "-fconstexpr-cache-depth=",
    "-fconstexpr-loop-limit=",
    "-fconstexpr-ops-limit=",
    "-fcoroutines",
    "-fcprop-registers",
    "-fcrossjumping",
    "-fcse-",
    "-fcx-",
    "-fdce",
    "-fdeclone-ctor-dtor",
    "-fdelayed-branch",
    "-fdelete-dead-exceptions",
    "-fdevirtualize-at-ltrans",
    "-fdiagnostics-column-",
    "-fdiagnostics-generate-patch",
    "-fdiagnostics-minimum-margin-width=",
    "-fdiagnostics-path-format=",
    "-fdiagnostics-plain-output",
    "-fdiagnostics-show-caret",
    "-fdiagnostics-show-labels",
    "-fdiagnostics-show-line-numbers",
    "-fdiagnostics-urls=",
    "-fdse",
    "-fdump-",
    "-fearly-inlining",
    "-femit-class-debug-always",
    "-femit-struct-debug-",
    "-fexpensive-optimizations",
    "-fext-numeric-literals",
    "-fextern-tls-init",
    "-ffat-lto-objects",
    "-ffold-simple-inlines",
    "-fforward-propagate",
    "-ffp-int-builtin-inexact",
    "-ffunction-cse",
    "-fgcse",
    "-fgnu-tm",
    "-fgnu-unique",
    "-fgraphite",
    "-fguess-branch-probability",
    "-fharden-",
    "-fhoist-adjacent-loads",
    "-fif-conversion",
    "-fimplicit-constexpr",
    "-findirect-inlining",
    "-finline-atomics",
    "-finline-limit",
    "-finline-small-functions",
    "-fipa-",
    "-fira-",
    "-fisolate-erroneous-paths-",
    "-fkeep-gc-roots-live",
    "-fkeep-static-functions",
    "-flarge-source-files",
    "-flifetime-dse",
    "-flimit-function-alignment",
    "-flive-",
    "-floop-",
    "-flra-remat",
    "-fmem-report",
    "-fmerge-constants",
    "-fmerge-debug-strings",
    "-fmodulo-sched",
    "-fmove-loop-",
    "-fnothrow-opt",
    "-fopt-info",
    "-foptimize-strlen",
    "-fpartial-inlining",
    "-fpeephole",
    "-fpost-ipa-mem-report",
    "-fpre-ipa-mem-report",
    "-fpredictive-commoning",
    "-fprefetch-loop-arrays",
    "-fpretty-templates",
    "-fprintf-return-value",
    "-frandom-seed",
    "-free",
    "-frename-registers",
    "-freorder-blocks",
    "-freorder-functions",
    "-freport-bug",
    "-frerun-",
    "-freschedule-",
    "-fsched",
    "-fsection-anchors",
    "-fsel",
    "-fshrink-wrap",
    "-fsimd-cost-model=",
    "-fsingle-precision-constant",
    "-fsplit-ivs-in-unroller",
    "-fsplit-loops",
    "-fsplit-paths",
    "-fsplit-wide-types",
    "-fssa-",
    "-fstack-check=",
    "-fstack-limit",
    "-fstack-protector-explicit",
    "-fstack-reuse=",
    "-fstats",
    "-fstdarg-opt",
    "-fstore-merging",
    "-fstrict-volatile-bitfields",
    "-fstrong-eval-order",
    "-fsync-libcalls",
    "-fthread-jumps",
    "-ftoplevel-reorder",
    "-ftracer",
    "-ftrack-macro-expansion",
    "-ftrampolines",
    "-ftree-",
    "-funconstrained-commons",
    "-funsafe-loop-optimizations",
    "-funswitch-loops",
    "-fuse-linker-plugin",
    "-fvar-tracking",
    "-fvariable-expansion-in-unroller",
    "-fvect-cost-model=",
    "-fversion-loops-for-strides",
    "-fvpt",
    "-fvtable-verify=",
    "-fweb",
    "-fwhole-program",
    "-fworking-directory",
    "-fwrapv-pointer",
    "-m128bit-long-double",
    "-m8bit-idiv",
    "-m96bit-long-double",
    "-maccumulate-outgoing-args",
    "-maddress-mode=",
    "-malign-data=",
    "-malign-stringops",
    "-mavx256-split-",
    "-mbranch-cost=",
    "-mcld",
    "-mdirect-extern-access",
    "-mdispatch-scheduler",
    "-mforce-drap",
    "-mfp-ret-in-387",
    "-mfunction-return=",
    "-mfused-madd",
    "-mincoming-stack-boundary=",
    "-mindirect-branch",
    "-minline-",
    "-mlarge-data-threshold=",
    "-mmemcpy-strategy=",
    "-mmemset-strategy=",
    "-mmitigate-rop",
    "-mneeded",
    "-mpc32",
    "-mpc64",
    "-mpc80",
    "-mprefer-avx128",
    "-mpreferred-stack-boundary=",
    "-mpush-args",
    "-msse2avx",
    "-mstringop-strategy=",
    "-mstv",
    "-mtls-dialect=",
    "-mtune-ctrl=",
    "-mveclibabi=",
    "-specs=",
    "--specs=",
];

/// What would spoil the result, by the beginning: other instrumentation whose passes would see
/// our hooks or not run at all, link-time optimisation, and what takes debug information away.
const SPOILING: &[&str] = &[
    "--coverage",
    "-coverage",
    "-fauto-profile",
    "-fcoverage-mapping",
    "-fcs-profile",
    "-fdebug-types-section",
    "-fembed-bitcode",
    "-flto",
    "-fno-lto",
    "-fprofile",
    "-fno-profile",
    "-fsanitize-",
    "-fno-sanitize-",
    "-fsplit-lto-unit",
    "-ftest-coverage",
    "-fthin-link-bitcode",
    "-gline-tables-only",
    "-gmlt",
    "-gsplit-dwarf",
    "-gz",
    "-save-temps",
    "--save-temps",
];

/// The same, whole words.
const SPOILING_WORDS: &[&str] = &[
    "-g0",
    "-p",
    "-pg",
    "-s",
    "-Wl,-s",
    "-Wl,-S",
    "-Wl,--strip-all",
    "-Wl,--strip-debug",
];

/// Sanitizers that work by checks of the front end alone; others bring a runtime of their own.
const FRONT_END_SANITIZERS: &str = "-fsanitize=undefined";

/// Whether a flag is not passed on.
pub(super) fn is_dropped(flag: &str) -> bool {
    let positive = ["-f", "-m"].iter().find_map(|kind| {
        let rest = flag.strip_prefix(kind)?.strip_prefix("no-")?;
        Some(format!("{kind}{rest}"))
    });
    let positive = positive.as_deref().unwrap_or(flag);
    let begins = |list: &[&str]| list.iter().any(|beginning| flag.starts_with(beginning));
    GCC_ONLY
        .iter()
        .any(|beginning| positive.starts_with(beginning))
        || begins(SPOILING)
        || SPOILING_WORDS.contains(&flag)
        || is_foreign_sanitizer(flag)
}

fn is_foreign_sanitizer(flag: &str) -> bool {
    flag.starts_with("-fsanitize=") && flag != FRONT_END_SANITIZERS
}

/// Added to each compilation: bitcode as the front end makes it, with everything that reports
/// need. Warnings about flags would trip `-Werror` over flags that are not the user's.
pub(super) const COMPILING: &[&str] = &[
    "-g",
    "-emit-llvm",
    "-fno-omit-frame-pointer",
    "-Xclang",
    "-disable-llvm-passes",
    "-Xclang",
    "-disable-O0-optnone",
];

/// Comes before the user's flags: what clang takes for errors by default and gcc for warnings.
pub(super) const LENIENT: &[&str] = &[
    "-Wno-unknown-warning-option",
    "-Wno-reserved-user-defined-literal",
    "-Wno-error=c++11-narrowing",
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=incompatible-function-pointer-types",
    "-Wno-error=int-conversion",
];

/// Added to whatever clang does.
pub(super) const TOLERANT: &[&str] = &[
    "-Qunused-arguments",
    "-Wno-unknown-warning-option",
    "-Wno-ignored-optimization-argument",
    "-Wno-unused-command-line-argument",
];

#[cfg(test)]
mod tests {
    use super::{is_dropped, takes_value};

    #[test]
    fn flags_of_gcc_alone_and_other_instrumentation_are_dropped() {
        for flag in [
            "-fno-tree-vectorize",
            "-ftree-loop-distribution",
            "-fipa-pta",
            "-fno-var-tracking-assignments",
            "-mindirect-branch=thunk",
            "-mno-push-args",
            "-flto=auto",
            "-ffat-lto-objects",
            "-fprofile-arcs",
            "-fsanitize=thread",
            "-specs=/usr/share/dpkg/no-pie-compile.specs",
            "-s",
            "-g0",
        ] {
            assert!(is_dropped(flag), "{flag}");
        }
    }

    #[test]
    fn flags_that_mean_something_to_clang_stay() {
        for flag in [
            "-O2",
            "-g",
            "-ggdb3",
            "-fPIC",
            "-fno-strict-aliasing",
            "-fstack-protector-strong",
            "-fno-common",
            "-funsigned-char",
            "-fsanitize=undefined",
            "-march=native",
            "-mno-sse3",
            "-shared",
            "-std=c11",
            "-Wl,-soname,libx.so",
            "-pthread",
        ] {
            assert!(!is_dropped(flag), "{flag}");
        }
    }

    #[test]
    fn values_are_not_taken_for_inputs() {
        assert!(takes_value("-o") && takes_value("-include") && takes_value("-MF"));
        assert!(!takes_value("-c") && !takes_value("-O2") && !takes_value("-undef"));
    }
}
