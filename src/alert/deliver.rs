//! One alert to one target, once. Trying again is the caller's affair.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::notice::Notice;
use super::settings::{Settings, Smtp};
use super::target::Target;
use super::{exec, fill, hook, mail};
use crate::robot::{self, Blanks};

/// Of one try, from the name of the host to the answer.
const LIMIT: Duration = Duration::from_secs(30);
/// A server that asks for more patience than this is tried again all the same.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// What delivering needs besides the alert.
pub struct Means<'a> {
    pub settings: &'a Settings,
    pub smtp: &'a Smtp,
    /// Those that [`secrets_of`] names, by name.
    pub secrets: BTreeMap<String, String>,
}

/// Why it did not arrive; no secret stands in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Undelivered {
    pub sentence: String,
    /// How long the other side wants to be left alone.
    pub wait: Option<Duration>,
}

impl From<String> for Undelivered {
    fn from(sentence: String) -> Undelivered {
        Undelivered { sentence, wait: None }
    }
}

/// The secrets that a delivery to this target needs.
pub fn secrets_of(target: &str, settings: &Settings, smtp: &Smtp) -> BTreeSet<String> {
    let mut names = fill::names(target);
    let is_mail = target.starts_with("mailto:") || fill::is_one_secret(target);
    names.extend(settings.signed_with.iter().flat_map(|text| fill::names(text)));
    names.extend(smtp.password.iter().filter(|_| is_mail).flat_map(|text| fill::names(text)));
    names
}

/// Delivers the alert to a target, spelled as in task.toml. Ends within half a minute.
pub async fn deliver(means: &Means<'_>, target: &str, notice: &Notice, now: DateTime<Utc>) -> Result<(), Undelivered> {
    let blanks = Blanks::new(&means.secrets);
    let done = tokio::time::timeout(LIMIT, by_any_way(means, target, notice, now)).await;
    let late = || Undelivered::from(format!("no answer within {} s", LIMIT.as_secs()));
    done.unwrap_or_else(|_| Err(late())).map_err(|it| Undelivered { sentence: blanks.text(&it.sentence), ..it })
}

async fn by_any_way(means: &Means<'_>, text: &str, notice: &Notice, now: DateTime<Utc>) -> Result<(), Undelivered> {
    let secrets = &means.secrets;
    let wrong = |error: super::TargetError| format!("{}; {}", error.message, error.hint);
    let target = Target::parse(&fill::address(text, secrets)).map_err(wrong)?;
    let of = |text: &Option<String>| text.as_ref().map(|text| fill::value(text, secrets));
    match &target {
        Target::Mail { to } => {
            let password = of(&means.smtp.password);
            return Ok(mail::send(means.smtp, password, to, notice, LIMIT).await?);
        }
        Target::Exec { name } => {
            let unknown = || format!("config.toml lists no command `{name}` under [alert.exec]");
            let command = means.settings.exec.get(name).ok_or_else(unknown)?;
            // A little less, so that it is ended by its own limit.
            return Ok(exec::run(command, notice, LIMIT - Duration::from_secs(2)).await?);
        }
        Target::Webhook(_)
        | Target::Ntfy { .. }
        | Target::Slack(_)
        | Target::Discord(_)
        | Target::Telegram { .. }
        | Target::Matrix { .. } => {}
    }
    let key = of(&means.settings.signed_with);
    let parcel = hook::parcel(&target, notice, key.as_deref(), now);
    let parcel = parcel.ok_or_else(|| "no address can be made of it".to_owned())?;
    let receipt = robot::send(parcel, means.settings.allow_private, LIMIT).await?;
    if (200..300).contains(&receipt.status) {
        return Ok(());
    }
    let wait = receipt.retry_after.map(|wait| wait.min(LONGEST_WAIT));
    let hint = if (300..400).contains(&receipt.status) { "; write the address that it leads to" } else { "" };
    let said = if receipt.said.is_empty() { String::new() } else { format!(": {}", receipt.said) };
    Err(Undelivered { sentence: format!("it answered {}{hint}{said}", receipt.status), wait })
}
