//! The table of functions.

use super::{Access, At, Atomic, Block, Format, Function, Length};
use Length::{
    Alike, AlikeWithin, Appended, Argument, Found, FoundOne, Given, Joined, Number, Product,
    ResultAndEnd, ResultAtMost, ResultText, ResultTimes, ResultWithin, Same, SameWithin, Sorted,
    Stored, Success, Text, TextWithin, ToResult, Units, Until, UntilWithin,
};

/// Size of `struct tm`.
const TM: Length = Units(56);
/// Size of a pointer or a `time_t`.
const WORD: Length = Units(8);

const fn block(at: At, length: Length, write: bool) -> Access {
    Access::Block(Block {
        at,
        length,
        unit: 1,
        write,
        late: false,
    })
}

const fn reads(argument: u8, length: Length) -> Access {
    block(At::Argument(argument), length, false)
}

const fn writes(argument: u8, length: Length) -> Access {
    block(At::Argument(argument), length, true)
}

const fn reads_result(length: Length) -> Access {
    late(block(At::Result, length, false))
}

const fn writes_result(length: Length) -> Access {
    late(block(At::Result, length, true))
}

/// Known only when the call has returned.
const fn late(access: Access) -> Access {
    match access {
        Access::Block(block) => Access::Block(Block {
            late: true,
            ..block
        }),
        other => other,
    }
}

const fn of(unit: u8, access: Access) -> Access {
    match access {
        Access::Block(block) => Access::Block(Block { unit, ..block }),
        other => other,
    }
}

/// In units of `wchar_t`.
const fn wide(access: Access) -> Access {
    of(4, access)
}

const fn at_end(argument: u8, length: Length) -> Access {
    block(At::End(argument), length, true)
}

const fn format(format: u8, list: Option<u8>, unit: u8) -> Format {
    Format { format, list, unit }
}

/// A format, and the call's own arguments.
const fn prints(argument: u8) -> Access {
    Access::Printed(format(argument, None, 1))
}

/// A format, and a `va_list`.
const fn prints_list(argument: u8, list: u8) -> Access {
    Access::Printed(format(argument, Some(list), 1))
}

const fn prints_wide(argument: u8) -> Access {
    Access::Printed(format(argument, None, 4))
}

const fn scans(argument: u8) -> Access {
    Access::Scanned(format(argument, None, 1))
}

const fn scans_list(argument: u8, list: u8) -> Access {
    Access::Scanned(format(argument, Some(list), 1))
}

const fn atomic(operation: Atomic, object: u8, size: Length, order: u8) -> Access {
    Access::Atomic {
        operation,
        object,
        size,
        order,
    }
}

macro_rules! functions {
    ($($waits:ident { $($($symbol:literal)+, $signature:literal => $accesses:expr;)* })*) => {
        /// Every function. Symbols may stand more than once, with other arguments.
        pub const ALL: &[Function] = &[$($($(Function {
            symbol: $symbol,
            signature: $signature,
            accesses: &$accesses,
            waits: functions!(@ $waits),
        },)+)*)*];
    };
    (@ at_once) => { false };
    (@ in_steps) => { true };
}

functions! {
at_once {
    // Strings.
    "strlen", "P" => [reads(0, Text(0))];
    "strnlen", "PW" => [reads(0, TextWithin(0, 1))];
    "strcpy" "stpcpy", "PP" => [reads(1, Text(1)), writes(0, Text(1))];
    "__strcpy_chk" "__stpcpy_chk", "PPw" => [reads(1, Text(1)), writes(0, Text(1))];
    "strncpy" "stpncpy", "PPW" => [reads(1, TextWithin(1, 2)), writes(0, Argument(2))];
    "__strncpy_chk" "__stpncpy_chk", "PPWw" => [reads(1, TextWithin(1, 2)), writes(0, Argument(2))];
    "strlcpy", "PPW" => [reads(1, Text(1)), writes(0, TextWithin(1, 2))];
    "__strlcpy_chk", "PPWw" => [reads(1, Text(1)), writes(0, TextWithin(1, 2))];
    "strcat", "PP" => [reads(1, Text(1)), reads(0, Text(0)), at_end(0, Text(1))];
    "__strcat_chk", "PPw" => [reads(1, Text(1)), reads(0, Text(0)), at_end(0, Text(1))];
    "strncat", "PPW" => [reads(1, TextWithin(1, 2)), reads(0, Text(0)), at_end(0, Joined(1, 2))];
    "__strncat_chk", "PPWw" => [reads(1, TextWithin(1, 2)), reads(0, Text(0)), at_end(0, Joined(1, 2))];
    "strlcat", "PPW" => [reads(1, Text(1)), reads(0, TextWithin(0, 2)), at_end(0, Appended(0, 1, 2))];
    "__strlcat_chk", "PPWw" => [reads(1, Text(1)), reads(0, TextWithin(0, 2)), at_end(0, Appended(0, 1, 2))];
    "strcmp" "strcoll", "PP" => [reads(0, Same(0, 1)), reads(1, Same(0, 1))];
    "strncmp", "PPW" => [reads(0, SameWithin(0, 1, 2)), reads(1, SameWithin(0, 1, 2))];
    "strcasecmp", "PP" => [reads(0, Alike(0, 1)), reads(1, Alike(0, 1))];
    "strncasecmp", "PPW" => [reads(0, AlikeWithin(0, 1, 2)), reads(1, AlikeWithin(0, 1, 2))];
    "strchr" "strchrnul" "index", "PI" => [reads(0, Until(0, 1))];
    "strrchr" "rindex", "Pi" => [reads(0, Text(0))];
    "strstr" "strcasestr", "PP" => [reads(1, Text(1)), reads(0, Units(1)), late(reads(0, Found(0, 1)))];
    "strpbrk", "PP" => [reads(1, Units(1)), reads(0, Units(1)), late(reads(0, FoundOne(0)))];
    "strspn" "strcspn", "PP" => [reads(1, Units(1)), reads(0, Units(1)), late(reads(0, ResultAndEnd))];
    "strdup" "__strdup", "P" => [reads(0, Text(0))];
    "strndup" "__strndup", "PW" => [reads(0, TextWithin(0, 1))];
    "strtok", "PP" => [reads(1, Units(1)), reads_result(ResultText)];
    "strtok_r" "__strtok_r", "PPP" => [
        reads(1, Units(1)), writes(2, WORD), reads_result(ResultText),
        late(block(At::Cut(2), Units(1), true)),
    ];
    "strsep", "PP" => [
        reads(1, Units(1)), reads(0, WORD), late(writes(0, Given(8))), reads_result(ResultText),
        late(block(At::Cut(0), Units(1), true)),
    ];
    "strxfrm", "PPW" => [reads(1, Text(1)), late(writes(0, ResultWithin(2)))];
    // Bytes.
    "memchr", "PIW" => [reads(0, UntilWithin(0, 1, 2))];
    "memrchr", "PiW" => [reads_result(Units(1))];
    "memccpy", "PPIW" => [reads(1, UntilWithin(1, 2, 3)), writes(0, UntilWithin(1, 2, 3))];
    "memmem", "PWPW" => [reads(2, Argument(3)), late(reads(0, ToResult(0)))];
    "bcopy", "PPW" => [reads(0, Argument(2)), writes(1, Argument(2))];
    "bzero" "explicit_bzero", "PW" => [writes(0, Argument(1))];
    "__explicit_bzero_chk", "PWw" => [writes(0, Argument(1))];
    "memset_explicit", "PiW" => [writes(0, Argument(1))];
    "__mempcpy_chk", "PPWw" => [reads(1, Argument(2)), writes(0, Argument(2))];
    "swab", "PPW" => [reads(0, Argument(2)), writes(1, Argument(2))];
    // Wide strings.
    "wcslen", "P" => [wide(reads(0, Text(0)))];
    "wcsnlen", "PW" => [wide(reads(0, TextWithin(0, 1)))];
    "wcscpy" "wcpcpy", "PP" => [wide(reads(1, Text(1))), wide(writes(0, Text(1)))];
    "wcsncpy" "wcpncpy", "PPW" => [wide(reads(1, TextWithin(1, 2))), wide(writes(0, Argument(2)))];
    "wcscat", "PP" => [wide(reads(1, Text(1))), wide(reads(0, Text(0))), wide(at_end(0, Text(1)))];
    "wcsncat", "PPW" => [
        wide(reads(1, TextWithin(1, 2))), wide(reads(0, Text(0))), wide(at_end(0, Joined(1, 2))),
    ];
    "wcscmp" "wcscoll", "PP" => [wide(reads(0, Same(0, 1))), wide(reads(1, Same(0, 1)))];
    "wcsncmp", "PPW" => [wide(reads(0, SameWithin(0, 1, 2))), wide(reads(1, SameWithin(0, 1, 2)))];
    "wcscasecmp", "PP" => [wide(reads(0, Alike(0, 1))), wide(reads(1, Alike(0, 1)))];
    "wcschr", "PI" => [wide(reads(0, Until(0, 1)))];
    "wcsrchr", "Pi" => [wide(reads(0, Text(0)))];
    "wcsstr", "PP" => [wide(reads(1, Text(1))), wide(reads(0, Units(1))), wide(late(reads(0, Found(0, 1))))];
    "wcsdup", "P" => [wide(reads(0, Text(0)))];
    "wmemcpy" "wmemmove" "wmempcpy", "PPW" => [wide(reads(1, Argument(2))), wide(writes(0, Argument(2)))];
    "wmemset", "PiW" => [wide(writes(0, Argument(1)))];
    "wmemcmp", "PPW" => [wide(reads(0, Argument(2))), wide(reads(1, Argument(2)))];
    "wmemchr", "PIW" => [wide(reads(0, UntilWithin(0, 1, 2)))];
    "mbstowcs", "PPW" => [reads(1, Units(1)), wide(late(writes(0, ResultWithin(2))))];
    "wcstombs", "PPW" => [wide(reads(1, Units(1))), late(writes(0, ResultWithin(2)))];
    // Numbers.
    "atoi" "atol" "atoll" "atof", "P" => [reads(0, Number(0))];
    "strtol" "strtoul" "strtoll" "strtoull" "strtoimax" "strtoumax" "__isoc23_strtol"
    "__isoc23_strtoul" "__isoc23_strtoll" "__isoc23_strtoull" "__isoc23_strtoimax"
    "__isoc23_strtoumax", "PPi" => [reads(0, Number(0)), writes(1, WORD)];
    "strtod" "strtof" "strtold", "PP" => [reads(0, Number(0)), writes(1, WORD)];
    "wcstol" "wcstoul" "wcstoll" "wcstoull" "__isoc23_wcstol" "__isoc23_wcstoul"
    "__isoc23_wcstoll" "__isoc23_wcstoull", "PPi" => [wide(reads(0, Number(0))), writes(1, WORD)];
    "wcstod" "wcstof", "PP" => [wide(reads(0, Number(0))), writes(1, WORD)];
    // Formats, in memory.
    "sprintf", "PP*" => [reads(1, Text(1)), prints(1), late(writes(0, ResultAndEnd))];
    "__sprintf_chk", "PiwP*" => [reads(1, Text(1)), prints(1), late(writes(0, ResultAndEnd))];
    "snprintf", "PWP*" => [reads(2, Text(2)), prints(2), late(writes(0, ResultWithin(1)))];
    "__snprintf_chk", "PWiwP*" => [reads(2, Text(2)), prints(2), late(writes(0, ResultWithin(1)))];
    "asprintf", "PP*" => [reads(1, Text(1)), prints(1), late(writes(0, WORD))];
    "__asprintf_chk", "PiP*" => [reads(1, Text(1)), prints(1), late(writes(0, WORD))];
    "vsprintf", "PPP" => [reads(1, Text(1)), prints_list(1, 2), late(writes(0, ResultAndEnd))];
    "__vsprintf_chk", "PiwPP" => [reads(1, Text(1)), prints_list(1, 2), late(writes(0, ResultAndEnd))];
    "vsnprintf", "PWPP" => [reads(2, Text(2)), prints_list(2, 3), late(writes(0, ResultWithin(1)))];
    "__vsnprintf_chk", "PWiwPP" => [reads(2, Text(2)), prints_list(2, 3), late(writes(0, ResultWithin(1)))];
    "vasprintf", "PPP" => [reads(1, Text(1)), prints_list(1, 2), late(writes(0, WORD))];
    "__vasprintf_chk", "PiPP" => [reads(1, Text(1)), prints_list(1, 2), late(writes(0, WORD))];
    "swprintf", "PWP*" => [wide(reads(2, Text(2))), prints_wide(2), wide(late(writes(0, ResultAndEnd)))];
    "sscanf" "__isoc99_sscanf" "__isoc23_sscanf", "PP*" => [reads(1, Text(1)), reads(0, Units(1)), scans(1)];
    "vsscanf" "__isoc99_vsscanf" "__isoc23_vsscanf", "PPP" => [
        reads(1, Text(1)), reads(0, Units(1)), scans_list(1, 2),
    ];
    // Times.
    "time", "P" => [writes(0, WORD)];
    "gettimeofday", "Pp" => [late(writes(0, Success(16)))];
    "clock_gettime" "clock_getres", "iP" => [late(writes(0, Success(16)))];
    "localtime_r" "gmtime_r", "PP" => [reads(0, WORD), writes(1, TM)];
    "localtime" "gmtime", "P" => [reads(0, WORD), writes_result(TM)];
    "mktime" "timegm" "timelocal", "P" => [reads(0, TM), writes(0, TM)];
    "asctime_r", "PP" => [reads(0, TM), late(writes(1, Stored(1)))];
    "asctime", "P" => [reads(0, TM), writes_result(ResultText)];
    "ctime_r", "PP" => [reads(0, WORD), late(writes(1, Stored(1)))];
    "ctime", "P" => [reads(0, WORD), writes_result(ResultText)];
    "strftime", "PwPP" => [reads(1, Text(1)), reads(2, TM), late(writes(0, Length::Result))];
    // Names.
    "getenv" "secure_getenv", "P" => [reads(0, Text(0))];
    "setenv", "PPi" => [reads(0, Text(0)), reads(1, Text(1))];
    "inet_ntop", "ipPi" => [late(writes(0, Stored(0)))];
    "inet_pton", "iPp" => [reads(0, Text(0))];
    // Atomic operations of libatomic.
    "__atomic_load", "WPPI" => [atomic(Atomic::Load, 1, Argument(0), 3), writes(2, Argument(0))];
    "__atomic_store", "WPPI" => [reads(2, Argument(0)), atomic(Atomic::Store, 1, Argument(0), 3)];
    "__atomic_exchange", "WPPpI" => [reads(2, Argument(0)), atomic(Atomic::Modify, 1, Argument(0), 3)];
    "__atomic_compare_exchange", "WPPpIi" => [reads(2, Argument(0)), atomic(Atomic::Modify, 1, Argument(0), 3)];
    "__atomic_load_16", "PI" => [atomic(Atomic::Load, 0, Units(16), 1)];
}
in_steps {
    // Functions that call back.
    "qsort", "PWWp" => [reads(0, Sorted(1, 2)), writes(0, Sorted(1, 2))];
    "qsort_r", "PWWpp" => [reads(0, Sorted(1, 2)), writes(0, Sorted(1, 2))];
    // Descriptors.
    "read", "iPw" => [late(writes(0, Length::Result))];
    "__read_chk", "iPww" => [late(writes(0, Length::Result))];
    "pread" "pread64", "iPww" => [late(writes(0, Length::Result))];
    // With `MSG_TRUNC` the result is the length of the whole message.
    "recv", "iPWi" => [late(writes(0, ResultAtMost(1)))];
    "__recv_chk", "iPWwi" => [late(writes(0, ResultAtMost(1)))];
    "recvfrom", "iPWipp" => [late(writes(0, ResultAtMost(1)))];
    "__recvfrom_chk", "iPWwipp" => [late(writes(0, ResultAtMost(1)))];
    "write", "iPW" => [reads(0, Argument(1))];
    "pwrite" "pwrite64", "iPWw" => [reads(0, Argument(1))];
    "send", "iPWi" => [reads(0, Argument(1))];
    "sendto", "iPWiPI" => [reads(0, Argument(1)), reads(2, Argument(3))];
    "readv", "iPI" => [Access::Vector { array: 0, count: 1, write: true }];
    "preadv" "preadv64", "iPIw" => [Access::Vector { array: 0, count: 1, write: true }];
    "writev", "iPI" => [Access::Vector { array: 0, count: 1, write: false }];
    "pwritev" "pwritev64", "iPIw" => [Access::Vector { array: 0, count: 1, write: false }];
    "recvmsg", "iPi" => [Access::Message { message: 0, write: true }];
    "sendmsg", "iPi" => [Access::Message { message: 0, write: false }];
    "epoll_wait", "iPii" => [of(12, late(writes(0, Length::Result)))];
    "pipe", "P" => [late(writes(0, Success(8)))];
    "pipe2", "Pi" => [late(writes(0, Success(8)))];
    "socketpair", "iiiP" => [late(writes(0, Success(8)))];
    "getrandom", "Pwi" => [late(writes(0, Length::Result))];
    // Files.
    "open" "open64", "Pi*" => [reads(0, Text(0))];
    "openat" "openat64", "iPi*" => [reads(0, Text(0))];
    "access" "chmod" "creat" "mkdir", "Pi" => [reads(0, Text(0))];
    "unlink" "rmdir" "remove" "chdir" "opendir", "P" => [reads(0, Text(0))];
    "rename" "link" "symlink", "PP" => [reads(0, Text(0)), reads(1, Text(1))];
    "stat" "stat64" "lstat" "lstat64", "PP" => [reads(0, Text(0)), late(writes(1, Success(144)))];
    "fstat" "fstat64", "iP" => [late(writes(0, Success(144)))];
    "fstatat" "fstatat64", "iPPi" => [reads(0, Text(0)), late(writes(1, Success(144)))];
    "__xstat" "__xstat64" "__lxstat" "__lxstat64", "iPP" => [reads(0, Text(0)), late(writes(1, Success(144)))];
    "__fxstat" "__fxstat64", "iiP" => [late(writes(0, Success(144)))];
    "readlink", "PPw" => [reads(0, Text(0)), late(writes(1, Length::Result))];
    "realpath", "PP" => [reads(0, Text(0)), late(writes(1, Stored(1)))];
    "__realpath_chk", "PPw" => [reads(0, Text(0)), late(writes(1, Stored(1)))];
    "getcwd", "Pw" => [late(writes(0, Stored(0)))];
    "__getcwd_chk", "Pww" => [late(writes(0, Stored(0)))];
    // Streams.
    "fopen" "fopen64" "popen", "PP" => [reads(0, Text(0)), reads(1, Text(1))];
    "fread" "fread_unlocked", "PWwp" => [late(writes(0, ResultTimes(1)))];
    "__fread_chk", "PwWwp" => [late(writes(0, ResultTimes(1)))];
    "fwrite" "fwrite_unlocked", "PWWp" => [reads(0, Product(1, 2))];
    "fgets" "fgets_unlocked", "Pip" => [late(writes(0, Stored(0)))];
    "__fgets_chk", "Pwip" => [late(writes(0, Stored(0)))];
    "fputs" "fputs_unlocked", "Pp" => [reads(0, Text(0))];
    "puts" "perror", "P" => [reads(0, Text(0))];
    "getline", "PPp" => [
        late(writes(0, WORD)), late(writes(1, WORD)), late(block(At::Pointee(0), ResultAndEnd, true)),
    ];
    "getdelim" "__getdelim", "PPip" => [
        late(writes(0, WORD)), late(writes(1, WORD)), late(block(At::Pointee(0), ResultAndEnd, true)),
    ];
    "printf", "P*" => [reads(0, Text(0)), prints(0)];
    "__printf_chk" "syslog", "iP*" => [reads(0, Text(0)), prints(0)];
    "fprintf", "pP*" => [reads(0, Text(0)), prints(0)];
    "__fprintf_chk", "piP*" => [reads(0, Text(0)), prints(0)];
    "dprintf", "iP*" => [reads(0, Text(0)), prints(0)];
    "__dprintf_chk", "iiP*" => [reads(0, Text(0)), prints(0)];
    "warn" "warnx", "P*" => [reads(0, Text(0)), prints(0)];
    "err" "errx", "iP*" => [reads(0, Text(0)), prints(0)];
    "vprintf" "vwarn" "vwarnx", "PP" => [reads(0, Text(0)), prints_list(0, 1)];
    "__vprintf_chk" "vsyslog", "iPP" => [reads(0, Text(0)), prints_list(0, 1)];
    "vfprintf", "pPP" => [reads(0, Text(0)), prints_list(0, 1)];
    "__vfprintf_chk", "piPP" => [reads(0, Text(0)), prints_list(0, 1)];
    "vdprintf", "iPP" => [reads(0, Text(0)), prints_list(0, 1)];
    "wprintf", "P*" => [wide(reads(0, Text(0))), prints_wide(0)];
    "fwprintf", "pP*" => [wide(reads(0, Text(0))), prints_wide(0)];
    "scanf" "__isoc99_scanf" "__isoc23_scanf", "P*" => [reads(0, Text(0)), scans(0)];
    "fscanf" "__isoc99_fscanf" "__isoc23_fscanf", "pP*" => [reads(0, Text(0)), scans(0)];
    "vfscanf" "__isoc99_vfscanf" "__isoc23_vfscanf", "pPP" => [reads(0, Text(0)), scans_list(0, 1)];
}
}
