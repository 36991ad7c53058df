//! The texts of a script: variables, selectors, regular expressions.

use serde_json::Value;

use super::super::steps::compile;
use super::super::variables::{self, Part, VariableError};
use super::Check;
use crate::page::Selector;

impl Check<'_> {
    pub(super) fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    /// Are the variables of this text written well, and set by an earlier step?
    pub(super) fn text(&mut self, text: &str) {
        let parts = match variables::parse(text) {
            Ok(parts) => parts,
            Err(error) => return self.problem(error.to_string(), None),
        };
        for part in parts {
            if let Part::Variable(name) = part {
                self.uses(name);
            }
        }
    }

    pub(super) fn uses(&mut self, name: &str) {
        if self.known.contains(name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            return;
        }
        let near = self.known.iter().find(|it| strsim::damerau_levenshtein(it, name) <= 2);
        let hint = match near {
            Some(near) => format!("did you mean `${{{near}}}`?"),
            None => format!("set it first: `set = {{ {name} = \"…\" }}`"),
        };
        self.problem(VariableError::Unknown(name.to_owned()).to_string(), Some(hint));
    }

    pub(super) fn sets(&mut self, name: &str) {
        if !variables::is_name(name) {
            let hint = "use letters, digits, `_` and `-`; `today` is taken".to_owned();
            self.problem(format!("`{name}` cannot be a variable's name"), Some(hint));
        }
        self.known.insert(name.to_owned());
    }

    pub(super) fn css(&mut self, css: &str) {
        self.text(css);
        if !css.contains("${")
            && let Err(error) = Selector::parse(css)
        {
            self.problem(error.to_string(), None);
        }
    }

    /// The names of the expression's groups.
    pub(super) fn regex(&mut self, pattern: &str) -> Vec<String> {
        match compile(pattern) {
            Ok(regex) => regex.capture_names().flatten().map(str::to_owned).collect(),
            Err(why) => {
                self.problem(why, None);
                Vec::new()
            }
        }
    }

    pub(super) fn json(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.json(item)),
            Value::Object(map) => map.values().for_each(|item| self.json(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
