//! A task: one site, as its task.toml describes it. docs/reference/task.md describes every key.

use std::fmt;

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use url::Url;

use super::column::Column;
use super::unit::{ByteSize, TimeSpan};

/// A task's name: its folder's name, `[a-z0-9][a-z0-9._-]*`, at most 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error(
        "`{0}` cannot be a task's name: use lower-case letters, digits, `.`, `_` and `-`, and start with a letter or \
         digit"
    )]
    Characters(String),
    #[error("a task's name has at most {max} characters; this one has {0}", max = TaskName::MAX_LEN)]
    TooLong(usize),
    #[error("`{0}` cannot be a task's name: the database reserves names that start with `sqlite_`")]
    Reserved(String),
}

impl TaskName {
    pub const MAX_LEN: usize = 64;

    pub fn new(name: &str) -> Result<TaskName, NameError> {
        let mut bytes = name.bytes();
        let starts_well = bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let goes_on_well = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b));
        if !starts_well || !goes_on_well {
            return Err(NameError::Characters(name.chars().take(80).collect()));
        }
        if name.len() > TaskName::MAX_LEN {
            return Err(NameError::TooLong(name.len()));
        }
        if name.starts_with("sqlite_") {
            return Err(NameError::Reserved(name.to_owned()));
        }
        Ok(TaskName(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TaskName {
    type Error = NameError;

    fn try_from(name: String) -> Result<TaskName, NameError> {
        TaskName::new(&name)
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> String {
        name.0
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The content of task.toml. The smallest one is a single line, `url = "https://…"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Start address; may be absent if robot.toml begins with a `get`.
    pub url: Option<Url>,
    pub title: Option<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default = "yes")]
    pub enabled: bool,
    #[serde(default)]
    pub schedule: Schedule,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub fetch: Fetch,
    #[serde(default, rename = "column")]
    pub columns: Vec<Column>,
    #[serde(default)]
    pub data: Data,
    #[serde(default)]
    pub expect: Expect,
    #[serde(default)]
    pub alert: Alert,
}

/// When to run: `cron` or `every`; the default is every six hours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Five or six fields; six begin with the second.
    pub cron: Option<String>,
    pub every: Option<TimeSpan>,
    pub timezone: Tz,
    pub jitter: TimeSpan,
    pub overlap: Overlap,
    /// A run missed while the daemon was down is made up if it is not older than this.
    pub catch_up: TimeSpan,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    #[default]
    Skip,
    Queue,
}

/// Limits of one run. Reaching one is an outcome with a name, never a hang.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    pub timeout: TimeSpan,
    pub memory: ByteSize,
    pub max_pages: u32,
    pub max_requests: u32,
    /// Maximum size of one page, decoded.
    pub max_page_bytes: ByteSize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fetch {
    pub engine: Engine,
    pub robots_txt: bool,
    /// Pause between requests to one host.
    pub delay: TimeSpan,
    pub retries: u32,
    /// Absent: the hosts named in `url` and robot.toml.
    pub allow_hosts: Option<Vec<String>>,
    /// Of version 0.1: `[private]` of config.toml grants private addresses now. It is read for the error that says so.
    #[serde(skip_serializing)]
    pub allow_private: Option<bool>,
    pub user_agent: Option<String>,
    /// Proxy address with scheme http, https, socks5 or socks5h; may contain `${secret:NAME}`.
    pub proxy: Option<String>,
    /// `"auto"`, or the label of an encoding that overrides what the page declares.
    pub charset: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    #[default]
    Http,
    Browser,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Data {
    /// Columns that identify a record from run to run; if empty, the whole record does.
    pub key: Vec<String>,
    pub history: TimeSpan,
}

/// What a good run looks like; learned from past good runs where absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    pub similarity: f64,
    pub min_rows: u64,
    /// Share of the rows of good runs that may be missing; learned from past good runs where absent.
    pub max_row_drop: Option<f64>,
    pub allow_empty: bool,
    /// Publish a confident repair after a redesign without a person.
    pub auto_accept: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Alert {
    pub urls: Vec<String>,
    pub after: u32,
    pub on: Vec<AlertOn>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlertOn {
    Failed,
    NeedsLabel,
    Recovered,
    Overdue,
    Changed,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule {
            cron: None,
            every: None,
            timezone: Tz::UTC,
            jitter: TimeSpan::seconds(0),
            overlap: Overlap::Skip,
            catch_up: TimeSpan::seconds(5 * 3600),
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            timeout: TimeSpan::seconds(600),
            memory: ByteSize(512 << 20),
            max_pages: 50,
            max_requests: 500,
            max_page_bytes: ByteSize(20 << 20),
        }
    }
}

impl Default for Fetch {
    fn default() -> Fetch {
        Fetch {
            engine: Engine::Http,
            robots_txt: true,
            delay: TimeSpan::seconds(1),
            retries: 3,
            allow_hosts: None,
            allow_private: None,
            user_agent: None,
            proxy: None,
            charset: "auto".to_owned(),
        }
    }
}

impl Default for Data {
    fn default() -> Data {
        Data { key: Vec::new(), history: TimeSpan::seconds(90 * 86_400) }
    }
}

impl Default for Expect {
    fn default() -> Expect {
        Expect { similarity: 0.7, min_rows: 1, max_row_drop: None, allow_empty: false, auto_accept: false }
    }
}

impl Default for Alert {
    fn default() -> Alert {
        Alert {
            urls: Vec::new(),
            after: 2,
            on: vec![AlertOn::Failed, AlertOn::NeedsLabel, AlertOn::Recovered, AlertOn::Overdue],
        }
    }
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_escape_the_folder_or_the_database_are_refused() {
        for good in ["halifax-hotels", "a", "0", "a.b_c-d"] {
            assert!(TaskName::new(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/b", "A", "-a", "_a", ".a", "a b", "a\0", "ä", "sqlite_master"] {
            assert!(TaskName::new(bad).is_err(), "{bad:?}");
        }
        assert!(TaskName::new(&"a".repeat(64)).is_ok());
        assert_eq!(TaskName::new(&"a".repeat(65)), Err(NameError::TooLong(65)));
    }
}
