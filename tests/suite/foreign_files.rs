//! Schedule files and results directories of others are data: they start nothing that the user
//! did not name.

use std::fs;
use std::path::Path;

use raddle_e2e::{Fixture, Tool};

/// Whether anything has run that only a file named.
fn assert_nothing_ran(fixture: &Fixture, attack: &str) {
    for name in ["PWNED", "wrapped"] {
        assert!(!fixture.path().join(name).exists(), "{attack}: {name}");
    }
}

fn write(path: &Path, text: &str) {
    let directory = path.parent().expect("a directory");
    fs::create_dir_all(directory).expect("a directory can be made");
    fs::write(path, text).expect("a file can be written");
}

/// The schedule with other lines in the place of its own.
fn with_lines(schedule: &str, lines: &[&str]) -> String {
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let replaced: Vec<_> = lines.iter().map(|line| first(line)).collect();
    let kept = schedule
        .lines()
        .filter(|line| !replaced.contains(&first(line)));
    let mut text: Vec<_> = kept.collect();
    text.splice(1..1, lines.iter().copied());
    text.join("\n") + "\n"
}

#[test]
fn a_schedule_starts_no_program_that_the_user_did_not_name() {
    let fixture = Fixture::compiled("bad-c", "asserts.c");
    let finding = fixture.check(&["test", "./prog"], 100).finding().clone();
    let good = fs::read_to_string(fixture.path().join(&finding.schedule)).expect("a schedule");
    let script = fixture.path().join("evil.sh");
    write(&script, "#!/bin/sh\ntouch PWNED\n");
    let runs_it = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, runs_it).expect("permissions can be set");
    let attacks: [&[&str]; 9] = [
        &["test /bin/sh", "argument -c", "argument touch PWNED"],
        &[
            "test ./../../../../../../bin/sh",
            "argument -c",
            "argument touch PWNED",
        ],
        &["test ./evil.sh"],
        &["test /usr/bin/env", "argument sh", "argument ./evil.sh"],
        &["test /usr/bin/touch", "argument PWNED"],
        // The right program with arguments of the file's.
        &["test ./prog", "argument --delete-everything"],
        &["test ./prog\\n"],
        &["test ./prog "],
        &["test prog"],
    ];
    for (number, lines) in attacks.into_iter().enumerate() {
        let name = format!("attack-{number}.schedule");
        let text = with_lines(&good, lines);
        write(&fixture.path().join(&name), &text);
        let run = fixture.check(&["replay", &name], 2);
        run.assert_says(&["a file does not decide what is run"]);
        // As a stored one, and as a kept one.
        write(
            &fixture
                .path()
                .join("raddle-results/schedules/evil.schedule"),
            &text,
        );
        fixture.check(&["replay", "evil"], 2);
        write(
            &fixture.path().join("raddle-regressions/evil.schedule"),
            &text,
        );
        assert_nothing_ran(&fixture, &text);
    }
    let again = fixture.check(&["test", "./prog"], 100);
    assert!(again.summary().executions > 0, "{again:#?}");
    assert_nothing_ran(&fixture, "raddle-regressions");
    // What the user has run, or names now, is run.
    fixture.check(&["replay", &finding.id], 100);
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let file = elsewhere.path().join("attached.schedule");
    write(&file, &good);
    let file = file.to_string_lossy().into_owned();
    fixture.check(&["replay", &file], 100);
    fixture.check(&["replay", "attack-5.schedule", "./prog"], 100);
}

#[test]
fn a_store_of_others_starts_nothing() {
    let fixture = Fixture::compiled("bad-c", "asserts.c");
    let finding = fixture.check(&["test", "./prog"], 100).finding().clone();
    let flags = fixture.path().join("raddle-results/flags.json");
    let text = fs::read_to_string(&flags).expect("flags are stored");
    let with_arguments = text.replace("\"arguments\": []", "\"arguments\": [\"--evil\"]");
    assert_ne!(text, with_arguments);
    write(&flags, &with_arguments);
    let run = fixture.check(&["replay", &finding.id], 2);
    run.assert_says(&["a file does not decide what is run"]);
    // On another machine nothing is known; the sentence says what to type.
    write(&flags, &text);
    let cache = tempfile::tempdir().expect("a temporary directory");
    let tool = Tool::new(fixture.path(), ["replay", &finding.id]).env("RADDLE_CACHE", cache.path());
    let ended = tool.run();
    assert_eq!(ended.status.code(), Some(2), "{ended:#?}");
    let advice = format!("replay {} ./prog`", finding.id);
    assert!(ended.stderr.contains(&advice), "{ended:#?}");
    fixture.check(&["replay", &finding.id, "./prog"], 100);
}

#[test]
fn a_schedule_chooses_among_the_tests_of_a_build_only() {
    let fixture = Fixture::example("lost-update");
    let finding = fixture.check(&["test"], 100).finding().clone();
    let good = fs::read_to_string(fixture.path().join(&finding.schedule)).expect("a schedule");
    let wrapper = fixture.path().join("wrapper");
    write(&wrapper, "#!/bin/sh\ntouch wrapped\nexec \"$@\"\n");
    let runs_it = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&wrapper, runs_it).expect("permissions can be set");
    let attacks: [(&[&str], i32); 6] = [
        (&["target bin/evil", "argument x"], 2),
        (&["target bin/--config=build.rustc-wrapper='./wrapper'"], 2),
        (&["target example/--manifest-path=/tmp/x/Cargo.toml"], 2),
        (
            &[
                "target main",
                "test /bin/sh",
                "argument -c",
                "argument touch PWNED",
            ],
            2,
        ),
        (&["target lib", "test no::such::test"], 4),
        (&["target tests/../../evil", "test x"], 4),
    ];
    for (lines, code) in attacks {
        let text = with_lines(&good, lines);
        write(&fixture.path().join("attack.schedule"), &text);
        fixture.check(&["replay", "attack.schedule"], code);
        assert_nothing_ran(&fixture, &text);
    }
    // Flags of the results directory choose tests, and no program that builds.
    let flags = fixture.path().join("target/raddle/flags.json");
    let evil = format!(
        "{{\"{}\": {{\"flags\": [\"--config\", \"build.rustc-wrapper='./wrapper'\", \"--tests\", \
         \"--manifest-path\", \"/nowhere/Cargo.toml\"], \"arguments\": [\"--logfile=PWNED\"]}}}}",
        finding.id
    );
    write(&flags, &evil);
    fixture.check(&["replay", &finding.id], 100);
    assert_nothing_ran(&fixture, &evil);
    // An id is part of a path when it is kept.
    let text = with_lines(&good, &["finding ../../escaped"]);
    write(
        &fixture.path().join("target/raddle/schedules/x.schedule"),
        &text,
    );
    let run = fixture.check(&["keep", "x"], 2);
    run.assert_says(&["id of a finding"]);
}

#[test]
fn a_program_of_the_workspace_is_replayed_as_it_was_run_or_is_named() {
    let fixture = Fixture::special("programs");
    let arguments = ["test", "--bin", "programs", "--", "4"];
    let finding = fixture.check(&arguments, 100).finding().clone();
    fixture.check(&["replay", &finding.id], 100);
    fixture.edit("target/raddle/flags.json", |text| {
        text.replace("\"4\"", "\"5\"")
    });
    let run = fixture.check(&["replay", &finding.id], 2);
    run.assert_says(&["--bin programs -- 4"]);
    fixture.check(
        &["replay", &finding.id, "--bin", "programs", "--", "4"],
        100,
    );
}

/// What would clear a screen, set a title, go back over a line, and turn text around.
const NASTY: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\r\u{9b}1A\u{202e}";

/// Runs the tool, for people and for programs; nothing that it says does anything to a terminal.
fn assert_harmless(fixture: &Fixture, arguments: &[&str], code: i32) {
    let colours = [&["--color", "always"], arguments].concat();
    let json = [&["--message-format", "json"], arguments].concat();
    for options in [colours, json] {
        // Options stand behind the command.
        let command = arguments[0];
        let mut words = vec![command];
        words.extend(options.iter().filter(|word| **word != command));
        let ended = Tool::new(fixture.path(), &words).run();
        assert_eq!(ended.status.code(), Some(code), "{words:?} {ended:#?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        for nasty in
            ["[2J", "]0;x", "1A"].map(|end| [format!("\u{1b}{end}"), format!("\u{9b}{end}")])
        {
            assert!(
                nasty.iter().all(|nasty| !said.contains(nasty)),
                "{words:?} {ended:#?}"
            );
        }
        assert!(
            !said.contains(['\u{7}', '\r', '\u{9b}', '\u{202e}']),
            "{words:?} {ended:#?}"
        );
    }
}

#[test]
fn no_text_of_others_does_anything_to_a_terminal() {
    let fixture = Fixture::compiled("bad-c", "asserts.c");
    let finding = fixture.check(&["test", "./prog"], 100).finding().clone();
    let good = fs::read_to_string(fixture.path().join(&finding.schedule)).expect("a schedule");
    let nasty_in_file = NASTY.replace('\r', "\\r");
    let lines = [
        format!("test ./{nasty_in_file}\\nerror: x"),
        format!("target {nasty_in_file}"),
        format!("argument {nasty_in_file}"),
        format!("finding {nasty_in_file}"),
        format!("kind {nasty_in_file}"),
        format!("strategy {nasty_in_file}"),
        format!("{nasty_in_file} 1"),
        format!("switch {nasty_in_file}"),
    ];
    for line in &lines {
        let text = with_lines(&good, &[line]);
        write(&fixture.path().join("nasty.schedule"), &text);
        let code = if line.starts_with("target") { 101 } else { 2 };
        assert_harmless(&fixture, &["replay", "nasty.schedule"], code);
    }
    // In names of files, of programs and of kept schedules, and in what the user types.
    let name = NASTY;
    let program = fixture.path().join(name);
    fs::copy(fixture.path().join("prog"), program).expect("a program can be copied");
    let path = format!("./{name}");
    write(
        &fixture
            .path()
            .join(format!("raddle-regressions/{name}.schedule")),
        "nonsense",
    );
    assert_harmless(&fixture, &["test", "--executions", "20", &path], 100);
    assert_harmless(&fixture, &["list", &path], 0);
    assert_harmless(&fixture, &["replay", name], 2);
    assert_harmless(&fixture, &["test", &format!("--{name}")], 2);
    assert_harmless(
        &fixture,
        &["test", &format!("--strategy={name}"), "./prog"],
        2,
    );
    for toml in [
        format!(
            "[[ignore]]\nid = \"{}\"\nreason = \"x\"\n",
            NASTY.escape_unicode()
        ),
        format!("\"{}\" = 1\n", NASTY.escape_unicode()),
        format!("# {NASTY}\nx = {NASTY}\n"),
    ] {
        let toml = toml.replace("\\u{", "\\U").replace('}', "");
        let toml = pad_escapes(&toml);
        write(&fixture.path().join("raddle.toml"), &toml);
        let code = if toml.starts_with("[[ignore") { 100 } else { 2 };
        let arguments = ["test", "--executions", "20", "./prog"];
        assert_harmless(&fixture, &arguments, code);
    }
}

/// TOML's `\U` wants eight digits.
fn pad_escapes(text: &str) -> String {
    let mut parts = text.split("\\U");
    let mut padded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_hexdigit).count();
        padded.push_str(&format!("\\U{}{part}", "0".repeat(8 - digits)));
    }
    padded
}
