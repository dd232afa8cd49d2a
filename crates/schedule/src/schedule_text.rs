//! Writing and reading the text of a schedule file.

use crate::schedule_file::{Placed, Schedule, ScheduleError, VERSION};
use crate::words::{GRANULARITIES, MEMORIES, ORACLES, Words};
use core::fmt::{Display, Write};
use raddle_abi::finding::Kind;
use raddle_abi::plan::{
    ANY_OCCURRENCE, ANY_THREAD, Choice, EventAnchor, Granularity, Memory, NO_EVENT, Relation, Rule,
    RuleKind, Switch, ThreadAnchor,
};

const MAGIC: &str = "raddle schedule";
pub fn write(schedule: &Schedule) -> String {
    let mut text = Text(format!("{MAGIC} {VERSION}\n"));
    text.line("build", escape(&schedule.build));
    text.line("test", escape(&schedule.test));
    text.line("target", escape(&schedule.target));
    for argument in &schedule.arguments {
        text.line("argument", escape(argument));
    }
    text.line("finding", escape(&schedule.finding));
    if let Some(strategy) = &schedule.strategy {
        text.line("strategy", escape(strategy));
    }
    text.line("kind", schedule.kind.word());
    text.line("seed", schedule.seed);
    let granularity = GRANULARITIES
        .iter()
        .find(|(_, value)| *value == schedule.granularity);
    text.line("granularity", granularity.map_or("racy", |(word, _)| word));
    if schedule.memory != Memory::default() {
        text.line("memory", schedule.memory.word());
    }
    text.line("max-points", schedule.max_points);
    text.line("length", schedule.length);
    let first = shown_first(schedule);
    if first > 0 {
        text.line("first-thread", first);
    }
    let shown = schedule.with_threads(|thread| thread.checked_sub(first));
    let schedule = shown.as_ref().unwrap_or(schedule);
    let words: Vec<_> = ORACLES
        .iter()
        .filter(|(_, bit)| schedule.oracles & bit != 0)
        .map(|(word, _)| *word)
        .collect();
    text.line("oracles", words.join(" "));
    for Placed { value, place } in &schedule.racy {
        text.placed("racy", format_args!("{value:016x}"), place);
    }
    for Placed { value, place } in &schedule.threads {
        let ThreadAnchor {
            thread,
            parent,
            occurrence,
            site_key,
        } = value;
        let rest =
            format_args!("{thread} parent {parent} site {site_key:016x} occurrence {occurrence}");
        text.placed("thread", rest, place);
    }
    for Placed { value, place } in &schedule.switches {
        let Switch {
            from,
            to,
            occurrence,
            site_key,
        } = value;
        let (keyword, what) = match Choice::of(*to) {
            Choice::Thread(thread) => ("switch", format!("to {thread}")),
            Choice::OldValue(age) => ("read", format!("old {age}")),
            Choice::Time { is_early: true } => ("time", "advances".to_owned()),
            Choice::Time { is_early: false } => ("time", "passed".to_owned()),
        };
        let at = match *site_key {
            0 => format!("step {occurrence}"),
            key => format!("site {key:016x} occurrence {occurrence}"),
        };
        text.placed(keyword, format_args!("{from} {at} {what}"), place);
    }
    for (index, Placed { value, place }) in schedule.events.iter().enumerate() {
        text.placed("event", format_args!("{index} {}", event(value)), place);
    }
    write_rules(&mut text, &schedule.rules);
    text.0.push_str("end\n");
    text.0
}

/// The first thread, if all threads that the schedule names come after it.
fn shown_first(schedule: &Schedule) -> u16 {
    let first = schedule.first_thread;
    let fits = schedule.with_threads(|thread| thread.checked_sub(first));
    fits.map_or(0, |_| first)
}

fn event(event: &EventAnchor) -> String {
    let thread = match Relation::from_number(event.relation) {
        Relation::SameThread => format!("of {}", event.related),
        Relation::OtherThread => format!("not {}", event.related),
        Relation::None if event.thread == ANY_THREAD => "any".into(),
        Relation::None => event.thread.to_string(),
    };
    let occurrence = match event.occurrence {
        ANY_OCCURRENCE => "any".into(),
        number => number.to_string(),
    };
    let object = match event.object {
        NO_EVENT => String::new(),
        other => format!(" object {other}"),
    };
    let key = event.site_key;
    format!("thread {thread} site {key:016x} occurrence {occurrence}{object}")
}

fn write_rules(text: &mut Text, rules: &[Rule]) {
    let mut holds = 0;
    for rule in rules {
        if rule.kind == RuleKind::Before as u32 {
            text.line("before", format_args!("{} {}", rule.event, rule.then));
        }
        holds = holds.max(rule.hold);
    }
    for hold in 1..=holds {
        let events = |kind: RuleKind| {
            let rules = rules
                .iter()
                .filter(move |rule| rule.kind == kind as u32 && rule.hold == hold);
            let words: Vec<_> = rules.map(|rule| rule.event.to_string()).collect();
            words.join(" ")
        };
        let (after, until) = (events(RuleKind::Hold), events(RuleKind::Until));
        text.line("hold", format_args!("{after} until {until}"));
    }
}

struct Text(String);

impl Text {
    fn line(&mut self, keyword: &str, rest: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{keyword} {rest}");
    }

    fn placed(&mut self, keyword: &str, rest: impl Display, place: &str) {
        let place = place.replace(char::is_control, " ");
        match place.trim() {
            "" => self.line(keyword, rest),
            place => self.line(keyword, format_args!("{rest}  # {place}")),
        }
    }
}

/// Keeps free text on its line.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => result.push('\n'),
                Some('r') => result.push('\r'),
                Some(other) => result.push(other),
                None => result.push('\\'),
            },
            other => result.push(other),
        }
    }
    result
}

/// An id of a finding, which is part of file names.
fn id(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_id = !text.starts_with(['.', '-']) && (1..=100).contains(&text.len());
    match is_id && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("an id of a finding is made of letters, digits and `-`".to_owned()),
    }
}

/// The lines read so far; each of the single ones at most once.
#[derive(Default)]
struct Draft {
    build: Option<String>,
    test: Option<String>,
    target: Option<String>,
    arguments: Vec<String>,
    finding: Option<String>,
    kind: Option<Kind>,
    seed: Option<u64>,
    granularity: Option<Granularity>,
    memory: Option<Memory>,
    max_points: Option<u64>,
    length: Option<u64>,
    first_thread: Option<u16>,
    oracles: Option<u32>,
    racy: Vec<Placed<u64>>,
    threads: Vec<Placed<ThreadAnchor>>,
    switches: Vec<Placed<Switch>>,
    strategy: Option<String>,
    events: Vec<Placed<EventAnchor>>,
    rules: Vec<Rule>,
    holds: u32,
}

pub fn parse(contents: &[u8]) -> Result<Schedule, ScheduleError> {
    let header_end = contents
        .iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(contents.len());
    let header = str::from_utf8(&contents[..header_end]).unwrap_or_default();
    let version = header
        .trim_end()
        .strip_prefix(MAGIC)
        .ok_or(ScheduleError::NotASchedule)?;
    if version.trim().parse() != Ok(VERSION) {
        return Err(ScheduleError::Version(version.trim().to_string()));
    }
    let mut draft = Draft::default();
    let mut last = 1;
    for (index, line) in contents.split(|&byte| byte == b'\n').enumerate().skip(1) {
        let number = index + 1;
        let problem = |problem| ScheduleError::Line {
            line: number,
            problem,
        };
        let line = str::from_utf8(line).map_err(|_| problem("this is not UTF-8".into()))?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.trim() == "end" {
            return draft.finish();
        }
        if !line.trim().is_empty() && !line.starts_with('#') {
            draft.line(line).map_err(problem)?;
            last = number;
        }
    }
    Err(ScheduleError::CutOff(last))
}

impl Draft {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (keyword, rest) = line.split_once(' ').unwrap_or((line, ""));
        match keyword {
            "build" => once(keyword, &mut self.build, unescape(rest)),
            "test" => once(keyword, &mut self.test, unescape(rest)),
            "target" => once(keyword, &mut self.target, unescape(rest)),
            "finding" => once(keyword, &mut self.finding, id(&unescape(rest))?),
            "strategy" => {
                let strategy = unescape(rest);
                crate::list::parse(&strategy).map_err(|error| error.to_string())?;
                once(keyword, &mut self.strategy, strategy)
            }
            "argument" => {
                self.arguments.push(unescape(rest));
                Ok(())
            }
            _ => self.words(keyword, rest),
        }
    }

    /// Lines that are made of words and may end in a comment.
    fn words(&mut self, keyword: &str, rest: &str) -> Result<(), String> {
        let (rest, place) = match rest.split_once(" #") {
            Some((rest, comment)) => (rest, comment.trim().to_string()),
            None => (rest, String::new()),
        };
        let mut words = Words::of(rest);
        match keyword {
            "kind" => once(keyword, &mut self.kind, words.kind()?)?,
            "seed" => once(keyword, &mut self.seed, words.number()?)?,
            "granularity" => once(keyword, &mut self.granularity, words.granularity()?)?,
            "memory" => once(
                keyword,
                &mut self.memory,
                words.one_of(&MEMORIES, "memory")?,
            )?,
            "max-points" => once(keyword, &mut self.max_points, words.number()?)?,
            "length" => once(keyword, &mut self.length, words.number()?)?,
            "first-thread" => once(keyword, &mut self.first_thread, words.number()?)?,
            "oracles" => once(keyword, &mut self.oracles, words.oracles()?)?,
            "racy" => self.racy.push(Placed {
                value: words.key()?,
                place,
            }),
            "thread" => self.threads.push(Placed {
                value: words.thread()?,
                place,
            }),
            "switch" => self.switches.push(Placed {
                value: words.switch()?,
                place,
            }),
            "read" => self.switches.push(Placed {
                value: words.read()?,
                place,
            }),
            "time" => self.switches.push(Placed {
                value: words.time()?,
                place,
            }),
            "event" => self.event(&mut words, place)?,
            "before" => self.rules.push(words.before()?),
            "hold" => {
                self.holds += 1;
                self.rules.extend(words.hold(self.holds)?);
            }
            _ => return Err(format!("`{keyword}` is not known here")),
        }
        words.finish()
    }

    fn event(&mut self, words: &mut Words<'_>, place: String) -> Result<(), String> {
        let number: usize = words.number()?;
        if number != self.events.len() {
            return Err(format!("this is event {}, not {number}", self.events.len()));
        }
        let value = words.event()?;
        self.events.push(Placed { value, place });
        Ok(())
    }

    /// Every event that is referred to must be there.
    fn check_events(&self) -> Result<(), ScheduleError> {
        let of_rules = self.rules.iter().flat_map(|rule| [rule.event, rule.then]);
        let of_events = self
            .events
            .iter()
            .flat_map(|placed| [placed.value.related, placed.value.object]);
        let missing = of_rules
            .chain(of_events.filter(|&event| event != NO_EVENT))
            .find(|&event| event as usize >= self.events.len());
        missing.map_or(Ok(()), |event| Err(ScheduleError::NoEvent(event)))
    }

    fn finish(self) -> Result<Schedule, ScheduleError> {
        use ScheduleError::Missing;
        self.check_events()?;
        let first_thread = self.first_thread.unwrap_or(0);
        let schedule = Schedule {
            build: self.build.unwrap_or_default(),
            test: self.test.ok_or(Missing("test"))?,
            target: self.target.ok_or(Missing("target"))?,
            arguments: self.arguments,
            finding: self.finding.ok_or(Missing("finding"))?,
            kind: self.kind.ok_or(Missing("kind"))?,
            seed: self.seed.unwrap_or(0),
            granularity: self.granularity.ok_or(Missing("granularity"))?,
            memory: self.memory.unwrap_or_default(),
            max_points: self.max_points.ok_or(Missing("max-points"))?,
            length: self.length.unwrap_or(0),
            first_thread,
            oracles: self.oracles.ok_or(Missing("oracles"))?,
            racy: self.racy,
            threads: self.threads,
            switches: self.switches,
            strategy: self.strategy,
            events: self.events,
            rules: self.rules,
        };
        schedule
            .with_threads(|thread| thread.checked_add(first_thread))
            .ok_or(ScheduleError::Threads(first_thread))
    }
}

fn once<T>(keyword: &str, slot: &mut Option<T>, value: T) -> Result<(), String> {
    match slot.replace(value) {
        Some(_) => Err(format!("there is a second line `{keyword}`")),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "schedule_text_tests.rs"]
mod tests;
