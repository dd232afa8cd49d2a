//! Relaxed happens-before: program order, and what one thread tells another on purpose.
//!
//! The paper's section 4.1.1. Edges come from starts and joins of threads, from the ends of threads
//! to those of their scopes ([`crate::scopes`]), from wake-ups to
//! those who wait for them, and from items of channels. Memory accesses and the release of a
//! lock order nothing: the order in which they happened is what a prediction changes.
//!
//! Each thread's events fall into *segments*, in which nothing is told and nothing is heard, so
//! that all events of a segment are ordered alike with respect to other threads. A segment has a
//! vector clock; an event needs only the number of its segment.
//!
//! Limits: a wake-up orders everybody who waits at the place, even if it woke only one of them.
//! A wait while a lock is wanted is part of acquiring the lock, and orders nothing. A barrier
//! orders the last one to arrive before the others, and not each before each.

use crate::scopes::{Role, Roles};
use raddle_trace::event::{Action, Event, Location, LockStep, Message, ThreadId, Trace};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Number of a segment, over all threads in the order of their beginnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId(pub u32);

/// For each thread: how many of its segments have ended before.
type Clock = Rc<[u32]>;

#[derive(Clone, Debug)]
struct Segment {
    thread: ThreadId,
    /// From 0, in its thread.
    number: u32,
    /// What its thread had heard when it began.
    clock: Clock,
}

#[derive(Clone, Debug)]
struct ThreadState {
    segment: SegmentId,
    /// Where it waits, until its next event.
    waits_at: Option<Location>,
    /// What the wake-ups since then told it.
    heard: Option<Clock>,
    wants_lock: bool,
}

/// Reads a trace event by event and keeps the order of segments.
#[derive(Debug, Default)]
pub struct HappensBefore {
    segments: Vec<Segment>,
    threads: Vec<Option<ThreadState>>,
    sent: HashMap<Message, Clock>,
    /// Threads that wait, by place.
    waiting: HashMap<Location, Vec<ThreadId>>,
    roles: Roles,
    /// Who started a thread.
    parents: HashMap<ThreadId, ThreadId>,
    /// Threads that have done what they were started for, and what they know.
    ended: BTreeMap<ThreadId, Clock>,
}

/// What an event means for the thread that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The segment that the event belongs to.
    pub segment: SegmentId,
    /// Whether the thread gives itself up to others here: it waits for a wake-up, an item or
    /// the end of a thread.
    pub waits: bool,
}

impl HappensBefore {
    /// Of a trace of which nothing has been read.
    pub fn new(trace: &Trace) -> Self {
        Self {
            roles: Roles::new(trace),
            ..Self::default()
        }
    }

    /// Takes the next event of the trace.
    pub fn read(&mut self, event: &Event) -> Step {
        let thread = event.thread;
        self.hear_wakes(thread);
        let mut waits = false;
        match &event.action {
            Action::Receive(message) => {
                // An item is taken once, and there may be very many.
                let clock = match message {
                    Message::Item { .. } => self.sent.remove(message),
                    _ => self.sent.get(message).cloned(),
                };
                if let Some(clock) = clock {
                    self.hear(thread, &clock);
                }
                waits = !matches!(message, Message::Start(_));
            }
            Action::Wait(place) if !self.state(thread).wants_lock => {
                self.state(thread).waits_at = Some(*place);
                self.waiting.entry(*place).or_default().push(thread);
                waits = true;
            }
            Action::Access { .. } if self.roles.of(event.site) == Some(Role::Joins) => {
                waits = self.leave_scope(thread);
            }
            _ => {}
        }
        let segment = self.state(thread).segment;
        match &event.action {
            Action::Send(Message::Wake(place)) => self.wake(thread, *place),
            Action::Send(message) => {
                if let Message::Start(started) = message {
                    self.parents.insert(*started, thread);
                }
                let clock = self.tell(thread);
                self.sent.insert(*message, clock);
            }
            Action::Lock { step, .. } => {
                self.state(thread).wants_lock = *step == LockStep::Want;
            }
            Action::Enter { .. } | Action::Leave { .. } => self.state(thread).wants_lock = false,
            Action::Access { .. } if self.roles.of(event.site) == Some(Role::Ends) => {
                let clock = self.tell(thread);
                self.ended.insert(thread, clock);
            }
            _ => {}
        }
        Step { segment, waits }
    }

    /// Whether all events of one segment happen before all events of another.
    pub fn is_before(&self, first: SegmentId, second: SegmentId) -> bool {
        let (from, to) = (self.segment(first), self.segment(second));
        if from.thread == to.thread {
            return from.number < to.number;
        }
        let known = to.clock.get(usize::from(from.thread.0)).copied();
        known.is_some_and(|known| known > from.number)
    }

    /// Number of segments so far.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id.0 as usize]
    }

    fn state(&mut self, thread: ThreadId) -> &mut ThreadState {
        let index = usize::from(thread.0);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, None);
        }
        let Self {
            segments, threads, ..
        } = self;
        threads[index].get_or_insert_with(|| {
            segments.push(Segment {
                thread,
                number: 0,
                clock: Rc::from([]),
            });
            ThreadState {
                segment: SegmentId(segments.len() as u32 - 1),
                waits_at: None,
                heard: None,
                wants_lock: false,
            }
        })
    }

    /// Ends the thread's segment and begins another with `clock`.
    fn begin(&mut self, thread: ThreadId, clock: Clock) {
        let old = self.state(thread).segment;
        let number = self.segment(old).number + 1;
        self.segments.push(Segment {
            thread,
            number,
            clock,
        });
        let segment = SegmentId(self.segments.len() as u32 - 1);
        self.state(thread).segment = segment;
    }

    /// What the thread knows and has done up to here, which ends its segment.
    fn tell(&mut self, thread: ThreadId) -> Clock {
        let id = self.state(thread).segment;
        let segment = self.segment(id);
        let own = usize::from(thread.0);
        let mut told = segment.clock.to_vec();
        if told.len() <= own {
            told.resize(own + 1, 0);
        }
        told[own] = segment.number + 1;
        let same = Rc::clone(&segment.clock);
        self.begin(thread, same);
        told.into()
    }

    /// The thread learns what another one told. A new segment begins if it is news.
    fn hear(&mut self, thread: ThreadId, told: &Clock) {
        let id = self.state(thread).segment;
        let clock = &self.segment(id).clock;
        if told
            .iter()
            .enumerate()
            .all(|(index, told)| index == usize::from(thread.0) || known(clock, index) >= *told)
        {
            return;
        }
        let joined = join(clock, told);
        self.begin(thread, joined);
    }

    fn wake(&mut self, thread: ThreadId, place: Location) {
        let waiting = self.waiting.remove(&place).unwrap_or_default();
        let still = |this: &mut Self, waiter: ThreadId| {
            waiter != thread && this.state(waiter).waits_at == Some(place)
        };
        let waiting: Vec<_> = waiting
            .into_iter()
            .filter(|waiter| still(self, *waiter))
            .collect();
        if waiting.is_empty() {
            return;
        }
        let told = self.tell(thread);
        for waiter in &waiting {
            let state = self.state(*waiter);
            state.heard = Some(match &state.heard {
                Some(heard) => join(heard, &told),
                None => Rc::clone(&told),
            });
        }
        // They wait until they run, and may be woken again until then.
        self.waiting.insert(place, waiting);
    }

    /// The thread has heard from all that it has started, and that have ended; whether there were any.
    fn leave_scope(&mut self, thread: ThreadId) -> bool {
        let ended = std::mem::take(&mut self.ended);
        let (joined, others) = ended
            .into_iter()
            .partition(|(ended, _)| self.is_descendant(*ended, thread));
        self.ended = others;
        for clock in BTreeMap::values(&joined) {
            self.hear(thread, clock);
        }
        !joined.is_empty()
    }

    fn is_descendant(&self, thread: ThreadId, of: ThreadId) -> bool {
        let mut next = Some(thread);
        // A damaged trace may have a thread that started itself.
        for _ in 0..=self.parents.len() {
            next = next.and_then(|thread| self.parents.get(&thread).copied());
            if next == Some(of) {
                return true;
            }
        }
        false
    }

    fn hear_wakes(&mut self, thread: ThreadId) {
        let state = self.state(thread);
        if let Some(place) = state.waits_at.take() {
            let heard = state.heard.take();
            if let Some(waiting) = self.waiting.get_mut(&place) {
                waiting.retain(|waiter| *waiter != thread);
            }
            if let Some(clock) = heard {
                self.hear(thread, &clock);
            }
        }
    }
}

fn known(clock: &Clock, index: usize) -> u32 {
    clock.get(index).copied().unwrap_or(0)
}

fn join(one: &Clock, other: &Clock) -> Clock {
    let length = one.len().max(other.len());
    let joined = (0..length).map(|index| known(one, index).max(known(other, index)));
    joined.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_trace::text;

    /// Which events come before which, as `i<j` of different threads, events from 0.
    fn check(events: &str, expected: &str) {
        let text = format!(
            "raddle trace 2\nthread\nthread parent 1\nthread parent 1 occurrence 1\n\
             static path \"S\"\n{events}\nend\n"
        );
        let text: String = text
            .lines()
            .map(|line| line.trim().to_owned() + "\n")
            .collect();
        let trace = text::parse(&text).unwrap();
        let mut order = HappensBefore::new(&trace);
        let steps: Vec<_> = trace
            .events
            .iter()
            .map(|event| order.read(event).segment)
            .collect();
        let mut found = Vec::new();
        for (i, first) in trace.events.iter().enumerate() {
            for (j, second) in trace.events.iter().enumerate() {
                if first.thread != second.thread && order.is_before(steps[i], steps[j]) {
                    found.push(format!("{i}<{j}"));
                }
            }
        }
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn starts_and_joins_order_and_nothing_else_does() {
        check(
            "access kind write
             send-start other 1
             access kind write
             receive-start thread 1 other 1
             access thread 1 kind write
             send-end thread 1 other 1
             access kind read
             receive-end other 1
             access kind read",
            "0<3 0<4 0<5 1<3 1<4 1<5 3<7 3<8 4<7 4<8 5<7 5<8",
        );
    }

    #[test]
    fn a_scope_joins_what_was_started_in_it_also_without_a_wait() {
        let scope = |left: &str, ended: &str| {
            format!(
                "site key 1 function \"std::thread::scoped::{left}\"
                 site key 2 function \"<std::thread::lifecycle::Packet as core::ops::drop::Drop>::{ended}\"
                 send-start other 1
                 receive-start thread 1 other 1
                 access thread 1 kind write
                 access thread 1 kind read site 2
                 access kind read site 1
                 access kind read"
            )
        };
        check(
            &scope("scope", "drop"),
            "0<1 0<2 0<3 1<4 1<5 2<4 2<5 3<4 3<5",
        );
        check(&scope("other", "drop"), "0<1 0<2 0<3");
        check(&scope("scope", "other"), "0<1 0<2 0<3");
    }

    #[test]
    fn locks_and_accesses_order_nothing() {
        check(
            "lock step acquire
             access kind atomic-store order release
             lock step release
             lock thread 1 step acquire
             access thread 1 kind atomic-load order acquire",
            "",
        );
    }

    #[test]
    fn a_wake_up_comes_before_what_the_woken_do_next() {
        check(
            "wait
             access thread 1 kind write
             send-wake thread 1
             access thread 1 kind write
             access kind read",
            "1<4 2<4",
        );
    }

    #[test]
    fn a_wait_for_a_lock_orders_nothing() {
        check(
            "lock step want
             wait
             access thread 1 kind write
             send-wake thread 1
             lock step acquire
             access kind read",
            "",
        );
    }

    #[test]
    fn a_wake_up_that_nobody_waits_for_orders_nothing() {
        check("send-wake thread 1\nwait\naccess kind read", "");
    }

    #[test]
    fn an_item_comes_out_after_it_went_in_and_order_is_passed_on() {
        check(
            "send-item
             receive-item thread 1
             send-item thread 1 number 1
             receive-item thread 2 number 1
             access",
            "0<1 0<2 0<3 1<3 2<3",
        );
    }

    #[test]
    fn whoever_waits_gives_itself_up() {
        let text = "raddle trace 2\nthread\nthread parent 1\nstatic path \"S\"\nwait\nreceive-start\n\
                    receive-end other 1\nlock step want\nwait\nend\n";
        let trace = text::parse(text).unwrap();
        let mut order = HappensBefore::new(&trace);
        let waits: Vec<_> = trace
            .events
            .iter()
            .map(|event| order.read(event).waits)
            .collect();
        assert_eq!(waits, [true, false, true, false, false]);
    }
}
