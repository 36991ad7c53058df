//! Builds the HTTP request for an alert target: webhook, ntfy, Slack, Discord, Telegram, Matrix. Pure: nothing is sent
//! here.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;
use serde_json::{Value, json};
use url::Url;

use super::message_text::{subject, text};
use super::notification::{Notification, NotificationKind};
use super::target::{DeliveryTarget, ServerLogin, TELEGRAM};
use crate::model::Origin;
use crate::robot::WebhookRequest;

/// Below Discord's limit of 2,000; Slack and Telegram accept twice as much.
const MAX_CHARS: usize = 1_900;
/// The prefix of base64 keys in Standard Webhooks.
const KEY_PREFIX: &str = "whsec_";

/// The request for a target; `None` for mail and commands.
pub(super) fn webhook_request(
    target: &DeliveryTarget,
    notice: &Notification,
    key: Option<&str>,
    now: DateTime<Utc>,
) -> Option<WebhookRequest> {
    let chat = || {
        let said = format!("{}\n{}", subject(notice), text(notice));
        said.chars().take(MAX_CHARS).collect::<String>()
    };
    Some(match target {
        DeliveryTarget::Mail { .. } | DeliveryTarget::Exec { .. } => return None,
        DeliveryTarget::Webhook(url) => signed_webhook(url, notice, key, now),
        DeliveryTarget::Ntfy { server, topic, login } => {
            let message = json!({
                "topic": topic,
                "title": subject(notice),
                "message": text(notice),
                "priority": priority(notice.kind),
                "click": notice.link,
            });
            let mut webhook_request = WebhookRequest::post(server.clone(), without_nulls(message));
            match login {
                ServerLogin::None => {}
                ServerLogin::Token(token) => webhook_request.header("authorization", format!("Bearer {token}")),
                ServerLogin::Password { user, password } => {
                    webhook_request
                        .header("authorization", format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
                }
            }
            webhook_request
        }
        DeliveryTarget::Slack(url) => WebhookRequest::post(url.clone(), json!({ "text": chat() })),
        // Text from a web page must not mention @everyone.
        DeliveryTarget::Discord(url) => {
            WebhookRequest::post(url.clone(), json!({ "content": chat(), "allowed_mentions": { "parse": [] } }))
        }
        DeliveryTarget::Telegram { token, chat: to } => {
            let url = Url::parse(&format!("{TELEGRAM}bot{token}/sendMessage")).ok()?;
            let message = json!({ "chat_id": to, "text": chat(), "link_preview_options": { "is_disabled": true } });
            WebhookRequest::post(url, message)
        }
        DeliveryTarget::Matrix { server, token, room } => {
            // The transaction id makes a repeated delivery idempotent.
            let room = utf8_percent_encode(room, NON_ALPHANUMERIC);
            let path = format!("_matrix/client/v3/rooms/{room}/send/m.room.message/{}", notice.id);
            let url = server.join(&path).ok()?;
            let mut webhook_request = WebhookRequest::put(url, json!({ "msgtype": "m.text", "body": chat() }));
            webhook_request.header("authorization", format!("Bearer {token}"));
            webhook_request
        }
    })
}

/// The notification as JSON, signed as Standard Webhooks requires: HMAC-SHA256 over `id.timestamp.body`, under the key
/// of the receiver ([`webhook_key`]).
fn signed_webhook(url: &Url, notice: &Notification, key: Option<&str>, now: DateTime<Utc>) -> WebhookRequest {
    let mut json = serde_json::to_value(notice).unwrap_or_default();
    json["subject"] = Value::from(subject(notice));
    json["text"] = Value::from(text(notice));
    let mut webhook_request = WebhookRequest::post(url.clone(), json);
    let (id, timestamp) = (notice.id.to_string(), now.timestamp().to_string());
    if let Some(key) = key.and_then(|key| webhook_key(key, url)) {
        let signature = signature(&key, &id, &timestamp, &webhook_request.body);
        webhook_request.header("webhook-signature", signature);
    }
    webhook_request.header("webhook-id", id);
    webhook_request.header("webhook-timestamp", timestamp);
    webhook_request
}

/// The key of one receiver: HMAC-SHA256 of the origin of its address, under the key of config.toml. What one receiver
/// was sent, no other accepts, and no receiver can sign for another.
pub fn webhook_key(key: &str, url: &Url) -> Option<String> {
    let origin = Origin::of(url)?;
    Some(format!("{KEY_PREFIX}{}", STANDARD.encode(hmac::sign(&hmac_key(key), origin.as_str().as_bytes()))))
}

fn hmac_key(key: &str) -> hmac::Key {
    let bytes = key.strip_prefix(KEY_PREFIX).and_then(|key| STANDARD.decode(key).ok());
    hmac::Key::new(hmac::HMAC_SHA256, bytes.as_deref().unwrap_or(key.as_bytes()))
}

fn signature(key: &str, id: &str, timestamp: &str, body: &[u8]) -> String {
    let mut context = hmac::Context::with_key(&hmac_key(key));
    context.update(format!("{id}.{timestamp}.").as_bytes());
    context.update(body);
    format!("v1,{}", STANDARD.encode(context.sign()))
}

fn priority(kind: NotificationKind) -> u8 {
    match kind {
        NotificationKind::Failed | NotificationKind::NeedsLabel | NotificationKind::Overdue => 4,
        NotificationKind::Recovered | NotificationKind::Test => 3,
        NotificationKind::Changed => 2,
    }
}

fn without_nulls(mut message: Value) -> Value {
    if let Value::Object(map) = &mut message {
        map.retain(|_, value| !value.is_null());
    }
    message
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::model::TaskName;

    fn notice() -> Notification {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
        Notification::test(TaskName::new("hotels").expect("a name"), Uuid::nil(), now)
    }

    fn sent(text: &str) -> (String, Value, WebhookRequest) {
        let target = DeliveryTarget::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let webhook_request = webhook_request(&target, &notice(), Some("key"), notice().at).expect("an HTTP target");
        let body = serde_json::from_slice(&webhook_request.body).expect("JSON");
        (webhook_request.url.to_string(), body, webhook_request)
    }

    #[test]
    fn each_hook_gets_what_it_understands() {
        let (url, body, _) = sent("slack://T0/B0/xyz");
        assert_eq!(url, "https://hooks.slack.com/services/T0/B0/xyz");
        assert!(body["text"].as_str().is_some_and(|it| it.starts_with("hotels: test alert\n")), "{body}");
        let (url, body, _) = sent("discord://12/tok");
        assert_eq!(url, "https://discord.com/api/webhooks/12/tok");
        assert!(body["content"].is_string() && body["allowed_mentions"]["parse"] == json!([]), "{body}");
        let (url, body, _) = sent("telegram://1:tok@telegram?chat=-100");
        assert_eq!((url.as_str(), &body["chat_id"]), ("https://api.telegram.org/bot1:tok/sendMessage", &json!("-100")));
        let (url, body, webhook_request) = sent("ntfy://tok@ntfy.example/hotels");
        assert_eq!((url.as_str(), &body["topic"]), ("https://ntfy.example/", &json!("hotels")));
        assert!(webhook_request.headers.contains(&("authorization".to_owned(), "Bearer tok".to_owned())));
        let (url, _, webhook_request) = sent("matrix://tok@m.example/!r:m.example");
        let room = "https://m.example/_matrix/client/v3/rooms/%21r%3Am%2Eexample/send/m.room.message/";
        assert_eq!(url, format!("{room}{}", Uuid::nil()));
        assert!(webhook_request.put);
    }

    /// The example of the Standard Webhooks specification.
    #[test]
    fn a_signature_is_the_one_that_libraries_check() {
        let signed = signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn every_origin_has_a_key_of_its_own() {
        let key = |url: &str| webhook_key("master", &Url::parse(url).expect("a URL")).expect("a web address");
        assert_eq!(key("https://a.test/x"), key("https://a.test:443/y?z"));
        for other in ["http://a.test/x", "https://a.test:8443/x", "https://b.test/x"] {
            assert_ne!(key("https://a.test/x"), key(other), "{other}");
        }
        // As docs/alerts.md says: base64 of HMAC-SHA256("master", "https://a.test").
        assert_eq!(key("https://a.test/x"), "whsec_o3O0jJSxJUVL9ohgci0FyrxlY7/5iJzV/4RfHAxFNB4=");
    }

    #[test]
    fn a_webhook_is_signed_only_where_there_is_a_key() {
        let target = DeliveryTarget::parse("https://hook.test/x").unwrap_or_else(|error| panic!("{error}"));
        let bare = webhook_request(&target, &notice(), None, notice().at).expect("an HTTP target");
        assert!(bare.headers.iter().all(|(name, _)| name != "webhook-signature"));
        let (_, body, webhook_request) = sent("https://hook.test/x");
        assert!(webhook_request.headers.iter().any(|(name, _)| name == "webhook-signature"));
        assert_eq!((&body["kind"], &body["task"]), (&json!("test"), &json!("hotels")));
    }
}
