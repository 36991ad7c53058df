//! The monitoring kit in packaging/monitoring, with the real promtool and what a running daemon serves.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::Value;

use super::stage::{Said, Stage};

const RULES: &str = "packaging/monitoring/prometheus-rules.yml";
const SCRAPE: &str = "packaging/monitoring/prometheus-scrape.yml";
const DASHBOARD: &str = "packaging/monitoring/grafana-dashboard.json";
const RULES_TEST: &str = "tests/monitoring/rules-test.yml";

fn project(inside: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(inside)
}

fn read(inside: &str) -> String {
    fs::read_to_string(project(inside)).unwrap_or_else(|error| panic!("{inside}: {error}"))
}

/// What promtool says; `input` is its stdin.
fn promtool(words: &[&str], input: &str) -> Said {
    let mut child = Command::new("promtool")
        .args(words)
        .current_dir(project(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed (Debian's package prometheus)");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("promtool reads");
    child.wait_with_output().expect("promtool ends").into()
}

/// The metrics of a daemon with both practice tasks, after a run of each.
fn metrics_of_a_daemon() -> String {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}metrics = \"127.0.0.1:0\"\n"));
    stage.drop_folder("practice-shop");
    stage.drop_folder("practice-orders");
    stage.start_daemon();
    stage.wait_for_state("practice-shop", "ok");
    stage.wait_for_state("practice-orders", "ok");
    let log = stage.read("log");
    let at = log.split_once("metrics at ").and_then(|(_, rest)| rest.split_once(", health")).expect("where they are").0;
    let served: Said = Command::new("curl").args(["-sS", "--max-time", "30", at]).output().expect("curl starts").into();
    assert_eq!(served.code, 0, "{}", served.stderr);
    served.stdout
}

fn names_in(text: &str) -> BTreeSet<String> {
    let name = Regex::new("pieme_[a-z_]+").expect("a regular expression");
    name.find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

/// Of samples: the name before the labels or the value.
fn names_served(metrics: &str) -> BTreeSet<String> {
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    samples.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
}

/// What the panels of the dashboard ask for.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    targets.map(|target| target["expr"].as_str().expect("a query").to_owned()).collect()
}

#[test]
fn promtool_has_nothing_to_say_about_the_metrics_and_the_kit_uses_only_what_is_served() {
    let metrics = metrics_of_a_daemon();
    let said = promtool(&["check", "metrics"], &metrics);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""), "{metrics}");

    let served = names_served(&metrics);
    for file in [RULES, DASHBOARD] {
        let used = names_in(&read(file));
        assert!(used.len() > 10, "{file}: {used:?}");
        let missing: Vec<_> = used.difference(&served).collect();
        assert!(missing.is_empty(), "{file} asks for what is not served: {missing:?}\n{metrics}");
    }
    // A metric has one name in the documents, too; a histogram has three more.
    let documented = names_in(&read("docs/alerts.md"));
    let families: BTreeSet<String> =
        metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).map(str::to_owned).collect();
    assert_eq!(documented, families, "docs/alerts.md lists the metrics");
}

#[test]
fn the_rules_are_sound_and_each_alert_fires_on_its_trouble() {
    let said = promtool(&["check", "rules", RULES], "");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.stdout);
    let said = promtool(&["check", "config", SCRAPE], "");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.stdout);
    assert!(said.stdout.contains("1 rule files found"), "{}", said.stdout);
    let said = promtool(&["test", "rules", RULES_TEST], "");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);

    let (rules, tests) = (read(RULES), read(RULES_TEST));
    let blocks: Vec<&str> = rules.split("- alert: ").skip(1).collect();
    assert!(blocks.len() > 10, "{}", blocks.len());
    for block in blocks {
        let name = block.lines().next().expect("a name");
        assert!(tests.contains(&format!("alertname=\"{name}\"")), "{RULES_TEST} does not show {name} firing");
        for part in ["        for: ", "          severity: ", "          summary: ", "          description: "] {
            assert!(block.contains(part), "{name} lacks {part}");
        }
        assert!(block.contains('`'), "{name} does not say what to type");
    }
    let typed = Regex::new("`pieme ([a-z-]+)").expect("a regular expression");
    let verbs: BTreeSet<&str> = typed.captures_iter(&rules).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    assert!(verbs.len() > 5, "{verbs:?}");
    for verb in verbs {
        let help = Command::new(env!("CARGO_BIN_EXE_pieme")).args([verb, "--help"]).output().expect("pieme starts");
        assert!(help.status.success(), "the rules say `pieme {verb}`, which there is not");
    }
}

#[test]
fn the_dashboard_can_be_imported_and_every_query_is_one() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).expect("JSON");
    assert_eq!(dashboard["id"], Value::Null, "Grafana gives it a number");
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    assert!(variables.iter().any(|it| it["type"] == "datasource" && it["name"] == "datasource"), "{variables:?}");
    let panels = dashboard["panels"].as_array().expect("panels");
    let titles: BTreeSet<&str> = panels.iter().filter_map(|panel| panel["title"].as_str()).collect();
    for title in [
        "Tasks by state",
        "Runs by outcome and cause",
        "Run duration",
        "Similarity to the template",
        "Published rows",
        "Scheduler lateness",
        "Queue",
        "Memory",
        "Alerts delivered and failed",
    ] {
        assert!(titles.contains(title), "{title}: {titles:?}");
    }
    let mut numbers = BTreeSet::new();
    for panel in panels {
        assert!(numbers.insert(panel["id"].as_u64()), "two panels have one number: {}", panel["title"]);
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        for target in panel["targets"].as_array().expect("targets") {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        }
    }
    // promtool reads queries as rules; what Grafana fills in is filled in.
    let mut rules = "groups:\n- name: dashboard\n  rules:\n".to_owned();
    let queries = queries(&dashboard);
    for (number, query) in queries.iter().enumerate() {
        let query = query.replace("$__rate_interval", "5m").replace("$job", "pieme");
        let query = query.replace("$instance", ".*").replace("$task", ".*");
        assert!(!query.contains('$'), "{query}");
        let quoted = serde_json::to_string(&query).expect("a string");
        rules.push_str(&format!("  - record: query:number:{number}\n    expr: {quoted}\n"));
    }
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("queries.yml");
    fs::write(&file, rules).expect("a file of ours");
    let said = promtool(&["check", "rules", file.to_str().expect("a plain path")], "");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.stdout);
    assert!(said.stdout.contains(&format!("{} rules found", queries.len())), "{}", said.stdout);
}
