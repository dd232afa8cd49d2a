//! What may be said about a search that has ended.
//!
//! A search of the interleavings at scheduling points sees everything that a sequentially consistent
//! execution can come to if, in every execution that it ran, all that threads do to each other happens at
//! a scheduling point or is ordered by what does. What was seen to keep that from holding is an obstacle,
//! and is told in place of the claim.

use raddle_abi::control::conditions;
use raddle_abi::plan::{Granularity, Memory, Reexecution, Time};
use raddle_schedule::waiting::UNROLLED;
use raddle_trace::runner::Searched;

use crate::course::Course;
use crate::{Options, Target};

/// What the runtime saw that it could not control or search.
const OBSTACLES: [(u32, &str); 13] = [
    (conditions::FORKED, "the program forked"),
    (
        conditions::ASM,
        "inline assembly ran, which is not looked into",
    ),
    (
        conditions::FOREIGN_THREAD | conditions::EARLY_THREAD,
        "there were native threads",
    ),
    (
        conditions::BLOCKED_OUTSIDE,
        "the program waited for something outside of it",
    ),
    (conditions::HEAP_LIMIT, "there was not enough memory"),
    (conditions::THREAD_LIMIT, "there were too many threads"),
    (
        conditions::SHARED_OBJECT,
        "an object shared between processes was taken for a private one",
    ),
    (
        conditions::RACES_MISSED,
        "accesses were forgotten for lack of room, so that a race may have gone unseen",
    ),
    (
        conditions::WIDE_RACE,
        "an access to more than 16 bytes, or several of one call, take part in a race",
    ),
    (
        conditions::SIGNAL,
        "signals were handled, which are not delayed",
    ),
    (conditions::NO_DISPATCH, "system calls were not controlled"),
    (
        conditions::READ_NOT_KEPT,
        "a plain read behind a racing access of the same thread was no scheduling point",
    ),
    (
        conditions::LOOP_CUT_SHORT,
        "a loop gives up waiting only after many rounds, of which few were run",
    ),
];

/// What keeps the search of a test from being exhaustive.
pub(crate) fn obstacles(course: &Course, target: &Target, options: &Options) -> Vec<&'static str> {
    let seen = OBSTACLES.iter();
    let seen = seen.filter(|(bits, _)| course.conditions & bits != 0);
    let mut obstacles: Vec<&str> = seen.map(|(_, words)| *words).collect();
    let mut add = |is_met: bool, words| {
        if is_met {
            obstacles.push(words);
        }
    };
    add(
        options.memory_model == Memory::Weak,
        "it reads the newest values only, not those that weak memory allows",
    );
    add(
        course.conditions & conditions::DEADLINE != 0 && course.time == Time::Idle,
        "time advanced only when no thread could run",
    );
    add(
        options.granularity == Granularity::Sync && !course.tally.racy.is_empty(),
        "plain accesses race that are no scheduling points with `--granularity sync`",
    );
    add(
        course.reexecution == Reexecution::Loop,
        "memory stays as executions leave it with `--reexecution loop`",
    );
    add(
        course.tally.cut > 0,
        "executions were ended for their length",
    );
    add(
        course.is_nondeterministic,
        "executions with the same schedule differ",
    );
    add(
        !target.unseen_synchronisation.is_empty() || !target.unseen_code.is_empty(),
        "code that was not instrumented may touch what threads share",
    );
    obstacles
}

/// The number of preemptions up to which all interleavings were run, if that can be said.
pub(crate) fn bound(course: &Course, target: &Target, options: &Options) -> Option<u32> {
    match course.searched {
        Some(Searched::UpTo { preemptions } | Searched::All { preemptions })
            if obstacles(course, target, options).is_empty() =>
        {
            Some(preemptions)
        }
        _ => None,
    }
}

/// Whether all interleavings were run, with any number of preemptions.
pub(crate) fn is_complete(course: &Course, target: &Target, options: &Options) -> bool {
    matches!(course.searched, Some(Searched::All { .. }))
        && bound(course, target, options).is_some()
}

/// What to tell about the search of a test, if anything.
pub(crate) fn in_words(course: &Course, target: &Target, options: &Options) -> Option<String> {
    let searched = course.searched?;
    let points = course.tally.longest;
    if let Some(preemptions) = bound(course, target, options) {
        let plural = if preemptions == 1 { "" } else { "s" };
        let scope = format!(
            "at up to {points} scheduling points, timeouts included; loops that only wait were run \
             {UNROLLED} times before something changed"
        );
        return match searched {
            Searched::All { .. } => Some(format!(
                "exhaustive: all sequentially consistent interleavings were run {scope}"
            )),
            // Without a preemption, little can happen.
            _ if preemptions == 0 && !course.is_searched => None,
            _ => Some(format!(
                "exhaustive up to {preemptions} preemption{plural}: all sequentially consistent \
                 interleavings with no more were run {scope}"
            )),
        };
    }
    let why = match obstacles(course, target, options) {
        none if none.is_empty() => {
            "something was left out, for lack of room or because executions \
                                    differed"
                .to_owned()
        }
        obstacles => obstacles.join("; "),
    };
    course
        .is_searched
        .then(|| format!("the search has ended, but it may not be exhaustive: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TargetKind;

    fn target() -> Target {
        Target {
            exe: "program".into(),
            name: "main".to_owned(),
            target: "program".to_owned(),
            package: String::new(),
            kind: TargetKind::Test,
            args: Vec::new(),
            stdin: None,
            success: 0,
            env: Vec::new(),
            cwd: ".".into(),
            unseen_synchronisation: Vec::new(),
            unseen_code: Vec::new(),
            ignored: false,
            private: Vec::new(),
        }
    }

    fn course(searched: Searched) -> Course {
        let mut course = Course::new(0);
        (course.searched, course.is_searched) = (Some(searched), true);
        course.tally.longest = 23;
        course
    }

    #[test]
    fn the_claim_says_its_scope_and_every_obstacle_takes_its_place() {
        let (target, options) = (target(), Options::default());
        let all = Searched::All { preemptions: 4 };
        let words = in_words(&course(all), &target, &options).unwrap();
        assert!(words.starts_with("exhaustive: all sequentially consistent interleavings"));
        assert!(words.contains("up to 23 scheduling points, timeouts included"));
        for (bits, reason) in OBSTACLES {
            let mut course = course(all);
            course.conditions = bits;
            assert!(!is_complete(&course, &target, &options));
            let words = in_words(&course, &target, &options).unwrap();
            assert!(words.contains("may not be exhaustive") && words.contains(reason));
        }
        let mut linked = target.clone();
        linked.unseen_code = vec!["libz.so.1".to_owned()];
        assert_eq!(bound(&course(all), &linked, &options), None);
        let weak = Options {
            memory_model: Memory::Weak,
            ..Options::default()
        };
        assert_eq!(bound(&course(all), &target, &weak), None);
    }

    #[test]
    fn deadlines_are_no_obstacle_where_time_is_searched() {
        let (target, options) = (target(), Options::default());
        let mut course = course(Searched::All { preemptions: 1 });
        course.conditions = conditions::DEADLINE;
        assert!(!is_complete(&course, &target, &options));
        course.time = Time::Any;
        assert!(is_complete(&course, &target, &options));
    }
}
