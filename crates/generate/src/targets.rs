//! Methods of what a type dereferences to.

use crate::arguments::Maker;
use crate::holding::{Access, Holding};
use crate::library::Library;
use crate::methods::{Method, Methods, add_received, functions, name};
use crate::model::{Type, is_std, last};

/// Adds the methods of what a type dereferences to, unless its own have their names.
pub(crate) fn add_targets(
    maker: Maker<'_>,
    one: &Type,
    (part, holding): (usize, Holding),
    result: &mut Methods,
) {
    let access = match holding.is_own() {
        true => Access::Own,
        false => Access::Shared,
    };
    let mut one = one.clone();
    for receiver in ["(&***{o})", "(&****{o})"] {
        let Some(target) = target(maker.library, &one) else {
            return;
        };
        let operations = result.operations.iter().map(|own| own.name.clone());
        let refused = result.refused.iter().map(|own| own.name.clone());
        let shadowing: Vec<_> = operations.chain(refused).collect();
        for (found, known) in maker.library.implementations(&target) {
            for function in functions(maker.library, &found) {
                let method = Method {
                    found: &found,
                    function,
                    known: known.clone(),
                    supplied: None,
                };
                let takes = &method.function.inputs[0].1;
                let takes = maker.library.resolve(takes, &method.known);
                let is_shared = takes == Type::reference(target.clone());
                if is_shared && !shadowing.contains(&name(&method)) {
                    add_received(maker, (&target, receiver), (part, access), method, result);
                }
            }
        }
        one = target;
    }
}

/// What a type dereferences to.
fn target(library: &Library, one: &Type) -> Option<Type> {
    let all = library.implementations(one).into_iter();
    let mut deref = all.filter(|(found, _)| {
        let path = found.of_trait.as_ref().map(|of_trait| &of_trait.path);
        path.is_some_and(|path| is_std(path) && last(path) == "Deref")
    });
    let (_, known) = deref.next()?;
    known.get("Self::Target").cloned()
}
