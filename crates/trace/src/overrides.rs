//! What a user says about atomic sets and units of work, where types do not say it.

use serde::Deserialize;

/// What is not as the types say it. Names are paths without generic arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Overrides {
    /// Functions that are units of work on what they get pointers to.
    #[serde(default)]
    pub units: Vec<String>,
    /// Functions that are no units of work, types that have no atomic set, and fields (as in
    /// `a::Type::field`) that are in none.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Types of which only some fields belong together.
    #[serde(default)]
    pub set: Vec<SetOverride>,
}

/// An atomic set that is not the whole type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SetOverride {
    /// The type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The fields that belong together.
    pub fields: Vec<String>,
}

impl Overrides {
    /// Whether a function is declared to be a unit of work.
    pub fn is_unit(&self, function: &str) -> bool {
        self.units.iter().any(|name| name == function)
    }

    /// Whether a function or type is left out.
    pub fn is_ignored(&self, name: &str) -> bool {
        self.ignore.iter().any(|ignored| ignored == name)
    }

    /// Whether a field of a type is in no set.
    pub fn is_ignored_field(&self, type_name: &str, field: &str) -> bool {
        let is_field = |path: &String| {
            path.rsplit_once("::")
                .is_some_and(|(of, name)| of == type_name && name == field)
        };
        let mut sets = self.set.iter().filter(|set| set.type_name == type_name);
        let is_left_out = |set: &SetOverride| !set.fields.iter().any(|name| name == field);
        self.ignore.iter().any(is_field) || sets.any(is_left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_left_out_by_name_or_because_others_are_named() {
        let overrides = Overrides {
            ignore: vec!["a::Pair::hits".to_owned()],
            set: vec![SetOverride {
                type_name: "a::Range".to_owned(),
                fields: vec!["low".to_owned(), "high".to_owned()],
            }],
            ..Overrides::default()
        };
        let check = |type_name, field| overrides.is_ignored_field(type_name, field);
        assert!(check("a::Pair", "hits") && !check("a::Pair", "x"));
        assert!(check("a::Range", "hits") && !check("a::Range", "low"));
        assert!(!check("b::Range", "hits"));
    }
}
