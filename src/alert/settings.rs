//! The alert settings of config.toml: `[alert]` and `[smtp]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::notification::{Notification, NotificationKind};
use super::secret_refs;

/// `[alert]` of config.toml.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether webhooks may be at loopback and private addresses.
    pub allow_private: bool,
    /// The signing key of webhooks, as `${secret:NAME}`; without it they are not signed.
    pub signed_with: Option<String>,
    /// The link in alerts; `${task}` stands for the task's name.
    pub link: Option<String>,
    /// The dashboard's address (`web_url`), used for links if `link` is absent.
    #[serde(skip)]
    pub dashboard: Option<Url>,
    /// The only commands that an alert may run, by name: `exec:NAME`.
    pub exec: BTreeMap<String, Vec<String>>,
}

/// `[smtp]` of config.toml: the mail server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Smtp {
    /// Empty: no mail can be sent.
    pub host: String,
    /// Absent: the default port of the encryption.
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
    /// Starts unencrypted and must switch to TLS.
    #[default]
    Starttls,
    /// TLS from the first byte.
    Tls,
    /// Unencrypted, for a server on this machine.
    None,
}

impl Settings {
    /// The signing key of webhooks, with its secret filled in; every receiver gets one that is derived from it.
    pub fn signing_key(&self, secrets: &BTreeMap<String, String>) -> Option<String> {
        self.signed_with.as_ref().map(|text| secret_refs::fill_value(text, secrets))
    }

    /// The link of a notification: to the labelling page if a label is needed, else to the task's page.
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

    /// The first invalid setting: its key, what is wrong, and a hint.
    pub fn check(&self) -> Result<(), (&'static str, String, &'static str)> {
        if self.host.is_empty() {
            return Ok(());
        }
        if self.from.parse::<lettre::message::Mailbox>().is_err() {
            let why = format!("`{}` is not a mail address", self.from);
            return Err(("from", why, "write from = \"pieme <pieme@example.org>\""));
        }
        if self.username.is_some() != self.password.is_some() {
            return Err(("username", "a login needs both username and password".to_owned(), PASSWORD));
        }
        if self.username.is_some() && self.encryption == Encryption::None {
            let why = "a password must not be sent unencrypted".to_owned();
            return Err(("encryption", why, "write encryption = \"starttls\" or \"tls\""));
        }
        match &self.password {
            Some(text) if !secret_refs::is_one_secret(text) => {
                Err(("password", "a password must not be written in config.toml".to_owned(), PASSWORD))
            }
            _ => Ok(()),
        }
    }
}

const PASSWORD: &str =
    "write password = \"${secret:smtp}\" and put the password into the file secrets/smtp (mode 0600)";

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
