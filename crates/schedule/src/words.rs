//! Reading the words of a line of a schedule file.

use core::str::FromStr;
use raddle_abi::finding::Kind;
use raddle_abi::plan::{
    ANY_OCCURRENCE, ANY_THREAD, Choice, EventAnchor, Granularity, Memory, NO_EVENT, READS_OLD,
    Relation, Rule, RuleKind, Switch, TIME_ADVANCES, TIME_IS_UP, ThreadAnchor, oracles,
};

/// The words for where scheduling points stand.
pub const GRANULARITIES: [(&str, Granularity); 3] = [
    ("sync", Granularity::Sync),
    ("racy", Granularity::Racy),
    ("access", Granularity::Access),
];
/// The words for which values atomic loads may read.
pub const MEMORIES: [(&str, Memory); 2] = [
    (Memory::Sc.word(), Memory::Sc),
    (Memory::Weak.word(), Memory::Weak),
];
/// The words for what is watched.
pub const ORACLES: [(&str, u32); 3] = [
    ("race", oracles::RACE),
    ("volatile-race", oracles::VOLATILE_RACE),
    ("heap", oracles::HEAP),
];

fn parse_number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("`{word}` is not a number, or too large"))
}

/// The words of a line still to be read.
pub struct Words<'a>(core::iter::Peekable<core::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    /// The words of `text`.
    pub fn of(text: &'a str) -> Self {
        Self(text.split_whitespace().peekable())
    }

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

    /// A number.
    pub fn number<T: FromStr>(&mut self) -> Result<T, String> {
        parse_number(self.next()?)
    }

    /// The key of a site.
    pub fn key(&mut self) -> Result<u64, String> {
        let word = self.next()?;
        u64::from_str_radix(word, 16)
            .map_err(|_| format!("`{word}` is not a site key of 16 hex digits"))
    }

    /// A kind of finding.
    pub fn kind(&mut self) -> Result<Kind, String> {
        let word = self.next()?;
        Kind::from_word(word).ok_or_else(|| format!("there is no kind of finding `{word}`"))
    }

    /// Where scheduling points stand.
    pub fn granularity(&mut self) -> Result<Granularity, String> {
        self.one_of(&GRANULARITIES, "granularity")
    }

    /// One of the words of a table of `kind`.
    pub fn one_of<T: Copy>(&mut self, table: &[(&str, T)], kind: &str) -> Result<T, String> {
        let word = self.next()?;
        let found = table.iter().find(|(name, _)| *name == word);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("there is no {kind} `{word}`"))
    }

    /// Names of oracles, up to the end.
    pub fn oracles(&mut self) -> Result<u32, String> {
        let mut bits = 0;
        for word in self.0.by_ref() {
            let found = ORACLES.iter().find(|(name, _)| *name == word);
            bits |= found
                .ok_or_else(|| format!("there is no oracle `{word}`"))?
                .1;
        }
        Ok(bits)
    }

    /// `1 parent 0 site 8a7b6c5d4e3f2a1b occurrence 0`.
    pub fn thread(&mut self) -> Result<ThreadAnchor, String> {
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

    /// `1 site 00f1e2d3c4b5a697 occurrence 2 to 0`, or `0 step 12 to 1`.
    pub fn switch(&mut self) -> Result<Switch, String> {
        let switch = self.step("to")?;
        match Choice::of(switch.to) {
            Choice::Thread(_) => Ok(switch),
            _ => Err(format!("there is no thread {}", switch.to)),
        }
    }

    /// `1 site 00f1e2d3c4b5a697 occurrence 2 old 1`, or `0 step 12 old 1`.
    pub fn read(&mut self) -> Result<Switch, String> {
        let read = self.step("old")?;
        let to = read.to | READS_OLD;
        match Choice::of(to) {
            Choice::OldValue(age @ 1..) if age == read.to => Ok(Switch { to, ..read }),
            _ => Err(format!("no value is {} stores old", read.to)),
        }
    }

    /// `1 site 00f1e2d3c4b5a697 occurrence 2 advances`, or `0 step 12 passed`.
    pub fn time(&mut self) -> Result<Switch, String> {
        let before = self.place()?;
        let to = match self.next()? {
            "advances" => TIME_ADVANCES,
            "passed" => TIME_IS_UP,
            word => return Err(format!("expected `advances` or `passed`, found `{word}`")),
        };
        Ok(Switch { to, ..before })
    }

    /// A step, and a number behind `what`.
    fn step(&mut self, what: &str) -> Result<Switch, String> {
        let place = self.place()?;
        self.expect(what)?;
        Ok(Switch {
            to: self.number()?,
            ..place
        })
    }

    /// A step, of which it is not said what happens there.
    fn place(&mut self) -> Result<Switch, String> {
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
        Ok(Switch {
            from,
            to: 0,
            occurrence,
            site_key,
        })
    }

    /// `0 thread any site 00f1e2d3c4b5a697 occurrence 1 object 0`, without the first number.
    pub fn event(&mut self) -> Result<EventAnchor, String> {
        self.expect("thread")?;
        let (mut thread, mut relation, mut related) = (ANY_THREAD, Relation::None, NO_EVENT);
        match self.next()? {
            "any" => {}
            "of" => (relation, related) = (Relation::SameThread, self.number()?),
            "not" => (relation, related) = (Relation::OtherThread, self.number()?),
            word => thread = parse_number(word)?,
        }
        self.expect("site")?;
        let site_key = self.key()?;
        self.expect("occurrence")?;
        let occurrence = match self.next()? {
            "any" => ANY_OCCURRENCE,
            word => parse_number(word)?,
        };
        let object = match self.0.peek() {
            Some(&"object") => {
                self.expect("object")?;
                self.number()?
            }
            _ => NO_EVENT,
        };
        Ok(EventAnchor {
            thread,
            relation: relation as u16,
            occurrence,
            site_key,
            related,
            object,
        })
    }

    /// `0 1`: the first event comes before the second.
    pub fn before(&mut self) -> Result<Rule, String> {
        Ok(Rule {
            kind: RuleKind::Before as u32,
            hold: 0,
            event: self.number()?,
            then: self.number()?,
        })
    }

    /// `0 3 until 2`: after events 0 and 3, the thread of event 0 waits for event 2.
    pub fn hold(&mut self, hold: u32) -> Result<Vec<Rule>, String> {
        let mut rules = Vec::new();
        let mut kind = RuleKind::Hold;
        for word in self.0.by_ref() {
            if word == "until" && kind == RuleKind::Hold && !rules.is_empty() {
                kind = RuleKind::Until;
                continue;
            }
            rules.push(Rule {
                kind: kind as u32,
                hold,
                event: parse_number(word)?,
                then: 0,
            });
        }
        match rules.last() {
            Some(rule) if rule.kind == RuleKind::Until as u32 => Ok(rules),
            _ => Err("the line ends too early".into()),
        }
    }

    /// Nothing may follow.
    pub fn finish(&mut self) -> Result<(), String> {
        match self.0.next() {
            Some(word) => Err(format!("`{word}` is too much")),
            None => Ok(()),
        }
    }
}
