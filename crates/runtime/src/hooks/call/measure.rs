//! Which bytes a call reads and writes.
//!
//! Strings are measured in the program's memory, up to the first byte that must not be touched: that one
//! is read too, so that the oracle of the heap sees it.

use super::format;
use crate::global::Global;
use crate::heap::{self, granules};
use crate::world::world;
use raddle_abi::libc::{ARGUMENTS, Access, At, Block, Function, Length, PRIVATE};

/// Called with address, length in bytes, and whether it is a write.
pub type Visit<'v> = &'v mut dyn FnMut(usize, usize, bool);

/// Whether the program's memory is being measured: a fault is one of the call then.
static MEASURING: Global<bool> = Global::new(false);

/// Whether a fault that has just happened belongs to the call that is looked at.
pub fn is_faulty() -> bool {
    core::mem::take(MEASURING.get())
}

/// Reads the program's memory.
fn measuring<T>(section: impl FnOnce() -> T) -> T {
    *MEASURING.get() = true;
    let result = section();
    *MEASURING.get() = false;
    result
}

/// A call.
pub struct Call<'f> {
    /// The function.
    pub function: &'f Function,
    /// Those of its arguments that accesses refer to.
    arguments: [usize; ARGUMENTS],
    /// Number of variadic arguments, then those.
    pub variadic: *const u64,
    /// What it returned, if it has.
    pub result: i64,
    /// Bits of [`PRIVATE`].
    marks: u32,
}

impl<'f> Call<'f> {
    pub fn new(
        function: &'f Function,
        arguments: [usize; ARGUMENTS],
        variadic: *const u64,
        result: u64,
        marks: u32,
    ) -> Self {
        Self {
            function,
            arguments,
            variadic,
            result: result as i64,
            marks,
        }
    }

    /// An argument of the call.
    pub fn argument(&self, index: u8) -> usize {
        self.arguments
            .get(usize::from(index))
            .map_or(0, |value| *value)
    }

    /// The accesses before the call, or those that are known when it has returned.
    pub fn each(&self, late: bool, visit: Visit<'_>) {
        for access in self.function.accesses {
            if access.is_late() == late {
                self.look_at(access, visit);
            }
        }
    }

    /// The accesses that a call will make, as far as that can be said before it. Those that depend on
    /// its result are shorter than they may become.
    pub fn each_expected(&self, visit: Visit<'_>) {
        for access in self.function.accesses {
            match access {
                Access::Block(block) if block.late => {
                    if self.is_private(block.at) {
                        continue;
                    }
                    let address = match block.at {
                        At::Argument(_) | At::Field(..) => self.address(block.at, 1),
                        _ => 0,
                    };
                    if address != 0 {
                        visit(address, usize::from(block.unit), block.write);
                    }
                }
                Access::Scanned(format) => format::expected(self, *format, visit),
                Access::Vector {
                    array,
                    count,
                    write,
                } => {
                    self.vector(
                        self.argument(*array),
                        self.argument(*count),
                        *write,
                        usize::MAX,
                        visit,
                    );
                }
                Access::Message { message, write } => {
                    self.message(self.argument(*message), *write, usize::MAX, visit);
                }
                other => self.look_at(other, visit),
            }
        }
    }

    fn look_at(&self, access: &Access, visit: Visit<'_>) {
        let received = self.result.max(0) as usize;
        match *access {
            Access::Block(block) => self.block(block, visit),
            Access::Printed(format) => format::printed(self, format, visit),
            Access::Scanned(format) => format::scanned(self, format, visit),
            Access::Vector {
                array,
                count,
                write,
            } => {
                let most = if write { received } else { usize::MAX };
                self.vector(
                    self.argument(array),
                    self.argument(count),
                    write,
                    most,
                    visit,
                );
            }
            Access::Message { message, write } => {
                let most = if write { received } else { usize::MAX };
                if !write || self.result >= 0 {
                    self.message(self.argument(message), write, most, visit);
                }
            }
            Access::Atomic { .. } => {}
        }
    }

    /// Whether a block is of no interest to other threads.
    fn is_private(&self, at: At) -> bool {
        match at {
            At::Argument(index) | At::Field(index, _) | At::End(index) => {
                self.marks & PRIVATE << index != 0
            }
            At::Pointee(_) | At::Result | At::Cut(_) => false,
        }
    }

    fn block(&self, block: Block, visit: Visit<'_>) {
        if self.is_private(block.at) {
            return;
        }
        let unit = usize::from(block.unit);
        let address = self.address(block.at, unit);
        if address == 0 {
            return;
        }
        let len = self.units(block.length, address, unit).saturating_mul(unit);
        if len > 0 {
            visit(address, len, block.write);
        }
    }

    /// Up to `most` bytes of the buffers of an array of `iovec`, and the array.
    fn vector(&self, array: usize, count: usize, write: bool, most: usize, visit: Visit<'_>) {
        const ENTRY: usize = 16;
        const MOST: usize = 1024;
        if array == 0 || count == 0 || count > MOST {
            return;
        }
        visit(array, count * ENTRY, false);
        let mut left = most;
        for number in 0..count {
            if left == 0 {
                return;
            }
            let place = array + number * ENTRY;
            let (buffer, len) = (word(place), word(place + 8).min(left));
            left -= len;
            if buffer != 0 && len > 0 {
                visit(buffer, len, write);
            }
        }
    }

    /// A `msghdr`, and what it points to.
    fn message(&self, message: usize, write: bool, most: usize, visit: Visit<'_>) {
        if message == 0 {
            return;
        }
        visit(message, 56, false);
        if write {
            // Length of control data, and flags.
            visit(message + 40, 12, true);
        } else {
            let (name, name_len) = (word(message), word(message + 8) as u32 as usize);
            let (control, control_len) = (word(message + 32), word(message + 40));
            for (place, len) in [(name, name_len), (control, control_len)] {
                if place != 0 && len > 0 {
                    visit(place, len, false);
                }
            }
        }
        self.vector(word(message + 16), word(message + 24), write, most, visit);
    }

    /// Where a block begins; 0 if there is none.
    fn address(&self, at: At, unit: usize) -> usize {
        let behind = |address: usize, units: usize| match address {
            0 => 0,
            address => address + units.saturating_sub(1) * unit,
        };
        match at {
            At::Argument(index) => self.argument(index),
            At::Field(index, offset) => match self.argument(index) {
                0 => 0,
                address => address + usize::from(offset),
            },
            At::End(index) => {
                let address = self.argument(index);
                behind(address, text(address, unit, usize::MAX))
            }
            At::Pointee(index) => match self.argument(index) {
                0 => 0,
                address => word(address),
            },
            At::Result => self.result as usize,
            At::Cut(index) => {
                let (token, next) = (self.result as usize, self.argument(index));
                if token == 0 || next == 0 {
                    return 0;
                }
                let end = token + text(token, unit, usize::MAX);
                // Without a delimiter the string ends there by itself.
                if word(next) == end { end - unit } else { 0 }
            }
        }
    }

    /// How many units of a block that begins at `address` are accessed.
    pub fn units(&self, length: Length, address: usize, unit: usize) -> usize {
        let argument = |index| self.argument(index);
        let returned = usize::try_from(self.result).ok();
        let text = |index, most| text(argument(index), unit, most);
        match length {
            Length::Units(count) => usize::from(count),
            Length::Success(count) if self.result == 0 => usize::from(count),
            Length::Success(_) => 0,
            Length::Argument(index) => argument(index),
            Length::Product(first, second) => argument(first).saturating_mul(argument(second)),
            Length::Sorted(first, _) if argument(first) < 2 => 0,
            Length::Sorted(first, second) => argument(first).saturating_mul(argument(second)),
            Length::Text(index) => text(index, usize::MAX),
            Length::TextWithin(index, most) => text(index, argument(most)),
            Length::Joined(index, most) => {
                let (most, whole) = (argument(most), text(index, argument(most)));
                // What is cut gets an end.
                let is_cut = whole == most && most > 0 && self.ends_late(index, most, unit);
                whole + usize::from(is_cut)
            }
            Length::Appended(first, index, most) => {
                let used = (address - argument(first)) / unit;
                text(index, usize::MAX).min(argument(most).saturating_sub(used))
            }
            Length::Until(index, character) => {
                until(argument(index), unit, argument(character), true, usize::MAX)
            }
            Length::UntilWithin(index, character, most) => until(
                argument(index),
                unit,
                argument(character),
                false,
                argument(most),
            ),
            Length::Same(..)
            | Length::SameWithin(..)
            | Length::Alike(..)
            | Length::AlikeWithin(..) => self.compared(length, unit),
            Length::Number(index) => number(argument(index), unit),
            Length::Result => returned.unwrap_or(0),
            Length::ResultAtMost(most) => returned.map_or(0, |count| count.min(argument(most))),
            Length::ResultAndEnd => returned.map_or(0, |count| count + 1),
            Length::ResultWithin(most) => {
                returned.map_or(0, |count| count.saturating_add(1).min(argument(most)))
            }
            Length::ResultTimes(size) => returned.unwrap_or(0).saturating_mul(argument(size)),
            Length::ToResult(more) => match (self.result as usize).checked_sub(address) {
                Some(bytes) if self.result != 0 => bytes / unit + usize::from(more),
                _ => 0,
            },
            Length::Found(index, other) => match self.result as usize {
                0 => text(index, usize::MAX),
                found => {
                    found.saturating_sub(address) / unit + text(other, usize::MAX).saturating_sub(1)
                }
            },
            Length::FoundOne(index) => match self.result as usize {
                0 => text(index, usize::MAX),
                found => found.saturating_sub(address) / unit + 1,
            },
            Length::Given(count) if self.result != 0 => usize::from(count),
            Length::Given(_) => 0,
            Length::ResultText => self::text(self.result as usize, unit, usize::MAX),
            Length::Stored(_) if self.result == 0 => 0,
            Length::Stored(index) => text(index, usize::MAX),
        }
    }

    /// Whether the string at an argument goes on behind so many units, which may be touched.
    fn ends_late(&self, index: u8, units: usize, unit: usize) -> bool {
        let last = self.argument(index) + (units - 1) * unit;
        measuring(|| get(last, unit)).is_some_and(|value| value != 0)
    }

    fn compared(&self, length: Length, unit: usize) -> usize {
        let (first, second, most, folds) = match length {
            Length::Same(first, second) => (first, second, usize::MAX, false),
            Length::Alike(first, second) => (first, second, usize::MAX, true),
            Length::SameWithin(first, second, most) => (first, second, self.argument(most), false),
            Length::AlikeWithin(first, second, most) => (first, second, self.argument(most), true),
            _ => return 0,
        };
        let (first, second) = (self.argument(first), self.argument(second));
        if first == 0 || second == 0 {
            return 0;
        }
        let fold = |value: u32| match u8::try_from(value) {
            Ok(byte) if folds => byte.to_ascii_lowercase().into(),
            _ => value,
        };
        measuring(|| {
            let goes_on = |at: &usize| {
                let (one, other) = (get(first + at * unit, unit), get(second + at * unit, unit));
                let (Some(one), Some(other)) = (one, other) else {
                    return false;
                };
                one != 0 && fold(one) == fold(other)
            };
            let same = (0..most).take_while(goes_on).count();
            same.saturating_add(1).min(most)
        })
    }
}

/// A word of the program's memory; 0 if it must not be touched.
pub fn word(address: usize) -> usize {
    if !heap::contains(address) || granules::may_touch(address, 8) {
        // SAFETY: the call that is announced reads the same. A fault is told as one of the call.
        measuring(|| unsafe { (address as *const usize).read_unaligned() })
    } else {
        0
    }
}

/// A character; `None` if it must not be touched.
#[inline(always)]
fn get(address: usize, unit: usize) -> Option<u32> {
    if world().orders.heap && heap::contains(address) && !granules::may_touch(address, unit) {
        return None;
    }
    // SAFETY: as for `word`.
    Some(unsafe {
        match unit {
            1 => u32::from(*(address as *const u8)),
            _ => (address as *const u32).read_unaligned(),
        }
    })
}

/// Characters at an address, up to the first for which `ends` holds, and that one.
fn scan(address: usize, unit: usize, most: usize, ends: impl Fn(u32) -> bool) -> usize {
    if address == 0 {
        return 0;
    }
    measuring(|| {
        let goes_on = |at: &usize| get(address + at * unit, unit).is_some_and(|value| !ends(value));
        let count = (0..most).take_while(goes_on).count();
        count.saturating_add(1).min(most)
    })
}

/// Units of a string with its end, but at most so many.
pub fn text(address: usize, unit: usize, most: usize) -> usize {
    scan(address, unit, most, |value| value == 0)
}

/// Units up to a character.
fn until(address: usize, unit: usize, character: usize, is_text: bool, most: usize) -> usize {
    let wanted = match unit {
        1 => u32::from(character as u8),
        _ => character as u32,
    };
    scan(address, unit, most, |value| {
        value == wanted || (is_text && value == 0)
    })
}

/// Units of a decimal number, with the one behind it.
fn number(address: usize, unit: usize) -> usize {
    const SPACES: core::ops::RangeInclusive<u32> = 9..=13;
    let behind = |units: usize| address + units * unit;
    let is_space = |value: u32| value == 32 || SPACES.contains(&value);
    let is_sign = |value: u32| value == u32::from(b'-') || value == u32::from(b'+');
    let is_digit = |value: u32| (48..58).contains(&value);
    if address == 0 {
        return 0;
    }
    let spaces = scan(address, unit, usize::MAX, |value| !is_space(value)) - 1;
    let has_sign = measuring(|| get(behind(spaces), unit)).is_some_and(is_sign);
    let before = spaces + usize::from(has_sign);
    before + scan(behind(before), unit, usize::MAX, |value| !is_digit(value))
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
