//! The tables of config.toml, with their defaults.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::TimeSpan;

use super::listen_address::ListenAddress;

/// The daemon's name is made of the host name and the state folder.
const AUTO_NAME: &str = "auto";

/// This daemon's membership in a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FleetSettings {
    /// `auto`: the host name with a hash of the state folder's path.
    pub name: String,
    /// A daemon that has not renewed its lease for this long loses its tasks to the others.
    pub lease: TimeSpan,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human on a terminal, journal under systemd, JSON elsewhere.
    #[default]
    Auto,
    Human,
    Json,
    Journal,
}

/// The dashboard, and the search page alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSettings {
    pub at: ListenAddress,
    /// Where the search page alone is served, without a login.
    pub search: ListenAddress,
    /// Host names that requests may use besides loopback: those of a reverse proxy.
    pub hosts: Vec<String>,
    /// The file with the password hash, written by `pieme web password`.
    pub password: PathBuf,
}

/// How many raw pages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageSettings {
    /// Pages of one run.
    pub a_run: u32,
    /// Unpublished runs whose pages are kept; of the published ones the last is.
    pub bad_runs: u32,
}

/// Retention limits. Garbage collection removes the rest once a day, and `pieme gc` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionSettings {
    /// Runs of a task.
    pub runs: u32,
    pub runs_for: TimeSpan,
    /// Runs of a task whose trace is kept.
    pub traces: u32,
    /// Runs of a task whose quarantined rows are kept.
    pub quarantined: u32,
    /// How long all of this is kept after the task's folder was removed. The published rows stay.
    pub removed_for: TimeSpan,
}

impl Default for FleetSettings {
    fn default() -> FleetSettings {
        FleetSettings { name: AUTO_NAME.to_owned(), lease: TimeSpan::seconds(15) }
    }
}

impl Default for PageSettings {
    fn default() -> PageSettings {
        PageSettings { a_run: 20, bad_runs: 5 }
    }
}

impl Default for RetentionSettings {
    fn default() -> RetentionSettings {
        let days = |days: u64| TimeSpan::seconds(days * 86_400);
        RetentionSettings { runs: 1_000, runs_for: days(400), traces: 20, quarantined: 3, removed_for: days(30) }
    }
}
