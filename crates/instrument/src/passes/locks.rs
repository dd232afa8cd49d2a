//! The lock functions that Raddle knows by name, as data, and the events they give.
//!
//! A lock's fast path is one atomic operation that is usually inlined, so it is recognised by
//! the function that directly performs the operation, whether inlined or not. The slow path
//! is a function of its own, in which a thread may block.

use raddle_abi::hooks::lock::{ACQUIRED, EXCLUSIVE, FAILED, RELEASE, SHARED, WANT};

/// What a lock function does to its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A compare-exchange in it that succeeds acquires the lock, in this mode.
    FastAcquire(u32),
    /// The function returns when it has the lock, or `false` when it gave up.
    SlowAcquire(u32),
    /// An atomic read-modify-write in it is about to give these events.
    Modify(&'static [u32]),
}

const STD_MUTEX: &str = "std::sys::sync::mutex::futex::Mutex";
const STD_RWLOCK: &str = "std::sys::sync::rwlock::futex::RwLock";
const RAW_MUTEX: &str = "parking_lot::raw_mutex::RawMutex";
const RAW_RWLOCK: &str = "parking_lot::raw_rwlock::RawRwLock";
const DASHMAP: &str = "dashmap::lock::RawRwLock";

const RELEASE_EXCLUSIVE: &[u32] = &[RELEASE | EXCLUSIVE];
const RELEASE_SHARED: &[u32] = &[RELEASE | SHARED];
const DOWNGRADE: &[u32] = &[RELEASE | EXCLUSIVE, ACQUIRED | SHARED];
const UPGRADE: &[u32] = &[RELEASE | SHARED, ACQUIRED | EXCLUSIVE];

/// Type, trait (empty for inherent methods), method, role.
const LOCKS: &[(&str, &str, &str, Role)] = &[
    (STD_MUTEX, "", "lock", Role::FastAcquire(EXCLUSIVE)),
    (STD_MUTEX, "", "try_lock", Role::FastAcquire(EXCLUSIVE)),
    (
        STD_MUTEX,
        "",
        "lock_contended",
        Role::SlowAcquire(EXCLUSIVE),
    ),
    (STD_MUTEX, "", "unlock", Role::Modify(RELEASE_EXCLUSIVE)),
    (STD_RWLOCK, "", "read", Role::FastAcquire(SHARED)),
    (STD_RWLOCK, "", "try_read", Role::FastAcquire(SHARED)),
    (STD_RWLOCK, "", "read_contended", Role::SlowAcquire(SHARED)),
    (STD_RWLOCK, "", "read_unlock", Role::Modify(RELEASE_SHARED)),
    (STD_RWLOCK, "", "write", Role::FastAcquire(EXCLUSIVE)),
    (STD_RWLOCK, "", "try_write", Role::FastAcquire(EXCLUSIVE)),
    (
        STD_RWLOCK,
        "",
        "write_contended",
        Role::SlowAcquire(EXCLUSIVE),
    ),
    (
        STD_RWLOCK,
        "",
        "write_unlock",
        Role::Modify(RELEASE_EXCLUSIVE),
    ),
    (STD_RWLOCK, "", "downgrade", Role::Modify(DOWNGRADE)),
    (
        RAW_MUTEX,
        "lock_api::mutex::RawMutex",
        "lock",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        RAW_MUTEX,
        "lock_api::mutex::RawMutex",
        "try_lock",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        RAW_MUTEX,
        "lock_api::mutex::RawMutex",
        "unlock",
        Role::Modify(RELEASE_EXCLUSIVE),
    ),
    (
        RAW_MUTEX,
        "lock_api::mutex::RawMutexFair",
        "unlock_fair",
        Role::Modify(RELEASE_EXCLUSIVE),
    ),
    (
        RAW_MUTEX,
        "lock_api::mutex::RawMutexTimed",
        "try_lock_for",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        RAW_MUTEX,
        "lock_api::mutex::RawMutexTimed",
        "try_lock_until",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (RAW_MUTEX, "", "lock_slow", Role::SlowAcquire(EXCLUSIVE)),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLock",
        "lock_exclusive",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLock",
        "try_lock_exclusive",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLock",
        "unlock_exclusive",
        Role::Modify(RELEASE_EXCLUSIVE),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLock",
        "unlock_shared",
        Role::Modify(RELEASE_SHARED),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLockFair",
        "unlock_exclusive_fair",
        Role::Modify(RELEASE_EXCLUSIVE),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLockDowngrade",
        "downgrade",
        Role::Modify(DOWNGRADE),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLockTimed",
        "try_lock_exclusive_for",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLockTimed",
        "try_lock_exclusive_until",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLockUpgrade",
        "unlock_upgradable",
        Role::Modify(RELEASE_SHARED),
    ),
    (
        RAW_RWLOCK,
        "lock_api::rwlock::RawRwLockUpgrade",
        "upgrade",
        Role::Modify(UPGRADE),
    ),
    (
        RAW_RWLOCK,
        "",
        "try_lock_shared_fast",
        Role::FastAcquire(SHARED),
    ),
    (
        RAW_RWLOCK,
        "",
        "try_lock_shared_slow",
        Role::FastAcquire(SHARED),
    ),
    (
        RAW_RWLOCK,
        "",
        "try_lock_upgradable_fast",
        Role::FastAcquire(SHARED),
    ),
    (
        RAW_RWLOCK,
        "",
        "try_lock_upgradable_slow",
        Role::FastAcquire(SHARED),
    ),
    (
        RAW_RWLOCK,
        "",
        "lock_exclusive_slow",
        Role::SlowAcquire(EXCLUSIVE),
    ),
    (
        RAW_RWLOCK,
        "",
        "lock_shared_slow",
        Role::SlowAcquire(SHARED),
    ),
    (
        RAW_RWLOCK,
        "",
        "lock_upgradable_slow",
        Role::SlowAcquire(SHARED),
    ),
    (
        DASHMAP,
        "lock_api::rwlock::RawRwLock",
        "lock_exclusive",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        DASHMAP,
        "lock_api::rwlock::RawRwLock",
        "try_lock_exclusive",
        Role::FastAcquire(EXCLUSIVE),
    ),
    (
        DASHMAP,
        "lock_api::rwlock::RawRwLock",
        "unlock_exclusive",
        Role::Modify(RELEASE_EXCLUSIVE),
    ),
    (
        DASHMAP,
        "lock_api::rwlock::RawRwLock",
        "unlock_shared",
        Role::Modify(RELEASE_SHARED),
    ),
    (
        DASHMAP,
        "",
        "try_lock_shared_fast",
        Role::FastAcquire(SHARED),
    ),
    (
        DASHMAP,
        "",
        "try_lock_shared_slow",
        Role::FastAcquire(SHARED),
    ),
    (
        DASHMAP,
        "",
        "lock_exclusive_slow",
        Role::SlowAcquire(EXCLUSIVE),
    ),
    (DASHMAP, "", "lock_shared_slow", Role::SlowAcquire(SHARED)),
];

/// What the function with this path does to a lock, if it is one of [`LOCKS`].
pub(super) fn role(path: &str) -> Option<Role> {
    let (owner, method) = path.rsplit_once("::")?;
    let (kind, interface) = match owner.strip_prefix('<') {
        Some(qualified) => qualified.strip_suffix('>')?.split_once(" as ")?,
        None => (owner, ""),
    };
    LOCKS
        .iter()
        .find(|row| row.0 == kind && row.1 == interface && row.2 == method)
        .map(|row| row.3)
}

/// The events of a slow path: at entry, at a return with the lock, at a return without it.
pub(super) fn slow_events(mode: u32) -> (u32, u32, u32) {
    (WANT | mode, ACQUIRED | mode, FAILED | mode)
}

/// The events of a fast path: if the exchange succeeds, and if not.
pub(super) fn fast_events(mode: u32) -> (u32, u32) {
    (ACQUIRED | mode, FAILED | mode)
}

#[cfg(test)]
mod tests {
    use super::{LOCKS, Role, role};

    #[test]
    fn every_row_is_found_by_its_path() {
        for (kind, interface, method, expected) in LOCKS {
            let path = if interface.is_empty() {
                format!("{kind}::{method}")
            } else {
                format!("<{kind} as {interface}>::{method}")
            };
            assert_eq!(role(&path), Some(*expected), "{path}");
        }
    }

    #[test]
    fn methods_of_other_types_are_not_locks() {
        assert_eq!(role("my_crate::Mutex::lock"), None);
        assert_eq!(role("lock"), None);
        assert!(matches!(
            role("std::sys::sync::mutex::futex::Mutex::unlock"),
            Some(Role::Modify(_))
        ));
    }
}
