//! Inputs and the drafts that they become.

use proptest::prelude::*;

use super::*;
use crate::tasks;

/// The steps of a draft, sound as a script; comments left out.
pub(super) fn steps(draft: &Draft) -> String {
    let text = draft.robot_toml();
    let script: Script = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(script, draft.script(), "{text}");
    assert_eq!(tasks::check_script(&draft.task(), &script), [], "{text}");
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty() && *line != "[[step]]")
        .collect::<Vec<_>>()
        .join("\n")
}

fn curl(command: &str) -> Draft {
    from_curl(command).unwrap_or_else(|error| panic!("{command}: {error}"))
}

fn check(command: &str, expected: &str) {
    assert_eq!(steps(&curl(command)), expected, "{command}");
}

fn says(command: &str, part: &str) {
    let text = curl(command).robot_toml().replace("\n# ", " ");
    assert!(text.contains(part), "“{part}” is not in\n{text}");
}

#[test]
fn a_plain_address_is_a_get_without_what_browsers_send_by_themselves() {
    check(
        "curl 'https://shop.test/list?city=Halifax&page=2' \\\n  -H 'accept: text/html,*/*;q=0.8' \\\n  \
         -H 'accept-language: de' \\\n  \
         -H 'sec-ch-ua: \"Chromium\";v=\"130\"' \\\n  -H 'user-agent: Mozilla/5.0' \
         -H 'x-requested-with: XMLHttpRequest' --compressed",
        "get = { url = \"https://shop.test/list?city=Halifax&page=2\", headers = { x-requested-with \
         = \"XMLHttpRequest\" } }",
    );
    check("curl https://shop.test/", "get = \"https://shop.test/\"");
    check(
        "https://shop.test/ -H 'accept: application/json'",
        "get = { url = \"https://shop.test/\", headers = { accept = \"application/json\" } }",
    );
    check(
        "curl -sSL -G https://shop.test/find -d q=red --data-urlencode 'c=a b'",
        "get = \"https://shop.test/find?q=red&c=a+b\"",
    );
}

#[test]
fn what_is_posted_is_a_form_or_json() {
    check(
        "curl 'https://shop.test/find' -X POST --data-raw 'q=red+chairs&max=%E2%82%AC%2020&empty='",
        "post = { url = \"https://shop.test/find\", form = { empty = \"\", max = \"€ 20\", q = \"red chairs\" } }",
    );
    check(
        "curl 'https://shop.test/api' -H 'content-type: application/json' \
         --data-raw $'{\"q\":\"it\\'s\",\"n\":[1,2.5,true],\"none\":null}'",
        "post = { url = \"https://shop.test/api\", json = { q = \"it's\", n = [1, 2.5, true] } }",
    );
    check(
        "curl https://shop.test/api --json '{\"a\":1}'",
        "post = { url = \"https://shop.test/api\", json = { a = 1 } }",
    );
    check(
        "curl https://shop.test/up -F 'town=Truro;type=text/plain' -F 'photo=@a.jpg' --form-string 'at=@home'",
        "post = { url = \"https://shop.test/up\", form = { at = \"@home\", town = \"Truro\" } }",
    );
    check(
        "curl ^\"https://shop.test/find^\" ^\r\n  --data-raw ^\"q=100^%^25^&r=^%^22x^%^22^\"",
        "post = { url = \"https://shop.test/find\", form = { q = \"100%\", r = \"\\\"x\\\"\" } }",
    );
    check(
        "curl https://shop.test/up -H 'content-type: multipart/form-data; boundary=--b' \
         --data-raw $'----b\\r\\nContent-Disposition: form-data; \
         name=\"q\"\\r\\n\\r\\nred\\r\\n----b--\\r\\n'",
        "post = { url = \"https://shop.test/up\", form = { q = \"red\" } }",
    );
}

#[test]
fn secrets_get_names_and_stay_out() {
    check(
        "curl https://www.shop.co.uk/api?key=AIzaSyD1234567890abc\\&q=x -H 'Authorization: Bearer s3cr3t-t0ken' \
         -H 'X-Api-Key: k3y'",
        "[step.get]\nurl = \"https://www.shop.co.uk/api?q=x\"\nquery = { key = \"${secret:shop_key}\" }\n\
         headers = { authorization = \"Bearer ${secret:shop_authorization}\", \
         x-api-key = \"${secret:shop_x_api_key}\" }",
    );
    check(
        "curl -u 'anna:hush' https://shop.test/list",
        "login = { url = \"https://shop.test/list\", user = \"anna\", password = \"${secret:shop_password}\", \
         basic = true }",
    );
    let basic = "login = { url = \"https://shop.test/a\", user = \"anna\", password = \"${secret:shop_password}\", \
                 basic = true }";
    check("curl https://anna:hush@shop.test/a", basic);
    check("curl https://shop.test/a -H 'Authorization: Basic YW5uYTpodXNo'", basic);
    check(
        "curl https://shop.test/api --json '{\"user\":{\"password\":\"hush\",\"pin\":1234}}'",
        "post = { url = \"https://shop.test/api\", json = { user = { password = \"${secret:shop_password}\", \
         pin = \"${secret:shop_pin}\" } } }",
    );
    let names: Vec<String> =
        curl("curl -u anna:hush https://shop.test/").secrets.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["shop_password"]);
}

#[test]
fn a_form_with_a_password_is_the_log_in() {
    check(
        "curl 'https://shop.test/session' -H 'referer: https://shop.test/login?next=%2Forders' \
         --data-raw 'csrf=0123456789abcdef&email=anna%40shop.test&password=hush&remember=1'",
        "login = { url = \"https://shop.test/login?next=%2Forders\", user = \"anna@shop.test\", \
         password = \"${secret:shop_password}\" }",
    );
}

#[test]
fn tokens_against_forged_forms_are_taken_from_the_page_before() {
    check(
        "curl 'https://shop.test/find' -H 'referer: https://shop.test/search' \
         --data-raw 'csrfmiddlewaretoken=0123456789&q=x'",
        "get = \"https://shop.test/search\"\n\
         match = { css = \"[name=\\\"csrfmiddlewaretoken\\\"]\", attribute = \"value\", \
         into = \"csrfmiddlewaretoken\" }\n\
         post = { url = \"https://shop.test/find\", form = { csrfmiddlewaretoken \
         = \"${csrfmiddlewaretoken}\", q = \"x\" } }",
    );
    check(
        "curl 'https://shop.test/Find.aspx' --data-raw '__VIEWSTATE=dDw&__EVENTVALIDATION=x&ctl00%24txtCity=Truro&\
         ctl00%24btnGo=Go'",
        "get = \"https://shop.test/Find.aspx\"\n\
         submit = { form = \"form\", fields = { \"ctl00$txtCity\" = \"Truro\" }, button = \"ctl00$btnGo\" }",
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    says("curl https://a.test/ -b 'sid=0123456789abcdef0; theme=dark'", "Cookies are left out (sid, theme)");
    says("curl https://a.test/ --frobnicate loud -k", "Unknown options of curl are left out: --frobnicate.");
    says("curl https://a.test/ -k", "always checks a site's certificate");
    says("curl https://a.test/ -X DELETE", "The browser's method was DELETE");
    says("curl https://a.test/ -d @file.txt", "Data from a file are left out");
    says("curl https://a.test/ -H 'content-type: text/xml' -d '<a/>'", "also sent text/xml");
    says("curl -x http://proxy.test:1 https://a.test/", "a proxy is set by `proxy`");
    says("curl -u a:b https://a.test/", "pieme secret set a_password --task TASK --origin https://a.test");
    says("curl https://a.test/ -d 'a=${HOME}'", "$${HOME}");
}

#[test]
fn what_is_no_command_is_answered_with_a_sentence() {
    for (text, part) in [
        ("", "no curl command"),
        ("hello there", "no curl command"),
        ("curl", "no address"),
        ("curl 'https://a.test/", "never closed"),
        ("curl ftp://a.test/", "only http and https"),
        ("curl http://", "is not a valid address"),
        ("Invoke-WebRequest -Uri \"https://a.test/\"", "PowerShell"),
    ] {
        let error = from_curl(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

/// All that a person gets to see.
fn everything(draft: &Draft) -> String {
    format!("{}{}{:?}{:?}", draft.robot_toml(), draft.task_toml(), draft, draft.script())
}

proptest! {
    #[test]
    fn no_secret_of_a_command_is_ever_in_its_draft(
        secret in "[a-zA-Z0-9!@#%^&*+=/?_ äé\"'\\\\.-]{6,24}",
        place in 0..9_usize,
    ) {
        prop_assume!(!secret.trim().is_empty() && secret.trim() == secret && secret.len() >= 6);
        let form = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let encoded = form(&secret);
        let words: Vec<String> = match place {
            0 => vec!["-u".into(), format!("anna:{secret}"), "https://a.test/".into()],
            1 => vec!["https://a.test/".into(), "-H".into(), format!("Authorization: Bearer {secret}")],
            2 => vec![
                "https://a.test/".into(),
                "-H".into(),
                format!("x-api-key: {secret}"),
                "-H".into(),
                format!("x-copy: {secret}"),
            ],
            3 => vec![format!("https://a.test/?token={encoded}&a=b#{encoded}")],
            4 => vec!["https://a.test/login".into(), "-d".into(), format!("user=anna&password={encoded}")],
            5 => vec![
                "https://a.test/".into(),
                "--json".into(),
                serde_json::json!({ "a": { "secret": secret }, "b": [secret] }).to_string(),
            ],
            6 => vec!["https://a.test/".into(), "-F".into(), format!("passwort={secret}")],
            7 => vec![
                format!("https://a.test/?q={encoded}"),
                "-b".into(),
                format!("sessionid={}", secret.replace(';', "")),
            ],
            _ => vec![
                "https://a.test/".into(),
                "--proxy-user".into(),
                format!("anna:{secret}"),
                "--cert".into(),
                secret.clone(),
                "--unheard-of".into(),
                format!("a {secret}"),
            ],
        };
        let draft = from_curl_words(&words).expect("a command");
        let seen = everything(&draft);
        let json = serde_json::to_string(&secret).expect("a text");
        for spelling in [secret.as_str(), encoded.as_str(), json.trim_matches('"')] {
            prop_assert!(!seen.contains(spelling), "{} in\n{}", spelling, seen);
        }
        let text = draft.robot_toml();
        let script: Script = toml::from_str(&text).expect("sound TOML");
        prop_assert_eq!(tasks::check_script(&draft.task(), &script), []);
    }

    #[test]
    fn no_text_breaks_the_draft(text in "curl [\\PC\n'\"\\\\^$;&|`-]{0,80}") {
        if let Ok(draft) = from_curl(&text) {
            prop_assert!(toml::from_str::<Script>(&draft.robot_toml()).is_ok(), "{}", draft.robot_toml());
        }
    }
}
