//! What the tests of this crate share: program maps and traces by hand.

use raddle_trace::event::{Action, SiteIndex, Trace, TraceSite};
use raddle_trace::memo::Memo;
use raddle_trace::overrides::Overrides;
use raddle_trace::program_map::{FieldInfo, FunctionInfo, ProgramMap, TypeInfo};
use raddle_trace::text;

/// A program map. A line of `types` is a name, a size, and fields after it, separated by commas:
/// name, type, offset, size; `|` before them makes them variants. Names with spaces have `_` in
/// the test instead. A line of `functions` is a path and perhaps the type that it belongs to.
pub fn map(types: &str, functions: &str) -> ProgramMap {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    let mut map = ProgramMap {
        build_id: String::new(),
        overrides: Overrides::default(),
        memo: Memo::default(),
        types: lines(types).iter().map(|line| type_info(line)).collect(),
        functions: lines(functions)
            .iter()
            .map(|line| {
                let words = words(line);
                FunctionInfo {
                    path: words[0].clone(),
                    receiver: words.get(1).cloned(),
                    is_method: true,
                    file: "src/lib.rs".into(),
                    line: 1,
                }
            })
            .collect(),
    };
    map.normalise();
    map
}

/// Words are separated by spaces outside of brackets.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth -= 1,
            _ => {}
        }
        match (letter, depth) {
            (' ', 0) => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn type_info(line: &str) -> TypeInfo {
    let words = words(line);
    let is_enum = words.get(2).is_some_and(|word| word == "|");
    let rest = &words[if is_enum { 3 } else { 2 }..];
    let fields: Vec<_> = rest
        .chunks(4)
        .map(|field| FieldInfo {
            name: field[0].clone(),
            type_name: field[1].clone(),
            offset: field[2].parse().unwrap(),
            size: field[3].trim_end_matches(',').parse().unwrap(),
        })
        .collect();
    let arguments = words[0].split_once('<').map(|(_, rest)| {
        let rest = rest.strip_suffix('>').unwrap_or(rest);
        rest.split(", ").map(str::to_owned).collect()
    });
    TypeInfo {
        name: words[0].clone(),
        size: words[1].parse().unwrap(),
        fields: if is_enum { Vec::new() } else { fields.clone() },
        variants: if is_enum { fields } else { Vec::new() },
        arguments: arguments.unwrap_or_default(),
    }
}

/// The types of [`scene`].
pub const TYPES: &str = "
    a::Pair 16 x u64 0 8, y u64 8 8
    a::Holder 16 pair alloc::sync::Arc<std::sync::poison::mutex::Mutex<a::Pair>> 0 8, z u64 8 8
    alloc::sync::Arc<std::sync::poison::mutex::Mutex<a::Pair>> 8
    std::sync::poison::mutex::Mutex<a::Pair> 24 inner std::sys::sync::mutex::futex::Mutex 0 4, \
        poison std::sync::poison::Flag 4 1, data core::cell::UnsafeCell<a::Pair> 8 16
    a::Gate 24 pair a::Pair 0 16, open std::sync::poison::condvar::Condvar 16 4
    core::cell::UnsafeCell<a::Pair> 16 value a::Pair 0 16
    alloc::sync::ArcInner<std::sync::poison::mutex::Mutex<a::Pair>> 40 strong usize 0 8, \
        weak usize 8 8, data std::sync::poison::mutex::Mutex<a::Pair> 16 24";

/// The functions of [`scene`], in the order of their sites, from 1.
pub const FUNCTIONS: &str = "
    a::Pair::u a::Pair
    a::Pair::v a::Pair
    a::Holder::w a::Holder
    a::free
    <a::Pair as core::fmt::Debug>::fmt a::Pair";

/// Lines before the events of [`scene`].
pub const BEFORE: usize = 2;

/// A trace and a map. Threads 1 and 2 were started by 0. Object 0 is a block with a `Pair` at 0
/// and another one at 16, object 1 a static for locks, objects 2 and 3 the statics `a::S` and
/// `a::T`, object 4 a block with an `Arc`'s `Mutex<Pair>`, object 5 a block that is not typed.
/// Sites 1 to 5 are the entries of functions. Accesses without a site get one of their own, whose
/// line is that of the event.
pub fn scene(events: &str) -> (Trace, ProgramMap) {
    let map = map(TYPES, FUNCTIONS);
    let functions = FUNCTIONS
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let sites = functions.enumerate().map(|(index, line)| {
        let path = &words(line)[0];
        format!(
            "site key {} file \"src/lib.rs\" function \"{path}\"\n",
            index + 1
        )
    });
    let text = format!(
        "raddle trace 2
         thread\nthread parent 1 key 1\nthread parent 1 key 1 occurrence 1
         heap key 1 size 32
         static path \"a::locks::L\"
         static path \"a::S\"
         static path \"a::T\"
         heap key 2 size 40
         heap key 3 size 64
         type name \"a::Pair\"
         type name \"alloc::sync::ArcInner<std::sync::poison::mutex::Mutex<a::Pair>>\"
         type name \"a::Gate\"
         {}
         typed object 0
         typed object 0 offset 16
         {events}
         end",
        sites.collect::<String>()
    );
    let text: String = text
        .lines()
        .map(|line| line.trim().to_owned() + "\n")
        .collect();
    let mut trace = text::parse(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    for index in 0..trace.events.len() {
        let line = (index + 1).saturating_sub(BEFORE) as u32;
        let event = &mut trace.events[index];
        if event.site.is_none() && matches!(event.action, Action::Access { .. }) {
            event.site = Some(SiteIndex(trace.sites.len() as u32));
            trace.sites.push(TraceSite {
                key: 1000 + u64::from(line),
                file: "src/lib.rs".into(),
                function: "a::Pair::access".into(),
                line,
                column: 1,
            });
        }
    }
    (trace, map)
}

/// A trace of steps, one event each: a thread, and then `+`, `s` or `-` with the place of a lock to
/// acquire, share or release it; `R`, `W` or `A` (atomically, both), `L` or `S` (a relaxed load or
/// store) and `x` or `y`; `!` sends a message and `?` receives it. Each step has a site of its own.
pub fn story(steps: &str) -> Trace {
    let mut text =
        String::from("raddle trace 2\nthread\nthread parent 1\nthread parent 1 occurrence 1\n");
    text += "static path \"a::S\"\nstatic path \"a::L\"\n";
    let steps: Vec<_> = steps.split_whitespace().collect();
    for number in 1..=steps.len() {
        text += &format!("site key {number} function \"f\" line {number}\n");
    }
    for (index, step) in steps.iter().enumerate() {
        let (thread, rest) = step.split_at(1);
        let (kind, rest) = rest.split_at(1);
        let access = |kind: &str| {
            let offset = if rest == "x" { 0 } else { 8 };
            format!("access thread {thread} kind {kind} offset {offset} size 8")
        };
        let lock = |words: &str| format!("lock thread {thread} {words} object 1 offset {rest}");
        let event = match kind {
            "R" => access("read"),
            "W" => access("write"),
            "A" => access("atomic-rmw"),
            "L" => access("atomic-load") + " order relaxed",
            "S" => access("atomic-store") + " order relaxed",
            "+" => lock("step acquire"),
            "s" => lock("step acquire mode shared"),
            "-" => lock("step release"),
            "!" => format!("send-item thread {thread} object 1"),
            "?" => format!("receive-item thread {thread} object 1"),
            _ => panic!("`{step}` is no step"),
        };
        text += &format!("{event} site {}\n", index + 1);
    }
    text::parse(&(text + "end\n")).expect("a trace")
}
