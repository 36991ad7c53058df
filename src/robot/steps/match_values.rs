//! `match` and `substitute`: set variables from the page, a header, the URL or another variable.

use regex::{Captures, Regex};
use serde_json::Value;

use super::super::WalkError;
use super::super::loaded_page::LoadedPage;
use super::super::request::SecretNames;
use super::super::walker::Walker;
use crate::model::Failure;
use crate::model::script::{MatchStep, SubstituteStep, pattern};

/// How many matches `all` may find; more end the run with cause `limit`.
const MAX_MATCHES: usize = 10_000;

pub fn run_match(walker: &mut Walker<'_>, step: &MatchStep) -> Result<(), WalkError> {
    let texts = match_sources(walker, step)?;
    let most = if step.all { MAX_MATCHES + 1 } else { 1 };
    let found = match &step.regex {
        Some(pattern) => {
            let regex = regex(walker, pattern)?;
            named_groups(walker, step, &regex, &texts);
            texts.iter().flat_map(|text| regex.captures_iter(text)).take(most).map(|it| group_or_all(&it)).collect()
        }
        None => texts.into_iter().take(most).collect::<Vec<String>>(),
    };
    if found.len() > MAX_MATCHES {
        let sentence =
            format!("`all` found more than {MAX_MATCHES} matches, the limit; use a narrower selector or pattern");
        return Err(walker.error(Failure::Limit, sentence));
    }
    let mut secrets = match_secrets(walker, step);
    let value = match (found.is_empty(), &step.default) {
        (false, _) => found.join("\n"),
        (true, Some(default)) => walker.expand_into(default, &mut secrets)?,
        (true, None) => return Err(walker.error(Failure::Robot, no_match_message(step))),
    };
    match &step.into {
        Some(name) => walker.set_variable_with(name, value, secrets),
        None => walker.trace(format!("matches: {}", found.len())),
    }
    Ok(())
}

pub fn substitute(walker: &mut Walker<'_>, step: &SubstituteStep) -> Result<(), WalkError> {
    let regex = regex(walker, &step.regex)?;
    let value = walker.variables.get(&step.variable).cloned().unwrap_or_default();
    let value = regex.replace_all(&value, step.with.as_str()).into_owned();
    let secrets = walker.secrets_in_variable(&step.variable);
    walker.set_variable_with(step.into.as_ref().unwrap_or(&step.variable), value, secrets);
    Ok(())
}

/// The secrets in the texts to search.
fn match_secrets(walker: &Walker<'_>, step: &MatchStep) -> SecretNames {
    step.variable.as_deref().map(|name| walker.secrets_in_variable(name)).unwrap_or_default()
}

pub fn regex(walker: &Walker<'_>, pattern: &str) -> Result<Regex, WalkError> {
    pattern::compile(pattern).map_err(|error| walker.error(Failure::Config, error.to_string()))
}

/// The texts to search: elements, JSON values, headers, a variable, the URL or the whole page.
fn match_sources(walker: &Walker<'_>, step: &MatchStep) -> Result<Vec<String>, WalkError> {
    if let Some(name) = &step.variable {
        return Ok(walker.variables.get(name).cloned().into_iter().collect());
    }
    let stand = walker.current_page()?;
    if let Some(name) = &step.header {
        return Ok(stand.page.meta.header(name).map(str::to_owned).into_iter().collect());
    }
    if step.url {
        return Ok(vec![stand.page.meta.url.to_string()]);
    }
    if let Some(path) = &step.json {
        return Ok(json_texts(stand, path));
    }
    if let Some(css) = &step.css {
        let selector = walker.selector(css)?;
        let nodes = selector.all(&stand.tree, stand.tree.root()).into_iter();
        return Ok(match &step.attribute {
            Some(name) => nodes.filter_map(|node| stand.tree.attribute(node, name).map(str::to_owned)).collect(),
            None => nodes.map(|node| stand.tree.text(node)).collect(),
        });
    }
    Ok(vec![stand.text.clone()])
}

/// Sets variables from the named groups of the first match.
fn named_groups(walker: &mut Walker<'_>, step: &MatchStep, regex: &Regex, texts: &[String]) {
    let Some(first) = texts.iter().find_map(|text| regex.captures(text)) else { return };
    let named: Vec<(String, String)> = regex
        .capture_names()
        .flatten()
        .filter_map(|name| Some((name.to_owned(), first.name(name)?.as_str().to_owned())))
        .collect();
    let secrets = match_secrets(walker, step);
    for (name, value) in named {
        walker.set_variable_with(&name, value, secrets.clone());
    }
}

fn group_or_all(captures: &Captures<'_>) -> String {
    captures.get(1).or_else(|| captures.get(0)).map_or_else(String::new, |it| it.as_str().to_owned())
}

fn no_match_message(step: &MatchStep) -> String {
    let what = [("css", &step.css), ("json", &step.json), ("header", &step.header), ("regex", &step.regex)];
    let said: Vec<String> = what.iter().filter_map(|(key, it)| Some(format!("{key} `{}`", it.as_ref()?))).collect();
    format!("nothing was found by {}; add a `default` if that may happen", said.join(" and "))
}

fn json_texts(stand: &LoadedPage, path: &str) -> Vec<String> {
    let Ok(document) = serde_json::from_str::<Value>(&stand.text) else { return Vec::new() };
    json_at(&document, path).and_then(json_text).into_iter().collect()
}

/// The value at a path such as `data.items.0.id`.
pub fn json_at<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').filter(|key| !key.is_empty()).try_fold(document, |value, key| match value {
        Value::Object(map) => map.get(key),
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

/// A JSON value as text; `None` for null.
pub fn json_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
