//! Says to [Raddle](https://docs.rs/cargo-raddle) what a program's types do not.
//!
//! The attributes here are for `cargo raddle predict`. They leave the program as it is: nothing is
//! compiled for them unless Raddle builds it. Whoever prefers to keep them out of the source writes the
//! same into `raddle.toml`.
//!
//! ```
//! /// Only the bounds belong together.
//! #[raddle::set(low, high)]
//! struct Range {
//!     low: std::sync::Mutex<u64>,
//!     high: std::sync::Mutex<u64>,
//!     hits: std::sync::atomic::AtomicU64,
//! }
//!
//! /// A free function is a unit of work only if it says so.
//! #[raddle::unit]
//! fn width(range: &Range) -> u64 {
//!     *range.high.lock().unwrap() - *range.low.lock().unwrap()
//! }
//! # let range = Range { low: 1.into(), high: 3.into(), hits: 0.into() };
//! # assert_eq!(width(&range), 2 + range.hits.into_inner());
//! ```

pub use raddle_attributes::{ignore, set, unit};

/// A static that is an ELF note: the sizes of its name and of its text, a number, the name, the text.
#[cfg(raddle)]
#[doc(hidden)]
#[macro_export]
macro_rules! __note {
    ($($part:expr),*) => {
        const _: () = {
            const TEXT: &::core::primitive::str = ::core::concat!($($part),*);
            const LENGTH: ::core::primitive::usize = TEXT.len();
            #[repr(C, align(4))]
            struct Note(
                [::core::primitive::u32; 3],
                [::core::primitive::u8; 8],
                [::core::primitive::u8; LENGTH],
            );
            #[used]
            #[unsafe(link_section = ".note.raddle")]
            static RADDLE_NOTE: Note = Note(
                [7, LENGTH as ::core::primitive::u32, 1],
                *b"raddle\0\0",
                {
                    let mut bytes = [0; LENGTH];
                    let mut index = 0;
                    while index < LENGTH {
                        bytes[index] = TEXT.as_bytes()[index];
                        index += 1;
                    }
                    bytes
                },
            );
        };
    };
}

/// Nobody reads notes.
#[cfg(not(raddle))]
#[doc(hidden)]
#[macro_export]
macro_rules! __note {
    ($($part:expr),*) => {};
}
