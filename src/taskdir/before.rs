//! .state/before/: what the last labelling replaced, so that it can be undone.

use std::path::Path;

use super::folder::{FileError, Folder, PRIVATE_FILE, PRIVATE_FOLDER, PUBLIC_FILE};
use super::labels_file::LABELS_FILE;
use super::state::STATE;
use super::{Problem, TEMPLATE_FILE, write_columns};
use crate::model::Column;

const BEFORE: &str = "before";
const COLUMNS_FILE: &str = "columns.json";
const MAX_BYTES: u64 = 16 << 20;

/// Keeps the template, the labels and the columns as they are now.
pub fn keep_before(dir: &Path, columns: &[Column]) -> Result<(), FileError> {
    let folder = Folder::open(dir)?;
    let Some(template) = folder.read(TEMPLATE_FILE, MAX_BYTES)? else { return Ok(()) };
    let before = folder.make(STATE, PRIVATE_FOLDER)?.make(BEFORE, PRIVATE_FOLDER)?;
    let labels = folder.read(LABELS_FILE, MAX_BYTES)?.unwrap_or_default();
    before.replace(LABELS_FILE, &labels, PRIVATE_FILE)?;
    let columns = serde_json::to_vec(columns)
        .map_err(|error| FileError::Io { path: before.path().join(COLUMNS_FILE), source: error.into() })?;
    before.replace(COLUMNS_FILE, &columns, PRIVATE_FILE)?;
    // Last: without it there is nothing to bring back.
    before.replace(TEMPLATE_FILE, &template, PRIVATE_FILE)
}

/// Brings them back, once; says whether there was anything.
pub fn bring_back(dir: &Path) -> Result<bool, Problem> {
    let folder = Folder::open(dir)?;
    let Some(before) = folder.inner(STATE)?.map(|it| it.inner(BEFORE)).transpose()?.flatten() else { return Ok(false) };
    let Some(template) = before.read_private(TEMPLATE_FILE, MAX_BYTES)? else { return Ok(false) };
    match before.read_private(LABELS_FILE, MAX_BYTES)? {
        Some(labels) if !labels.is_empty() => folder.replace(LABELS_FILE, &labels, PUBLIC_FILE)?,
        Some(_) | None => folder.remove(LABELS_FILE)?,
    }
    let columns = before.read_private(COLUMNS_FILE, MAX_BYTES)?;
    if let Some(columns) = columns.and_then(|json| serde_json::from_slice::<Vec<Column>>(&json).ok()) {
        write_columns(dir, &columns)?;
    }
    folder.replace(TEMPLATE_FILE, &template, PUBLIC_FILE)?;
    before.remove(TEMPLATE_FILE)?;
    Ok(true)
}
