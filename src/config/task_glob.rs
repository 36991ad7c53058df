//! A pattern for the names of tasks, in the tables of config.toml that grant something to tasks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::TaskName;

/// Matches whole names: `*` stands for any run of characters, also for none; everything else stands for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskGlob(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` matches no task: write a task's name, with `*` for any characters (\"shop\", \"shop-*\"); names have \
     lower-case letters, digits, `.`, `_` and `-`, at most {max}",
    max = TaskName::MAX_LEN
)]
pub struct TaskGlobError(String);

impl TaskGlob {
    pub fn new(text: &str) -> Result<TaskGlob, TaskGlobError> {
        let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-*".contains(&b);
        let fits = (1..=TaskName::MAX_LEN).contains(&text.len());
        // `*` may stand for a first letter, so that only a literal first character is checked.
        let starts_well = !text.starts_with(['.', '_', '-']);
        if fits && starts_well && text.bytes().all(is_allowed) {
            return Ok(TaskGlob(text.to_owned()));
        }
        Err(TaskGlobError(text.chars().take(80).collect()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn matches(&self, task: &TaskName) -> bool {
        let Some((start, rest)) = self.0.split_once('*') else { return self.0 == task.as_str() };
        let Some(mut left) = task.as_str().strip_prefix(start) else { return false };
        let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
        // Each part at its first place: what is left for the parts behind it is then the longest.
        for part in middle.split('*') {
            let Some(at) = left.find(part) else { return false };
            left = &left[at + part.len()..];
        }
        left.ends_with(end)
    }
}

impl TryFrom<String> for TaskGlob {
    type Error = TaskGlobError;

    fn try_from(text: String) -> Result<TaskGlob, TaskGlobError> {
        TaskGlob::new(&text)
    }
}

impl From<TaskGlob> for String {
    fn from(glob: TaskGlob) -> String {
        glob.0
    }
}

impl fmt::Display for TaskGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_everything_else_for_itself() {
        for (glob, task, expected) in [
            ("shop", "shop", true),
            ("shop", "shop-a", false),
            ("shop", "a-shop", false),
            ("shop-*", "shop-", true),
            ("shop-*", "shop-a.b", true),
            ("shop-*", "shop", false),
            ("shop-*", "a-shop-b", false),
            ("*-shop", "a-shop", true),
            ("*-shop", "a-shop-b", false),
            ("*", "anything", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a**b", "a1b", true),
            ("a.c", "abc", false),
            ("*aab*aab", "aaabaab", true),
            ("*aab*aab", "aaab", false),
        ] {
            let task = TaskName::new(task).expect("a name");
            assert_eq!(TaskGlob::new(glob).expect("a glob").matches(&task), expected, "{glob} {task}");
        }
    }

    #[test]
    fn what_can_match_no_task_is_an_error() {
        for text in ["", "Shop", "shop/*", "shop?", "[a]*", "-shop", "a b", "ä*", &"a".repeat(65)] {
            assert!(TaskGlob::new(text).is_err(), "{text}");
        }
    }
}
