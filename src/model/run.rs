//! A run: one execution of a task. It ends in an outcome with a cause, both closed enums.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::RunStatistics;

/// Identifies a run permanently; sorts by time of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub Uuid);

impl RunId {
    pub fn new() -> RunId {
        RunId(Uuid::now_v7())
    }
}

impl Default for RunId {
    fn default() -> RunId {
        RunId::new()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<RunId, uuid::Error> {
        Uuid::from_str(text).map(RunId)
    }
}

/// Declares a closed enum whose variants have one word each, the same word everywhere.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn from_word(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|it| it.word() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                $name::from_word(&word).ok_or_else(|| serde::de::Error::custom(format!("unknown word `{word}`")))
            }
        }
    };
}

words! {
    /// Why a run was published.
    Publication { Changed = "changed", Unchanged = "unchanged" }
}
words! {
    /// Why a run's rows were quarantined; the old ones stay published.
    Quarantine {
        /// Similarity to the template below 0.7.
        Layout = "layout",
        /// Far fewer or more rows than good runs had.
        Rows = "rows",
        /// Fill rate, type or value shape of a column is off.
        Columns = "columns",
        /// Just learned, and no candidate is clearly ahead.
        Provisional = "provisional",
    }
}
words! {
    /// Why a run had no rows.
    Emptiness {
        /// A page known to mean “nothing found”.
        NoResults = "no-results",
        Unexpected = "unexpected",
    }
}
words! {
    /// Why a run failed.
    Failure {
        Config = "config",
        Network = "network",
        Tls = "tls",
        Http = "http",
        Blocked = "blocked",
        Login = "login",
        /// A step's expectation was not met.
        Robot = "robot",
        RobotsTxt = "robots-txt",
        Timeout = "timeout",
        Memory = "memory",
        Crash = "crash",
        /// One of the task's limits other than time and memory.
        Limit = "limit",
        Internal = "internal",
    }
}
words! {
    /// A task's state, worst first, as the status table sorts them.
    State {
        Crash = "crash",
        Config = "config",
        Login = "login",
        Blocked = "blocked",
        NeedsLabel = "needs-label",
        Quarantined = "quarantined",
        Failed = "failed",
        Overdue = "overdue",
        Empty = "empty",
        Changed = "changed",
        Ok = "ok",
        Running = "running",
        Queued = "queued",
        Paused = "paused",
        Never = "never",
    }
}

/// How a run ended. Matched without `_`, so that the compiler finds every place where a new outcome must be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "cause", rename_all = "lowercase")]
pub enum Outcome {
    Published(Publication),
    Quarantined(Quarantine),
    Empty(Emptiness),
    Failed(Failure),
}

impl Outcome {
    /// Every outcome with every cause.
    pub fn all() -> impl Iterator<Item = Outcome> {
        let published = Publication::ALL.iter().map(|&cause| Outcome::Published(cause));
        published
            .chain(Quarantine::ALL.iter().map(|&cause| Outcome::Quarantined(cause)))
            .chain(Emptiness::ALL.iter().map(|&cause| Outcome::Empty(cause)))
            .chain(Failure::ALL.iter().map(|&cause| Outcome::Failed(cause)))
    }

    pub fn word(self) -> &'static str {
        match self {
            Outcome::Published(_) => "published",
            Outcome::Quarantined(_) => "quarantined",
            Outcome::Empty(_) => "empty",
            Outcome::Failed(_) => "failed",
        }
    }

    pub fn cause(self) -> &'static str {
        match self {
            Outcome::Published(cause) => cause.word(),
            Outcome::Quarantined(cause) => cause.word(),
            Outcome::Empty(cause) => cause.word(),
            Outcome::Failed(cause) => cause.word(),
        }
    }

    pub fn from_words(outcome: &str, cause: &str) -> Option<Outcome> {
        match outcome {
            "published" => Publication::from_word(cause).map(Outcome::Published),
            "quarantined" => Quarantine::from_word(cause).map(Outcome::Quarantined),
            "empty" => Emptiness::from_word(cause).map(Outcome::Empty),
            "failed" => Failure::from_word(cause).map(Outcome::Failed),
            _ => None,
        }
    }

    pub fn is_published(self) -> bool {
        matches!(self, Outcome::Published(_))
    }
}

/// How many records a publication added, changed and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeCounts {
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
}

impl ChangeCounts {
    pub fn total(self) -> u64 {
        self.added + self.changed + self.removed
    }
}

/// `2 added, 14 changed, 1 removed`
impl fmt::Display for ChangeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} added, {} changed, {} removed", self.added, self.changed, self.removed)
    }
}

/// A run's outcome with the numbers and the sentence that explain it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    #[serde(flatten)]
    pub outcome: Outcome,
    /// One clear sentence for a person: what happened and, where it helps, what to do.
    pub sentence: String,
    /// Mean similarity of the pages to the template; absent when no page was compared.
    pub similarity: Option<f64>,
    pub rows: u64,
    pub pages: u32,
    /// The rows come from a template that no person has confirmed yet.
    pub provisional: bool,
    /// The statistics behind the verdict.
    #[serde(rename = "figures", default)]
    pub statistics: RunStatistics,
}

impl Verdict {
    pub fn failed(cause: Failure, sentence: impl Into<String>) -> Verdict {
        Verdict {
            outcome: Outcome::Failed(cause),
            sentence: sentence.into(),
            similarity: None,
            rows: 0,
            pages: 0,
            provisional: false,
            statistics: RunStatistics::default(),
        }
    }

    /// Verdict of a run that ended because its daemon ended; not the task's fault.
    pub fn interrupted() -> Verdict {
        Verdict::failed(Failure::Crash, INTERRUPTED)
    }

    pub fn is_interrupted(&self) -> bool {
        self.outcome == Outcome::Failed(Failure::Crash) && self.sentence.starts_with(INTERRUPTED)
    }
}

/// Beginning of the sentence of an interrupted run. It is stored in databases and must never change.
const INTERRUPTED: &str = "the daemon ended while this run was going";

/// The facts about an earlier run that the judge needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastRun {
    pub run: RunId,
    pub started_at: DateTime<Utc>,
    pub ended_at: DateTime<Utc>,
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// One line of a run's trace: what a step did. Secrets are blanked before it is created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceLine {
    pub at: DateTime<Utc>,
    /// The step of the script, counted from 1; 0 for events outside of the steps.
    pub step: u32,
    pub verb: String,
    /// What happened, on one line: `GET https://… → 200, 51 kB, 34 ms`.
    pub text: String,
}

/// State of a stepwise run (`pieme step`), which pauses after every step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepwiseState {
    /// The verb of each step.
    pub steps: Vec<String>,
    /// Number of steps done.
    pub done: usize,
    /// Result of the last step, as `pieme step --json` prints it; `None` at the beginning.
    pub last: Option<serde_json::Value>,
    /// The session's cookies as JSON, where they are to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookies: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_survives_its_words() {
        for outcome in Outcome::all() {
            assert_eq!(Outcome::from_words(outcome.word(), outcome.cause()), Some(outcome));
            let json = serde_json::to_string(&outcome).expect("an outcome is plain data");
            assert_eq!(serde_json::from_str::<Outcome>(&json).expect("its own JSON"), outcome, "{json}");
        }
        assert_eq!(Outcome::from_words("published", "layout"), None);
    }

    #[test]
    fn states_sort_worst_first_as_the_spec_lists_them() {
        let words: Vec<&str> = State::ALL.iter().map(|state| state.word()).collect();
        assert_eq!(
            words.join(" "),
            "crash config login blocked needs-label quarantined failed overdue empty changed ok running queued paused \
             never"
        );
    }
}
