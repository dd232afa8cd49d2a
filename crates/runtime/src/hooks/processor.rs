//! Atomic operations as the processor does them, where native threads touch the same memory
//! (see [`crate::native`]). Otherwise nobody runs beside the one thread that runs, and plain
//! accesses are atomic by construction.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Writes `new` if `expected` is there. The value that was there, either way; both are as wide
/// as `size` bytes.
///
/// # Safety
/// As an atomic operation of the program.
pub unsafe fn compare_exchange(address: usize, expected: u64, new: u64, size: u32) -> u64 {
    macro_rules! exchange {
        ($atomic:ty, $integer:ty) => {{
            // SAFETY: the caller's promise.
            let atomic = unsafe { <$atomic>::from_ptr(address as *mut $integer) };
            let (expected, new) = (expected as $integer, new as $integer);
            match atomic.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(old) | Err(old) => u64::from(old),
            }
        }};
    }
    match size {
        1 => exchange!(AtomicU8, u8),
        2 => exchange!(AtomicU16, u16),
        4 => exchange!(AtomicU32, u32),
        _ => exchange!(AtomicU64, u64),
    }
}

/// Writes what `combine` makes of the value that is there, and returns that one.
///
/// # Safety
/// As an atomic operation of the program.
pub unsafe fn update(address: usize, size: u32, combine: impl Fn(u64) -> u64) -> u64 {
    let mut seen = 0;
    loop {
        // SAFETY: the caller's promise.
        let old = unsafe { compare_exchange(address, seen, combine(seen), size) };
        if old == seen {
            return old;
        }
        seen = old;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_of_several_threads_all_count_and_stay_within_their_bytes() {
        let words = [AtomicU16::new(0), AtomicU16::new(7)];
        let address = words[0].as_ptr() as usize;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        // SAFETY: an atomic that outlives the threads.
                        unsafe { update(address, 2, |old| old.wrapping_add(1)) };
                    }
                });
            }
        });
        let sum = 80_000_u32 as u16;
        assert_eq!(words[0].load(Ordering::Relaxed), sum);
        assert_eq!(words[1].load(Ordering::Relaxed), 7);
        // SAFETY: as above.
        let kept = unsafe { compare_exchange(address, u64::from(sum) + 1, 1, 2) };
        assert_eq!(kept, u64::from(sum));
        assert_eq!(words[0].load(Ordering::Relaxed), sum);
    }
}
