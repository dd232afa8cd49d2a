//! What a search has to know about the operations of the program that runs tests.

use std::collections::{BTreeMap, BTreeSet};

use raddle_trace::program_map::ProgramMap;

use crate::callees::Callees;
use crate::discovery::Discovery;
use crate::eviction::{Removal, is_cache};
use crate::harness::Harness;
use crate::holding::{Access, Holding};
use crate::methods::Operation;
use crate::pairs::Pair;
use crate::promises::{Hedge, Promise};
use crate::results::Class;
use crate::sharing::Sharing;
use crate::test_case::{Call, TestCase};

/// Most calls of one method in a row that are each named.
const NAMED: usize = 5;
/// Methods that look at the whole object: what they see need not have been there at any one time.
const OBSERVERS: &[&str] = &[
    "len",
    "is_empty",
    "is_full",
    "capacity",
    "iter",
    "keys",
    "values",
    "range",
    "into_iter",
    "clone",
    "fmt",
    "size_hint",
    "remaining",
    "weight",
    "weighted_size",
];
/// The same, by a word in their names.
const OBSERVING: &[&str] = &["count", "iter", "len", "scan", "size", "snapshot", "total"];
/// Methods that show how an object is built rather than what is in it, by a word in their names: two objects with the same
/// contents may differ, since nodes that are no longer needed are removed at some later time.
const STRUCTURAL: &[&str] = &[
    "allocated",
    "buckets",
    "capacity",
    "depth",
    "fragmentation",
    "garbage",
    "height",
    "hits",
    "metrics",
    "misses",
    "nodes",
    "retired",
    "segments",
    "shards",
    "statistics",
    "stats",
];
/// Methods that change the whole object, part by part.
const BULK: &[&str] = &[
    "clear",
    "retain",
    "drain",
    "extend",
    "append",
    "alter_all",
    "for_each",
    "invalidate_all",
    "remove_all",
    "shrink_to_fit",
    "prune",
    "reserve",
];
/// The same, by a word in their names.
const BULKY: &[&str] = &["batch", "bulk", "many"];

/// Methods that only look, by their names.
const LOOKING: &[&str] = &["contains", "contains_key", "get", "peek"];

/// A method that does what others have left, by its name.
const WORKING: &str = "run_pending_tasks";

/// How far the results of a method bind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weakness {
    /// They do.
    #[default]
    None,
    /// It looks at the whole object.
    Observer,
    /// It may fail without a reason.
    MayFail,
    /// It changes the whole object, part by part.
    Bulk,
    /// It shows how the object is built, which depends on more than what it contains.
    Structure,
    /// It does not give the same twice.
    Random,
    /// The user says that it promises less.
    Relaxed,
}

impl Weakness {
    /// Whether results are not checked even when all threads have ended.
    pub const fn is_never_checked(self) -> bool {
        matches!(self, Self::Structure | Self::Random | Self::Relaxed)
    }

    /// Why results are not checked, as a part of a sentence.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Observer => "looks at the whole object",
            Self::MayFail => "may fail without a reason",
            Self::Bulk => "works on the object part by part",
            Self::Structure => "shows how the object is built",
            Self::Random => "returns different results in the same state",
            Self::Relaxed => "is relaxed by the user",
        }
    }
}

/// What calibration says about a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// It gave different results in the same state, or to another thread.
    pub is_random: bool,
    /// It gave different results to another thread only.
    pub depends_on_thread: bool,
    /// It gave different results when time passed between calls, so that background work could be done.
    pub depends_on_time: bool,
    /// It did not return.
    pub blocks: bool,
    /// It panicked.
    pub panics: bool,
    /// Whether it was called or not made no difference to any method.
    pub is_pure: bool,
    /// It made a difference on a new object.
    pub changes_new: bool,
}

/// One operation of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Which of the objects it is called on.
    pub part: usize,
    /// How threads hold that.
    pub holding: Holding,
    /// What becomes of it.
    pub access: Access,
    /// How far its results bind it.
    pub weakness: Weakness,
    /// Why the user says that its results are not checked, if so.
    pub relaxed: Option<String>,
    /// What its documentation does not promise, if it says so.
    pub hedge: Option<Hedge>,
    /// What calibration says.
    pub calibration: Calibration,
    /// Operations that were seen to return something else because of it.
    pub shown_by: BTreeSet<u16>,
    /// Whether it takes arguments.
    pub has_arguments: bool,
    /// Whether it is given another object of the type under test.
    pub takes_other: bool,
    /// Whether what it returns may be held, and used later.
    pub may_hold: bool,
    /// Whether what it returns is nothing that a test compares when it is written down.
    pub is_unwritten: bool,
    /// How calls of it may share one effect, if they may.
    pub shared: Option<Sharing>,
    /// Whether the value of a closure that makes its result may be discarded: nothing says how often the closure is called.
    pub may_call_in_vain: bool,
    /// How it removes an entry, if it does.
    pub removal: Option<Removal>,
    /// Whether it returns a future.
    pub is_future: bool,
    /// Whether panics are a part of what it promises.
    pub may_panic: bool,
    /// The type of which it gives values to later calls.
    pub gives: Option<usize>,
    /// Types of which it takes values that earlier calls returned, or others in their place.
    pub takes: BTreeSet<usize>,
}

impl Operation {
    /// How far its results bind it, by what it is and what it is called.
    pub(crate) fn weakness(&self) -> Weakness {
        match self.class {
            // Whatever belongs to a handle ends with it, part by part.
            _ if self.access.is_loose() => Weakness::Bulk,
            // What lies behind a function may be the machine itself.
            _ if self.access == Access::None => Weakness::Bulk,
            // What it goes through, and may take out, changes while it does. A future is
            // polled again and again, and others see what it has done so far.
            _ if self.is_future => Weakness::Bulk,
            Class::Iterator(_) => Weakness::Bulk,
            _ => weakness(&self.name, self.has_arguments()),
        }
    }

    fn has_arguments(&self) -> bool {
        self.body.contains("u.")
    }
}

impl Method {
    fn new(operation: &Operation, holding: Holding) -> Self {
        let takes = operation.fed().into_iter();
        let takes = takes.filter(|(_, _, has_plain)| *has_plain);
        Self {
            name: operation.name.clone(),
            part: operation.part,
            holding,
            access: operation.access,
            weakness: operation.weakness(),
            relaxed: None,
            hedge: operation.hedge,
            calibration: Calibration::default(),
            shown_by: BTreeSet::new(),
            has_arguments: operation.has_arguments(),
            takes_other: operation.takes_other(),
            may_hold: operation.steps.len() > 1 || operation.class.is_held(),
            is_unwritten: !operation.is_written(),
            shared: Sharing::of(operation),
            may_call_in_vain: Sharing::of(operation).is_some() && !operation.counts_calls,
            removal: Removal::of(operation),
            is_future: operation.is_future,
            may_panic: operation.may_panic,
            gives: operation.gives.as_ref().map(|gives| gives.fed),
            takes: takes.map(|(fed, ..)| fed).collect(),
        }
    }

    /// Whether it may change the object.
    pub fn changes(&self) -> bool {
        // Who copies an object looks at all of it, and may count the copies.
        let is_copy = self.name.ends_with("clone");
        (self.weakness != Weakness::Observer || is_copy) && !self.calibration.is_pure
    }

    /// What its documentation does not promise.
    fn lacks(&self) -> Option<Promise> {
        self.hedge.map(|hedge| hedge.lacks)
    }

    /// Whether its name says that it does no more than look.
    pub fn only_looks(&self) -> bool {
        LOOKING.contains(&&*self.name)
    }

    /// Whether it returns, and the same in the same state.
    pub fn is_quiet(&self) -> bool {
        let calibration = self.calibration;
        !calibration.blocks && !calibration.panics && !calibration.is_random
    }
}

/// What a method's name says about it. One that is called on what another returned is as weak as
/// that other.
fn weakness(name: &str, has_arguments: bool) -> Weakness {
    let mut result = Weakness::None;
    for part in name.split(['.', ':']).filter(|part| !part.is_empty()) {
        let may_fail = part.starts_with("try_")
            || part.ends_with("_weak")
            || part.starts_with("steal")
            || ["timeout", "deadline", "_for", "_until"]
                .iter()
                .any(|word| part.contains(word));
        // A question without arguments is about the whole object: what `is_locked` sees may be the
        // middle of another method.
        let is_question = part.starts_with("is_") && !has_arguments;
        let shows_structure =
            part.split('_').any(|word| STRUCTURAL.contains(&word)) && !has_arguments;
        let observes = is_question
            || OBSERVERS.contains(&part)
            || part.split('_').any(|word| OBSERVING.contains(&word));
        let is_bulk = BULK.contains(&part) || part.split('_').any(|word| BULKY.contains(&word));
        if is_bulk {
            result = Weakness::Bulk;
        } else if shows_structure {
            result = Weakness::Structure;
        } else if may_fail && result == Weakness::None {
            result = Weakness::MayFail;
        } else if observes && result == Weakness::None {
            result = Weakness::Observer;
        }
    }
    result
}

/// A state in which one operation was seen to change what another returns, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// Number of the constructor.
    pub constructor: u8,
    /// What its arguments are made of.
    pub bytes: Vec<u8>,
    /// Calls that make the state.
    pub prefix: Vec<Call>,
    /// The two calls, that of the operation with the lower number first.
    pub calls: [Call; 2],
}

/// The program that runs tests.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Operations by number.
    pub methods: BTreeMap<u16, Method>,
    /// Numbers of constructors.
    pub constructors: Vec<u8>,
    /// Whether the type is a cache, which may drop entries by itself.
    pub is_cache: bool,
    /// Whether there are two objects of the type; the first byte of a call says on which it is made.
    pub is_paired: bool,
    /// Bytes of a test that mean something that the crate's source speaks of.
    pub constants: usize,
    /// Where two operations were seen to have to do with each other, the lower number first.
    pub meetings: BTreeMap<(u16, u16), Vec<Meeting>>,
    /// Which of its functions are operations, wherever they are called.
    pub callees: Callees,
}

impl Program {
    /// What of a type is in the program.
    pub fn new(discovery: &Discovery, harness: &Harness<'_>) -> Self {
        let methods = harness.operations().into_iter().filter_map(|index| {
            let operation = &discovery.operations[index];
            let holding = discovery.holdings.get(operation.part).copied();
            let method = Method::new(operation, holding.unwrap_or_default());
            Some((u16::try_from(index).ok()?, method))
        });
        let constructors = harness.constructors().into_iter();
        Self {
            methods: methods.collect(),
            constructors: constructors
                .filter_map(|index| u8::try_from(index).ok())
                .collect(),
            is_cache: is_cache(&discovery.written),
            is_paired: discovery.is_paired,
            constants: discovery.constants.count(),
            meetings: BTreeMap::new(),
            callees: Callees::default(),
        }
    }

    /// The same, which also knows the functions of the compiled program.
    pub fn compiled(self, discovery: &Discovery, map: &ProgramMap) -> Self {
        let numbers = self.methods.keys();
        let operations =
            numbers.map(|number| (*number, &discovery.operations[usize::from(*number)]));
        let callees = Callees::find(operations, map);
        Self { callees, ..self }
    }

    /// Whether the two methods of a pair were seen to have to do with each other.
    pub fn have_met(&self, (one, other): Pair) -> bool {
        let number = |method: usize| u16::try_from(method).unwrap_or(u16::MAX);
        self.meetings.contains_key(&(number(one), number(other)))
    }

    /// Numbers of the operations of a kind.
    pub fn numbers(&self, is_wanted: impl Fn(&Method) -> bool) -> Vec<u16> {
        let methods = self.methods.iter();
        methods
            .filter(|(_, method)| is_wanted(method))
            .map(|(number, _)| *number)
            .collect()
    }

    /// Whether the first operation was seen to change what the second one returns.
    pub fn affects(&self, one: u16, other: u16) -> bool {
        let method = self.methods.get(&one);
        method.is_some_and(|method| method.shown_by.contains(&other))
    }

    /// Whether nobody promises when some work is done that results depend on.
    pub fn defers_work(&self) -> bool {
        self.deferred_work().is_some()
    }

    /// Why nobody promises when work is done, for people: whoever only looks was seen to change what others show, so
    /// that he does what others left, like the eviction of entries; or there is a method that does such work.
    pub fn deferred_work(&self) -> Option<String> {
        let mut methods = self.methods.values();
        methods.find_map(|method| {
            let name = &method.name;
            match method.shown_by.first() {
                Some(shown) if method.only_looks() => Some(format!(
                    "`{name}` was seen to change what `{}` returns",
                    self.name(*shown)
                )),
                _ if name == WORKING => Some(format!("`{name}` does what others have left")),
                _ => None,
            }
        })
    }

    /// How many of the four bytes that mean earlier values may be among those of an operation's arguments. Where
    /// anything else can take their place, values that are different each time would be arguments that are.
    pub fn fed(&self, operation: u16) -> u8 {
        let takes = self.methods.get(&operation).map(|method| &method.takes);
        let Some(takes) = takes.filter(|takes| !takes.is_empty()) else {
            return 0;
        };
        // What a cache may evict has to be known before the calls are made.
        if self.evicts() {
            return 0;
        }
        let givers = self.methods.values();
        let givers = givers.filter(|one| one.gives.is_some_and(|fed| takes.contains(&fed)));
        let random = givers
            .map(|one| one.calibration)
            .filter(|one| one.is_random);
        let few = random.map(|one| match one.depends_on_thread {
            // Before there are threads there is one only.
            true => 3,
            false => 0,
        });
        few.min().unwrap_or(4)
    }

    /// Whether the type is a cache that may drop entries, as a method of it does.
    fn evicts(&self) -> bool {
        let mut methods = self.methods.values();
        self.is_cache && methods.any(|method| method.removal.is_some())
    }

    /// Whether what an operation returns is nothing that a test compares when it is written down.
    pub fn is_unwritten(&self, operation: u16) -> bool {
        let method = self.methods.get(&operation);
        method.is_some_and(|method| method.is_unwritten)
    }

    /// Whether a written test compares it when all threads have ended.
    pub fn is_written_after(&self, operation: u16) -> bool {
        let is_future = self
            .methods
            .get(&operation)
            .is_some_and(|one| one.is_future);
        let binds = is_future || self.weakness(operation) == Weakness::None;
        binds && !self.is_unwritten(operation)
    }

    /// The most steps that each thread of a test can make.
    pub fn most_steps(&self, test: &TestCase) -> Vec<usize> {
        let threads = test.threads.iter();
        let of_thread = |calls: &Vec<Call>| calls.iter().map(|call| self.steps_of(call)).sum();
        threads.map(of_thread).collect()
    }

    /// How many steps a call has at most.
    pub(crate) fn steps_of(&self, call: &Call) -> usize {
        match self.methods.get(&call.operation) {
            Some(method) if method.may_hold => 2,
            _ => 1,
        }
    }

    /// Whether a call of an operation was seen not to return.
    pub fn waits(&self, operation: u16) -> bool {
        let method = self.methods.get(&operation);
        method.is_some_and(|method| method.calibration.blocks)
    }

    /// Whether threads of a test make such a call.
    pub fn may_block(&self, test: &TestCase) -> bool {
        let mut called = test.threads.iter().flatten();
        called.any(|call| self.waits(call.operation))
    }

    /// The name of an operation.
    pub fn name(&self, operation: u16) -> &str {
        self.methods
            .get(&operation)
            .map_or("?", |method| &method.name)
    }

    /// The calls of a test, for people.
    pub fn calls(&self, test: &TestCase) -> String {
        let threads = test.threads.iter().map(|calls| {
            let runs = calls.chunk_by(|one, next| one.operation == next.operation);
            let names = runs.map(|run| {
                let name = self.name(run[0].operation);
                match run.len() {
                    count @ ..=NAMED => vec![name; count].join(", "),
                    count => format!("{name} ({count} times)"),
                }
            });
            names.collect::<Vec<_>>().join(", ")
        });
        let threads: Vec<_> = threads.collect();
        threads.join(" ∥ ")
    }

    /// How far an operation's results bind it.
    pub fn weakness(&self, operation: u16) -> Weakness {
        let method = self.methods.get(&operation);
        method.map_or(Weakness::Random, |method| match method.weakness {
            _ if method.relaxed.is_some() => Weakness::Relaxed,
            _ if method.calibration.is_random => Weakness::Random,
            // A method that only looks, and says that it does not look closely.
            _ if method.hedge.is_some() && method.calibration.is_pure => Weakness::Structure,
            weakness @ (Weakness::None | Weakness::MayFail) => match method.lacks() {
                Some(Promise::Atomicity | Promise::Choice) => Weakness::Bulk,
                Some(Promise::Success) => Weakness::MayFail,
                Some(Promise::Exactness) | None => weakness,
            },
            // What changes nothing changes nothing part by part.
            Weakness::Bulk if method.calibration.is_pure => Weakness::Observer,
            weakness => weakness,
        })
    }

    /// Why the results of an operation are not checked while others run, as the end of a sentence about it; nothing if they
    /// are.
    pub fn unchecked(&self, operation: u16) -> Option<String> {
        let method = self.methods.get(&operation)?;
        let calibration = method.calibration;
        if let Some(reason) = &method.relaxed {
            return Some(format!("is relaxed: {reason}"));
        }
        if calibration.depends_on_thread {
            return Some("returns different results to different threads".to_owned());
        }
        if calibration.depends_on_time {
            return Some("returns other results when time passes between calls".to_owned());
        }
        let weakness = self.weakness(operation);
        match (weakness, method.hedge) {
            (Weakness::None, _) => self.deferred_work(),
            // What it is called says less than its documentation.
            (_, Some(Hedge { words, .. })) if weakness != method.weakness => {
                Some(format!("promises less: its documentation says `{words}`"))
            }
            _ => Some(weakness.reason().to_owned()),
        }
    }

    /// Relaxes an operation, and the methods of what it returns: their results are not checked. Whether there is such an
    /// operation.
    pub fn relax(&mut self, name: &str, reason: &str) -> bool {
        let rest = |one: &Method| one.name.strip_prefix(name).map(str::to_owned);
        let mut is_known = false;
        for method in self.methods.values_mut() {
            if rest(method).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
                method.relaxed = Some(reason.to_owned());
                is_known = true;
            }
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Calibration, Method, Program, Weakness, weakness};

    #[test]
    fn what_is_different_each_time_is_not_given_to_others() {
        let with = |calibration: Calibration| {
            let giver = Method {
                gives: Some(1),
                calibration,
                ..Method::default()
            };
            let taker = Method {
                takes: [1].into(),
                ..Method::default()
            };
            let other = Method {
                takes: [0].into(),
                ..Method::default()
            };
            let methods = [(0, giver), (1, taker), (2, other)];
            let program = Program {
                methods: methods.into(),
                ..Program::default()
            };
            [0, 1, 2].map(|number| program.fed(number))
        };
        let random = Calibration {
            is_random: true,
            ..Calibration::default()
        };
        let by_thread = Calibration {
            depends_on_thread: true,
            ..random
        };
        assert_eq!(with(Calibration::default()), [0, 4, 4]);
        assert_eq!(with(random), [0, 0, 4]);
        // Those of before there were threads are always of the same one.
        assert_eq!(with(by_thread), [0, 3, 4]);
    }

    #[test]
    fn names_say_how_far_results_bind() {
        for (name, expected) in [
            ("push", Weakness::None),
            ("len", Weakness::Observer),
            ("Iterable::iter", Weakness::Observer),
            ("Clone::clone", Weakness::Observer),
            ("strong_count", Weakness::Observer),
            ("total_listeners", Weakness::Observer),
            ("is_locked_exclusive", Weakness::Observer),
            ("try_push", Weakness::MayFail),
            ("recv_timeout", Weakness::MayFail),
            ("try_entry.or_insert", Weakness::MayFail),
            ("clear", Weakness::Bulk),
            ("steal_batch_and_pop", Weakness::Bulk),
            ("entry.or_insert", Weakness::None),
            ("get_discount", Weakness::None),
            ("depth", Weakness::Structure),
            ("num_buckets", Weakness::Structure),
        ] {
            assert_eq!(weakness(name, false), expected, "{name}");
        }
        // Who asks about a part is bound.
        assert_eq!(weakness("is_member", true), Weakness::None);
    }

    #[test]
    fn what_is_relaxed_is_not_checked() {
        let method = |name: &str| Method {
            name: name.to_owned(),
            ..Method::default()
        };
        let methods = ["entry", "entry.or_insert", "entry_of"].map(method);
        let mut program = Program {
            methods: (0..).zip(methods).collect(),
            ..Program::default()
        };
        assert!(!program.relax("get", "documented"));
        assert!(program.relax("entry", "documented"));
        let found = [0, 1, 2].map(|number| program.unchecked(number));
        let expected = Some("is relaxed: documented".to_owned());
        assert_eq!(found, [expected.clone(), expected, None]);
        assert_eq!(program.weakness(1), Weakness::Relaxed);
    }

    #[test]
    fn who_looks_and_changes_something_does_the_work_of_others() {
        let program = |name: &str, shown_by: &[u16]| {
            let method = Method {
                name: name.to_owned(),
                shown_by: shown_by.iter().copied().collect(),
                ..Method::default()
            };
            Program {
                methods: BTreeMap::from([(0, method)]),
                ..Program::default()
            }
        };
        assert!(program("get", &[1]).defers_work());
        assert!(!program("get", &[]).defers_work());
        assert!(!program("pop", &[1]).defers_work());
        assert!(program("run_pending_tasks", &[]).defers_work());
    }
}
