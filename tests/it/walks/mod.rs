//! A walk is whole or fails: a bad page at every position, for every way of paging, through the daemon.

mod shop;

use serde_json::Value;
use shop::{FAULTS, Fault, PAGES, Paging, ROWS, Shop};

use crate::stage::Stage;

/// A task on the shop, in a folder of its own.
fn lay_out(stage: &Stage, shop: &Shop, name: &str, paging: Paging) {
    let task = format!("url = \"{}\"\nfetch.delay = \"0s\"\nfetch.retries = 0\n", shop.url(paging.path()));
    stage.write(&format!("tasks/{name}/task.toml"), &task);
    stage.write(&format!("tasks/{name}/robot.toml"), &paging.robot());
}

fn name_of(paging: Paging) -> &'static str {
    &paging.path()[1..]
}

/// A daemon with a task for each way of paging; a person has confirmed their rows.
fn watched(shop: &Shop, pagings: &[Paging]) -> Stage {
    let mut stage = Stage::new();
    stage.grant_private(&shop.url("/"));
    stage.start_daemon();
    for &paging in pagings {
        let name = name_of(paging);
        lay_out(&stage, shop, name, paging);
        stage.wait_for("the first run", || !["absent", "never", "running", "queued"].contains(&&*stage.state(name)));
        let labelled = stage.pieme(&["label", name, "--yes"]);
        assert_eq!(labelled.code, 0, "{name}: {}{}", labelled.stdout, labelled.stderr);
        assert_eq!(run(&stage, name), "published unchanged", "{name}");
        assert_eq!(published(&stage, name), ROWS, "{name}");
    }
    stage
}

fn verdict(stage: &Stage, name: &str) -> Value {
    stage.pieme(&["run", name, "--json"]).json()
}

fn outcome(verdict: &Value) -> String {
    format!("{} {}", verdict["outcome"].as_str().unwrap_or("?"), verdict["cause"].as_str().unwrap_or("?"))
}

fn run(stage: &Stage, name: &str) -> String {
    outcome(&verdict(stage, name))
}

fn published(stage: &Stage, name: &str) -> usize {
    stage.pieme(&["records", name, "--json"]).json()["records"].as_array().map_or(0, Vec::len)
}

/// Whether nothing can tell this from a list that has become shorter.
fn is_a_shorter_list(paging: Paging, fault: Fault, position: usize) -> bool {
    let is_last = position == PAGES;
    match fault {
        Fault::HalfOfRows => is_last,
        // The page before names no further one, and the one after is empty as well.
        Fault::NoRows | Fault::NoRowsNoPager => is_last && paging == Paging::Parameter,
        // The page after does not exist either.
        Fault::Status404 => is_last && paging == Paging::Parameter,
        // Whole rows, and a fragment has no end that could be missing.
        Fault::CutUnannounced => is_last && paging == Paging::LoadMore,
        _ => false,
    }
}

/// Runs with each fault at each position; the table of outcomes, and the lines that are wrong.
fn outcomes(stage: &Stage, shop: &Shop, paging: Paging) -> (String, Vec<String>) {
    let name = name_of(paging);
    let (mut table, mut wrong) = (format!("\n{paging:?}\n"), Vec::new());
    for fault in FAULTS {
        table += &format!("  {:<18}", format!("{fault:?}"));
        for position in 1..=PAGES {
            shop.set_bad(Some((fault, position)));
            let verdict = verdict(stage, name);
            let outcome = outcome(&verdict);
            table += &format!("{outcome:<22}");
            let rows = published(stage, name);
            let is_short = outcome.starts_with("published") || rows != ROWS;
            if is_short && !is_a_shorter_list(paging, fault, position) {
                wrong.push(format!(
                    "{name} {fault:?} on page {position}: {outcome}, {rows} rows: {}",
                    verdict["sentence"]
                ));
            }
            if rows != ROWS {
                shop.set_bad(None);
                run(stage, name);
            }
        }
        table.push('\n');
    }
    shop.set_bad(None);
    let after = run(stage, name);
    if !after.starts_with("published") || published(stage, name) != ROWS {
        wrong.push(format!("{name}: the whole list again: {after}"));
    }
    (table, wrong)
}

fn none_is_published_short(paging: Paging) {
    let shop = Shop::start();
    let stage = watched(&shop, &[paging]);
    let (table, wrong) = outcomes(&stage, &shop, paging);
    eprintln!("{table}");
    assert!(wrong.is_empty(), "{table}\n{}", wrong.join("\n"));
}

#[test]
fn a_walk_over_next_links_is_whole_or_fails() {
    none_is_published_short(Paging::NextLink);
}

#[test]
fn a_walk_over_numbered_pages_is_whole_or_fails() {
    none_is_published_short(Paging::Numbers);
}

#[test]
fn a_walk_by_a_page_parameter_is_whole_or_fails() {
    none_is_published_short(Paging::Parameter);
}

#[test]
fn a_walk_over_loaded_fragments_is_whole_or_fails() {
    none_is_published_short(Paging::LoadMore);
}

#[test]
fn a_walk_by_a_cursor_is_whole_or_fails() {
    none_is_published_short(Paging::Cursor);
}
