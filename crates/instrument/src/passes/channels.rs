//! The channel functions that Raddle knows by name, as data.
//!
//! std's and crossbeam's channels reserve a place for a message, then write or read it in a
//! function of its own, to which a token tells the place. Where a thread waits for its partner,
//! the message goes through a packet instead. flume's go through a queue under a lock, or
//! through the hook of a thread that waits. In each case a message is put under some words into
//! some object, and found there under the same words; without words, in order.
//!
//! Limits: of a flume sender that waits for room, the message is announced when it begins to
//! wait; a receiver that comes in between is not seen to receive it. A sender that waits at
//! a channel of std without places is not seen to send: std inlines what would tell.

use raddle_abi::hooks::channel::{RECEIVE, SEND, WORD};
use raddle_abi::hooks::{self, channel};
use raddle_abi::site::Operation;

use super::functions::Functions;
use crate::llvm::{Attribute, Instruction, Location, Metadata, Opcode, TypeKind, Value};
use crate::path::function_path;

/// What a function does with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    /// Path of the function.
    function: &'static str,
    /// When in it.
    when: When,
    /// [`SEND`] or [`RECEIVE`].
    action: u32,
    /// What the message goes through.
    object: Object,
}

/// When a message is put in or taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// At the beginning.
    Entry,
    /// At the end.
    Return,
    /// At calls of a function with this path, unless it belongs to a type whose name holds
    /// this (as queues do that hold no messages).
    Call(&'static str, &'static str),
}

/// What a message goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    /// What a parameter of the function, or of the call, points to.
    Parameter(u32),
    /// The channel, which is the first parameter, at the place that so many words of a field
    /// of the token tell, which is the second.
    Place(&'static str, u32),
    /// What a field of the token, which is the second parameter, points to.
    Packet(&'static str),
}

const fn row(function: &'static str, when: When, action: u32, object: Object) -> Role {
    Role {
        function,
        when,
        action,
        object,
    }
}

use Object::{Packet, Parameter, Place};
use When::{Call, Entry, Return};

const PUSH: When = Call(
    "alloc::collections::vec_deque::VecDeque::push_back",
    "flume::Hook",
);
const POP: When = Call(
    "alloc::collections::vec_deque::VecDeque::pop_front",
    "flume::Hook",
);
const REGISTER: When = Call("crossbeam_channel::waker::Waker::register_with_packet", "?");

#[rustfmt::skip]
const ROLES: &[Role] = &[
    row("std::sync::mpmc::array::Channel::write", Entry, SEND, Place("array", 1)),
    row("std::sync::mpmc::array::Channel::read", Entry, RECEIVE, Place("array", 1)),
    row("std::sync::mpmc::list::Channel::write", Entry, SEND, Place("list", 2)),
    row("std::sync::mpmc::list::Channel::read", Entry, RECEIVE, Place("list", 2)),
    row("std::sync::mpmc::zero::Channel::write", Entry, SEND, Packet("zero")),
    row("std::sync::mpmc::zero::Channel::read", Entry, RECEIVE, Packet("zero")),
    row("std::sync::mpmc::zero::Packet::wait_ready", Return, RECEIVE, Parameter(0)),
    row("crossbeam_channel::flavors::array::Channel::write", Entry, SEND, Place("array", 1)),
    row("crossbeam_channel::flavors::array::Channel::read", Entry, RECEIVE, Place("array", 1)),
    row("crossbeam_channel::flavors::list::Channel::write", Entry, SEND, Place("list", 2)),
    row("crossbeam_channel::flavors::list::Channel::read", Entry, RECEIVE, Place("list", 2)),
    row("crossbeam_channel::flavors::zero::Channel::write", Entry, SEND, Packet("zero")),
    row("crossbeam_channel::flavors::zero::Channel::read", Entry, RECEIVE, Packet("zero")),
    row("crossbeam_channel::flavors::zero::Channel::send::{closure}", REGISTER, SEND, Parameter(2)),
    row("crossbeam_channel::flavors::zero::Packet::wait_ready", Return, RECEIVE, Parameter(0)),
    row("flume::Shared::send", PUSH, SEND, Parameter(0)),
    row("flume::Shared::recv", POP, RECEIVE, Parameter(0)),
    row("flume::Shared::recv_sync::{closure}", POP, RECEIVE, Parameter(0)),
    row("flume::Hook::fire_send", Entry, SEND, Parameter(0)),
    row("flume::Hook::wait_send", Entry, SEND, Parameter(0)),
    row("flume::Hook::wait_deadline_send", Entry, SEND, Parameter(0)),
    row("flume::Hook::fire_recv", Return, RECEIVE, Parameter(0)),
    row("flume::Hook::try_take", Return, RECEIVE, Parameter(0)),
    row("flume::Hook::wait_recv", Return, RECEIVE, Parameter(0)),
    row("flume::Hook::wait_deadline_recv", Return, RECEIVE, Parameter(0)),
    row("flume::Chan::pull_pending", PUSH, SEND, Parameter(0)),
];

/// What the function with this path does with messages.
pub(super) fn roles(path: &str) -> impl Iterator<Item = Role> {
    ROLES
        .iter()
        .copied()
        .filter(move |role| role.function == path)
}

/// Announces the messages of a function.
pub(super) fn insert<'c>(
    functions: &mut Functions<'_, 'c>,
    function: Value<'c>,
    subprogram: Metadata<'c>,
    role: Role,
) {
    let instructions = function.instructions();
    let mut places: Vec<Instruction<'c>> = match role.when {
        Entry => {
            let first = instructions
                .iter()
                .find(|instruction| instruction.opcode() != Opcode::Alloca);
            first.copied().into_iter().collect()
        }
        Return | Call(..) => instructions,
    };
    places.retain(|place| match role.when {
        Entry => true,
        Return => place.opcode() == Opcode::Return,
        Call(path, unless) => place
            .callee()
            .filter(|callee| callee.is_function())
            .filter(|callee| function_path(&callee.name()).is_some_and(|name| name == path))
            .is_some_and(|callee| !belongs_to(functions, callee, unless)),
    });
    for place in places {
        let values = match role.when {
            Call(..) => (0..place.argument_count())
                .map(|index| place.operand(index))
                .collect(),
            _ => function.parameters(),
        };
        let called = match role.when {
            Call(..) => place.callee().unwrap_or(function),
            _ => function,
        };
        let skipped = usize::from(called.parameter_has_attribute(0, Attribute::STRUCT_RETURN));
        let value = |index: u32| values.get(skipped + index as usize).copied();
        let Some((object, token, words)) = find(functions, subprogram, role.object, value) else {
            continue;
        };
        announce(
            functions,
            function,
            subprogram,
            role.action,
            place,
            (object, token, words),
        );
    }
}

/// Whether a function belongs to a type whose name holds `part`.
fn belongs_to<'c>(functions: &Functions<'_, 'c>, function: Value<'c>, part: &str) -> bool {
    let types = &functions.types;
    let owner = function
        .subprogram()
        .and_then(|subprogram| types.owner(subprogram));
    owner.is_some_and(|owner| types.name(owner).contains(part))
}

/// The object, and where the words stand.
type Found<'c> = (Option<Value<'c>>, Option<(Value<'c>, u64)>, u32);

fn find<'c>(
    functions: &Functions<'_, 'c>,
    subprogram: Metadata<'c>,
    object: Object,
    value: impl Fn(u32) -> Option<Value<'c>>,
) -> Option<Found<'c>> {
    let field = |name: &str| {
        let types = &functions.types;
        let token = types.signature(subprogram).get(2).copied().flatten()?;
        let mut fields = types.fields(types.pointee(token)?).into_iter();
        let offset = fields.find(|field| field.name == name)?.offset;
        let token = value(1).filter(|token| token.value_type().kind() == TypeKind::Pointer)?;
        Some((token, offset))
    };
    Some(match object {
        Parameter(index) => (Some(value(index)?), None, 0),
        Place(name, words) => (Some(value(0)?), Some(field(name)?), words),
        Packet(name) => (None, Some(field(name)?), 1),
    })
}

fn announce<'c>(
    functions: &mut Functions<'_, 'c>,
    function: Value<'c>,
    subprogram: Metadata<'c>,
    action: u32,
    place: Instruction<'c>,
    (object, token, words): Found<'c>,
) {
    let context = functions.context();
    let artificial = || Location::artificial(context, subprogram, subprogram.line());
    let location = place.location().unwrap_or_else(artificial);
    let operation = match action {
        channel::SEND => Operation::Send,
        _ => Operation::Receive,
    };
    let Some(site) = functions.site(function, location, operation) else {
        return;
    };
    functions.stand(place, location);
    let nothing = context.pointer().zero();
    let message = token.map_or(nothing, |(token, offset)| {
        let offset = context.constant(64, offset);
        functions.builder().offset(token, offset)
    });
    let event = context.constant(32, (action | (words * WORD)).into());
    let arguments = [event, object.unwrap_or(nothing), message, site];
    functions.hook(&hooks::CHANNEL, &arguments);
}

#[cfg(test)]
mod tests {
    use super::{ROLES, roles};
    use raddle_abi::hooks::channel::{RECEIVE, SEND};

    #[test]
    fn every_kind_of_channel_sends_and_receives() {
        for kind in [
            "mpmc::array",
            "mpmc::list",
            "mpmc::zero",
            "flavors::zero",
            "flume::Hook",
        ] {
            let actions: Vec<_> = ROLES
                .iter()
                .filter(|role| role.function.contains(kind))
                .map(|role| role.action)
                .collect();
            assert!(
                actions.contains(&SEND) && actions.contains(&RECEIVE),
                "{kind}"
            );
        }
        assert_eq!(roles("std::sync::mpmc::list::Channel::len").count(), 0);
    }
}
