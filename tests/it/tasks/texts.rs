//! Error messages for task.toml and robot.toml, as a person reads them.

use super::*;

/// Checks the whole message for a task.toml with these lines after `url`.
fn check(toml: &str, expected: &str) {
    let scene = Scene::with(&format!("{SMALLEST}{toml}"));
    assert_eq!(scene.problem(), expected.trim_start_matches('\n'), "{toml}");
}

#[test]
fn a_misspelt_key_is_answered_with_the_one_that_was_meant() {
    check(
        "[shedule]\ncron = \"0 6 * * *\"\n",
        "
hotels/task.toml:2:2: unknown key `shedule`
  2 | [shedule]
    |  ^^^^^^^
  did you mean `schedule`? (known here: url, title, tags, enabled, schedule, limits, fetch, column, data, \
  expect, alert)",
    );
    check(
        "[limits]\n\ttimout = \"5m\"\n",
        "
hotels/task.toml:3:2: unknown key `timout`
  3 | \ttimout = \"5m\"
    | \t^^^^^^
  did you mean `timeout`? (known here: timeout, memory, max_pages, max_requests, max_page_bytes)",
    );
    check(
        "cron = \"0 6 * * *\"\n",
        "
hotels/task.toml:2:1: unknown key `cron`
  2 | cron = \"0 6 * * *\"
    | ^^^^
  `cron` belongs under [schedule] (known here: url, title, tags, enabled, schedule, limits, fetch, column, data, \
  expect, alert)",
    );
    check(
        "[fetch]\nengine = \"Browser\"\n",
        "
hotels/task.toml:3:10: unknown word `Browser`
  3 | engine = \"Browser\"
    |          ^^^^^^^^^
  did you mean `browser`? (known here: http, browser)",
    );
}

#[test]
fn a_bad_value_is_answered_with_what_to_write() {
    check(
        "[schedule]\ntimezone = \"Europe/Berln\"\n",
        "
hotels/task.toml:3:12: `Europe/Berln` is not a time zone
  3 | timezone = \"Europe/Berln\"
    |            ^^^^^^^^^^^^^^
  did you mean `Europe/Berlin`?",
    );
    check(
        "[limits]\ntimeout = \"5 parsecs\"\n",
        "
hotels/task.toml:3:11: `5 parsecs` is not a duration; write for example \"90s\", \"5m\", \"6h\" or \"1h30m\"
  3 | timeout = \"5 parsecs\"
    |           ^^^^^^^^^^^",
    );
    check(
        "[limits]\nmemory = \"1.5G\"\n",
        "
hotels/task.toml:3:10: `1.5G` is not a size; write for example \"64k\", \"20M\" or \"1G\"
  3 | memory = \"1.5G\"
    |          ^^^^^^",
    );
    check(
        "[limits]\nmax_pages = \"ten\"\n",
        "
hotels/task.toml:3:13: invalid type: string \"ten\", expected u32
  3 | max_pages = \"ten\"
    |             ^^^^^",
    );
    check(
        "[schedule]\n# ä comment\n  cron = \"0 0 30 2 *\" # 30 February\n",
        "
hotels/task.toml:4:10: `0 0 30 2 *` is never due
  4 |   cron = \"0 0 30 2 *\" # 30 February
    |          ^^^^^^^^^^^^
  the calendar has no such day; check the day and month fields",
    );
    check(
        "[schedule]\ncron = \"0 6 * * *\"\nevery = \"6h\"\n",
        "
hotels/task.toml:4:9: `cron` and `every` are both given
  4 | every = \"6h\"
    |         ^^^^
  keep one of the two",
    );
}

#[test]
fn what_parses_and_cannot_work_is_pointed_at() {
    check(
        "[[column]]\nname = \"price\"\n[[column]]\nname = \"Price\"\n",
        "
hotels/task.toml:5:8: there are two columns named `Price`
  5 | name = \"Price\"
    |        ^^^^^^^
  column names that differ only in upper and lower case are the same in a database",
    );
    check(
        "[[column]]\nname = \"price\"\npattern = \"(\"\n",
        "
hotels/task.toml:4:11: this regular expression cannot be used: unclosed group
  4 | pattern = \"(\"
    |           ^^^
  the syntax is that of docs.rs/regex: no look-around, no back-references",
    );
    check(
        "[[column]]\nname = \"when\"\njoin = [\"day\", \"time\"]\n",
        "
hotels/task.toml:4:8: there is no column `day` to join
  4 | join = [\"day\", \"time\"]
    |        ^^^^^^^^^^^^^^^
  each joined column has its own [[column]], in the order of the template's slots",
    );
    check(
        "[[column]]\nname = \"line\"\nsplit = { at = \" by \", into = [\"book\", \"author\"] }\n[data]\n\
         key = [\"line\"]\n",
        "
hotels/task.toml:6:8: the key column `line` does not exist any more: other columns are made from it
  6 | key = [\"line\"]
    |        ^^^^^^
  use one of the columns that are made from it",
    );
    check(
        "[expect]\nsimilarity = 70\n",
        "
hotels/task.toml:3:14: similarity must be between 0 and 1, not 70
  3 | similarity = 70
    |              ^^",
    );
    check(
        "expect = { max_row_drop = nan }\n",
        "
hotels/task.toml:2:27: max_row_drop must be between 0 and 1, not NaN
  2 | expect = { max_row_drop = nan }
    |                           ^^^",
    );
    check(
        "[fetch]\nallow_hosts = [\"example.org\", \"https://x.org/\"]\n",
        "
hotels/task.toml:3:31: `https://x.org/` is not a host name
  3 | allow_hosts = [\"example.org\", \"https://x.org/\"]
    |                               ^^^^^^^^^^^^^^^^
  write the name alone, such as \"example.org\"",
    );
    check(
        "limits.max_pages = 0\n",
        "
hotels/task.toml:2:20: a run with max_pages = 0 cannot fetch anything
  2 | limits.max_pages = 0
    |                    ^
  leave the key out for the default",
    );
}

#[test]
fn an_address_that_is_not_of_the_web_is_refused() {
    for (url, reason) in [
        ("file:///etc/passwd", "pieme fetches http and https addresses, not file"),
        ("ftp://example.org/", "pieme fetches http and https addresses, not ftp"),
        ("javascript:alert(1)", "pieme fetches http and https addresses, not javascript"),
        ("example.org/list", "`example.org/list` is not a complete address"),
    ] {
        let problem = Scene::with(&format!("url = \"{url}\"\n")).read().expect_err("not of the web");
        assert_eq!((problem.message.as_str(), problem.line, problem.column), (reason, Some(1), Some(7)), "{url}");
    }
}

#[test]
fn a_missing_task_file_is_answered_with_what_to_write() {
    let scene = Scene::new();
    fs::create_dir(scene.dir("hotels")).expect("a folder");
    assert_eq!(
        scene.problem(),
        "hotels/task.toml: there is no task.toml in this folder\n  \
         the smallest one is a single line: url = \"https://example.org/list\""
    );
}

#[test]
fn a_mistake_deep_inside_a_script_is_pointed_at() {
    let scene = Scene::with(SMALLEST);
    scene.write(
        "hotels",
        "robot.toml",
        "[[step]]\n[step.for_each]\nas = \"town\"\nfile = \"towns.csv\"\n[[step.for_each.steps]]\n\
         get = \"/?t=${twon}\"\n",
    );
    assert_eq!(
        scene.problem(),
        "hotels/robot.toml:6:7: nothing sets the variable `twon`
  6 | get = \"/?t=${twon}\"
    |       ^^^^^^^^^^^^^
  did you mean `${town}`?
  and 1 more: pieme validate hotels"
    );
    scene.write(
        "hotels",
        "robot.toml",
        "[[step]]\n[step.for_each]\nas = \"town\"\nfile = \"towns.csv\"\n[[step.for_each.steps]]\n\
         get = \"/?t=${town.zip}\"\n",
    );
    assert_eq!(
        scene.problem(),
        "hotels/towns.csv: a for_each step of robot.toml needs this file, but it does not exist\n  \
         put it into the task's folder"
    );
    scene.write("hotels", "towns.csv", "town,zip\nHalifax,B3H\n");
    assert!(tasks::read(&scene.dir("hotels")).is_ok());
}

#[test]
fn a_verb_that_is_none_gets_a_proposal() {
    let scene = Scene::with(SMALLEST);
    scene.write("hotels", "robot.toml", "[[step]]\nfolow = { text = \"next\" }\n");
    assert!(scene.problem().contains("did you mean `follow`?"), "{}", scene.problem());
}

#[test]
fn bytes_that_are_not_text_are_pointed_at() {
    let scene = Scene::with("");
    scene.write("hotels", "task.toml", b"url = \"https://example.org/\"\ntitle = \"H\xf6fe\"\n");
    assert!(
        scene.problem().starts_with("hotels/task.toml:2:11: this file is not UTF-8 text from here on\n"),
        "{}",
        scene.problem()
    );
    scene.write("hotels", "task.toml", b"\xef\xbb\xbfurl = \"https://example.org/\"\n");
    scene.read().expect("a byte-order mark is no mistake");
    scene.write("hotels", "template.json", "{\"version\": ");
    assert!(scene.problem().starts_with("hotels/template.json:1:12: this is not a template"), "{}", scene.problem());
}

#[test]
fn two_hundred_mutated_files_never_panic() {
    let good = include_str!("every-key.toml").as_bytes();
    let scene = Scene::with("");
    // A fixed generator: the same two hundred files on every machine.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut refused = 0;
    for _ in 0..200 {
        let mut bytes = good.to_vec();
        for _ in 0..1 + random(4) {
            let at = random(bytes.len());
            match random(4) {
                0 => bytes[at] = random(256) as u8,
                1 => _ = bytes.drain(at..(at + 1 + random(20)).min(bytes.len())),
                2 => bytes.insert(at, b"\"[]=\n\t\\#.0"[random(10)]),
                _ => bytes.extend_from_within(at..(at + 1 + random(60)).min(bytes.len())),
            }
        }
        scene.write("hotels", "task.toml", &bytes);
        if let Err(problem) = scene.read() {
            refused += 1;
            assert!(!problem.to_string().is_empty());
        }
    }
    assert!(refused > 100, "{refused}");
}

proptest::proptest! {
    #[test]
    fn no_text_at_all_makes_reading_panic(text in "\\PC{0,200}", tail in "[\\[\\]a-z0-9=\". \n\t{}'#,]{0,300}") {
        let scene = Scene::with(&format!("{text}\n{tail}"));
        if let Err(problem) = scene.read() {
            proptest::prop_assert!(!problem.to_string().is_empty());
        }
        let scene = Scene::with(SMALLEST);
        scene.write("hotels", "robot.toml", format!("[[step]]\n{tail}\n{text}"));
        if let Err(problem) = scene.read() {
            proptest::prop_assert!(!problem.to_string().is_empty());
        }
    }
}

#[test]
fn a_bomb_of_brackets_is_an_answer() {
    for bomb in
        ["[".repeat(60_000), "a.".repeat(30_000), format!("a = {}", "[".repeat(60_000)), "a = {a=".repeat(9_000)]
    {
        let scene = Scene::with(&bomb);
        assert!(!scene.problem().is_empty());
        assert!(scene.problem().len() < 2_000, "{}", scene.problem().len());
    }
}
