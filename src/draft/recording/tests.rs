//! Recordings, written by hand as browsers write them, and the drafts that they become.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::draft::tests::steps;

/// One entry of a recording, as Chrome writes it.
fn entry(method: &str, url: &str, kind: &str, mime: &str, body: &str) -> Value {
    json!({
        "_resourceType": kind,
        "request": { "method": method, "url": url, "headers": [{ "name": "User-Agent", "value": "Mozilla/5.0" }] },
        "response": { "status": 200, "content": { "mimeType": mime, "text": body }, "redirectURL": "" },
    })
}

fn page(url: &str, body: &str) -> Value {
    entry("GET", url, "document", "text/html; charset=utf-8", body)
}

fn data(url: &str, body: Value) -> Value {
    entry("GET", url, "fetch", "application/json", &body.to_string())
}

fn post(url: &str, fields: &str) -> Value {
    let mut it = entry("POST", url, "document", "text/html", "<p>Thanks</p>");
    it["request"]["postData"] = json!({ "mimeType": "application/x-www-form-urlencoded", "text": fields });
    it
}

fn with(mut it: Value, changes: &[(&str, Value)]) -> Value {
    for (path, value) in changes {
        *it.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value.clone();
    }
    it
}

fn redirected(it: Value, to: &str) -> Value {
    with(
        it,
        &[("/response/status", json!(302)), ("/response/redirectURL", json!(to)), ("/response/content", json!({}))],
    )
}

fn header(mut it: Value, name: &str, value: &str) -> Value {
    it["request"]["headers"].as_array_mut().expect("headers").push(json!({ "name": name, "value": value }));
    it
}

fn har(entries: &[Value]) -> String {
    json!({ "log": { "version": "1.2", "creator": { "name": "test" }, "pages": [], "entries": entries } }).to_string()
}

fn draft(entries: &[Value]) -> Draft {
    from_har(har(entries).as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The draft without comments, sound as a script.
fn check(entries: &[Value], expected: &str) {
    let draft = draft(entries);
    assert_eq!(steps(&draft), expected, "{}", draft.robot_toml());
}

/// A list with eight rows, and a link to the page after it.
fn list(next: Option<&str>) -> String {
    let rows: String = (1..=8)
        .map(|n| {
            format!(
                "<li class=row><a href=\"/item/{n}\">Chair number {n}</a> <b class=price>€ {n}5.00</b> \
                 <i>in stock</i></li>"
            )
        })
        .collect();
    let next = next.map(|href| format!("<a rel=next href=\"{href}\">Next</a>")).unwrap_or_default();
    format!("<html><title>Chairs</title><h1>Chairs</h1><ul class=rows>{rows}</ul><div class=pager>{next}</div></html>")
}

const LOGIN: &str = "<form method=post action=/session><input type=hidden name=csrf value=0123456789abcdef0123>\
    <input name=email><input type=password name=password><button>Log in</button></form>";

#[test]
fn a_log_in_a_list_and_its_pages_are_three_steps() {
    check(
        &[
            page("https://shop.test/", "<a href=/login>Log in</a>"),
            entry("GET", "https://shop.test/a.css", "stylesheet", "text/css", "a{}"),
            entry("GET", "https://shop.test/a.png", "image", "image/png", ""),
            entry("POST", "https://tracker.test/t", "ping", "text/plain", ""),
            page("https://shop.test/login", LOGIN),
            redirected(
                post(
                    "https://shop.test/session",
                    "csrf=0123456789abcdef0123&email=anna%40shop.test&password=hush-hush",
                ),
                "/account",
            ),
            page("https://shop.test/account", "<p>Welcome</p>"),
            page("https://shop.test/chairs", &list(Some("/chairs?page=2"))),
            page("https://shop.test/chairs?page=2", &list(Some("/chairs?page=3"))),
            page("https://shop.test/chairs?page=3", &list(None)),
        ],
        "login = { url = \"https://shop.test/login\", user = \"anna@shop.test\", \
         password = \"${secret:shop_password}\" }\n\
         get = \"https://shop.test/chairs\"\n\
         paginate = {}",
    );
}

#[test]
fn pages_that_no_link_leads_to_are_counted() {
    let chairs = list(None);
    for (first, second, paginate) in [
        ("https://shop.test/l", "https://shop.test/l?page=2", "paginate = { param = \"page\" }"),
        ("https://shop.test/l?start=0", "https://shop.test/l?start=8", "paginate = { param = \"start\", step = 8 }"),
        ("https://shop.test/l", "https://shop.test/l?start=8", "paginate = { param = \"start\", step = 8 }"),
        ("https://shop.test/l", "https://shop.test/l?p=1", "paginate = { param = \"p\", from = 1 }"),
        (
            "https://shop.test/l/",
            "https://shop.test/l/page/2",
            "paginate = { url = \"https://shop.test/l/page/${page}\" }",
        ),
    ] {
        check(&[page(first, &chairs), page(second, &chairs)], &format!("get = \"{first}\"\n{paginate}"));
    }
}

#[test]
fn rows_that_were_clicked_are_proposed_as_details() {
    let entries = [
        page("https://shop.test/chairs", &list(None)),
        page("https://shop.test/item/3", "<h1>Chair number 3</h1>"),
        page("https://shop.test/chairs", &list(None)),
        page("https://shop.test/item/5", "<h1>Chair number 5</h1>"),
    ];
    check(&entries, "get = \"https://shop.test/chairs\"");
    let text = draft(&entries).robot_toml();
    assert!(text.contains("# [[step]]\n# details = {}"), "{text}");
}

#[test]
fn a_form_is_submitted_on_its_page_with_what_was_typed() {
    let search = "<form id=find method=post action=/find><input type=hidden name=__token value=aaaabbbbccccdddd>\
                  <input name=q>\
                  <select name=size><option value=s selected>Small<option value=l>Large</select>\
                  <input type=checkbox name=new value=1 checked><button name=go value=1>Go</button></form>";
    check(
        &[
            page("https://shop.test/", "<p>Hello"),
            page("https://shop.test/search", search),
            with(
                post("https://shop.test/find", "__token=aaaabbbbccccdddd&q=red+chair&size=l&new=1&go=1"),
                &[("/response/content/text", json!(list(None)))],
            ),
        ],
        "get = \"https://shop.test/search\"\nsubmit = { form = \"search\", fields = { q = \"red chair\", \
         size = \"l\" } }",
    );
}

#[test]
fn a_token_that_an_earlier_page_gave_out_is_taken_from_it() {
    check(
        &[
            page("https://shop.test/start", "<meta name=csrf-token content=aaaabbbbccccdddd><p>Hello"),
            with(
                post("https://shop.test/find", "tok=aaaabbbbccccdddd&q=x"),
                &[("/response/content/text", json!(list(None)))],
            ),
        ],
        "get = \"https://shop.test/start\"\n\
         match = { css = \"meta[name=\\\"csrf-token\\\"]\", attribute = \"content\", into = \"tok\" }\n\
         post = { url = \"https://shop.test/find\", form = { q = \"x\", tok = \"${tok}\" } }",
    );
}

fn items(from: usize) -> Value {
    (from..from + 5).map(|n| json!({ "id": n, "name": format!("Chair number {n}"), "price": 5 })).collect()
}

#[test]
fn a_list_that_a_script_draws_is_asked_for_as_data() {
    let api = |n: usize| {
        header(
            data(&format!("https://api.shop.test/items?page={n}"), json!({ "data": items(n * 5) })),
            "X-Requested-With",
            "fetch",
        )
    };
    check(
        &[
            page("https://shop.test/chairs", "<div id=root></div><script src=/app.js></script>"),
            data("https://shop.test/config.json", json!({ "theme": "dark", "langs": ["de", "en"] })),
            api(1),
            api(2),
        ],
        "get = \"https://shop.test/chairs\"\n\
         get = { url = \"https://api.shop.test/items?page=1\", headers = { x-requested-with = \"fetch\" } }\n\
         paginate = { param = \"page\" }",
    );
    // The same data beside a page that shows them: then the page is the list.
    let shown: String = (5..10).map(|n| format!("<li>Chair number {n}")).collect();
    check(
        &[page("https://shop.test/chairs", &format!("<ul>{shown}</ul>")), api(1)],
        "get = \"https://shop.test/chairs\"",
    );
}

#[test]
fn a_list_goes_on_by_what_its_answer_says() {
    check(
        &[
            data("https://shop.test/api?n=5", json!({ "items": items(0), "meta": { "next": "b64cursor" } })),
            data("https://shop.test/api?n=5&after=b64cursor", json!({ "items": items(5), "meta": {} })),
        ],
        "get = \"https://shop.test/api?n=5\"\n\
         paginate = { url = \"https://shop.test/api?n=5&after=${cursor}\", cursor = \"meta.next\" }",
    );
}

#[test]
fn a_log_in_by_script_hands_its_token_on() {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJl";
    let mut login = entry(
        "POST",
        "https://shop.test/api/login",
        "xhr",
        "application/json",
        &json!({ "auth": { "token": token } }).to_string(),
    );
    login["request"]["postData"] =
        json!({ "mimeType": "application/json", "text": "{\"email\":\"anna@shop.test\",\"password\":\"hush-hush\"}" });
    check(
        &[
            page("https://shop.test/", "<div id=root></div>"),
            login,
            header(data("https://shop.test/api/items", json!(items(0))), "authorization", &format!("Bearer {token}")),
        ],
        "post = { url = \"https://shop.test/api/login\", json = { email = \"anna@shop.test\", \
         password = \"${secret:shop_password}\" } }\n\
         match = { json = \"auth.token\", into = \"token\" }\n\
         get = { url = \"https://shop.test/api/items\", headers = { authorization = \"Bearer ${token}\" } }",
    );
}

#[test]
fn a_one_time_code_becomes_its_key() {
    let draft = draft(&[
        page("https://shop.test/login", LOGIN),
        redirected(post("https://shop.test/session", "email=anna&password=hush-hush"), "https://shop.test/code"),
        page("https://shop.test/code", "<form method=post><input name=otp_code></form>"),
        redirected(post("https://shop.test/code", "otp_code=493817"), "/chairs"),
        page("https://shop.test/chairs", &list(None)),
    ]);
    let text = draft.robot_toml();
    assert!(text.contains("totp = \"${secret:shop_totp}\"") && !text.contains("493817"), "{text}");
}

#[test]
fn what_firefox_writes_is_read_as_well() {
    let mut first = page("https://shop.test/chairs", "");
    first.as_object_mut().expect("an entry").remove("_resourceType");
    let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, list(Some("/chairs?page=2")));
    first["response"]["content"] = json!({ "mimeType": "text/html", "text": body, "encoding": "base64", "size": 9 });
    let first = header(first, "Sec-Fetch-Dest", "document");
    let frame = header(
        with(page("https://shop.test/frame", "<p>"), &[("/_resourceType", Value::Null)]),
        "Sec-Fetch-Dest",
        "iframe",
    );
    check(&[first, frame], "get = \"https://shop.test/chairs\"\npaginate = {}");
}

#[test]
fn a_file_that_is_no_recording_is_answered_with_a_sentence() {
    for (text, part) in [
        ("", "not a complete HAR file"),
        ("{", "not a complete HAR file"),
        ("[1,2]", "not a complete HAR file"),
        ("{\"log\":{}}", "it has no `log.entries`"),
        ("{\"log\":{\"entries\":[{\"request\":1}]}}", "not a complete HAR file"),
        ("{\"log\":{\"entries\":[", "not a complete HAR file"),
        ("{\"log\":{\"entries\":[]}}", "no web page"),
    ] {
        let error = from_har(text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let pictures = har(&[entry("GET", "https://a.test/a.png", "image", "image/png", "")]);
    assert!(from_har(pictures.as_bytes()).is_err_and(|error| error.to_string().contains("(requests: 1)")));
    let endless = std::io::Read::chain(&b"{\"log\":{\"x\":\""[..], std::io::repeat(b' '));
    assert!(matches!(har::read(endless, 1 << 20), Err(HarError::TooLarge)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_secret_of_a_recording_is_ever_in_its_draft(
        secret in "[a-zA-Z0-9!@#%^&*+=/?_äé\"'\\\\.-]{8,24}", place in 0..7_usize
    ) {
        let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let rows = data("https://shop.test/api", json!(items(0)));
        let mut by_script = entry("POST", "https://shop.test/api/login", "xhr", "application/json", "{}");
        let text = json!({ "password": secret, "copy": secret }).to_string();
        by_script["request"]["postData"] = json!({ "mimeType": "application/json", "text": text });
        let entries = match place {
            0 => vec![
                page("https://shop.test/login", LOGIN),
                post("https://shop.test/session", &format!("email=a&password={form}")),
            ],
            1 => vec![header(rows, "Authorization", &format!("Bearer {secret}"))],
            2 => vec![header(rows, "X-Api-Key", &secret)],
            3 => vec![page(&format!("https://shop.test/?access_token={form}"), &list(None))],
            4 => vec![by_script, rows],
            5 => vec![
                header(page("https://shop.test/", "<p>"), "Cookie", &format!("sid=0123456789{secret}")),
                page(&format!("https://shop.test/x?q=0123456789{form}"), &list(None)),
            ],
            _ => vec![
                page("https://shop.test/", "<p>"),
                post("https://shop.test/find", &format!("passwort1={form}&passwort2={form}")),
            ],
        };
        let draft = draft(&entries);
        let seen = format!("{}{}{:?}", draft.robot_toml(), draft.task_toml(), draft);
        let json = serde_json::to_string(&secret).expect("a text");
        for spelling in [secret.as_str(), form.as_str(), json.trim_matches('"')] {
            prop_assert!(!seen.contains(spelling), "{} in\n{}", spelling, seen);
        }
    }
}
