//! .state/: the session's cookies and the repair proposals of a task. Mode 0700, or open to the group in a shared
//! folder. Never in version control.

use std::path::Path;

use super::folder::{FileError, Folder, PRIVATE_FILE, PRIVATE_FOLDER};
use crate::model::StoredProposals;

pub(super) const STATE: &str = ".state";
const COOKIES: &str = "cookies.json";
const PROPOSALS: &str = "proposals.json";

/// Fifty cookies of 4 kB for each of a few hosts.
const MAX_COOKIES_BYTES: u64 = 2 << 20;
/// Five candidates of one page, which a child sends in one frame.
const MAX_PROPOSALS_BYTES: u64 = 32 << 20;

/// The stored session as JSON; `None` if there is none.
pub fn read_cookies(dir: &Path) -> Result<Option<String>, FileError> {
    let Some(folder) = Folder::open(dir)?.subfolder(STATE)? else { return Ok(None) };
    let bytes = folder.read_private(COOKIES, MAX_COOKIES_BYTES)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

pub fn write_cookies(dir: &Path, json: &str) -> Result<(), FileError> {
    Folder::open(dir)?.make_subfolder(STATE, PRIVATE_FOLDER)?.replace(COOKIES, json.as_bytes(), PRIVATE_FILE)
}

/// The repair proposals; `None` if there are none or they cannot be parsed, in which case they are computed again.
pub fn read_proposals(dir: &Path) -> Result<Option<StoredProposals>, FileError> {
    let Some(folder) = Folder::open(dir)?.subfolder(STATE)? else { return Ok(None) };
    let bytes = folder.read_private(PROPOSALS, MAX_PROPOSALS_BYTES)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

pub fn write_proposals(dir: &Path, proposals: &StoredProposals) -> Result<(), FileError> {
    let folder = Folder::open(dir)?.make_subfolder(STATE, PRIVATE_FOLDER)?;
    let json = serde_json::to_vec(proposals)
        .map_err(|error| FileError::Io { path: folder.path().join(PROPOSALS), source: error.into() })?;
    folder.replace(PROPOSALS, &json, PRIVATE_FILE)
}

pub fn forget_proposals(dir: &Path) -> Result<(), FileError> {
    match Folder::open(dir)?.subfolder(STATE)? {
        Some(folder) => folder.remove(PROPOSALS),
        None => Ok(()),
    }
}
