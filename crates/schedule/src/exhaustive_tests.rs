//! The exhaustive search against brute force on random small programs.

use super::*;
use crate::rng::Rng;
use crate::simulator::{Op, Run, run};
use std::collections::BTreeSet;

/// What an execution came to.
type Final = (bool, bool, Vec<u64>);

fn final_state(run: Run) -> Final {
    (run.stuck, run.failed, run.memory)
}

/// Every execution with at most `bound` preemptions, one by one.
struct BruteForce {
    bound: u32,
    path: Vec<usize>,
    /// Options of each pick of the execution under way that were not tried.
    rest: Vec<Vec<usize>>,
    pick: usize,
    preemptions: u32,
}

impl BruteForce {
    fn next(&mut self) -> bool {
        while let Some(mut rest) = self.rest.pop() {
            self.path.truncate(self.rest.len());
            if let Some(thread) = rest.pop() {
                self.path.push(thread);
                self.rest.push(rest);
                return true;
            }
        }
        false
    }
}

impl Strategy for BruteForce {
    fn begin(&mut self, _seed: u64, _length: u64) {
        (self.pick, self.preemptions) = (0, 0);
    }

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        if self.pick == self.path.len() {
            let can_preempt = !view.current_enabled || self.preemptions < self.bound;
            let mut options: Vec<usize> = view.enabled.iter().map(|&t| usize::from(t)).collect();
            options.retain(|&thread| can_preempt || thread == view.current);
            options.extend(view.expiry.map(|_| TIME));
            self.path.push(options.pop().expect("somebody can run"));
            self.rest.push(options);
        }
        let thread = self.path[self.pick];
        self.pick += 1;
        if thread == TIME {
            return TIME;
        }
        self.preemptions += u32::from(view.current_enabled && thread != view.current);
        thread
    }

    fn decides_time(&self) -> bool {
        true
    }
}

fn brute_force(program: &[Vec<Op>], bound: u32) -> (BTreeSet<Final>, u32) {
    let mut strategy = BruteForce {
        bound,
        path: Vec::new(),
        rest: Vec::new(),
        pick: 0,
        preemptions: 0,
    };
    let (mut states, mut executions) = (BTreeSet::new(), 0);
    loop {
        states.insert(final_state(run(program, &mut strategy, 0, 0)));
        executions += 1;
        if !strategy.next() {
            return (states, executions);
        }
    }
}

fn search(program: &[Vec<Op>], bound: u32) -> (BTreeSet<Final>, u32) {
    let mut strategy = Exhaustive::new(bound);
    let (mut states, mut executions) = (BTreeSet::new(), 0);
    while !strategy.is_finished() {
        // The seed does not matter.
        let seed = u64::from(executions).wrapping_mul(77);
        let run = run(program, &mut strategy, seed, 0);
        if !run.broken_off {
            states.insert(final_state(run));
        }
        strategy.learn();
        executions += 1;
        assert!(executions < 100_000, "no end");
    }
    let complete = Search::Complete { preemptions: bound };
    let searched = strategy.searched();
    let all = Search::All { preemptions: bound };
    assert!(searched == Some(complete) || searched == Some(all));
    (states, executions)
}

/// Two or three threads with a few operations each on two variables and a lock.
fn program(rng: &mut Rng) -> Vec<Vec<Op>> {
    let threads = 2 + rng.below(2) as usize;
    let mut program = vec![(1..threads).map(Op::Spawn).collect::<Vec<_>>()];
    program.resize(threads, Vec::new());
    let most = if threads == 2 { 6 } else { 4 };
    for thread in &mut program {
        let mut locked = false;
        for _ in 0..1 + rng.below(most) {
            let variable = rng.below(2) as usize;
            thread.push(match rng.below(8) {
                0 | 1 => Op::Load(variable),
                2 | 3 => Op::Store(variable),
                4 => Op::Expect(variable, rng.below(3)),
                5 if !locked => {
                    locked = true;
                    Op::Lock(variable)
                }
                6 if rng.below(3) == 0 => Op::Lock(1 - variable),
                _ => Op::Step,
            });
        }
        let unlock = |op: &Op| match op {
            Op::Lock(lock) => Some(Op::Unlock(*lock)),
            _ => None,
        };
        let unlocks: Vec<Op> = thread.iter().filter_map(unlock).collect();
        thread.extend(unlocks);
    }
    program
}

#[test]
fn the_search_reaches_what_brute_force_reaches_with_fewer_executions() {
    let mut rng = Rng::new(4);
    let (mut all, mut reduced, mut interesting) = (0, 0, 0);
    for _ in 0..400 {
        let program = program(&mut rng);
        for bound in 0..4 {
            let (expected, executions) = brute_force(&program, bound);
            let (states, fewer) = search(&program, bound);
            assert_eq!(states, expected, "{bound} preemptions of {program:?}");
            assert!(fewer <= executions, "{fewer} of {executions}: {program:?}");
            (all, reduced) = (all + executions, reduced + fewer);
            interesting += u32::from(expected.len() > 2);
        }
    }
    assert!(interesting > 50, "{interesting}");
    assert!(reduced * 3 < all, "{reduced} of {all}");
}

#[test]
fn deadlines_pass_at_every_point_and_in_their_order() {
    let mut rng = Rng::new(9);
    let mut interesting = 0;
    for _ in 0..40 {
        let mut program = program(&mut rng);
        for thread in &mut program {
            let place = rng.below(thread.len() as u64 + 1) as usize;
            if rng.below(3) > 0 {
                thread.insert(place, Op::Sleep(1 + rng.below(3)));
            }
        }
        for bound in 0..3 {
            let (expected, _) = brute_force(&program, bound);
            let (states, _) = search(&program, bound);
            assert_eq!(states, expected, "{bound} preemptions of {program:?}");
            interesting += u32::from(expected.len() > 2);
        }
    }
    assert!(interesting > 5, "{interesting}");
    // The shorter sleep ends first, whatever else happens.
    let program = [
        vec![Op::Spawn(1), Op::Spawn(2), Op::Step],
        vec![Op::Sleep(1), Op::Step, Op::Load(0)],
        vec![Op::Sleep(2), Op::Store(0)],
    ];
    let (states, _) = search(&program, 3);
    assert_eq!(states.len(), 2, "{states:?}");
}

#[test]
fn independent_threads_need_few_executions() {
    let program = [
        vec![Op::Spawn(1), Op::Spawn(2), Op::Store(0), Op::Store(0)],
        vec![Op::Store(1), Op::Store(1), Op::Store(1)],
        vec![Op::Store(2), Op::Store(2), Op::Store(2)],
    ];
    let (states, executions) = search(&program, 6);
    assert_eq!(states.len(), 1);
    let (_, all) = brute_force(&program, 6);
    assert!(executions * 8 < all, "{executions} of {all}");
}

#[test]
fn spin_loops_end_and_are_searched() {
    let program = [
        vec![Op::Spawn(1), Op::Spawn(2), Op::SpinUntil(0), Op::Load(0)],
        vec![Op::SpinUntil(1), Op::Load(0), Op::Store(0), Op::Set(0)],
        vec![Op::Store(0), Op::Set(1), Op::Load(0)],
    ];
    let (states, executions) = search(&program, 2);
    assert!(states.iter().all(|state| !state.0));
    // Thread 2 loads before or after thread 1 stores.
    assert_eq!(states.len(), 2);
    assert!(executions < 2000, "{executions}");
}

/// Up to this many rounds of a loop that gives up.
const ROUNDS: u64 = 4;

#[test]
fn loops_that_give_up_are_run_to_their_end() {
    let mut rng = Rng::new(17);
    let mut interesting = 0;
    for _ in 0..30 {
        let mut threads = [vec![Op::Spawn(1)], Vec::new()];
        for (number, thread) in threads.iter_mut().enumerate() {
            for _ in 0..1 + rng.below(2) {
                thread.push(match rng.below(3) {
                    0 => Op::Load(0),
                    1 => Op::Store(0),
                    _ => Op::Step,
                });
            }
            if number == 0 || rng.below(2) == 0 {
                thread.push(Op::SpinFor(1 - number, 1 + rng.below(ROUNDS)));
            }
            thread.extend([Op::Store(0), Op::Set(number), Op::Load(0)]);
        }
        let (expected, _) = brute_force(&threads, MAX_PREEMPTIONS);
        let (states, _) = search(&threads, MAX_PREEMPTIONS);
        assert_eq!(states, expected, "{threads:?}");
        interesting += u32::from(expected.len() > 4);
    }
    assert!(interesting > 10, "{interesting}");
}

#[test]
fn a_loop_that_gives_up_late_is_no_obstacle_to_an_end_but_to_the_claim() {
    for (rounds, is_cut) in [(16, false), (40, true)] {
        let program = [
            vec![Op::Spawn(1), Op::SpinFor(0, rounds), Op::Store(0)],
            vec![Op::Load(0), Op::Set(0)],
        ];
        let mut strategy = Exhaustive::new(4);
        for _ in 0..10_000 {
            run(&program, &mut strategy, 0, 0);
            strategy.learn();
        }
        assert!(strategy.is_finished());
        assert_eq!(strategy.cuts_loops_short(), is_cut, "{rounds} rounds");
    }
}

#[test]
fn threads_that_swap_until_they_succeed_wait() {
    let program = [
        vec![Op::Spawn(1), Op::SpinTake(0), Op::SpinTake(1), Op::Store(0)],
        vec![Op::SpinTake(1), Op::SpinTake(0), Op::Load(0)],
    ];
    let (states, executions) = search(&program, MAX_PREEMPTIONS);
    // No lock is given back: one of the threads has both, or each has one.
    assert!(states.iter().all(|state| state.0), "{states:?}");
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(executions < 100, "{executions}");
}

#[test]
fn a_loop_that_only_waits_is_tried_once() {
    let program = [
        vec![Op::Spawn(1), Op::Spawn(2), Op::SpinUntil(0)],
        vec![
            Op::Step,
            Op::Load(0),
            Op::Store(0),
            Op::SpinUntil(1),
            Op::Set(0),
        ],
        vec![Op::Load(0), Op::Store(0), Op::Set(1)],
    ];
    let mut strategy = Exhaustive::new(MAX_PREEMPTIONS);
    let mut long = 0;
    while !strategy.is_finished() {
        let run = run(&program, &mut strategy, 0, 0);
        long += u32::from(run.passed.len() > 50);
        strategy.learn();
    }
    assert_eq!(long, 2, "one trial of each loop");
    assert!(matches!(strategy.searched(), Some(Search::All { .. })));
}

#[test]
fn what_an_execution_in_another_process_adds_is_in_the_log() {
    let program = [
        vec![Op::Spawn(1), Op::Load(0), Op::Store(0)],
        vec![Op::Load(0), Op::Store(0)],
    ];
    let (expected, executions) = search(&program, 2);
    let mut parent = Exhaustive::new(2);
    let memory: *mut [u64] = Box::leak(vec![0; 4096].into_boxed_slice());
    // SAFETY: leaked; parent and child never use it at the same time.
    parent.log.share(unsafe { &mut *memory });
    let mut states = BTreeSet::new();
    let mut count = 0;
    while !parent.is_finished() {
        let mut child = Exhaustive::new(2);
        // SAFETY: as above.
        child.log.share(unsafe { &mut *memory });
        child.path.clone_from(&parent.path);
        child.known = parent.known.clone();
        states.insert(final_state(run(&program, &mut child, 0, 0)));
        parent.learn();
        count += 1;
    }
    assert_eq!((states, count), (expected, executions));
}

/// Stops asking after a number of picks, as if the execution had been broken off.
struct BrokenOff<'a>(&'a mut Exhaustive, u32);

impl Strategy for BrokenOff<'_> {
    fn begin(&mut self, seed: u64, length: u64) {
        self.0.begin(seed, length);
    }

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        match self.1.checked_sub(1) {
            Some(left) => {
                self.1 = left;
                self.0.pick(view)
            }
            None => default_pick(view),
        }
    }
}

#[test]
fn an_execution_that_was_broken_off_is_run_again() {
    let program = [
        vec![Op::Spawn(1), Op::Load(0), Op::Store(0), Op::Load(0)],
        vec![Op::Load(0), Op::Store(0)],
    ];
    let (expected, executions) = search(&program, 2);
    let mut strategy = Exhaustive::new(2);
    let (mut states, mut count) = (BTreeSet::new(), 0);
    while !strategy.is_finished() {
        run(&program, &mut BrokenOff(&mut strategy, 1 + count % 6), 0, 0);
        states.insert(final_state(run(&program, &mut strategy, 0, 0)));
        strategy.learn();
        count += 1;
    }
    assert_eq!((states, count), (expected, executions));
}

#[test]
fn a_search_without_room_says_that_it_is_not_complete() {
    let program = [vec![Op::Spawn(1), Op::Store(0)], vec![Op::Store(0)]];
    let mut strategy = Exhaustive::new(2);
    strategy.log.share(Box::leak(vec![0; 4].into_boxed_slice()));
    run(&program, &mut strategy, 0, 0);
    while !strategy.is_finished() {
        strategy.learn();
    }
    assert_eq!(strategy.searched(), Some(Search::Partial));
}
