//! The results directory (`target/raddle`).
//!
//! ```text
//! findings/<id>.json        a finding as it was last seen
//! schedules/<id>.schedule   its schedule
//! traces/<id>.trace         its recorded trace
//! experience/<test>         what the strategy has learnt about a test that may go on
//! state.json                how far each test of the last run got, for `--continue`
//! last-run.json             what the last run came to
//! ```
//!
//! Every file is written under a temporary name and renamed, so a reader never sees half of
//! one, and a tool that is killed loses nothing that was stored before.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_trace::finding::Finding;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::file::{LARGEST, read_file};

/// Version of `state.json` and `last-run.json`.
const VERSION: u32 = 1;

/// Directory of what strategies have learnt.
const EXPERIENCE: &str = "experience";

/// An open results directory.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens the directory, creating what is missing.
    pub fn open(root: &Path) -> Result<Self, Error> {
        for part in ["findings", "schedules", "traces", EXPERIENCE] {
            let path = root.join(part);
            fs::create_dir_all(&path).map_err(|source| Error::Store { path, source })?;
        }
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Path of a finding's schedule, whether or not it exists.
    pub fn schedule_path(&self, id: &str) -> PathBuf {
        self.root.join("schedules").join(format!("{id}.schedule"))
    }

    /// Path of the schedule with this id, if it is stored.
    pub fn stored_schedule(&self, id: &str) -> Option<PathBuf> {
        let path = self.schedule_path(id);
        (is_file_name(id) && path.is_file()).then_some(path)
    }

    /// Ids of stored schedules that begin so, in order.
    pub fn ids(&self, prefix: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join("schedules"));
        let names = entries.into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names
            .filter_map(|name| Some(name.strip_suffix(".schedule")?.to_owned()))
            .filter(|id| id.starts_with(prefix))
            .collect();
        ids.sort();
        ids
    }

    /// Path of a finding's trace, whether or not it exists.
    pub fn trace_path(&self, id: &str) -> PathBuf {
        self.root.join("traces").join(format!("{id}.trace"))
    }

    fn finding_path(&self, id: &str) -> PathBuf {
        self.root.join("findings").join(format!("{id}.json"))
    }

    /// Stores a finding, replacing what was stored under its id.
    pub fn save_finding(&self, finding: &Finding) -> Result<(), Error> {
        write_json(&self.finding_path(&finding.id), finding)
    }

    /// The finding with this id, if it is stored.
    pub fn finding(&self, id: &str) -> Result<Option<Finding>, Error> {
        if !is_file_name(id) {
            return Ok(None);
        }
        read_json(&self.finding_path(id))
    }

    /// Stores a schedule.
    pub fn save_schedule(&self, id: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.schedule_path(id);
        write(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Stores a trace.
    pub fn save_trace(&self, id: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.trace_path(id);
        write(&path, bytes)?;
        Ok(path)
    }

    fn experience_path(&self, test: u64) -> PathBuf {
        self.root.join(EXPERIENCE).join(format!("{test:016x}"))
    }

    /// Stores what a strategy has learnt in the first `explored` executions of a test.
    pub fn save_experience(&self, test: u64, explored: u64, bytes: &[u8]) -> Result<(), Error> {
        let seal = seal(explored, bytes);
        let content = [&seal.to_le_bytes()[..], bytes].concat();
        write(&self.experience_path(test), &content)
    }

    /// What a strategy has learnt in exactly as many executions, if that is stored whole.
    pub fn experience(&self, test: u64, explored: u64) -> Option<Vec<u8>> {
        let mut content = read_file(&self.experience_path(test), LARGEST).ok()?;
        let (sealed, bytes) = content.split_first_chunk()?;
        if u64::from_le_bytes(*sealed) != seal(explored, bytes) {
            return None;
        }
        content.drain(..size_of::<u64>());
        Some(content)
    }

    /// Forgets what a strategy has learnt about a test.
    pub fn remove_experience(&self, test: u64) -> Result<(), Error> {
        let path = self.experience_path(test);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(Error::Store { path, source })
            }
            _ => Ok(()),
        }
    }

    /// The state that the last run left, if it is there and of this version.
    pub fn state(&self) -> Result<Option<State>, Error> {
        let state: Option<State> = read_json(&self.root.join("state.json"))?;
        Ok(state.filter(|state| state.version == VERSION))
    }

    /// Stores the state of the run under way.
    pub fn save_state(&self, state: &State) -> Result<(), Error> {
        write_json(&self.root.join("state.json"), state)
    }

    /// Stores what a run came to.
    pub fn save_last_run(&self, last_run: &LastRun) -> Result<(), Error> {
        write_json(&self.root.join("last-run.json"), last_run)
    }
}

/// Content of `state.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// Hash of the options that decide what an execution does.
    pub options: u64,
    /// By target and test name.
    pub tests: BTreeMap<String, TestState>,
}

impl State {
    /// A state without tests.
    pub fn new(options: u64) -> Self {
        Self {
            version: VERSION,
            options,
            tests: BTreeMap::new(),
        }
    }
}

/// How far one test got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TestState {
    /// Names the build: size and time of the executable.
    pub build: u64,
    /// Explored executions so far; the next seed is that many after the first.
    pub explored: u64,
    /// Executions in all.
    pub executions: u64,
    /// Scheduling points in all.
    pub points: u64,
    /// Executions cut.
    pub cut: u64,
    /// Explored executions that were not cut.
    #[serde(default)]
    pub whole: u64,
    /// What was seen and could not be confirmed, by id, in one sentence each.
    #[serde(default)]
    pub unconfirmed: BTreeMap<String, String>,
    /// Scheduling points of a serial run.
    #[serde(default)]
    pub serial_points: u64,
    /// Scheduling points of the longest execution so far: strategies go by it.
    #[serde(default)]
    pub longest: u64,
    /// Most threads.
    pub threads: u32,
    /// Hash over explored executions.
    pub hash: u64,
    /// Whether prediction had its share.
    #[serde(default)]
    pub predicted: bool,
    /// Keys of the plain accesses that were seen to race.
    pub racy: Vec<u64>,
    /// Keys of those that conflict with one of another thread, races among them.
    #[serde(default)]
    pub conflicting: Vec<u64>,
    /// Ids of findings so far.
    pub findings: Vec<String>,
    /// Ids of those that are only about time, which are not among them.
    #[serde(default)]
    pub timing: Vec<String>,
    /// Ids of those that a rule ignores.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// What was searched, as a word of [`raddle_abi::control::searched`].
    #[serde(default)]
    pub searched: u32,
    /// Bits of [`raddle_abi::control::conditions`].
    #[serde(default)]
    pub conditions: u32,
    /// How executions were repeated, a number of [`raddle_abi::plan::Reexecution`].
    #[serde(default)]
    pub reexecution: u32,
    /// What carried threads, a number of [`raddle_abi::plan::Carrier`].
    #[serde(default)]
    pub carrier: u32,
    /// `explored`, `searched` (nothing is left to run), `single-threaded`, `failed` or `not testable`
    /// when done, else empty.
    pub verdict: String,
    /// Why, if not testable or failed.
    pub why: String,
}

impl TestState {
    /// Notes a finding of the test. One that is only about time may turn out to be more.
    pub fn note_finding(&mut self, id: &str, is_timing: bool) {
        self.timing.retain(|known| known != id);
        let ids = match is_timing {
            true => &mut self.timing,
            false => &mut self.findings,
        };
        if !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }

    /// Notes a finding of the test that a rule ignores.
    pub fn note_ignored(&mut self, id: &str) {
        if !self.ignored.iter().any(|known| known == id) {
            self.ignored.push(id.to_owned());
        }
    }
}

/// Content of `last-run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LastRun {
    /// Version of this file.
    pub version: u32,
    /// Executions.
    pub executions: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Ids of all findings of the run.
    pub findings: Vec<String>,
    /// Whether it was stopped from outside.
    pub interrupted: bool,
}

impl LastRun {
    /// The file for a summary.
    pub fn new(summary: &crate::Summary) -> Self {
        Self {
            version: VERSION,
            executions: summary.totals.executions,
            seconds: summary.totals.seconds,
            findings: summary
                .findings
                .iter()
                .chain(&summary.timing)
                .map(|finding| finding.id.clone())
                .collect(),
            interrupted: summary.totals.interrupted,
        }
    }
}

/// Tells what a strategy has learnt from what it has learnt at another time, from damaged
/// bytes, and from what another version of it wrote.
fn seal(explored: u64, bytes: &[u8]) -> u64 {
    let parts = [
        env!("CARGO_PKG_VERSION").as_bytes(),
        &explored.to_le_bytes(),
        bytes,
    ];
    parts
        .into_iter()
        .flatten()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
}

/// Whether `id` cannot lead out of its directory.
fn is_file_name(id: &str) -> bool {
    !id.is_empty() && !id.contains(['/', '\0']) && id != "." && id != ".."
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| Error::Store {
        path: path.to_owned(),
        source: io::Error::other(error),
    })?;
    bytes.push(b'\n');
    write(path, &bytes)
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match read_file(path, LARGEST) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Error::Corrupt {
                path: path.to_owned(),
                why: error.to_string(),
            }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Writes a file as a whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let result = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, path));
    result.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        Error::Store {
            path: path.to_owned(),
            source,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        (directory, store)
    }

    #[test]
    fn what_is_stored_comes_back_and_no_temporary_file_stays() {
        let (directory, store) = store();
        let mut state = State::new(7);
        state.tests.insert(
            "lib a".to_owned(),
            TestState {
                explored: 3,
                ..TestState::default()
            },
        );
        store.save_state(&state).unwrap();
        store.save_state(&state).unwrap();
        let back = store.state().unwrap().unwrap();
        assert_eq!((back.options, back.tests), (7, state.tests));
        store.save_schedule("panic-1", "text").unwrap();
        assert_eq!(
            fs::read_to_string(store.schedule_path("panic-1")).unwrap(),
            "text"
        );
        let names: Vec<_> = walk(directory.path());
        assert!(names.iter().all(|name| !name.ends_with("tmp")), "{names:?}");
    }

    fn walk(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root).unwrap().map(Result::unwrap);
        entries
            .flat_map(|entry| {
                if entry.path().is_dir() {
                    walk(&entry.path())
                } else {
                    vec![entry.path().display().to_string()]
                }
            })
            .collect()
    }

    #[test]
    fn experience_comes_back_whole_and_for_its_moment_or_not_at_all() {
        let (_directory, store) = store();
        assert_eq!(store.experience(7, 3), None);
        store.remove_experience(7).unwrap();
        store.save_experience(7, 3, &[1, 2, 3]).unwrap();
        assert_eq!(store.experience(7, 3), Some(vec![1, 2, 3]));
        assert_eq!(store.experience(7, 4), None);
        let mut bytes = fs::read(store.experience_path(7)).unwrap();
        bytes.pop();
        fs::write(store.experience_path(7), bytes).unwrap();
        assert_eq!(store.experience(7, 3), None);
        store.remove_experience(7).unwrap();
        assert!(!store.experience_path(7).exists());
    }

    #[test]
    fn a_damaged_file_is_named() {
        let (_directory, store) = store();
        fs::write(store.finding_path("x"), "{").unwrap();
        let error = store.finding("x").unwrap_err().to_string();
        assert!(
            error.contains("x.json") && error.contains("damaged"),
            "{error}"
        );
    }

    #[test]
    fn ids_cannot_leave_the_directory() {
        let (_directory, store) = store();
        assert!(store.finding("../state").unwrap().is_none());
        assert!(store.finding("nothing").unwrap().is_none());
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Store::open(&file.join("below")).unwrap_err().to_string();
        assert!(error.contains("file/below/findings"), "{error}");
    }
}
