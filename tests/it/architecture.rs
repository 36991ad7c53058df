//! The house rules of ARCHITECTURE.md, checked against the source.

mod house;
mod module_graph;
mod paths;
mod pipeline;
mod portable;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use module_graph::ModuleGraph;

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
            // Counts which approved values are of their column's type.
            "normalise",
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
    /// Below src, with slashes.
    file: String,
    module: String,
    text: String,
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
                let file = inside.to_string_lossy().replace('\\', "/");
                let module = top_module(&module_graph::module_of(&file));
                let text = fs::read_to_string(&path).expect("a source file");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push(Source { path, file, module, text, code });
            }
        }
    }
    assert!(found.len() > 30, "the source was found: {}", found.len());
    found
}

/// The module as MAY_USE names it. One half of `labelling` is pure, the other is not. Empty for lib.rs.
fn top_module(module: &[String]) -> String {
    let depth = if module.first().is_some_and(|first| first == "labelling") { 2 } else { 1 };
    module.iter().take(depth).map(String::as_str).collect::<Vec<&str>>().join("::")
}

fn graph(sources: &[Source]) -> ModuleGraph {
    ModuleGraph::new(sources.iter().map(|source| (source.file.as_str(), source.text.as_str())))
}

#[test]
fn modules_use_each_other_only_in_the_stated_directions() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let sources = sources();
    let without_own_code = ["", "labelling"];
    let modules: BTreeSet<&str> = sources.iter().map(|source| source.module.as_str()).collect();
    let unknown = modules.iter().filter(|module| !without_own_code.contains(module) && !allowed.contains_key(*module));
    let mut wrong: BTreeSet<String> = unknown.map(|module| format!("`{module}` is not in MAY_USE")).collect();
    // What an allowed module re-exports may be used as its own.
    for arrow in graph(&sources).arrows().iter().filter(|arrow| !arrow.is_reexport) {
        let (from, to) = (top_module(&arrow.from), top_module(&arrow.to));
        let may_use = allowed.get(from.as_str()).copied().unwrap_or_default();
        let is_inside = from == to || without_own_code.contains(&from.as_str()) || to.is_empty();
        if !is_inside && !may_use.contains(&to.as_str()) {
            wrong.insert(format!("{from} → {to}: {}", arrow.example));
        }
    }
    assert!(wrong.is_empty(), "new arrows:\n{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn no_modules_of_a_folder_import_each_other_in_a_circle() {
    let cycles = graph(&sources()).cycles();
    let shown = cycles.iter().map(|it| format!("{} {:?}:\n{}", it.folder, it.modules, it.arrows.join("\n")));
    assert!(cycles.is_empty(), "{}", shown.collect::<Vec<_>>().join("\n"));
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
