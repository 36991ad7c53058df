//! .state/: what a session leaves behind. Nobody but the daemon's user may look into it, and it is never put into
//! version control.

use std::path::Path;

use super::folder::{FileError, Folder, PRIVATE_FILE, PRIVATE_FOLDER};

pub(super) const STATE: &str = ".state";
const COOKIES: &str = "cookies.json";

/// Fifty cookies of 4 kB for a handful of hosts.
const MAX_COOKIES_BYTES: u64 = 2 << 20;

/// The kept session as JSON text; `None` when there is none.
pub fn read_cookies(dir: &Path) -> Result<Option<String>, FileError> {
    let Some(folder) = Folder::open(dir)?.inner(STATE)? else { return Ok(None) };
    let bytes = folder.read_private(COOKIES, MAX_COOKIES_BYTES)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

pub fn write_cookies(dir: &Path, json: &str) -> Result<(), FileError> {
    Folder::open(dir)?.make(STATE, PRIVATE_FOLDER)?.replace(COOKIES, json.as_bytes(), PRIVATE_FILE)
}
