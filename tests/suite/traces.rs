//! `replay --trace` writes down what an execution did.

use std::collections::{HashMap, HashSet};
use std::fs;

use raddle_e2e::Fixture;

/// One line of a trace: a keyword and fields by name.
struct Record {
    keyword: String,
    fields: HashMap<String, String>,
}

impl Record {
    /// The words of a line; texts are quoted.
    fn parse(line: &str) -> Self {
        let mut words = Vec::new();
        let mut rest = line.trim();
        while !rest.is_empty() {
            let (word, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').expect("a closed quote"),
                None => rest.split_once(' ').unwrap_or((rest, "")),
            };
            words.push(word.to_owned());
            rest = after.trim_start();
        }
        let mut words = words.into_iter();
        let keyword = words.next().expect("a keyword");
        let mut fields = HashMap::new();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            fields.insert(name, value);
        }
        Self { keyword, fields }
    }

    /// A field that is left out is 0 or empty.
    fn get(&self, name: &str) -> &str {
        self.fields.get(name).map_or("0", String::as_str)
    }

    fn place(&self) -> (String, String) {
        (self.get("object").to_owned(), self.get("offset").to_owned())
    }
}

/// The trace of a test that finds nothing, under the default schedule.
fn trace(fixture: &Fixture, test: &str) -> Vec<Record> {
    let schedule = format!(
        "raddle schedule 1\nbuild -\ntest tests::{test}\ntarget lib\nfinding none\nkind panic\n\
         seed 1\ngranularity sync\nmax-points 100000\nlength 0\noracles race heap\nend\n"
    );
    fs::write(fixture.path().join("any.schedule"), schedule).expect("a file can be written");
    fixture.check(&["replay", "any.schedule", "--trace", "any.trace"], 0);
    let text = fs::read_to_string(fixture.path().join("any.trace")).expect("a trace");
    assert_eq!(text.lines().next(), Some("raddle trace 2"));
    assert_eq!(text.lines().last(), Some("end"));
    text.lines().skip(1).map(Record::parse).collect()
}

/// What was entered, left and locked, as `thread` `depth` `word`, by the function's last name.
/// Every entry must have its exit, and every exit its entry.
fn story(records: &[Record], words: &[&str]) -> Vec<String> {
    let sites: Vec<_> = named(records, "site", "function");
    let function = |record: &Record| {
        let site: usize = record.get("site").parse().expect("a number");
        let path = site.checked_sub(1).map_or("", |index| &sites[index]);
        path.rsplit("::").next().unwrap_or_default().to_owned()
    };
    let mut open: HashMap<&str, Vec<String>> = HashMap::new();
    let mut story = Vec::new();
    for record in records {
        let stack = open.entry(record.get("thread")).or_default();
        let name = function(record);
        match record.keyword.as_str() {
            "enter" => stack.push(name.clone()),
            "leave" | "unwind" => assert_eq!(stack.pop().as_ref(), Some(&name), "{story:#?}"),
            "lock" if !stack.is_empty() => {}
            _ => continue,
        }
        let word = match record.keyword.as_str() {
            "lock" => record.get("step"),
            other => other,
        };
        if words.contains(&word) {
            let name = if record.keyword == "lock" { "" } else { &name };
            story.push(
                format!("{} {word} {name}", record.get("thread"))
                    .trim_end()
                    .to_owned(),
            );
        }
    }
    assert!(open.values().all(Vec::is_empty), "left open: {open:?}");
    story
}

/// What stands for objects.
const OBJECTS: [&str; 5] = ["heap", "stack", "variable", "static", "region"];

fn named(records: &[Record], keyword: &str, field: &str) -> Vec<String> {
    let named = records.iter().filter(|record| record.keyword == keyword);
    named.map(|record| record.get(field).to_owned()).collect()
}

#[test]
fn methods_have_entries_exits_receivers_and_types() {
    let fixture = Fixture::special("traced");
    let records = trace(&fixture, "methods");
    let words = ["enter", "leave", "unwind", "acquire", "release"];
    let mut expected = Vec::new();
    for thread in [1, 2] {
        for step in ["enter deposit", "acquire", "release", "leave deposit"] {
            expected.push(format!("{thread} {step}"));
        }
    }
    let balance = ["enter balance", "acquire", "release", "leave balance"];
    let mut main = vec!["enter like"];
    main.extend(balance);
    main.push("leave like");
    main.extend(balance);
    main.push("enter close");
    main.extend(balance);
    main.push("leave close");
    expected.extend(main.iter().map(|step| format!("0 {step}")));
    assert_eq!(story(&records, &words), expected);

    // The account is one block on the heap, and one on the stack of the test.
    let objects: Vec<_> = records
        .iter()
        .filter(|record| OBJECTS.contains(&record.keyword.as_str()))
        .collect();
    let receivers: HashSet<_> = records
        .iter()
        .filter(|record| record.keyword == "enter" && record.get("receiver") != "0")
        .map(|record| {
            let object: usize = record.get("receiver").parse().expect("a number");
            let object = objects[object - 1];
            let name = match object.keyword.as_str() {
                "variable" => object.get("name"),
                keyword => keyword,
            };
            (name, object.get("function"))
        })
        .collect();
    let test = "traced::tests::methods";
    assert_eq!(receivers, HashSet::from([("heap", test), ("copy", test)]));

    let types = named(&records, "type", "name");
    let typed: HashSet<_> = records
        .iter()
        .filter(|record| record.keyword == "typed")
        .map(|record| {
            let index: usize = record.get("type").parse().expect("a number");
            (types[index].as_str(), record.place())
        })
        .collect();
    let places = |name: &str| typed.iter().filter(|(kind, _)| *kind == name).count();
    assert_eq!(places("traced::Account"), 2, "{typed:?}");
    assert_eq!(places("alloc::sync::ArcInner<traced::Account>"), 1);
    // The associated function has no receiver; all methods have.
    let without = records
        .iter()
        .filter(|record| record.keyword == "enter" && record.get("receiver") == "0");
    assert_eq!(without.count(), 1);
}

#[test]
fn locks_that_only_closures_use_have_types_and_fields() {
    let fixture = Fixture::special("traced");
    let records = trace(&fixture, "closures");
    let types = named(&records, "type", "name");
    let locks: HashSet<_> = records
        .iter()
        .filter(|record| record.keyword == "lock-name")
        .map(|record| {
            let index: usize = record.get("type").parse().expect("a number");
            let fields = record.get("path").split(".inner").next();
            (types[index].as_str(), fields.unwrap_or_default())
        })
        .collect();
    let expected = [
        ("traced::Pair", "first"),
        ("traced::Pair", "second"),
        ("alloc::sync::ArcInner<traced::Pair>", "data.second"),
    ];
    assert!(
        expected.iter().all(|lock| locks.contains(lock)),
        "{locks:?}"
    );
}

#[test]
fn unwinding_leaves_every_function_that_it_goes_through() {
    let fixture = Fixture::special("traced");
    let records = trace(&fixture, "panics");
    let calm = "enter first,enter second,enter third,leave third,leave second,\
                enter drop,leave drop,leave first";
    let panics = "enter first,enter second,enter third,unwind third,unwind second,\
                  enter drop,leave drop,unwind first";
    let turns = [(0, panics), (0, calm), (0, panics), (1, panics)];
    let expected: Vec<_> = turns
        .iter()
        .flat_map(|(thread, steps)| steps.split(',').map(move |step| format!("{thread} {step}")))
        .collect();
    assert_eq!(story(&records, &["enter", "leave", "unwind"]), expected);
}

#[test]
fn branches_are_there_on_request() {
    let fixture = Fixture::special("traced");
    assert_eq!(named(&trace(&fixture, "panics"), "branch", "way").len(), 0);
    let arguments = [
        "replay",
        "any.schedule",
        "--trace",
        "any.trace",
        "--branches",
    ];
    fixture.check(&arguments, 0);
    let text = fs::read_to_string(fixture.path().join("any.trace")).expect("a trace");
    let records: Vec<_> = text.lines().skip(1).map(Record::parse).collect();
    let sites = named(&records, "site", "function");
    let mut ways: HashMap<&str, Vec<&str>> = HashMap::new();
    for record in records.iter().filter(|record| record.keyword == "branch") {
        let site: usize = record.get("site").parse().expect("a number");
        if sites[site - 1].ends_with("Deep::third") {
            ways.entry(record.get("site"))
                .or_default()
                .push(record.get("way"));
        }
    }
    // One of them decides whether it panics: in the second of four turns it goes the other way.
    let decides = |ways: &Vec<&str>| {
        ways.len() == 4 && ways[0] != ways[1] && ways[0] == ways[2] && ways[0] == ways[3]
    };
    assert!(ways.values().any(decides), "{ways:?}");
}

#[test]
fn every_message_is_received_once_after_it_was_sent() {
    let fixture = Fixture::special("traced");
    let records = trace(&fixture, "messages");
    let mut sent = HashMap::new();
    let mut received = HashMap::new();
    for record in &records {
        let message = (record.place(), record.get("number").to_owned());
        match record.keyword.as_str() {
            "send-item" => {
                let before = sent.insert(message, record.get("thread").to_owned());
                assert_eq!(before, None, "a message is sent once");
            }
            "receive-item" => {
                let sender = sent.get(&message).expect("sent before it was received");
                assert_ne!(sender, record.get("thread"));
                let before = received.insert(message, ());
                assert_eq!(before, None, "a message is received once");
            }
            _ => {}
        }
    }
    assert_eq!(sent.len(), received.len());
    // Two producers, three turns, two kinds of channels; of the third kind, those messages whose
    // sender does not wait.
    assert!((12..=18).contains(&sent.len()), "{}", sent.len());
}

#[test]
fn plain_accesses_have_their_values() {
    let fixture = Fixture::special("traced");
    let records = trace(&fixture, "methods");
    let functions = named(&records, "site", "function");
    let objects: Vec<_> = records
        .iter()
        .filter(|record| OBJECTS.contains(&record.keyword.as_str()))
        .map(|record| record.keyword.as_str())
        .collect();
    let balances: Vec<_> = records
        .iter()
        .filter(|record| record.keyword == "access")
        .filter(|record| {
            let object: usize = record.get("object").parse().expect("a number");
            let site: usize = record.get("site").parse().expect("a number");
            let function = site.checked_sub(1).map_or("", |index| &functions[index]);
            objects[object] == "heap" && function.ends_with("::deposit")
        })
        .map(|record| format!("{} {}", record.get("kind"), record.get("value")))
        .collect();
    // The balance, the limit, and the sum.
    let expected = [
        "read 0", "read 10", "write 3", "read 3", "read 10", "write 6",
    ];
    assert_eq!(balances, expected);
}
