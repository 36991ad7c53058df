//! samples/: the pages that a template was learned from, with the rows expected on them. `pieme test` replays them
//! offline.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Problem;
use super::folder::{FileError, Folder, PUBLIC_FILE, PUBLIC_FOLDER};
use crate::model::Table;

const SAMPLES: &str = "samples";

/// A page has at most 20 MB by default; a person may allow more, up to this.
const MAX_SAMPLE_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub index: u32,
    pub body: Vec<u8>,
    pub expected: Table,
}

/// Writes a page and its expected rows, as `samples/page-0.html` and `samples/page-0.json`.
pub fn write_sample(dir: &Path, page_index: u32, body: &[u8], expected: &Table) -> Result<(), FileError> {
    let folder = Folder::open(dir)?.make_subfolder(SAMPLES, PUBLIC_FOLDER)?;
    // The rows come last: a page without rows is not a sample yet.
    folder.replace(&page_file(page_index), body, PUBLIC_FILE)?;
    replace_rows(&folder, page_index, expected)
}

/// Writes the expected rows of a sample whose page is there.
pub fn write_expected_rows(dir: &Path, page_index: u32, expected: &Table) -> Result<(), FileError> {
    replace_rows(&Folder::open(&samples_folder(dir))?, page_index, expected)
}

fn replace_rows(folder: &Folder, page_index: u32, expected: &Table) -> Result<(), FileError> {
    let name = rows_file(page_index);
    let json = serde_json::to_vec_pretty(expected)
        .map_err(|error| FileError::Io { path: folder.path().join(&name), source: error.into() })?;
    folder.replace(&name, &json, PUBLIC_FILE)
}

/// The folder with the samples of a task folder.
pub fn samples_folder(dir: &Path) -> PathBuf {
    dir.join(SAMPLES)
}

/// All samples in the order of their numbers. Opens no other folder: `pieme test` may read nothing else.
pub fn read_samples(dir: &Path) -> Result<Vec<Sample>, Problem> {
    let folder = match Folder::open(&samples_folder(dir)) {
        Ok(folder) => folder,
        Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut samples = Vec::new();
    for index in numbers(&folder)? {
        let Some(json) = folder.read(&rows_file(index), MAX_SAMPLE_BYTES)? else { continue };
        let Some(body) = folder.read(&page_file(index), MAX_SAMPLE_BYTES)? else { continue };
        let expected = serde_json::from_slice(&json).map_err(|error| {
            Problem::new(
                &folder.path().join(rows_file(index)),
                format!("this is not a table of expected rows: {error}"),
            )
        })?;
        samples.push(Sample { index, body, expected });
    }
    Ok(samples)
}

/// The rows that are expected on the page of the last label.
pub fn read_last_expected_rows(dir: &Path) -> Result<Option<Table>, FileError> {
    let Some(folder) = Folder::open(dir)?.subfolder(SAMPLES)? else { return Ok(None) };
    let Some(last) = numbers(&folder)?.last().copied() else { return Ok(None) };
    let json = folder.read(&rows_file(last), MAX_SAMPLE_BYTES)?;
    Ok(json.and_then(|json| serde_json::from_slice(&json).ok()))
}

/// Removes all samples; other files in the folder stay.
pub fn clear_samples(dir: &Path) -> Result<(), FileError> {
    let Some(folder) = Folder::open(dir)?.subfolder(SAMPLES)? else { return Ok(()) };
    for index in numbers(&folder)? {
        folder.remove(&rows_file(index))?;
        folder.remove(&page_file(index))?;
    }
    Ok(())
}

pub(super) fn remove_last_sample(dir: &Path) -> Result<(), FileError> {
    let Some(folder) = Folder::open(dir)?.subfolder(SAMPLES)? else { return Ok(()) };
    let Some(&last) = numbers(&folder)?.last() else { return Ok(()) };
    folder.remove(&rows_file(last))?;
    folder.remove(&page_file(last))
}

fn numbers(folder: &Folder) -> Result<BTreeSet<u32>, FileError> {
    let io = |source| FileError::Io { path: folder.path().to_owned(), source };
    let mut numbers = BTreeSet::new();
    for item in fs::read_dir(folder.path()).map_err(io)? {
        let name = item.map_err(io)?.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(".html").or_else(|| name.strip_suffix(".json")));
        numbers.extend(stem.and_then(|stem| stem.strip_prefix("page-")?.parse::<u32>().ok()));
    }
    Ok(numbers)
}

fn page_file(index: u32) -> String {
    format!("page-{index}.html")
}

fn rows_file(index: u32) -> String {
    format!("page-{index}.json")
}
