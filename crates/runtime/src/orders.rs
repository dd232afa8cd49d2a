//! What a plan asks for, taken out of the shared memory.

use crate::shared::shared;
use crate::world::world;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use raddle_abi::control::PLAN_OFFSET;
use raddle_abi::plan::{Granularity, Plan, Switch, ThreadAnchor, oracles};
use raddle_schedule::Recorded;
use raddle_schedule::strategy::Strategy;

/// What the plan asks for, unpacked.
pub struct Orders {
    /// Picks the next thread; absent before the first plan.
    pub strategy: Option<Box<dyn Strategy>>,
    /// Whether the strategy reads site keys.
    pub site_keys: bool,
    /// Points after which an execution goes on fairly.
    pub max_points: u64,
    /// Detect data races.
    pub race: bool,
    /// Watch the heap.
    pub heap: bool,
    /// Some oracle looks at every access.
    pub watch: bool,
    /// Report races with volatile accesses.
    pub volatile_race: bool,
    /// Where scheduling points stand.
    pub granularity: Granularity,
    /// Record events.
    pub record: bool,
}

impl Orders {
    /// Before the first plan.
    pub const fn new() -> Self {
        Self {
            strategy: None,
            site_keys: false,
            max_points: u64::MAX,
            race: false,
            heap: false,
            watch: false,
            volatile_race: false,
            granularity: Granularity::Sync,
            record: false,
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
    let racy: Vec<u64> = array(&mut place, plan.racy);
    let name = plan.strategy.split(|byte| *byte == 0).next().unwrap_or(b"");
    let name = core::str::from_utf8(name).unwrap_or("").to_string();
    let recorded = Recorded {
        threads: &anchors,
        switches: &switches,
    };
    let strategy = match raddle_schedule::parse_recorded(&name, &recorded) {
        Ok(strategy) => strategy,
        Err(error) => panic!("strategy `{name}`: {error}"),
    };
    if name == "replay" {
        // Everything that a recorded schedule shows is wanted, each time.
        shared().family().known_count = 0;
    }
    let orders = &mut world().orders;
    orders.site_keys = strategy.needs_site_keys();
    orders.strategy = Some(strategy);
    orders.max_points = plan.max_points.max(1);
    orders.race = plan.oracles & oracles::RACE != 0;
    orders.heap = plan.oracles & oracles::HEAP != 0;
    orders.watch = orders.race || orders.heap;
    orders.volatile_race = plan.oracles & oracles::VOLATILE_RACE != 0;
    orders.granularity = match plan.granularity {
        0 => Granularity::Sync,
        1 => Granularity::Racy,
        _ => Granularity::Access,
    };
    orders.record = plan.record != 0;
    crate::hooks::plain::set_racy(racy);
}
