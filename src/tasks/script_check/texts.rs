//! Checks the texts of a script: variables, selectors, regular expressions.

use serde_json::Value;

use super::ScriptChecker;
use crate::model::script::pattern;
use crate::model::script::variables::{self, TemplatePart, VariableError};
use crate::page::Selector;

impl ScriptChecker<'_> {
    pub(super) fn check_texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) {
        texts.into_iter().for_each(|text| self.check_text(text));
    }

    /// Checks the syntax of variables, and that an earlier step sets them.
    pub(super) fn check_text(&mut self, text: &str) {
        let parts = match variables::parse(text) {
            Ok(parts) => parts,
            Err(error) => return self.report(error.to_string(), None),
        };
        for part in parts {
            if let TemplatePart::Variable(name) = part {
                self.require_variable(name);
            }
        }
    }

    pub(super) fn require_variable(&mut self, name: &str) {
        if self.known_variables.contains(name) || self.known_prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            return;
        }
        let near = self.known_variables.iter().find(|it| strsim::damerau_levenshtein(it, name) <= 2);
        let hint = match near {
            Some(near) => format!("did you mean `${{{near}}}`?"),
            None => format!("set it first: `set = {{ {name} = \"…\" }}`"),
        };
        self.report(VariableError::Unknown(name.to_owned()).to_string(), Some(hint));
    }

    pub(super) fn define_variable(&mut self, name: &str) {
        if !variables::is_name(name) {
            let hint = "use letters, digits, `_` and `-`; `today` is taken".to_owned();
            self.report(format!("`{name}` cannot be a variable's name"), Some(hint));
        }
        self.known_variables.insert(name.to_owned());
    }

    pub(super) fn check_css(&mut self, css: &str) {
        self.check_text(css);
        if !css.contains("${")
            && let Err(error) = Selector::parse(css)
        {
            self.report(error.to_string(), None);
        }
    }

    /// Checks a regular expression and returns the names of its groups.
    pub(super) fn check_regex(&mut self, pattern: &str) -> Vec<String> {
        match pattern::compile(pattern) {
            Ok(regex) => regex.capture_names().flatten().map(str::to_owned).collect(),
            Err(error) => {
                self.report(error.to_string(), None);
                Vec::new()
            }
        }
    }

    pub(super) fn check_json(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.check_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.check_json(item)),
            Value::Object(map) => map.values().for_each(|item| self.check_json(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
