//! The texts of a script: expands them, remembers which secrets went into a variable, and resolves relative addresses.

use url::Url;

use super::WalkError;
use super::request::SecretNames;
use super::walker::Walker;
use crate::model::Failure;
use crate::model::script::variables::{self, TemplatePart, VariableScope};
use crate::page::links;

impl Walker<'_> {
    /// For a text that is sent nowhere.
    pub fn expand(&self, text: &str) -> Result<String, WalkError> {
        self.expand_into(text, &mut SecretNames::new())
    }

    /// For a text that becomes part of a request: adds the secrets in it to `used`.
    pub fn expand_into(&self, text: &str, used: &mut SecretNames) -> Result<String, WalkError> {
        let failed = |error: variables::VariableError| self.error(Failure::Config, error.to_string());
        for part in variables::parse(text).map_err(failed)? {
            match part {
                TemplatePart::Secret(name) => _ = used.insert(name.to_owned()),
                TemplatePart::Variable(name) => used.extend(self.secrets_in_variable(name)),
                TemplatePart::Text(_) | TemplatePart::Today(_) => {}
            }
        }
        let values = VariableScope { variables: &self.variables, secrets: self.secrets, today: self.today };
        variables::expand(text, &values).map_err(failed)
    }

    /// The secrets that the variable's value was made of.
    pub fn secrets_in_variable(&self, name: &str) -> SecretNames {
        self.variable_secrets.get(name).cloned().unwrap_or_default()
    }

    pub fn set_variable(&mut self, name: &str, value: String) {
        self.set_variable_with(name, value, SecretNames::new());
    }

    /// As [`Walker::set_variable`], for a value that was made of these secrets: it is redacted, also in disguise.
    pub fn set_variable_with(&mut self, name: &str, value: String, secrets: SecretNames) {
        if self.tokens.is_variable(name) {
            self.tokens.add(&value);
        }
        if secrets.is_empty() {
            self.trace(format!("{name} = {value}"));
        } else {
            self.trace(format!("{name} = ***"));
            self.redactor.add_if_long(&value);
        }
        self.variables.insert(name.to_owned(), value);
        if secrets.is_empty() {
            self.variable_secrets.remove(name);
        } else {
            self.variable_secrets.insert(name.to_owned(), secrets);
        }
    }

    /// An address of the script, which may contain secrets. A relative one is resolved against the address that the
    /// script named last, or the task's `url`: where a page is, or says that it is, does not matter.
    pub fn script_url(&mut self, text: &str, used: &mut SecretNames) -> Result<Url, WalkError> {
        let mut secrets = SecretNames::new();
        let text = self.expand_into(text, &mut secrets)?;
        let base = self.script_base.as_ref().map(|(url, _)| url).or(self.task.url.as_ref());
        let url = self.parse_url(&text, base)?;
        if let Some((_, of_base)) = self.script_base.take().filter(|_| Url::parse(&text).is_err()) {
            secrets.extend(of_base);
        }
        used.extend(secrets.iter().cloned());
        self.script_base = Some((url.clone(), secrets));
        Ok(url)
    }

    /// An address of the current page.
    pub fn page_url(&self, text: &str) -> Result<Url, WalkError> {
        let here = self.current.as_ref().map(|stand| links::base(&stand.tree, &stand.page.meta.url));
        self.parse_url(text, here.as_ref().or(self.task.url.as_ref()))
    }

    fn parse_url(&self, text: &str, base: Option<&Url>) -> Result<Url, WalkError> {
        let url = base.map_or_else(|| Url::parse(text), |base| base.join(text));
        url.map_err(|error| self.error(Failure::Config, format!("“{text}” is not a URL: {error}")))
    }
}
