//! `[private]` of config.toml: which tasks may reach which non-public addresses.

use std::collections::BTreeMap;

use crate::model::private_grant::PrivateGrantError;
use crate::model::{PrivateGrant, TaskName};
use crate::tasks::{Problem, TomlSource};

use super::task_glob::TaskGlob;

pub(super) const TABLE: &str = "private";

/// `"task-glob" = ["host:port", "CIDR:port"]`, as written.
pub(super) type RawPrivateGrants = BTreeMap<String, Vec<String>>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivateGrants(Vec<(TaskGlob, Vec<PrivateGrant>)>);

impl PrivateGrants {
    pub(super) fn parse(source: &TomlSource, raw: &RawPrivateGrants) -> Result<PrivateGrants, Problem> {
        let entries = |glob: &String, texts: &Vec<String>| {
            let parse = |(index, text): (usize, &String)| {
                text.parse::<PrivateGrant>().map_err(|error| {
                    let place = [TABLE, glob.as_str(), &index.to_string()];
                    source.problem_at_key(&place, error.to_string()).hint(PrivateGrantError::HINT)
                })
            };
            texts.iter().enumerate().map(parse).collect::<Result<Vec<PrivateGrant>, Problem>>()
        };
        let row = |(glob, texts): (&String, &Vec<String>)| {
            let tasks = TaskGlob::new(glob).map_err(|error| {
                let problem = source.problem_at_key(&[TABLE, glob], error.to_string());
                problem.hint("write \"shop-*\" = [\"127.0.0.1:8643\"]")
            })?;
            Ok((tasks, entries(glob, texts)?))
        };
        raw.iter().map(row).collect::<Result<Vec<_>, Problem>>().map(PrivateGrants)
    }

    pub fn granted_to(&self, task: &TaskName) -> Vec<PrivateGrant> {
        let rows = self.0.iter().filter(|(tasks, _)| tasks.matches(task));
        rows.flat_map(|(_, granted)| granted.iter().cloned()).collect()
    }
}
