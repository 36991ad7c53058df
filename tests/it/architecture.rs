//! The house rules of ARCHITECTURE.md, checked against the source.

mod house;
mod pipeline;
mod portable;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which module may use which. A new dependency fails here until it is allowed explicitly.
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("due", &["model"]),
    ("page", &["model"]),
    ("learn", &["model", "page"]),
    ("normalise", &["model"]),
    // A page and a person's supervision of it; pure, so that a sandboxed process can do it.
    ("labelling::page", &["model", "page", "learn", "normalise"]),
    ("judge", &["model"]),
    ("guard", &["model"]),
    ("robot", &["model", "page", "guard"]),
    // Recorded pages are parsed as a walk and the learner would parse them.
    ("draft", &["model", "page", "learn", "guard"]),
    // Delivers over the guard's connections with the robot's client.
    ("alert", &["model", "judge", "guard", "robot", "process"]),
    // A folder is validated when it is dropped: its template, columns, steps and alert targets.
    ("tasks", &["model", "due", "page", "learn", "guard", "alert"]),
    ("config", &["model", "alert", "tasks"]),
    // A person's labelling requests and their answers cross it unchanged.
    ("protocol", &["model", "labelling::page"]),
    ("store", &["model"]),
    // Writes the store's rows, and has the store create SQLite files.
    ("export", &["model", "store"]),
    ("sandbox", &["model"]),
    // Kills a process group and reaps its child; for runs and for the commands of alerts.
    ("process", &[]),
    // A run step by step, in the terminal or in a sandboxed process.
    ("stepwise", &["model", "page", "learn", "robot"]),
    (
        "worker",
        &[
            "model",
            "sandbox",
            "page",
            "learn",
            "normalise",
            "labelling::page",
            "judge",
            "robot",
            "protocol",
            "stepwise",
        ],
    ),
    // The parent of a run: connects for it under the task's guard, computes task states and sends alerts. Requests
    // about pages are passed on to a child.
    (
        "daemon",
        &[
            "model",
            "due",
            "labelling::page",
            "judge",
            "config",
            "tasks",
            "protocol",
            "store",
            "guard",
            "alert",
            "process",
        ],
    ),
    ("labelling::task", &["model", "page", "learn", "labelling::page", "config", "store", "tasks"]),
    // One line per task and the values of rows: the same in the terminal and in the browser.
    ("show", &["model", "normalise", "judge", "config", "tasks", "store", "daemon"]),
    ("practice", &[]),
    // In the daemon's process: it sends the daemon the same requests as the control socket, and reads the store itself.
    // A person's labelling requests are passed on unchanged.
    ("web", &["model", "judge", "labelling::page", "labelling::task", "config", "tasks", "store", "daemon", "show"]),
    (
        "cli",
        &[
            "model",
            "page",
            "learn",
            "normalise",
            "labelling::page",
            "labelling::task",
            "judge",
            "robot",
            "draft",
            "alert",
            "config",
            "tasks",
            "store",
            "export",
            "daemon",
            "sandbox",
            "stepwise",
            "show",
            "practice",
            // The CLI sets the password, and starts the service with the dashboard.
            "web",
        ],
    ),
    ("bin", &["cli", "daemon", "worker"]),
];

/// One owner for each part of the outside world.
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
                let mut module = first.trim_end_matches(".rs").to_owned();
                // One half of it is pure, the other is not.
                if module == "labelling" {
                    let second = inside.iter().nth(1).expect("a file in it").to_string_lossy();
                    if second == "mod.rs" {
                        continue;
                    }
                    module = format!("labelling::{}", second.trim_end_matches(".rs"));
                }
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
                let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
                let name: String = rest.chars().take_while(is_part).collect();
                let inside = rest[name.len()..].strip_prefix("::").filter(|_| name == "labelling");
                used.insert(match inside {
                    Some(rest) => format!("{name}::{}", rest.chars().take_while(is_part).collect::<String>()),
                    None => name,
                });
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
    for (module, _) in MAY_USE {
        let folder = module.replace("::", "/");
        assert!(map.contains(&format!("`{folder}")), "ARCHITECTURE.md does not say what `{folder}` is");
    }
}
