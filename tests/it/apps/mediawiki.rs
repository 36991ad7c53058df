//! MediaWiki (tests/apps/mediawiki/): a private wiki. Whoever is not logged in is asked to do so, without a form.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::reader::{Reader, cells};
use super::server::{AppServer, prepared_folder, query};

const PAGES: usize = 321;
/// Fifty pages a page, the longest first.
const LONG_PAGES: &str = "/index.php?title=Special:LongPages&limit=50";
/// All edits of Bob on one page: MediaWiki pages by the second, and Bob has edited several pages in one.
const EDITS_OF_BOB: &str = "/index.php?title=Special:Contributions/Bob&limit=100";
const RECENT_CHANGES: &str = "/index.php?title=Special:RecentChanges&limit=500&days=30";

fn server(state: &Path) -> Command {
    let mut php = Command::new("php");
    // A changed setting counts from the next request on, and not up to two seconds later.
    php.args(["-d", "opcache.revalidate_freq=0", "-S", "127.0.0.1:0", "-t"]);
    php.arg(prepared_folder("mediawiki").join("code")).env("PIEME_APP", state);
    php
}

struct Wiki {
    app: AppServer,
    reader: Reader,
}

impl Wiki {
    /// The wiki, and one of its lists as a person has added it.
    fn start(list: &str) -> Wiki {
        Wiki::on(AppServer::start("mediawiki", server), list)
    }

    fn on(app: AppServer, list: &str) -> Wiki {
        let login = "user = 'WikiAdmin', url = '/index.php?title=Special:UserLogin'";
        let reader = Reader::new(&app.url, list, login, "");
        reader.learn();
        Wiki { app, reader }
    }

    /// The length of each page in bytes, by title, from the database.
    fn truth(&self) -> BTreeMap<String, u64> {
        let sql = "SELECT replace(page_title, '_', ' ') AS title, page_len FROM page WHERE page_namespace = 0";
        let rows = query(&self.app.state().join("wiki.sqlite"), sql);
        rows.iter()
            .map(|row| (super::server::text(row, "title"), row["page_len"].as_u64().expect("a number")))
            .collect()
    }

    /// Each page is published once, with its own length.
    fn assert_right(&self) {
        let (rows, mut truth) = (self.reader.rows(), self.truth());
        assert_eq!((rows.len(), truth.len()), (PAGES, PAGES));
        for row in &rows {
            let title = cells(row).find(|&cell| truth.contains_key(cell)).unwrap_or_else(|| panic!("no page: {row}"));
            let length = truth.remove(title).expect("it was there");
            assert!(cells(row).any(|cell| length_in(cell) == Some(length)), "{length} bytes: {row}");
        }
    }

    /// Ends all sessions, as the wiki does by itself after an hour.
    fn end_sessions(&self) {
        query(&self.app.state().join("wikicache.sqlite"), "DELETE FROM objectcache WHERE keyname LIKE '%MWSession%'");
    }

    /// How often the log-in form was sent.
    fn logins(&self) -> usize {
        self.app.log().lines().filter(|line| line.contains("POST ") && line.contains("UserLogin")).count()
    }
}

/// Adds a line to the wiki's settings, as its administrator does.
fn set(app: &AppServer, line: &str) {
    fs::write(app.state().join("admin.php"), format!("<?php\n{line}\n")).expect("a file of ours");
}

/// A script of the wiki's own command line, or of tests/apps/mediawiki/.
fn maintain(app: &AppServer, script: &str, arguments: &[&str], input: &str) -> String {
    let code = prepared_folder("mediawiki").join("code");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/mediawiki").join(script);
    let script = if ours.exists() { ours } else { code.join("maintenance").join(script) };
    let mut child = Command::new("php")
        .arg(&script)
        .args(arguments)
        .env("PIEME_APP", app.state())
        .env("PIEME_WIKI", code)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("php is installed");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let done = child.wait_with_output().expect("it ends");
    assert!(done.status.success(), "{}: {}", script.display(), String::from_utf8_lossy(&done.stdout));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The number of a cell like `[1,973 bytes]`.
fn length_in(cell: &str) -> Option<u64> {
    let digits = cell.split_once(" bytes")?.0.rsplit(|c: char| !c.is_ascii_digit() && c != ',').next()?;
    digits.replace(',', "").parse().ok()
}

#[test]
fn a_private_wiki_is_entered_once_and_all_its_pages_are_read() {
    let wiki = Wiki::start(LONG_PAGES);
    wiki.assert_right();
    for _ in 0..2 {
        wiki.reader.run_well("unchanged");
    }
    let status = wiki.reader.stage.status("app");
    assert_eq!((status["state"].as_str(), status["rows"].as_u64()), (Some("ok"), Some(PAGES as u64)), "{status}");
    assert_eq!(wiki.logins(), 1, "one log-in in four runs: the form is shown to those who are logged in as well");
}

#[test]
fn a_private_wiki_is_entered_again_after_it_has_ended_the_session() {
    let wiki = Wiki::start(LONG_PAGES);
    let logins = wiki.logins();
    wiki.end_sessions();
    wiki.reader.run_well("unchanged");
    wiki.assert_right();
    assert_eq!(wiki.logins(), logins + 1);
}

#[test]
fn a_wiki_without_the_page_that_it_shows_after_a_log_in_is_read() {
    let app = AppServer::start("mediawiki", server);
    // The wiki has no “Hauptseite” and answers 404 after each log-in.
    set(&app, "$wgLanguageCode = 'de';");
    let wiki = Wiki::on(app, LONG_PAGES);
    assert_eq!(wiki.reader.rows().len(), PAGES);
}

#[test]
fn an_edited_page_of_a_wiki_is_one_changed_record() {
    let wiki = Wiki::start(LONG_PAGES);
    let title = wiki.truth().into_keys().find(|title| title.ends_with("177")).expect("a page of tests/apps");
    let before = wiki.truth()[&title];
    let text = maintain(&wiki.app, "getText.php", &[&title], "");
    maintain(&wiki.app, "edit.php", &["-u", "WikiAdmin", "-s", "painted", &title], &format!("{text}\nIt was painted."));
    wiki.reader.run_well("changed");
    wiki.assert_right();
    let (counts, cells) = wiki.reader.diff();
    assert_eq!((counts, cells.len()), ([0, 1, 0], 1), "{cells:?}");
    assert_eq!([&cells[0][2], &cells[0][3]].map(|cell| length_in(cell)), [Some(before), Some(wiki.truth()[&title])]);
    assert!(cells[0][0].replace('_', " ").contains(&title), "the record is named by its key: {cells:?}");
    wiki.reader.assert_has_key();
}

#[test]
fn another_skin_of_a_wiki_changes_no_row() {
    let wiki = Wiki::start(LONG_PAGES);
    for skin in ["monobook", "timeless", "vector"] {
        set(&wiki.app, &format!("$wgDefaultSkin = '{skin}';"));
        let page =
            Command::new("curl").args(["-sS", &format!("{}/index.php?title=Special:UserLogin", wiki.app.url)]).output();
        let page = String::from_utf8_lossy(&page.expect("curl is installed").stdout).into_owned();
        assert!(page.contains(&format!("skin-{skin}")), "the wiki has the skin {skin}");
        wiki.reader.run_well("unchanged");
        wiki.assert_right();
    }
}

/// The titles of the rows, and how many there are of each.
fn titles(wiki: &Wiki) -> BTreeMap<String, usize> {
    let truth = wiki.truth();
    let mut titles = BTreeMap::new();
    for row in wiki.reader.rows() {
        let title = cells(&row).find(|&cell| truth.contains_key(cell)).unwrap_or_else(|| panic!("no page: {row}"));
        *titles.entry(title.to_owned()).or_default() += 1;
    }
    titles
}

/// Every page was made once, and nothing has changed since.
fn assert_all_changes(wiki: &Wiki) {
    let expected: BTreeMap<String, usize> = wiki.truth().into_keys().map(|title| (title, 1)).collect();
    assert_eq!(titles(wiki), expected);
}

#[test]
fn another_layout_of_a_wikis_recent_changes_is_quarantined_and_recovered() {
    let wiki = Wiki::start(RECENT_CHANGES);
    assert_all_changes(&wiki);
    // A table for each change becomes a line of a list for each change.
    set(&wiki.app, "$wgDefaultUserOptions['usenewrc'] = 0;");
    assert_eq!(wiki.reader.run(), ("quarantined".to_owned(), "layout".to_owned()), "{}", wiki.reader.log());
    assert_all_changes(&wiki);
    let proposed: Vec<Value> = wiki.reader.proposal();
    assert_eq!(proposed.len(), PAGES);
    let said = wiki.reader.stage.pieme(&["label", "app", "--yes"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_all_changes(&wiki);
    set(&wiki.app, "");
    wiki.reader.run();
    assert_all_changes(&wiki);
    assert_eq!(wiki.reader.stage.status("app")["rows"], PAGES);
}

#[test]
fn no_record_of_a_wiki_changes_while_nobody_edits_a_page() {
    let app = AppServer::start("mediawiki", server);
    maintain(&app, "second_author.php", &[], "");
    let wiki = Wiki::on(app, EDITS_OF_BOB);
    let titles = titles(&wiki);
    assert_eq!((titles.len(), titles.values().sum::<usize>()), (60, 60));
    // Another session has other tokens.
    wiki.end_sessions();
    wiki.reader.run_well("unchanged");
    let rows = wiki.reader.rows();
    let with_token = rows.iter().flat_map(cells).find(|cell| cell.contains("token="));
    assert_eq!(with_token, None, "a token is no value of a record");
}
