//! The program's constants, which no thread can change.

use crate::global::Global;
use crate::interpose::real;

/// Segments of the executable that cannot be written, as far as there is room.
const ROOM: usize = 8;

static SEGMENTS: Global<[(usize, usize); ROOM]> = Global::new([(0, 0); ROOM]);

/// An entry of the table of segments, as in the file.
#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: usize,
    address: usize,
    physical: usize,
    file_size: usize,
    size: usize,
    alignment: usize,
}

/// Finds the segments.
pub fn set_up() {
    const AT_PHDR: usize = 3;
    const AT_PHNUM: usize = 5;
    // SAFETY: the loader's values for the executable.
    let (table, count) = unsafe { (real::getauxval(AT_PHDR), real::getauxval(AT_PHNUM)) };
    if table == 0 {
        return;
    }
    // SAFETY: so many entries stand there as long as the program runs.
    let segments = unsafe { core::slice::from_raw_parts(table as *const Segment, count) };
    for (place, found) in SEGMENTS.get().iter_mut().zip(constants(segments, table)) {
        *place = found;
    }
}

/// Address and size of the segments that cannot be written. The table stands at `table`.
fn constants(segments: &[Segment], table: usize) -> impl Iterator<Item = (usize, usize)> {
    const LOAD: u32 = 1;
    const TABLE: u32 = 6;
    const WRITE: u32 = 2;
    let own = segments.iter().find(|segment| segment.kind == TABLE);
    let moved = own.map_or(0, |own| table.wrapping_sub(own.address));
    let is_constant = |segment: &&Segment| segment.kind == LOAD && segment.flags & WRITE == 0;
    segments
        .iter()
        .filter(is_constant)
        .map(move |segment| (segment.address.wrapping_add(moved), segment.size))
}

/// Whether these bytes are constant.
pub fn contain(address: usize, len: usize) -> bool {
    SEGMENTS
        .get()
        .iter()
        .any(|(start, size)| address.wrapping_sub(*start).saturating_add(len) <= *size)
}

#[cfg(test)]
mod tests {
    use super::{Segment, constants};

    #[test]
    fn only_segments_that_cannot_be_written_are_constant() {
        let segment = |kind, flags, address, size| Segment {
            kind,
            flags,
            offset: 0,
            address,
            physical: address,
            file_size: size,
            size,
            alignment: 4096,
        };
        let segments = [
            segment(6, 4, 0x40, 0x200),
            segment(1, 4, 0, 0x1000),
            segment(1, 6, 0x2000, 0x1000),
            segment(1, 5, 0x4000, 0x800),
        ];
        let found: Vec<_> = constants(&segments, 0x10_0040).collect();
        assert_eq!(found, [(0x10_0000, 0x1000), (0x10_4000, 0x800)]);
    }
}
