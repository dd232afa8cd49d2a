//! Lost wake-ups: which threads waited when one came, and which thread it woke.
//!
//! Everything is read from the recording of the replay. Only what it shows is told: a thread counts as
//! waiting from the operation on by which its call announces itself, and where it cannot be seen which
//! thread a wake-up reached, none is named.

use std::collections::HashMap;

use raddle_abi::record::{RawEvent, wake};
use raddle_abi::site::{Operation, SiteId};
use raddle_trace::finding::Place;
use raddle_trace::runner::{RawRecording, RawWait};

use super::deadlock::capitalised;
use super::lanes::Interest;
use super::locate::{Located, Locator};
use super::waiting::{self, Awaited, Object, OfLibc, Role};
use super::{in_words, thread_in_words};

/// Why a thread waits for ever.
pub(super) struct Lost {
    /// End of the title, or nothing.
    pub title: String,
    /// Whole sentences.
    pub cause: String,
    /// Recorded events that it is about, with words for some of them.
    steps: Vec<(usize, Option<String>)>,
    /// Whether it shows where a wake-up went.
    is_shown: bool,
}

impl Lost {
    /// How much it explains; more is better.
    pub fn weight(&self) -> (bool, bool) {
        (self.is_shown, !self.title.is_empty())
    }

    /// Adds its steps to what is shown.
    pub fn mark(self, interest: &mut Interest) {
        for (at, words) in self.steps {
            interest.events.push(at);
            if let Some(words) = words {
                interest.words.insert(at, words);
            }
        }
    }
}

/// A call that ends waits.
struct WakeUp {
    /// Its first event on the object.
    at: usize,
    thread: u16,
    place: Place,
    /// The function, if it has a name.
    function: Option<String>,
    /// Threads that it was seen to wake.
    woken: Vec<u16>,
    /// How many it woke, if that is known.
    count: u64,
}

/// Reads one object's waits and wake-ups from a recording.
struct History<'a> {
    locator: &'a mut Locator,
    recording: &'a RawRecording,
    /// `None` for a bare futex, or an object of libc.
    object: Option<&'static Object>,
    /// Which object of libc it is.
    of_libc: Option<OfLibc>,
    /// Address of the object's word.
    address: u64,
    /// First event since the object's memory was allocated.
    start: usize,
    known: HashMap<(SiteId, u32), Option<(Role, String)>>,
}

/// Why a thread waits for ever, as far as the recording shows it. `None` for what is no wait for a
/// wake-up.
pub(super) fn explain(
    locator: &mut Locator,
    recording: &RawRecording,
    wait: &RawWait,
    located: &Located,
) -> Option<Lost> {
    if wait.is_lock || wait.operation != Operation::FutexWait || recording.overflow {
        return None;
    }
    let object = match waiting::awaited(located) {
        Awaited::Object(object) | Awaited::Task(object) => Some(object),
        Awaited::Unknown => None,
        Awaited::Named(_) => return None,
    };
    let of_libc = OfLibc::of(recording, wait).filter(|_| object.is_none());
    if of_libc == Some(OfLibc::Barrier) {
        return None;
    }
    let mut history = History {
        locator,
        recording,
        object,
        of_libc,
        address: wait.object,
        start: 0,
        known: HashMap::new(),
    };
    if let Some(object) = object {
        history.address = history.word(object, wait.thread)?;
    }
    history.start = history.allocated();
    let began = history.began(wait.thread)?;
    Some(history.tell(wait, located, began))
}

impl History<'_> {
    fn event(&self, at: usize) -> &RawEvent {
        &self.recording.events[at]
    }

    fn located(&mut self, at: usize) -> Located {
        let event = self.recording.events[at];
        self.locator
            .locate(event.site, self.recording.stack(&event))
    }

    fn place(&mut self, at: usize) -> Place {
        self.located(at).place(true)
    }

    /// What an event's call does, and its name.
    fn role(&mut self, at: usize) -> Option<(Role, String)> {
        let event = self.recording.events[at];
        let Some(object) = self.object else {
            let role = match Operation::from_number(event.operation)? {
                Operation::FutexWait => Role::Wait,
                Operation::FutexWake => Role::Wake,
                _ => return None,
            };
            return Some((role, String::new()));
        };
        let key = (event.site, event.stack);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let located = self.located(at);
        let role = object.role(&located);
        self.known.insert(key, role.clone());
        role
    }

    fn is(&mut self, at: usize, role: Role) -> bool {
        self.role(at).is_some_and(|(known, _)| known == role)
    }

    /// Address of the word of the object that a thread waits on, by its latest wait.
    fn word(&mut self, object: &Object, thread: u16) -> Option<u64> {
        let of_thread = (0..self.recording.events.len()).rev();
        for at in of_thread.filter(|&at| self.recording.events[at].thread == thread) {
            if !is_on_word(self.event(at)) || !self.is(at, Role::Wait) {
                continue;
            }
            let located = self.located(at);
            if object.is_own_word(&located) {
                return Some(self.event(at).address);
            }
        }
        None
    }

    /// First event since the object's memory was allocated: what happened to the same address
    /// before happened to another object.
    fn allocated(&self) -> usize {
        let holds = |event: &RawEvent| {
            event.operation == Operation::Alloc as u16
                && (event.address..event.address.saturating_add(u64::from(event.len.max(1))))
                    .contains(&self.address)
        };
        self.recording
            .events
            .iter()
            .rposition(holds)
            .map_or(0, |at| at + 1)
    }

    /// Events on the object's word, in order.
    fn touches(&self) -> Vec<usize> {
        let events = &self.recording.events;
        (self.start..events.len())
            .filter(|&at| events[at].address == self.address && is_on_word(&events[at]))
            .collect()
    }

    /// The event by which the latest wait of a thread announced itself: its last one on the object.
    fn began(&mut self, thread: u16) -> Option<usize> {
        let touches = self.touches();
        let last = touches
            .into_iter()
            .rfind(|&at| self.event(at).thread == thread)?;
        self.is(last, Role::Wait).then_some(last)
    }

    /// When threads were in calls that wait on the object: thread, from, up to.
    fn waits(&mut self) -> Vec<(u16, usize, usize)> {
        let mut waits: Vec<(u16, usize, usize)> = Vec::new();
        for at in self.touches() {
            let thread = self.event(at).thread;
            let is_known = waits
                .iter()
                .any(|&(known, from, to)| known == thread && (from..to).contains(&at));
            if is_known || !self.is(at, Role::Wait) {
                continue;
            }
            let count = self.recording.events.len();
            let left = (at + 1..count)
                .find(|&later| self.event(later).thread == thread && !self.is(later, Role::Wait));
            waits.push((thread, at, left.unwrap_or(usize::MAX)));
        }
        waits
    }

    /// All calls that end waits on the object.
    fn wake_ups(&mut self) -> Vec<WakeUp> {
        let mut wake_ups: Vec<WakeUp> = Vec::new();
        let mut until = HashMap::new();
        for at in self.touches() {
            let thread = self.event(at).thread;
            if until.get(&thread).is_some_and(|&until| at < until) || !self.is(at, Role::Wake) {
                continue;
            }
            let function = self.role(at).map(|(_, function)| function);
            let mut wake_up = WakeUp {
                at,
                thread,
                place: self.place(at),
                function: function.filter(|function| !function.is_empty()),
                woken: Vec::new(),
                count: 0,
            };
            let mut end = at;
            for later in at..self.recording.events.len() {
                if self.event(later).thread != thread {
                    continue;
                }
                if later > at && (self.object.is_none() || !self.is(later, Role::Wake)) {
                    break;
                }
                end = later + 1;
                let event = self.event(later);
                if event.operation == Operation::FutexWake as u16 {
                    wake_up.count += event.value;
                    wake_up.woken.extend(event.order.checked_sub(1));
                }
            }
            until.insert(thread, end);
            wake_ups.push(wake_up);
        }
        wake_ups
    }

    fn wake_up_in_words(&self, wake_up: &WakeUp) -> String {
        let name = match (&wake_up.function, self.object) {
            (Some(function), _) => format!("`{function}`"),
            (None, _) => self.wake_up().to_owned(),
        };
        format!(
            "{name} by {} at {}",
            thread_in_words(wake_up.thread),
            in_words(&wake_up.place)
        )
    }

    fn tell(&mut self, wait: &RawWait, located: &Located, began: usize) -> Lost {
        let wake_ups = self.wake_ups();
        let waits = self.waits();
        let who = thread_in_words(wait.thread);
        let keeps = self.object.is_some_and(|object| object.keeps)
            || self.recording.events.iter().any(|event| {
                event.operation == Operation::FutexWake as u16
                    && event.address == self.address
                    && event.len & wake::KEPT != 0
            });
        let Some(last) = wake_ups.last() else {
            return self.never(&who);
        };
        // The last one that came while it waited, and reached another thread.
        let missed = wake_ups.iter().rev().find(|wake_up| wake_up.at > began);
        if let Some(missed) = missed {
            return self.missed(wait, located, missed, &wake_ups);
        }
        if keeps {
            return self.used_up(wait, last, &wake_ups, began);
        }
        // Its own call may have begun before, but it had not announced itself yet.
        let waited = waits
            .iter()
            .filter(|(thread, _, to)| *thread != wait.thread || *to <= began)
            .any(|(_, from, to)| (*from..*to).contains(&last.at));
        let wake_up = self.wake_up_in_words(last);
        let is_kept = last.function.as_deref().is_some_and(waiting::keeps_permit);
        if is_kept && !waited && last.count == 0 {
            return Lost {
                title: format!("another wait used up its {}", self.noun()),
                cause: format!(
                    "The {wake_up} came when no {} waited, so it left a permit; several leave only one. Another \
                     wait used it up before {who} waited, and no other follows.",
                    self.waiter()
                ),
                steps: vec![(last.at, None)],
                is_shown: true,
            };
        }
        if waited || last.count > 0 {
            let what = match &last.woken[..] {
                [one] if last.count == 1 && *one == wait.thread => {
                    format!(
                        "woke {who} from an earlier wait. {} waited again",
                        capitalised(&who)
                    )
                }
                [one] if last.count == 1 => {
                    format!("woke {} before {who} waited", thread_in_words(*one))
                }
                _ => format!("came before {who} waited"),
            };
            return Lost {
                title: String::new(),
                cause: format!("The {wake_up} {what}, and no other follows."),
                steps: vec![(last.at, None)],
                is_shown: last.count == 1,
            };
        }
        Lost {
            title: format!("its {} came too early", self.noun()),
            cause: format!(
                "The {wake_up} came when no {waiter} waited, so it was lost; {who} began to wait after it, \
                 and no other follows.",
                waiter = self.waiter()
            ),
            steps: vec![(
                last.at,
                Some(format!("notifies while no {} waits", self.waiter())),
            )],
            is_shown: true,
        }
    }

    /// What ends a wait.
    fn wake_up(&self) -> &'static str {
        match (self.object, self.of_libc) {
            (Some(object), _) => object.wake_up,
            (None, Some(of_libc)) => of_libc.wake_up(),
            (None, None) => "wake-up",
        }
    }

    /// The same, as a word of its own.
    fn noun(&self) -> &'static str {
        match self.wake_up() {
            "`unpark`" => "wake-up",
            word => word,
        }
    }

    /// Who waits on the object.
    fn waiter(&self) -> &'static str {
        match self.object {
            Some(object) if object.of_tasks => "task",
            _ => "thread",
        }
    }

    /// There was no wake-up at all.
    fn never(&self, who: &str) -> Lost {
        let cause = match self.object {
            Some(object) if object.keeps => format!("No thread unparks {who} in this execution."),
            Some(object) if object.of_tasks => String::new(),
            Some(object) => format!("No thread notifies this {} in this execution.", object.noun),
            None => match self.of_libc {
                Some(OfLibc::Condition) => {
                    "No thread signals this condition variable in this execution.".to_owned()
                }
                Some(OfLibc::Semaphore) => {
                    "No thread posts this semaphore in this execution.".to_owned()
                }
                _ => format!("No thread wakes {who} in this execution."),
            },
        };
        Lost {
            title: String::new(),
            cause,
            steps: Vec::new(),
            is_shown: false,
        }
    }

    /// A wake-up came while the thread waited, and did not reach it.
    fn missed(
        &mut self,
        wait: &RawWait,
        located: &Located,
        missed: &WakeUp,
        wake_ups: &[WakeUp],
    ) -> Lost {
        let who = thread_in_words(wait.thread);
        let wake_up = self.wake_up_in_words(missed);
        let own = located.place(true);
        let woken = match &missed.woken[..] {
            [one] if missed.count == 1 && *one != wait.thread => *one,
            _ => {
                return Lost {
                    title: String::new(),
                    cause: format!("The {wake_up} did not wake {who}, and no other follows."),
                    steps: vec![(missed.at, None)],
                    is_shown: false,
                };
            }
        };
        let other = thread_in_words(woken);
        let mut cause = format!(
            "The {wake_up} woke {other}, not {who}, which waited at {} too",
            in_words(&own)
        );
        let mut steps = vec![(missed.at, Some(format!("wakes {other}, not {who}")))];
        let title = format!("a {} woke {other} instead", self.noun());
        match self.waits_again(woken, missed.at, wake_ups) {
            Some(at) => {
                let place = self.place(at);
                cause.push_str(&format!(
                    "; {other} did not find what it waits for, and waited again at {} without \
                     {}.",
                    in_words(&place),
                    match self.wake_up() {
                        "signal" => "signaling",
                        _ => "notifying",
                    }
                ));
                let noun = match self.object {
                    Some(object) => Some(object.noun),
                    None => self.of_libc.map(OfLibc::noun),
                };
                if (&place.file, place.line) != (&own.file, own.line)
                    && let Some(noun) = noun
                {
                    cause.push_str(&format!(
                        " One {noun} serves both waits, so a {} for one may reach the other.",
                        self.wake_up()
                    ));
                }
                steps.push((at, Some("waits again".to_owned())));
            }
            None => cause.push_str(", and no other follows."),
        }
        Lost {
            title,
            cause,
            steps,
            is_shown: true,
        }
    }

    /// Where a thread that was woken at `at` waits on the object again, if it has not ended a wait on
    /// it before that.
    fn waits_again(&mut self, thread: u16, at: usize, wake_ups: &[WakeUp]) -> Option<usize> {
        let touches = self.touches();
        let count = self.recording.events.len();
        // It returns from its call first, unless that looks at the word again inside.
        let left = (at + 1..count)
            .find(|&later| self.event(later).thread == thread && !self.is(later, Role::Wait))?;
        let again = touches
            .into_iter()
            .filter(|&touch| touch > left)
            .find(|&touch| self.event(touch).thread == thread)?;
        let notified = wake_ups
            .iter()
            .any(|wake_up| wake_up.thread == thread && (left..again).contains(&wake_up.at));
        (!notified && self.is(again, Role::Wait)).then_some(again)
    }

    /// Wake-ups are kept for the next wait; all of them were used up.
    fn used_up(
        &mut self,
        wait: &RawWait,
        last: &WakeUp,
        wake_ups: &[WakeUp],
        began: usize,
    ) -> Lost {
        let who = thread_in_words(wait.thread);
        let wake_up = self.wake_up_in_words(last);
        let earlier = self
            .touches()
            .into_iter()
            .find(|&at| at > last.at && at < began && self.event(at).thread == wait.thread);
        let earlier = earlier.filter(|&at| self.object.is_some() && self.is(at, Role::Wait));
        let Some(earlier) = earlier else {
            if self.object.is_some() {
                return Lost {
                    title: String::new(),
                    cause: format!("The last {wake_up} came before; no other follows."),
                    steps: vec![(last.at, None)],
                    is_shown: false,
                };
            }
            let times = match wake_ups.len() {
                1 => "once".to_owned(),
                many => format!("{many} times"),
            };
            return Lost {
                title: String::new(),
                cause: format!(
                    "It was posted {times} in this execution, the last time by {} at {}, and each \
                     post was used up before {who} waited.",
                    thread_in_words(last.thread),
                    in_words(&last.place),
                ),
                steps: vec![(last.at, None)],
                is_shown: false,
            };
        };
        let place = self.place(earlier);
        Lost {
            title: format!("its last {} was used up before", self.noun()),
            cause: format!(
                "The last {wake_up} was used up by an earlier wait of {who} at {}, and no other follows.",
                in_words(&place)
            ),
            steps: vec![(last.at, None), (earlier, None)],
            is_shown: true,
        }
    }
}

/// Whether an event may be one on the word of an object that threads wait on.
fn is_on_word(event: &RawEvent) -> bool {
    use Operation::{AtomicCas, AtomicLoad, AtomicRmw, AtomicStore, FutexWait, FutexWake};
    [
        AtomicLoad,
        AtomicStore,
        AtomicRmw,
        AtomicCas,
        FutexWait,
        FutexWake,
    ]
    .iter()
    .any(|&operation| operation as u16 == event.operation)
}
