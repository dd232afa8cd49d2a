//! Announces what std's owners of one value have made, with its type.
//!
//! A value in a `Box`, `Arc` or `Rc` need not be passed to any function by a pointer of its own
//! type: closures and inlined code reach into it. Where it was made, its type is known.

use raddle_abi::hooks;
use raddle_abi::site::Operation;

use super::functions::Functions;
use super::sites::Typed;
use crate::llvm::{Location, Metadata, Opcode, TypeKind, Value};

/// The functions that make one value on the heap and return what owns it: a pointer.
#[rustfmt::skip]
const MAKERS: &[(&str, &[&str])] = &[
    ("alloc::boxed::Box", &["new", "new_in", "pin", "pin_in"]),
    ("alloc::sync::Arc", &["new", "new_in", "pin", "pin_in", "new_cyclic", "new_cyclic_in"]),
    ("alloc::rc::Rc", &["new", "new_in", "pin", "pin_in", "new_cyclic", "new_cyclic_in"]),
];

/// Whether the function with this path makes an instance.
fn makes(path: &str) -> bool {
    MAKERS.iter().any(|(owner, names)| {
        let name = path
            .strip_prefix(owner)
            .and_then(|rest| rest.strip_prefix("::"));
        name.is_some_and(|name| names.contains(&name))
    })
}

/// Announces the instance that a function returns, if it is one of [`MAKERS`].
pub(super) fn insert<'c>(
    functions: &mut Functions<'_, 'c>,
    function: Value<'c>,
    subprogram: Metadata<'c>,
    path: &str,
) {
    if !makes(path) {
        return;
    }
    let Some(pointee) = functions.returned(subprogram) else {
        return;
    };
    let name = functions.types.name(pointee);
    let location = Location::artificial(functions.context(), subprogram, subprogram.line());
    let typed = Typed {
        operation: Operation::Argument,
        types: &name,
        flags: 0,
    };
    let site = functions.typed_site(function, location, typed);
    for instruction in function.instructions() {
        if instruction.opcode() != Opcode::Return || instruction.operand_count() != 1 {
            continue;
        }
        let made = instruction.operand(0);
        if made.value_type().kind() == TypeKind::Pointer {
            functions.stand(instruction, location);
            functions.hook(&hooks::INSTANCE, &[made, site]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::makes;

    #[test]
    fn only_functions_that_make_a_value_count() {
        assert!(makes("alloc::sync::Arc::new"));
        assert!(makes("alloc::boxed::Box::pin"));
        assert!(!makes("alloc::sync::Arc::clone"));
        assert!(!makes("alloc::sync::ArcInner::new"));
        assert!(!makes("a::Box::new"));
    }
}
