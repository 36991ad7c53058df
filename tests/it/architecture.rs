//! The house rules of ARCHITECTURE.md, read off the source itself.

mod portable;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which module may use which. A new arrow fails here until someone says that it may be.
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("due", &["model"]),
    ("page", &["model"]),
    ("induce", &["model", "page"]),
    ("normalise", &["model"]),
    ("extract", &["model", "page", "induce"]),
    ("study", &["model", "page", "induce", "normalise", "extract"]),
    ("judge", &["model"]),
    ("guard", &["model"]),
    ("robot", &["model", "page", "guard"]),
    // What a recording shows is read as the robot and the learner would read it.
    ("draft", &["model", "page", "induce", "guard", "robot"]),
    // Whom it tells, and how: over the guard's connections and with the robot's client.
    ("alert", &["model", "judge", "guard", "robot"]),
    // A folder is checked when it is dropped: its template must be one, its columns and steps must make sense, its alerts must
    // go somewhere.
    ("taskdir", &["model", "due", "induce", "extract", "robot", "alert"]),
    ("config", &["model", "alert", "taskdir"]),
    // What a person asks of a page, and the answer, cross it as they are.
    ("wire", &["model", "study"]),
    ("store", &["model"]),
    // It writes the store's rows, and has the store make SQLite files.
    ("export", &["model", "store"]),
    ("seal", &["model"]),
    // A walk step by step, as the terminal and a sealed process do it.
    ("stepwise", &["model", "page", "induce", "extract", "robot"]),
    (
        "worker",
        &["model", "seal", "page", "induce", "normalise", "extract", "study", "judge", "robot", "wire", "stepwise"],
    ),
    // The parent of a run connects for it, under the task's guard; it judges how tasks stand, and has alerts told. Questions
    // about pages it passes on.
    ("daemon", &["model", "due", "study", "judge", "config", "taskdir", "wire", "store", "guard", "alert"]),
    ("supervise", &["model", "page", "induce", "study", "config", "store", "taskdir"]),
    // One line a task, the values of rows: the same in the terminal and in the browser.
    ("show", &["model", "normalise", "judge", "config", "taskdir", "store", "daemon"]),
    ("practice", &[]),
    // In the daemon's process: it asks the daemon for what the control socket can be asked for, and reads by itself.
    // What a person says of a page it passes on as it is.
    ("web", &["model", "judge", "study", "config", "taskdir", "store", "daemon", "supervise", "show"]),
    (
        "cli",
        &[
            "model",
            "page",
            "induce",
            "normalise",
            "extract",
            "study",
            "judge",
            "robot",
            "draft",
            "alert",
            "config",
            "taskdir",
            "store",
            "export",
            "daemon",
            "seal",
            "supervise",
            "stepwise",
            "show",
            "practice",
            // The password is set here; the service is started here, with the dashboard as its front.
            "web",
        ],
    ),
    ("bin", &["cli", "daemon", "worker"]),
];

/// One owner for each piece of the outside world.
const OWNED: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("tokio_postgres", &["store"]),
    ("reqwest", &["robot"]),
    ("axum", &["practice", "daemon", "web"]),
    ("lettre", &["alert"]),
    ("clap", &["cli"]),
    ("notify::", &["daemon"]),
    ("tokio_cron_scheduler", &["daemon"]),
    ("html5ever", &["page"]),
    ("println!", &[]),
    ("eprintln!", &[]),
    ("Utc::now", &["worker", "daemon", "cli", "robot", "practice", "web"]),
    ("Instant::now", &["worker", "daemon", "cli", "robot", "practice", "web"]),
    ("SystemTime::now", &[]),
];

struct Source {
    path: PathBuf,
    module: String,
    /// Without the unit tests at its end.
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src can be read") {
            let path = entry.expect("an entry of src").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let inside = path.strip_prefix(&root).expect("a path below src");
                if inside.iter().any(|part| part == "tests.rs" || part == "tests") {
                    continue;
                }
                let first = inside.components().next().expect("at least a file name").as_os_str().to_string_lossy();
                let module = first.trim_end_matches(".rs").to_owned();
                let text = fs::read_to_string(&path).expect("a source file");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push(Source { path, module, code });
            }
        }
    }
    assert!(found.len() > 30, "the source was found: {}", found.len());
    found
}

fn used_modules(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for start in ["crate::", "pieme::"] {
            for (place, _) in line.match_indices(start) {
                let rest = &line[place + start.len()..];
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                used.insert(name);
            }
        }
    }
    used.remove("");
    used
}

#[test]
fn modules_use_each_other_only_in_the_stated_directions() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.module != "lib") {
        let Some(may_use) = allowed.get(source.module.as_str()) else {
            wrong.push(format!("{}: module `{}` is not in MAY_USE", source.path.display(), source.module));
            continue;
        };
        for used in used_modules(&source.code) {
            if used != source.module && !may_use.contains(&used.as_str()) {
                wrong.push(format!("{}: {} → {used}", source.path.display(), source.module));
            }
        }
    }
    assert!(wrong.is_empty(), "new arrows:\n{}", wrong.join("\n"));
}

#[test]
fn each_piece_of_the_outside_world_has_one_owner() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (what, owners) in OWNED {
            if source.code.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(what))
                && !owners.contains(&source.module.as_str())
            {
                wrong.push(format!("{}: {what} belongs to {owners:?}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_is_in_the_map() {
    let map =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    assert!(map.lines().count() <= 170, "the map fits on a few screens");
    for (module, _) in MAY_USE {
        assert!(map.contains(&format!("`{module}")), "ARCHITECTURE.md does not say what `{module}` is");
    }
}
