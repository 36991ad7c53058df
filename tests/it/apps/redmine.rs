//! Redmine (tests/apps/redmine/): the issues that are assigned to jo, whom only a log-in tells apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::SECRET;
use super::reader::{Reader, cells};
use super::server::{AppServer, query, text};

const DATABASE: &str = "instances/default/redmine.sqlite3";
/// The columns whose values are known from the database.
const FIELDS: [&str; 4] = ["tracker", "status", "priority", "subject"];
/// As Redmine sets them after its installation.
const DEFAULT_COLUMNS: [&str; 6] = ["tracker", "status", "priority", "subject", "assigned_to", "updated_on"];
/// How many issues are jo's.
const OF_JO: usize = 89;

fn server(state: &Path) -> Command {
    let mut puma = Command::new("puma");
    puma.args(["-e", "production", "-b", "tcp://127.0.0.1:0", "-t", "1:4", "config.ru"]).current_dir(state);
    puma.envs([("RAILS_ENV", "production"), ("SECRET_KEY_BASE", "only-on-loopback")]);
    puma
}

struct Redmine {
    app: AppServer,
    jo: Reader,
}

impl Redmine {
    /// Redmine, and jo's issues as a person has added them.
    fn start() -> Redmine {
        let app = AppServer::start("redmine", server);
        // Redmine's robots.txt excludes its lists.
        let jo = Reader::new(
            &app.url,
            "/issues?assigned_to_id=me&set_filter=1",
            "user = 'jo', url = '/login'",
            ", robots_txt = false",
        );
        jo.learn();
        Redmine { app, jo }
    }

    fn query(&self, sql: &str) -> Vec<Value> {
        query(&self.app.state().join(DATABASE), sql)
    }

    /// The fields of jo's issues, by number, from the database.
    fn truth(&self) -> BTreeMap<u64, BTreeMap<&'static str, String>> {
        let rows = self.query(
            "SELECT i.id, t.name AS tracker, s.name AS status, p.name AS priority, i.subject FROM issues i \
             JOIN trackers t ON t.id = i.tracker_id JOIN issue_statuses s ON s.id = i.status_id \
             JOIN enumerations p ON p.id = i.priority_id JOIN users u ON u.id = i.assigned_to_id WHERE u.login = 'jo'",
        );
        let fields = |row: &Value| FIELDS.iter().map(|&field| (field, text(row, field))).collect();
        rows.iter().map(|row| (row["id"].as_u64().expect("a number"), fields(row))).collect()
    }

    /// What is wrong with these rows: values of no issue, and values of another field. Without `complete`, a value may
    /// be missing.
    fn faults(&self, rows: &[Value], complete: bool) -> Vec<String> {
        let truth = self.truth();
        let mut faults = Vec::new();
        for row in rows {
            let Some((number, issue)) = issue_number(row).and_then(|number| Some((number, truth.get(&number)?))) else {
                faults.push(format!("no issue: {row}"));
                continue;
            };
            for (&field, value) in issue {
                match row[field].as_str().filter(|text| !text.is_empty()) {
                    Some(text) if text == value => {}
                    None if !complete => {}
                    found => faults.push(format!("issue {number}: {field} is {value:?}, not {found:?}")),
                }
            }
        }
        faults
    }

    /// All issues of jo are published, with every value under its own name.
    fn assert_right(&self) {
        let rows = self.jo.rows();
        assert_eq!(rows.len(), OF_JO);
        assert_eq!(rows.iter().filter_map(issue_number).collect::<BTreeSet<_>>().len(), OF_JO, "each issue once");
        let faults = self.faults(&rows, true);
        assert!(faults.is_empty(), "{} faults, for example {:?}", faults.len(), &faults[..3.min(faults.len())]);
    }

    /// As an administrator does under Settings, Issue tracking.
    fn show_columns(&self, columns: &[&str]) {
        let list: String = columns.iter().map(|column| format!("- {column}\n")).collect();
        // Redmine reads its settings again when the latest of them is younger than its copy.
        self.query(&format!(
            "DELETE FROM settings WHERE name = 'issue_list_default_columns'; \
             INSERT INTO settings (name, value, updated_on) \
             VALUES ('issue_list_default_columns', '---\n{list}', datetime('now', '+1 day'))"
        ));
    }

    /// Jo edits an issue over the REST API.
    fn edit(&self, number: u64, json: &str) {
        let url = format!("{}/issues/{number}.json", self.app.url);
        let curl = Command::new("curl")
            .args(["-sS", "--fail", "-X", "PUT", "-u", &format!("jo:{SECRET}"), "-H", "content-type: application/json"])
            .args(["-d", json, &url])
            .output()
            .expect("curl is installed");
        assert!(curl.status.success(), "{}", String::from_utf8_lossy(&curl.stderr));
    }

    /// How often jo has logged in, as Redmine counts it.
    fn logins(&self) -> usize {
        let log = std::fs::read_to_string(self.app.state().join("instances/default/log/production.log"));
        log.unwrap_or_default().matches("Successful authentication for 'jo'").count()
    }
}

fn issue_number(row: &Value) -> Option<u64> {
    cells(row).find_map(|cell| cell.rsplit_once("/issues/")?.1.parse().ok())
}

#[test]
fn redmine_is_entered_once_and_all_issues_of_its_user_are_read() {
    let redmine = Redmine::start();
    redmine.assert_right();
    for _ in 0..2 {
        redmine.jo.run_well("unchanged");
    }
    assert_eq!(redmine.logins(), 1, "one log-in in four runs");
    let status = redmine.jo.stage.status("app");
    assert_eq!((status["state"].as_str(), status["rows"].as_u64()), (Some("ok"), Some(OF_JO as u64)), "{status}");
}

#[test]
fn redmine_is_entered_again_after_it_has_ended_the_session() {
    let redmine = Redmine::start();
    redmine.query("DELETE FROM tokens WHERE action = 'session'");
    redmine.jo.run_well("unchanged");
    redmine.assert_right();
    assert_eq!(redmine.logins(), 2);
}

#[test]
fn an_edited_issue_of_redmine_is_one_changed_record() {
    let redmine = Redmine::start();
    let before = redmine.truth()[&176]["subject"].clone();
    redmine.edit(176, r#"{"issue": {"subject": "Ladder 176 is <b>mended</b>"}}"#);
    redmine.jo.run_well("changed");
    redmine.assert_right();
    let (counts, cells) = redmine.jo.diff();
    assert_eq!(counts, [0, 1, 0], "{cells:?}");
    let columns: Vec<&str> = cells.iter().map(|cell| cell[1].as_str()).collect();
    assert_eq!(columns, ["subject", "updated"], "{cells:?}");
    assert_eq!(cells[0][2..], [before, "Ladder 176 is <b>mended</b>".to_owned()]);
    assert!(cells[0][0].contains("176"), "the record is named by its key: {cells:?}");
    redmine.jo.assert_has_key();
}

/// Orders of columns that an administrator may choose.
const OTHER_COLUMNS: [&[&str]; 5] = [
    // Swapped: both hold one word.
    &["tracker", "priority", "status", "subject", "assigned_to", "updated_on"],
    // Moved to the front.
    &["subject", "tracker", "status", "priority", "assigned_to", "updated_on"],
    // Moved to the end.
    &["status", "priority", "subject", "assigned_to", "updated_on", "tracker"],
    // Inserted.
    &["tracker", "status", "author", "priority", "done_ratio", "subject", "assigned_to", "updated_on", "due_date"],
    // Dropped.
    &["tracker", "priority", "subject", "assigned_to", "updated_on"],
];

#[test]
fn columns_that_redmines_administrator_moves_are_read_right_or_quarantined() {
    let redmine = Redmine::start();
    let mut wrong = Vec::new();
    for columns in OTHER_COLUMNS {
        redmine.show_columns(columns);
        let (outcome, cause) = redmine.jo.run();
        let rows = redmine.jo.rows();
        let is_expected =
            outcome == "published" || (outcome == "quarantined" && ["columns", "layout"].contains(&&*cause));
        let faults = redmine.faults(&rows, outcome != "published");
        if !is_expected || rows.len() != OF_JO || !faults.is_empty() {
            let example = faults.first().cloned().unwrap_or_default();
            wrong.push(format!(
                "{columns:?}: {outcome} ({cause}), {} rows, {} faults, {example}",
                rows.len(),
                faults.len()
            ));
        }
        redmine.show_columns(&DEFAULT_COLUMNS);
        assert_eq!(redmine.jo.run().0, "published", "after the change is undone: {columns:?}");
        redmine.assert_right();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_column_that_redmine_no_longer_shows_is_recovered_without_a_wrong_value() {
    let redmine = Redmine::start();
    redmine.show_columns(&["tracker", "status", "subject", "assigned_to", "updated_on"]);
    assert_eq!(redmine.jo.run(), ("quarantined".to_owned(), "columns".to_owned()), "{}", redmine.jo.log());
    redmine.assert_right();
    assert_eq!(redmine.jo.stage.status("app")["do"], "pieme label app");

    let proposed = redmine.jo.proposal();
    let faults = redmine.faults(&proposed, false);
    assert!(
        !proposed.is_empty() && faults.is_empty(),
        "the proposal has {} faults: {:?}",
        faults.len(),
        faults.first()
    );
    // Whether this is enough to lose a column is not asked here.
    redmine.jo.stage.pieme(&["label", "app", "--yes"]);
    let rows = redmine.jo.rows();
    let faults = redmine.faults(&rows, false);
    assert!(
        rows.len() == OF_JO && faults.is_empty(),
        "{} rows, {} faults: {:?}",
        rows.len(),
        faults.len(),
        faults.first()
    );

    redmine.show_columns(&DEFAULT_COLUMNS);
    assert_eq!(redmine.jo.run().0, "published", "{}", redmine.jo.log());
    redmine.assert_right();
}
