//! What config.toml says about alerts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fill;

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
    pub fn link_to(&self, task: &str) -> Option<String> {
        self.link.as_ref().map(|link| link.replace("${task}", task))
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
            Some(text) if !fill::is_one_secret(text) => {
                Err(("password", "a password does not stand in config.toml".to_owned(), PASSWORD))
            }
            _ => Ok(()),
        }
    }
}

const PASSWORD: &str = "write password = \"${secret:smtp}\" and put it into the file secrets/smtp (mode 0600)";
