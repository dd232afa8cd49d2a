//! The attributes of the crate `raddle`, which is where they are described for users.
//!
//! An attribute becomes an ELF note (`.note.raddle`), which linkers keep and the tool reads. Notes about
//! a type name it. A note about a function stands inside of it, so that its symbol tells the function,
//! be it a method or not. The note is written by a macro of the crate `raddle`, which is empty unless Raddle
//! builds that: a `cfg` here would be one of the user's crate, which does not know it.
//!
//! Items are not parsed but looked through: this crate has no dependencies.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// The function is a unit of work on what it gets pointers to, and on the statics of its module.
#[proc_macro_attribute]
pub fn unit(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return error("`unit` takes nothing");
    }
    match in_function(item, "unit") {
        Ok(item) => item,
        Err(_) => error("`unit` stands before a function"),
    }
}

/// The function is no unit of work; the type has no atomic set; with names behind it, these fields of
/// the type are in none.
#[proc_macro_attribute]
pub fn ignore(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Some(fields) = names(arguments) else {
        return error("`ignore` takes names of fields, separated by commas");
    };
    let kind = match fields.is_empty() {
        true => "ignore",
        false => "ignore-fields",
    };
    if let Some(name) = type_name(&item) {
        return beside(item, kind, &name, &fields);
    }
    match in_function(item, kind) {
        Ok(item) if fields.is_empty() => item,
        _ => error("`ignore` stands before a function, or before a type or some of its fields"),
    }
}

/// Of the type's fields, only these belong together.
#[proc_macro_attribute]
pub fn set(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let fields = names(arguments).filter(|fields| !fields.is_empty());
    match (fields, type_name(&item)) {
        (Some(fields), Some(name)) => beside(item, "set", &name, &fields),
        (None, _) => error("`set` takes names of fields, separated by commas"),
        (_, None) => error("`set` stands before a type"),
    }
}

/// Words that the name of a type follows.
const TYPES: [&str; 3] = ["struct", "enum", "union"];

/// The name of the type that an item declares.
fn type_name(item: &TokenStream) -> Option<String> {
    let mut tokens = item.clone().into_iter();
    while let Some(token) = tokens.next() {
        let TokenTree::Ident(word) = token else {
            continue;
        };
        match word.to_string().as_str() {
            "fn" => return None,
            word if TYPES.contains(&word) => {
                return tokens.next().map(|name| name.to_string());
            }
            _ => {}
        }
    }
    None
}

/// Names that are separated by commas; tuples have numbers.
fn names(arguments: TokenStream) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for (index, token) in arguments.into_iter().enumerate() {
        match token {
            TokenTree::Punct(comma) if index % 2 == 1 && comma.as_char() == ',' => {}
            TokenTree::Ident(name) if index % 2 == 0 => names.push(name.to_string()),
            TokenTree::Literal(number) if index % 2 == 0 => {
                let number: u32 = number.to_string().parse().ok()?;
                names.push(format!("__{number}"));
            }
            _ => return None,
        }
    }
    Some(names)
}

/// The item, and a note about the type that it declares beside it.
fn beside(item: TokenStream, kind: &str, name: &str, fields: &[String]) -> TokenStream {
    let fields = fields.join(" ");
    let text = format!("\"{kind} \", ::core::module_path!(), \"::{name} {fields}\"");
    let note = format!("::raddle::__note! {{ {text} }}");
    let mut all = item;
    all.extend(parsed(&note));
    all
}

/// A function with a note in its body; the item as it was if it is none.
fn in_function(item: TokenStream, kind: &str) -> Result<TokenStream, TokenStream> {
    let mut tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    let is_function = tokens
        .iter()
        .any(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"));
    let body = match tokens.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => body,
        _ => return Err(item),
    };
    if !is_function {
        return Err(item);
    }
    let mut inside = parsed(&format!("::raddle::__note! {{ \"{kind}\" }}"));
    inside.extend(body.stream());
    let mut marked = Group::new(Delimiter::Brace, inside);
    marked.set_span(body.span());
    tokens.push(TokenTree::Group(marked));
    Ok(tokens.into_iter().collect())
}

fn error(text: &str) -> TokenStream {
    parsed(&format!("::core::compile_error!({text:?});"))
}

/// What this crate writes.
fn parsed(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
