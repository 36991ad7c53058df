use super::*;

const EVERY_STEP: &str = r##"
    [[step]]
    [step.login]
    url = "https://example.org/login"
    user = "anna"
    password = "${secret:shop}"
    totp = "${secret:shop-codes}"
    [[step]]
    submit = { form = "search", fields = { q = "hotels" } }
    [[step]]
    follow = { text = "My orders" }
    [[step]]
    set = { city = "Halifax" }
    [[step]]
    get = { url = "/list", query = { city = "${city}" } }
    [[step]]
    post = { url = "/api", json = { city = "${city}", rooms = [1, 2] } }
    [[step]]
    expect = { status = 200, cause = "login" }
    [[step]]
    match = { css = "input[name=token]", attribute = "value", into = "token" }
    [[step]]
    substitute = { variable = "token", regex = "-", with = "" }
    [[step]]
    wait = "1s"
    [[step]]
    save = "front page"
    [[step]]
    paginate = { param = "start", from = 20, step = 20, max_pages = 20 }
    [[step]]
    details = { column = "link", max = 100 }
    [[step]]
    click = { css = "#more" }
    [[step]]
    scroll = { times = 3 }
    [[step]]
    wait_for = { css = ".row", timeout = "5s" }
    [[step]]
    [step.if]
    when = { css = ".consent" }
    [[step.if.then]]
    follow = { text = "Agree" }
    [[step.if.else]]
    get = "/plain"
    [[step]]
    [step.for_each]
    as = "town"
    in = ["Halifax", "Truro"]
    [[step.for_each.steps]]
    get = "/list?town=${town}"
    [[step.for_each.steps]]
    extract = {}
"##;

#[test]
fn a_script_with_every_step_reads_and_survives_json_and_toml() {
    let script: Script = toml::from_str(EVERY_STEP).expect("the example parses");
    let verbs: Vec<&str> = script.every_step().into_iter().map(ScriptStep::verb).collect();
    assert_eq!(
        verbs.join(" "),
        "login submit follow set get post expect match substitute wait save paginate details click scroll wait_for \
         if follow get for_each get extract"
    );
    let json = serde_json::to_string(&script).expect("a script is plain data");
    assert_eq!(serde_json::from_str::<Script>(&json).expect("its own JSON"), script);
    let text = toml::to_string(&script).expect("a script is plain data");
    assert_eq!(toml::from_str::<Script>(&text).expect("its own TOML"), script, "{text}");
}

#[test]
fn two_verbs_in_one_step_are_refused() {
    let error = toml::from_str::<Script>("[[step]]\nget = \"/a\"\nexpect = { status = 200 }\n");
    assert!(error.is_err());
}

#[test]
fn a_key_that_a_step_does_not_have_is_refused_deep_inside_too() {
    for text in [
        "[[step]]\nif = { when = { csss = 'a' }, then = [] }",
        "[[step]]\nfor_each = { as = 'a', in = [], steps = [{ get = { uri = '/' } }] }",
        "[[step]]\nlogin = { user = 'a', passwort = 'b' }",
    ] {
        assert!(toml::from_str::<Script>(text).is_err(), "{text}");
    }
}
