//! Campaigns with workers that misbehave in every way there is.

mod fake;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use raddle_campaign::{
    Event, IgnoreRule, Options, Summary, Target, TargetKind, Verdict, find_stored, replay, run,
};
use raddle_trace::results::Conclusion;

fn target(behaviour: &str) -> Target {
    Target {
        exe: std::env::current_exe().unwrap(),
        name: "fake_worker".to_owned(),
        target: "tests/workers".to_owned(),
        package: "raddle-campaign".to_owned(),
        kind: TargetKind::Test,
        stdin: None,
        success: 0,
        args: Vec::new(),
        env: vec![(fake::BEHAVIOUR.into(), behaviour.into())],
        cwd: PathBuf::from("/"),
        private: Vec::new(),
        unseen_synchronisation: Vec::new(),
        unseen_code: Vec::new(),
        ignored: false,
    }
}

struct Run {
    summary: Summary,
    events: Vec<Event>,
    options: Options,
    _results: tempfile::TempDir,
}

impl Run {
    fn verdict(&self) -> &Verdict {
        &self.summary.tests[0].verdict
    }

    fn why(&self) -> &str {
        match self.verdict() {
            Verdict::Failed { why } | Verdict::NotTestable { why } | Verdict::NotRun { why } => why,
            verdict => panic!("{verdict:?}"),
        }
    }

    fn notes(&self) -> Vec<&str> {
        let notes = self.events.iter().filter_map(|event| match event {
            Event::Note(note) => Some(note.text.as_str()),
            _ => None,
        });
        notes.collect()
    }
}

fn check_with(behaviour: &str, change: impl FnOnce(&mut Options)) -> Run {
    let results = tempfile::tempdir().unwrap();
    let mut options = Options {
        executions: Some(40),
        watchdog: Duration::from_secs(1),
        memory: 256 << 20,
        minimise: 4,
        results: results.path().to_owned(),
        ..Options::default()
    };
    change(&mut options);
    let mut events = Vec::new();
    let targets = [target(behaviour)];
    let summary = run(&targets, &options, &AtomicBool::new(false), &mut |event| {
        events.push(event)
    })
    .unwrap();
    Run {
        summary,
        events,
        options,
        _results: results,
    }
}

fn check(behaviour: &str) -> Run {
    check_with(behaviour, |_| {})
}

#[test]
fn a_test_without_trouble_is_explored_and_has_the_same_hash_every_time() {
    let run = check("fine");
    assert_eq!(*run.verdict(), Verdict::Explored);
    assert_eq!(run.summary.totals.executions, 43);
    assert!(run.summary.findings.is_empty());
    let again = check("fine");
    assert_ne!(run.summary.tests[0].hash, 0);
    assert_eq!(run.summary.tests[0].hash, again.summary.tests[0].hash);
}

#[test]
fn a_test_of_which_all_executions_are_cut_is_not_explored() {
    let run = check("is cut");
    assert!(run.why().contains("ended for its length"), "{}", run.why());
    assert_eq!(run.summary.totals.explored, 0);
    assert_eq!(
        run.summary.totals.conclusion(0),
        Conclusion::NothingExplored
    );
    assert_eq!((run.summary.totals.cut, run.summary.tests[0].cut), (40, 40));
}

#[test]
fn a_test_that_is_too_long_is_cut_sooner_after_its_first_run() {
    let run = check_with("is too long", |options| options.max_points = 1000);
    assert!(run.why().contains("ended for its length"), "{}", run.why());
    // One long run, three serial ones and forty others, with ten points each that all have.
    let test = &run.summary.tests[0];
    assert_eq!((test.executions, test.cut), (44, 44));
    assert_eq!(test.points, 10_000 + 43 * 1000 + 44 * 10);
}

#[test]
fn one_thread_is_not_explored() {
    let run = check("single");
    assert_eq!(*run.verdict(), Verdict::SingleThreaded);
    assert_eq!(run.summary.totals.executions, 1);
}

#[test]
fn a_program_without_the_runtime_is_said_to_be_not_instrumented() {
    assert!(
        check("not instrumented")
            .why()
            .contains("was not instrumented")
    );
}

#[test]
fn a_program_that_ends_early_is_quoted() {
    let run = check("never starts");
    assert!(
        run.why().contains("before the test function"),
        "{}",
        run.why()
    );
    assert!(
        run.why().contains("cannot find the database"),
        "{}",
        run.why()
    );
}

#[test]
fn a_program_that_never_gets_ready_is_given_up() {
    let run = check("hangs at start");
    assert!(
        run.why().contains("waits in clock_nanosleep"),
        "{}",
        run.why()
    );
}

#[test]
fn a_spin_without_hooks_is_given_up() {
    let run = check("spins");
    assert!(run.why().contains("it spins or computes"), "{}", run.why());
}

#[test]
fn a_blocking_call_is_named() {
    let run = check("blocks");
    assert!(
        run.why().contains("waits in clock_nanosleep"),
        "{}",
        run.why()
    );
}

#[test]
fn a_process_that_ends_itself_is_not_testable() {
    assert!(check("exits").why().contains("exit code 5"));
}

#[test]
fn allocation_without_end_is_ended() {
    let run = check_with("allocates", |options| {
        options.watchdog = Duration::from_secs(60)
    });
    assert!(run.why().contains("allocates without end"), "{}", run.why());
}

#[test]
fn a_test_that_always_fails_has_failed() {
    let run = check("fails");
    assert_eq!(run.summary.totals.conclusion(0), Conclusion::Failed);
    assert!(
        run.why().contains("fails without any interleaving"),
        "{}",
        run.why()
    );
    assert!(run.why().contains("no such file"), "{}", run.why());
    assert!(run.summary.findings.is_empty());
}

#[test]
fn runs_that_differ_are_not_testable() {
    assert!(
        check("differs")
            .why()
            .contains("runs with the same schedule differ")
    );
}

#[test]
fn executions_that_differ_under_the_same_schedule_get_a_note() {
    let is_said = |run: &Run| {
        let notes = run.notes();
        notes
            .iter()
            .any(|note| note.contains("executions with the same schedule differ"))
    };
    let run = check("differs interleaved");
    assert_eq!(*run.verdict(), Verdict::Explored);
    assert!(is_said(&run));
    assert!(!is_said(&check("differs once")));
}

#[test]
fn a_first_run_may_differ_from_all_others() {
    let run = check("differs once");
    assert_eq!(*run.verdict(), Verdict::Explored);
    assert_eq!(run.summary.totals.executions, 44, "one more serial run");
}

#[test]
fn garbage_in_the_shared_memory_does_no_harm() {
    let run = check("garbage");
    assert_eq!(*run.verdict(), Verdict::Explored);
    assert!(run.summary.findings.is_empty());
}

#[test]
fn a_crash_costs_one_execution_and_one_worker() {
    let run = check("crashes");
    assert_eq!(*run.verdict(), Verdict::Explored);
    let findings = &run.summary.findings;
    assert_eq!(findings.len(), 1);
    assert!(findings[0].id.starts_with("crash-") && findings[0].confirmed);
    assert_eq!(findings[0].executions, 4);
    assert!(
        findings[0].title.contains("SIGSEGV"),
        "{}",
        findings[0].title
    );
}

#[test]
fn a_finding_is_confirmed_stored_and_replayed() {
    let run = check("panics");
    let [finding] = &run.summary.findings[..] else {
        panic!("{:?}", run.summary.findings)
    };
    assert!(finding.confirmed && finding.count >= 9, "{finding:?}");
    let sent = run
        .events
        .iter()
        .filter(|event| matches!(event, Event::Finding(_)));
    assert_eq!(sent.count(), 1);
    let stored = find_stored(&finding.id, &run.options.results).unwrap();
    assert_eq!(
        (stored.test.as_str(), &stored.id),
        ("fake_worker", &finding.id)
    );
    let stop = AtomicBool::new(false);
    let replayed = replay(&target("panics"), &stored, 5, false, &run.options, &stop).unwrap();
    assert_eq!((replayed.runs, replayed.reproduced), (5, 5));
    let by_path = find_stored(&stored.schedule.display().to_string(), &run.options.results);
    assert_eq!(by_path.unwrap().id, finding.id);
    assert!(find_stored("panic-nothing", &run.options.results).is_err());
}

#[test]
fn a_finding_that_cannot_be_stored_is_shown_before_the_error() {
    let id = check("panics").summary.findings[0].id.clone();
    let results = tempfile::tempdir().unwrap();
    let path = results.path().join("findings").join(format!("{id}.json"));
    std::fs::create_dir_all(&path).unwrap();
    let options = Options {
        executions: Some(40),
        results: results.path().to_owned(),
        ..Options::default()
    };
    let mut shown = Vec::new();
    let stop = AtomicBool::new(false);
    let error = run(&[target("panics")], &options, &stop, &mut |event| {
        if let Event::Finding(finding) = event {
            shown.push(finding);
        }
    })
    .unwrap_err()
    .to_string();
    assert_eq!((shown.len(), &shown[0].id), (1, &id));
    assert!(error.contains(&path.display().to_string()), "{error}");
    assert!(!error.contains('\n'), "{error}");
    // Its schedule could be stored, and is found by its id.
    std::fs::remove_dir(&path).unwrap();
    let stored = find_stored(&id, results.path()).unwrap();
    assert_eq!((&stored.id, stored.finding.is_none()), (&id, true));
}

#[test]
fn few_processes_are_started() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let results = tempfile::tempdir().unwrap();
    let options = Options {
        executions: Some(40),
        results: results.path().to_owned(),
        ..Options::default()
    };
    let mut target = target("panics");
    target.env.push((fake::LOG.into(), log.path().into()));
    let stop = AtomicBool::new(false);
    let summary = run(&[target], &options, &stop, &mut |_| {}).unwrap();
    assert_eq!(summary.findings.len(), 1);
    // One for serial runs and exploration, one that shows the finding again and shortens its
    // schedule, one that shows that the stored schedule replays.
    let starts = std::fs::read_to_string(log.path()).unwrap();
    assert_eq!(starts.lines().count(), 3, "{starts}");
}

#[test]
fn what_does_not_show_again_is_no_finding() {
    let run = check("panics once");
    assert!(run.summary.findings.is_empty());
    assert!(
        run.notes()
            .iter()
            .any(|note| note.contains("did not show again"))
    );
}

#[test]
fn ignored_findings_are_told_apart() {
    let id = check("panics").summary.findings[0].id.clone();
    let rule = |id: &str| IgnoreRule {
        id: Some(id.to_owned()),
        ..IgnoreRule::default()
    };
    let run = check_with("panics", |options| {
        options.ignore = vec![rule("other"), rule(&id)]
    });
    assert!(run.summary.findings.is_empty());
    assert_eq!(run.summary.unused_ignores, [0]);
    let ignored = run
        .events
        .iter()
        .any(|event| matches!(event, Event::Ignored { rule: 1, .. }));
    assert!(ignored);
}

#[test]
fn time_limits_the_whole_run() {
    let run = check_with("slow", |options| {
        options.executions = Some(1_000_000);
        options.time = Duration::from_secs(1);
    });
    assert_eq!(*run.verdict(), Verdict::Explored);
    assert!(
        run.summary.totals.seconds < 5.0,
        "{}",
        run.summary.totals.seconds
    );
}

#[test]
fn long_tests_come_last_and_get_the_time_that_is_left() {
    let results = tempfile::tempdir().unwrap();
    let options = Options {
        executions: Some(40),
        time: Duration::from_secs(30),
        results: results.path().to_owned(),
        ..Options::default()
    };
    let behaviours = [["slow start"; 2], ["fine"; 2], ["single"; 2], ["fine"; 2]].concat();
    let targets: Vec<Target> = behaviours.iter().copied().map(target).collect();
    let mut done = Vec::new();
    let stop = AtomicBool::new(false);
    let summary = run(&targets, &options, &stop, &mut |event| {
        if let Event::TestDone(result) = event {
            done.push(result.index);
        }
    })
    .unwrap();
    assert_eq!(
        (summary.totals.explored, summary.totals.single_threaded),
        (6, 2)
    );
    // Which of the two comes first is a matter of the machine.
    let last = BTreeSet::from_iter(&done[6..]);
    assert_eq!(last, BTreeSet::from([&0, &1]), "{done:?}");
    let indices: Vec<usize> = summary.tests.iter().map(|test| test.index).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7]);
    // The turn in which a test is explored does not matter.
    let alone = check("slow start");
    assert_eq!(summary.tests[0].hash, alone.summary.tests[0].hash);
}

/// Runs two tests whose first executions take longer than their first turns, among others, and
/// returns how many workers these two took.
fn workers_of_long_tests(memory: u64) -> usize {
    let results = tempfile::tempdir().unwrap();
    let log = results.path().join("log");
    std::fs::write(&log, "").unwrap();
    let options = Options {
        executions: Some(4),
        jobs: 1,
        // An eighth of a sixteenth is what a test has at first.
        time: Duration::from_secs(48),
        memory,
        results: results.path().join("results"),
        ..Options::default()
    };
    let long = ["long start"; 2].map(|behaviour| {
        let mut target = target(behaviour);
        target.env.push((fake::LOG.into(), log.clone().into()));
        target
    });
    let targets = [&long[..], &["single"; 14].map(target)].concat();
    let stop = AtomicBool::new(false);
    let summary = run(&targets, &options, &stop, &mut |_| {}).unwrap();
    assert_eq!(summary.totals.explored, 2);
    assert_eq!(summary.tests[0].executions, 3 + 4);
    assert_eq!(summary.tests[0].hash, summary.tests[1].hash);
    std::fs::read_to_string(&log).unwrap().lines().count()
}

#[test]
fn what_a_turn_ends_in_the_middle_of_goes_on_in_the_next_one() {
    let paused = workers_of_long_tests(1 << 30);
    let restarted = workers_of_long_tests(32 << 20);
    assert!(paused < restarted, "{paused} {restarted}");
}

#[test]
fn what_had_no_time_is_not_run() {
    let results = tempfile::tempdir().unwrap();
    let options = Options {
        time: Duration::from_millis(500),
        results: results.path().to_owned(),
        ..Options::default()
    };
    let targets = ["slow start"; 4].map(target);
    let stop = AtomicBool::new(false);
    let mut done = 0;
    let summary = run(&targets, &options, &stop, &mut |event| {
        done += usize::from(matches!(event, Event::TestDone(_)));
    })
    .unwrap();
    assert_eq!((summary.totals.not_run, done), (4, 4));
    assert!(summary.totals.seconds < 5.0, "{}", summary.totals.seconds);
    for test in &summary.tests {
        let Verdict::NotRun { why } = &test.verdict else {
            panic!("{test:?}")
        };
        assert!(why.contains("--time"), "{why}");
    }
}

#[test]
fn a_stopped_run_continues_where_it_was() {
    let first = check_with("slow", |options| {
        options.executions = Some(300);
        options.time = Duration::from_millis(500);
    });
    let explored = first.summary.totals.executions - 3;
    assert!(explored < 300, "{explored}");
    let options = Options {
        resume: true,
        time: Duration::from_secs(60),
        executions: Some(explored + 5),
        ..first.options.clone()
    };
    let targets = [target("slow")];
    let stop = AtomicBool::new(false);
    let second = run(&targets, &options, &stop, &mut |_| {}).unwrap();
    // The serial runs are made again; what was explored before is not repeated.
    assert_eq!(second.totals.executions, 5 + 3);
    let third = run(&targets, &options, &stop, &mut |_| {}).unwrap();
    assert_eq!((third.totals.executions, third.totals.explored), (0, 1));
    assert_eq!(third.tests[0].hash, second.tests[0].hash);
}

#[test]
fn what_was_not_reached_is_not_run() {
    let results = tempfile::tempdir().unwrap();
    let options = Options {
        results: results.path().to_owned(),
        ..Options::default()
    };
    let stop = AtomicBool::new(true);
    let summary = run(&[target("fine")], &options, &stop, &mut |_| {}).unwrap();
    assert!(summary.totals.interrupted);
    assert_eq!(summary.totals.not_run, 1);
}

#[test]
fn an_unknown_strategy_is_an_error() {
    let options = Options {
        strategy: "luck".to_owned(),
        ..Options::default()
    };
    let error = run(&[], &options, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("luck"), "{error}");
}
