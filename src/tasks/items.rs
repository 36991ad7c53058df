//! Reads the item files of `for_each` steps, such as towns.csv or queries.jsonl.

use std::collections::BTreeMap;
use std::path::Path;

use super::folder::Folder;
use super::problem::Problem;
use super::source::TomlSource;
use crate::model::script::items;
use crate::model::{Script, ScriptStep};

/// A hundred thousand lines of forty characters; all files together must fit into one message to the child.
const MAX_ITEMS_BYTES: u64 = 4 << 20;

/// The files that the script's `for_each` steps name, by name. Each was parsed completely.
pub fn read_items(dir: &Path, script: &Script) -> Result<BTreeMap<String, String>, Problem> {
    let mut files = BTreeMap::new();
    for step in script.every_step() {
        let ScriptStep::ForEach(each) = step else { continue };
        let Some(name) = each.file.as_ref().filter(|name| !files.contains_key(*name)) else { continue };
        let path = dir.join(name);
        let bytes = Folder::open(dir)?.read(name, MAX_ITEMS_BYTES)?.ok_or_else(|| {
            Problem::new(&path, "a for_each step of robot.toml needs this file, but it does not exist")
                .hint("put it into the task's folder")
        })?;
        let text = TomlSource::new(path.clone(), bytes)?.into_text();
        items::read("item", name, &text).map_err(|error| Problem::new(&path, error.to_string()))?;
        files.insert(name.clone(), text);
    }
    Ok(files)
}
