//! Inputs 15 to 17: nothing that is meant for one origin reaches another, and robots.txt is sent nothing at all.

use std::time::Duration;

use super::server::{Server, ServerAction};
use super::{PLAIN, get, granted, guard, new_session, session, session_for, task, walk};
use crate::model::{Failure, Script};
use crate::robot::request::PageRequest;

#[tokio::test]
async fn input_15_a_key_in_a_header_stays_with_its_port_and_host() {
    for host in ["public.test", "sub.public.test"] {
        let there = Server::start(|_, _| ServerAction::page("there")).await;
        let to = there.url(host, "/").to_string();
        let here = Server::start(move |_, _| ServerAction::go(&to)).await;
        let task = task(&format!("{PLAIN}fetch.allow_hosts = ['public.test', 'sub.public.test']"));
        let mut session = session_for(&task);
        let mut request = PageRequest::get(here.url("public.test", "/"));
        request.headers.push(("X-Api-Key".to_owned(), "hush-hush".to_owned()));
        session.authorise(&request.url, "me".to_owned(), "hush-hush".to_owned());
        session.send(request).await.expect("followed without the key");
        let (sent_here, sent_there) = (here.heard().concat(), there.heard().concat().to_lowercase());
        assert!(sent_here.contains("hush-hush"), "it goes where it was meant for");
        assert!(!sent_there.contains("hush-hush") && !sent_there.contains("authorization"), "{sent_there}");
    }
}

#[tokio::test]
async fn input_16_a_log_in_form_that_sends_elsewhere_is_not_sent() {
    let elsewhere = Server::start(|_, _| ServerAction::page("thanks")).await;
    let action = elsewhere.url("other.test", "/steal");
    let form = format!(
        "<form method=post action='{action}'><input name=user><input type=password name=password>\
         <button>Log in</button></form>"
    );
    let here = Server::start(move |_, _| ServerAction::page(&form)).await;
    let url = here.url("public.test", "/");
    let task = task(&format!("{PLAIN}fetch.allow_hosts = ['public.test', 'other.test']"));
    for step in [
        "submit = { form = 'login', fields = { user = 'me', password = '${secret:key}' } }",
        "login = { user = 'me', password = '${secret:key}' }",
    ] {
        let walked = walk(&task, &format!("[[step]]\nget = '{url}'\n[[step]]\n{step}\n")).await;
        let trouble = walked.result.expect_err("refused");
        assert_eq!(trouble.cause, Failure::Network, "{}", trouble.sentence);
        assert!(trouble.sentence.contains("would send a secret to http"), "{}", trouble.sentence);
    }
    assert!(elsewhere.heard().is_empty());
}

#[tokio::test]
async fn input_17_robots_txt_is_sent_no_secret_wherever_it_is() {
    let elsewhere =
        Server::start(|_, _| ServerAction::with("200 OK", "Set-Cookie: stray=1\r\n", "User-agent: *\nAllow: /\n"))
            .await;
    let to = elsewhere.url("other.test", "/robots.txt").to_string();
    let here = Server::start(move |asked, _| match asked.starts_with("GET /robots.txt ") {
        true => ServerAction::go(&to),
        false => ServerAction::with("200 OK", "Set-Cookie: sid=hush-hush\r\n", "<p>ok"),
    })
    .await;
    let url = here.url("public.test", "/");
    let plain = PLAIN.replace("fetch.robots_txt = false", "");
    let task = task(&format!("{plain}fetch.allow_hosts = ['public.test', 'other.test']"));
    let script = format!(
        "[[step]]\nlogin = {{ basic = true, url = '{url}', user = 'me', password = '${{secret:key}}' }}\n\
         [[step]]\nget = {{ url = '{url}x', headers = {{ x-api-key = '${{secret:key}}' }} }}\n"
    );
    let walked = walk(&task, &script).await;
    walked.result.unwrap_or_else(|trouble| panic!("{}", trouble.sentence));
    for asked in here.heard().iter().chain(&elsewhere.heard()).filter(|asked| asked.starts_with("GET /robots.txt")) {
        let asked = asked.to_lowercase();
        for word in ["hush", "authorization", "cookie", "x-api-key", "referer"] {
            assert!(!asked.contains(word), "{word} in {asked}");
        }
    }
    assert_eq!(elsewhere.heard().len(), 1, "it was asked for there, once");
    let last = here.heard().pop().expect("the last page").to_lowercase();
    assert!(last.contains("x-api-key: hush-hush") && last.contains("authorization") && last.contains("sid=hush-hush"));
    assert!(!last.contains("stray"), "and no cookie is taken from it");
}

/// Favicons and sub-resources are among them (docs/design/safety.md 6.17): the robot fetches none.
#[tokio::test]
async fn input_17_nothing_that_a_page_mentions_is_fetched() {
    let page = "<link rel=icon href=//other.test/i.ico><img src=//other.test/i.png><script src=/s.js></script>";
    let server = Server::start(move |_, _| ServerAction::page(page)).await;
    get(&mut session(), &server).await.expect("a page");
    assert_eq!(server.heard().len(), 1);
}

#[tokio::test]
async fn a_session_cookie_is_not_among_what_is_kept_of_a_page() {
    let server = Server::start(|_, _| ServerAction::with("200 OK", "Set-Cookie: sid=hush\r\n", "ok")).await;
    let mut session = session();
    let page = get(&mut session, &server).await.expect("a page");
    assert_eq!(page.meta.header("set-cookie"), None);
    assert!(session.cookies().is_some_and(|cookies| cookies.contains("hush")), "it is in the jar");
}

#[tokio::test]
async fn a_proxy_that_needs_a_password_gets_it_and_nobody_else_sees_it() {
    // For plain http, the proxy answers the request itself.
    let proxy = Server::start(|_, _| ServerAction::page("<ul><li>one</li></ul>")).await;
    let address = format!("http://me:${{secret:key}}@public.test:{}", proxy.address.port());
    let task = task(&format!("{}fetch.proxy = '{address}'", PLAIN.replace("public.test/", "other.test/list")));
    let guard = guard(&task, &Script::default());
    let granted = granted("p@ss/word", &[&address.replace("${secret:key}", "x")]);
    let secrets = std::collections::BTreeMap::from([("key".to_owned(), granted)]);
    let mut session = new_session(&task, &secrets, guard, Default::default(), Duration::from_secs(60));
    let page = session.send(PageRequest::get(task.url.clone().expect("it has one"))).await.expect("a page");
    let heard = proxy.heard().concat().to_lowercase();
    assert!(heard.starts_with("get http://other.test/list http/1.1"), "{heard}");
    // me:p@ss/word in base64
    assert!(heard.contains("proxy-authorization: basic bwu6cebzcy93b3jk"), "{heard}");
    assert!(!format!("{:?} {:?}", page.meta, session.log).contains("p@ss"));
}
