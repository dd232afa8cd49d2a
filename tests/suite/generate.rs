//! `generate` finds what is wrong with a type from its name alone, and nothing where nothing is.

use raddle_e2e::{Fixture, Line, Run, Tool};

/// Kinds and sources of the tests that were written.
pub fn generated(run: &Run) -> Vec<(&str, &str)> {
    let tests = run.lines.iter().filter_map(|line| match line {
        Line::Generated { kind, source, .. } => Some((kind.as_str(), source.as_str())),
        _ => None,
    });
    tests.collect()
}

#[test]
fn what_is_wrong_with_a_type_is_found_from_its_name() {
    let fixture = Fixture::special("types");
    let mut ids = Vec::new();
    for (name, kind, calls) in [
        ("Basket", "panic", ["basket.take()", "basket.take()"]),
        ("Named", "panic", ["named.take()", "named.take()"]),
        (
            "Counter",
            "linearizability",
            ["counter.increment()", "counter.increment()"],
        ),
        ("Pair", "deadlock", ["pair.forward()", "pair.backward()"]),
    ] {
        let subject = format!("types::{name}");
        let run = fixture.check(&["generate", &subject, "--time", "60s"], 100);
        let tests = generated(&run);
        assert_eq!(tests.len(), 1, "{name}: {tests:?}");
        let (found, source) = tests[0];
        assert_eq!(found, kind, "{name}: {source}");
        for call in calls {
            assert!(source.contains(call), "{name} calls {call}: {source}");
        }
        // As small as it gets: two threads with one call each.
        assert_eq!(source.matches("thread::spawn").count(), 2, "{source}");
        let findings = run.findings();
        assert_eq!(findings.len(), 1, "{name}: {findings:?}");
        assert!(findings[0].confirmed);
        assert_eq!(findings[0].kind, kind, "{name}: {findings:?}");
        // The test was written down, and its schedule beside it.
        for file in places(&run) {
            assert!(fixture.path().join(file).is_file(), "{name}: {file}");
        }
        ids.push(findings[0].id.clone());
    }
    // Each is replayed, though later runs wrote other tests.
    for id in &ids {
        let run = fixture.check(&["replay", id], 100);
        assert_eq!(run.replayed().reproduced, 1, "{run:#?}");
    }
    let elsewhere = tempfile::tempdir().expect("a directory can be made");
    let manifest = fixture.path().join("Cargo.toml").display().to_string();
    let words = [
        "replay",
        "--message-format",
        "json",
        "--manifest-path",
        &manifest,
        &ids[0],
    ];
    Run::of(Tool::new(elsewhere.path(), words).run(), 100);
}

#[test]
fn runs_at_the_same_time_do_not_mix_their_types() {
    let fixture = Fixture::special("types");
    let kinds = std::thread::scope(|scope| {
        let runs = ["Basket", "Counter", "Pair"].map(|name| {
            let fixture = &fixture;
            let subject = format!("types::{name}");
            scope.spawn(move || fixture.check(&["generate", &subject, "--time", "60s"], 100))
        });
        runs.map(|run| {
            let run = run.join().unwrap();
            generated(&run)
                .iter()
                .map(|(kind, _)| *kind)
                .collect::<String>()
        })
    });
    assert_eq!(kinds, ["panic", "linearizability", "deadlock"]);
}

#[test]
fn closures_that_may_fail_say_what_they_return() {
    let fixture = Fixture::special("types");
    let run = fixture.check(&["generate", "types::Late", "--time", "60s"], 100);
    let tests = generated(&run);
    assert_eq!(tests.len(), 1, "{tests:?}");
    let (kind, source) = tests[0];
    assert_eq!(kind, "panic", "{source}");
    assert!(source.contains("move || -> Result<u32, "), "{source}");
    assert_eq!(run.findings().len(), 1, "{run:#?}");
}

/// Where the test and its schedule are.
fn places(run: &Run) -> Vec<&str> {
    let places = run.lines.iter().flat_map(|line| match line {
        Line::Generated { file, schedule, .. } => vec![file.as_str(), schedule.as_str()],
        _ => Vec::new(),
    });
    places.collect()
}

#[test]
#[ignore = "takes a minute"]
fn threads_drop_what_they_own_and_call_what_nobody_else_has() {
    let fixture = Fixture::special("types");
    for (name, lines) in [
        // The outlet is gone while something is put in.
        (
            "Inlet<u32>",
            ["let outlet = outlet;", "drop(outlet);", "inlet.put("],
        ),
        // The pile is one thread's, and others take from it.
        (
            "Pile<u32>",
            ["let mut pile = pile;", "pile.pop();", "taker.take()"],
        ),
        (
            "Taker<u32>",
            ["let mut pile = pile;", "pile.pop();", "taker.take()"],
        ),
    ] {
        let subject = format!("types::{name}");
        let run = fixture.check(&["generate", &subject, "--time", "60s"], 100);
        let tests = generated(&run);
        assert_eq!(tests.len(), 1, "{name}: {tests:?}");
        let (kind, source) = tests[0];
        assert_eq!(kind, "panic", "{name}: {source}");
        for line in lines {
            assert!(source.contains(line), "{name} has {line}: {source}");
        }
        // The test that was written down shows it.
        let findings = run.findings();
        assert_eq!(findings.len(), 1, "{name}: {findings:?}");
        assert!(findings[0].confirmed);
    }
    // Who waits for somebody who gives wakes up when nobody is left.
    let run = fixture.check(&["generate", "types::Giver<u32>", "--time", "5s"], 0);
    assert!(generated(&run).is_empty());
}

#[test]
fn what_a_call_returned_is_given_to_later_ones() {
    let fixture = Fixture::special("types");
    let run = fixture.check(&["generate", "types::Lockers", "--time", "60s"], 100);
    let tests = generated(&run);
    assert_eq!(tests.len(), 1, "{tests:?}");
    let (kind, source) = tests[0];
    assert_eq!(kind, "panic", "{source}");
    assert!(
        source.contains("let key = lockers.rent().unwrap();"),
        "{source}"
    );
    assert_eq!(
        source.matches("lockers.give_back(key)").count(),
        2,
        "{source}"
    );
    // The test that was written down shows it.
    let findings = run.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].confirmed);
}

#[test]
fn types_say_to_arbitrary_how_arguments_are_made() {
    let fixture = Fixture::special("supplied");
    let arguments = ["generate", "supplied::Archive", "--time", "60s"];
    let run = fixture.check(&arguments, 100);
    let source = only_panic(&run);
    assert!(
        source.contains("archive.take(arbitrary_value::<supplied::Seal>("),
        "{source}"
    );
    // Nothing of the user's file is needed.
    assert!(!source.contains("raddle_harness"), "{source}");
}

#[test]
#[ignore = "takes a minute"]
fn users_supply_values_constructors_and_operations() {
    let fixture = Fixture::special("supplied");
    for (name, call, has_file) in [
        ("Book", "book.read(&sample(raddle_harness::pages(), ", true),
        // What can be written down as a literal is.
        ("Stamps", "stamps.stamp(99999", false),
    ] {
        let subject = format!("supplied::{name}");
        let run = fixture.check(&["generate", &subject, "--time", "60s"], 100);
        let source = only_panic(&run);
        assert_eq!(source.matches(call).count(), 2, "{source}");
        assert_eq!(
            source.contains("mod raddle_harness {"),
            has_file,
            "{source}"
        );
    }
    let run = fixture.check(&["generate", "supplied::Vault", "--time", "60s"], 100);
    let tests = generated(&run);
    assert_eq!(tests.len(), 1, "{tests:?}");
    let (kind, source) = tests[0];
    assert_eq!(kind, "linearizability", "{source}");
    assert!(
        source.contains("Arc::new(raddle_harness::vault())"),
        "{source}"
    );
    assert!(
        source.contains("raddle_harness::visit(&*vault)"),
        "{source}"
    );
    assert!(run.findings()[0].confirmed);
}

/// The source of the one test that was written, which panics.
fn only_panic(run: &Run) -> &str {
    let tests = generated(run);
    assert_eq!(tests.len(), 1, "{tests:?}");
    let (kind, source) = tests[0];
    assert_eq!(kind, "panic", "{source}");
    let findings = run.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].confirmed);
    source
}

#[test]
fn what_a_method_lacks_is_said_as_one_writes_it() {
    let fixture = Fixture::special("supplied");
    let empty = fixture.path().join("empty.rs");
    std::fs::write(&empty, "").expect("the file can be written");
    let run = fixture.check(&["generate", "supplied::Vault", "--harness", "empty.rs"], 4);
    let words = "write `pub fn make() -> supplied::Vault` in raddle-harness.rs";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    std::fs::write(
        &empty,
        "pub fn make() -> supplied::Vault { supplied::Vault::open(|_| true) }",
    )
    .expect("the file can be written");
    let configured = "[generate]\nharness = 'empty.rs'\n";
    std::fs::write(fixture.path().join("raddle.toml"), configured).expect("it can be written");
    let run = fixture.check(&["generate", "supplied::Vault"], 4);
    for words in [
        "has no methods that threads can share",
        "visit: ",
        "in raddle-harness.rs",
    ] {
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

#[test]
fn bad_harness_files_are_named() {
    let fixture = Fixture::special("supplied");
    for (file, subject, words) in [
        (
            "nowhere.rs",
            "Stamps",
            "there is no harness file nowhere.rs",
        ),
        ("bad/broken.rs", "Stamps", "bad/broken.rs does not compile"),
        (
            "bad/unknown.rs",
            "Stamps",
            "bad/unknown.rs does not compile",
        ),
        (
            "bad/nothing.rs",
            "Stamps",
            "`nothing` means nothing: it gives neither values",
        ),
        (
            "bad/generic.rs",
            "Stamps",
            "`any` means nothing: it is generic",
        ),
        (
            "bad/mismatched.rs",
            "Stamps",
            "`stamp::count` means nothing: it gives `u8`, and the argument is `u64`",
        ),
        (
            "bad/misnamed.rs",
            "Stamps",
            "`stamp::colour` means nothing: `stamp` has no argument `colour`",
        ),
    ] {
        let subject = format!("supplied::{subject}");
        let arguments = ["generate", &subject, "--list", "--harness", file];
        let run = fixture.check(&arguments, 2);
        assert!(run.stderr.contains(words), "{file}: {}", run.stderr);
    }
}

#[test]
fn what_needs_no_threads_is_said_to_need_none() {
    let fixture = Fixture::special("types");
    let run = fixture.check(&["generate", "types::Shelf", "--time", "4s"], 100);
    let tests = generated(&run);
    // What `add` says that it does is no failure.
    assert_eq!(tests.len(), 1, "{tests:?}");
    let (kind, source) = tests[0];
    assert_eq!(kind, "sequential", "{source}");
    assert!(source.contains("shelf.last()"), "{source}");
    assert!(!source.contains("thread"), "{source}");
    // What is left says that it panics, one of the methods where its trait is declared.
    let rest = ["generate", "types::Shelf", "--skip", "last", "--time", "3s"];
    assert!(generated(&fixture.check(&rest, 0)).is_empty());
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let fixture = Fixture::special("types");
    let run = fixture.check(
        &["generate", "types::Queue", "--time", "5s", "--threads", "3"],
        0,
    );
    assert!(generated(&run).is_empty());
    let coverage = run.lines.iter().find_map(|line| match line {
        Line::Coverage { methods, pairs, .. } => Some((methods, pairs)),
        _ => None,
    });
    let (methods, pairs) = coverage.expect("what was covered is told");
    assert_eq!(methods.len(), 5, "{methods:?}");
    let covered = pairs.iter().filter(|pair| pair.covered > 0.0).count();
    assert!(covered > pairs.len() / 2, "{covered} of {}", pairs.len());
}

#[test]
fn results_that_depend_on_who_calls_are_not_judged() {
    let fixture = Fixture::special("types");
    let run = fixture.check(&["generate", "types::rare::Places", "--time", "5s"], 0);
    assert!(generated(&run).is_empty());
}

#[test]
fn methods_that_are_called_inside_of_others_count_as_long_as_they_run() {
    let fixture = Fixture::special("types");
    // One preemption at most, anywhere: others come in while something lasts long.
    let strategy = ["--strategy", "pct(2)"];
    let run = fixture.check(
        &[&["generate", "types::Nest", "--time", "5s"], &strategy[..]].concat(),
        0,
    );
    let coverage = run.lines.iter().find_map(|line| match line {
        Line::Coverage { methods, pairs, .. } => Some((methods, pairs)),
        _ => None,
    });
    let (methods, pairs) = coverage.expect("what was covered is told");
    let covered = |one: &str, other: &str| {
        let mut cells = pairs.iter();
        let cell = cells.find(|cell| {
            let names = (methods[cell.first].as_str(), methods[cell.second].as_str());
            names == (one, other) || names == (other, one)
        });
        cell.expect("there is the pair").covered
    };
    // If a test calls these, nobody else runs until they have returned.
    for name in ["inner", "Rest::rest", "Rest::moment"] {
        assert!(covered(name, name) > 0.0, "{name}: {pairs:?}");
    }
    // `climb` lasts much longer than what is unwound in it at its beginning.
    let (fall, climb) = (covered("fall", "fall"), covered("climb", "fall"));
    assert!(fall * 4.0 < climb, "{fall} of {climb}: {pairs:?}");
}

#[test]
fn what_cannot_be_generated_is_said() {
    let fixture = Fixture::special("types");
    for (name, code, words) in [
        ("types::Nobody", 2, "has no public type"),
        ("types::hidden::Hidden", 2, "no public type"),
        ("nobody::Type", 2, "there is no library `nobody`"),
        ("Basket", 2, "say where"),
        (
            "std::sync::Mutex",
            2,
            "is a type of the standard library, for which no tests are generated",
        ),
        ("types::Unmade", 4, "nothing public makes"),
        ("types::Alone", 4, "no methods that threads can share"),
        ("types::Unshared", 4, "cannot be shared between threads"),
    ] {
        let run = fixture.check(&["generate", name, "--time", "5s"], code);
        assert!(run.stderr.contains(words), "{name}: {}", run.stderr);
    }
}

#[test]
fn who_waits_for_itself_is_named() {
    let fixture = Fixture::special("types");
    let run = fixture.check(&["generate", "types::Snare", "--time", "3s"], 0);
    let is_told = |line: &Line| matches!(line, Line::Note { text } if text.contains("`tighten` never returned"));
    assert!(run.lines.iter().any(is_told), "{}", run.stderr);
}

#[test]
fn methods_that_no_test_survives_are_left_out() {
    let fixture = Fixture::special("types");
    let arguments = [
        "generate",
        "types::Rude",
        "--time",
        "2s",
        "--watchdog",
        "1s",
    ];
    let run = fixture.check(&arguments, 0);
    let notes: Vec<_> = run
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Note { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    for words in [
        "`leave` is not called: it ends the process",
        "`stay` is not called: it does not",
    ] {
        assert!(
            notes.iter().any(|note| note.contains(words)),
            "{words}: {notes:?}"
        );
    }
    let run = fixture.check(&["generate", "types::Rude", "--list", "--skip", "stay"], 0);
    let listed: Vec<_> = run
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Operation { name, refused } => Some((name.as_str(), refused.as_deref())),
            _ => None,
        })
        .collect();
    let unwanted = Some("it was not asked for");
    assert_eq!(
        listed,
        [("leave", None), ("pass", None), ("stay", unwanted)]
    );
}

#[test]
fn old_values_are_read_if_the_user_wants_that() {
    let fixture = Fixture::special("types");
    let arguments = ["generate", "types::rare::Crossing", "--time", "20s"];
    let weak = [&arguments[..], &["--memory-model", "weak"]].concat();
    let run = fixture.check(&weak, 100);
    let tests = generated(&run);
    assert_eq!(tests.len(), 1, "{tests:?}");
    let (kind, source) = tests[0];
    assert_eq!(kind, "panic", "{source}");
    assert_eq!(run.findings().len(), 1, "{run:#?}");
    assert!(run.findings()[0].confirmed);
    let arguments = ["generate", "types::rare::Crossing", "--time", "3s"];
    assert!(generated(&fixture.check(&arguments, 0)).is_empty());
}

#[test]
fn what_only_shows_in_large_objects_is_found() {
    let fixture = Fixture::special("types");
    let run = fixture.check(&["generate", "types::rare::Store", "--time", "60s"], 100);
    let tests = generated(&run);
    assert_eq!(tests.len(), 1, "{tests:?}");
    let (kind, source) = tests[0];
    assert_eq!(kind, "panic", "{source}");
    // No more than it takes, and written as a loop.
    assert!(source.contains("for _ in 0..33 {"), "{source}");
    assert!(source.contains("store.put("), "{source}");
    assert_eq!(run.findings().len(), 1, "{run:#?}");
}

#[test]
fn futures_of_private_types_are_driven() {
    let fixture = Fixture::special("types");
    let run = fixture.check(&["generate", "types::rare::Bell", "--time", "60s"], 100);
    let tests = generated(&run);
    assert_eq!(tests.len(), 1, "{tests:?}");
    let (kind, source) = tests[0];
    assert_eq!(kind, "linearizability", "{source}");
    for call in ["bell.ring();", "bell.wave();", "drive(bell.heard())"] {
        assert!(source.contains(call), "{call}: {source}");
    }
    assert_eq!(run.findings().len(), 1, "{run:#?}");
}

/// Writes the workspace's raddle.toml.
fn configure(fixture: &Fixture, text: &str) {
    std::fs::write(fixture.path().join("raddle.toml"), text).expect("it can be written");
}

/// Findings, results that were checked, and methods whose results were not, of a run.
pub fn checks(run: &Run) -> (usize, u64, Vec<(&str, &str, u64)>) {
    let found = run.lines.iter().find_map(|line| match line {
        Line::Coverage {
            findings,
            checked_results,
            unchecked,
            ..
        } => {
            let unchecked = unchecked.iter();
            let unchecked = unchecked.map(|one| (&*one.method, &*one.why, one.unexplained));
            Some((*findings, *checked_results, unchecked.collect()))
        }
        _ => None,
    });
    found.expect("what was checked is told")
}

#[test]
fn results_that_are_not_checked_are_counted_by_method() {
    let fixture = Fixture::special("types");
    let run = fixture.check(
        &[
            "generate",
            "types::edges::Span",
            "--time",
            "3s",
            "--op",
            "move_to",
            "--op",
            "snapshot",
        ],
        0,
    );
    let (findings, _, unchecked) = checks(&run);
    assert_eq!(findings, 0);
    let [(method, why, unexplained)] = unchecked[..] else {
        panic!("{unchecked:?}");
    };
    assert_eq!((method, why), ("snapshot", "looks at the whole object"));
    assert!(unexplained > 0, "torn reads are counted");
    let ended = Tool::new(fixture.path(), ["generate", "types::Queue", "--time", "2s"]).run();
    let text = ended.stdout + &ended.stderr;
    assert!(text.contains("0 findings"), "{text}");
    assert!(text.contains("`len` ("), "{text}");
}

#[test]
fn methods_that_promise_less_are_relaxed() {
    let fixture = Fixture::special("types");
    let arguments = [
        "generate",
        "types::edges::Span",
        "--time",
        "20s",
        "--skip",
        "snapshot",
    ];
    let run = fixture.check(&arguments, 100);
    assert_eq!(generated(&run)[0].0, "linearizability");
    let short = [
        "generate",
        "types::edges::Span",
        "--time",
        "3s",
        "--skip",
        "snapshot",
    ];
    let relaxed = [&short[..], &["--relax", "ends=read one after the other"]].concat();
    let run = fixture.check(&relaxed, 0);
    let (_, _, unchecked) = checks(&run);
    assert_eq!(unchecked[0].1, "is relaxed: read one after the other");
    configure(
        &fixture,
        "[[relax]]\ntype = 'types::edges::Span'\nmethod = 'ends'\nreason = 'by design'\n\
         [[relax]]\ntype = 'types::edges::Room'\nmethod = 'nothing'\nreason = 'of another type'\n",
    );
    let run = fixture.check(&short, 0);
    assert_eq!(checks(&run).2[0].1, "is relaxed: by design");
    for (flag, words) in [
        ("nobody=x", "no operation `nobody`"),
        ("ends", "METHOD=REASON"),
    ] {
        let run = fixture.check(&["generate", "types::edges::Span", "--relax", flag], 2);
        assert!(run.stderr.contains(words), "{flag}: {}", run.stderr);
    }
}

#[test]
fn three_threads_and_full_blocks_are_tried() {
    let fixture = Fixture::special("types");
    for (name, words) in [("Room", "there are three"), ("Blocks", "no block")] {
        let subject = format!("types::edges::{name}");
        let run = fixture.check(&["generate", &subject, "--time", "60s"], 100);
        let tests = generated(&run);
        let is_it = |(kind, source): &&(&str, &str)| *kind == "panic" && source.contains(words);
        assert_eq!(tests.iter().filter(is_it).count(), 1, "{name}: {tests:?}");
    }
}

#[test]
fn a_race_of_one_access_is_one_finding_and_others_are_looked_for() {
    let fixture = Fixture::special("types");
    let arguments = ["generate", "types::edges::Meter", "--time", "30s"];
    // Different calls show one and the same, and both are seen in the first test.
    let short = ["generate", "types::edges::Meter", "--time", "4s"];
    let options = ["--max-findings", "3", "--seed", "1"];
    let run = fixture.check(&[&short[..], &options].concat(), 100);
    let mut shown: Vec<_> = run
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Generated { kind, finding, .. } => Some((kind.as_str(), finding.as_str())),
            _ => None,
        })
        .collect();
    shown.sort_unstable();
    let [("data-race", race), ("linearizability", panic)] = shown[..] else {
        panic!("{shown:?}");
    };
    assert!(race.starts_with("data-race-"), "{race}");
    assert!(panic.starts_with("panic-"), "{panic}");
    let is_lost =
        |line: &Line| matches!(line, Line::Note { text } if text.contains("does not show it"));
    assert!(!run.lines.iter().any(is_lost), "{:?}", run.lines);
    // What the user has explained is not in the way either.
    configure(
        &fixture,
        "[[ignore]]\nkind = 'data-race'\nfunction = 'types::edges::*'\nreason = 'harmless'\n",
    );
    let run = fixture.check(&arguments, 100);
    let kinds: Vec<_> = generated(&run).iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, ["linearizability"]);
}

#[test]
fn a_written_test_does_what_was_done_when_the_failure_was_seen() {
    let fixture = Fixture::special("types");
    for (name, kind) in [
        ("Given", "data-race"),
        ("Walked", "data-race"),
        ("Lent", "data-race"),
        ("Held", "linearizability"),
    ] {
        let subject = format!("types::looks::{name}");
        let run = fixture.check(&["generate", &subject, "--time", "30s"], 100);
        let tests = generated(&run);
        assert!(
            tests.iter().any(|(found, _)| *found == kind),
            "{name}: {tests:?}"
        );
        let is_lost =
            |line: &Line| matches!(line, Line::Note { text } if text.contains("does not show it"));
        assert!(!run.lines.iter().any(is_lost), "{name}: {:?}", run.lines);
    }
}

#[test]
fn what_a_written_test_does_not_show_ends_no_search() {
    let fixture = Fixture::special("types");
    let arguments = ["generate", "types::edges::Shy", "--time", "30s"];
    let run = fixture.check(&arguments, 100);
    let is_lost =
        |line: &Line| matches!(line, Line::Note { text } if text.contains("does not show it"));
    let lost = run.lines.iter().position(is_lost);
    let is_found =
        |line: &Line| matches!(line, Line::Generated { kind, .. } if kind == "linearizability");
    let found = run.lines.iter().position(is_found);
    assert!(lost.is_some() && lost < found, "{:?}", run.lines);
    // It costs seconds.
    let seconds = run.lines.iter().find_map(|line| match line {
        Line::Generated { seconds, .. } => Some(*seconds),
        _ => None,
    });
    assert!(seconds.is_some_and(|seconds| seconds < 40.0), "{seconds:?}");
}

#[test]
fn a_test_does_the_same_when_it_is_written_down() {
    let fixture = Fixture::special("types");
    for name in ["looks::Walked", "looks::Held", "Giver"] {
        let subject = format!("types::{name}");
        let options = ["--time", "1s", "--compare", "10", "--seed", "1"];
        let run = fixture.check(&[&["generate", &subject], &options[..]].concat(), 0);
        let compared = run.lines.iter().find_map(|line| match line {
            Line::Comparison {
                same,
                events,
                different,
            } => Some((*same, *events, different.len())),
            _ => None,
        });
        let (same, events, different) = compared.expect("what was compared is told");
        assert_eq!((same, different), (10, 0), "{name}");
        assert!(events > 100, "{name}: {events}");
    }
}

#[test]
fn type_arguments_of_std_are_named_by_their_paths() {
    let fixture = Fixture::special("types");
    for argument in [
        "std::sync::Arc<u32>",
        "std::cell::Cell<u32>",
        "Vec<std::time::Duration>",
    ] {
        let subject = format!("types::Inlet<{argument}>");
        let run = fixture.check(&["generate", &subject, "--list"], 0);
        let is_called =
            |line: &Line| matches!(line, Line::Operation { refused: None, name } if name == "put");
        assert!(
            run.lines.iter().any(is_called),
            "{argument}: {:?}",
            run.lines
        );
    }
}
