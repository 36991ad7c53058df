//! `for_each`: the same steps for every item of a list, a file or a variable.

use std::collections::BTreeMap;

use super::super::WalkError;
use super::super::request::SecretNames;
use super::super::walker::Walker;
use crate::model::Failure;
use crate::model::script::{ForEachStep, items};

/// Names and values.
type ItemVariables = BTreeMap<String, String>;

pub async fn for_each(walker: &mut Walker<'_>, step: &ForEachStep) -> Result<(), WalkError> {
    let (items, secrets) = items(walker, step)?;
    walker.trace(format!("{} item{}", items.len(), if items.len() == 1 { "" } else { "s" }));
    let start = walker.current.clone();
    let mut failed: Vec<String> = Vec::new();
    for item in &items {
        // Every item starts on the same page.
        walker.current = start.clone();
        for (name, value) in item {
            walker.set_variable_with(name, value.clone(), secrets.clone());
        }
        let value = item.get(&step.name).cloned().unwrap_or_default();
        if let Some(column) = &step.column {
            walker.item_columns.push((column.clone(), value.clone()));
        }
        let done = super::run_all(walker, &step.steps).await;
        if step.column.is_some() {
            walker.item_columns.pop();
        }
        match done {
            Ok(()) => super::extract_by_default(walker, &step.steps)?,
            Err(trouble) if step.go_on && may_go_on(trouble.cause) => {
                walker.trace(format!("“{value}” skipped: {}", trouble.sentence));
                failed.push(value);
            }
            Err(trouble) => return Err(trouble),
        }
    }
    if !failed.is_empty() && failed.len() == items.len() {
        return Err(walker.error(Failure::Robot, "all items failed; the trace (`pieme log TASK`) says why for each"));
    }
    Ok(())
}

/// Whether the next item may succeed: not after a time, memory or login failure.
fn may_go_on(cause: Failure) -> bool {
    matches!(cause, Failure::Network | Failure::Http | Failure::Robot)
}

/// The variables of each item, and the secrets that their values were made of.
fn items(walker: &Walker<'_>, step: &ForEachStep) -> Result<(Vec<ItemVariables>, SecretNames), WalkError> {
    let mut secrets = SecretNames::new();
    if let Some(list) = &step.list {
        let values = list.iter().map(|value| walker.expand_into(value, &mut secrets)).collect::<Result<Vec<_>, _>>()?;
        let items = values.into_iter().map(|value| BTreeMap::from([(step.name.clone(), value)])).collect();
        return Ok((items, secrets));
    }
    if let Some(variable) = &step.variable {
        let text = walker.variables.get(variable).cloned().unwrap_or_default();
        return Ok((items::lines(&step.name, &text), walker.secrets_in_variable(variable)));
    }
    let name = step.file.as_deref().unwrap_or_default();
    let Some(text) = walker.files.get(name) else {
        return Err(walker.error(Failure::Config, format!("there is no file {name} in the task's folder")));
    };
    let items = items::read(&step.name, name, text);
    items.map(|items| (items, secrets)).map_err(|error| walker.error(Failure::Config, error.to_string()))
}
