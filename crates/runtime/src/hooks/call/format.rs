//! Formats of `printf` and `scanf`: what their conversions read and write.
//!
//! A format that numbers its arguments (`%1$s`) is not looked at further than that.

use super::measure::{Call, Visit, text, word};
use raddle_abi::libc::Format;

/// Where the arguments of a format come from.
enum Arguments {
    /// The call's own: each takes a word.
    Words { next: usize, left: usize },
    /// A `va_list` of x86-64.
    List {
        general: usize,
        float: usize,
        overflow: usize,
        saved: usize,
    },
}

/// Bytes of the area of saved registers that hold integers and pointers, and with those of floats.
const GENERAL: usize = 48;
const SAVED: usize = 176;

impl Arguments {
    fn new(call: &Call<'_>, format: Format) -> Self {
        let Some(list) = format.list else {
            let count = call.variadic as usize;
            return match count {
                0 => Self::Words { next: 0, left: 0 },
                _ => Self::Words {
                    next: count + 8,
                    left: word(count),
                },
            };
        };
        let list = call.argument(list);
        if list == 0 {
            return Self::Words { next: 0, left: 0 };
        }
        let offsets = word(list);
        Self::List {
            general: offsets & 0xffff_ffff,
            float: offsets >> 32,
            overflow: word(list + 8),
            saved: word(list + 16),
        }
    }

    fn from_stack(overflow: &mut usize, bytes: usize) -> usize {
        let address = *overflow;
        *overflow += bytes;
        address
    }

    /// An integer or a pointer; `None` if there is no further argument.
    fn integer(&mut self) -> Option<usize> {
        match self {
            Self::Words { left: 0, .. } => None,
            Self::Words { next, left } => {
                *left -= 1;
                Some(word(Self::from_stack(next, 8)))
            }
            Self::List {
                general,
                overflow,
                saved,
                ..
            } => Some(word(match *general {
                place if place < GENERAL => {
                    *general += 8;
                    *saved + place
                }
                _ => Self::from_stack(overflow, 8),
            })),
        }
    }

    /// Leaves out a float.
    fn skip_float(&mut self, is_long: bool) {
        match self {
            Self::Words { .. } => {
                self.integer();
            }
            Self::List { overflow, .. } if is_long => {
                *overflow = overflow.next_multiple_of(16) + 16;
            }
            Self::List { float, .. } if *float < SAVED => *float += 16,
            Self::List { overflow, .. } => *overflow += 8,
        }
    }
}

/// The characters of a format.
struct Characters {
    at: usize,
    unit: usize,
    left: usize,
}

impl Characters {
    fn new(call: &Call<'_>, format: Format) -> Self {
        let (at, unit) = (call.argument(format.format), usize::from(format.unit));
        Self {
            at,
            unit,
            left: text(at, unit, usize::MAX).saturating_sub(1),
        }
    }

    fn peek(&self) -> u8 {
        match self.left {
            0 => 0,
            // SAFETY: measured before; a character of a format that means something has one byte.
            _ => unsafe { *(self.at as *const u8) },
        }
    }

    fn next(&mut self) -> u8 {
        let character = self.peek();
        self.at += self.unit;
        self.left = self.left.saturating_sub(1);
        character
    }

    fn takes(&mut self, character: u8) -> bool {
        let is_next = self.left > 0 && self.peek() == character;
        if is_next {
            self.next();
        }
        is_next
    }

    /// Goes behind the next `%`. False if there is none.
    fn reach_conversion(&mut self) -> bool {
        while self.left > 0 {
            if self.next() == b'%' {
                return true;
            }
        }
        false
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while self.peek().is_ascii_digit() {
            let digit = usize::from(self.next() - b'0');
            number = Some(
                number
                    .unwrap_or(0usize)
                    .saturating_mul(10)
                    .saturating_add(digit),
            );
        }
        number
    }

    /// Bytes of an integer by its length modifier, and whether there was an `l` or an `L`.
    fn modifier(&mut self) -> Modifier {
        let mut modifier = Modifier::default();
        loop {
            match self.peek() {
                b'h' => modifier.bytes /= 2,
                b'l' => (modifier.bytes, modifier.is_wide) = (8, true),
                b'L' => (modifier.bytes, modifier.is_long) = (8, true),
                b'q' | b'j' | b'z' | b't' => modifier.bytes = 8,
                _ => return modifier,
            }
            self.next();
        }
    }
}

struct Modifier {
    bytes: usize,
    is_wide: bool,
    is_long: bool,
}

impl Default for Modifier {
    fn default() -> Self {
        Self {
            bytes: 4,
            is_wide: false,
            is_long: false,
        }
    }
}

/// What a call of the family of `printf` reads, and writes for `%n`.
pub fn printed(call: &Call<'_>, format: Format, visit: Visit<'_>) {
    let mut arguments = Arguments::new(call, format);
    let mut characters = Characters::new(call, format);
    while characters.reach_conversion() {
        if conversion(&mut characters, &mut arguments, visit).is_none() {
            return;
        }
    }
}

/// One conversion of `printf`. `None` if nothing is known from here on.
fn conversion(
    characters: &mut Characters,
    arguments: &mut Arguments,
    visit: Visit<'_>,
) -> Option<()> {
    while b"-+ #0'I".contains(&characters.peek()) && characters.left > 0 {
        characters.next();
    }
    if characters.takes(b'*') {
        arguments.integer()?;
    } else {
        characters.number();
    }
    if characters.peek() == b'$' {
        return None;
    }
    let precision = match characters.takes(b'.') {
        // A negative one counts as none.
        true if characters.takes(b'*') => usize::try_from(arguments.integer()? as i32).ok(),
        true => Some(characters.number().unwrap_or(0)),
        false => None,
    };
    let modifier = characters.modifier();
    match characters.next() {
        b'%' | b'm' => {}
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'c' | b'C' | b'p' => {
            arguments.integer()?;
        }
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
            arguments.skip_float(modifier.is_long);
        }
        character @ (b's' | b'S') => {
            let address = arguments.integer()?;
            let unit = if modifier.is_wide || character == b'S' {
                4
            } else {
                1
            };
            // The precision counts bytes, of which a wide character may come to several.
            let most = match precision {
                Some(most) if unit == 4 => most.min(1),
                Some(most) => most,
                None => usize::MAX,
            };
            let len = text(address, unit, most) * unit;
            if address != 0 && len > 0 {
                visit(address, len, false);
            }
        }
        b'n' => {
            let address = arguments.integer()?;
            if address != 0 {
                visit(address, modifier.bytes, true);
            }
        }
        _ => return None,
    }
    Some(())
}

/// What a call of the family of `scanf` wrote, by its result.
pub fn scanned(call: &Call<'_>, format: Format, visit: Visit<'_>) {
    let assigned = usize::try_from(call.result).unwrap_or(0);
    assignments(call, format, assigned, &mut |address, stored| {
        let len = match stored {
            Stored::Bytes(bytes) => bytes,
            Stored::Text(unit) => text(address, unit, usize::MAX) * unit,
        };
        if address != 0 && len > 0 {
            visit(address, len, true);
        }
    });
}

/// Where a call of the family of `scanf` may write.
pub fn expected(call: &Call<'_>, format: Format, visit: Visit<'_>) {
    assignments(call, format, usize::MAX, &mut |address, _| {
        if address != 0 {
            visit(address, 1, true);
        }
    });
}

/// What a conversion of `scanf` stores.
enum Stored {
    /// So many bytes.
    Bytes(usize),
    /// A string of such units.
    Text(usize),
}

/// The first assignments of a format of `scanf`.
fn assignments(
    call: &Call<'_>,
    format: Format,
    mut left: usize,
    store: &mut dyn FnMut(usize, Stored),
) {
    let mut arguments = Arguments::new(call, format);
    let mut characters = Characters::new(call, format);
    while left > 0 && characters.reach_conversion() {
        if characters.takes(b'%') {
            continue;
        }
        let is_left_out = characters.takes(b'*');
        let width = characters.number();
        if characters.peek() == b'$' {
            return;
        }
        let allocates = characters.takes(b'm');
        let modifier = characters.modifier();
        let unit = if modifier.is_wide { 4 } else { 1 };
        let conversion = characters.next();
        let stored = match conversion {
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'n' => Stored::Bytes(modifier.bytes),
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' if modifier.is_long => {
                Stored::Bytes(16)
            }
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => Stored::Bytes(modifier.bytes),
            b'c' => Stored::Bytes(width.unwrap_or(1) * unit),
            b's' => Stored::Text(unit),
            b'[' => {
                skip_set(&mut characters);
                Stored::Text(unit)
            }
            b'p' => Stored::Bytes(8),
            _ => return,
        };
        if is_left_out {
            continue;
        }
        let Some(address) = arguments.integer() else {
            return;
        };
        // It is not counted; that a later one was assigned shows that it was reached.
        left -= usize::from(conversion != b'n');
        store(address, if allocates { Stored::Bytes(8) } else { stored });
    }
}

/// Goes behind the `]` of a set of characters.
fn skip_set(characters: &mut Characters) {
    characters.takes(b'^');
    characters.takes(b']');
    while characters.left > 0 && characters.next() != b']' {}
}
