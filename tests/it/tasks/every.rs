//! Every error of a task folder is reported, and none that only follows from another.

use super::*;
use pieme::alert::Channels;

/// `file:line: message` of each.
fn said(scene: &Scene) -> Vec<String> {
    let first = scene.read().expect_err("a problem");
    let line = |problem: Problem| {
        let file = problem.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{file}{line}: {}", problem.message)
    };
    first.into_all().into_iter().map(line).collect()
}

/// Checks the messages for a task.toml with these lines after `url`, and a robot.toml.
fn check(task: &str, robot: &str, expected: &[&str]) {
    let scene = Scene::with(&format!("{SMALLEST}{task}"));
    if !robot.is_empty() {
        scene.write("hotels", "robot.toml", robot);
    }
    assert_eq!(said(&scene), expected, "{task}\n{robot}");
}

#[test]
fn a_word_that_several_checks_stumble_over_is_one_mistake() {
    let scene = Scene::with("url = \"htp://x\"\n");
    assert_eq!(said(&scene), ["task.toml:1: pieme fetches http and https addresses, not htp"]);
}

#[test]
fn every_mistake_of_a_file_is_said_in_the_order_of_its_lines() {
    check(
        "shedule = 1\n[schedule]\nevery = \"6 parsecs\"\n[limits]\nmax_pages = \"ten\"\nmax_requests = 0\n[fetch]\n\
         engine = \"Browser\"\n[[column]]\nname = \"price\"\npattern = \"(\"\n[[column]]\nname = \"town\"\n\
         pattern = \"[\"\n\
         [expect]\nsimilarity = 70\n[alert]\non = [\"faild\", \"recovered\", \"chnged\"]\n\
         urls = [\"nowhere\", \"ftp://x\"]\n",
        "",
        &[
            "task.toml:2: unknown key `shedule`",
            "task.toml:4: `6 parsecs` is not a duration; write for example \"90s\", \"5m\", \"6h\" or \"1h30m\"",
            "task.toml:6: invalid type: string \"ten\", expected u32",
            "task.toml:7: a run with max_requests = 0 cannot fetch anything",
            "task.toml:9: unknown word `Browser`",
            "task.toml:12: this regular expression cannot be used: unclosed group",
            "task.toml:15: this regular expression cannot be used: unclosed character class",
            "task.toml:17: similarity must be between 0 and 1, not 70",
            "task.toml:19: unknown word `faild`",
            "task.toml:19: unknown word `chnged`",
            "task.toml:20: unknown alert target `nowhere`",
            "task.toml:20: unknown alert target `ftp`",
        ],
    );
    check(
        "",
        "[[step]]\ngett = \"/a\"\n[[step]]\nget = { url = \"/b\", qery = { a = \"1\" } }\n[[step]]\n\
         match = { regex = \"(\", into = \"x\" }\n[[step]]\nget = \"/c?y=${nothing}\"\n[[step]]\nwait = \"5 parsecs\"\n\
         [[step]]\n[step.if]\nwhen = { css = \"b\" }\n[[step.if.then]]\nfolow = { text = \"x\" }\n\
         [[step.if.then]]\nget = 3\n",
        &[
            "robot.toml:2: unknown word `gett`",
            "robot.toml:4: unknown key `qery`",
            "robot.toml:6: the regular expression `(` cannot be used: unclosed group",
            "robot.toml:8: nothing sets the variable `nothing`",
            "robot.toml:10: `5 parsecs` is not a duration; write for example \"90s\", \"5m\", \"6h\" or \"1h30m\"",
            "robot.toml:15: unknown word `folow`",
            "robot.toml:17: invalid type: integer `3`, expected a URL, or a table with `url`",
        ],
    );
}

#[test]
fn what_follows_from_a_mistake_is_no_mistake_of_its_own() {
    let scene = Scene::with("url = 3\n");
    assert_eq!(said(&scene), ["task.toml:1: invalid type: integer `3`, expected a string representing an URL"]);
    check("[[column]]\nnmae = \"price\"\n", "", &["task.toml:3: unknown key `nmae`"]);
    check("[[column]]\ntype = \"int\"\n", "", &["task.toml:2: missing field `name`"]);
    check("", "[[step]]\nget = { url = 2 }\n", &["robot.toml:2: invalid type: integer `2`, expected a string"]);
    // A step that cannot be parsed sets the variable, or gets the page.
    check(
        "",
        "[[step]]\nset = { town = 3 }\n[[step]]\nget = \"/list?town=${town}\"\n",
        &["robot.toml:2: invalid type: integer `3`, expected a string"],
    );
    check("", "[[step]]\ngett = \"/a\"\n[[step]]\npaginate = {}\n", &["robot.toml:2: unknown word `gett`"]);
    // A syntax error ends the checks of its own file only.
    check(
        "[limits\nx = 1\n",
        "[[step]]\nwait = 1\n[[step]]\nwait = \"x\"\n",
        &[
            "task.toml:2: unclosed table, expected `]`",
            "robot.toml:2: invalid type: integer `1`, expected a string",
            "robot.toml:4: `x` is not a duration; write for example \"90s\", \"5m\", \"6h\" or \"1h30m\"",
        ],
    );
}

#[test]
fn places_are_right_behind_what_was_left_out() {
    check(
        "[[column]]\ntype = \"int\"\n[[column]]\nname = \"a\"\n[[column]]\nname = 7\n[[column]]\nname = \"b\"\n\
         pattern = \"(\"\n",
        "",
        &[
            "task.toml:2: missing field `name`",
            "task.toml:7: invalid type: integer `7`, expected a string",
            "task.toml:10: this regular expression cannot be used: unclosed group",
        ],
    );
}

#[test]
fn mistakes_of_all_files_are_said_together() {
    let scene = Scene::with(&format!("{SMALLEST}enabld = true\n"));
    scene.write("hotels", "robot.toml", "[[step]]\nwait = 1\n");
    scene.write("hotels", "template.json", "{\n  \"version\": x\n}");
    let said = said(&scene);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[2].starts_with("template.json:2: this is not a template: "), "{said:?}");
    assert_eq!(
        scene.problem().lines().last(),
        Some("  and 2 more: pieme validate hotels"),
        "where there is room for one: {}",
        scene.problem()
    );
}

#[test]
fn a_column_that_matches_nothing_is_a_mistake_once_a_person_has_confirmed_the_template() {
    const LABEL: &str = "[[label]]\nwhen = \"2026-11-16T10:00:00Z\"\nkind = \"pick\"\ncandidate = 1\n\
                         method = \"siblings\"\n\
                         rows = 2\nfirst_row = \"Adler\"\ncolumns = [COLUMNS]\n";
    // The template has eight columns.
    let named =
        |names: &[&str]| names.iter().map(|name| format!("[[column]]\nname = \"{name}\"\n")).collect::<String>();
    let eight = named(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    let with = |task: &str, labels: Option<&str>, robot: &str| {
        let scene = Scene::with(&format!("{SMALLEST}{task}"));
        scene.write("hotels", "template.json", TEMPLATE);
        for (file, text) in [("labels.toml", labels), ("robot.toml", Some(robot).filter(|it| !it.is_empty()))] {
            text.into_iter().for_each(|text| scene.write("hotels", file, text));
        }
        scene
    };
    let picked = LABEL.replace("COLUMNS", "\"name\"");
    let nine = format!("{eight}{}", named(&["ratng"]));
    let scene = with(&nine, Some(&picked), "");
    assert_eq!(said(&scene), ["task.toml:19: the column `ratng` matches nothing in the template"]);
    assert!(
        scene.problem().contains("did you mean `rating`? the template's columns are link, image,"),
        "{}",
        scene.problem()
    );
    let texts = tasks::TaskTexts { task: scene.text("task.toml"), robot: None };
    let refused =
        tasks::check_texts(&scene.dir("hotels"), &texts, &Channels::default()).expect_err("it is not saved either");
    assert!(refused.message.contains("`ratng` matches nothing"), "{refused}");
    let unconfirmed = with(&nine, None, "").read().expect("a person is asked anyway");
    assert!(unconfirmed.notes[0].starts_with("the column `ratng` matches nothing"), "{:?}", unconfirmed.notes);

    let pieces = "[[column]]\nname = \"i\"\njoin = [\"a\", \"b\"]\n[[column]]\nname = \"e_2\"\n";
    let cut = eight.replace("name = \"e\"\n", "name = \"e\"\nsplit = \" by \"\n");
    let each = "[[step]]\n[step.for_each]\nas = \"town\"\nin = [\"Kiel\"]\ncolumn = \"town\"\n\
                [[step.for_each.steps]]\nget = \"/list?town=${town}\"\n[[step.for_each.steps]]\nextract = {}\n";
    let details = "[[step]]\nget = \"/list\"\n[[step]]\npaginate = {}\n[[step]]\ndetails = {}\n";
    for (what, task, labels, robot) in [
        ("as many as there are", eight.clone(), picked.clone(), ""),
        ("pieces and joined ones", format!("{cut}{pieces}"), picked.clone(), ""),
        ("a labelling that is being written", nine.clone(), LABEL.replace("COLUMNS", "\"ratng\""), ""),
        ("the item of for_each", format!("{eight}{}", named(&["town"])), picked.clone(), each),
        ("details that nobody has seen yet", nine.clone(), picked.clone(), details),
    ] {
        let read = with(&task, Some(&labels), robot).read();
        assert!(read.is_ok(), "{what}: {}", read.expect_err("a problem"));
    }
    let scene = with(&format!("{eight}{}", named(&["name", "ratng"])), Some(&picked), details);
    scene.write("hotels", "details.json", TEMPLATE);
    assert_eq!(said(&scene), ["task.toml:21: the column `ratng` matches nothing in the template"]);
}
