//! Inputs 1 to 11, 18 and 22 in part: responses that are slow, cut, compressed, huge or malformed.

use std::io::Write;
use std::time::{Duration, Instant};

use super::server::{Server, ServerAction};
use super::{get, session};
use crate::model::Failure;
use crate::robot::page_problem::page_problem;

async fn fails(act: impl Fn() -> ServerAction + Send + Sync + 'static, cause: Failure, words: &str) {
    let server = Server::start(move |_, _| act()).await;
    let mut session = session();
    session.transport.timeouts.first_byte = Duration::from_millis(300);
    session.set_deadline(Instant::now() + Duration::from_millis(900));
    let error = get(&mut session, &server).await.expect_err("no page");
    assert_eq!(error.cause(), cause, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[tokio::test]
async fn input_1_no_byte_ever_ends_after_the_time_for_the_first() {
    fails(|| ServerAction::Hang(Vec::new()), Failure::Timeout, "sent no response").await;
}

#[tokio::test]
async fn input_2_a_byte_now_and_then_ends_with_the_runs_time() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let drip = || ServerAction::Endless(head.to_vec(), b"1\r\nx\r\n".to_vec(), Duration::from_millis(20));
    fails(drip, Failure::Timeout, "the run reached its time limit").await;
}

#[tokio::test]
async fn input_3_a_body_that_is_cut_is_no_page() {
    let cut = || {
        ServerAction::Say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n<ul><li>one".to_vec())
    };
    fails(cut, Failure::Network, "the connection to").await;
    let chunk =
        || ServerAction::Say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n<ul><li>one".to_vec());
    fails(chunk, Failure::Network, "the connection to").await;
}

/// Its length does not show that it was cut; `expect.max_row_drop` judges such a page (cause `rows`).
#[tokio::test]
async fn input_4_a_body_without_length_ends_where_it_ends() {
    let server = Server::start(|_, _| ServerAction::Say(b"HTTP/1.0 200 OK\r\n\r\n<ul><li>one".to_vec())).await;
    assert_eq!(get(&mut session(), &server).await.expect("a page").body, b"<ul><li>one");
}

#[tokio::test]
async fn input_5_what_comes_after_the_stated_length_is_left_out() {
    let server = Server::start(|_, n| match n {
        0 => ServerAction::Say(
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\nX: smuggled\r\n\r\n".to_vec(),
        ),
        _ => ServerAction::page("second"),
    })
    .await;
    let mut session = session();
    assert_eq!(get(&mut session, &server).await.expect("a page").body, b"first");
    assert_eq!(get(&mut session, &server).await.expect("a page of its own").body, b"second");
}

const BOMB: usize = 64 << 20;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("packed in memory")
}

fn bomb(encoding: &str) -> Vec<u8> {
    let zeros = vec![b' '; BOMB];
    match encoding {
        "gzip" => gzip(&zeros),
        "deflate" => {
            let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(&zeros).and_then(|()| packer.finish()).expect("packed in memory")
        }
        "br" => {
            let mut packed = Vec::new();
            let parameters = brotli::enc::BrotliEncoderParams { quality: 1, ..Default::default() };
            brotli::BrotliCompress(&mut &zeros[..], &mut packed, &parameters).expect("packed in memory");
            packed
        }
        "zstd" => zstd::encode_all(&zeros[..], 1).expect("packed in memory"),
        other => panic!("nobody packs by {other}"),
    }
}

#[tokio::test]
async fn inputs_6_and_7_a_bomb_is_stopped_at_the_limit_of_what_comes_out() {
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let packed = bomb(encoding);
        assert!(packed.len() < 1 << 20, "{encoding} is small on the wire: {}", packed.len());
        let act = move || ServerAction::bytes("200 OK", &format!("Content-Encoding: {encoding}\r\n"), &packed);
        fails(act, Failure::Limit, "is larger than 1M").await;
    }
}

/// Content is decompressed once: what was compressed twice is a gzip archive, not a page.
#[tokio::test]
async fn input_7_a_bomb_in_a_bomb_is_not_a_page() {
    let packed = gzip(&bomb("gzip"));
    for header in ["Content-Encoding: gzip, gzip\r\n", "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"] {
        let packed = packed.clone();
        let server = Server::start(move |_, _| ServerAction::bytes("200 OK", header, &packed)).await;
        match get(&mut session(), &server).await {
            Ok(page) => {
                assert!(page.body.len() < 1 << 20, "{header}");
                assert_eq!(page_problem(&page).map(|it| it.0), Some(Failure::Http), "{header}");
            }
            Err(error) => assert_eq!(error.cause(), Failure::Limit, "{header}: {error}"),
        }
    }
}

#[tokio::test]
async fn input_8_plain_text_that_calls_itself_packed_is_named() {
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let act = move || {
            ServerAction::with("200 OK", &format!("Content-Encoding: {encoding}\r\n"), "plain text, not packed")
        };
        fails(act, Failure::Network, "the connection to").await;
    }
}

#[tokio::test]
async fn inputs_9_and_18_heads_that_are_huge_or_nonsense_are_named() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(4 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(20_000));
    let cookies = format!("HTTP/1.1 200 OK\r\n{}\r\n", "Set-Cookie: a=b\r\n".repeat(10_000));
    let control = "HTTP/1.1 200 OK\r\nSet-Cookie: a\x01b=c\r\nContent-Length: 0\r\n\r\n".to_owned();
    for answer in [long, many, cookies, control, "nonsense".to_owned(), String::new()] {
        fails(move || ServerAction::Say(answer.clone().into_bytes()), Failure::Network, "the connection to").await;
    }
}

#[tokio::test]
async fn input_10_a_loop_of_redirects_ends_at_ten() {
    let server = Server::start(|_, n| ServerAction::go(&format!("/{n}"))).await;
    let error = get(&mut session(), &server).await.expect_err("no page");
    assert_eq!(error.cause(), Failure::Http, "{error}");
    assert_eq!(server.heard().len(), 11);
}

#[tokio::test]
async fn input_11_a_redirect_leads_only_to_the_web() {
    for to in
        ["file:///etc/passwd", "ftp://public.test/", "data:text/html,x", "gopher://public.test/", "javascript:alert(1)"]
    {
        let server = Server::start(move |_, _| ServerAction::go(to)).await;
        let error = get(&mut session(), &server).await.expect_err("refused");
        assert_eq!(error.cause(), Failure::Network, "{to}: {error}");
        assert!(error.to_string().contains("addresses are never fetched"), "{to}: {error}");
    }
}

#[tokio::test]
async fn input_22_hints_without_end_end_after_the_time_for_the_first_byte() {
    let hint = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    let hints = || ServerAction::Endless(hint.to_vec(), hint.to_vec(), Duration::from_millis(1));
    fails(hints, Failure::Timeout, "sent no response").await;
}
