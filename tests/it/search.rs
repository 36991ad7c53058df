//! Full-text search: what is found, that it is published now, and that the index follows publications.

mod killed;

use chrono::Utc;
use pieme::store::{Query, ReviewAction, SearchRequest, SearchResults};
use serde_json::{Value, json};

use crate::kept::{Found, Kept, name, texts};
use crate::stage::Stage;

/// The same tests on each database.
macro_rules! on_both {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(super::Kept::new) })*
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(super::Kept::on_postgres) })*
        }
    };
}

on_both! {
    words_phrases_beginnings_exclusions_and_columns_find_what_they_say
    the_program_prints_hits_with_snippets_and_pages_through_them
    only_rows_that_are_published_now_are_found_however_far_the_index_is_behind
    rows_with_the_same_key_are_all_found_and_rows_that_say_the_same_once
    a_publication_between_two_steps_is_followed_to_its_end
}

impl Kept {
    /// Indexes everything, and returns the number of steps.
    fn index(&mut self) -> usize {
        let mut steps = 0;
        while let Some((task, _)) = self.store.unindexed_tasks().expect("tasks").into_iter().next() {
            steps += 1;
            self.store.index_next_part(&task).expect("a step");
            assert!(steps < 1_000, "it comes to an end");
        }
        steps
    }

    fn search(&self, typed: &str) -> SearchResults {
        let query = Query::parse(typed, None).expect("words");
        self.store.search(&SearchRequest { query, tasks: Vec::new(), limit: 100, offset: 0 }).expect("an answer")
    }

    /// The first cells of the hits, sorted.
    fn found(&self, typed: &str) -> Vec<String> {
        let answer = self.search(typed);
        assert_eq!((answer.total, answer.is_total_capped), (answer.hits.len() as u64, false), "{typed}");
        let mut found: Vec<String> = answer.hits.iter().filter_map(|hit| hit.row.cells[0].clone()).collect();
        found.sort();
        found
    }
}

const COLUMNS: &[&str] = &["name", "price", "Long text"];

fn hotels(new: fn() -> Kept) -> Kept {
    let mut kept = new();
    kept.publish_texts(
        "hotels",
        COLUMNS,
        &[
            &["Grand Hôtel", "95,00 €", "by the sea, with breakfast"],
            &["Hotel Grand", "120 CAD", "in the hills; 95 steps"],
            &["東京ホテル", "¥9500", "新宿駅 close to the station"],
            &["호텔은 서울", "", "Breakfast"],
            &["Adler", "95", "hotelier's own hotel, hotel, hotel"],
        ],
    );
    kept.publish_texts("flats", &["where", "rent"], &[&["Grand Parade, Halifax", "95"]]);
    kept.index();
    kept
}

fn words_phrases_beginnings_exclusions_and_columns_find_what_they_say(new: fn() -> Kept) {
    let kept = hotels(new);
    for (typed, expected) in [
        ("GRAND", &["Grand Hôtel", "Grand Parade, Halifax", "Hotel Grand"][..]),
        ("grand hotel", &["Grand Hôtel", "Hotel Grand"]),
        ("\"grand hotel\"", &["Grand Hôtel"]),
        ("hôtel", &["Adler", "Grand Hôtel", "Hotel Grand"]),
        ("hot*", &["Adler", "Grand Hôtel", "Hotel Grand"]),
        ("hotelie*", &["Adler"]),
        ("grand -breakfast", &["Grand Parade, Halifax", "Hotel Grand"]),
        ("95", &["Adler", "Grand Hôtel", "Grand Parade, Halifax", "Hotel Grand"]),
        ("price:95", &["Adler", "Grand Hôtel"]),
        ("95 -price:95 -rent:95", &["Hotel Grand"]),
        ("rent:95", &["Grand Parade, Halifax"]),
        ("long_text:95", &["Hotel Grand"]),
        ("\"long text\":\"with breakfast\"", &["Grand Hôtel"]),
        ("nosuch:95", &[]),
        ("東京", &["東京ホテル"]),
        ("ホテル", &["東京ホテル"]),
        ("京東", &[]),
        ("호텔", &["호텔은 서울"]),
        ("breakfast", &["Grand Hôtel", "호텔은 서울"]),
        ("\"hotel 120\"", &[]),
        ("AND OR ( \" *", &[]),
        ("nothing like it", &[]),
    ] {
        assert_eq!(kept.found(typed), expected, "{typed}");
    }
    let best = &kept.search("hotel").hits[0];
    assert_eq!(best.row.cells[0].as_deref(), Some("Adler"), "it says so most often");
}

fn the_program_prints_hits_with_snippets_and_pages_through_them(new: fn() -> Kept) {
    let mut kept = hotels(new);
    let answer = kept.pieme(&["search", "grand -breakfast", "--json"]).json();
    assert_eq!((&answer["total"], &answer["more"], &answer["behind"]), (&json!(2), &json!(false), &json!(0)));
    let hit = answer["hits"].as_array().expect("hits").iter().find(|hit| hit["task"] == "hotels").expect("a hotel");
    assert_eq!(
        hit["record"],
        json!({ "name": "Hotel Grand", "price": "120 CAD", "Long text": "in the hills; 95 steps" })
    );
    assert_eq!(hit["matches"], json!([{ "column": "name", "snippet": "Hotel Grand", "marks": [[6, 11]] }]));
    assert!(hit["rank"].as_f64() > Some(0.0) && hit["first_seen"].as_str().is_some());
    let only = kept.pieme(&["search", "grand", "--task", "flats", "--json"]).json();
    assert_eq!((&only["total"], &only["hits"][0]["task"]), (&json!(1), &json!("flats")));
    assert_eq!(kept.pieme(&["search", "95", "--column", "price", "--json"]).json()["total"], 2);
    assert_eq!(kept.pieme(&["search", "95", "--task", "nosuch", "--json"]).json()["total"], 0);

    let said = kept.pieme(&["search", "hotel", "--limit", "1", "--offset", "1"]);
    assert_eq!(said.code, 0);
    assert!(said.stderr.contains("Rows 2 to 2 of 3; --offset 2 for more"), "{}", said.stderr);
    assert!(said.stdout.contains("[H"), "{}", said.stdout);
    assert!(kept.pieme(&["search", "nowhere"]).stderr.contains("No rows found"));
    let refused = kept.pieme(&["search", "--", "-grand"]);
    assert_eq!(
        (refused.code, refused.stderr.contains("a search needs at least one word")),
        (2, true),
        "{}",
        refused.stderr
    );

    let all: Vec<Vec<String>> = (0..12_000).map(|n| vec![format!("everywhere {n}")]).collect();
    kept.publish("many", &Found { columns: &["name"], values: &[], key: &["name"], rows: all });
    let behind = kept.pieme(&["search", "everywhere", "--json"]).json();
    assert_eq!((&behind["total"], &behind["behind"]), (&json!(0), &json!(12_000)), "not in the index yet");
    let doctor = kept.pieme(&["doctor"]).stdout;
    assert!(doctor.contains("the search index is incomplete for 1 task (12000 rows)"), "{doctor}");
    assert!(kept.index() > 2, "in several steps");
    let answer = kept.pieme(&["search", "everywhere", "--json"]).json();
    assert_eq!((&answer["total"], &answer["more"]), (&json!(10_000), &json!(true)));
    assert_eq!(answer["hits"].as_array().map(Vec::len), Some(20));
    assert!(kept.pieme(&["doctor"]).stdout.contains("all published rows are in the search index"));
}

fn only_rows_that_are_published_now_are_found_however_far_the_index_is_behind(new: fn() -> Kept) {
    let mut kept = new();
    kept.publish_texts("t", COLUMNS, &[&["a", "1", "old words"], &["b", "2", "stay"], &["c", "3", "go"]]);
    kept.index();
    kept.publish_texts("t", COLUMNS, &[&["new", "0", "first"], &["a", "1", "new words"], &["b", "2", "stay"]]);
    assert_eq!(kept.found("old"), [""; 0], "the record says something else by now");
    assert_eq!(kept.found("go"), [""; 0], "it is gone");
    assert_eq!(kept.found("stay"), ["b"], "it stands elsewhere in the table");
    assert_eq!(kept.found("new"), [""; 0], "not in the index yet");
    assert_eq!(kept.search("stay").unindexed_rows, 3);
    kept.index();
    assert_eq!(
        (kept.found("new"), kept.found("words"), kept.found("stay")),
        (texts(&[&["a", "new"], &["a"], &["b"]])[0].clone(), vec!["a".to_owned()], vec!["b".to_owned()])
    );
    let task = name("t");
    kept.store
        .apply_review(&task, ReviewAction::RollBack, &["name".to_owned()], Utc::now())
        .expect("rolled back")
        .expect("a run");
    kept.index();
    assert_eq!(
        (kept.found("old"), kept.found("go"), kept.found("first")),
        (vec!["a".to_owned()], vec!["c".to_owned()], vec![])
    );
}

fn rows_with_the_same_key_are_all_found_and_rows_that_say_the_same_once(new: fn() -> Kept) {
    let mut kept = new();
    let rows: &[&[&str]] = &[&["k", "one"], &["k", "two"], &["k", "two"], &["l", "three"]];
    kept.publish_texts("small", &["name", "text"], rows);
    let filler = (0..6_000).map(|n| vec![format!("filler {n}"), "x".to_owned()]);
    let all: Vec<Vec<String>> = texts(rows).into_iter().chain(filler).collect();
    kept.publish("large", &Found { columns: &["name", "text"], values: &[], key: &["name"], rows: all.clone() });
    kept.index();
    for word in ["one", "two", "three"] {
        let tasks: Vec<String> = kept.search(word).hits.iter().map(|hit| hit.task.to_string()).collect();
        assert_eq!((tasks.len(), tasks.contains(&"small".to_owned())), (2, true), "{word}: {tasks:?}");
    }
    // In another order, and nothing else: the same rows are found.
    let turned: Vec<Vec<String>> =
        [vec!["new".to_owned(), "z".to_owned()]].into_iter().chain(all.into_iter().rev()).collect();
    kept.publish("large", &Found { columns: &["name", "text"], values: &[], key: &["name"], rows: turned });
    kept.index();
    for word in ["one", "two", "three"] {
        assert_eq!(kept.search(word).total, 2, "{word}");
    }
}

fn a_publication_between_two_steps_is_followed_to_its_end(new: fn() -> Kept) {
    let mut kept = new();
    let rows = |generation: usize| -> Vec<Vec<String>> {
        (0..7_000).map(|n| vec![format!("n{n}"), format!("g{generation}x{n} {}", "text ".repeat(40))]).collect()
    };
    let found = |generation| Found { columns: &["name", "text"], values: &[], key: &["name"], rows: rows(generation) };
    kept.publish("t", &found(1));
    let task = name("t");
    for _ in 0..2 {
        assert!(!kept.store.index_next_part(&task).expect("a step").is_done);
    }
    kept.publish("t", &found(2));
    kept.publish_texts("other", &["name"], &[&["other"]]);
    assert!(!kept.store.index_next_part(&task).expect("a step").is_done);
    while !kept.store.index_next_part(&name("other")).expect("a step").is_done {}
    kept.index();
    assert_eq!(
        (kept.search("g1*").total, kept.search("g2x6999").total, kept.search("g2*").is_total_capped),
        (0, 1, false)
    );
    assert_eq!(kept.search("g2*").total, 7_000);
    assert!(kept.store.index_next_part(&task).expect("a step").is_done, "nothing is left to do");
}

#[test]
fn what_the_daemon_and_the_program_alone_have_published_is_found() {
    let mut stage = Stage::new();
    stage.drop_folder("practice-shop");
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);
    let record = stage.pieme(&["records", "practice-shop", "--json", "--limit", "1"]).json()["records"][0].clone();
    let name = record["name"].as_str().expect("a name").to_owned();
    let found = |stage: &Stage, task: &str| -> Value {
        stage.pieme(&["search", &format!("\"{name}\""), "--task", task, "--json"]).json()["total"].clone()
    };
    assert!(found(&stage, "practice-shop").as_u64() >= Some(1), "{name}");
    stage.drop_folder_as("practice-shop", "again");
    stage.start_daemon();
    // Refused where the daemon has already begun it.
    stage.pieme(&["run", "again"]);
    stage.wait_for("the index", || found(&stage, "again").as_u64() >= Some(1));
    std::fs::remove_dir_all(stage.path("tasks/again")).expect("the folder goes");
    stage.wait_for("the daemon to see it", || stage.state("again") == "absent");
    assert!(found(&stage, "again").as_u64() >= Some(1), "its rows are published still");
}

#[test]
fn a_damaged_index_is_made_anew_and_costs_no_row() {
    let mut kept = hotels(Kept::new);
    let path = kept.path("state/pieme.db");
    let connection = rusqlite::Connection::open(&path).expect("a writer");
    connection.execute("UPDATE _words_data SET block = zeroblob(100) WHERE id > 10", []).expect("damage");
    kept.store = pieme::store::Store::open(&path).expect("the daemon starts all the same");
    assert_eq!(kept.store.unindexed_tasks().expect("tasks").len(), 2);
    kept.index();
    assert_eq!(kept.found("grand").len(), 3);
    // What every step reads first.
    connection.execute("UPDATE _words_data SET block = x'00' WHERE id = 10", []).expect("damage again");
    kept.publish_texts("flats", &["where", "rent"], &[&["Grand Parade, Halifax", "96"]]);
    kept.index();
    assert_eq!((kept.found("grand").len(), kept.found("96")), (3, vec!["Grand Parade, Halifax".to_owned()]));
}
