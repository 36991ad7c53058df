//! .state/: what a session leaves behind. Nobody but the daemon's user may look into it, and it is never put into
//! version control.

use std::path::Path;

use super::folder::{FileError, Folder, PRIVATE_FILE, PRIVATE_FOLDER};
use crate::model::StoredProposals;

pub(super) const STATE: &str = ".state";
const COOKIES: &str = "cookies.json";
const PROPOSALS: &str = "proposals.json";

/// Fifty cookies of 4 kB for a handful of hosts.
const MAX_COOKIES_BYTES: u64 = 2 << 20;
/// Five lists of one page; a run's process sends no more at a time.
const MAX_PROPOSALS_BYTES: u64 = 32 << 20;

/// The kept session as JSON text; `None` when there is none.
pub fn read_cookies(dir: &Path) -> Result<Option<String>, FileError> {
    let Some(folder) = Folder::open(dir)?.subfolder(STATE)? else { return Ok(None) };
    let bytes = folder.read_private(COOKIES, MAX_COOKIES_BYTES)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

pub fn write_cookies(dir: &Path, json: &str) -> Result<(), FileError> {
    Folder::open(dir)?.make_subfolder(STATE, PRIVATE_FOLDER)?.replace(COOKIES, json.as_bytes(), PRIVATE_FILE)
}

/// What was found again after a redesign; none where there is nothing, or nothing that can be read: it is worked out anew.
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
