//! The dashboard's one password, stored as an argon2id hash in a file of mode 0600.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::Path;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

use crate::config::Config;
use crate::tasks::FileError;
use crate::tasks::folder::{Folder, PRIVATE_FILE};

use super::token;

/// Maximum size of the file; a hash has about 100 characters.
const MAX_BYTES: u64 = 4 << 10;
/// Shorter passwords can be guessed despite the rate limit.
pub const MIN_CHARS: usize = 8;
/// Longer passwords add no security, only hashing time.
pub const MAX_CHARS: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("a password needs {MIN_CHARS} to {MAX_CHARS} characters")]
    Length,
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the password could not be hashed: {0}")]
    Hash(argon2::password_hash::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads the hash; none if no password is set.
pub fn read(config: &Config) -> Result<Option<String>, PasswordError> {
    let (folder, name) = file_of(config);
    if !folder.is_dir() {
        return Ok(None);
    }
    let bytes = Folder::open(folder)?.read_private(&name, MAX_BYTES)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
}

/// Replaces the password atomically. Root gives the file to the owner of its folder, since the daemon must read it.
pub fn set(config: &Config, password: &str) -> Result<(), PasswordError> {
    if !(MIN_CHARS..=MAX_CHARS).contains(&password.chars().count()) {
        return Err(PasswordError::Length);
    }
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &token::random_bytes::<16>());
    let hash = hash.map_err(PasswordError::Hash)?.to_string();
    let (folder, name) = file_of(config);
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    Folder::open(folder)?.replace(&name, hash.as_bytes(), PRIVATE_FILE)?;
    if nix::unistd::geteuid().is_root() {
        let owner = folder.metadata()?;
        chown(&config.web.password, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}

/// Compares a password with the hash. Takes some 20 ms of processor time, on purpose.
pub fn verify(hash: &str, password: &str) -> bool {
    let fits = password.chars().count() <= MAX_CHARS;
    fits && Argon2::default().verify_password(password.as_bytes(), hash).is_ok()
}

fn file_of(config: &Config) -> (&Path, String) {
    let file = &config.web.password;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (file.parent().unwrap_or(Path::new("/")), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash of the first version, written with argon2 0.5.
    const FIRST_VERSION: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$8oeAGVogvxAOhrim6Yof8A$LTRe5NzjTZzF4CNGDAzEgIoGDmLHuJ+oirxMHl73R40";

    #[test]
    fn a_password_of_the_first_version_still_opens_the_dashboard() {
        assert!(verify(FIRST_VERSION, "correct horse battery"));
        assert!(!verify(FIRST_VERSION, "correct horse batterY"));
        assert!(!verify(&FIRST_VERSION.replace("t=2", "t=3"), "correct horse battery"), "its own figures are used");
        assert!(!verify("not a hash", "correct horse battery"));
    }
}
