//! Delivers one alert to one target, in one attempt. Retries are the caller's job.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::error::{AttemptError, DeliveryError};
use super::notification::Notification;
use super::settings::{Settings, Smtp};
use super::target::DeliveryTarget;
use super::{exec, mail, secret_refs, webhook};
use crate::model::GrantedSecret;
use crate::robot::{self, Redactor};

/// Of one attempt, from name resolution to the answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// What a delivery needs besides the alert.
pub struct DeliveryContext<'a> {
    pub settings: &'a Settings,
    pub smtp: &'a Smtp,
    /// The ports on which the daemon itself listens; no webhook reaches them.
    pub daemon_ports: BTreeSet<u16>,
    /// The values of the secrets that [`config_secrets`] names.
    pub secrets: BTreeMap<String, String>,
    /// The secrets that the target names, with the origins that they may be sent to.
    pub granted: BTreeMap<String, GrantedSecret>,
}

/// The secrets of config.toml that a delivery to this target needs.
pub fn config_secrets(target: &str, settings: &Settings, smtp: &Smtp) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
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
    let granted = means.granted.values().map(|secret| &secret.value);
    let blanks = Redactor::new(means.secrets.values().chain(granted));
    let done = tokio::time::timeout(TIMEOUT, dispatch(means, target, notice, now)).await;
    let redacted = |error: AttemptError| DeliveryError {
        sentence: blanks.redact_text(&error.to_string()),
        retry_after: error.retry_after(),
    };
    done.unwrap_or(Err(AttemptError::Timeout(TIMEOUT))).map_err(redacted)
}

async fn dispatch(
    means: &DeliveryContext<'_>,
    text: &str,
    notice: &Notification,
    now: DateTime<Utc>,
) -> Result<(), AttemptError> {
    let secrets = &means.secrets;
    let target = DeliveryTarget::parse(&secret_refs::fill_address(text, &means.granted))?;
    check_local(means, text, &target)?;
    let of = |text: &Option<String>| text.as_ref().map(|text| secret_refs::fill_value(text, secrets));
    match &target {
        DeliveryTarget::Mail { to } => {
            let password = of(&means.smtp.password);
            return mail::send(means.smtp, password, to, notice, TIMEOUT).await;
        }
        DeliveryTarget::Exec { name } => {
            let unknown = || AttemptError::UnknownCommand(name.clone());
            let command = means.settings.exec.get(name).ok_or_else(unknown)?;
            // A little less, so that the command's own limit ends it.
            return exec::run(command, notice, TIMEOUT - Duration::from_secs(2)).await;
        }
        DeliveryTarget::Webhook(_)
        | DeliveryTarget::Ntfy { .. }
        | DeliveryTarget::Slack(_)
        | DeliveryTarget::Discord(_)
        | DeliveryTarget::Telegram { .. }
        | DeliveryTarget::Matrix { .. } => {}
    }
    let key = means.settings.signing_key(secrets);
    let webhook_request = webhook::webhook_request(&target, notice, key.as_deref(), now);
    let webhook_request = webhook_request.ok_or(AttemptError::NoAddress)?;
    if let Some((name, secret)) = means.granted.iter().find(|(_, secret)| !secret.may_go_to(&webhook_request.url)) {
        let there = webhook_request.url.origin().ascii_serialization();
        return Err(AttemptError::SecretElsewhere { name: name.clone(), there, granted: secret.origins_text() });
    }
    let receipt =
        robot::send_webhook(webhook_request, means.settings.allow_private, &means.daemon_ports, TIMEOUT).await;
    let receipt = receipt.map_err(AttemptError::transport)?;
    if (200..300).contains(&receipt.status) {
        return Ok(());
    }
    let retry_after = receipt.retry_after.map(|wait| wait.min(MAX_RETRY_AFTER));
    Err(AttemptError::Answer { status: receipt.status, body: receipt.body_excerpt, retry_after })
}

/// A mail address and the name of a command have no origin: a secret is never a part of one, since whoever gets the
/// mail could read it there. It may be the whole target, which is then its owner's.
fn check_local(means: &DeliveryContext<'_>, text: &str, target: &DeliveryTarget) -> Result<(), AttemptError> {
    let is_local = matches!(target, DeliveryTarget::Mail { .. } | DeliveryTarget::Exec { .. });
    if is_local && !means.granted.is_empty() && !secret_refs::is_one_secret(text) {
        return Err(AttemptError::SecretInName);
    }
    Ok(())
}
