//! The judgement of runs, through the real programs: what is published, what is quarantined, how a person repairs it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};

use super::stage::Stage;
use super::terminal::{Answers, typed};

/// A site of one page with a settable body.
pub struct Page {
    port: u16,
    body: Arc<Mutex<String>>,
}

/// A body with which every page is an error; `/broken` always is.
pub const BROKEN: &str = "broken";

impl Page {
    fn serve(body: &str) -> Page {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of loopback is free");
        let port = listener.local_addr().expect("it is bound").port();
        let body = Arc::new(Mutex::new(body.to_owned()));
        let said = Arc::clone(&body);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut request = [0_u8; 4_096];
                let read = stream.read(&mut request).unwrap_or(0);
                let is_robots = request[..read].starts_with(b"GET /robots.txt");
                let body = if is_robots { String::new() } else { said.lock().expect("nobody panicked").clone() };
                let is_broken = !is_robots && (body == BROKEN || request[..read].starts_with(b"GET /broken"));
                let status = if is_broken { "503 Service Unavailable" } else { "200 OK" };
                let head =
                    format!("HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\n", body.len());
                let _ = stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes());
            }
        });
        Page { port, body }
    }

    pub fn say(&self, body: &str) {
        body.clone_into(&mut self.body.lock().expect("nobody panicked"));
    }
}

pub const NAMES: [&str; 12] = [
    "Adler", "Bellevue", "Central", "Dorint", "Elite", "Falken", "Grand", "Hof", "Imperial", "Juliet", "Krone", "Linde",
];

pub fn framed(content: &str) -> String {
    format!(
        "<!doctype html><html><head><title>Hotels</title></head><body><h1>Hotels in town</h1>{content}</body></html>"
    )
}

/// Table rows: a name, a price, a distance.
pub fn table(names: &[&str]) -> String {
    table_of(names, |name, price, distance| [name, price, distance])
}

/// The same table with the cells of each row one column further, under the same headers.
pub fn shifted(names: &[&str]) -> String {
    table_of(names, |name, price, distance| [distance, name, price])
}

fn table_of(names: &[&str], order: fn(String, String, String) -> [String; 3]) -> String {
    let row = |(i, name): (usize, &&str)| {
        let hotel = format!("<a href=/h/{name}>Hotel {name}</a>");
        let cells = order(hotel, format!("EUR {}.00", 80 + i), format!("{} km", i + 1));
        format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"))
    };
    let rows: String = names.iter().enumerate().map(row).collect();
    framed(&format!("<table><tr><th>Hotel</th><th>Price</th><th>Distance</th></tr>\n{rows}</table>"))
}

/// The same hotels after a redesign.
pub fn cards(names: &[&str]) -> String {
    let card = |(i, name): (usize, &&str)| {
        format!(
            "<article class=card><span class=km>{} km</span><h3><a href=/h/{name}>Hotel {name}</a></h3>\
             <p>A house of character, number {i}.</p><strong>EUR {}.00</strong></article>\n",
            i + 1,
            80 + i
        )
    };
    framed(&format!("<section>{}</section>", names.iter().enumerate().map(card).collect::<String>()))
}

/// A stage with the task `hotels`, labelled and published.
pub fn labelled() -> (Stage, Page) {
    labelled_with(Stage::new(), &table(&NAMES))
}

pub fn labelled_on(stage: Stage) -> (Stage, Page) {
    labelled_with(stage, &table(&NAMES))
}

/// The same with another first page.
pub fn labelled_with(stage: Stage, body: &str) -> (Stage, Page) {
    let page = Page::serve(body);
    let url = format!("http://127.0.0.1:{}/list", page.port);
    let fetch = "[fetch]\ndelay = \"0s\"\nretries = 0\n";
    stage.grant_private(&url);
    stage.write("tasks/hotels/task.toml", &format!("url = \"{url}\"\n{fetch}"));
    stage.pieme(&["run", "hotels"]);
    let said = stage.pieme(&["label", "hotels", "--yes", "--key", "-"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    (stage, page)
}

/// Runs the task; outcome and cause.
pub fn run(stage: &Stage) -> String {
    let said = stage.pieme(&["run", "hotels", "--json"]);
    let verdict = said.json();
    format!("{} {}", verdict["outcome"].as_str().unwrap_or("?"), verdict["cause"].as_str().unwrap_or("?"))
}

pub fn rows(stage: &Stage) -> Vec<serde_json::Value> {
    stage.pieme(&["records", "hotels", "--json"]).json()["records"].as_array().cloned().unwrap_or_default()
}

fn advice(stage: &Stage) -> String {
    stage.pieme(&["status", "hotels", "--json"]).json()["tasks"][0]["do"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_kind_of_bad_page_has_a_cause_of_its_own() {
    let (stage, page) = labelled();
    assert_eq!(run(&stage), "published unchanged");
    let whole = table(&NAMES);
    for (what, body, wanted) in [
        ("an error page", framed("<h1>500 Internal Server Error</h1><p>Try later.</p>"), "failed http"),
        ("a block page", framed("<h1>Just a moment...</h1><p>Checking your browser.</p>"), "failed blocked"),
        ("a login wall", framed("<form><input name=u><input type=password name=p></form>"), "failed login"),
        ("an empty result", framed("<p>No results found for your search.</p>"), "empty no-results"),
        ("a page that says nothing", framed("<p>Welcome.</p>"), "empty unexpected"),
        ("a page cut in the middle", whole[..whole.len() / 2].to_owned(), "failed network"),
    ] {
        page.say(&body);
        assert_eq!(run(&stage), wanted, "{what}");
        assert_eq!(rows(&stage).len(), 12, "{what}: the last good rows stay");
        assert!(!advice(&stage).starts_with("pieme label"), "{what}: nobody is asked to label");
    }
    page.say(&whole);
    assert_eq!(run(&stage), "published unchanged");
}

#[test]
fn what_is_no_change_of_the_list_is_no_alarm() {
    let (stage, page) = labelled();
    for (what, body) in [
        (
            "other chrome",
            table(&NAMES).replace("<h1>", "<nav><a href=/a>A</a><a href=/b>B</a></nav><div id=ad>Ad</div><h1>"),
        ),
        ("other classes", table(&NAMES).replace("<tr>", "<tr class=x9f3>").replace("<td>", "<td class=q77a>")),
        (
            "other data",
            table(&["Mohren", "Nord", "Ochsen", "Post", "Quelle", "Rose", "Stern", "Traube", "Union", "Vier"]),
        ),
        ("more rows", table(&NAMES.repeat(3))),
    ] {
        page.say(&body);
        let ended = run(&stage);
        assert!(ended.starts_with("published"), "{what}: {ended}\n{}", stage.pieme(&["log", "hotels"]).stdout);
    }
}

#[test]
fn a_redesign_is_kept_aside_and_mended_with_one_word() {
    let (stage, page) = labelled();
    let (before, template) = (rows(&stage), stage.read("tasks/hotels/template.json"));
    page.say(&cards(&NAMES));
    assert_eq!(run(&stage), "quarantined layout");
    assert_eq!(rows(&stage), before, "the last good rows stay");
    assert_eq!(advice(&stage), "pieme label hotels");
    let said = stage.pieme(&["label", "hotels", "--yes"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let columns = |rows: &[serde_json::Value]| rows[0].as_object().map(|row| row.keys().cloned().collect::<Vec<_>>());
    assert_eq!(columns(&rows(&stage)), columns(&before), "columns as before");
    assert_eq!(rows(&stage), before, "and the same values in them");
    assert_eq!(stage.state("hotels"), "ok");
    page.say(&table(&NAMES[1..]));
    assert!(run(&stage).starts_with("published"), "the old shape is still known");
    assert_eq!(rows(&stage).len(), 11);
    let said = stage.pieme(&["rollback", "hotels"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(rows(&stage), before, "the rows of before are back");
    assert_ne!(stage.read("tasks/hotels/template.json"), template, "the label did not make the rows");
    assert!(said.stdout.contains("pieme rollback hotels --label"), "{}", said.stdout);
    let said = stage.pieme(&["rollback", "hotels", "--label"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(stage.read("tasks/hotels/template.json"), template, "it is undone where a person says so");
    assert_eq!(rows(&stage), before, "without a word on the rows");
}

#[test]
fn rows_that_were_kept_aside_can_be_accepted_or_dropped() {
    let (stage, page) = labelled();
    page.say(&table(&NAMES[..5]));
    assert_eq!(run(&stage), "quarantined rows");
    let aside = stage.pieme(&["records", "hotels", "--quarantined", "--json"]).json();
    assert_eq!(aside["records"].as_array().map(Vec::len), Some(5));
    assert_eq!(stage.pieme(&["label", "hotels", "--drop"]).code, 0);
    assert_eq!(stage.pieme(&["records", "hotels", "--quarantined"]).code, 1, "they are gone");
    assert_eq!(run(&stage), "quarantined rows");
    let said = stage.pieme(&["label", "hotels", "--accept"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(rows(&stage).len(), 5);
    assert_eq!(run(&stage), "published unchanged", "what was accepted is the measure now");
    assert_eq!(stage.pieme(&["label", "hotels", "--accept"]).code, 1, "no rows are quarantined any more");
}

#[test]
fn the_queue_is_worked_off_with_one_key_a_task() {
    let (stage, page) = labelled();
    let before = rows(&stage);
    page.say(&cards(&NAMES));
    assert_eq!(run(&stage), "quarantined layout");
    let shown = typed(&stage, &["label"], &[("> ", "s")]);
    assert!(shown.contains("12 rows before") && shown.contains("12 rows now"), "{shown}");
    assert_eq!(stage.state("hotels"), "quarantined", "skipped");
    let shown = typed(&stage, &["label"], &[("> ", "\r")]);
    assert_eq!(stage.state("hotels"), "ok", "{shown}");
    assert_eq!(rows(&stage), before, "Enter was enough");
    assert!(stage.read("tasks/hotels/labels.toml").contains("seconds = "), "the person's time is written down");
    assert!(typed(&stage, &["label"], &[]).contains("No task waits for a person."));
}

#[test]
fn a_person_may_say_that_a_list_is_rightly_empty() {
    let (stage, page) = labelled();
    page.say(&cards(&NAMES));
    run(&stage);
    typed(&stage, &["label"], &[("> ", "X")]);
    assert!(stage.read("tasks/hotels/task.toml").contains("allow_empty = true"));
    page.say(&framed("<p>Welcome.</p>"));
    assert_eq!(run(&stage), "empty no-results");
    assert_eq!(rows(&stage).len(), 12);
}

#[test]
fn one_key_is_an_answer_and_the_terminal_is_as_it_was() {
    let (stage, page) = labelled();
    page.say(&cards(&NAMES));
    assert_eq!(run(&stage), "quarantined layout");
    let label = ["label", ";", "stty", "-a"];
    let cases: [(&str, Answers<'_>, &str); 6] = [
        ("help", &[("> ", "?"), ("> ", "q")], "the list is empty, and that is correct"),
        ("another list", &[("> ", "2"), ("[2 of", "q")], "[2 of"),
        ("one that is not there", &[("> ", "9"), ("> ", "q")], "lists to choose from"),
        ("an arrow", &[("> ", "\x1b[C"), ("> ", "u"), ("> ", "q")], "rows now"),
        ("a record by its text", &[("> ", "t"), ("record: ", "Hotel Krone\r"), ("> ", "q")], "rows now"),
        ("Ctrl-C", &[("> ", "\x03")], "quarantined"),
    ];
    for (what, keys, wanted) in cases {
        let shown = typed(&stage, &label, keys);
        let shown = if what == "Ctrl-C" { format!("{shown}{}", stage.state("hotels")) } else { shown };
        assert!(shown.contains(wanted), "{what}: {shown}");
        let is_set = |flag: &str| shown.split_whitespace().any(|word| word == flag);
        assert!(is_set("icanon") && is_set("echo") && is_set("isig"), "{what}: {shown}");
        assert_eq!(stage.state("hotels"), "quarantined", "{what}: nothing was taken");
    }
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let (stage, page) = labelled();
    stage.write("tasks/inns/task.toml", &stage.read("tasks/hotels/task.toml"));
    for file in ["template.json", "labels.toml"] {
        stage.write(&format!("tasks/inns/{file}"), &stage.read(&format!("tasks/hotels/{file}")));
    }
    stage.pieme(&["run", "inns"]);
    page.say(&cards(&NAMES));
    run(&stage);
    stage.pieme(&["run", "inns"]);
    // One Enter too many, typed before the second task is shown.
    let shown = typed(&stage, &["label"], &[("> ", "\r\r"), ("2 of 2", ""), ("> ", "s")]);
    assert_eq!((stage.state("hotels").as_str(), stage.state("inns").as_str()), ("ok", "quarantined"), "{shown}");
}

#[test]
fn what_is_found_again_is_tried_on_the_samples() {
    let (stage, page) = labelled();
    page.say(&cards(&NAMES));
    let doubt = || -> serde_json::Value {
        assert_eq!(run(&stage), "quarantined layout");
        let kept = stage.read("tasks/hotels/.state/proposals.json");
        serde_json::from_str::<serde_json::Value>(&kept).expect("it is there")["mended"]["doubt"].clone()
    };
    assert_eq!(doubt(), serde_json::Value::Null);
    let expected = stage.read("tasks/hotels/samples/page-1.json");
    stage.write("tasks/hotels/samples/page-1.json", &expected.replace("Hotel Krone", "Hotel Crown"));
    assert_eq!(doubt(), "sample 1 would no longer be read as it was");
    let shown = typed(&stage, &["label"], &[("> ", "q")]);
    assert!(shown.contains("Check carefully: sample 1"), "{shown}");
}
