//! What a step does, in a few words.

use raddle_abi::record::RawEvent;
use raddle_abi::site::Operation;

use super::locate::{Located, short};

/// The words for an event at a place. Of a step at fault it is told what it does even if
/// that happens inside of std.
pub(super) fn words(event: &RawEvent, located: &Located, is_fault: bool) -> String {
    let operation = Operation::from_number(event.operation).unwrap_or(Operation::Unknown);
    if has_own_words(operation) {
        return operation_words(operation, event);
    }
    match located.std_callee() {
        Some(callee) if is_fault => {
            format!("{} in {}", operation_words(operation, event), short(callee))
        }
        Some(callee) => format!("calls {}", short(callee)),
        None => operation_words(operation, event),
    }
}

/// Operations that say more than the function around them.
fn has_own_words(operation: Operation) -> bool {
    use Operation::{
        Alloc, Exit, Free, Join, LockAcquire, LockRelease, LockWant, Panic, Sleep, Spawn, Start,
        TestBegin, TestEnd,
    };
    matches!(
        operation,
        Spawn
            | Alloc
            | Free
            | Join
            | Start
            | Exit
            | LockWant
            | LockAcquire
            | LockRelease
            | Sleep
            | Panic
            | TestBegin
            | TestEnd
    )
}

fn operation_words(operation: Operation, event: &RawEvent) -> String {
    let value = value(event.value);
    match operation {
        Operation::Read | Operation::VolatileRead => format!("reads {}", bytes(event.len)),
        Operation::Write | Operation::VolatileWrite => format!("writes {}", bytes(event.len)),
        Operation::AtomicLoad => format!("loads {value}"),
        Operation::AtomicStore => format!("stores {value}"),
        Operation::AtomicRmw => format!("updates atomically (was {value})"),
        Operation::AtomicCas => format!("fails to exchange (found {value})"),
        Operation::Fence => "fence".to_owned(),
        Operation::Yield => "yields".to_owned(),
        Operation::Alloc => format!("allocates {}", bytes(event.len)),
        Operation::Free => "frees".to_owned(),
        Operation::Spawn => format!("starts thread {}", event.address),
        Operation::Join => format!("joins thread {}", event.address),
        Operation::Start => "begins".to_owned(),
        Operation::Exit => "ends".to_owned(),
        Operation::FutexWait => "waits".to_owned(),
        Operation::FutexWake => match (event.value, event.order.checked_sub(1)) {
            (0, _) => "wakes no thread".to_owned(),
            (1, Some(woken)) => format!("wakes thread {woken}"),
            (many, _) => format!("wakes {many} threads"),
        },
        Operation::LockWant => "wants a lock".to_owned(),
        Operation::LockAcquire => "locks".to_owned(),
        Operation::LockRelease => "unlocks".to_owned(),
        Operation::Sleep => "sleeps".to_owned(),
        Operation::Io => "waits for input or output".to_owned(),
        Operation::Panic => "panics".to_owned(),
        Operation::Asm => "runs assembly".to_owned(),
        Operation::Enter => "enters".to_owned(),
        Operation::Leave => "leaves".to_owned(),
        Operation::Argument => "gets a pointer".to_owned(),
        Operation::Send => "sends".to_owned(),
        Operation::Receive => "receives".to_owned(),
        Operation::Branch => "decides".to_owned(),
        Operation::Frame => "uses a stack".to_owned(),
        Operation::Value => "touches memory".to_owned(),
        Operation::TestBegin => "begins the test".to_owned(),
        Operation::TestEnd => "ends the test".to_owned(),
        Operation::Unknown => "runs".to_owned(),
    }
}

/// "reads" or "writes", for an access at fault.
pub(super) fn verb(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "reads",
        Operation::Write => "writes",
        Operation::AtomicLoad => "atomically loads",
        Operation::AtomicStore => "atomically stores",
        Operation::AtomicRmw => "atomically updates",
        Operation::AtomicCas => "atomically compares",
        Operation::VolatileRead => "reads (volatile)",
        Operation::VolatileWrite => "writes (volatile)",
        Operation::Free => "frees",
        Operation::Alloc => "allocates",
        _ => "touches",
    }
}

/// "read of 8 bytes", for the heading of a stack.
pub(super) fn noun(operation: Operation, len: u32) -> String {
    let name = match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::AtomicLoad => "atomic load",
        Operation::AtomicStore => "atomic store",
        Operation::AtomicRmw => "atomic update",
        Operation::AtomicCas => "failed compare-exchange",
        Operation::VolatileRead => "volatile read",
        Operation::VolatileWrite => "volatile write",
        Operation::Free => "free",
        Operation::Alloc => "allocation",
        _ => "access",
    };
    match len {
        0 => name.to_owned(),
        len => format!("{name} of {}", bytes(len)),
    }
}

/// "8 bytes".
pub(super) fn bytes(len: u32) -> String {
    if len == 1 {
        "1 byte".to_owned()
    } else {
        format!("{len} bytes")
    }
}

/// Small numbers as they are, pointers and hashes in hex.
pub(super) fn value(value: u64) -> String {
    if value < 1 << 20 {
        value.to_string()
    } else {
        format!("{value:#x}")
    }
}
