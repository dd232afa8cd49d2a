//! A finding as the tool stores, prints and compares it.

use raddle_abi::finding::Kind;
use serde::{Deserialize, Serialize};

/// A place in the source, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Relative to the workspace, else `name-version/...`, else `std/...`.
    pub file: String,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// Function path without hash and generic arguments.
    pub function: String,
}

/// One step in the lanes of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneStep {
    /// Thread number, the index into [`Finding::threads`].
    pub thread: usize,
    /// The user's place.
    pub place: Place,
    /// What happens there, in a few words ("locks m", "reads 4 bytes", "waits").
    pub action: String,
    /// Whether this step is one of those at fault.
    pub at_fault: bool,
}

/// A call stack of one of the steps at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// "write of 8 bytes by thread 1", "thread 2 waits for a lock held by thread 1".
    pub heading: String,
    /// Thread number.
    pub thread: usize,
    /// Innermost first, inlined frames included.
    pub frames: Vec<Place>,
}

/// Something that really happened, and can be replayed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Kind as a word of [`Kind`].
    #[serde(with = "kind_word")]
    pub kind: Kind,
    /// Kind and ten hex digits of a hash over kind and sorted site keys.
    pub id: String,
    /// Name of the test, as in `cargo test`; for a binary its name.
    pub test: String,
    /// Name of the test executable's target (`lib`, `tests/foo`), to find the test again.
    pub target: String,
    /// One line.
    pub title: String,
    /// One or two sentences that say why it happened.
    pub cause: String,
    /// What the program said about it itself: the whole message of a panic or an assertion.
    #[serde(default)]
    pub message: String,
    /// Places that name the finding.
    pub sites: Vec<Place>,
    /// Stacks of the steps at fault.
    pub stacks: Vec<Stack>,
    /// Names of the threads: `main`, or where they were started.
    pub threads: Vec<String>,
    /// The interleaving: only the steps that matter.
    pub lanes: Vec<LaneStep>,
    /// What the program printed in that execution (its end, if it was long).
    pub output: String,
    /// Path of the schedule file.
    pub schedule: String,
    /// Whether a replay in a new process showed it again.
    pub confirmed: bool,
    /// Executions of this test until it was found.
    pub executions: u64,
    /// How often it was seen in this run.
    pub count: u64,
    /// How long the schedule is, if that is known.
    #[serde(default)]
    pub size: Option<ScheduleSize>,
    /// The violation of an atomic set that it is, or that it follows from.
    #[serde(default)]
    pub violation: Option<Violation>,
    /// If it is no more than that something takes too long: under which condition the test passes.
    #[serde(default)]
    pub timing: Option<String>,
}

/// A violation of an atomic set, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Number of the pattern.
    pub pattern: u8,
    /// What the pattern means, in a few words.
    pub meaning: String,
    /// Name of the type or module that the set belongs to.
    pub set: String,
    /// The fields that are touched.
    pub fields: Vec<String>,
    /// The units of work, in the order of the pattern: where they stand.
    pub units: Vec<Place>,
    /// What they read and left.
    pub observed: String,
    /// The same for units that come one after the other.
    pub serial: Vec<SerialOutcome>,
    /// What to do about it.
    pub fix: String,
}

/// What two units of work read and leave, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SerialOutcome {
    /// The unit that comes first.
    pub first: String,
    /// What they read and left, or why that is not known.
    pub outcome: String,
}

/// How long the schedule of a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleSize {
    /// Places where it does not do the default thing.
    pub switches: usize,
    /// How often a thread that could go on is made to wait.
    pub preemptions: u32,
    /// Switches of the schedule as it was found, before it was minimised.
    pub found: usize,
}

mod kind_word {
    use super::Kind;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.word())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        let word = String::deserialize(deserializer)?;
        Kind::from_word(&word)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown kind of finding `{word}`")))
    }
}
