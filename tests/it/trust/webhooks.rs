//! W5: the signature of a webhook is bound to its target.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use crate::alerts::listeners::{Got, Receiver};
use crate::stage::Stage;

const KEY: &str = "the-key-of-the-hooks";

/// Whether a receiver with this key accepts the request, as Standard Webhooks has it.
fn is_accepted(got: &Got, key: &str) -> bool {
    let bytes = key.strip_prefix("whsec_").and_then(|key| STANDARD.decode(key).ok());
    let key = hmac::Key::new(hmac::HMAC_SHA256, bytes.as_deref().unwrap_or(key.as_bytes()));
    let mut signed = format!("{}.{}.", got.header("webhook-id"), got.header("webhook-timestamp")).into_bytes();
    signed.extend_from_slice(&got.body);
    let signature = got.header("webhook-signature").strip_prefix("v1,").unwrap_or_default();
    hmac::verify(&key, &signed, &STANDARD.decode(signature).unwrap_or_default()).is_ok()
}

#[test]
fn what_one_receiver_was_sent_no_other_receiver_accepts() {
    let (one, other) = (Receiver::start(), Receiver::start());
    let stage = Stage::new();
    let config = stage.read("config.toml");
    let alerts = "[alert]\nallow_private = true\nsigned_with = \"${secret:hooks}\"\n";
    stage.write("config.toml", &format!("{config}{alerts}"));
    stage.write("secrets/hooks", KEY);
    stage.make_private("secrets/hooks");
    let [url, other_url] = [&one, &other].map(|it| format!("http://127.0.0.1:{}/hook", it.port));
    let said = stage.pieme(&["alert", "test", "--url", &url, "--url", &other_url]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let (got, other_got) = (one.taken().remove(0), other.taken().remove(0));
    for got in [&got, &other_got] {
        assert!(!is_accepted(got, KEY), "the same key for every target: what one gets, it can send to another");
    }
    let key_of = |url: &str| {
        let said = stage.pieme(&["alert", "key", url]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(!said.stdout.contains(KEY), "{}", said.stdout);
        said.stdout.trim().to_owned()
    };
    let (key, other_key) = (key_of(&url), key_of(&other_url));
    assert!(key.starts_with("whsec_") && key != other_key, "{key} {other_key}");
    assert!(is_accepted(&got, &key) && is_accepted(&other_got, &other_key));
    assert!(!is_accepted(&got, &other_key) && !is_accepted(&other_got, &key));
    assert_eq!(key_of(&url.replace("/hook", "/another")), key, "one key for an origin");
    assert_eq!(stage.pieme(&["alert", "key", &url, "--json"]).json()["key"], key);
    for (url, what) in [("mailto:a@b.test", "only webhooks"), ("slack://a/b/c", "only webhooks"), ("htps://x", "htps")]
    {
        let said = stage.pieme(&["alert", "key", url]);
        assert!(said.code == 2 && said.stderr.contains(what), "{url}: {}", said.stderr);
    }
    stage.write("config.toml", &config);
    let said = stage.pieme(&["alert", "key", &url]);
    assert!(said.code == 78 && said.stderr.contains("signed_with"), "{}", said.stderr);
}
