//! The channel functions that Raddle knows by name, as data.
//!
//! std's and crossbeam's channels reserve a place for a message, then write or read it in a
//! function of its own, to which a token tells the place. A message is announced there, with
//! the words of the token that name the place.

use raddle_abi::hooks::{self, channel};
use raddle_abi::site::Operation;

use super::functions::Functions;
use crate::llvm::{Location, Metadata, Opcode, TypeKind, Value};

/// What a function does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    /// [`channel::SEND`] or [`channel::RECEIVE`].
    action: u32,
    /// Field of the token that names the place, and how many words of it.
    token: (&'static str, u32),
}

/// Modules of the kinds of channels, and what of the token they use.
const FLAVORS: &[(&str, (&str, u32))] = &[
    ("std::sync::mpmc::array::Channel", ("array", 1)),
    ("std::sync::mpmc::list::Channel", ("list", 2)),
    ("std::sync::mpmc::zero::Channel", ("zero", 1)),
    ("crossbeam_channel::flavors::array::Channel", ("array", 1)),
    ("crossbeam_channel::flavors::list::Channel", ("list", 2)),
    ("crossbeam_channel::flavors::zero::Channel", ("zero", 1)),
];

/// What the function with this path does with a message, if anything.
pub(super) fn role(path: &str) -> Option<Role> {
    let (owner, method) = path.rsplit_once("::")?;
    let action = match method {
        "write" => channel::SEND,
        "read" => channel::RECEIVE,
        _ => return None,
    };
    let (_, token) = *FLAVORS.iter().find(|(flavor, _)| *flavor == owner)?;
    Some(Role { action, token })
}

/// Announces the message that a function gets a token of.
pub(super) fn insert<'c>(
    functions: &mut Functions<'_, 'c>,
    function: Value<'c>,
    subprogram: Metadata<'c>,
    role: Role,
) {
    let (field, words) = role.token;
    let types = &functions.types;
    // The channel is the first pointer parameter of these methods, the token the second.
    let signature = types.signature(subprogram);
    let token = signature
        .get(2)
        .copied()
        .flatten()
        .and_then(|token| types.pointee(token));
    let offset = token.and_then(|token| {
        let mut fields = types.fields(token).into_iter();
        fields.find(|candidate| candidate.name == field)
    });
    let mut pointers = function
        .parameters()
        .into_iter()
        .enumerate()
        .filter(|(index, value)| {
            let is_result = *index == 0
                && function.parameter_has_attribute(0, crate::llvm::Attribute::STRUCT_RETURN);
            value.value_type().kind() == TypeKind::Pointer && !is_result
        })
        .map(|(_, value)| value);
    let first = function
        .instructions()
        .into_iter()
        .find(|instruction| instruction.opcode() != Opcode::Alloca);
    let (Some(offset), Some(object), Some(token), Some(first)) =
        (offset, pointers.next(), pointers.next(), first)
    else {
        return;
    };
    let location = Location::artificial(functions.context(), subprogram, subprogram.line());
    let operation = match role.action {
        channel::SEND => Operation::Send,
        _ => Operation::Receive,
    };
    let Some(site) = functions.site(function, location, operation) else {
        return;
    };
    functions.stand(first, location);
    let context = functions.context();
    let place = functions
        .builder()
        .offset(token, context.constant(64, offset.offset));
    let event = context.constant(32, (role.action | (words * channel::WORD)).into());
    functions.hook(&hooks::CHANNEL, &[event, object, place, site]);
}

#[cfg(test)]
mod tests {
    use super::{FLAVORS, role};

    #[test]
    fn every_flavor_sends_and_receives() {
        for (flavor, _) in FLAVORS {
            let [send, receive] =
                ["write", "read"].map(|method| role(&format!("{flavor}::{method}")));
            assert_ne!(
                send.expect("a role").action,
                receive.expect("a role").action
            );
            assert_eq!(role(&format!("{flavor}::len")), None);
        }
    }
}
