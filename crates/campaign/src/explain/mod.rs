//! Turns what the runtime saw into something a person understands.
//!
//! [`Explainer::id`] names a raw finding without any recording, so that duplicates are
//! recognised cheaply. [`Explainer::explain`] needs the recording of a replay: it adds title,
//! cause, stacks and the lanes of the steps that matter. One file per group of kinds.

mod action;
mod atomic_set;
mod deadlock;
mod early_expiry;
mod fix;
mod group;
mod heap;
mod lanes;
mod locate;
mod lock_names;
mod monitored;
mod names;
mod old_values;
mod output;
mod panic;
mod paths;
mod program_map;
mod publication;
mod race;
mod renumber;
mod symbols;
#[cfg(test)]
mod tests;
mod threads;
mod trouble;
mod type_names;
mod variables;
mod waiting;
mod wakes;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use raddle_abi::finding::Kind;
use raddle_abi::site::SiteId;
use raddle_trace::event::Trace;
use raddle_trace::finding::{Finding, Place, Stack};
use raddle_trace::naming;
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{RawFinding, RawRecording, RawStep};
use raddle_trace::site_table::SiteTable;

pub(crate) use self::atomic_set::outcome_in_words;
use self::lanes::Interest;
pub(crate) use self::locate::short;
use self::locate::{Located, Locator};
use self::lock_names::LockNames;
pub(crate) use self::monitored::Monitored;
use self::names::{Names, RoughNames};
pub(crate) use self::output::{mismatch, panic_lines, shown as shown_output};
use self::paths::Paths;
pub use self::program_map::program_map;
use self::symbols::{Frame, Symbols};
use crate::{Options, Overrides, Target, wording};

/// Longest title, in characters.
const TITLE: usize = 240;
/// Longest cause.
const CAUSE: usize = 1000;
/// Longest name of a function in a sentence.
const FUNCTION: usize = 100;
/// Threads named in one list.
const THREADS: usize = 3;
/// Threads of which it is told where they stand.
const STANDING: usize = 8;

/// Explains findings of one executable.
pub(crate) struct Explainer {
    /// Number of the test's own thread.
    pub first_thread: u16,
    /// Name of the test whose findings are explained: it names those that have no place.
    test: String,
    locator: Locator,
    executable: PathBuf,
    overrides: Overrides,
    /// Places of panics that explain no failure, of which test and how many steps.
    expected: (Option<(usize, usize)>, panic::Expected),
    /// The program's map, once it was asked for.
    map: Option<Option<Rc<ProgramMap>>>,
}

/// What a kind of finding has to say.
struct Story {
    title: String,
    cause: String,
    /// What the program said about it itself.
    message: String,
    sites: Vec<Place>,
    stacks: Vec<Stack>,
    interest: Interest,
}

/// A source file as it is shown in a workspace.
pub(crate) fn shown_file(workspace: &Path, executable: &Path, file: &str) -> String {
    Paths::new(workspace, executable).shown(file).0
}

impl Explainer {
    /// Of this executable, with the workspace and the overrides of these options. Missing debug
    /// information costs names only.
    pub fn new(executable: &Path, options: &Options) -> Self {
        let symbols = Symbols::new(executable, Paths::new(&options.workspace_root, executable));
        Self {
            first_thread: 0,
            test: String::new(),
            locator: Locator::new(SiteTable::open(executable).ok(), symbols),
            executable: executable.to_owned(),
            overrides: options.overrides.clone(),
            expected: Default::default(),
            map: None,
        }
    }

    /// Says of which test findings are.
    pub fn begin(&mut self, target: &Target) {
        if self.test != target.name {
            self.test.clone_from(&target.name);
        }
    }

    /// Says which panics begin in executions of a test that pass, too.
    pub fn expect(&mut self, test: usize, panics: &[RawStep]) {
        let version = Some((test, panics.len()));
        if self.expected.0 != version {
            let places = panics
                .iter()
                .map(|step| panic::place(&mut self.locator, step));
            self.expected = (version, places.collect());
        }
    }

    /// Whether it explains findings of this executable.
    pub fn is_of(&self, executable: &Path) -> bool {
        self.executable == executable
    }

    /// Build id of the executable; empty if it has none.
    pub fn build(&self) -> String {
        self.locator
            .sites()
            .map_or_else(String::new, |sites| sites.image().build_id().to_owned())
    }

    /// Key of a site, or 0.
    pub fn key(&self, site: SiteId) -> u64 {
        self.locator.key(site)
    }

    /// The user's place of a site, in words.
    pub fn place_in_words(&mut self, site: SiteId) -> String {
        in_words(&self.locator.locate(site, &[]).place(false))
    }

    /// `file:line in function` of the user's code around a site; `frames` tell who called.
    pub fn place(&mut self, site: SiteId, frames: &[u64]) -> String {
        let place = self.locator.locate(site, frames).place(true);
        match place.file.is_empty() {
            true => String::new(),
            false => format!(
                "{}:{} in {}",
                place.file,
                place.line,
                locate::short(&place.function)
            ),
        }
    }

    /// A source file as it is shown.
    fn shown(&self, file: &str) -> String {
        self.locator.shown(file)
    }

    /// Where a stack of return addresses stands in the user's code, in words.
    pub fn stack_in_words(&mut self, addresses: &[u64]) -> Option<String> {
        let frames = self.locator.stack(addresses);
        locate::user_frame(&frames, true).map(|frame| in_words(&frame.place))
    }

    /// Whether an execution with this finding shows the one of this name. A failure may be one of
    /// several that it had, where it is not known which ones are expected.
    pub fn shows(&mut self, raw: &RawFinding, id: &str) -> bool {
        self.id(raw) == id || self.panic_of(raw, id).is_some()
    }

    /// The panic of this name.
    fn panic_of<'a>(&mut self, raw: &'a RawFinding, id: &str) -> Option<panic::Chosen<'a>> {
        if raw.kind != Kind::Panic {
            return None;
        }
        let test = &self.test;
        let wanted =
            |located: &Located| name(Kind::Panic, placed(panic::identity(located), test)) == id;
        panic::choose(&mut self.locator, raw, &self.expected.1, wanted)
    }

    /// The finding's name: its kind and ten hex digits over the places that make it, or over the test if
    /// there are none. It does not change with lines, machines, thread numbers or addresses.
    pub fn id(&mut self, raw: &RawFinding) -> String {
        let parts: Vec<String> = match raw.kind {
            Kind::Deadlock => deadlock::involved(raw)
                .map(|wait| {
                    let located = self.locator.locate(wait.site, &wait.frames);
                    located
                        .user(true)
                        .map_or_else(|| located.identity(), |frame| frame.place.function.clone())
                })
                .collect(),
            Kind::Panic => {
                let every = |_: &Located| true;
                match panic::choose(&mut self.locator, raw, &self.expected.1, every) {
                    Some(chosen) => panic::identity(&chosen.located),
                    // Without a place the test tells it from the failures of others.
                    None => {
                        let exit = panic::exit(&mut self.locator, raw);
                        let function = exit.and_then(|(_, located)| {
                            let frame = located.user(true)?;
                            Some(frame.place.function.clone())
                        });
                        vec![
                            "exit".to_owned(),
                            raw.detail[0].to_string(),
                            function.unwrap_or_else(|| self.test.clone()),
                        ]
                    }
                }
            }
            Kind::Crash => trouble::crash_identity(&mut self.locator, raw, &self.test),
            Kind::DataRace => raw
                .steps
                .iter()
                .take(2)
                .map(|step| race::identity(&mut self.locator, step))
                .collect(),
            Kind::UseAfterFree | Kind::DoubleFree | Kind::OutOfBounds => raw
                .steps
                .iter()
                .take(1)
                .map(|step| heap::identity(&mut self.locator, step))
                .collect(),
            Kind::AtomicSet => raw
                .steps
                .iter()
                .map(|step| self.locator.locate(step.site, &step.frames).identity())
                .chain([format!("pattern {}", raw.detail[0])])
                .collect(),
            _ => raw
                .steps
                .iter()
                .take(1)
                .map(|step| self.locator.locate(step.site, &step.frames).identity())
                .collect(),
        };
        name(raw.kind, placed(parts, &self.test))
    }

    /// A recording as a trace, with names that hold across executions. `None` if it is empty or
    /// the executable has no sites.
    pub fn trace(&mut self, recording: &RawRecording, build: &str, test: &str) -> Option<Trace> {
        self.locator.sites()?;
        let any = !recording.events.is_empty();
        any.then(|| {
            let map = self.map();
            let first = self.first_thread;
            naming::name(
                recording,
                &Names::new(&mut self.locator, map),
                build,
                test,
                first,
            )
        })
    }

    /// A recording as a trace without what debug information says: blocks are named without their
    /// contexts, and what stands on stacks by its frame. Good enough to predict from, in a fraction
    /// of the time.
    pub fn rough_trace(&mut self, recording: &RawRecording) -> Option<Trace> {
        let map = self.map();
        let sites = self.locator.sites()?;
        let any = !recording.events.is_empty();
        any.then(|| naming::name(recording, &RoughNames { sites, map }, "", "", 0))
    }

    /// The whole finding, under its own name.
    pub fn explain(
        &mut self,
        target: &Target,
        raw: &RawFinding,
        recording: Option<&RawRecording>,
    ) -> Finding {
        let id = self.id(raw);
        self.explain_as(&id, target, raw, recording)
    }

    /// The whole finding, as the one of this name, which it shows. With a recording it may get the name of
    /// all that have its cause. The caller fills in what it knows about schedule and counts.
    pub fn explain_as(
        &mut self,
        id: &str,
        target: &Target,
        raw: &RawFinding,
        recording: Option<&RawRecording>,
    ) -> Finding {
        let told = recording
            .filter(|_| raw.kind == Kind::AtomicSet)
            .and_then(|recording| self.tell(raw, recording));
        let group = recording.and_then(|recording| self.group(raw, recording));
        let locks = match recording {
            Some(recording) if raw.kind == Kind::Deadlock => self.lock_names(raw, recording),
            _ => LockNames::default(),
        };
        let raw = &renumber::finding(raw, self.first_thread);
        let recording = &recording.map_or_else(RawRecording::default, |recording| {
            renumber::recording(recording, self.first_thread)
        });
        let threads = threads::names(&mut self.locator, raw, recording);
        let (told, violation) = told.map(|told| (told.story, told.violation)).unzip();
        let mut story = match raw.kind {
            Kind::AtomicSet => told.unwrap_or_else(|| atomic_set::story(&mut self.locator, raw)),
            Kind::DataRace => race::story(&mut self.locator, raw, recording),
            Kind::Deadlock => deadlock::story(&mut self.locator, raw, recording, &locks),
            Kind::Panic => {
                let chosen = self.panic_of(raw, id);
                panic::story(&mut self.locator, raw, chosen)
            }
            Kind::UseAfterFree | Kind::DoubleFree | Kind::OutOfBounds => {
                heap::story(&mut self.locator, raw, recording)
            }
            _ => trouble::story(&mut self.locator, raw),
        };
        if matches!(raw.kind, Kind::Deadlock | Kind::Livelock)
            && let Some(panic) = panic::behind(&mut self.locator, raw, &self.expected.1)
        {
            panic.precede(&mut story);
        }
        old_values::tell(&mut self.locator, recording, &mut story);
        let timing = early_expiry::tell(&mut self.locator, raw, recording, &mut story);
        let mut lanes = lanes::lanes(&mut self.locator, raw, recording, &story.interest);
        lanes.extend(trouble::last_row(raw, &story));
        Finding {
            kind: raw.kind,
            id: group.map_or_else(|| id.to_owned(), |parts| name(raw.kind, parts)),
            test: target.name.clone(),
            target: target.target.clone(),
            title: wording::line(&story.title, TITLE),
            cause: wording::line(&story.cause, CAUSE),
            sites: story.sites,
            stacks: story.stacks,
            threads,
            lanes,
            message: story.message,
            output: end_of(&output::shown(&raw.output)),
            schedule: String::new(),
            confirmed: false,
            executions: 0,
            count: 1,
            size: None,
            violation,
            timing,
        }
    }
}

/// What names a finding; the test, if none of its places has a name.
fn placed(parts: Vec<String>, test: &str) -> Vec<String> {
    match parts.iter().all(String::is_empty) {
        true => vec![test.to_owned()],
        false => parts,
    }
}

/// Kind and ten hex digits of a hash over the parts, whatever their order.
fn name(kind: Kind, mut parts: Vec<String>) -> String {
    parts.sort();
    parts.dedup();
    let hash = stable_hash(kind.word(), &parts);
    format!("{}-{:010x}", kind.word(), hash & 0xff_ffff_ffff)
}

/// The last lines of a text.
fn end_of(text: &str) -> String {
    const LINES: usize = 40;
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// A stack for the report: the user's part of it, without what std does around threads and tests,
/// and from the call that panics on, without what std does to panic.
fn stack_of(heading: String, thread: u16, located: &Located) -> Stack {
    let last = located
        .frames
        .iter()
        .rposition(|frame| frame.owner != paths::Owner::Std);
    let frames = match last {
        Some(last) => &located.frames[..=last],
        None => &located.frames[..],
    };
    let panics = |frame: &&Frame| {
        let function = &frame.place.function;
        let machinery = [
            "panicking::",
            "rust_begin_unwind",
            "__rust_end_short_backtrace",
        ];
        frame.owner == paths::Owner::Std && machinery.iter().any(|part| function.contains(part))
    };
    let frames = &frames[frames.iter().take_while(panics).count()..];
    Stack {
        heading,
        thread: usize::from(thread),
        frames: places(frames),
    }
}

/// Places of frames; of a recursion only the first turns.
fn places(frames: &[Frame]) -> Vec<Place> {
    const TURNS: usize = 3;
    let mut places: Vec<Place> = Vec::new();
    for frame in frames {
        let last = places.len().saturating_sub(TURNS);
        let repeats =
            places.len() >= TURNS && places[last..].iter().all(|place| *place == frame.place);
        if !repeats {
            places.push(frame.place.clone());
        }
    }
    places
}

/// "`f` (src/lib.rs:10)".
fn in_words(place: &Place) -> String {
    let function = wording::line(&locate::short(&place.function), FUNCTION);
    match (function.is_empty(), place.file.is_empty()) {
        (false, false) => format!("`{function}` ({}:{})", place.file, place.line),
        (false, true) => format!("`{function}`"),
        (true, false) => format!("{}:{}", place.file, place.line),
        (true, true) => "an unknown place".to_owned(),
    }
}

fn thread_in_words(thread: impl Into<u32>) -> String {
    match thread.into() {
        0 => "the main thread".to_owned(),
        number => format!("thread {number}"),
    }
}

/// "thread 1, thread 2 and 9 others".
fn threads_in_words(threads: &[u32]) -> String {
    wording::list(
        threads.iter().map(|&thread| thread_in_words(thread)),
        THREADS,
    )
}

/// FNV-1a over the parts: stable across builds, machines and versions of Rust.
pub(crate) fn stable_hash(first: &str, parts: &[String]) -> u64 {
    let bytes = first.bytes().chain(
        parts
            .iter()
            .flat_map(|part| [0].into_iter().chain(part.bytes())),
    );
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // FNV's low bits are weak in the last byte; fold the high half in.
    hash ^ hash >> 29
}
