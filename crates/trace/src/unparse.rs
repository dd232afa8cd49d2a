//! Takes a trace apart into records, for both formats.

use crate::event::{Action, Event, Location, Message, ObjectName, SiteIndex, ThreadId, Trace};
use crate::form::{self, Record, Value};
use std::borrow::Cow;

/// Optional references count from 1, so that 0 means none and is left out of the text.
fn optional(index: Option<u32>) -> u64 {
    index.map_or(0, |index| u64::from(index) + 1)
}

/// Hands every record of a trace to `sink`, names first, the end last.
pub fn records<'a, E>(
    trace: &'a Trace,
    mut sink: impl FnMut(Record<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let text = |text: &'a str| Value::Text(Cow::Borrowed(text));
    let number = |number: u64| Value::Number(number);
    sink((form::BUILD, vec![text(&trace.build)]))?;
    sink((form::TEST, vec![text(&trace.test)]))?;
    for thread in &trace.threads {
        let parent = optional(thread.parent.map(|ThreadId(parent)| u32::from(parent)));
        let fields = [parent, thread.site_key, thread.occurrence.into()];
        sink((form::NAMED_THREAD, fields.map(Value::Number).to_vec()))?;
    }
    for object in &trace.objects {
        sink(match object {
            ObjectName::Heap {
                site_key,
                thread,
                occurrence,
                size,
                context,
                function,
            } => {
                let (thread, occurrence) = (thread.0.into(), (*occurrence).into());
                let fields = [*site_key, thread, occurrence, *size, *context];
                let mut fields = fields.map(Value::Number).to_vec();
                fields.push(text(function));
                (form::HEAP, fields)
            }
            ObjectName::Stack {
                function,
                variable,
                context,
                thread,
                occurrence,
            } => {
                let numbers = [*context, thread.0.into(), (*occurrence).into()];
                let numbers = numbers.map(Value::Number);
                match variable.is_empty() {
                    true => (
                        form::STACK,
                        [text(function)].into_iter().chain(numbers).collect(),
                    ),
                    false => {
                        let texts = [text(variable), text(function)];
                        (form::VARIABLE, texts.into_iter().chain(numbers).collect())
                    }
                }
            }
            ObjectName::Static { path } => (form::STATIC, vec![text(path)]),
            ObjectName::Region {
                site_key,
                thread,
                occurrence,
            } => {
                let fields = [*site_key, thread.0.into(), (*occurrence).into()];
                (form::REGION, fields.map(Value::Number).to_vec())
            }
        })?;
    }
    for name in &trace.types {
        sink((form::NAMED_TYPE, vec![text(name)]))?;
    }
    for lock in &trace.locks {
        let fields = vec![
            number(lock.location.object.0.into()),
            number(lock.location.offset),
            number(lock.type_index.0.into()),
            text(&lock.path),
        ];
        sink((form::NAMED_LOCK, fields))?;
    }
    for site in &trace.sites {
        let fields = vec![
            number(site.key),
            text(&site.file),
            text(&site.function),
            number(site.line.into()),
            number(site.column.into()),
        ];
        sink((form::NAMED_SITE, fields))?;
    }
    for event in &trace.events {
        sink(event_record(event))?;
    }
    sink((form::END, Vec::new()))
}

/// Thread first, site last, and the action's own fields between them.
fn event_record<'a>(event: &Event) -> Record<'a> {
    let (form, own) = action_record(&event.action);
    let mut fields = Vec::with_capacity(own.len() + 2);
    fields.push(Value::Number(event.thread.0.into()));
    fields.extend(own.into_iter().map(Value::Number));
    fields.push(Value::Number(optional(
        event.site.map(|SiteIndex(site)| site),
    )));
    (form, fields)
}

fn action_record(action: &Action) -> (usize, Vec<u64>) {
    let place = |location: &Location| [u64::from(location.object.0), location.offset];
    match action {
        Action::Access {
            access,
            location,
            size,
            value,
            order,
        } => {
            let [object, offset] = place(location);
            let size = u64::from(*size);
            (
                form::ACCESS,
                vec![*access as u64, object, offset, size, *value, *order as u64],
            )
        }
        Action::Value {
            location,
            size,
            value,
        } => {
            let [object, offset] = place(location);
            (form::VALUE, vec![object, offset, (*size).into(), *value])
        }
        Action::Fence { order } => (form::FENCE, vec![*order as u64]),
        Action::Lock { step, lock, shared } => {
            let [object, offset] = place(lock);
            (
                form::LOCK,
                vec![*step as u64, object, offset, (*shared).into()],
            )
        }
        Action::Send(message) => {
            let forms = [
                form::SEND_START,
                form::SEND_END,
                form::SEND_WAKE,
                form::SEND_ITEM,
            ];
            message_record(message, forms)
        }
        Action::Receive(message) => {
            let forms = [
                form::RECEIVE_START,
                form::RECEIVE_END,
                form::RECEIVE_WAKE,
                form::RECEIVE_ITEM,
            ];
            message_record(message, forms)
        }
        Action::Wait(location) => (form::WAIT, place(location).to_vec()),
        Action::Alloc { object } => (form::ALLOC, vec![object.0.into()]),
        Action::Free { location } => (form::FREE, place(location).to_vec()),
        Action::Enter { receiver } => {
            let object = optional(receiver.map(|location| location.object.0));
            (
                form::ENTER,
                vec![object, receiver.map_or(0, |location| location.offset)],
            )
        }
        Action::Leave { unwound: false } => (form::LEAVE, Vec::new()),
        Action::Leave { unwound: true } => (form::UNWIND, Vec::new()),
        Action::Typed {
            location,
            type_index,
        } => {
            let [object, offset] = place(location);
            (form::TYPED, vec![object, offset, type_index.0.into()])
        }
        Action::Points { location, target } => {
            (form::POINTS, [place(location), place(target)].concat())
        }
        Action::Branch { way } => (form::BRANCH, vec![(*way).into()]),
        Action::Mark(mark) => (form::MARK, vec![*mark as u64]),
    }
}

fn message_record(message: &Message, forms: [usize; 4]) -> (usize, Vec<u64>) {
    let [start, end, wake, item] = forms;
    match *message {
        Message::Start(thread) => (start, vec![thread.0.into()]),
        Message::End(thread) => (end, vec![thread.0.into()]),
        Message::Wake(location) => (wake, vec![location.object.0.into(), location.offset]),
        Message::Item { channel, number } => {
            (item, vec![channel.object.0.into(), channel.offset, number])
        }
    }
}
