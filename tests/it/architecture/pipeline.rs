//! The stages of the learner use each other in one direction.

use std::path::Path;

use super::sources;

/// The folders of `learn/`, in the order of the work. Each may use those before it.
const STAGES: &[&str] =
    &["sequence", "view", "template", "rows", "rank", "align", "columns", "apply", "candidates", "teach", "repair"];

/// The stage of a source file; `None` outside the folders of `learn/`.
fn stage(path: &Path) -> Option<usize> {
    let names: Vec<&str> = path.iter().filter_map(|name| name.to_str()).collect();
    let below = names.windows(3).find(|part| part[..2] == ["src", "learn"]).map(|part| part[2])?;
    STAGES.iter().position(|&stage| stage == below)
}

/// The names after `crate::learn::`, in braces or not.
fn used_names(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let after = code.match_indices("crate::learn::").map(|(at, start)| &code[at + start.len()..]);
    let names = after.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap_or_default().split(',').map(str::trim).collect(),
        None => vec![rest],
    });
    names.map(|name| name.split(|c| !is_word(c)).next().unwrap_or_default()).collect()
}

#[test]
fn each_stage_of_the_learner_uses_only_those_before_it() {
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for source in sources() {
        let Some(own) = stage(&source.path).filter(|_| source.module == "learn") else { continue };
        for name in used_names(&source.code) {
            looked_at += 1;
            // Another name is a re-export of `learn`, which uses all stages.
            let is_before = STAGES.iter().position(|&stage| stage == name).is_some_and(|used| used <= own);
            if !is_before {
                wrong.push(format!("{}: {} → {name}", source.path.display(), STAGES[own]));
            }
        }
    }
    assert!(wrong.is_empty(), "against the direction:\n{}", wrong.join("\n"));
    assert!(looked_at > 100, "the uses were found: {looked_at}");
}

#[test]
fn the_used_stages_are_read_from_the_paths() {
    assert_eq!(
        used_names("use crate::learn::view::text;\nuse crate::learn::{Help, teach::x};"),
        ["view", "Help", "teach"]
    );
    assert_eq!(stage(Path::new("src/learn/rows/details/slot.rs")), Some(3));
    assert_eq!(stage(Path::new("src/learn/mod.rs")), None);
}
