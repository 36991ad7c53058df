//! Inputs 12, 13 and 25: DNS rebinding, and redirects to other hosts.

use std::net::IpAddr;

use super::server::{Server, ServerAction};
use super::{PLAIN, PRIVATE, PUBLIC, get, guard, session_with, task};
use crate::model::{Failure, Script};

/// Resolves a name to these addresses, one answer for each connection; returns the result of the last one.
async fn second(answers: &[&[IpAddr]]) -> (Result<usize, String>, Server) {
    let server = Server::start_at(PUBLIC, |_, _| ServerAction::page("ok")).await;
    let task = task(PLAIN);
    let guard = guard(&task, &Script::default());
    guard.test_overrides.resolve_to("public.test", answers);
    let mut session = session_with(&task, guard);
    let mut came = Ok(0);
    for _ in answers {
        came = get(&mut session, &server).await.map(|page| page.body.len()).map_err(|error| {
            assert_eq!(error.cause(), Failure::Network, "{error}");
            error.to_string()
        });
    }
    (came, server)
}

#[tokio::test]
async fn input_13_a_name_that_moves_to_this_machine_is_refused() {
    let (came, server) = second(&[&[PUBLIC], &[PRIVATE]]).await;
    assert!(came.expect_err("refused").contains("not a public address"));
    assert_eq!(server.heard().len(), 1, "the first connection was made, and only that");
    let (came, server) = second(&[&[PUBLIC], &[PUBLIC]]).await;
    assert_eq!((came, server.heard().len()), (Ok(2), 2), "a name that stays is asked twice");
}

#[tokio::test]
async fn input_13_one_private_address_among_public_ones_condemns_the_name() {
    for mixed in [[PUBLIC, PRIVATE], [PRIVATE, PUBLIC]] {
        let (came, server) = second(&[&mixed]).await;
        assert!(came.expect_err("refused").contains("not a public address"));
        assert_eq!(server.heard().len(), 0);
    }
}

/// A CNAME to localhost comes out of the resolver as localhost's address.
#[tokio::test]
async fn input_13_a_name_for_this_machine_is_refused() {
    let (came, _) = second(&[&[PRIVATE, "::1".parse().expect("an address")]]).await;
    assert!(came.expect_err("refused").contains("not a public address"));
}

#[tokio::test]
async fn input_13_of_a_thousand_addresses_few_are_tried() {
    let mut thousand = vec![PUBLIC; 999];
    thousand.push(PRIVATE);
    let (came, _) = second(&[&thousand]).await;
    assert_eq!(
        came,
        Ok(2),
        "those that come after the sixteenth are never looked at, so they cannot be reached either"
    );
}

#[tokio::test]
async fn input_12_a_redirect_to_a_private_address_opens_no_connection() {
    let canary = Server::start_at(PRIVATE, |_, _| ServerAction::page("secret")).await;
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "017700000001", "127.1", "[::ffff:127.0.0.1]"] {
        let to = format!("http://{host}:{}/", canary.address.port());
        let server = Server::start(move |_, _| ServerAction::go(&to)).await;
        let hosts = "['public.test', '127.0.0.1', 'localhost', '[::ffff:7f00:1]']";
        let task = task(&format!("{PLAIN}fetch.allow_hosts = {hosts}"));
        let mut session = session_with(&task, guard(&task, &Script::default()));
        let error = get(&mut session, &server).await.expect_err("refused");
        assert_eq!(error.cause(), Failure::Network, "{host}: {error}");
        assert!(error.to_string().contains("under [private] in config.toml"), "{host}: {error}");
        assert_eq!(server.heard().len(), 1, "the public host was asked");
    }
    assert!(canary.heard().is_empty(), "and the private one was not");
}
