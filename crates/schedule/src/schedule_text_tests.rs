//! Schedule files are read as they were written, and damage is survived.

use super::*;
use proptest::prelude::*;
use raddle_abi::plan::{READS_OLD, TIME_ADVANCES, TIME_IS_UP};

fn placed<T: core::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Placed<T>> {
    (value, "[a-z:#/ ]{0,12}").prop_map(|(value, place)| Placed {
        value,
        place: place.trim().to_string(),
    })
}

/// One of events below `count`, which are at least one.
fn numbers(count: u32) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..count, 1..4)
}

fn events(count: u32) -> impl Strategy<Value = Vec<Placed<EventAnchor>>> {
    let other = prop_oneof![Just(NO_EVENT), 0..count];
    let event = (any::<(u16, u32, u64)>(), 0..3_u16, 0..count, other).prop_map(
        |((thread, occurrence, site_key), relation, related, object)| EventAnchor {
            thread: if relation == 0 { thread } else { ANY_THREAD },
            relation,
            occurrence,
            site_key,
            related: if relation == 0 { NO_EVENT } else { related },
            object,
        },
    );
    prop::collection::vec(placed(event), count as usize)
}

/// Rules in the order in which they are written: what comes first, then holds.
fn rules(count: u32) -> impl Strategy<Value = Vec<Rule>> {
    let before = prop::collection::vec((0..count, 0..count), 0..4);
    let holds = prop::collection::vec((numbers(count), numbers(count)), 0..3);
    (before, holds).prop_map(|(before, holds)| {
        let rule = |kind: RuleKind, hold, event, then| Rule {
            kind: kind as u32,
            hold,
            event,
            then,
        };
        let mut rules = Vec::new();
        for (event, then) in before {
            rules.push(rule(RuleKind::Before, 0, event, then));
        }
        for (hold, (after, until)) in (1..).zip(holds) {
            rules.extend(after.iter().map(|&e| rule(RuleKind::Hold, hold, e, 0)));
            rules.extend(until.iter().map(|&e| rule(RuleKind::Until, hold, e, 0)));
        }
        rules
    })
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let directed = (1..4_u32).prop_flat_map(|count| {
        (
            prop::option::of("directed(\\(pos\\))?"),
            events(count),
            rules(count),
        )
    });
    let anchor =
        any::<(u16, u16, u32, u64)>().prop_map(|(thread, parent, occurrence, site_key)| {
            ThreadAnchor {
                thread,
                parent,
                occurrence,
                site_key,
            }
        });
    let switch =
        any::<(u16, u16, u32, u64)>().prop_map(|(from, to, occurrence, site_key)| Switch {
            from,
            // No value is 0 stores old; time is among the choices as often as threads.
            to: match to {
                READS_OLD => READS_OLD + 1,
                to if to % 4 == 0 => TIME_ADVANCES,
                to if to % 4 == 1 => TIME_IS_UP,
                to => to,
            },
            occurrence,
            site_key: if from % 2 == 0 { 0 } else { site_key },
        });
    let text = "(?s).{0,12}";
    let id = "[a-z]{1,9}(-[0-9a-f]{10})?";
    (
        (text, text, text, prop::collection::vec(text, 0..3), id),
        (
            0..Kind::ALL.len(),
            0..3_usize,
            0..4_u32,
            any::<(u64, u64, u64)>(),
        ),
        prop::collection::vec(placed(any::<u64>()), 0..4),
        prop::collection::vec(placed(anchor), 0..4),
        prop::collection::vec(placed(switch), 0..8),
        directed,
    )
        .prop_map(
            |(names, numbers, racy, threads, switches, directed)| Schedule {
                strategy: directed.0,
                events: directed.1,
                rules: directed.2,
                build: names.0,
                test: names.1,
                target: names.2,
                arguments: names.3,
                finding: names.4,
                kind: Kind::ALL[numbers.0],
                granularity: GRANULARITIES[numbers.1].1,
                memory: Memory::from_number(numbers.2 % 2),
                oracles: numbers.2,
                seed: numbers.3.0,
                max_points: numbers.3.1,
                length: numbers.3.2,
                first_thread: (numbers.3.0 % 3) as u16,
                racy,
                threads,
                switches,
            },
        )
        .prop_map(|schedule| Schedule {
            first_thread: shown_first(&schedule),
            ..schedule
        })
}

#[test]
fn threads_are_counted_from_the_tests_own_in_files_that_say_so() {
    let old = "raddle schedule 1\ntest t\ntarget lib\nfinding x-1\nkind panic\ngranularity racy\n\
               max-points 9\noracles\nthread 2 parent 1 site 0000000000000007 occurrence 0\n\
               switch 1 step 3 to 2\nend\n";
    let mut schedule = Schedule::parse(old.as_bytes()).unwrap();
    assert_eq!(schedule.switches[0].value.from, 1);
    schedule.first_thread = 1;
    let new = schedule.to_text();
    assert!(new.contains("\nfirst-thread 1\n"), "{new}");
    assert!(new.contains("\nthread 1 parent 0 site"), "{new}");
    assert!(new.contains("\nswitch 0 step 3 to 1\n"), "{new}");
    assert_eq!(Schedule::parse(new.as_bytes()), Ok(schedule.clone()));
    // A schedule that names a thread of the harness keeps the program's numbers.
    schedule.switches[0].value.to = 0;
    assert!(!schedule.to_text().contains("first-thread"));
    let far = old.replace("oracles\n", "oracles\nfirst-thread 65535\n");
    assert_eq!(
        Schedule::parse(far.as_bytes()),
        Err(ScheduleError::Threads(65535))
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(schedule in schedules()) {
        let text = schedule.to_text();
        prop_assert_eq!(Schedule::parse(text.as_bytes()), Ok(schedule));
    }

    #[test]
    fn damage_is_survived_and_cuts_are_noticed(
        schedule in schedules(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = schedule.to_text().into_bytes();
        let at = at.index(bytes.len());
        if at + 4 < bytes.len() {
            prop_assert!(Schedule::parse(&bytes[..at]).is_err());
        }
        bytes[at] = byte;
        let _ = Schedule::parse(&bytes);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Schedule::parse(&[b"raddle schedule 1\n", &bytes[..]].concat());
    }
}

fn error(body: &str) -> String {
    let text = format!("raddle schedule 1\n{body}");
    Schedule::parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn errors_name_the_line_and_the_word() {
    assert_eq!(
        error("test a\nswitch 1 at 2\nend\n"),
        "line 3: expected `site` or `step`, found `at`"
    );
    assert_eq!(
        error("kind chaos\nend"),
        "line 2: there is no kind of finding `chaos`"
    );
    assert_eq!(error("seed 1 2\nend"), "line 2: `2` is too much");
    assert_eq!(
        error("seed 1\nseed 2\nend"),
        "line 3: there is a second line `seed`"
    );
    assert_eq!(
        error("racy xyz\nend"),
        "line 2: `xyz` is not a site key of 16 hex digits"
    );
    assert_eq!(
        error("thread 70000 parent"),
        "line 2: `70000` is not a number, or too large"
    );
    assert_eq!(
        error("colour red\nend"),
        "line 2: `colour` is not known here"
    );
    assert!(error("strategy luck").starts_with("line 2: there is no strategy `luck`"));
    assert_eq!(error("event 1 thread"), "line 2: this is event 0, not 1");
    assert_eq!(error("hold 0 until"), "line 2: the line ends too early");
    assert_eq!(
        error("before 0 1\nend"),
        "the schedule file has no event 0, but refers to it"
    );
    assert_eq!(
        error("test a\n"),
        "the schedule file was cut off after line 2"
    );
    assert_eq!(
        error("test a\nend\n"),
        "the schedule file has no line `target`"
    );
}

#[test]
fn an_id_that_leads_elsewhere_is_refused() {
    let ids = [
        "../x",
        "a/b",
        "",
        ".x",
        "--x",
        "a b",
        "\u{1b}[31m",
        "/etc/x",
    ];
    for id in ids.map(str::to_owned).into_iter().chain(["x".repeat(101)]) {
        let text = format!("raddle schedule 1\nfinding {id}\n");
        let error = Schedule::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(
            error.starts_with("line 2: an id of a finding"),
            "{id}: {error}"
        );
    }
}

#[test]
fn other_files_and_versions_are_told_apart() {
    assert_eq!(
        Schedule::parse(b"\xff\xfe"),
        Err(ScheduleError::NotASchedule)
    );
    assert_eq!(
        Schedule::parse(b"raddle schedule 7\n"),
        Err(ScheduleError::Version("7".into()))
    );
}
