//! Options from flags, variables and `raddle.toml`: flags beat `RADDLE_*` variables (clap sees
//! to that) beat the file beat the defaults.

use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use raddle_abi::plan;
use raddle_campaign::{Options, Races};
use serde::Deserialize;

/// Options of a run. What is not given stays open for the next source.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "Exploration options")]
pub(crate) struct RunOptions {
    /// How schedules are chosen: portfolio, random, pct(D), pos, surw, reads-from, exhaustive(N),
    /// round-robin, serial, replay, directed(S), or several joined by `+` that take turns
    /// [default: portfolio]
    #[arg(long, env = "RADDLE_STRATEGY")]
    pub strategy: Option<Strategy>,
    /// Seed of each test's first execution [default: 0]
    #[arg(long, value_name = "N", env = "RADDLE_SEED")]
    pub seed: Option<u64>,
    /// Executions per test [default: 500 to 10000, fewer for longer tests]
    #[arg(long, value_name = "N", env = "RADDLE_EXECUTIONS", value_parser = clap::value_parser!(u64).range(1..))]
    pub executions: Option<u64>,
    /// Findings after which a test is explored no further [default: no limit]
    #[arg(long, value_name = "N", env = "RADDLE_MAX_FINDINGS", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_findings: Option<u64>,
    /// Time for the whole command, like 90s or 5m [default: 5m]
    #[arg(long, value_name = "TIME", env = "RADDLE_TIME")]
    pub time: Option<Time>,
    /// Longest turn of a test, which ends with a plan [default: a share of the time]
    #[arg(long, value_name = "TIME", env = "RADDLE_TURN", hide = true)]
    pub turn: Option<Time>,
    /// Worker processes at a time [default: number of cores]
    #[arg(short, long, value_name = "N", env = "RADDLE_JOBS")]
    pub jobs: Option<Count>,
    /// Jobs of cargo, and modules instrumented at a time while linking [default: number of cores]
    #[arg(long, value_name = "N", env = "RADDLE_BUILD_JOBS")]
    pub build_jobs: Option<Count>,
    /// Where threads may be switched [default: racy]
    #[arg(long, env = "RADDLE_GRANULARITY")]
    pub granularity: Option<Granularity>,
    /// Which values atomic loads may read [default: sc]
    #[arg(long, value_name = "MODEL", env = "RADDLE_MEMORY_MODEL")]
    pub memory_model: Option<MemoryModel>,
    /// What else makes the run fail [default: nothing]
    #[arg(long, value_name = "WHAT", env = "RADDLE_DENY")]
    pub deny: Option<Deny>,
    /// Which data races are reported [default: on]
    #[arg(long, env = "RADDLE_RACES")]
    pub races: Option<RaceChoice>,
    /// Whether errors on the heap are reported [default: on]
    #[arg(long, env = "RADDLE_HEAP")]
    pub heap: Option<HeapChoice>,
    /// How the program is brought back to its start [default: auto]
    #[arg(long, env = "RADDLE_REEXECUTION")]
    pub reexecution: Option<Reexecution>,
    /// What runs the program's threads [default: auto]
    #[arg(long, env = "RADDLE_CARRIER")]
    pub carrier: Option<Carrier>,
    /// Scheduling points after which an execution counts as too long [default: 100000]
    #[arg(long, value_name = "N", env = "RADDLE_MAX_POINTS", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_points: Option<u64>,
    /// Time without progress after which a worker is ended [default: 10s]
    #[arg(long, value_name = "TIME", env = "RADDLE_WATCHDOG")]
    pub watchdog: Option<Time>,
    /// Memory of a worker in MiB after which it is ended [default: 4096]
    #[arg(long, value_name = "MIB", env = "RADDLE_MEMORY", value_parser = clap::value_parser!(u64).range(1..))]
    pub memory: Option<u64>,
    /// Exit with 0 where the result is inconclusive: a failure was seen that could not be
    /// confirmed, or no test could be explored
    #[arg(long, env = "RADDLE_ALLOW_INCONCLUSIVE")]
    pub allow_inconclusive: bool,
}

/// Options of the output.
#[derive(Args, Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "Output options")]
pub(crate) struct OutputOptions {
    /// Output for people, or one JSON object per line
    #[arg(long, value_name = "FORMAT", env = "RADDLE_MESSAGE_FORMAT")]
    pub message_format: Option<MessageFormat>,
    /// Whether to use colours
    #[arg(long, value_name = "WHEN", env = "RADDLE_COLOR")]
    pub color: Option<Color>,
    /// Say more
    #[arg(short, long)]
    pub verbose: bool,
}

impl OutputOptions {
    /// These options, and those of `file` where they leave something open.
    pub(crate) fn over(self, file: Self) -> Self {
        Self {
            message_format: self.message_format.or(file.message_format),
            color: self.color.or(file.color),
            verbose: self.verbose || file.verbose,
        }
    }
}

impl RunOptions {
    /// These options, and those of `file` where they leave something open.
    pub(crate) fn over(self, file: Self) -> Self {
        Self {
            strategy: self.strategy.or(file.strategy),
            seed: self.seed.or(file.seed),
            executions: self.executions.or(file.executions),
            max_findings: self.max_findings.or(file.max_findings),
            time: self.time.or(file.time),
            turn: self.turn.or(file.turn),
            jobs: self.jobs.or(file.jobs),
            build_jobs: self.build_jobs.or(file.build_jobs),
            granularity: self.granularity.or(file.granularity),
            memory_model: self.memory_model.or(file.memory_model),
            deny: self.deny.or(file.deny),
            races: self.races.or(file.races),
            heap: self.heap.or(file.heap),
            reexecution: self.reexecution.or(file.reexecution),
            carrier: self.carrier.or(file.carrier),
            max_points: self.max_points.or(file.max_points),
            watchdog: self.watchdog.or(file.watchdog),
            memory: self.memory.or(file.memory),
            allow_inconclusive: self.allow_inconclusive || file.allow_inconclusive,
        }
    }

    /// Jobs of cargo and modules instrumented at a time, if the user says how many.
    pub(crate) fn build_jobs(&self) -> Option<usize> {
        self.build_jobs.map(|count| count.0)
    }

    /// The campaign's options, with defaults where nothing was said.
    pub(crate) fn campaign(&self) -> Options {
        let default = Options::default();
        let strategy = self.strategy.as_ref().map(|strategy| strategy.0.clone());
        let strategy = strategy.unwrap_or_else(|| default.strategy.clone());
        Options {
            // Prediction is a part of the portfolio, as its strategies are.
            predicts: strategy == default.strategy,
            strategy,
            seed: self.seed.unwrap_or(default.seed),
            executions: self.executions.or(default.executions),
            max_findings: self.max_findings.unwrap_or(default.max_findings),
            time: self.time.map_or(default.time, |time| time.0),
            turn: self.turn.map(|time| time.0).or(default.turn),
            jobs: self.jobs.map_or_else(cores, |count| count.0),
            granularity: self.granularity.map_or(default.granularity, Into::into),
            memory_model: self.memory_model.map_or(default.memory_model, Into::into),
            denies_timing: self.deny == Some(Deny::Timing),
            races: self.races.map_or(default.races, Into::into),
            heap: self
                .heap
                .map_or(default.heap, |choice| choice == HeapChoice::On),
            reexecution: self.reexecution.map_or(default.reexecution, Into::into),
            carrier: self.carrier.map_or(default.carrier, Into::into),
            max_points: self.max_points.unwrap_or(default.max_points),
            watchdog: self.watchdog.map_or(default.watchdog, |time| time.0),
            memory: self
                .memory
                .map_or(default.memory, |mib| mib.saturating_mul(1 << 20)),
            allows_inconclusive: self.allow_inconclusive,
            ..default
        }
    }
}

/// Processors that we may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// A strategy that exists.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) struct Strategy(String);

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        raddle_schedule::parse(text).map_err(|error| error.to_string())?;
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for Strategy {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A time: `90s`, `5m`, `1h 30m`, or a number of seconds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "TimeText")]
pub(crate) struct Time(Duration);

/// A time as the file may write it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a time like \"90s\" or \"5m\" is expected")]
enum TimeText {
    Seconds(u64),
    Text(String),
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = match text.parse() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => humantime::parse_duration(text)
                .map_err(|_| format!("`{text}` is not a time like 90s or 5m"))?,
        };
        if time.is_zero() || time > Duration::from_secs(60 * 60 * 24 * 365) {
            return Err(format!("`{text}` is not between a moment and a year"));
        }
        Ok(Self(time))
    }
}

impl TryFrom<TimeText> for Time {
    type Error = String;

    fn try_from(time: TimeText) -> Result<Self, String> {
        match time {
            TimeText::Seconds(seconds) => seconds.to_string().parse(),
            TimeText::Text(text) => text.parse(),
        }
    }
}

/// A number from 1 to 1024.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "usize")]
pub(crate) struct Count(usize);

impl TryFrom<usize> for Count {
    type Error = String;

    fn try_from(number: usize) -> Result<Self, String> {
        if (1..=1024).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not between 1 and 1024"))
        }
    }
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: usize = text
            .parse()
            .map_err(|_| format!("`{text}` is not a number"))?;
        number.try_into()
    }
}

/// Where threads may be switched.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Granularity {
    /// At synchronisation and atomics
    Sync,
    /// Also at plain accesses seen to race
    Racy,
    /// Also at every plain access to shared memory
    Access,
}

impl From<Granularity> for plan::Granularity {
    fn from(granularity: Granularity) -> Self {
        match granularity {
            Granularity::Sync => Self::Sync,
            Granularity::Racy => Self::Racy,
            Granularity::Access => Self::Access,
        }
    }
}

/// Which values atomic loads may read.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MemoryModel {
    /// The newest only: executions are sequentially consistent
    Sc,
    /// Also older ones, where the memory model of C++20 allows it
    Weak,
}

impl From<MemoryModel> for plan::Memory {
    fn from(model: MemoryModel) -> Self {
        match model {
            MemoryModel::Sc => Self::Sc,
            MemoryModel::Weak => Self::Weak,
        }
    }
}

/// What makes a run fail that does not by default.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Deny {
    /// Failed assertions that need a deadline to pass early
    Timing,
}

/// Which data races are reported.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RaceChoice {
    /// None
    Off,
    /// Those without volatile accesses
    On,
    /// All
    All,
}

impl From<RaceChoice> for Races {
    fn from(choice: RaceChoice) -> Self {
        match choice {
            RaceChoice::Off => Self::Off,
            RaceChoice::On => Self::On,
            RaceChoice::All => Self::All,
        }
    }
}

/// Whether errors on the heap are reported.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HeapChoice {
    /// Not
    Off,
    /// Use of freed memory, double frees, accesses beyond a block
    On,
}

/// How the program is brought back to its start.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reexecution {
    /// The fastest way that is sound
    Auto,
    /// Call the test again
    Loop,
    /// Restore memory
    Snapshot,
    /// A new process each time
    Fork,
}

impl From<Reexecution> for plan::Reexecution {
    fn from(reexecution: Reexecution) -> Self {
        match reexecution {
            Reexecution::Auto => Self::Auto,
            Reexecution::Loop => Self::Loop,
            Reexecution::Snapshot => Self::Snapshot,
            Reexecution::Fork => Self::Fork,
        }
    }
}

/// What runs the program's threads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Carrier {
    /// Fibers where the machine allows it
    Auto,
    /// All on one thread of the operating system, which is fast
    Fiber,
    /// Each on a thread of the operating system, one at a time
    Os,
}

impl From<Carrier> for plan::Carrier {
    fn from(carrier: Carrier) -> Self {
        match carrier {
            Carrier::Auto => Self::Auto,
            Carrier::Fiber => Self::Fiber,
            Carrier::Os => Self::Os,
        }
    }
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MessageFormat {
    /// People
    #[default]
    Human,
    /// Programs: one JSON object per line
    Json,
}

/// Whether to use colours.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Color {
    /// On terminals
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[cfg(test)]
mod tests {
    use super::{RunOptions, Time};
    use std::time::Duration;

    fn options(text: &str) -> RunOptions {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn the_first_source_that_says_something_wins() {
        let flags = options("seed = 1");
        let file = options("seed = 2\nexecutions = 3\ntime = '10s'");
        let campaign = flags.over(file).campaign();
        assert_eq!(campaign.seed, 1);
        assert_eq!(campaign.executions, Some(3));
        assert_eq!(campaign.time, Duration::from_secs(10));
        assert_eq!(campaign.strategy, "portfolio");
    }

    #[test]
    fn defaults_are_finite() {
        let campaign = RunOptions::default().campaign();
        assert_eq!(campaign.executions, None);
        assert_eq!(campaign.time, Duration::from_secs(300));
        assert_eq!(campaign.seed, 0);
        assert!(campaign.jobs >= 1);
    }

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("1h 1m", 3660)] {
            assert_eq!(
                text.parse(),
                Ok(Time(Duration::from_secs(seconds))),
                "{text}"
            );
        }
        for text in ["", "0", "soon", "-5s", "100000h"] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }
}
