//! Commands that read a saved page.

use crate::stage::Stage;

use super::pieme;

#[test]
fn one_teacher_alone_can_be_asked_for_the_rows() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let page = folder.path().join("codes.html");
    let lines: String = (1..=7).map(|i| format!("<b>Country {i}</b><i>{}</i><br>", 200 + i)).collect();
    std::fs::write(&page, format!("<h1>Codes</h1>{lines}")).expect("the page is written");
    let page = page.to_str().expect("a plain path");
    for method in ["cycles", "repeats"] {
        let said = pieme(&["learn", page, "--method", method, "--json"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        let first = &serde_json::from_str::<serde_json::Value>(&said.stdout).expect("JSON")["candidates"][0];
        assert_eq!((first["method"].as_str(), first["rows"].as_u64()), (Some(method), Some(7)), "{}", said.stdout);
    }
}

#[test]
fn every_stage_of_learning_can_be_looked_at() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    assert_eq!(stage.pieme(&["explain", "practice-shop"]).code, 1, "it has seen no page yet");
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);
    for (place, what) in [
        ("tokens", "<li"),
        ("encodings", "block-level tags"),
        ("rows", "12 rows"),
        ("alignment", "slot 1: "),
        ("template", "{price}"),
        ("columns", "slot 1: "),
        ("records", "similarity"),
    ] {
        let said = stage.pieme(&["explain", "practice-shop", "--stage", place]);
        assert_eq!(said.code, 0, "{place}: {}", said.stderr);
        assert!(said.stdout.contains(what), "{place}: {}", said.stdout);
        assert!(stage.pieme(&["explain", "practice-shop", "--stage", place, "--json"]).json().is_object());
    }
    assert_eq!(stage.pieme(&["explain", "no/such/page.html"]).code, 2);
}

#[test]
fn a_library_names_the_template_that_fits_an_unknown_page() {
    let stage = Stage::new();
    let shop = "<ul class=shop><li class=it><b>Oak</b><i>95</i><li class=it><b>Elm</b><i>240</i><li class=it>\
                <b>Ash</b><i>7</i></ul>";
    let train = |time: &str, to: &str| {
        format!("<div class=train><time>{time}</time><a href=/{to}>{to}</a><u>on time</u></div>")
    };
    let trains = [train("06:12", "Bern"), train("07:05", "Thun"), train("08:40", "Spiez")].concat();
    for (name, page) in [("shop", shop), ("trains", trains.as_str())] {
        stage.write(&format!("{name}.html"), page);
        let file = stage.path(&format!("{name}.html")).display().to_string();
        std::fs::create_dir_all(stage.path(&format!("library/{name}"))).expect("a folder");
        let template = stage.path(&format!("library/{name}/template.json")).display().to_string();
        assert_eq!(stage.pieme(&["learn", &file, "--pick", "1", "-o", &template]).code, 0);
    }
    stage.write("unknown.html", &trains.replace("Bern", "Biel").replace("Thun", "Chur"));
    let (library, unknown) = (stage.path("library"), stage.path("unknown.html"));
    let words =
        ["extract", "--library", library.to_str().expect("a path"), unknown.to_str().expect("a path"), "--json"];
    let found = stage.pieme(&words).json();
    assert_eq!((&found["template"], &found["rows"]), (&"trains".into(), &3.into()), "{found}");
    assert_eq!(stage.pieme(&["extract", "--library", "no/such/folder", words[3]]).code, 2);
    assert_eq!(stage.pieme(&["extract", words[3]]).code, 2, "neither a template nor a library");
}

#[test]
fn a_saved_page_tells_where_its_list_goes_on() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let page = folder.path().join("posts.html");
    let html = "<base href=/blog/><div class=nav-previous><a href='page/3?a=1&amp;b=2'>Older posts</a></div>\
                <div class=nav-next><a href=' /blog/ '>Newer posts</a></div>";
    std::fs::write(&page, html).expect("the page is written");
    let page = page.to_str().expect("a plain path");
    let url = ["--url", "http://site.test/blog/page/2"];
    let said = |more: &[&str]| pieme(&[&["pager", page], &url[..], more].concat());
    assert_eq!(said(&["--json"]).stdout.trim(), r#"{"kind":"next","next":"/blog/"}"#);
    assert_eq!(said(&["--json", "--onward"]).stdout.trim(), r#"{"kind":"next","next":"page/3?a=1&b=2"}"#);
    assert_eq!(said(&[]).stdout.trim(), "next: http://site.test/blog/");
    assert_eq!(said(&["--onward"]).stdout.trim(), "next: http://site.test/blog/page/3?a=1&b=2");
    assert_eq!(pieme(&["pager", page, "--url", "posts.html"]).code, 2);
}

#[test]
fn a_saved_page_tells_what_its_forms_are_for() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let page = folder.path().join("forms.html");
    let html = "<form action=/find><input name=q></form><form method=POST><input name=log>\
                <input type=password name=pwd></form>";
    std::fs::write(&page, html).expect("the page is written");
    let page = page.to_str().expect("a plain path");
    let said = |more: &[&str]| pieme(&[&["forms", page, "--url", "http://site.test/in?a=1"], more].concat());
    let json: serde_json::Value = serde_json::from_str(&said(&["--json"]).stdout).expect("one JSON document");
    let expected = serde_json::json!({ "forms": [
        { "index": 0, "type": "search", "username": null, "password": null, "query": "q",
          "action": "http://site.test/find", "method": "get" },
        { "index": 1, "type": "login", "username": "log", "password": "pwd", "query": null,
          "action": "http://site.test/in?a=1", "method": "post" },
    ] });
    assert_eq!(json, expected);
    let table = said(&[]).stdout;
    assert!(
        table.starts_with("FORM") && table.lines().any(|line| line.contains("login") && line.contains("pwd")),
        "{table}"
    );
}
