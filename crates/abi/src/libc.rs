//! What functions of libc do to memory that the program passes to them, as data.
//!
//! Instrumentation finds a called function in [`ALL`] by its name and the types of its arguments, and
//! passes the arguments that [`Function::arguments`] selects to the hook
//! [`CALL`](crate::hooks::CALL). The runtime works out which bytes the call reads and writes, by
//! [`Function::accesses`]. A new function is one row of the table.
//!
//! A call counts as reading what the C standard requires it to read, and no more: libc may read whole
//! words, or all of a string of which the beginning decides. What a call writes is exact where the
//! result or the arguments tell it, else less.

mod table;

pub use self::table::ALL;

/// Most arguments that the hook passes on, besides those of a variadic part.
pub const ARGUMENTS: usize = 4;

/// Most accesses of a row.
pub const ACCESSES: usize = 6;

/// Bit in the hook's first argument, beside the function's number: the call has returned.
pub const RETURNED: u32 = 1 << 31;

/// Bit in the hook's first argument for the first of the arguments that are passed on: no other thread can
/// see what it points to, or it never changes. Those of the others follow.
pub const PRIVATE: u32 = 1 << 16;

/// Bits of the function's number.
pub const NUMBER: u32 = PRIVATE - 1;

/// One function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its symbol.
    pub symbol: &'static str,
    /// A letter for each argument: `p` a pointer, `w` an integer of 64 bits, `i` a smaller one,
    /// and in capitals if the accesses refer to it. `*` stands for the variadic part.
    pub signature: &'static str,
    /// What it accesses. Arguments are counted among those in capitals.
    pub accesses: &'static [Access],
    /// Whether other threads may run during the call: it waits, calls back, or makes system calls.
    pub waits: bool,
}

impl Function {
    /// Places of the arguments that the hook passes on.
    pub fn arguments(&self) -> impl Iterator<Item = u32> {
        let letters = self.signature.bytes().enumerate();
        letters
            .filter(|(_, letter)| letter.is_ascii_uppercase())
            .map(|(place, _)| place as u32)
    }

    /// Number of arguments before the variadic part.
    pub const fn fixed(&self) -> u32 {
        (self.signature.len() - self.is_variadic() as usize) as u32
    }

    /// Whether there is a variadic part.
    pub const fn is_variadic(&self) -> bool {
        matches!(self.signature.as_bytes().last(), Some(b'*'))
    }

    /// Whether some accesses are known only when the call has returned.
    pub fn has_late(&self) -> bool {
        self.accesses.iter().any(Access::is_late)
    }
}

/// One access of a function, or several of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To bytes that stand together.
    Block(Block),
    /// To the buffers of an array of `iovec`: the argument, and that with their count. If they are
    /// written, the result says how many bytes of them are.
    Vector {
        /// The array.
        array: u8,
        /// Their count.
        count: u8,
        /// Whether they are written.
        write: bool,
    },
    /// To what a `msghdr` points to.
    Message {
        /// The argument.
        message: u8,
        /// Whether its buffers are written.
        write: bool,
    },
    /// To what a format of `printf` refers to.
    Printed(Format),
    /// To what a format of `scanf` refers to, as far as the result says.
    Scanned(Format),
    /// An atomic operation of libatomic.
    Atomic {
        /// What it does.
        operation: Atomic,
        /// The object.
        object: u8,
        /// Its size.
        size: Length,
        /// The memory order.
        order: u8,
    },
}

impl Access {
    /// Whether it is known only when the call has returned.
    pub const fn is_late(&self) -> bool {
        match self {
            Self::Block(block) => block.late,
            Self::Vector { write, .. } | Self::Message { write, .. } => *write,
            Self::Printed(_) | Self::Atomic { .. } => false,
            Self::Scanned(_) => true,
        }
    }
}

/// Atomic operations of libatomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// A load.
    Load,
    /// A store.
    Store,
    /// Any other.
    Modify,
}

/// A format and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The format.
    pub format: u8,
    /// The `va_list`; `None` if the arguments are the call's own.
    pub list: Option<u8>,
    /// Bytes of a character of the format.
    pub unit: u8,
}

/// An access to bytes that stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where.
    pub at: At,
    /// How many units.
    pub length: Length,
    /// Bytes of a unit.
    pub unit: u8,
    /// Whether it is a write.
    pub write: bool,
    /// Whether it is known only when the call has returned.
    pub late: bool,
}

/// Where a block begins. No access is made where it is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Where an argument points to.
    Argument(u8),
    /// So many bytes behind it.
    Field(u8, u8),
    /// At the end of the string that an argument points to.
    End(u8),
    /// Where the pointer points to that an argument points to.
    Pointee(u8),
    /// Where the result points to.
    Result,
    /// Before what an argument points a pointer to: where a token was cut off, if it was.
    Cut(u8),
}

/// How many units are accessed. Numbers name arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many.
    Units(u8),
    /// So many if the result is zero.
    Success(u8),
    /// As many as an argument says.
    Argument(u8),
    /// The product of two arguments.
    Product(u8, u8),
    /// The product of two arguments, if the first is at least two.
    Sorted(u8, u8),
    /// The string at an argument, with its end.
    Text(u8),
    /// The string at an argument, with its end, or as many units of it as another argument says.
    TextWithin(u8, u8),
    /// So much of the string at the first argument as the second says, and an end.
    Joined(u8, u8),
    /// The string at the second argument, behind the string at the first, which has as many units as the
    /// third says.
    Appended(u8, u8, u8),
    /// The string at the first argument, up to the character that the second is.
    Until(u8, u8),
    /// From the first argument on up to the character that the second is, or as many units as the third
    /// says.
    UntilWithin(u8, u8, u8),
    /// The strings at two arguments, up to where they differ.
    Same(u8, u8),
    /// The same, or as many units as the third says.
    SameWithin(u8, u8, u8),
    /// As [`Length::Same`], where the case of letters makes no difference.
    Alike(u8, u8),
    /// As [`Length::SameWithin`], where the case of letters makes no difference.
    AlikeWithin(u8, u8, u8),
    /// The string at an argument, up to what cannot belong to a decimal number.
    Number(u8),
    /// As many as the result says.
    Result,
    /// As many as the result says, but no more than the argument says.
    ResultAtMost(u8),
    /// One more than the result says.
    ResultAndEnd,
    /// One more than the result says, or as many as the argument says.
    ResultWithin(u8),
    /// The product of the result and an argument.
    ResultTimes(u8),
    /// Up to the result, and so many more.
    ToResult(u8),
    /// The string at the first argument up to the result, and as much as the string at the second is long;
    /// all of it if there is no result.
    Found(u8, u8),
    /// The string at an argument up to what the result points to; all of it if there is no result.
    FoundOne(u8),
    /// So many if the result is not zero.
    Given(u8),
    /// The string that the result points to, with its end.
    ResultText,
    /// The string at an argument, with its end, if the result is not zero.
    Stored(u8),
}

#[cfg(test)]
mod tests {
    use super::{ALL, ARGUMENTS, Access, At, Length};

    /// Arguments that an access names.
    fn named(access: &Access) -> [usize; 4] {
        let of_length = |length| match length {
            Length::Argument(a)
            | Length::Text(a)
            | Length::Number(a)
            | Length::ResultAtMost(a)
            | Length::ResultWithin(a)
            | Length::ResultTimes(a)
            | Length::FoundOne(a)
            | Length::Stored(a) => [a, 0, 0],
            Length::Product(a, b)
            | Length::Sorted(a, b)
            | Length::TextWithin(a, b)
            | Length::Joined(a, b)
            | Length::Until(a, b)
            | Length::Same(a, b)
            | Length::Alike(a, b)
            | Length::Found(a, b) => [a, b, 0],
            Length::Appended(a, b, c)
            | Length::UntilWithin(a, b, c)
            | Length::SameWithin(a, b, c)
            | Length::AlikeWithin(a, b, c) => [a, b, c],
            _ => [0; 3],
        };
        let (first, length) = match *access {
            Access::Block(block) => {
                let first = match block.at {
                    At::Argument(a)
                    | At::Field(a, _)
                    | At::End(a)
                    | At::Pointee(a)
                    | At::Cut(a) => a,
                    At::Result => 0,
                };
                (first, block.length)
            }
            Access::Vector { array, count, .. } => (array, Length::Argument(count)),
            Access::Message { message, .. } => (message, Length::Result),
            Access::Printed(format) | Access::Scanned(format) => {
                (format.format, Length::Argument(format.list.unwrap_or(0)))
            }
            Access::Atomic {
                object,
                size,
                order,
                ..
            } => (object.max(order), size),
        };
        let [a, b, c] = of_length(length);
        [first, a, b, c].map(usize::from)
    }

    #[test]
    fn rows_name_only_arguments_that_are_passed_on() {
        for function in ALL {
            let passed = function.arguments().count();
            assert!((1..=ARGUMENTS).contains(&passed), "{function:?}");
            for access in function.accesses {
                let most = named(access).into_iter().max();
                assert!(most < Some(passed), "{function:?}: {access:?}");
            }
        }
    }

    #[test]
    fn formats_have_their_arguments_from_one_place() {
        for function in ALL {
            for access in function.accesses {
                if let Access::Printed(format) | Access::Scanned(format) = access {
                    assert_ne!(
                        function.is_variadic(),
                        format.list.is_some(),
                        "{function:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_symbol_stands_once_with_each_number_of_arguments() {
        for (number, function) in ALL.iter().enumerate() {
            let is_same = |other: &super::Function| {
                other.symbol == function.symbol && other.signature == function.signature
            };
            assert!(!ALL[number + 1..].iter().any(is_same), "{function:?}");
        }
    }
}
