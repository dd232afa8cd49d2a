//! A plan as the tool's parts hand it around, and its bytes for the runtime.

use raddle_abi::control::PLAN_SIZE;
use raddle_abi::plan::{
    EventAnchor, Granularity, Memory, MethodAnchor, Plan, Reexecution, Rule, Switch, ThreadAnchor,
    Time, oracles,
};

/// What a [`Runner`](crate::runner::Runner) is asked to execute. The fields mean what those
/// of [`Plan`] mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRequest {
    /// The strategy as text.
    pub strategy: String,
    /// Seed of the first execution.
    pub seed: u64,
    /// Number of executions.
    pub executions: u64,
    /// Scheduling points after which an execution is continued fairly.
    pub max_points: u64,
    /// Estimated points per execution; 0 takes the longest seen so far.
    pub length: u64,
    /// Scheduling points of the longest execution that earlier workers have seen.
    pub longest: u64,
    /// Bits of [`oracles`].
    pub oracles: u32,
    /// Where scheduling points stand.
    pub granularity: Granularity,
    /// Which values atomic loads may read.
    pub memory: Memory,
    /// When virtual time advances.
    pub time: Time,
    /// How executions are repeated.
    pub reexecution: Reexecution,
    /// Record every event of the last execution.
    pub record: bool,
    /// End at the first finding that is not a data race.
    pub stop_at_first: bool,
    /// Names of the threads in `switches`.
    pub threads: Vec<ThreadAnchor>,
    /// The schedule that strategy `replay` follows.
    pub switches: Vec<Switch>,
    /// Keys of plain accesses that are scheduling points.
    pub racy: Vec<u64>,
    /// The events that strategy `directed` orders.
    pub events: Vec<EventAnchor>,
    /// How it orders them.
    pub rules: Vec<Rule>,
    /// Functions whose entries and exits are marked.
    pub methods: Vec<MethodAnchor>,
    /// What the program gets that asks for its input.
    pub input: Vec<u8>,
    /// Keep the marks of every execution, and tell every finding anew.
    pub marks: bool,
    /// Break an execution off that starts a thread.
    pub alone: bool,
    /// Keep the different outcomes of executions.
    pub outcomes: bool,
}

impl Default for PlanRequest {
    fn default() -> Self {
        Self {
            strategy: "portfolio".into(),
            seed: 0,
            executions: 1,
            max_points: 100_000,
            length: 0,
            longest: 0,
            oracles: oracles::RACE | oracles::HEAP,
            granularity: Granularity::Racy,
            memory: Memory::Sc,
            time: Time::Idle,
            reexecution: Reexecution::Auto,
            record: false,
            stop_at_first: false,
            threads: Vec::new(),
            switches: Vec::new(),
            racy: Vec::new(),
            events: Vec::new(),
            rules: Vec::new(),
            methods: Vec::new(),
            input: Vec::new(),
            marks: false,
            alone: false,
            outcomes: false,
        }
    }
}

/// Why a plan has no bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The runtime reads a fixed number of bytes.
    #[error("the strategy `{0}` is longer than 63 bytes; join fewer of them")]
    StrategyTooLong(String),
    /// The shared memory has a fixed place for the plan.
    #[error("the schedule is too long: a plan of {0} bytes does not fit")]
    TooLong(usize),
}

impl PlanRequest {
    /// The bytes that belong at [`raddle_abi::control::PLAN_OFFSET`].
    ///
    /// # Errors
    ///
    /// If they do not fit there.
    pub fn encode(&self) -> Result<Vec<u8>, PlanError> {
        let mut strategy = [0; 64];
        let text = self.strategy.as_bytes();
        if text.len() >= strategy.len() {
            return Err(PlanError::StrategyTooLong(self.strategy.clone()));
        }
        strategy[..text.len()].copy_from_slice(text);
        let length = size_of::<Plan>()
            + self.threads.len() * size_of::<ThreadAnchor>()
            + self.switches.len() * size_of::<Switch>()
            + self.racy.len() * size_of::<u64>()
            + self.events.len() * size_of::<EventAnchor>()
            + self.rules.len() * size_of::<Rule>()
            + self.methods.len() * size_of::<MethodAnchor>()
            + self.input.len();
        if length > PLAN_SIZE {
            return Err(PlanError::TooLong(length));
        }
        let mut bytes = Bytes(Vec::with_capacity(length));
        bytes.0.extend_from_slice(&strategy);
        for number in [
            self.seed,
            self.executions,
            self.max_points,
            self.length,
            self.longest,
        ] {
            bytes.u64(number);
        }
        for number in [
            self.oracles,
            self.granularity as u32,
            self.reexecution as u32,
            u32::from(self.record),
            u32::from(self.stop_at_first),
            self.threads.len() as u32,
            self.switches.len() as u32,
            self.racy.len() as u32,
            self.events.len() as u32,
            self.rules.len() as u32,
            self.input.len() as u32,
            u32::from(self.marks),
            u32::from(self.alone),
            self.memory as u32,
            self.methods.len() as u32,
            self.time as u32,
            u32::from(self.outcomes),
            0,
        ] {
            bytes.u32(number);
        }
        for anchor in &self.threads {
            bytes.u16(anchor.thread);
            bytes.u16(anchor.parent);
            bytes.u32(anchor.occurrence);
            bytes.u64(anchor.site_key);
        }
        for switch in &self.switches {
            bytes.u16(switch.from);
            bytes.u16(switch.to);
            bytes.u32(switch.occurrence);
            bytes.u64(switch.site_key);
        }
        for &key in &self.racy {
            bytes.u64(key);
        }
        for event in &self.events {
            bytes.u16(event.thread);
            bytes.u16(event.relation);
            bytes.u32(event.occurrence);
            bytes.u64(event.site_key);
            bytes.u32(event.related);
            bytes.u32(event.object);
        }
        for rule in &self.rules {
            for number in [rule.kind, rule.hold, rule.event, rule.then] {
                bytes.u32(number);
            }
        }
        for method in &self.methods {
            bytes.u64(method.site_key);
            bytes.u64(method.receiver);
            bytes.u32(method.number);
            bytes.u32(method.reserved);
        }
        bytes.0.extend_from_slice(&self.input);
        Ok(bytes.0)
    }
}

/// Native-endian bytes in the making, because the reader is on the same machine.
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(&mut self, number: u16) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_have_the_layout_of_the_header_and_its_arrays() {
        let request = PlanRequest {
            strategy: "pct(3)".into(),
            seed: 7,
            record: true,
            threads: vec![ThreadAnchor {
                thread: 1,
                parent: 0,
                occurrence: 2,
                site_key: 3,
            }],
            switches: vec![Switch {
                from: 1,
                to: 0,
                occurrence: 4,
                site_key: 5,
            }],
            racy: vec![6],
            events: vec![EventAnchor {
                thread: 7,
                relation: 1,
                occurrence: 8,
                site_key: 9,
                related: 10,
                object: 11,
            }],
            rules: vec![Rule {
                kind: 1,
                hold: 2,
                event: 3,
                then: 4,
            }],
            methods: vec![MethodAnchor {
                site_key: 14,
                receiver: 15,
                number: 16,
                reserved: 0,
            }],
            input: vec![12, 13],
            marks: true,
            memory: Memory::Weak,
            ..PlanRequest::default()
        };
        let bytes = request.encode().unwrap();
        assert_eq!(
            bytes.len(),
            size_of::<Plan>() + 16 + 16 + 8 + 24 + 16 + 24 + 2
        );
        // SAFETY: the bytes are as long as a plan, and every bit pattern is one.
        let plan = unsafe { bytes.as_ptr().cast::<Plan>().read_unaligned() };
        assert_eq!(&plan.strategy[..7], b"pct(3)\0");
        assert_eq!(
            (plan.seed, plan.executions, plan.max_points),
            (7, 1, 100_000)
        );
        assert_eq!(
            (plan.oracles, plan.granularity, plan.reexecution),
            (oracles::RACE | oracles::HEAP, 1, 0)
        );
        assert_eq!((plan.record, plan.stop_at_first), (1, 0));
        assert_eq!((plan.thread_anchors, plan.switches, plan.racy), (1, 1, 1));
        assert_eq!((plan.events, plan.rules, plan.methods), (1, 1, 1));
        assert_eq!((plan.input, plan.marks, plan.memory), (2, 1, 1));
        assert_eq!(bytes[bytes.len() - 2..], [12, 13]);
        let arrays = &bytes[size_of::<Plan>()..];
        // SAFETY: as above; the arrays follow without gaps.
        let (anchor, switch, event, rule, method) = unsafe {
            (
                arrays.as_ptr().cast::<ThreadAnchor>().read_unaligned(),
                arrays[16..].as_ptr().cast::<Switch>().read_unaligned(),
                arrays[40..].as_ptr().cast::<EventAnchor>().read_unaligned(),
                arrays[64..].as_ptr().cast::<Rule>().read_unaligned(),
                arrays[80..]
                    .as_ptr()
                    .cast::<MethodAnchor>()
                    .read_unaligned(),
            )
        };
        assert_eq!(anchor, request.threads[0]);
        assert_eq!(switch, request.switches[0]);
        assert_eq!(arrays[32..40], 6_u64.to_ne_bytes());
        assert_eq!((event, rule), (request.events[0], request.rules[0]));
        assert_eq!(method, request.methods[0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let long = PlanRequest {
            strategy: "x".repeat(64),
            ..PlanRequest::default()
        };
        assert!(matches!(long.encode(), Err(PlanError::StrategyTooLong(_))));
        let large = PlanRequest {
            racy: vec![1; PLAN_SIZE / 8],
            ..PlanRequest::default()
        };
        assert!(matches!(large.encode(), Err(PlanError::TooLong(_))));
    }
}
