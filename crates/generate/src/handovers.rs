//! What threads do with handles of their own beside calling methods: they drop them, and make new
//! ones where little else can be done with them.

use crate::callees::Callee;
use crate::constructors::Constructor;
use crate::holding::Access;
use crate::invocation::body;
use crate::library::Library;
use crate::methods::{Operation, Step};
use crate::model::Type;
use crate::recipe::{Names, Recipe};
use crate::results::{Class, shown};

/// Constructors that are operations too: the others do the same.
const MAKING: usize = 2;

/// The end of a thread's own handle of a part; `is_alone` says that there are no others.
pub fn dropping(library: &Library, one: &Type, part: usize, is_alone: bool) -> Operation {
    let step = Step {
        call: Recipe::Fixed("drop((*{o}))".to_owned()),
        takes: None,
    };
    let short = one.short();
    let word = short.split('<').next().unwrap_or(&short);
    Operation {
        name: match is_alone {
            true => "drop".to_owned(),
            false => format!("drop({word})"),
        },
        signature: format!("drop({short})"),
        part,
        access: Access::Drop,
        class: Class::Unit,
        body: body(library, &step, &Type::unit(), &Class::Unit, false, ""),
        text: shown(library, &Type::unit(), "r"),
        steps: vec![step],
        is_future: false,
        may_panic: false,
        hedge: None,
        counts_calls: false,
        is_shown: false,
        value: None,
        gives: None,
        callee: Some(Callee {
            subject: one.clone(),
            of_trait: Some("core::ops::drop::Drop".to_owned()),
            name: "drop".to_owned(),
        }),
    }
}

/// Ways to a new handle, in the place of the one that a thread has.
pub fn making(library: &Library, one: &Type, constructors: &[Constructor]) -> Vec<Operation> {
    let all = constructors.iter().filter(|found| found.is_called());
    let operation = |constructor: &Constructor| {
        let snippet = constructor.recipe.code(&mut Names::default());
        let text = shown(library, one, "r");
        let label = &constructor.label;
        Operation {
            name: label.split('(').next().unwrap_or(label).to_owned(),
            signature: format!("{label} -> {}", one.short()),
            part: 0,
            access: Access::Make,
            class: Class::Open,
            body: format!(
                "{}let mut r = {}; let text = {text}; *o = Some(Box::new(r)); text",
                snippet.statements, snippet.expression
            ),
            text,
            steps: vec![Step {
                call: constructor.recipe.clone(),
                takes: None,
            }],
            is_future: false,
            may_panic: true,
            hedge: None,
            counts_calls: false,
            is_shown: false,
            value: None,
            gives: None,
            callee: None,
        }
    };
    all.take(MAKING).map(operation).collect()
}
