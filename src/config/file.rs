//! config.toml as written: its keys, their defaults, and what cannot work.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::alert::{Settings, Smtp};
use crate::model::script::secret_names;
use crate::model::{PostgresTimeouts, TimeSpan};
use crate::tasks::{MAX_TOML_BYTES, Problem, TomlSource};

use super::ceiling::Ceiling;
use super::grants::Grants;
use super::listen_address::ListenAddress;
use super::private_grants::{PrivateGrants, RawPrivateGrants};
use super::secret_grants::{RawGrant, SecretGrants};
use super::settings::{FleetSettings, LogSettings, PageSettings, RetentionSettings};

/// Chromium is searched for in the usual places.
pub(super) const AUTO_BROWSER: &str = "auto";
/// A renewal is a write, which may wait for a disk, and there are five renewals in the time of a lease.
const SHORTEST_LEASE: TimeSpan = TimeSpan::seconds(2);
/// A distant or busy server may take this long for its first answer.
const SHORTEST_TIMEOUT: TimeSpan = TimeSpan::seconds(1);

/// config.toml as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawConfig {
    pub(super) tasks: PathBuf,
    pub(super) state: PathBuf,
    /// Absent: control.sock in the state folder.
    pub(super) socket: Option<PathBuf>,
    /// Absent: pieme.db in the state folder.
    pub(super) store: Option<String>,
    pub(super) secrets: PathBuf,
    pub(super) browser: String,
    pub(super) max_running: u32,
    pub(super) per_host: u32,
    pub(super) stop_grace: TimeSpan,
    pub(super) log: LogSettings,
    /// Absent: [`ListenAddress::default`].
    pub(super) web: Option<ListenAddress>,
    pub(super) search: ListenAddress,
    pub(super) web_hosts: Vec<String>,
    /// The public address of the dashboard, for links in alerts.
    pub(super) web_url: Option<Url>,
    pub(super) pages: PageSettings,
    pub(super) keep: RetentionSettings,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) alert: Settings,
    pub(super) smtp: Smtp,
    pub(super) fleet: FleetSettings,
    pub(super) postgres: PostgresTimeouts,
    pub(super) private: RawPrivateGrants,
    pub(super) ceiling: Ceiling,
    /// Grants of secrets to tasks, by the secret's name.
    pub(super) secret: BTreeMap<String, RawGrant>,
    /// The place of `[alert.exec]` in early versions; such files are still read.
    #[serde(skip_serializing)]
    pub(super) exec: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing)]
    pub(super) dashboard: LegacyDashboard,
}

impl RawConfig {
    pub(super) fn parse(source: &TomlSource) -> Result<RawConfig, Problem> {
        let file: RawConfig = source.parse()?;
        check(source, &file)?;
        file.grants(source)?;
        Ok(file)
    }

    /// The tables that can change while the daemon runs.
    pub(super) fn grants(&self, source: &TomlSource) -> Result<Grants, Problem> {
        self.ceiling.check_settings(source)?;
        let private = PrivateGrants::parse(source, &self.private)?;
        let secret = SecretGrants::parse(source, &self.secret, self.own_secrets())?;
        Ok(Grants { secret, private, ceiling: self.ceiling, ..Grants::default() })
    }

    /// The secrets that config.toml uses itself: in the store's address, to sign webhooks, for the mail server.
    fn own_secrets(&self) -> BTreeSet<String> {
        let texts = [&self.store, &self.alert.signed_with, &self.smtp.password];
        texts.into_iter().flatten().flat_map(|text| secret_names(text)).map(str::to_owned).collect()
    }
}

impl Default for RawConfig {
    fn default() -> RawConfig {
        RawConfig {
            tasks: PathBuf::from("tasks"),
            state: PathBuf::from("state"),
            socket: None,
            store: None,
            secrets: PathBuf::from("secrets"),
            browser: AUTO_BROWSER.to_owned(),
            max_running: 4,
            per_host: 1,
            stop_grace: TimeSpan::seconds(30),
            log: LogSettings::default(),
            web: None,
            search: ListenAddress::Off,
            web_hosts: Vec::new(),
            web_url: None,
            pages: PageSettings::default(),
            keep: RetentionSettings::default(),
            metrics: None,
            alert: Settings::default(),
            smtp: Smtp::default(),
            fleet: FleetSettings::default(),
            postgres: PostgresTimeouts::default(),
            private: RawPrivateGrants::new(),
            ceiling: Ceiling::default(),
            secret: BTreeMap::new(),
            exec: BTreeMap::new(),
            dashboard: LegacyDashboard::default(),
        }
    }
}

/// The table `[dashboard]` of early versions; such files are still read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LegacyDashboard {
    pub(super) listen: Option<SocketAddr>,
}

/// Follows symbolic links, unlike the files of a task folder: config.toml is the administrator's.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let problem = |why: String| Problem::new(path, why);
    let meta = fs::metadata(path).map_err(|error| problem(error.to_string()))?;
    if !meta.is_file() {
        return Err(problem("this is not a regular file".to_owned()));
    }
    if meta.len() > MAX_TOML_BYTES {
        return Err(problem("the file is larger than the limit of 64 kB".to_owned()));
    }
    fs::read(path).map_err(|error| problem(error.to_string()))
}

fn check(source: &TomlSource, file: &RawConfig) -> Result<(), Problem> {
    let is_name = |name: &str| name.len() <= 100 && name.chars().all(|c| c.is_ascii_graphic());
    if file.fleet.name.is_empty() || !is_name(&file.fleet.name) {
        return Err(
            source.problem_at_key(&["fleet", "name"], "a daemon's name has 1 to 100 ASCII characters and no spaces")
        );
    }
    if file.fleet.lease < SHORTEST_LEASE {
        let why =
            format!("the lease must be at least {SHORTEST_LEASE}: with less, a slow disk looks like a dead daemon");
        return Err(source.problem_at_key(&["fleet", "lease"], why));
    }
    let PostgresTimeouts { connect_timeout, answer_timeout, read_timeout, statement_timeout, .. } = file.postgres;
    for (key, timeout) in [
        ("connect_timeout", connect_timeout),
        ("answer_timeout", answer_timeout),
        ("read_timeout", read_timeout),
        ("statement_timeout", statement_timeout),
    ] {
        if timeout < SHORTEST_TIMEOUT {
            let why =
                format!("{key} must be at least {SHORTEST_TIMEOUT}: with less, a busy server looks like a dead one");
            return Err(source.problem_at_key(&["postgres", key], why));
        }
    }
    if file.web_url.as_ref().is_some_and(|url| !matches!(url.scheme(), "http" | "https")) {
        return Err(source
            .problem_at_key(&["web_url"], "web_url must start with http:// or https://")
            .hint("write web_url = \"https://pieme.example.org/\", or leave it out"));
    }
    for (key, number) in [("max_running", file.max_running), ("per_host", file.per_host)] {
        if number == 0 {
            return Err(source.problem_at_key(&[key], format!("with {key} = 0 no task would ever run")));
        }
    }
    for (place, commands) in [(&["alert", "exec"][..], &file.alert.exec), (&["exec"], &file.exec)] {
        if let Some((name, _)) = commands.iter().find(|(_, command)| !is_command(command)) {
            let key: Vec<&str> = place.iter().copied().chain([name.as_str()]).collect();
            return Err(source
                .problem_at_key(&key, "a command must start with the absolute path of its program")
                .hint("write a list: name = [\"/usr/bin/program\", \"argument\"]"));
        }
    }
    if file.alert.signed_with.as_ref().is_some_and(|text| !text.starts_with("${secret:")) {
        return Err(source
            .problem_at_key(&["alert", "signed_with"], "a signing key must not be written in config.toml")
            .hint("write signed_with = \"${secret:hooks}\" and put the key into the file secrets/hooks (mode 0600)"));
    }
    file.smtp.check().map_err(|(key, why, hint)| {
        let problem = source.problem_at_key(&["smtp", key], why).hint(hint);
        if key == "password" { problem.without_snippet() } else { problem }
    })
}

fn is_command(command: &[String]) -> bool {
    command.first().is_some_and(|program| Path::new(program).is_absolute())
}
