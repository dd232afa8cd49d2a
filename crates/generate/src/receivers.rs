//! How an object is handed to a method: a shared one as `&self`, `self: &Arc<Self>` or
//! `self: Arc<Self>`, and a thread's own as `&mut self` and by value too.

use crate::holding::{Access, Holding};
use crate::methods::Method;
use crate::model::Type;

/// How the object is handed to a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// Code for it, with `{o}` for the object: a reference to an `Arc` or a `Box`, or the `Box`
    /// itself if the object is gone afterwards.
    Taken(&'static str, Access),
    /// It needs what the object cannot give, and what can be done about it.
    Refused(&'static str, &'static str),
}

/// How an object that threads hold like this is handed to a method.
pub(crate) fn receiver_of(
    receiver: &Type,
    one: &Type,
    method: &Method<'_>,
    holding: Holding,
) -> Receiver {
    let access = match holding.is_own() {
        true => Access::Own,
        false => Access::Shared,
    };
    let taken = |code| Receiver::Taken(code, access);
    let own = method.known.get("Self");
    let is_on_reference = matches!(method.found.subject, Type::Reference { .. });
    match receiver {
        Type::Reference {
            mutable: false,
            target,
        } if **target == *one => taken("(&**{o})"),
        Type::Reference { mutable, target } if is_on_reference && own == Some(&**target) => {
            match mutable {
                true => taken("(&mut &**{o})"),
                false => taken("(&&**{o})"),
            }
        }
        Type::Path(..) if is_pinned(receiver, &Type::reference(one.clone())) => {
            taken("std::pin::Pin::new(&**{o})")
        }
        _ if holding.is_own() => owned(receiver, one),
        _ => shared(receiver, one),
    }
}

/// What only an object that all threads share can give.
fn shared(receiver: &Type, one: &Type) -> Receiver {
    match receiver {
        Type::Reference {
            mutable: false,
            target,
        } if is_arc(target, one) => Receiver::Taken("{o}", Access::Shared),
        other if is_arc(other, one) => Receiver::Taken("{o}.clone()", Access::Shared),
        Type::Reference { mutable: true, .. } => Receiver::Refused(
            "it takes `&mut self`, which a shared object does not give",
            "if it is meant to be shared, put it behind a lock in a type of your own",
        ),
        _ => Receiver::Refused(
            "it takes the object by value, which a shared object does not give",
            "drop and conversions run when the test is over",
        ),
    }
}

/// What only a thread's own object can give.
fn owned(receiver: &Type, one: &Type) -> Receiver {
    let exclusive = Type::Reference {
        mutable: true,
        target: Box::new(one.clone()),
    };
    match receiver {
        other if *other == exclusive => Receiver::Taken("(&mut **{o})", Access::Own),
        other if is_pinned(other, &exclusive) => {
            Receiver::Taken("std::pin::Pin::new(&mut **{o})", Access::Own)
        }
        other if other == one => Receiver::Taken("(*{o})", Access::Drop),
        _ => Receiver::Refused(
            "it takes the object in an `Arc` or the like, and each thread has its own without one",
            "call it in a method of a type of your own, and name that type",
        ),
    }
}

fn is_arc(other: &Type, one: &Type) -> bool {
    other.std_name() == Some("Arc") && other.arguments().first() == Some(one)
}

fn is_pinned(receiver: &Type, reference: &Type) -> bool {
    receiver.std_name() == Some("Pin") && receiver.arguments().first() == Some(reference)
}
