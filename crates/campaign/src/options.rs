//! What the user may choose about a campaign.

use std::path::PathBuf;
use std::time::Duration;

use raddle_abi::finding::Kind;
use raddle_abi::plan::{Carrier, Granularity, Memory, Reexecution};
use raddle_schedule::rng::mix;
use raddle_trace::overrides::Overrides;

use crate::{IgnoreRule, Prediction};

/// Which data races are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Races {
    /// None. They are looked for all the same: the accesses become scheduling points.
    Off,
    /// Those between accesses that are not volatile.
    On,
    /// Also those in which an access is volatile.
    All,
}

/// Options of one campaign.
#[derive(Clone, Debug)]
pub struct Options {
    /// The strategy, or several joined by `+`.
    pub strategy: String,
    /// What everything that is drawn depends on (see [`Options::first_seed`]).
    pub seed: u64,
    /// Executions per test; none to let them depend on how long the test is.
    pub executions: Option<u64>,
    /// Findings after which a test is explored no further.
    pub max_findings: u64,
    /// By the index of a target: the only kind of finding that counts for [`Self::max_findings`], if there is one.
    pub sought: Vec<Option<Kind>>,
    /// Time for all targets together.
    pub time: Duration,
    /// Longest turn of a test, which ends with a plan; none to let it depend on how many wait.
    pub turn: Option<Duration>,
    /// Worker processes at a time.
    pub jobs: usize,
    /// Where scheduling points stand.
    pub granularity: Granularity,
    /// Which values atomic loads may read.
    pub memory_model: Memory,
    /// Whether failures that are only about time make the run fail.
    pub denies_timing: bool,
    /// Which data races are reported.
    pub races: Races,
    /// Whether errors on the heap are reported.
    pub heap: bool,
    /// Whether the different outcomes of executions are listed.
    pub outcomes: bool,
    /// How executions are repeated.
    pub reexecution: Reexecution,
    /// What carries logical threads.
    pub carrier: Carrier,
    /// Scheduling points after which an execution is continued fairly, and after ten times
    /// as many ended.
    pub max_points: u64,
    /// Time without any scheduling point after which a worker is ended, and time that it may
    /// take to reach the start of executions.
    pub watchdog: Duration,
    /// Resident bytes after which a worker is ended.
    pub memory: u64,
    /// Replays that the minimiser may spend on one finding; 0 leaves schedules as found.
    pub minimise: u32,
    /// Continue where the last run with the same options stopped.
    pub resume: bool,
    /// Files below this directory are shown relative to it.
    pub workspace_root: PathBuf,
    /// Whether the user is content with a result that is inconclusive.
    pub allows_inconclusive: bool,
    /// Directory for results (`target/raddle`).
    pub results: PathBuf,
    /// Findings that are not reported.
    pub ignore: Vec<IgnoreRule>,
    /// What is not as types say it, for prediction.
    pub overrides: Overrides,
    /// Predict, in place of exploring.
    pub prediction: Option<Prediction>,
    /// Also predict while exploring, with a share of the executions.
    pub predicts: bool,
    /// Schedule files that are replayed before anything else.
    pub regressions: Vec<PathBuf>,
}

impl Options {
    /// Seed of each test's first execution; each further one adds one. It is a hash of the user's
    /// seed: searches with neighbouring seeds have no execution in common.
    pub fn first_seed(&self) -> u64 {
        mix(self.seed)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strategy: "portfolio".to_owned(),
            seed: 0,
            executions: None,
            max_findings: u64::MAX,
            sought: Vec::new(),
            time: Duration::from_secs(300),
            turn: None,
            jobs: 1,
            granularity: Granularity::Racy,
            memory_model: Memory::Sc,
            denies_timing: false,
            races: Races::On,
            heap: true,
            outcomes: false,
            reexecution: Reexecution::Auto,
            carrier: Carrier::Auto,
            max_points: 100_000,
            watchdog: Duration::from_secs(10),
            memory: 4 << 30,
            minimise: 60,
            resume: false,
            allows_inconclusive: false,
            workspace_root: PathBuf::from("."),
            results: PathBuf::from("target/raddle"),
            ignore: Vec::new(),
            overrides: Overrides::default(),
            prediction: None,
            predicts: false,
            regressions: Vec::new(),
        }
    }
}
