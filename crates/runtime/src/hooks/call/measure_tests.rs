//! Tests of what calls read and write.

use super::Call;
use alloc::vec::Vec;
use raddle_abi::libc::{ALL, Function};

fn function(symbol: &str) -> &'static Function {
    let found = ALL.iter().find(|function| function.symbol == symbol);
    found.expect("a row of the table")
}

/// The accesses of a call, each as its offset from `base`, length, and whether it is a write.
fn accesses(call: &Call<'_>, late: bool, base: usize) -> Vec<(isize, usize, bool)> {
    let mut found = Vec::new();
    call.each(late, &mut |address, len, write| {
        found.push((address as isize - base as isize, len, write));
    });
    found
}

fn before(symbol: &str, arguments: &[usize]) -> Vec<(isize, usize, bool)> {
    let mut all = [0; 4];
    all[..arguments.len()].copy_from_slice(arguments);
    let call = Call::new(function(symbol), all, core::ptr::null(), 0, 0);
    accesses(&call, false, arguments[0])
}

fn after(symbol: &str, arguments: &[usize], result: i64) -> Vec<(isize, usize, bool)> {
    let mut all = [0; 4];
    all[..arguments.len()].copy_from_slice(arguments);
    let call = Call::new(function(symbol), all, core::ptr::null(), result as u64, 0);
    accesses(&call, true, arguments[0])
}

#[test]
fn strings_are_read_up_to_what_decides() {
    let text = b"  -12a45\0 beyond".as_ptr() as usize;
    let other = c"  -1zzzzz".as_ptr() as usize;
    assert_eq!(before("strlen", &[text]), [(0, 9, false)]);
    assert_eq!(before("strnlen", &[text, 4]), [(0, 4, false)]);
    assert_eq!(before("strnlen", &[text, 99]), [(0, 9, false)]);
    assert_eq!(before("strchr", &[text, b'a'.into()]), [(0, 6, false)]);
    assert_eq!(before("strchr", &[text, b'?'.into()]), [(0, 9, false)]);
    assert_eq!(before("memchr", &[text, b'?'.into(), 4]), [(0, 4, false)]);
    assert_eq!(before("atoi", &[text]), [(0, 6, false)]);
    let same = |symbol, most| before(symbol, &[text, other, most])[0];
    assert_eq!(same("strcmp", 0), (0, 5, false));
    assert_eq!(same("strncmp", 3), (0, 3, false));
    assert_eq!(same("strncmp", 8), (0, 5, false));
}

#[test]
fn copies_write_what_they_read_and_an_end() {
    let to = b"ab\0         ".as_ptr() as usize;
    let from = c"cdef".as_ptr() as usize;
    let writes = |symbol, arguments: &[usize]| {
        let all = before(symbol, arguments).into_iter();
        all.filter(|access| access.2).collect::<Vec<_>>()
    };
    assert_eq!(writes("strcpy", &[to, from]), [(0, 5, true)]);
    assert_eq!(writes("strncpy", &[to, from, 9]), [(0, 9, true)]);
    assert_eq!(writes("strcat", &[to, from]), [(2, 5, true)]);
    assert_eq!(writes("strncat", &[to, from, 3]), [(2, 4, true)]);
    assert_eq!(writes("strncat", &[to, from, 4]), [(2, 5, true)]);
    assert_eq!(writes("strncat", &[to, from, 5]), [(2, 5, true)]);
    assert_eq!(writes("strlcat", &[to, from, 4]), [(2, 2, true)]);
    assert_eq!(writes("strlcpy", &[to, from, 3]), [(0, 3, true)]);
}

#[test]
fn results_tell_what_was_written() {
    let to = [0u8; 32].as_ptr() as usize;
    assert_eq!(after("read", &[to], 5), [(0, 5, true)]);
    assert_eq!(after("read", &[to], -1), []);
    assert_eq!(after("snprintf", &[to, 8], 3), [(0, 4, true)]);
    assert_eq!(after("snprintf", &[to, 8], 30), [(0, 8, true)]);
    assert_eq!(after("snprintf", &[to, 0], 3), []);
    assert_eq!(after("snprintf", &[to, 8], -1), []);
    assert_eq!(after("fread", &[to, 4], 2), [(0, 8, true)]);
    assert_eq!(after("stat", &[to, to], 0), [(0, 144, true)]);
    assert_eq!(after("stat", &[to, to], -1), []);
    assert_eq!(after("fgets", &[to], 0), []);
    assert_eq!(before("strtol", &[to, 0]), [(0, 1, false)]);
}

/// What a format refers to, with its own arguments.
fn printed(format: &[u8], arguments: &[u64]) -> Vec<(usize, usize, bool)> {
    let mut words = Vec::from([arguments.len() as u64]);
    words.extend_from_slice(arguments);
    let to = [format.as_ptr() as usize, 0, 0, 0];
    let call = Call::new(function("printf"), to, words.as_ptr(), 0, 0);
    let mut found = Vec::new();
    call.each(false, &mut |address, len, write| {
        found.push((address, len, write))
    });
    found.split_off(1)
}

#[test]
fn formats_are_followed_conversion_by_conversion() {
    let text = c"text".as_ptr() as usize;
    let word = text as u64;
    assert_eq!(printed(b"%d%%%s\0", &[1, word]), [(text, 5, false)]);
    assert_eq!(printed(b"%-8.2s\0", &[word]), [(text, 2, false)]);
    assert_eq!(printed(b"%*.*f%s\0", &[1, 2, 3, word]), [(text, 5, false)]);
    assert_eq!(printed(b"%.*s\0", &[u64::MAX, word]), [(text, 5, false)]);
    assert_eq!(printed(b"%.*s\0", &[0, word]), []);
    assert_eq!(printed(b"%llu%hhn\0", &[1, word]), [(text, 1, true)]);
    assert_eq!(printed(b"%s\0", &[0]), []);
    // Too few arguments, and what is not understood.
    assert_eq!(printed(b"%s %s\0", &[word]), [(text, 5, false)]);
    assert_eq!(printed(b"%2$s\0", &[1, word]), []);
}

#[test]
fn only_what_scanf_has_assigned_is_written() {
    let mut number = 7u64;
    let words = [2, (&raw mut number) as u64, (&raw mut number) as u64];
    let format = c"%*d %hd %ld".as_ptr() as usize;
    let text = c"1 2 3".as_ptr() as usize;
    let written = |result: i64| -> Vec<usize> {
        let call = Call::new(
            function("sscanf"),
            [text, format, 0, 0],
            words.as_ptr(),
            result as u64,
            0,
        );
        let mut lengths = Vec::new();
        call.each(true, &mut |_, len, write| {
            assert!(write);
            lengths.push(len);
        });
        lengths
    };
    assert!(written(-1).is_empty());
    assert_eq!(written(1), [2]);
    assert_eq!(written(2), [2, 8]);
}
