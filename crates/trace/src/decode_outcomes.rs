//! Reads the sites of conflicting accesses and the outcomes of executions out of the shared memory.
//!
//! As in [`crate::decode`], nothing here trusts a length or a number.

use crate::outcome::{ExecutionOutcome, OutcomeEnd};
use raddle_abi::control::{ConflictingSite, OutcomeHeader};
use raddle_abi::mark;

fn word(bytes: &[u8], index: usize) -> Option<u64> {
    let bytes = bytes.get(index * 8..index * 8 + 8)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// Reads an array of sites; a last one that is not whole is left out.
pub fn conflicts(area: &[u8]) -> Vec<ConflictingSite> {
    let sites = area.chunks_exact(size_of::<ConflictingSite>());
    sites
        .filter_map(|bytes| {
            Some(ConflictingSite {
                key: word(bytes, 0)?,
                is_race: word(bytes, 1)?,
            })
        })
        .collect()
}

/// Reads the used part of the outcomes area.
pub fn outcomes(area: &[u8]) -> Vec<ExecutionOutcome> {
    let mut rest = area;
    let mut result = Vec::new();
    while let Some((outcome, size)) = outcome(rest) {
        result.push(outcome);
        rest = rest.get(size..).unwrap_or_default();
    }
    result
}

fn outcome(bytes: &[u8]) -> Option<(ExecutionOutcome, usize)> {
    const HEADER: usize = size_of::<OutcomeHeader>();
    let (count, ended, len) = (
        word(bytes, 0)?,
        word(bytes, 2)?,
        word(bytes, 3)? as u32 as usize,
    );
    let output = bytes.get(HEADER..HEADER + len)?.to_vec();
    let end = match mark::End::from_number(ended as u32) {
        mark::End::Passed | mark::End::Failed => OutcomeEnd::Exit((ended >> 32) as u32),
        mark::End::Cut => OutcomeEnd::Cut,
        mark::End::Abandoned | mark::End::Crashed => OutcomeEnd::Finding,
    };
    let outcome = ExecutionOutcome { end, output, count };
    Some((outcome, HEADER + len.next_multiple_of(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(count: u64, end: mark::End, code: u32, output: &[u8]) -> Vec<u8> {
        let words = [
            count,
            7,
            u64::from(end as u32) | u64::from(code) << 32,
            output.len() as u64,
        ];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend_from_slice(output);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn outcomes_are_read_up_to_where_they_are_cut() {
        let area = [
            entry(3, mark::End::Passed, 0, b"x=1\n"),
            entry(1, mark::End::Failed, 9, b""),
            entry(2, mark::End::Abandoned, 0, b"waiting "),
        ]
        .concat();
        let read = outcomes(&area);
        let ends: Vec<_> = read.iter().map(|one| (one.end, one.count)).collect();
        let expected = [
            (OutcomeEnd::Exit(0), 3),
            (OutcomeEnd::Exit(9), 1),
            (OutcomeEnd::Finding, 2),
        ];
        assert_eq!(ends, expected);
        assert_eq!(read[0].output, b"x=1\n");
        for cut in 0..area.len() {
            assert!(outcomes(&area[..cut]).len() < 3);
        }
    }

    #[test]
    fn sites_are_read_whole() {
        let words = [5_u64, 1, 6, 0, 7];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let keys: Vec<_> = conflicts(&bytes).iter().map(|site| site.key).collect();
        assert_eq!(keys, [5, 6]);
    }
}
