//! Reads what the runtime left in the shared memory.
//!
//! The worker may have been killed at any moment and the program under test may have written
//! anywhere, so nothing here trusts a length or a number: reading stops at what makes no sense.

use crate::outcome::{Marked, MarkedExecution, RawFinding, RawRecording, RawStep, RawWait};
use raddle_abi::finding::{FindingHeader, Kind, PartHeader, Step, Wait, part};
use raddle_abi::mark::{self, Mark, kind};
use raddle_abi::plan::Decision;
use raddle_abi::record::{EXPIRY, PICK, RawEvent};
use raddle_abi::site::Operation;

/// The findings in the used part of the findings area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Those that could be read, in order.
    pub findings: Vec<RawFinding>,
    /// Offset of the first byte that made no sense, if any.
    pub damaged_at: Option<usize>,
}

/// Reads the findings area, as far as `Control::findings` says it is used.
pub fn findings(area: &[u8]) -> Findings {
    let mut result = Findings::default();
    let mut offset = 0;
    while offset < area.len() {
        match finding(&area[offset..]) {
            Some((size, finding)) => {
                result.findings.push(finding);
                offset += size;
            }
            None => {
                result.damaged_at = Some(offset);
                break;
            }
        }
    }
    result
}

/// Reads the finding at the start of `bytes`, and how many of them it takes.
fn finding(bytes: &[u8]) -> Option<(usize, RawFinding)> {
    let mut header = Cursor(bytes);
    let size = header.u32()? as usize;
    if size < size_of::<FindingHeader>() || !size.is_multiple_of(8) || size > bytes.len() {
        return None;
    }
    let mut finding = RawFinding {
        kind: Kind::from_number(header.u32()?)?,
        execution: header.u64()?,
        seed: header.u64()?,
        length: header.u64()?,
        points: header.u64()?,
        hash: header.u64()?,
        detail: [header.u64()?, header.u64()?],
        decisions: Vec::new(),
        steps: Vec::new(),
        waits: Vec::new(),
        output: String::new(),
    };
    let mut parts = Cursor(&bytes[size_of::<FindingHeader>()..size]);
    while parts.0.len() >= size_of::<PartHeader>() {
        let tag = parts.u32()?;
        let len = parts.u32()? as usize;
        let payload = parts.take(len)?;
        parts.skip(len.next_multiple_of(8) - len);
        match tag {
            part::DECISIONS => finding.decisions = decisions(payload),
            part::STEP => finding.steps.extend(step(payload)),
            part::WAIT => finding.waits.extend(wait(payload)),
            part::OUTPUT => finding.output = String::from_utf8_lossy(payload).into_owned(),
            _ => {}
        }
    }
    Some((size, finding))
}

/// Reads an array of decisions; a last one that is not whole is left out.
pub fn decisions(bytes: &[u8]) -> Vec<Decision> {
    let mut cursor = Cursor(bytes);
    std::iter::from_fn(|| {
        Some(Decision {
            from: cursor.u16()?,
            to: cursor.u16()?,
            step: cursor.u32()?,
            site: cursor.u32()?,
            point: cursor.u32()?,
        })
    })
    .collect()
}

/// Reads the marks area: what each execution marked. One that was begun again is left out, with
/// what it had marked until then.
pub fn marks(area: &[u8]) -> Vec<MarkedExecution> {
    let mut executions: Vec<MarkedExecution> = Vec::new();
    let mut cursor = Cursor(area);
    while let Some(marked) = marked(&mut cursor) {
        match (marked.kind, executions.last_mut()) {
            (kind::BEGIN, last) => {
                if last.is_some_and(|last| last.end.is_none()) {
                    executions.pop();
                }
                let mut bytes = Cursor(&marked.bytes);
                executions.push(MarkedExecution {
                    seed: bytes.u64().unwrap_or(0),
                    length: bytes.u64().unwrap_or(0),
                    marks: Vec::new(),
                    end: None,
                    decisions: Vec::new(),
                });
            }
            (kind::END, Some(last)) => {
                last.end = Some(mark::End::from_number(marked.number));
                last.decisions = decisions(&marked.bytes);
            }
            (_, Some(last)) => last.marks.push(marked),
            (_, None) => {}
        }
    }
    executions
}

fn marked(cursor: &mut Cursor<'_>) -> Option<Marked> {
    let mark = Mark {
        kind: cursor.u16()?,
        thread: cursor.u16()?,
        number: cursor.u32()?,
        len: cursor.u32()?,
        point: cursor.u32()?,
    };
    let len = mark.len as usize;
    let bytes = cursor.take(len)?.to_vec();
    cursor.skip(len.next_multiple_of(8) - len);
    Some(Marked {
        kind: mark.kind,
        thread: mark.thread,
        number: mark.number,
        point: mark.point,
        bytes,
    })
}

fn step(payload: &[u8]) -> Option<RawStep> {
    let mut cursor = Cursor(payload);
    let mut step = RawStep {
        site: cursor.u32()?,
        operation: operation(cursor.u16()?),
        thread: cursor.u16()?,
        address: cursor.u64()?,
        len: cursor.u32()?,
        frames: Vec::new(),
    };
    let frames = cursor.u32()?;
    debug_assert_eq!(payload.len() - cursor.0.len(), size_of::<Step>());
    step.frames = cursor.words(frames);
    Some(step)
}

fn wait(payload: &[u8]) -> Option<RawWait> {
    let mut cursor = Cursor(payload);
    let thread = cursor.u16()?;
    let operation = operation(cursor.u16()?);
    let site = cursor.u32()?;
    let object = cursor.u64()?;
    let is_lock = cursor.u32()? != 0;
    let in_cycle = cursor.u32()? != 0;
    let holders = cursor.u32()?;
    let frames = cursor.u32()?;
    debug_assert_eq!(payload.len() - cursor.0.len(), size_of::<Wait>());
    let holders: Vec<u32> = (0..holders).map_while(|_| cursor.u32()).collect();
    if holders.len() % 2 == 1 {
        cursor.skip(4);
    }
    Some(RawWait {
        thread,
        operation,
        site,
        object,
        is_lock,
        in_cycle,
        holders,
        frames: cursor.words(frames),
    })
}

/// Reads recorded events and their stacks; both as far as the header says they are used.
pub fn recording(events: &[u8], stacks: &[u8], overflow: bool) -> RawRecording {
    let mut cursor = Cursor(events);
    let mut recording = RawRecording {
        overflow,
        ..RawRecording::default()
    };
    recording
        .events
        .reserve(events.len() / size_of::<RawEvent>());
    while let Some(event) = raw_event(&mut cursor) {
        match event.operation {
            PICK => recording.picks.push((event.thread, event.site)),
            EXPIRY => recording.expiries.push(event),
            _ => recording.events.push(event),
        }
    }
    recording.stacks = Cursor(stacks).words(u32::MAX);
    recording
}

fn raw_event(cursor: &mut Cursor<'_>) -> Option<RawEvent> {
    Some(RawEvent {
        operation: cursor.u16()?,
        thread: cursor.u16()?,
        site: cursor.u32()?,
        address: cursor.u64()?,
        value: cursor.u64()?,
        len: cursor.u32()?,
        order: cursor.u16()?,
        flags: cursor.u16()?,
        stack: cursor.u32()?,
        point: cursor.u32()?,
    })
}

/// Numbers of the bits set in `Control::syscalls`.
pub fn syscalls(words: &[u64]) -> Vec<u32> {
    let bits = words.iter().enumerate().flat_map(|(index, &word)| {
        (0..64)
            .filter(move |bit| word >> bit & 1 == 1)
            .map(move |bit| index as u32 * 64 + bit)
    });
    bits.collect()
}

fn operation(number: u16) -> Operation {
    Operation::from_number(number).unwrap_or(Operation::Unknown)
}

/// Native-endian bytes still to be read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// Skips up to `len` bytes.
    fn skip(&mut self, len: usize) {
        self.0 = &self.0[len.min(self.0.len())..];
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    /// Up to `count` words: as many as there are.
    fn words(&mut self, count: u32) -> Vec<u64> {
        (0..count).map_while(|_| self.u64()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(numbers: &[u32]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect()
    }

    fn part_bytes(tag: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = words(&[tag, payload.len() as u32]);
        bytes.extend_from_slice(payload);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// A deadlock with each kind of part.
    fn example() -> Vec<u8> {
        let mut parts = Vec::new();
        parts.extend(part_bytes(
            part::DECISIONS,
            &words(&[0x0001_0000, 5, 77, 9]),
        ));
        parts.extend(part_bytes(
            part::STEP,
            &words(&[77, 0x0001_0001, 64, 0, 8, 2, 11, 0, 12, 0]),
        ));
        let wait = [0x0013_0001, 77, 64, 0, 1, 1, 1, 1, 0, 0, 21, 0];
        parts.extend(part_bytes(part::WAIT, &words(&wait)));
        parts.extend(part_bytes(99, b"from the future"));
        parts.extend(part_bytes(part::OUTPUT, b"hello"));
        let size = (size_of::<FindingHeader>() + parts.len()) as u32;
        let mut bytes = words(&[size, 2, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0]);
        bytes.extend(parts);
        bytes
    }

    #[test]
    fn every_part_of_a_finding_is_read() {
        let area = [example(), example()].concat();
        let decoded = findings(&area);
        assert_eq!(decoded.damaged_at, None);
        assert_eq!(decoded.findings.len(), 2);
        let finding = &decoded.findings[0];
        assert_eq!(
            (finding.kind, finding.execution, finding.seed),
            (Kind::Deadlock, 3, 4)
        );
        assert_eq!((finding.length, finding.points, finding.hash), (5, 6, 7));
        assert_eq!(finding.detail, [8, 9]);
        let decision = Decision {
            from: 0,
            to: 1,
            step: 5,
            site: 77,
            point: 9,
        };
        assert_eq!(finding.decisions, [decision]);
        assert_eq!(finding.steps[0].operation, Operation::Read);
        assert_eq!((finding.steps[0].thread, finding.steps[0].len), (1, 8));
        assert_eq!(finding.steps[0].frames, [11, 12]);
        let wait = &finding.waits[0];
        assert_eq!((wait.thread, wait.operation), (1, Operation::LockWant));
        assert!(wait.is_lock && wait.in_cycle);
        assert_eq!((&wait.holders[..], &wait.frames[..]), (&[0][..], &[21][..]));
        assert_eq!(finding.output, "hello");
    }

    #[test]
    fn a_cut_area_keeps_the_findings_before_the_cut() {
        let example = example();
        let area = [&example[..], &example[..]].concat();
        for cut in 0..area.len() {
            let decoded = findings(&area[..cut]);
            assert_eq!(decoded.findings.len(), cut / example.len());
        }
    }

    #[test]
    fn garbage_is_survived() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        for _ in 0..20_000 {
            let mut area = example();
            for _ in 0..=random() % 4 {
                let index = random() as usize % area.len();
                area[index] = random() as u8;
            }
            findings(&area);
            recording(&area, &area, false);
        }
    }

    #[test]
    fn stacks_are_found_by_their_events_and_bad_indices_give_none() {
        let stacks: Vec<u8> = [2_u64, 10, 11, 1, 12, 9, 13]
            .iter()
            .flat_map(|w| w.to_ne_bytes())
            .collect();
        let mut events = vec![0; size_of::<RawEvent>() * 4 + 3];
        for (index, stack) in [0_u32, 1, 6, 99].iter().enumerate() {
            let at = size_of::<RawEvent>() * index + 32;
            events[at..at + 4].copy_from_slice(&stack.to_ne_bytes());
        }
        let recording = recording(&events, &stacks, true);
        let found: Vec<_> = recording
            .events
            .iter()
            .map(|event| recording.stack(event))
            .collect();
        assert_eq!(found, [&[][..], &[10, 11], &[13], &[]]);
    }

    #[test]
    fn picks_are_kept_apart_from_events() {
        let mut events = vec![0; size_of::<RawEvent>() * 2];
        events[..8].copy_from_slice(&words(&[0x0003_ffff, 77]));
        let recording = recording(&events, &[], false);
        assert_eq!(recording.picks, [(3, 77)]);
        assert_eq!(recording.events.len(), 1);
    }

    #[test]
    fn system_call_bits_become_numbers() {
        assert_eq!(syscalls(&[1 << 2, 0, 1]), [2, 128]);
    }

    /// A mark: kind and thread in one word, then number, bytes and point.
    fn mark(kind: u16, number: u32, bytes: &[u8]) -> Vec<u8> {
        let mut mark = words(&[u32::from(kind), number, bytes.len() as u32, 9]);
        mark.extend(bytes);
        mark.resize(mark.len().next_multiple_of(8), 0);
        mark
    }

    #[test]
    fn an_execution_that_was_begun_again_leaves_no_marks() {
        let begin = mark(kind::BEGIN, 0, &words(&[7, 0, 20, 0]));
        let area = [
            begin.clone(),
            mark(kind::CALL, 1, b""),
            begin,
            mark(kind::CALL, 2, b""),
            mark(kind::RETURN, 2, b"None"),
            mark(kind::END, 2, &words(&[0x0001_0000, 5, 77, 9])),
            mark(kind::BEGIN, 0, &words(&[8, 0, 20, 0])),
            mark(kind::CALL, 3, b""),
        ]
        .concat();
        let executions = marks(&area);
        assert_eq!(executions.len(), 2);
        assert_eq!((executions[0].seed, executions[0].length), (7, 20));
        assert_eq!(executions[0].end, Some(mark::End::Abandoned));
        assert_eq!(executions[0].decisions.len(), 1);
        let returned = &executions[0].marks[1];
        assert_eq!(
            (returned.number, returned.bytes.as_slice()),
            (2, &b"None"[..])
        );
        assert_eq!((executions[1].end, executions[1].marks.len()), (None, 1));
        assert_eq!(marks(&area[..area.len() - 1])[1].marks.len(), 0);
    }
}
