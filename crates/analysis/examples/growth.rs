//! How long prediction takes on traces that nobody ran: `growth SHAPE EVENTS` prints the number of
//! events, seconds of processor time, mebibytes at most, and what was predicted.

use raddle_analysis::predict::{Options, predict};
use raddle_trace::event::{
    Access, Action, Event, Location, LockStep, Message, ObjectId, ObjectName, Order, SiteIndex,
    ThreadId, ThreadName, Trace, TraceSite, TypeIndex,
};
use raddle_trace::program_map::{FieldInfo, FunctionInfo, ProgramMap, TypeInfo};

const THREADS: u16 = 4;
/// Entries of the functions of `a::Pair`.
const FUNCTIONS: u32 = 4;
/// Elements of the array in `a::Table`.
const ELEMENTS: u64 = 1 << 16;

/// Adds the `turn`-th unit of a thread.
type Shape = fn(&mut Growing, ThreadId, u64);

/// What units do. In all of them most are locked as they should be.
const SHAPES: &[(&str, Shape)] = &[
    ("loops", |trace, thread, turn| {
        trace.pair(thread, turn, turn % 8)
    }),
    ("objects", |trace, thread, turn| {
        trace.pair(thread, turn, turn / 50)
    }),
    ("messages", |trace, thread, turn| {
        trace.pair(thread, turn, turn % 8);
        trace.message(thread, turn);
    }),
    ("elements", |trace, thread, turn| {
        trace.enter(thread, turn);
        for step in 0..8 {
            let element = turn.wrapping_mul(0x9e37_79b9) % (ELEMENTS - 8) + step;
            trace.access(thread, 0, 16 + element * 8, step % 2 == 0, turn);
        }
        trace.leave(thread);
    }),
    ("long", |trace, thread, turn| {
        if turn == 0 {
            trace.enter(thread, 0);
        }
        trace.access(thread, 1, turn % 2 * 8, turn % 3 == 0, turn);
    }),
];

struct Growing(Trace);

impl Growing {
    fn new(objects: u64) -> Self {
        let thread = |index: u16| ThreadName {
            parent: (index > 0).then_some(ThreadId(0)),
            site_key: 1,
            occurrence: index.into(),
        };
        let object = |index: u64| ObjectName::Heap {
            site_key: 1,
            thread: ThreadId(0),
            occurrence: index as u32,
            size: if index == 0 { 16 + ELEMENTS * 8 } else { 64 },
            context: 0,
            function: String::new(),
        };
        let site = |index: u32| TraceSite {
            key: index.into(),
            file: "src/lib.rs".into(),
            function: format!("a::Pair::f{index}"),
            line: index,
            column: 1,
        };
        Self(Trace {
            threads: (0..THREADS).map(thread).collect(),
            objects: (0..=objects).map(object).collect(),
            types: vec!["a::Table".into(), "a::Pair".into()],
            sites: (0..64).map(site).collect(),
            ..Trace::default()
        })
    }

    fn push(&mut self, thread: ThreadId, site: u64, action: Action) {
        self.0.events.push(Event {
            thread,
            site: Some(SiteIndex(site as u32)),
            action,
        });
    }

    fn typed(&mut self) {
        for object in 0..self.0.objects.len() as u32 {
            let location = at(object, 0);
            let type_index = TypeIndex(u32::from(object > 0));
            let action = Action::Typed {
                location,
                type_index,
            };
            self.push(ThreadId(0), 0, action);
        }
    }

    fn enter(&mut self, thread: ThreadId, turn: u64) {
        let function = turn % u64::from(FUNCTIONS);
        self.push(thread, function, Action::Enter { receiver: None });
    }

    fn leave(&mut self, thread: ThreadId) {
        self.push(thread, 0, Action::Leave { unwound: false });
    }

    fn access(&mut self, thread: ThreadId, object: u64, offset: u64, writes: bool, turn: u64) {
        let access = if writes { Access::Write } else { Access::Read };
        let action = Action::Access {
            access,
            location: at(object as u32, offset),
            size: 8,
            value: 0,
            order: Order::None,
        };
        self.push(thread, 8 + turn % 4 * 4 + offset / 8 % 4, action);
    }

    fn lock(&mut self, thread: ThreadId, object: u64, step: LockStep) {
        let lock = at(object as u32, 32);
        self.push(
            thread,
            40,
            Action::Lock {
                step,
                lock,
                shared: false,
            },
        );
    }

    /// Reads and writes both fields, under a lock but for every hundredth turn.
    fn pair(&mut self, thread: ThreadId, turn: u64, object: u64) {
        let object = 1 + object % (self.0.objects.len() as u64 - 1);
        let is_locked = turn % 100 != 99;
        self.enter(thread, turn);
        if is_locked {
            self.lock(thread, object, LockStep::Acquire);
        }
        for (offset, writes) in [(0, false), (8, false), (0, true), (8, true)] {
            self.access(thread, object, offset, writes, turn);
        }
        if is_locked {
            self.lock(thread, object, LockStep::Release);
        }
        self.leave(thread);
    }

    /// To the next thread, which hears of it at once.
    fn message(&mut self, thread: ThreadId, turn: u64) {
        let message = Message::Item {
            channel: at(1, 40 + u64::from(thread.0)),
            number: turn,
        };
        self.push(thread, 41, Action::Send(message));
        let next = ThreadId((thread.0 + 1) % THREADS);
        self.push(next, 42, Action::Receive(message));
    }
}

fn at(object: u32, offset: u64) -> Location {
    Location {
        object: ObjectId(object),
        offset,
    }
}

fn map() -> ProgramMap {
    let field = |name: &str, offset, type_name: &str, size| FieldInfo {
        offset,
        name: name.into(),
        type_name: type_name.into(),
        size,
    };
    let info = |name: &str, size, fields| TypeInfo {
        name: name.into(),
        size,
        fields,
        variants: Vec::new(),
        arguments: Vec::new(),
    };
    let functions = (0..FUNCTIONS).map(|index| FunctionInfo {
        path: format!("a::Pair::f{index}"),
        receiver: Some("a::Pair".into()),
        is_method: true,
        file: "src/lib.rs".into(),
        line: 1,
    });
    let cells = format!("[u64; {ELEMENTS}]");
    let table = vec![
        field("pair", 0, "a::Pair", 16),
        field("cells", 16, &cells, ELEMENTS * 8),
    ];
    let pair = vec![field("x", 0, "u64", 8), field("y", 8, "u64", 8)];
    let mut map = ProgramMap {
        overrides: Default::default(),
        memo: Default::default(),
        build_id: String::new(),
        types: vec![
            info("a::Table", 16 + ELEMENTS * 8, table),
            info("a::Pair", 16, pair),
        ],
        functions: functions.collect(),
    };
    // The functions are also the table's.
    for function in &mut map.functions {
        if function.path.ends_with('3') {
            function.receiver = Some("a::Table".into());
        }
    }
    map.normalise();
    map
}

/// Seconds of this process's processor time, and its most mebibytes.
fn used() -> (f64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .filter_map(|n| n.parse::<u64>().ok())
        .sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    (ticks as f64 / 100.0, peak.unwrap_or(0) / 1024)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let shape = arguments.next().unwrap_or_default();
    let events = arguments.next().and_then(|count| count.parse().ok());
    let Some((&(_, add), events)) = SHAPES.iter().find(|(name, _)| *name == shape).zip(events)
    else {
        let names: Vec<_> = SHAPES.iter().map(|(name, _)| *name).collect();
        eprintln!("usage: growth {{{}}} EVENTS", names.join("|"));
        std::process::exit(2);
    };
    let events: usize = events;
    let mut trace = Growing::new(if shape == "objects" {
        events as u64 / 2000
    } else {
        8
    });
    trace.0.events.reserve_exact(events + 16);
    trace.typed();
    let mut turn = 0;
    while trace.0.events.len() < events {
        for thread in 0..THREADS {
            add(&mut trace, ThreadId(thread), turn);
        }
        turn += 1;
    }
    let map = map();
    let before = used().0;
    let prediction = predict(&trace.0, &map, Options::default());
    let (after, peak) = used();
    println!(
        "{} {:.2} {peak} {} {} {}",
        trace.0.events.len(),
        after - before,
        prediction.violations.len(),
        prediction.shortened,
        prediction.left_out
    );
}
