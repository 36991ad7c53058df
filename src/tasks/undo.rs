//! Undo for the last label: what it replaced is kept in .state/before/.

use std::path::Path;

use super::folder::{FileError, Folder, PRIVATE_FILE, PRIVATE_FOLDER, PUBLIC_FILE};
use super::labels_file::{LABELS_FILE, read_labels};
use super::samples::remove_last_sample;
use super::state::STATE;
use super::{Problem, TEMPLATE_FILE, write_columns};
use crate::model::Column;

const BEFORE: &str = "before";
const COLUMNS_FILE: &str = "columns.json";
const KEY_FILE: &str = "key.json";
const MAX_BYTES: u64 = 16 << 20;

/// Saves the current template, labels, columns and key.
pub fn save_previous(dir: &Path, columns: &[Column], key: &[String]) -> Result<(), FileError> {
    let folder = Folder::open(dir)?;
    let Some(template) = folder.read(TEMPLATE_FILE, MAX_BYTES)? else { return Ok(()) };
    let before = folder.make_subfolder(STATE, PRIVATE_FOLDER)?.make_subfolder(BEFORE, PRIVATE_FOLDER)?;
    let labels = folder.read(LABELS_FILE, MAX_BYTES)?.unwrap_or_default();
    before.replace(LABELS_FILE, &labels, PRIVATE_FILE)?;
    let failed = |error: serde_json::Error| FileError::Io { path: before.path().to_owned(), source: error.into() };
    before.replace(COLUMNS_FILE, &serde_json::to_vec(columns).map_err(failed)?, PRIVATE_FILE)?;
    before.replace(KEY_FILE, &serde_json::to_vec(key).map_err(failed)?, PRIVATE_FILE)?;
    // Last, because its presence marks a complete copy.
    before.replace(TEMPLATE_FILE, &template, PRIVATE_FILE)
}

/// Whether there is a label to undo.
pub fn has_previous(dir: &Path) -> Result<bool, FileError> {
    let before = Folder::open(dir)?.subfolder(STATE)?.map(|it| it.subfolder(BEFORE)).transpose()?.flatten();
    Ok(before.map(|it| it.read_private(TEMPLATE_FILE, MAX_BYTES)).transpose()?.flatten().is_some())
}

/// Restores them, once. Returns whether there was anything to restore.
pub fn restore_previous(dir: &Path) -> Result<bool, Problem> {
    let folder = Folder::open(dir)?;
    let Some(before) = folder.subfolder(STATE)?.map(|it| it.subfolder(BEFORE)).transpose()?.flatten() else {
        return Ok(false);
    };
    let Some(template) = before.read_private(TEMPLATE_FILE, MAX_BYTES)? else { return Ok(false) };
    // The sample of a repair does not fit the old template.
    if read_labels(dir)?.is_repair() {
        remove_last_sample(dir)?;
    }
    match before.read_private(LABELS_FILE, MAX_BYTES)? {
        Some(labels) if !labels.is_empty() => folder.replace(LABELS_FILE, &labels, PUBLIC_FILE)?,
        Some(_) | None => folder.remove(LABELS_FILE)?,
    }
    let columns = before.read_private(COLUMNS_FILE, MAX_BYTES)?;
    if let Some(columns) = columns.and_then(|json| serde_json::from_slice::<Vec<Column>>(&json).ok()) {
        let key = before.read_private(KEY_FILE, MAX_BYTES)?;
        let key = key.and_then(|json| serde_json::from_slice::<Vec<String>>(&json).ok());
        write_columns(dir, &columns, key.as_deref())?;
    }
    folder.replace(TEMPLATE_FILE, &template, PUBLIC_FILE)?;
    before.remove(TEMPLATE_FILE)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::Table;
    use crate::tasks::{read_samples, write_sample};

    const LABEL: &str = "[[label]]\nwhen = \"2026-11-16T10:00:00Z\"\nkind = \"KIND\"\ncandidate = 1\n\
                         method = \"siblings\"\nrows = 2\nfirst_row = \"Adler\"\ncolumns = [\"name\"]\n";

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let dir = folder.path();
        fs::write(dir.join("task.toml"), "# mine\nurl = \"https://example.org/\"\n\n[[column]]\nname = \"name\"\n")
            .expect("a file");
        fs::write(dir.join("template.json"), "the old one").expect("a file");
        write_sample(dir, 1, b"old page", &Table::default()).expect("a sample");
        folder
    }

    /// Saves the state and writes a new label of this kind.
    fn relabelled(dir: &Path, kind: &str) {
        save_previous(dir, &[Column::text("name")], &[]).expect("it is kept");
        fs::write(dir.join("template.json"), "the new one").expect("a file");
        fs::write(dir.join("labels.toml"), LABEL.replace("KIND", kind)).expect("a file");
        write_columns(dir, &[Column::text("other")], Some(&["other".to_owned()])).expect("columns");
        write_sample(dir, 2, b"new page", &Table::default()).expect("a sample");
    }

    #[test]
    fn what_was_replaced_comes_back_once() {
        let folder = folder();
        let dir = folder.path();
        assert!(!restore_previous(dir).expect("a folder"), "nothing was kept yet");
        let task = fs::read_to_string(dir.join("task.toml")).expect("a file");
        relabelled(dir, "pick");
        assert!(restore_previous(dir).expect("a folder"));
        assert_eq!(fs::read_to_string(dir.join("template.json")).expect("a file"), "the old one");
        assert_eq!(fs::read_to_string(dir.join("task.toml")).expect("a file"), task, "columns, and a person's words");
        assert!(!dir.join("labels.toml").exists(), "there were none");
        assert!(!restore_previous(dir).expect("a folder"), "once");
    }

    #[test]
    fn the_page_of_a_repair_goes_with_it() {
        for (kind, left) in [("repair", &[1][..]), ("mended", &[1]), ("pick", &[1, 2])] {
            let folder = folder();
            relabelled(folder.path(), kind);
            restore_previous(folder.path()).expect("a folder");
            let samples = read_samples(folder.path()).expect("samples");
            assert_eq!(samples.iter().map(|it| it.index).collect::<Vec<_>>(), left, "{kind}");
        }
    }
}
