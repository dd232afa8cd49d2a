//! What a plan asks for, taken out of the shared memory.

use crate::methods::Methods;
use crate::shared::shared;
use crate::world::world;
use crate::{experience, own, weak};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_abi::control::{PLAN_OFFSET, conditions, target};
use raddle_abi::plan::{
    Choice, EventAnchor, Granularity, Memory, MethodAnchor, Plan, Reexecution, Rule, Switch,
    ThreadAnchor, Time, oracles,
};
use raddle_schedule::Recorded;
use raddle_schedule::early_expiry::EarlyExpiry;
use raddle_schedule::rng::mix;
use raddle_schedule::strategy::{Search, Strategy};

/// What the plan asks for, unpacked.
pub struct Orders {
    /// Picks the next thread; absent before the first plan.
    pub strategy: Option<Box<dyn Strategy>>,
    /// Whether the strategy reads site keys, in the execution under way.
    pub site_keys: bool,
    /// Whether the strategy is asked before every operation, in the execution under way.
    pub every_operation: bool,
    /// Points after which an execution goes on fairly.
    pub max_points: u64,
    /// Look for data races.
    pub race: bool,
    /// Report them.
    pub report_races: bool,
    /// Watch the heap.
    pub heap: bool,
    /// Some oracle looks at every access.
    pub watch: bool,
    /// Report races with volatile accesses.
    pub volatile_race: bool,
    /// Where scheduling points stand.
    pub granularity: Granularity,
    /// Whether any plain access is a scheduling point.
    pub plain_points: bool,
    /// Record events.
    pub record: bool,
    /// Atomic loads may read old values (see [`crate::weak`]).
    pub weak: bool,
    /// Deadlines may pass although a thread can run.
    pub early_time: bool,
    /// Only those that have passed already.
    pub only_passed: bool,
    /// Whether the strategy decides where, in the execution under way.
    pub decides_time: bool,
    /// Decides it where the strategy does not.
    pub early_expiry: EarlyExpiry,
    /// Plain accesses are for the oracles only.
    pub only_watched: bool,
    /// Leave out accesses to private parts of stacks (see [`crate::oracles::stacks`]).
    pub private_stacks: bool,
    /// Whether an execution can be ended anywhere.
    pub can_break_off: bool,
    /// Keep the marks of executions (see [`crate::marks`]).
    pub marks: bool,
    /// Functions whose entries and exits are marked.
    pub methods: Methods,
    /// Break executions off that start a thread.
    pub alone: bool,
    /// Keep the different outcomes of executions (see [`crate::outcomes`]).
    pub outcomes: bool,
    /// Where the plan's input is, and its bytes.
    pub input: (usize, usize),
    /// What a plan has to have in common with this one to go on with its search.
    course: Course,
    /// Memory of strategies that learn, shared with forked children.
    logs: Vec<usize>,
}

/// Words of the memory of strategies that learn.
const LOG_WORDS: usize = 1 << 20;

/// Executions after which a strategy that searches estimates anew how far it is: people cannot
/// read faster.
const PROGRESS: u64 = 32;

/// Identifies a row of plans that are one search.
struct Course {
    strategy: String,
    racy: Vec<u64>,
    granularity: u32,
    memory: u32,
    /// Seed of the execution that comes next.
    seed: u64,
}

impl Orders {
    /// Before the first plan.
    pub const fn new() -> Self {
        Self {
            strategy: None,
            site_keys: false,
            every_operation: false,
            max_points: u64::MAX,
            race: false,
            report_races: false,
            heap: false,
            watch: false,
            volatile_race: false,
            granularity: Granularity::Sync,
            plain_points: false,
            record: false,
            weak: false,
            early_time: false,
            only_passed: false,
            decides_time: false,
            early_expiry: EarlyExpiry::new(),
            only_watched: false,
            private_stacks: false,
            can_break_off: false,
            marks: false,
            methods: Methods::new(),
            alone: false,
            outcomes: false,
            input: (0, 0),
            course: Course {
                strategy: String::new(),
                racy: Vec::new(),
                granularity: 0,
                memory: 0,
                seed: 0,
            },
            logs: Vec::new(),
        }
    }
}

impl Default for Orders {
    fn default() -> Self {
        Self::new()
    }
}

/// Copies an array of the plan out of the shared memory.
fn array<T: Copy>(place: &mut usize, count: u32) -> Vec<T> {
    // SAFETY: the tool wrote that many entries behind the plan's header.
    let slice = unsafe { core::slice::from_raw_parts(*place as *const T, count as usize) };
    *place += core::mem::size_of_val(slice);
    slice.to_vec()
}

/// Takes the orders of a plan in the shared memory.
pub fn take(plan: &Plan) {
    let mut place = shared().at(PLAN_OFFSET) + core::mem::size_of::<Plan>();
    let anchors: Vec<ThreadAnchor> = array(&mut place, plan.thread_anchors);
    let switches: Vec<Switch> = array(&mut place, plan.switches);
    let mut racy: Vec<u64> = array(&mut place, plan.racy);
    let events: Vec<EventAnchor> = array(&mut place, plan.events);
    let rules: Vec<Rule> = array(&mut place, plan.rules);
    let methods: Vec<MethodAnchor> = array(&mut place, plan.methods);
    racy.extend(events.iter().map(|event| event.site_key));
    let name = plan.strategy.split(|byte| *byte == 0).next().unwrap_or(b"");
    let name = core::str::from_utf8(name).unwrap_or("").to_string();
    let recorded = Recorded {
        threads: &anchors,
        switches: &switches,
        events: &events,
        rules: &rules,
    };
    let course = Course {
        strategy: name.clone(),
        racy: racy.clone(),
        granularity: plan.granularity,
        memory: plan.memory,
        seed: plan.seed,
    };
    let strategy = match world().orders.go_on(&course) {
        Some(strategy) => strategy,
        None => match raddle_schedule::parse_recorded(&name, &recorded) {
            Ok(strategy) => {
                let mut strategy = share_logs(strategy);
                experience::take_up(&mut *strategy, course.points());
                strategy
            }
            Err(error) => panic!("strategy `{name}`: {error}"),
        },
    };
    if name == "replay" || !events.is_empty() || plan.marks != 0 {
        // Everything that a given schedule shows is wanted, each time.
        shared().family().known_count = 0;
    }
    let orders = &mut world().orders;
    orders.course = course;
    orders.strategy = Some(strategy);
    orders.max_points = plan.max_points.max(1);
    orders.race = plan.oracles & (oracles::RACE | oracles::SILENT_RACE) != 0;
    orders.report_races = plan.oracles & oracles::RACE != 0;
    orders.heap = plan.oracles & oracles::HEAP != 0;
    orders.watch = orders.race || orders.heap;
    orders.volatile_race = plan.oracles & oracles::VOLATILE_RACE != 0;
    orders.granularity = match plan.granularity {
        0 if events.is_empty() => Granularity::Sync,
        0 => Granularity::Racy,
        1 => Granularity::Racy,
        _ => Granularity::Access,
    };
    orders.plain_points = match orders.granularity {
        Granularity::Sync => false,
        Granularity::Racy => !racy.is_empty(),
        Granularity::Access => true,
    };
    orders.record = plan.record != 0;
    orders.marks = plan.marks != 0;
    orders.methods = match orders.marks && !orders.record {
        true => Methods::of(methods),
        false => Methods::new(),
    };
    orders.alone = plan.alone != 0;
    orders.outcomes = plan.outcomes != 0;
    orders.input = (place, plan.input as usize);
    let is_time = |switch: &Switch| matches!(Choice::of(switch.to), Choice::Time { .. });
    let time = Time::from_number(plan.time);
    orders.early_time = time != Time::Idle || switches.iter().any(is_time);
    orders.only_passed = time == Time::Passed;
    orders.weak = Memory::from_number(plan.memory) == Memory::Weak;
    if let Some(strategy) = &mut orders.strategy {
        strategy.values_may_be_old(orders.weak);
    }
    if orders.weak {
        weak::set_up();
    }
    orders.only_watched = orders.watch && !orders.record && !orders.plain_points && !orders.weak;
    crate::hooks::plain::set_racy(racy);
}

impl Orders {
    /// The strategy of the last plan, if it learns and the next one goes on with its search.
    fn go_on(&mut self, next: &Course) -> Option<Box<dyn Strategy>> {
        let last = &self.course;
        let is_same = last.strategy == next.strategy
            && last.granularity == next.granularity
            && last.memory == next.memory
            && last.seed == next.seed;
        let mut strategy = self
            .strategy
            .take_if(|strategy| is_same && learns(&mut **strategy))?;
        if last.racy != next.racy {
            strategy.points_changed();
        }
        Some(strategy)
    }
}

impl Course {
    /// Names the set of scheduling points.
    fn points(&self) -> u64 {
        let keys = self.racy.iter();
        keys.fold(0, |hash, &key| mix(hash ^ key))
    }
}

/// What has been found out about re-execution so far beats the plan's `auto`.
pub fn decided_mode(asked: Reexecution) -> Reexecution {
    let control = shared().control();
    let known = Reexecution::from_number(control.reexecution.load(Ordering::Relaxed));
    let no_dispatch = control.conditions.load(Ordering::Relaxed) & conditions::NO_DISPATCH != 0;
    let mode = match (asked, known) {
        (Reexecution::Auto, _) if no_dispatch => Reexecution::Fork,
        (Reexecution::Auto, known) => known,
        // What std prepares for a program's `main` is used up by its first call.
        (Reexecution::Loop, _) if control.target == target::MAIN => Reexecution::Snapshot,
        (asked, _) => asked,
    };
    control.reexecution.store(mode as u32, Ordering::Relaxed);
    mode
}

/// Leaves what the strategy has learnt to the tool, if it wants that.
pub fn keep_experience() {
    let orders = &mut world().orders;
    let points = orders.course.points();
    if let Some(strategy) = &mut orders.strategy
        && learns(&mut **strategy)
    {
        experience::keep(&mut **strategy, points);
    }
}

/// Whether a strategy takes something from execution to execution.
fn learns(strategy: &mut dyn Strategy) -> bool {
    let mut learns = false;
    strategy.logs(&mut |_| learns = true);
    learns
}

/// Gives a strategy that learns memory in which forked children can write for it.
fn share_logs(mut strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
    let mut index = 0;
    strategy.logs(&mut |log| {
        let logs = &mut world().orders.logs;
        if logs.len() == index {
            logs.push(own::map_shared(LOG_WORDS * size_of::<u64>()));
        }
        // SAFETY: mapped for this, with that many words; the strategy that had it is gone.
        let words = unsafe { core::slice::from_raw_parts_mut(logs[index] as *mut u64, LOG_WORDS) };
        words[0] = 0;
        log.share(words);
        index += 1;
    });
    strategy
}

/// Lets the strategy learn from an execution, wherever it ran. True if it wants no more.
pub fn learn() -> bool {
    let orders = &mut world().orders;
    orders.course.seed = orders.course.seed.wrapping_add(1);
    let Some(strategy) = &mut orders.strategy else {
        return false;
    };
    strategy.learn();
    let control = shared().control();
    let searched = Search::word(strategy.searched());
    control.searched.store(searched, Ordering::Relaxed);
    if strategy.cuts_loops_short() {
        shared().note_condition(conditions::LOOP_CUT_SHORT);
    }
    let is_finished = strategy.is_finished();
    if is_finished || orders.course.seed.is_multiple_of(PROGRESS) {
        let progress = strategy.progress().map_or(0, |done| done + 1);
        control.search_progress.store(progress, Ordering::Relaxed);
    }
    is_finished
}

/// Tells the strategy that the execution is over, and the tool how well it followed the plan.
pub fn settle() {
    let Some(strategy) = &mut world().orders.strategy else {
        return;
    };
    let control = shared().control();
    let diverged = strategy.diverged();
    let number = diverged.map_or(0, |index| index as u32 + 1);
    control.diverged.store(number, Ordering::Relaxed);
    if let Some(released) = strategy.released() {
        let realised = u64::from(diverged.is_none());
        control.realised.fetch_add(realised, Ordering::Relaxed);
        let released = u64::from(released);
        control.released.fetch_add(released, Ordering::Relaxed);
    }
    if world().execution.fair {
        strategy.set_aside();
    }
    strategy.end();
}
