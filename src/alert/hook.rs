//! An alert as a request to a hook. Pure: nothing is sent here.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;
use serde_json::{Value, json};
use url::Url;

use super::notice::{Kind, Notice};
use super::target::{Login, Target};
use super::words::{subject, text};
use crate::robot::Parcel;

/// Discord refuses more; Slack and Telegram take twice as much.
const MOST_CHARS: usize = 1_900;
/// How a key is marked that stands in base64, as Standard Webhooks writes them.
const KEY_MARK: &str = "whsec_";

/// The request for a target, or none where it is not reached by HTTP.
pub fn parcel(target: &Target, notice: &Notice, key: Option<&str>, now: DateTime<Utc>) -> Option<Parcel> {
    let chat = || {
        let said = format!("{}\n{}", subject(notice), text(notice));
        said.chars().take(MOST_CHARS).collect::<String>()
    };
    Some(match target {
        Target::Mail { .. } | Target::Exec { .. } => return None,
        Target::Webhook(url) => webhook(url, notice, key, now),
        Target::Ntfy { server, topic, login } => {
            let message = json!({
                "topic": topic,
                "title": subject(notice),
                "message": text(notice),
                "priority": priority(notice.kind),
                "click": notice.link,
            });
            let mut parcel = Parcel::post(server.clone(), without_nulls(message));
            match login {
                Login::None => {}
                Login::Token(token) => parcel.header("authorization", format!("Bearer {token}")),
                Login::Password { user, password } => {
                    parcel.header("authorization", format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
                }
            }
            parcel
        }
        Target::Slack(url) => Parcel::post(url.clone(), json!({ "text": chat() })),
        // Nobody's page says @everyone through us.
        Target::Discord(url) => {
            Parcel::post(url.clone(), json!({ "content": chat(), "allowed_mentions": { "parse": [] } }))
        }
        Target::Telegram { token, chat: to } => {
            let url = Url::parse(&format!("https://api.telegram.org/bot{token}/sendMessage")).ok()?;
            let message = json!({ "chat_id": to, "text": chat(), "link_preview_options": { "is_disabled": true } });
            Parcel::post(url, message)
        }
        Target::Matrix { server, token, room } => {
            // The server takes one id once: a second delivery is none.
            let room = utf8_percent_encode(room, NON_ALPHANUMERIC);
            let path = format!("_matrix/client/v3/rooms/{room}/send/m.room.message/{}", notice.id);
            let url = server.join(&path).ok()?;
            let mut parcel = Parcel::put(url, json!({ "msgtype": "m.text", "body": chat() }));
            parcel.header("authorization", format!("Bearer {token}"));
            parcel
        }
    })
}

/// Our JSON, signed as Standard Webhooks says: HMAC-SHA256 over `id.timestamp.body`.
fn webhook(url: &Url, notice: &Notice, key: Option<&str>, now: DateTime<Utc>) -> Parcel {
    let mut json = serde_json::to_value(notice).unwrap_or_default();
    json["subject"] = Value::from(subject(notice));
    json["text"] = Value::from(text(notice));
    let mut parcel = Parcel::post(url.clone(), json);
    let (id, timestamp) = (notice.id.to_string(), now.timestamp().to_string());
    if let Some(key) = key {
        let signature = signature(key, &id, &timestamp, &parcel.body);
        parcel.header("webhook-signature", signature);
    }
    parcel.header("webhook-id", id);
    parcel.header("webhook-timestamp", timestamp);
    parcel
}

fn signature(key: &str, id: &str, timestamp: &str, body: &[u8]) -> String {
    let bytes = key.strip_prefix(KEY_MARK).and_then(|key| STANDARD.decode(key).ok());
    let key = hmac::Key::new(hmac::HMAC_SHA256, bytes.as_deref().unwrap_or(key.as_bytes()));
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{id}.{timestamp}.").as_bytes());
    context.update(body);
    format!("v1,{}", STANDARD.encode(context.sign()))
}

fn priority(kind: Kind) -> u8 {
    match kind {
        Kind::Failed | Kind::NeedsLabel | Kind::Overdue => 4,
        Kind::Recovered | Kind::Test => 3,
        Kind::Changed => 2,
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

    fn notice() -> Notice {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
        Notice::test(TaskName::new("hotels").expect("a name"), Uuid::nil(), now)
    }

    fn sent(text: &str) -> (String, Value, Parcel) {
        let target = Target::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let parcel = parcel(&target, &notice(), Some("key"), notice().at).expect("an HTTP target");
        let body = serde_json::from_slice(&parcel.body).expect("JSON");
        (parcel.url.to_string(), body, parcel)
    }

    #[test]
    fn each_hook_gets_what_it_understands() {
        let (url, body, _) = sent("slack://T0/B0/xyz");
        assert_eq!(url, "https://hooks.slack.com/services/T0/B0/xyz");
        assert!(body["text"].as_str().is_some_and(|it| it.starts_with("hotels: a test\n")), "{body}");
        let (url, body, _) = sent("discord://12/tok");
        assert_eq!(url, "https://discord.com/api/webhooks/12/tok");
        assert!(body["content"].is_string() && body["allowed_mentions"]["parse"] == json!([]), "{body}");
        let (url, body, _) = sent("telegram://1:tok@telegram?chat=-100");
        assert_eq!((url.as_str(), &body["chat_id"]), ("https://api.telegram.org/bot1:tok/sendMessage", &json!("-100")));
        let (url, body, parcel) = sent("ntfy://tok@ntfy.example/hotels");
        assert_eq!((url.as_str(), &body["topic"]), ("https://ntfy.example/", &json!("hotels")));
        assert!(parcel.headers.contains(&("authorization".to_owned(), "Bearer tok".to_owned())));
        let (url, _, parcel) = sent("matrix://tok@m.example/!r:m.example");
        let room = "https://m.example/_matrix/client/v3/rooms/%21r%3Am%2Eexample/send/m.room.message/";
        assert_eq!(url, format!("{room}{}", Uuid::nil()));
        assert!(parcel.put);
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
    fn a_webhook_is_signed_only_where_there_is_a_key() {
        let target = Target::parse("https://hook.test/x").unwrap_or_else(|error| panic!("{error}"));
        let bare = parcel(&target, &notice(), None, notice().at).expect("an HTTP target");
        assert!(bare.headers.iter().all(|(name, _)| name != "webhook-signature"));
        let (_, body, parcel) = sent("https://hook.test/x");
        assert!(parcel.headers.iter().any(|(name, _)| name == "webhook-signature"));
        assert_eq!((&body["kind"], &body["task"]), (&json!("test"), &json!("hotels")));
    }
}
