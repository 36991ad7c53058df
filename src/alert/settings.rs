//! What config.toml says about alerts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::notification::{Notification, NotificationKind};
use super::secret_refs;

/// `[alert]` of config.toml.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Hooks may be at loopback and private addresses.
    pub allow_private: bool,
    /// What webhooks are signed with: `${secret:NAME}`; none: they are not.
    pub signed_with: Option<String>,
    /// Where a person looks; `${task}` stands for the task's name.
    pub link: Option<String>,
    /// Where the dashboard is (`web_url`): a link leads there unless `link` says otherwise.
    #[serde(skip)]
    pub dashboard: Option<Url>,
    /// The only programs that an alert may start, by name: `exec:NAME`.
    pub exec: BTreeMap<String, Vec<String>>,
}

/// `[smtp]` of config.toml: who takes our mail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Smtp {
    /// Empty: there is no mail.
    pub host: String,
    /// Absent: as the encryption asks for.
    pub port: Option<u16>,
    pub encryption: Encryption,
    pub from: String,
    pub username: Option<String>,
    /// `${secret:NAME}`.
    pub password: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// Begins in the clear and must change to TLS.
    #[default]
    Starttls,
    /// TLS from the first byte.
    Tls,
    /// For a server on this machine.
    None,
}

impl Settings {
    /// Where a person looks who has heard of it: whoever is wanted for labelling comes to where it takes one key.
    pub fn link_for(&self, notice: &Notification) -> Option<String> {
        if let Some(link) = &self.link {
            return Some(link.replace("${task}", notice.task.as_str()));
        }
        let mut url = self.dashboard.clone()?;
        let page = if notice.kind == NotificationKind::NeedsLabel { "label" } else { "task" };
        url.path_segments_mut().ok()?.pop_if_empty().extend([page, notice.task.as_str()]);
        Some(url.into())
    }
}

impl Smtp {
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(match self.encryption {
            Encryption::Starttls => 587,
            Encryption::Tls => 465,
            Encryption::None => 25,
        })
    }

    /// What cannot work: the key, what is wrong, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String, &'static str)> {
        if self.host.is_empty() {
            return Ok(());
        }
        if self.from.parse::<lettre::message::Mailbox>().is_err() {
            let why = format!("`{}` is not an address that mail can come from", self.from);
            return Err(("from", why, "write from = \"pieme <pieme@example.org>\""));
        }
        if self.username.is_some() != self.password.is_some() {
            return Err(("username", "a log-in has both a username and a password".to_owned(), PASSWORD));
        }
        if self.username.is_some() && self.encryption == Encryption::None {
            let why = "a password is never sent in the clear".to_owned();
            return Err(("encryption", why, "write encryption = \"starttls\" or \"tls\""));
        }
        match &self.password {
            Some(text) if !secret_refs::is_one_secret(text) => {
                Err(("password", "a password does not stand in config.toml".to_owned(), PASSWORD))
            }
            _ => Ok(()),
        }
    }
}

const PASSWORD: &str = "write password = \"${secret:smtp}\" and put it into the file secrets/smtp (mode 0600)";

#[cfg(test)]
mod tests {
    use chrono::Utc;
    use uuid::Uuid;

    use super::*;
    use crate::model::TaskName;

    #[test]
    fn whoever_is_wanted_for_labelling_is_led_to_where_it_takes_one_key() {
        let task = TaskName::new("hotels").expect("a name");
        let notice = |kind| Notification { kind, ..Notification::test(task.clone(), Uuid::nil(), Utc::now()) };
        let at = |url: &str| Settings { dashboard: Url::parse(url).ok(), ..Settings::default() };
        for (settings, kind, wanted) in [
            (Settings::default(), NotificationKind::NeedsLabel, None),
            (at("https://x.example/"), NotificationKind::NeedsLabel, Some("https://x.example/label/hotels")),
            (at("https://x.example/watch"), NotificationKind::Failed, Some("https://x.example/watch/task/hotels")),
            (
                at("https://x.example/watch/"),
                NotificationKind::NeedsLabel,
                Some("https://x.example/watch/label/hotels"),
            ),
        ] {
            assert_eq!(settings.link_for(&notice(kind)).as_deref(), wanted);
        }
        let own = Settings { link: Some("https://y.example/?t=${task}".to_owned()), ..at("https://x.example/") };
        assert_eq!(own.link_for(&notice(NotificationKind::NeedsLabel)).as_deref(), Some("https://y.example/?t=hotels"));
    }
}
