//! Which calls threads can make: what one has dropped is gone, and what there is only one of belongs to
//! whoever calls it first.

use std::collections::{BTreeMap, BTreeSet};

use raddle_schedule::rng::Rng;

use crate::holding::{Access, Holding};
use crate::pairs::Pair;
use crate::program::{Method, Program};
use crate::test_case::Call;

/// One of so many calls on other objects becomes one on what the thread alone has: nobody else can mix
/// those.
const MIXED: u64 = 2;

/// What threads have.
#[derive(Default)]
struct Possession {
    /// Who has what there is only one of.
    owners: BTreeMap<usize, usize>,
    /// Who has dropped what.
    gone: BTreeSet<(usize, usize)>,
}

impl Possession {
    fn allows(&self, thread: usize, method: &Method) -> bool {
        let is_gone = self.gone.contains(&(thread, method.part));
        match method.access {
            Access::Shared | Access::Make | Access::None => true,
            Access::Own | Access::Drop if is_gone => false,
            Access::Own | Access::Drop => {
                let owner = self.owners.get(&method.part);
                method.holding != Holding::Owned || owner.is_none_or(|owner| *owner == thread)
            }
        }
    }

    fn follow(&mut self, thread: usize, method: &Method) {
        if method.holding == Holding::Owned {
            self.owners.insert(method.part, thread);
        }
        match method.access {
            Access::Drop => drop(self.gone.insert((thread, method.part))),
            Access::Make => drop(self.gone.remove(&(thread, method.part))),
            Access::Shared | Access::Own | Access::None => {}
        }
    }
}

impl Program {
    /// The calls of threads, with others of the pair, or any, in the place of those that they cannot make.
    pub fn possible(&self, wanted: Vec<Vec<u16>>, pair: [u16; 2], rng: &mut Rng) -> Vec<Vec<u16>> {
        if !self.methods.values().any(|method| method.holding.is_own()) {
            return wanted;
        }
        let mut possession = Possession::default();
        let mut result = vec![Vec::new(); wanted.len()];
        let most = wanted.iter().map(Vec::len).max().unwrap_or(0);
        // The first calls of all threads decide who has what.
        for index in 0..most {
            for (thread, calls) in wanted.iter().enumerate() {
                let Some(operation) = calls.get(index) else {
                    continue;
                };
                let operation = self.instead(*operation, thread, &possession, pair, rng);
                let Some(operation) = operation else { continue };
                if let Some(method) = self.methods.get(&operation) {
                    possession.follow(thread, method);
                }
                result[thread].push(operation);
            }
        }
        result
    }

    /// What a thread calls when it is to call something.
    fn instead(
        &self,
        wanted: u16,
        thread: usize,
        possession: &Possession,
        pair: [u16; 2],
        rng: &mut Rng,
    ) -> Option<u16> {
        let is_allowed = |number: u16| {
            let method = self.methods.get(&number);
            method.is_none_or(|method| possession.allows(thread, method))
        };
        let any = |numbers: Vec<u16>, rng: &mut Rng| {
            let numbers: Vec<u16> = numbers.into_iter().filter(|one| is_allowed(*one)).collect();
            numbers
                .get(rng.below(numbers.len().max(1) as u64) as usize)
                .copied()
        };
        let own = |method: &Method| {
            let is_owner = possession.owners.get(&method.part) == Some(&thread);
            method.access == Access::Own && method.holding == Holding::Owned && is_owner
        };
        let wants_other = self.methods.get(&wanted).is_none_or(|method| !own(method));
        let mixed = self.numbers(own);
        if wants_other && !mixed.is_empty() && rng.below(MIXED) == 0 {
            return any(mixed, rng);
        }
        let of_pair = [wanted].into_iter().chain(pair);
        let first = of_pair.into_iter().find(|number| is_allowed(*number));
        first.or_else(|| any(self.numbers(|method| !method.access.is_loose()), rng))
    }

    /// Parts that threads drop, or make anew: what comes after has none of them.
    pub fn given_away(&self, threads: &[Vec<Call>]) -> BTreeSet<usize> {
        let methods = threads
            .iter()
            .flatten()
            .filter_map(|call| self.methods.get(&call.operation));
        let loose = methods.filter(|method| method.access.is_loose());
        loose.map(|method| method.part).collect()
    }

    /// Whether two threads can call the two methods of a pair.
    pub fn can_meet(&self, (one, other): Pair) -> bool {
        let method = |number: usize| self.methods.get(&u16::try_from(number).ok()?);
        match (method(one), method(other)) {
            (Some(one), Some(other)) => one.part != other.part || one.holding != Holding::Owned,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use raddle_schedule::rng::Rng;

    use crate::holding::{Access, Holding};
    use crate::program::{Method, Program};

    const PUSH: u16 = 0;
    const POP: u16 = 1;
    const STEAL: u16 = 2;
    const DROP: u16 = 3;
    const NEW: u16 = 4;

    /// A worker that one thread has, and its thieves.
    fn program() -> Program {
        let method = |part, holding, access| Method {
            part,
            holding,
            access,
            ..Method::default()
        };
        let methods = [
            (PUSH, method(0, Holding::Owned, Access::Own)),
            (POP, method(0, Holding::Owned, Access::Own)),
            (STEAL, method(1, Holding::Cloned, Access::Own)),
            (DROP, method(1, Holding::Cloned, Access::Drop)),
            (NEW, method(1, Holding::Cloned, Access::Make)),
        ];
        Program {
            methods: BTreeMap::from(methods),
            ..Program::default()
        }
    }

    #[test]
    fn what_there_is_one_of_belongs_to_one_thread() {
        let program = program();
        let mut rng = Rng::new(1);
        let mut mixed = 0;
        for _ in 0..50 {
            let wanted = vec![vec![PUSH, STEAL, PUSH], vec![STEAL, PUSH, STEAL]];
            let found = program.possible(wanted, [PUSH, STEAL], &mut rng);
            assert_eq!(found[1], [STEAL; 3]);
            assert_eq!((found[0][0], found[0][2]), (PUSH, PUSH));
            mixed += usize::from(found[0][1] == POP);
        }
        assert!((1..50).contains(&mixed), "{mixed}");
        assert!(!program.can_meet((0, 1)) && !program.can_meet((0, 0)));
        assert!(program.can_meet((0, 2)) && program.can_meet((2, 2)));
    }

    #[test]
    fn what_was_dropped_is_not_called_until_there_is_a_new_one() {
        let program = program();
        let mut rng = Rng::new(1);
        let wanted = vec![vec![DROP, STEAL, DROP], vec![STEAL, DROP, STEAL]];
        let found = program.possible(wanted, [STEAL, DROP], &mut rng);
        // The worker is nobody's yet, and is called when nothing else is left.
        assert_eq!(found[0][0], DROP);
        assert!(found[0][1..].iter().all(|one| [PUSH, POP].contains(one)));
        assert_eq!(found[1], [STEAL, DROP]);
        let wanted = vec![vec![DROP, NEW, DROP], vec![NEW, STEAL]];
        let found = program.possible(wanted.clone(), [DROP, NEW], &mut rng);
        assert_eq!(found, wanted);
    }
}
