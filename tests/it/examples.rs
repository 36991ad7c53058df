//! Every example of `--help` works when it is copied into a shell.

use std::process::{Command, Stdio};

use super::files::Files;
use super::stage::{Said, Stage};
use super::terminal::{Answers, typed};

const HOTELS: [(&str, &str); 12] = [
    ("Hotel Adler", "Kiel"),
    ("Pension Ida", "Truro"),
    ("Hotel Krone", "Halifax"),
    ("Gasthof Linde", "Ulm"),
    ("Hotel Post", "Bonn"),
    ("Haus Seeblick", "Lindau"),
    ("Hotel Sonne", "Jena"),
    ("Pension Rosa", "Celle"),
    ("Hotel Stern", "Trier"),
    ("Gasthof Ochsen", "Weimar"),
    ("Hotel Taube", "Husum"),
    ("Villa Maria", "Plön"),
];
const NEWS: [&str; 5] = [
    "Winter rates from Monday",
    "Ferry to the island runs again",
    "New bicycle path opened",
    "Christmas market dates",
    "Museum closed for repairs",
];
/// Answers that use the first list with the proposed names.
const YES: Answers<'_> = &[("> ", "\r"), ("Columns:", "\r")];

/// A page with a list of four columns and a list of three.
fn page() -> String {
    let hotel = |(i, (name, town)): (usize, &(&str, &str))| {
        format!(
            "<li class=hotel><h3><a href='hotel-{i}.html'>{name}</a></h3> <b class=price>{}</b> \
             <span class=town>{town}</span></li>",
            95 + 7 * i
        )
    };
    let news = |(i, title): (usize, &&str)| {
        format!(
            "<dd><div class=news><a href='news-{i}.html'>{title}</a> <em class=day>{} November</em></div></dd>",
            i + 3
        )
    };
    let (hotels, news): (String, String) =
        (HOTELS.iter().enumerate().map(hotel).collect(), NEWS.iter().enumerate().map(news).collect());
    format!(
        "<!DOCTYPE html><html lang=en><title>Hotels</title><h1>Hotels</h1><ul>{hotels}</ul><h2>News</h2>\
         <dl>{news}</dl></html>"
    )
}

/// What follows `pieme` in each line below “Examples:”.
fn examples(stage: &Stage, verb: &str) -> Vec<String> {
    let help = stage.pieme(&[verb, "--help"]).stdout;
    let (_, listed) = help.split_once("Examples:\n").expect("there are examples");
    let lines: Vec<&str> = listed.lines().take_while(|line| !line.is_empty()).collect();
    let command = |line: &&str| line.strip_prefix("  pieme ").map(str::to_owned);
    let found: Vec<String> = lines.iter().filter_map(command).collect();
    assert_eq!(found.len(), lines.len(), "a line is broken in two: {listed}");
    assert!(found.len() >= 5, "{help}");
    found
}

/// Runs the example in a shell, in the folder with the pages.
fn in_shell(stage: &Stage, example: &str) -> Said {
    let config = stage.path("config.toml");
    Command::new("sh")
        .args(["-c", &format!("{} --config {} {example}", env!("CARGO_BIN_EXE_pieme"), config.display())])
        .current_dir(stage.path(""))
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell")
        .into()
}

/// Whether the example asks questions.
fn asks(example: &str) -> bool {
    !["--yes", "--names", "--pick", "--accept"].iter().any(|option| example.contains(option))
}

#[test]
fn the_examples_of_learn_work() {
    let stage = Stage::new();
    for file in ["hotels.html", "page1.html", "page2.html"] {
        stage.write(file, &page());
    }
    for (file, name, street) in
        [("adler.html", "Hotel Adler", "Hafenstraße 7"), ("ida.html", "Pension Ida", "Am Markt 2")]
    {
        stage.write(file, &format!("<title>{name}</title><h1>{name}</h1><p class=street>{street}</p>"));
    }
    for example in examples(&stage, "learn") {
        let said = in_shell(&stage, &example);
        assert_eq!(said.code, 0, "{example}: {}{}", said.stdout, said.stderr);
    }
}

#[test]
fn the_examples_of_add_work() {
    let site = Files::serve([("/hotels", page()), ("/jobs", page())]);
    let found = examples(&Stage::new(), "add");
    for example in found {
        let stage = Stage::new();
        let (command, _) = example.split_once(" #").unwrap_or((&example, ""));
        let local = command.replace("https://example.org", &site.url("")).replace("example.org", &site.url(""));
        let local = format!("{local} --allow-private");
        let shown = if asks(&example) { typed(&stage, &[&local], YES) } else { in_shell(&stage, &local).stderr };
        let made = stage.pieme(&["status", "--json"]).json();
        assert_eq!(made["tasks"][0]["state"], "ok", "{example}: {shown}");
        if example.contains("--names title,link,place") {
            let name = made["tasks"][0]["task"].as_str().expect("a name").to_owned();
            let records = stage.pieme(&["records", &name, "--json"]).json();
            assert_eq!(records["columns"], serde_json::json!(["title", "link", "place"]), "{example}");
        }
    }
}

#[test]
fn the_examples_of_label_work() {
    let site = Files::serve([("/hotels", page())]);
    let found = examples(&Stage::new(), "label");
    for example in found {
        let stage = Stage::new();
        stage.grant_private(&site.url(""));
        let fetch = "[fetch]\nrobots_txt = false\ndelay = \"0s\"\n";
        stage.write("tasks/hotels/task.toml", &format!("url = \"{}\"\n{fetch}", site.url("/hotels")));
        assert_eq!(stage.pieme(&["run", "hotels"]).code, 3, "it waits for a person");
        if example.contains("--accept") {
            assert_eq!(stage.pieme(&["label", "hotels", "--yes", "--no-run"]).code, 0);
            let task = stage.read("tasks/hotels/task.toml");
            stage.write("tasks/hotels/task.toml", &format!("{task}[expect]\nmin_rows = 1000\n"));
            let said = stage.pieme(&["run", "hotels"]);
            assert_eq!(said.code, 1, "its rows are kept aside: {}{}", said.stdout, said.stderr);
        }
        let shown = match asks(&example) {
            true => typed(&stage, &[&example], YES),
            false => in_shell(&stage, &example).stderr,
        };
        let state = stage.state("hotels");
        assert!(["ok", "changed"].contains(&state.as_str()), "{example}: {state}: {shown}");
        let records = stage.pieme(&["records", "hotels", "--json"]).json();
        let columns = records["columns"].to_string();
        let wanted = match &example {
            it if it.contains("--names name,link,-") => r#"["name","link"]"#,
            it if it.contains("--names name,price,price,-") => r#"["name","price"]"#,
            it if it.contains("--label") => r#"["name","price"]"#,
            _ => continue,
        };
        assert_eq!(columns, wanted, "{example}: {shown}");
    }
}
