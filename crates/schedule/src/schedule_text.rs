//! Writing and reading the text of a schedule file.

use crate::schedule_file::{Placed, Schedule, ScheduleError, VERSION};
use core::fmt::{Display, Write};
use core::str::FromStr;
use raddle_abi::finding::Kind;
use raddle_abi::plan::{Granularity, Switch, ThreadAnchor, oracles};

const MAGIC: &str = "raddle schedule";
const GRANULARITIES: [(&str, Granularity); 3] = [
    ("sync", Granularity::Sync),
    ("racy", Granularity::Racy),
    ("access", Granularity::Access),
];
const ORACLES: [(&str, u32); 3] = [
    ("race", oracles::RACE),
    ("volatile-race", oracles::VOLATILE_RACE),
    ("heap", oracles::HEAP),
];

pub fn write(schedule: &Schedule) -> String {
    let mut text = Text(format!("{MAGIC} {VERSION}\n"));
    text.line("build", escape(&schedule.build));
    text.line("test", escape(&schedule.test));
    text.line("target", escape(&schedule.target));
    for argument in &schedule.arguments {
        text.line("argument", escape(argument));
    }
    text.line("finding", escape(&schedule.finding));
    text.line("kind", schedule.kind.word());
    text.line("seed", schedule.seed);
    let granularity = GRANULARITIES
        .iter()
        .find(|(_, value)| *value == schedule.granularity);
    text.line("granularity", granularity.map_or("racy", |(word, _)| word));
    text.line("max-points", schedule.max_points);
    text.line("length", schedule.length);
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
        if *site_key == 0 {
            text.placed(
                "switch",
                format_args!("{from} step {occurrence} to {to}"),
                place,
            );
        } else {
            let rest = format_args!("{from} site {site_key:016x} occurrence {occurrence} to {to}");
            text.placed("switch", rest, place);
        }
    }
    text.0.push_str("end\n");
    text.0
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
    max_points: Option<u64>,
    length: Option<u64>,
    oracles: Option<u32>,
    racy: Vec<Placed<u64>>,
    threads: Vec<Placed<ThreadAnchor>>,
    switches: Vec<Placed<Switch>>,
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
            "finding" => once(keyword, &mut self.finding, unescape(rest)),
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
        let mut words = Words(rest.split_whitespace());
        match keyword {
            "kind" => once(keyword, &mut self.kind, words.kind()?)?,
            "seed" => once(keyword, &mut self.seed, words.number()?)?,
            "granularity" => once(keyword, &mut self.granularity, words.granularity()?)?,
            "max-points" => once(keyword, &mut self.max_points, words.number()?)?,
            "length" => once(keyword, &mut self.length, words.number()?)?,
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
            _ => return Err(format!("`{keyword}` is not known here")),
        }
        words.finish()
    }

    fn finish(self) -> Result<Schedule, ScheduleError> {
        use ScheduleError::Missing;
        Ok(Schedule {
            build: self.build.unwrap_or_default(),
            test: self.test.ok_or(Missing("test"))?,
            target: self.target.ok_or(Missing("target"))?,
            arguments: self.arguments,
            finding: self.finding.ok_or(Missing("finding"))?,
            kind: self.kind.ok_or(Missing("kind"))?,
            seed: self.seed.unwrap_or(0),
            granularity: self.granularity.ok_or(Missing("granularity"))?,
            max_points: self.max_points.ok_or(Missing("max-points"))?,
            length: self.length.unwrap_or(0),
            oracles: self.oracles.ok_or(Missing("oracles"))?,
            racy: self.racy,
            threads: self.threads,
            switches: self.switches,
        })
    }
}

fn once<T>(keyword: &str, slot: &mut Option<T>, value: T) -> Result<(), String> {
    match slot.replace(value) {
        Some(_) => Err(format!("there is a second line `{keyword}`")),
        None => Ok(()),
    }
}

/// The words of a line still to be read.
struct Words<'a>(core::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        self.0
            .next()
            .ok_or_else(|| "the line ends too early".into())
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        match self.next()? {
            word if word == wanted => Ok(()),
            word => Err(format!("expected `{wanted}`, found `{word}`")),
        }
    }

    fn number<T: FromStr>(&mut self) -> Result<T, String> {
        let word = self.next()?;
        word.parse()
            .map_err(|_| format!("`{word}` is not a number, or too large"))
    }

    fn key(&mut self) -> Result<u64, String> {
        let word = self.next()?;
        u64::from_str_radix(word, 16)
            .map_err(|_| format!("`{word}` is not a site key of 16 hex digits"))
    }

    fn kind(&mut self) -> Result<Kind, String> {
        let word = self.next()?;
        Kind::from_word(word).ok_or_else(|| format!("there is no kind of finding `{word}`"))
    }

    fn granularity(&mut self) -> Result<Granularity, String> {
        let word = self.next()?;
        let found = GRANULARITIES.iter().find(|(name, _)| *name == word);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("there is no granularity `{word}`"))
    }

    fn oracles(&mut self) -> Result<u32, String> {
        let mut bits = 0;
        for word in self.0.by_ref() {
            let found = ORACLES.iter().find(|(name, _)| *name == word);
            bits |= found
                .ok_or_else(|| format!("there is no oracle `{word}`"))?
                .1;
        }
        Ok(bits)
    }

    fn thread(&mut self) -> Result<ThreadAnchor, String> {
        let thread = self.number()?;
        self.expect("parent")?;
        let parent = self.number()?;
        self.expect("site")?;
        let site_key = self.key()?;
        self.expect("occurrence")?;
        Ok(ThreadAnchor {
            thread,
            parent,
            occurrence: self.number()?,
            site_key,
        })
    }

    fn switch(&mut self) -> Result<Switch, String> {
        let from = self.number()?;
        let (site_key, occurrence) = match self.next()? {
            "step" => (0, self.number()?),
            "site" => {
                let site_key = self.key()?;
                self.expect("occurrence")?;
                (site_key, self.number()?)
            }
            word => return Err(format!("expected `site` or `step`, found `{word}`")),
        };
        self.expect("to")?;
        Ok(Switch {
            from,
            to: self.number()?,
            occurrence,
            site_key,
        })
    }

    fn finish(&mut self) -> Result<(), String> {
        match self.0.next() {
            Some(word) => Err(format!("`{word}` is too much")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn placed<T: core::fmt::Debug>(
        value: impl Strategy<Value = T>,
    ) -> impl Strategy<Value = Placed<T>> {
        (value, "[a-z:#/ ]{0,12}").prop_map(|(value, place)| Placed {
            value,
            place: place.trim().to_string(),
        })
    }

    fn schedules() -> impl Strategy<Value = Schedule> {
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
                to,
                occurrence,
                site_key: if from % 2 == 0 { 0 } else { site_key },
            });
        let text = "(?s).{0,12}";
        (
            (text, text, text, prop::collection::vec(text, 0..3), text),
            (
                0..Kind::ALL.len(),
                0..3_usize,
                0..4_u32,
                any::<(u64, u64, u64)>(),
            ),
            prop::collection::vec(placed(any::<u64>()), 0..4),
            prop::collection::vec(placed(anchor), 0..4),
            prop::collection::vec(placed(switch), 0..8),
        )
            .prop_map(|(names, numbers, racy, threads, switches)| Schedule {
                build: names.0,
                test: names.1,
                target: names.2,
                arguments: names.3,
                finding: names.4,
                kind: Kind::ALL[numbers.0],
                granularity: GRANULARITIES[numbers.1].1,
                oracles: numbers.2,
                seed: numbers.3.0,
                max_points: numbers.3.1,
                length: numbers.3.2,
                racy,
                threads,
                switches,
            })
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
}
