//! The client of alerts connects by itself, only to addresses that the guard has checked.

use std::collections::BTreeSet;
use std::time::Duration;

use url::Url;

use super::server::{Server, ServerAction};
use super::{PRIVATE, PUBLIC};
use crate::guard::Guard;
use crate::model::{ConnectError, Refusal};
use crate::robot::connection_error::connect_failure;
use crate::robot::webhook::client;
use crate::robot::{WebhookRequest, send_webhook};

const PATIENCE: Duration = Duration::from_secs(20);

/// A guard for `hook.test`, which resolves to a public address the first time and to a private one later.
fn guard() -> Guard {
    let mut guard = Guard::for_host("hook.test", false, &BTreeSet::new());
    guard.test_overrides.public.insert(PUBLIC);
    guard.test_overrides.resolve_to("hook.test", &[&[PUBLIC], &[PRIVATE]]);
    guard
}

#[tokio::test]
async fn a_name_is_resolved_once_and_no_other_name_is_known() {
    let server = Server::start(|_, _| ServerAction::page("taken")).await;
    let (guard, url) = (guard(), server.url("hook.test", "/hook"));
    let first = client(&guard, &url, PATIENCE).await.expect("a public address");
    for _ in 0..2 {
        assert_eq!(first.post(url.clone()).send().await.expect("an answer").status(), 200);
    }
    let again = client(&guard, &url, PATIENCE).await.expect_err("the name leads to a private address now").to_string();
    assert!(again.contains("not a public address") && again.contains("[alert] of config.toml"), "{again}");

    let other = Url::parse("http://other.test/").expect("an address");
    let error = first.post(other).send().await.expect_err("nobody has looked there");
    let refused =
        matches!(connect_failure(&error), Some(ConnectError::Refused(Refusal::Host(host))) if host == "other.test");
    assert!(refused, "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_the_answer_and_is_not_followed() {
    let server = Server::start_at(PRIVATE, |_, _| ServerAction::go("http://127.0.0.1:1/elsewhere")).await;
    let webhook_request =
        WebhookRequest::post(server.url("127.0.0.1", "/hook"), serde_json::json!({ "text": "a test" }));
    let receipt =
        send_webhook(webhook_request, true, &BTreeSet::new(), PATIENCE).await.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(receipt.status, 302);
    let heard = server.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    let (head, body) = heard[0].split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("POST /hook HTTP/1.1\r\n") && head.contains("user-agent: pieme"), "{head}");
    assert_eq!(body, r#"{"text":"a test"}"#);
}

#[tokio::test]
async fn a_literal_address_passes_the_guard_too() {
    let server = Server::start_at(PRIVATE, |_, _| ServerAction::page("taken")).await;
    for host in ["127.0.0.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"] {
        let webhook_request = WebhookRequest::post(server.url(host, "/hook"), serde_json::Value::Null);
        let why = send_webhook(webhook_request, false, &BTreeSet::new(), PATIENCE)
            .await
            .err()
            .map(|it| it.to_string())
            .unwrap_or_default();
        assert!(why.contains("not a public address"), "{host}: {why}");
    }
    assert_eq!(server.heard(), Vec::<String>::new());
}
