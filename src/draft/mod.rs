//! PURE: makes the draft of a robot.toml from a copied cURL command or a HAR file.
//!
//! ```text
//! curl:  text → shell_words → curl (requests) ┐
//! har:   text → har (entries) → recording ────┴→ recorded_request (one as a step) → Draft → print
//! ```
//!
//! A draft never contains the value of a secret: `secret` replaces it, and [`Draft`] is only made by
//! `redacted_draft`, which searches everything once more.

mod curl;
mod har;
mod pages;
mod print;
mod recorded_request;
mod recording;
mod secret;
mod series;
mod shell_words;

use url::Url;

use crate::model::script::secret_origins;
use crate::model::{Script, ScriptStep, Task};
use secret::Vault;

pub use curl::{CurlError, MAX_BYTES as MAX_CURL_BYTES, from_curl, from_curl_words};
pub use har::{HarError, MAX_BYTES as MAX_HAR_BYTES};
pub use print::step as step_toml;
pub use recording::from_har;

/// A robot.toml to start with.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Start address of the task, without secrets.
    pub url: Option<Url>,
    pub steps: Vec<DraftStep>,
    /// Notes for the person about the whole draft.
    pub notes: Vec<String>,
    pub secrets: Vec<SecretName>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DraftStep {
    pub step: ScriptStep,
    pub comments: Vec<String>,
    /// Only a proposal: written to the file as a comment.
    pub is_proposal: bool,
}

/// A secret that the draft refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretName {
    pub name: String,
    /// What it was in the recording: “the field password”.
    pub description: String,
}

impl DraftStep {
    fn new(step: ScriptStep) -> DraftStep {
        DraftStep { step, comments: Vec::new(), is_proposal: false }
    }

    fn with_comments(mut self, comments: impl IntoIterator<Item = String>) -> DraftStep {
        self.comments.extend(comments);
        self
    }
}

impl Draft {
    /// The script without proposals.
    pub fn script(&self) -> Script {
        Script { steps: self.steps.iter().filter(|it| !it.is_proposal).map(|it| it.step.clone()).collect() }
    }

    /// The commands that store the secrets, each with what it was in the recording. Values are never printed.
    pub fn secret_commands(&self, task: &str) -> Vec<(String, &str)> {
        let found = secret_origins(&self.script(), self.url.as_ref());
        let command = |secret: &SecretName| {
            let origins = found.get(&secret.name).into_iter().flatten();
            let options: String = origins.map(|origin| format!(" --origin {origin}")).collect();
            format!("pieme secret set {} --task {task}{options}", secret.name)
        };
        self.secrets.iter().map(|secret| (command(secret), secret.description.as_str())).collect()
    }

    pub fn robot_toml(&self) -> String {
        print::robot(self)
    }

    pub fn task_toml(&self) -> String {
        print::task(self)
    }

    pub fn task(&self) -> Task {
        toml::from_str(&self.task_toml()).expect("the printer writes a sound task.toml")
    }
}

/// Builds the draft and replaces any secret value left in it.
fn redacted_draft(url: Option<Url>, steps: Vec<DraftStep>, notes: Vec<String>, vault: &Vault) -> Draft {
    let cover = |texts: Vec<String>| texts.iter().map(|text| vault.redact(text)).collect::<Vec<_>>();
    let steps = steps.into_iter().map(|it| DraftStep {
        step: redact_step(it.step, vault),
        comments: cover(it.comments),
        is_proposal: it.is_proposal,
    });
    let url = url.map(|url| host_and_path(&url)).filter(|url| vault.redact(url.as_str()) == url.as_str());
    let steps: Vec<DraftStep> = steps.collect();
    let used = serde_json::to_string(&steps.iter().map(|it| &it.step).collect::<Vec<_>>()).unwrap_or_default();
    let secrets = vault.names().filter(|(name, _)| used.contains(&format!("${{secret:{name}}}")));
    let secrets =
        secrets.map(|(name, what)| SecretName { name: name.to_owned(), description: vault.redact(what) }).collect();
    Draft { url, steps, notes: cover(notes), secrets }
}

/// Works on JSON, so that a new key of a step cannot be forgotten here.
fn redact_step(step: ScriptStep, vault: &Vault) -> ScriptStep {
    let Ok(mut value) = serde_json::to_value(&step) else { return step };
    redact_json(&mut value, vault);
    serde_json::from_value(value).unwrap_or(step)
}

fn redact_json(value: &mut serde_json::Value, vault: &Vault) {
    use serde_json::Value;
    match value {
        Value::String(text) => *text = vault.redact(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_json(item, vault)),
        Value::Object(map) => {
            // Keys too, because a table may be keyed by a secret.
            let entries: Vec<(String, Value)> = std::mem::take(map).into_iter().collect();
            for (key, mut item) in entries {
                redact_json(&mut item, vault);
                map.insert(vault.redact(&key), item);
            }
        }
        Value::Number(number) => {
            let text = number.to_string();
            let without = vault.redact(&text);
            if without != text {
                *value = Value::String(without);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Host and path only, for the url of task.toml.
fn host_and_path(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Fails only for addresses that cannot have a user or password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

#[cfg(test)]
mod tests;
