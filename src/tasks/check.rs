//! Semantic checks of task.toml and robot.toml: what parses but cannot work.

use std::collections::BTreeSet;
use std::path::Path;

use url::Url;

use super::address_check;
use super::problem::Problem;
use super::script_check::{self, ScriptProblem};
use super::source::{TomlSource, did_you_mean};
use crate::alert::{self, Channels};
use crate::due;
use crate::guard;
use crate::learn::Template;
use crate::learn::apply::ColumnTransform;
use crate::model::private_grant::{PRIVATE_TABLE, private_line};
use crate::model::{Script, ScriptStep, Task, TimeSpan};

/// Everything that is wrong with task.toml itself.
pub(super) fn task(source: &TomlSource, task: &Task) -> Vec<Problem> {
    let mut found = Vec::new();
    if let Err(error) = due::check(&task.schedule) {
        found.push(source.problem_at_key(&["schedule", error.key()], error.to_string()).hint(error.hint()));
    }
    if let Some(why) = task.url.as_ref().and_then(|url| web_address(url).err()) {
        found.push(source.problem_at_key(&["url"], why).hint(WEB_HINT));
    }
    limits(source, task, &mut found);
    fetch(source, task, &mut found);
    columns(source, task, &mut found);
    found.extend(alerts(source, task, None));
    shares(source, task, &mut found);
    found
}

/// Checks the alert targets; with `channels`, also that config.toml provides what they need.
pub(super) fn alerts(source: &TomlSource, task: &Task, channels: Option<&Channels>) -> Vec<Problem> {
    let problem = |(index, url): (usize, &String)| {
        let error = alert::check(url, channels).err()?;
        let place = ["alert", "urls", &index.to_string()];
        Some(source.problem_at_key(&place, error.message).hint(error.hint))
    };
    task.alert.urls.iter().enumerate().filter_map(problem).collect()
}

/// Until version 0.1 task.toml itself allowed private addresses.
pub(super) fn moved_grant(source: &TomlSource, task: &Task, script: &Script) -> Option<Problem> {
    let was_allowed = task.fetch.allow_private?;
    let message = "`fetch.allow_private` is not a key of task.toml any more: config.toml grants private addresses";
    let problem = source.problem_at_key(&["fetch", "allow_private"], message);
    let entries = address_check::entries_for(task, script);
    if !was_allowed || entries.is_empty() {
        return Some(problem.hint("remove this line"));
    }
    let name = source.file().parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let line = private_line(&name, &entries);
    Some(problem.hint(format!("remove this line, and add `{line}` {PRIVATE_TABLE}")))
}

/// A run must know where to start: `url`, or a robot.toml that begins with `get`.
pub(super) fn start(
    task_source: &TomlSource,
    task: &Task,
    robot: Option<&TomlSource>,
    script: &Script,
) -> Option<Problem> {
    if let (Some(source), Some(ScriptStep::Get(ask) | ScriptStep::Post(ask))) = (robot, script.steps.first()) {
        return first_get(source, &ask.url, task);
    }
    if robot.is_some() && names_an_address(script) || task.url.is_some() {
        return None;
    }
    let problem = Problem::new(task_source.file(), "there is no `url` to start from");
    Some(problem.hint("write url = \"https://example.org/list\", or begin robot.toml with a `get` step"))
}

/// Whether a script has a first page without a `get` at its beginning.
fn names_an_address(script: &Script) -> bool {
    script.every_step().into_iter().any(|step| match step {
        ScriptStep::Get(_) | ScriptStep::Post(_) => true,
        ScriptStep::Login(login) => login.url.is_some(),
        _ => false,
    })
}

/// Checks the steps as the robot would execute them.
pub(super) fn steps(
    task_source: &TomlSource,
    task: &Task,
    robot: Option<&TomlSource>,
    script: &Script,
) -> Vec<Problem> {
    let problem = |found: ScriptProblem| {
        let path: Vec<&str> = found.path.iter().map(String::as_str).collect();
        let problem = match robot {
            Some(source) if !path.is_empty() => source.problem_at_key(&path, found.message),
            Some(_) | None => task_source.problem_at_key(&["url"], found.message),
        };
        match found.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    };
    script_check::check(task, script).into_iter().map(problem).collect()
}

const WEB_HINT: &str = "write an address that starts with https:// or http://";

fn first_get(source: &TomlSource, url: &str, task: &Task) -> Option<Problem> {
    // Variables are filled in when the step runs, so this cannot be checked yet.
    if url.contains("${") {
        return None;
    }
    let parsed = match &task.url {
        Some(base) => base.join(url),
        None => Url::parse(url),
    };
    let why = parsed.map_err(|error| error.to_string()).and_then(|url| web_address(&url)).err()?;
    Some(source.problem_at_key(&["step", "0", "get"], why).hint(WEB_HINT))
}

fn web_address(url: &Url) -> Result<(), String> {
    match url.scheme() {
        "http" | "https" if url.host().is_some() => Ok(()),
        scheme => Err(format!("pieme fetches http and https addresses, not {scheme}")),
    }
}

fn limits(source: &TomlSource, task: &Task, found: &mut Vec<Problem>) {
    let limits = &task.limits;
    let zero = [
        ("timeout", limits.timeout == TimeSpan::default()),
        ("memory", limits.memory.0 == 0),
        ("max_pages", limits.max_pages == 0),
        ("max_requests", limits.max_requests == 0),
        ("max_page_bytes", limits.max_page_bytes.0 == 0),
    ];
    for (key, _) in zero.into_iter().filter(|(_, is_zero)| *is_zero) {
        let message = format!("a run with {key} = 0 cannot fetch anything");
        found.push(source.problem_at_key(&["limits", key], message).hint("leave the key out for the default"));
    }
}

fn fetch(source: &TomlSource, task: &Task, found: &mut Vec<Problem>) {
    let fetch = &task.fetch;
    if fetch.charset != "auto" && encoding_rs::Encoding::for_label(fetch.charset.as_bytes()).is_none() {
        let message = format!("unknown charset `{}`", fetch.charset);
        let problem = source.problem_at_key(&["fetch", "charset"], message);
        found.push(problem.hint("write \"auto\", \"utf-8\", \"windows-1252\" …"));
    }
    if let Some(proxy) = &fetch.proxy
        && let Err(why) = guard::proxy::without_secrets(proxy)
    {
        let problem = source.problem_at_key(&["fetch", "proxy"], why.to_string());
        found.push(problem.hint("write \"http://proxy.example:3128\", or https, socks5 or socks5h"));
    }
    for (index, host) in fetch.allow_hosts.iter().flatten().enumerate() {
        if url::Host::parse(host).is_err() {
            let message = format!("`{host}` is not a host name");
            let place = ["fetch", "allow_hosts", &index.to_string()];
            found.push(source.problem_at_key(&place, message).hint("write the name alone, such as \"example.org\""));
        }
    }
}

fn columns(source: &TomlSource, task: &Task, found: &mut Vec<Problem>) {
    for (index, column) in task.columns.iter().enumerate() {
        let number = index.to_string();
        let at = |key, message: String| source.problem_at_key(&["column", &number, key], message);
        if column.name.trim().is_empty() {
            found.push(at("name", "a column needs a name".to_owned()));
        }
        let lower = column.name.to_lowercase();
        if task.columns[..index].iter().any(|other| other.name.to_lowercase() == lower) {
            let problem = at("name", format!("there are two columns named `{}`", column.name));
            found
                .push(problem.hint("column names that differ only in upper and lower case are the same in a database"));
        }
    }
    let Some(shape) = shape(source, task, found) else { return };
    for (index, name) in task.data.key.iter().enumerate().filter(|(_, name)| shape.is_consumed(name)) {
        let message = format!("the key column `{name}` does not exist any more: other columns are made from it");
        let place = ["data", "key", &index.to_string()];
        found.push(source.problem_at_key(&place, message).hint("use one of the columns that are made from it"));
    }
}

/// The column transformation; `None` if a column is invalid. Each column is checked without the invalid ones.
fn shape(source: &TomlSource, task: &Task, found: &mut Vec<Problem>) -> Option<ColumnTransform> {
    let (mut columns, mut is_sound) = (task.columns.clone(), true);
    for _ in 0..=columns.len() {
        let error = match ColumnTransform::new(&columns) {
            Ok(shape) => return Some(shape).filter(|_| is_sound),
            Err(error) => error,
        };
        is_sound = false;
        let place = ["column", &error.column.to_string(), error.key];
        found.push(source.problem_at_key(&place, error.message).hint(error.hint));
        let column = columns.get_mut(error.column)?;
        // Other columns may have joined a part of this one.
        let is_cut = column.pattern.take().is_some() | column.split.take().is_some();
        column.join = None;
        columns.iter_mut().filter(|_| is_cut).for_each(|column| column.join = None);
    }
    None
}

/// Columns of task.toml without a source: neither a slot of the template, nor a part of one, nor added by `details` or
/// `for_each`.
pub(super) fn unmatched(task: &Task, script: &Script, template: &Template, details: Option<&Template>) -> Vec<usize> {
    let steps = script.every_step();
    if details.is_none() && steps.iter().any(|step| matches!(step, ScriptStep::Details(_))) {
        // The columns of the detail pages are not known yet.
        return Vec::new();
    }
    let mut added: BTreeSet<String> = details.map(shown).unwrap_or_default().into_iter().collect();
    added.extend(steps.iter().filter_map(|step| match step {
        ScriptStep::ForEach(each) => each.column.clone(),
        _ => None,
    }));
    // A detail page's column that the list has too is called `detail_NAME`, `detail_NAME_2`, …
    let is_added = |name: &str| {
        let of_detail = name.strip_prefix("detail_").is_some_and(|rest| added.iter().any(|it| rest.starts_with(it)));
        added.contains(name) || of_detail
    };
    let Ok(shape) = ColumnTransform::new(&task.columns) else { return Vec::new() };
    let beyond = shape.columns_without_slot(shown(template).len());
    beyond.into_iter().filter(|&column| !is_added(&task.columns[column].name)).collect()
}

/// The problem for one of them.
pub(super) fn unmatched_problem(source: &TomlSource, task: &Task, template: &Template, column: usize) -> Problem {
    let (name, slots) = (&task.columns[column].name, shown(template));
    let near = did_you_mean(name, slots.iter().map(String::as_str)).map(|near| format!("{near} ")).unwrap_or_default();
    let message = format!("the column `{name}` matches nothing in the template");
    let hint = format!(
        "{near}the template's columns are {}; remove this [[column]], or choose the columns again with `pieme label`",
        slots.join(", ")
    );
    source.problem_at_key(&["column", &column.to_string(), "name"], message).hint(hint)
}

/// The visible columns of a template, in order.
fn shown(template: &Template) -> Vec<String> {
    let columns = template.columns().iter().filter(|column| !column.hidden);
    columns.map(|column| column.name.clone()).collect()
}

fn shares(source: &TomlSource, task: &Task, found: &mut Vec<Problem>) {
    let max_row_drop = task.expect.max_row_drop.map(|share| ("max_row_drop", share));
    for (key, share) in std::iter::once(("similarity", task.expect.similarity)).chain(max_row_drop) {
        if !(0.0..=1.0).contains(&share) {
            let message = format!("{key} must be between 0 and 1, not {share}");
            found.push(source.problem_at_key(&["expect", key], message));
        }
    }
}
