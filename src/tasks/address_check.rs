//! Checks the addresses that a folder names against what config.toml grants to the task. What a host name resolves to
//! is checked when a run connects.

use url::Url;

use super::folder::Folder;
use super::problem::Problem;
use super::source::TomlSource;
use super::{ROBOT_FILE, TASK_FILE, TaskFolder, read_toml};
use crate::guard::Guard;
use crate::guard::proxy::{port_of, without_secrets};
use crate::model::address::display_url;
use crate::model::private_grant::{PRIVATE_TABLE, private_line};
use crate::model::{AddressGrants, PrivateGrant, Refusal, Script, Task};

/// An address in a file of the folder.
struct NamedAddress {
    file: &'static str,
    /// As it is written.
    text: String,
    url: Url,
}

/// Every address of the folder that a run may not reach is a problem; the first says what to add to config.toml for all
/// of them.
pub fn check_addresses(folder: &TaskFolder, grants: &AddressGrants) -> Result<(), Problem> {
    let guard = Guard::new(&folder.task, &folder.script, grants);
    let refused = |named: NamedAddress| guard.check_literal(&named.url).err().map(|refusal| (named, refusal));
    let refused: Vec<(NamedAddress, Refusal)> =
        named_addresses(&folder.task, &folder.script).into_iter().filter_map(refused).collect();
    let Some((first, refusal)) = refused.first() else { return Ok(()) };
    let problem = match refusal {
        Refusal::Private { .. } => {
            let message = format!("{} is not a public address", display_url(&first.url));
            let line = private_line(&grants.task, &missing_entries(&refused));
            locate(folder, first, message).hint(format!("to allow it, add `{line}` {PRIVATE_TABLE}"))
        }
        other => locate(folder, first, format!("{} cannot be fetched: {other}", display_url(&first.url))),
    };
    Err(problem)
}

/// The entries of `[private]` that the task would need for the addresses that it names.
pub(super) fn entries_for(task: &Task, script: &Script) -> Vec<String> {
    let guard = Guard::new(task, script, &AddressGrants::default());
    let named = named_addresses(task, script);
    let host_and_port = |it: &NamedAddress| Some(format!("{}:{}", it.url.host()?, port_of(&it.url)));
    // A name may be private, too; a public address is not.
    let is_private = |it: &&NamedAddress| guard.check_literal(&it.url).is_err() || it.url.domain().is_some();
    let mut entries: Vec<String> = named.iter().filter(is_private).filter_map(host_and_port).collect();
    entries.sort();
    entries.dedup();
    entries
}

fn missing_entries(refused: &[(NamedAddress, Refusal)]) -> Vec<String> {
    let entry = |(_, refusal): &(NamedAddress, Refusal)| match refusal {
        Refusal::Private { host, address, port, .. } => Some(PrivateGrant::needed_for(host, *address, *port)),
        _ => None,
    };
    let mut entries: Vec<String> = refused.iter().filter_map(entry).collect();
    entries.sort();
    entries.dedup();
    entries
}

fn named_addresses(task: &Task, script: &Script) -> Vec<NamedAddress> {
    let url = task.url.iter().map(|url| NamedAddress { file: TASK_FILE, text: url.to_string(), url: url.clone() });
    let proxy = task.fetch.proxy.iter().filter_map(|text| {
        Some(NamedAddress { file: TASK_FILE, text: text.clone(), url: without_secrets(text).ok()? })
    });
    let steps = script.addresses().into_iter().filter_map(|text| {
        let plain = text.split_once("${").map_or(text.as_str(), |(before, _)| before);
        // Variables in the path leave the host known; in the host or port they do not.
        let is_known = plain == text || plain.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?']));
        let url = Url::parse(plain).ok().filter(|url| is_known && url.has_host())?;
        Some(NamedAddress { file: ROBOT_FILE, text, url })
    });
    url.chain(proxy).chain(steps).collect()
}

/// The problem, at the place of the address if it is found there as it is written.
fn locate(folder: &TaskFolder, named: &NamedAddress, message: String) -> Problem {
    let path = folder.dir.join(named.file);
    let source: Option<TomlSource> =
        Folder::open(&folder.dir).ok().and_then(|folder| read_toml(&folder, named.file).ok().flatten());
    let host = named.url.host_str().unwrap_or_default();
    let span = |source: &TomlSource| {
        [named.text.as_str(), host].into_iter().find_map(|it| source.text().find(it).map(|at| at..at + it.len()))
    };
    match source.as_ref().and_then(|source| Some((source, span(source)?))) {
        Some((source, span)) => source.problem_at(span, message),
        None => Problem::new(&path, message),
    }
}
