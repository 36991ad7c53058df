//! Metrics and health.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::SHOP;
use crate::stage::{Said, Stage};

fn get(address: &str, more: &[&str]) -> (String, String) {
    let said: Said = Command::new("curl")
        .args(["-sS", "--max-time", "30", "-w", "\n%{http_code}"])
        .args(more)
        .arg(address)
        .output()
        .expect("curl is installed")
        .into();
    let (body, code) = said.stdout.rsplit_once('\n').expect("the code stands last");
    (code.to_owned(), body.to_owned())
}

#[test]
fn figures_and_health_are_served_and_a_store_that_cannot_write_is_no_health() {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}metrics = \"127.0.0.1:0\"\n"));
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    let log = stage.read("log");
    let at = log.split_once("metrics at ").and_then(|(_, rest)| rest.split_once("/metrics")).expect("where they are").0;
    let (metrics, health) = (format!("{at}/metrics"), format!("{at}/healthz"));
    let (code, text) = get(&metrics, &[]);
    assert_eq!(code, "200");
    let names = check_exposition(&text);
    for name in [
        "pieme_build_info",
        "pieme_runs_total",
        "pieme_run_duration_seconds_bucket",
        "pieme_queue_length",
        "pieme_running",
        "pieme_scheduler_lag_seconds",
        "pieme_alerts_sent_total",
        "pieme_alerts_failed_total",
        "pieme_alerts_waiting",
        "pieme_store_size_bytes",
        "pieme_tasks",
        "pieme_task_rows",
        "pieme_task_last_success_timestamp_seconds",
        "pieme_task_similarity_ratio",
    ] {
        assert!(names.iter().any(|it| it == name), "{name}\n{text}");
    }
    assert!(text.contains("pieme_runs_total{outcome=\"published\",cause=\"changed\"} "), "{text}");
    assert!(text.contains("pieme_task_rows{task=\"practice-shop\"} 48"), "{text}");
    let (_, short) = get(&format!("{metrics}?tasks=0"), &[]);
    assert!(!short.contains("practice-shop") && short.contains("pieme_runs_total"), "{short}");
    assert_eq!(get(&metrics, &["-H", "Host: evil.test"]).0, "403");

    let (code, body) = get(&health, &[]);
    assert_eq!((code.as_str(), body.contains("\"ok\":true")), ("200", true), "{body}");
    fs::rename(stage.path("state/pieme.db"), stage.path("state/away.db")).expect("our own file");
    stage.wait_for("it to be unwell", || get(&health, &[]).0 == "503");
    assert!(get(&health, &[]).1.contains("was removed or replaced"), "{}", get(&health, &[]).1);
    fs::rename(stage.path("state/away.db"), stage.path("state/pieme.db")).expect("our own file");
    stage.wait_long_for("it to be well again", Duration::from_secs(40), || get(&health, &[]).0 == "200");
}

/// Every line of the text format is a comment that announces a family, or a sample of the family announced last.
fn check_exposition(text: &str) -> Vec<String> {
    let line = regex::Regex::new(
        r#"^(pieme_[a-z_]+)(\{[a-z]+="[^"\\]*"(?:,[a-z]+="[^"\\]*")*\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|NaN|[+-]Inf)$"#,
    )
    .expect("a regular expression");
    let mut family = String::new();
    let mut names = Vec::new();
    for text in text.lines() {
        if let Some(announced) = text.strip_prefix("# TYPE ") {
            family = announced.split(' ').next().unwrap_or_default().to_owned();
        } else if !text.starts_with("# HELP ") {
            let found = line.captures(text).unwrap_or_else(|| panic!("not a sample: {text}"));
            assert!(found[1].starts_with(&family), "{text} stands under {family}");
            names.push(found[1].to_owned());
        }
    }
    assert!(text.ends_with('\n'));
    names
}
