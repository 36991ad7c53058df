//! Delivers one alert to one target, in one attempt. Retries are the caller's job.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::notification::Notification;
use super::settings::{Settings, Smtp};
use super::target::DeliveryTarget;
use super::{exec, mail, secret_refs, webhook};
use crate::robot::{self, Redactor};

/// Of one attempt, from name resolution to the answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// What a delivery needs besides the alert.
pub struct DeliveryContext<'a> {
    pub settings: &'a Settings,
    pub smtp: &'a Smtp,
    /// The values of the secrets that [`secrets_of`] names.
    pub secrets: BTreeMap<String, String>,
}

/// Why a delivery failed. Contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct DeliveryError {
    pub sentence: String,
    /// The pause that the server asked for.
    pub retry_after: Option<Duration>,
}

impl From<String> for DeliveryError {
    fn from(sentence: String) -> DeliveryError {
        DeliveryError { sentence, retry_after: None }
    }
}

/// The secrets that a delivery to this target needs.
pub fn secrets_of(target: &str, settings: &Settings, smtp: &Smtp) -> BTreeSet<String> {
    let mut names = secret_refs::names(target);
    let is_mail = target.starts_with("mailto:") || secret_refs::is_one_secret(target);
    names.extend(settings.signed_with.iter().flat_map(|text| secret_refs::names(text)));
    names.extend(smtp.password.iter().filter(|_| is_mail).flat_map(|text| secret_refs::names(text)));
    names
}

/// Delivers the alert to a target, written as in task.toml. Ends within [`TIMEOUT`].
pub async fn deliver(
    means: &DeliveryContext<'_>,
    target: &str,
    notice: &Notification,
    now: DateTime<Utc>,
) -> Result<(), DeliveryError> {
    let blanks = Redactor::new(&means.secrets);
    let done = tokio::time::timeout(TIMEOUT, dispatch(means, target, notice, now)).await;
    let late = || DeliveryError::from(format!("no answer within {} s", TIMEOUT.as_secs()));
    done.unwrap_or_else(|_| Err(late()))
        .map_err(|it| DeliveryError { sentence: blanks.redact_text(&it.sentence), ..it })
}

async fn dispatch(
    means: &DeliveryContext<'_>,
    text: &str,
    notice: &Notification,
    now: DateTime<Utc>,
) -> Result<(), DeliveryError> {
    let secrets = &means.secrets;
    let wrong = |error: super::TargetError| format!("{}; {}", error.message, error.hint);
    let target = DeliveryTarget::parse(&secret_refs::fill_address(text, secrets)).map_err(wrong)?;
    let of = |text: &Option<String>| text.as_ref().map(|text| secret_refs::fill_value(text, secrets));
    match &target {
        DeliveryTarget::Mail { to } => {
            let password = of(&means.smtp.password);
            return Ok(mail::send(means.smtp, password, to, notice, TIMEOUT).await?);
        }
        DeliveryTarget::Exec { name } => {
            let unknown = || format!("config.toml lists no command `{name}` under [alert.exec]");
            let command = means.settings.exec.get(name).ok_or_else(unknown)?;
            // A little less, so that the command's own limit ends it.
            return Ok(exec::run(command, notice, TIMEOUT - Duration::from_secs(2)).await?);
        }
        DeliveryTarget::Webhook(_)
        | DeliveryTarget::Ntfy { .. }
        | DeliveryTarget::Slack(_)
        | DeliveryTarget::Discord(_)
        | DeliveryTarget::Telegram { .. }
        | DeliveryTarget::Matrix { .. } => {}
    }
    let key = of(&means.settings.signed_with);
    let webhook_request = webhook::webhook_request(&target, notice, key.as_deref(), now);
    let webhook_request = webhook_request.ok_or_else(|| "the target is not a valid address".to_owned())?;
    let receipt = robot::send_webhook(webhook_request, means.settings.allow_private, TIMEOUT).await;
    let receipt = receipt.map_err(|error| error.to_string())?;
    if (200..300).contains(&receipt.status) {
        return Ok(());
    }
    let wait = receipt.retry_after.map(|wait| wait.min(MAX_RETRY_AFTER));
    let hint = if (300..400).contains(&receipt.status) {
        " (redirects are not followed: write the final address)"
    } else {
        ""
    };
    let said = if receipt.body_excerpt.is_empty() { String::new() } else { format!(": {}", receipt.body_excerpt) };
    Err(DeliveryError { sentence: format!("the server answered {}{hint}{said}", receipt.status), retry_after: wait })
}
