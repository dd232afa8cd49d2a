//! A call of a third method in a test of a pair: some faults need a value that is read while it is replaced
//! and then removed.
//!
//! The guest is a method that the pair was seen to notice. Half of the time it is called with the arguments of
//! another call, so that it is about the same key.

use raddle_schedule::rng::Rng;

use crate::compose::Composer;
use crate::holding::{Access, Holding};
use crate::program::Method;
use crate::select::Guidance;
use crate::test_case::Call;

/// One of so many tests of a pair has a guest, once the pair was tried.
const RATE: u64 = 3;

impl Composer<'_> {
    /// Adds a call of another method, sometimes.
    pub(crate) fn invite(
        &self,
        threads: &mut [Vec<Call>],
        pair: [u16; 2],
        tried: u32,
        rng: &mut Rng,
    ) {
        if tried < 2 || self.guidance != Guidance::Pairs || rng.below(RATE) != 0 {
            return;
        }
        let guests = self.guests(threads, pair);
        let Some(guest) = guests.get(rng.below(guests.len().max(1) as u64) as usize) else {
            return;
        };
        let mut call = self.call(*guest, rng);
        let takes = |number: u16| {
            let method = self.program.methods.get(&number);
            method.is_some_and(|method| method.has_arguments)
        };
        let others = threads.iter().flatten();
        let others: Vec<&Call> = others.filter(|other| takes(other.operation)).collect();
        if takes(*guest) && !others.is_empty() && rng.below(2) == 0 {
            call.bytes = others[rng.below(others.len() as u64) as usize]
                .bytes
                .clone();
        }
        let thread = rng.below(threads.len() as u64) as usize;
        let calls = &mut threads[thread];
        calls.insert(rng.below(calls.len() as u64 + 1) as usize, call);
    }

    /// Other methods that the pair notices, and that every thread can call at any time.
    fn guests(&self, threads: &[Vec<Call>], pair: [u16; 2]) -> Vec<u16> {
        let program = self.program;
        let given = program.given_away(threads);
        let is_there = |method: &Method| match method.access {
            Access::Shared => true,
            Access::Own => method.holding == Holding::Cloned && !given.contains(&method.part),
            Access::Drop | Access::Make | Access::None => false,
        };
        let changing = program.numbers(|method| {
            let returns = !method.calibration.blocks && !method.calibration.panics;
            method.changes() && returns && is_there(method)
        });
        let is_noticed = |one: &u16| pair.iter().any(|other| program.affects(*one, *other));
        let others = changing.into_iter().filter(|one| !pair.contains(one));
        others.filter(is_noticed).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use raddle_schedule::rng::Rng;

    use crate::compose::Composer;
    use crate::holding::{Access, Holding};
    use crate::program::{Method, Program};
    use crate::select::Guidance;
    use crate::test_case::Call;

    #[test]
    fn guests_are_noticed_and_there() {
        let method = |shown_by: &[u16], access, holding| Method {
            has_arguments: true,
            shown_by: shown_by.iter().copied().collect(),
            access,
            holding,
            ..Method::default()
        };
        let methods = [
            (0, method(&[0, 1], Access::Shared, Holding::Shared)),
            (1, method(&[0, 1], Access::Shared, Holding::Shared)),
            (2, method(&[0], Access::Shared, Holding::Shared)),
            (3, method(&[2], Access::Shared, Holding::Shared)),
            (4, method(&[1], Access::Own, Holding::Owned)),
            (5, method(&[1], Access::Own, Holding::Cloned)),
        ];
        let program = Program {
            methods: BTreeMap::from(methods),
            constructors: vec![0],
            ..Program::default()
        };
        let composer = Composer {
            program: &program,
            guidance: Guidance::Pairs,
            threads: Some(2),
        };
        let call = |operation| Call {
            operation,
            bytes: vec![99],
        };
        let before = vec![vec![call(0), call(1)], vec![call(1), call(0)]];
        let mut rng = Rng::new(1);
        let (mut guests, mut alike) = (BTreeMap::new(), 0);
        for _ in 0..300 {
            let mut threads = before.clone();
            composer.invite(&mut threads, [0, 1], 1, &mut rng);
            assert_eq!(threads, before);
            composer.invite(&mut threads, [0, 1], 2, &mut rng);
            let new = threads.iter().flatten().find(|call| call.operation > 1);
            if let Some(new) = new {
                *guests.entry(new.operation).or_insert(0) += 1;
                alike += u32::from(new.bytes == [99]);
            }
        }
        assert_eq!(guests.keys().copied().collect::<Vec<_>>(), [2, 5]);
        let count: u32 = guests.values().sum();
        assert!((60..150).contains(&count), "{count}");
        assert!((count / 4..count).contains(&alike), "{alike} of {count}");
    }
}
