//! `[ceiling]` of config.toml: what the `[limits]` of a task may ask for at most.

use serde::{Deserialize, Serialize};

use crate::model::task::Limits;
use crate::model::{ByteSize, TimeSpan};
use crate::tasks::{self, Problem, TaskFolder, TomlSource};

pub(super) const TABLE: &str = "ceiling";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ceiling {
    pub memory: ByteSize,
    pub timeout: TimeSpan,
}

impl Default for Ceiling {
    fn default() -> Ceiling {
        Ceiling { memory: ByteSize(2 << 30), timeout: TimeSpan::seconds(2 * 3600) }
    }
}

impl Ceiling {
    pub(super) fn check_settings(&self, source: &TomlSource) -> Result<(), Problem> {
        let zero = [("memory", self.memory.0 == 0), ("timeout", self.timeout == TimeSpan::default())];
        match zero.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((key, _)) => {
                Err(source.problem_at_key(&[TABLE, key], format!("with {key} = 0 no task would ever run")))
            }
            None => Ok(()),
        }
    }

    /// Every limit of the task that is over the ceiling is a problem. A default is not: nobody asked for it, and a run
    /// gets less.
    pub fn check(&self, folder: &TaskFolder) -> Result<(), Problem> {
        let Limits { memory, timeout, .. } = self.lower_defaults(&folder.task.limits);
        let over = [
            ("memory", (memory > self.memory).then(|| (memory.to_string(), self.memory.to_string()))),
            ("timeout", (timeout > self.timeout).then(|| (timeout.to_string(), self.timeout.to_string()))),
        ];
        let problem = |(key, values): (&str, Option<(String, String)>)| {
            let (asked, most) = values?;
            let message = format!("`limits.{key}` is {asked}, and config.toml allows at most {most}");
            let problem = tasks::problem_in_task_file(folder, &["limits", key], message);
            Some(problem.hint(format!(
                "write `{key} = \"{most}\"` or less under [limits], or raise `{key}` under [{TABLE}] in config.toml"
            )))
        };
        Problem::from_all(over.into_iter().filter_map(problem).collect())
    }

    /// The limits; a default that is over the ceiling is lowered to it.
    pub fn lower_defaults(&self, limits: &Limits) -> Limits {
        let (default, lowered) = (Limits::default(), self.lower(limits));
        let memory = if limits.memory == default.memory { lowered.memory } else { limits.memory };
        let timeout = if limits.timeout == default.timeout { lowered.timeout } else { limits.timeout };
        Limits { memory, timeout, ..lowered }
    }

    /// The limits, lowered to the ceiling.
    pub fn lower(&self, limits: &Limits) -> Limits {
        let (memory, timeout) = (limits.memory.min(self.memory), limits.timeout.min(self.timeout));
        Limits { memory, timeout, ..limits.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_ceiling_lets_the_default_limits_through_and_lowers_larger_ones() {
        let (ceiling, limits) = (Ceiling::default(), Limits::default());
        assert_eq!(ceiling.lower(&limits), limits);
        let large = Limits { memory: ByteSize(u64::MAX), timeout: TimeSpan::seconds(1 << 40), ..limits.clone() };
        let lowered = Limits { memory: ceiling.memory, timeout: ceiling.timeout, ..limits };
        assert_eq!(ceiling.lower(&large), lowered);
    }
}
