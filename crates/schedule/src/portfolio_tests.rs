//! Tests of the portfolio.

use super::*;
use crate::experience::Words;
use crate::list::parse;
use crate::simulator::{Op, row, run};

/// Two threads that count, and one that spins.
fn program() -> Vec<Vec<Op>> {
    let count = [Op::Lock(0), Op::Load(0), Op::Store(0), Op::Unlock(0)];
    vec![
        vec![Op::Spawn(1), Op::Spawn(2), Op::SpinUntil(0), Op::Load(0)],
        [count.repeat(2), vec![Op::SpinUntil(1), Op::Set(0)]].concat(),
        [count.repeat(2), vec![Op::Set(1)]].concat(),
    ]
}

#[test]
fn spin_loops_make_progress_and_the_row_of_seeds_decides_everything() {
    let runs = row(&program(), &mut Portfolio::new(), 0..500);
    assert_eq!(runs, row(&program(), &mut Portfolio::new(), 0..500));
}

#[test]
fn an_execution_that_is_begun_again_is_the_same() {
    let (mut once, mut twice) = (Portfolio::new(), Portfolio::new());
    for seed in 0..200 {
        let first = run(&program(), &mut once, seed, 30);
        once.learn();
        // It was broken off when it was nearly through.
        run(&program(), &mut twice, seed, 30);
        assert_eq!(run(&program(), &mut twice, seed, 30), first);
        twice.learn();
    }
}

#[test]
fn every_member_has_turns_and_the_one_that_shows_new_things_has_more() {
    let mut portfolio = Portfolio::new();
    assert!((0..100).all(|seed| portfolio.draw(seed) == FIRST));
    portfolio.executions = 1;
    let turns = |portfolio: &mut Portfolio, of: usize| {
        (0..10_000)
            .filter(|&seed| portfolio.draw(seed) == of)
            .count()
    };
    let before = turns(&mut portfolio, 2);
    for (index, member) in portfolio.members.iter_mut().enumerate() {
        member.reward = if index == 2 { ONE } else { 0 };
    }
    let after = turns(&mut portfolio, 2);
    assert!(after > 2 * before, "{before} {after}");
    for member in 0..portfolio.members.len() {
        assert!(turns(&mut portfolio, member) > 50);
    }
}

#[test]
fn rewards_go_to_who_runs_and_fade() {
    let mut portfolio = Portfolio::new();
    row(&program(), &mut portfolio, 0..3_000);
    let rewards: Vec<u64> = portfolio.members.iter().map(|one| one.reward).collect();
    assert!(
        rewards.iter().all(|&reward| reward < ONE / 2),
        "{rewards:?}"
    );
}

#[test]
fn what_was_searched_is_told_and_ends_the_search_when_nothing_is_left() {
    let count = [Op::Load(0), Op::Store(0)];
    let program = [
        [vec![Op::Spawn(1)], count.to_vec()].concat(),
        count.to_vec(),
    ];
    let mut portfolio = Portfolio::new();
    let mut seen = Vec::new();
    for seed in 0.. {
        run(&program, &mut portfolio, seed, 8);
        portfolio.learn();
        if seen.last() != Some(&portfolio.searched()) {
            seen.push(portfolio.searched());
        }
        if portfolio.is_finished() {
            break;
        }
        assert!(seed < 2_000);
        assert_eq!(portfolio.executions, seed + 1);
    }
    let up_to = |preemptions| Some(Search::Complete { preemptions });
    let all = Some(Search::All { preemptions: 2 });
    assert_eq!(seen, [None, up_to(0), up_to(1), all]);
    assert!(portfolio.executions >= LEAST);
    portfolio.points_changed();
    assert_eq!(portfolio.searched(), None);
}

#[test]
fn what_a_forked_child_sees_is_learnt_through_shared_memory() {
    let mut portfolio = Portfolio::new();
    let mut logs = 0;
    portfolio.logs(&mut |log| {
        log.share(Box::leak(vec![0; 4096].into_boxed_slice()));
        logs += 1;
    });
    assert_eq!(
        logs, 5,
        "coverage, reads-from and its base, surw and the search"
    );
    let runs = row(&program(), &mut portfolio, 0..300);
    assert_eq!(runs, row(&program(), &mut Portfolio::new(), 0..300));
}

#[test]
fn a_serial_execution_is_looked_at_but_not_counted_and_can_be_passed_on() {
    let mut serial = parse("serial(portfolio)").unwrap();
    row(&program(), &mut *serial, 0..1);
    let mut room = vec![0; 1 << 16];
    let mut written = Experience::Written(Words::new(&mut room));
    serial.pass(&mut written);
    let count = match written {
        Experience::Written(words) => words.count().expect("there is room"),
        Experience::Taken(_) => unreachable!("it is written"),
    };
    let mut portfolio = Portfolio::new();
    portfolio.pass(&mut Experience::Taken(&room[..count]));
    assert_eq!(portfolio.executions, 0);
    let taught = row(&program(), &mut portfolio, 0..100);
    let untaught = row(&program(), &mut Portfolio::new(), 0..100);
    assert!(
        taught[0] != untaught[0],
        "the first execution knows something"
    );
    assert!(taught != untaught);
}

#[test]
fn most_bugs_are_left_to_the_best_at_first_and_to_all_later() {
    let turns = |executions: u64, of: usize| {
        let mut portfolio = Portfolio::new();
        portfolio.executions = executions;
        (0..10_000)
            .filter(|&seed| portfolio.draw(seed) == of)
            .count()
    };
    for other in 2..5 {
        let (early, late) = (turns(1, other), turns(EARLY, other));
        assert!(early > 0 && late > 2 * early, "{other}: {early} {late}");
    }
}
