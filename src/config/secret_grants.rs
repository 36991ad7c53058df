//! `[secret.NAME]` of config.toml: which tasks may use a secret, and where it may be sent. Without one, no task may.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::task_glob::TaskGlob;
use crate::model::{Origin, OriginError, TaskName};
use crate::tasks::{Problem, TomlSource};

/// One table as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGrant {
    tasks: Vec<String>,
    origins: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretGrant {
    pub tasks: Vec<TaskGlob>,
    pub origins: Vec<Origin>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretGrants {
    grants: BTreeMap<String, SecretGrant>,
    /// The secrets that config.toml uses itself; no task gets them.
    reserved: BTreeSet<String>,
}

/// Why a task may not use a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    #[error("config.toml uses the secret `{0}` itself, so it is never given to a task; use another secret")]
    Reserved(String),
    #[error(
        "config.toml does not grant the secret `{name}` to the task `{task}`; add these lines to it:\n{lines}\n\
         or type: {command}"
    )]
    Missing { name: String, task: String, lines: String, command: String },
}

impl SecretGrants {
    pub(super) fn parse(
        source: &TomlSource,
        tables: &BTreeMap<String, RawGrant>,
        reserved: BTreeSet<String>,
    ) -> Result<SecretGrants, Problem> {
        let mut grants = BTreeMap::new();
        for (name, table) in tables {
            if reserved.contains(name) {
                let why = GrantError::Reserved(name.clone()).to_string();
                return Err(source.problem_at_key(&["secret", name], why).hint(format!("remove [secret.{name}]")));
            }
            let place = |key: &str, index: usize, why: String| {
                source.problem_at_key(&["secret", name, key, &index.to_string()], why)
            };
            let mut grant = SecretGrant::default();
            for (index, text) in table.tasks.iter().enumerate() {
                grant.tasks.push(TaskGlob::new(text).map_err(|error| place("tasks", index, error.to_string()))?);
            }
            for (index, text) in table.origins.iter().enumerate() {
                let origin = Origin::parse(text);
                grant
                    .origins
                    .push(origin.map_err(|error| place("origins", index, error.to_string()).hint(OriginError::HINT))?);
            }
            grants.insert(name.clone(), grant);
        }
        Ok(SecretGrants { grants, reserved })
    }

    pub fn get(&self, name: &str) -> Option<&SecretGrant> {
        self.grants.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.grants.keys()
    }

    pub fn is_reserved(&self, name: &str) -> bool {
        self.reserved.contains(name)
    }

    /// The secrets that config.toml uses itself.
    pub fn reserved(&self) -> impl Iterator<Item = &String> {
        self.reserved.iter()
    }

    /// The origins that this task may send the secret to. `proposed` are those of the addresses that the task names,
    /// for the error.
    pub fn origins_for(&self, name: &str, task: &TaskName, proposed: &[Origin]) -> Result<&[Origin], GrantError> {
        match self.grants.get(name) {
            Some(grant) if grant.tasks.iter().any(|glob| glob.matches(task)) => Ok(&grant.origins),
            _ if self.is_reserved(name) => Err(GrantError::Reserved(name.to_owned())),
            grant => Err(missing(name, task.as_str(), grant, proposed)),
        }
    }
}

/// The error for a secret without a grant, with the table as it would have to be.
pub fn missing(name: &str, task: &str, grant: Option<&SecretGrant>, proposed: &[Origin]) -> GrantError {
    let known = |grant: &SecretGrant| (texts(&grant.tasks), texts(&grant.origins));
    let (mut tasks, mut origins) = grant.map(known).unwrap_or_default();
    tasks.push(task.to_owned());
    let mut wanted = texts(proposed);
    if wanted.is_empty() && origins.is_empty() {
        wanted.push("https://site.example".to_owned());
    }
    origins.extend(wanted.iter().filter(|it| !origins.contains(it)).cloned().collect::<Vec<_>>());
    let options: String = wanted.iter().map(|origin| format!(" --origin {origin}")).collect();
    GrantError::Missing {
        name: name.to_owned(),
        task: task.to_owned(),
        lines: format!("[secret.{}]\ntasks = {}\norigins = {}", key(name), list(&tasks), list(&origins)),
        command: format!("pieme secret set {name} --task {task}{options}"),
    }
}

fn texts(list: &[impl ToString]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

/// As a key of TOML: a name with a dot is quoted.
fn key(name: &str) -> String {
    if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(toml: &str, reserved: &[&str]) -> SecretGrants {
        let source = TomlSource::new("config.toml".into(), toml.as_bytes().to_vec()).expect("text");
        let tables: BTreeMap<String, BTreeMap<String, RawGrant>> = source.parse().expect("tables");
        let reserved = reserved.iter().map(|name| (*name).to_owned()).collect();
        SecretGrants::parse(&source, &tables["secret"], reserved).expect("grants")
    }

    fn asked(grants: &SecretGrants, name: &str, task: &str) -> Result<Vec<String>, String> {
        let task = TaskName::new(task).expect("a name");
        let proposed = [Origin::parse("https://shop.example").expect("an origin")];
        grants.origins_for(name, &task, &proposed).map(texts).map_err(|error| error.to_string())
    }

    #[test]
    fn a_secret_is_granted_by_name_and_task() {
        let grants = grants("[secret.shop]\ntasks = ['shop-*']\norigins = ['https://a.example:443']\n", &["db"]);
        assert_eq!(asked(&grants, "shop", "shop-1"), Ok(vec!["https://a.example".to_owned()]));
        let other = asked(&grants, "shop", "other").expect_err("not granted");
        let lines = "[secret.shop]\ntasks = [\"shop-*\", \"other\"]\n\
                     origins = [\"https://a.example\", \"https://shop.example\"]\n";
        assert!(other.contains(lines), "{other}");
        let new = asked(&grants, "my.key", "other").expect_err("no entry");
        assert!(
            new.contains("[secret.\"my.key\"]\ntasks = [\"other\"]\norigins = [\"https://shop.example\"]\n"),
            "{new}"
        );
        assert!(new.ends_with("pieme secret set my.key --task other --origin https://shop.example"), "{new}");
        let reserved = asked(&grants, "db", "shop-1").expect_err("config.toml uses it");
        assert!(reserved.contains("never given to a task"), "{reserved}");
    }
}
