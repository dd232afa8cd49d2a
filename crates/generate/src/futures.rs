//! Futures that nothing says about: types in private modules are not described, though public methods
//! return them.
//!
//! That one is a future is proposed, and the compiler judges. The operation without a future follows on
//! the one with it, and takes its place if that does not compile.

use crate::invocation::code_on;
use crate::library::Library;
use crate::methods::{Operation, Step};
use crate::model::{Type, is_std};
use crate::recipe::Names;
use crate::results::Class;

/// The same operation with a result that is driven, if that may be possible.
pub(crate) fn proposed(
    library: &Library,
    operation: &Operation,
    first: &Step,
    returned: &Type,
) -> Option<Operation> {
    // Of most types at least some traits are described, and what std has is known.
    let is_std = matches!(returned, Type::Path(path, _) if is_std(path));
    let is_described = is_std || !library.implementations(returned).is_empty();
    // A type with a lifetime may be a guard or a future.
    let is_unclear = matches!(operation.class, Class::Open | Class::Handle);
    let is_known = !is_unclear || is_described;
    if is_known || operation.is_future {
        return None;
    }
    let snippet = code_on(&first.call, "o", &mut Names::default());
    // Only what has a text can be compared, and written into a test.
    let body = format!(
        "{}match drive({}) {{ Some(r) => format!(\"{{r:?}}\"), None => String::from(\"Pending\") }}",
        snippet.statements, snippet.expression
    );
    Some(Operation {
        class: Class::Plain,
        body,
        text: "format!(\"{r:?}\")".to_owned(),
        is_future: true,
        is_shown: true,
        gives: None,
        ..operation.clone()
    })
}

/// Whether the second operation is only there if the first one does not compile.
pub(crate) fn is_instead(first: &Operation, second: &Operation) -> bool {
    let is_same = (&first.name, &first.signature) == (&second.name, &second.signature);
    is_same && first.part == second.part && first.is_future && !second.is_future
}
