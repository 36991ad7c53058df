//! Looks up secrets by name when a run needs them. They are never kept here and never part of an error message.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, lchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Config;
use super::secret_grants::GrantError;
use crate::model::script::{secret_names, secret_origins};
use crate::model::{Script, Task};
use crate::tasks::FileError;
use crate::tasks::folder::{Folder, PRIVATE_FILE};

/// A key file has about 4 kB; a larger secret is a mistake.
pub const MAX_SECRET_BYTES: u64 = 64 << 10;

const CREDENTIALS_VARIABLE: &str = "CREDENTIALS_DIRECTORY";
/// The credentials of the service, readable by its user and by root (`sudo pieme …`).
const SERVICE_CREDENTIALS: &str = "/run/credentials/pieme-daemon.service";
const VARIABLE_PREFIX: &str = "PIEME_SECRET_";

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("`{0}` is not a valid name for a secret: use letters, digits, `.`, `_`, `-`; start with a letter or digit")]
    Name(String),
    #[error("the secret `{name}` cannot be read: {source}")]
    File { name: String, source: FileError },
    #[error("the secret `{name}` cannot be changed: {source}")]
    Write { name: String, source: FileError },
    #[error("the secret `{0}` is not UTF-8 text")]
    NotText(String),
    #[error(
        "the secret `{name}` is missing: type `pieme secret set {name}`, or put it into {} (mode 0600){}",
        file.display(),
        then_restart()
    )]
    Missing { name: String, file: PathBuf },
    #[error(transparent)]
    Grant(#[from] GrantError),
}

/// Where a secret's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// systemd's credentials directory.
    Credentials,
    /// secrets/NAME beside config.toml.
    File,
    Environment,
}

impl SecretSource {
    pub fn word(self) -> &'static str {
        match self {
            SecretSource::Credentials => "credentials",
            SecretSource::File => "file",
            SecretSource::Environment => "environment",
        }
    }
}

/// Under systemd a restart is needed: the secrets are copied when the service starts.
fn then_restart() -> &'static str {
    if env::var_os(CREDENTIALS_VARIABLE).is_some() { ", then `sudo systemctl restart pieme-daemon`" } else { "" }
}

impl SecretError {
    /// Whether the secret could not be read because descriptors or memory ran out.
    pub fn is_shortage(&self) -> bool {
        matches!(self, SecretError::File { source, .. } if source.is_shortage())
    }

    /// Whether this process has no permission to read it.
    pub fn is_denied(&self) -> bool {
        let SecretError::File { source: FileError::Io { source, .. }, .. } = self else { return false };
        source.kind() == ErrorKind::PermissionDenied
    }
}

/// All of these secrets, or the error of the first that cannot be read.
pub fn lookup_all(config: &Config, names: &BTreeSet<String>) -> Result<BTreeMap<String, String>, SecretError> {
    let missing = |name: &String| SecretError::Missing { name: name.clone(), file: config.secrets.join(name) };
    let found = |name: &String| Ok((name.clone(), lookup(config, name)?.ok_or_else(|| missing(name))?));
    names.iter().map(found).collect()
}

/// The secret of this name: from systemd's credentials directory, from secrets/NAME beside config.toml, or from the
/// environment. `None` when there is none.
pub fn lookup(config: &Config, name: &str) -> Result<Option<String>, SecretError> {
    lookup_at(&config.secrets, name)
}

/// As [`lookup`], before there is a config, from the folder with the secrets.
pub(super) fn lookup_at(secrets: &Path, name: &str) -> Result<Option<String>, SecretError> {
    Ok(lookup_in(secrets, &|variable| env::var_os(variable), name)?.map(|(value, _)| value))
}

/// Where the secret's value is; `None` when there is none.
pub fn source(config: &Config, name: &str) -> Result<Option<SecretSource>, SecretError> {
    Ok(lookup_in(&config.secrets, &|variable| env::var_os(variable), name)?.map(|(_, source)| source))
}

/// Whether the service has copies of the secrets that were made at its start.
pub fn are_copied_at_start() -> bool {
    Path::new(SERVICE_CREDENTIALS).exists()
}

/// The names of the files in the folder of the secrets; none where it cannot be read.
pub fn stored_names(config: &Config) -> Vec<String> {
    let entries = config.secrets.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_name(name)).collect()
}

/// Writes the secret's file, which only its owner may read. The folder is made where there is none. For root, the owner
/// is that of the folder.
pub fn store(config: &Config, name: &str, value: &str) -> Result<(), SecretError> {
    check_name(name)?;
    let failed = |source| SecretError::Write { name: name.to_owned(), source };
    let io = |source| failed(FileError::Io { path: config.secrets.join(name), source });
    DirBuilder::new().recursive(true).mode(0o700).create(&config.secrets).map_err(io)?;
    let folder = Folder::open(&config.secrets).map_err(failed)?;
    folder.replace(name, value.as_bytes(), PRIVATE_FILE).map_err(failed)?;
    let owner = config.secrets.metadata().map_err(io)?;
    if nix::unistd::geteuid().is_root() && owner.uid() != 0 {
        lchown(config.secrets.join(name), Some(owner.uid()), Some(owner.gid())).map_err(io)?;
    }
    Ok(())
}

/// Removes the secret's file, if there is one.
pub fn remove(config: &Config, name: &str) -> Result<(), SecretError> {
    check_name(name)?;
    let failed = |source| SecretError::Write { name: name.to_owned(), source };
    match Folder::open(&config.secrets) {
        Ok(folder) => folder.remove(name).map_err(failed),
        Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

pub fn check_name(name: &str) -> Result<(), SecretError> {
    if is_name(name) { Ok(()) } else { Err(SecretError::Name(name.chars().take(80).collect())) }
}

/// When one of these secrets' files was last changed; `None` if none of them is a file.
pub fn changed_at(config: &Config, names: &BTreeSet<String>) -> Option<SystemTime> {
    let changed = |name: &String| config.secrets.join(name).symlink_metadata().and_then(|meta| meta.modified()).ok();
    names.iter().filter_map(changed).max()
}

/// The names of all secrets that a run needs: those anywhere in its script, and those in its proxy's address.
pub fn names(task: &Task, script: &Script) -> BTreeSet<String> {
    let of_proxy = task.fetch.proxy.iter().flat_map(|proxy| secret_names(proxy)).map(str::to_owned);
    of_proxy.chain(secret_origins(script, None).into_keys()).collect()
}

fn lookup_in(
    secrets: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
    name: &str,
) -> Result<Option<(String, SecretSource)>, SecretError> {
    check_name(name)?;
    let of_service = || Path::new(SERVICE_CREDENTIALS).read_dir().is_ok().then(|| SERVICE_CREDENTIALS.into());
    let credentials = variable(CREDENTIALS_VARIABLE).or_else(of_service);
    if let Some(credentials) = &credentials {
        // systemd protects its directory itself, with modes and ACLs that differ from ours.
        for file in [name.to_owned(), format!("secrets_{name}")] {
            if let Some(bytes) = in_folder(Path::new(credentials), name, |folder| folder.read(&file, MAX_SECRET_BYTES))?
            {
                return as_text(name, bytes).map(|value| Some((value, SecretSource::Credentials)));
            }
        }
    }
    match in_folder(secrets, name, |folder| folder.read_private(name, MAX_SECRET_BYTES)) {
        Ok(Some(bytes)) => return as_text(name, bytes).map(|value| Some((value, SecretSource::File))),
        Ok(None) => {}
        // The unit hides the folder from the service, which has the copies made at its start.
        Err(error) if credentials.is_some() && error.is_denied() => {}
        Err(error) => return Err(error),
    }
    let upper: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    match variable(&format!("{VARIABLE_PREFIX}{upper}")) {
        Some(value) => {
            let value = value.into_string().map_err(|_| SecretError::NotText(name.to_owned()))?;
            Ok(Some((value, SecretSource::Environment)))
        }
        None => Ok(None),
    }
}

fn in_folder(
    folder: &Path,
    name: &str,
    read: impl FnOnce(&Folder) -> Result<Option<Vec<u8>>, FileError>,
) -> Result<Option<Vec<u8>>, SecretError> {
    let failed = |source| SecretError::File { name: name.to_owned(), source };
    match Folder::open(folder) {
        Ok(folder) => read(&folder).map_err(failed),
        Err(FileError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Without the final line break that editors write.
fn as_text(name: &str, bytes: Vec<u8>) -> Result<String, SecretError> {
    let mut text = String::from_utf8(bytes).map_err(|_| SecretError::NotText(name.to_owned()))?;
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(text)
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn nothing(_: &str) -> Option<OsString> {
        None
    }

    fn write(file: &Path, mode: u32) {
        fs::write(file, "s3cret\n").expect("a scratch file");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("our own file");
    }

    #[test]
    fn credentials_come_before_files_and_files_before_the_environment() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let credentials = scratch.path().join("credentials");
        let secrets = scratch.path().join("secrets");
        let variable = |name: &str| match name {
            "CREDENTIALS_DIRECTORY" => Some(credentials.clone().into_os_string()),
            "PIEME_SECRET_MY_SHOP" => Some("from the environment".into()),
            _ => None,
        };
        let found = || lookup_in(&secrets, &variable, "my-shop").expect("a lookup").expect("a secret").0;
        assert_eq!(found(), "from the environment");
        fs::create_dir(&secrets).expect("a scratch folder");
        write(&secrets.join("my-shop"), 0o600);
        assert_eq!(found(), "s3cret");
        fs::create_dir(&credentials).expect("a scratch folder");
        fs::write(credentials.join("secrets_my-shop"), "from systemd").expect("a scratch file");
        assert_eq!(found(), "from systemd");
        assert_eq!(lookup_in(&secrets, &variable, "other").expect("a lookup"), None);
    }

    #[test]
    fn a_secret_that_others_could_read_or_that_leads_elsewhere_is_refused() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let file = scratch.path().join("shop");
        for mode in [0o640, 0o604, 0o660, 0o601] {
            write(&file, mode);
            let error = lookup_in(scratch.path(), &nothing, "shop").expect_err("too loose").to_string();
            assert!(error.contains("0600") && !error.contains("s3cret"), "{mode:o}: {error}");
        }
        write(&file, 0o400);
        assert!(lookup_in(scratch.path(), &nothing, "shop").is_ok());
        symlink(&file, scratch.path().join("link")).expect("a scratch link");
        assert!(lookup_in(scratch.path(), &nothing, "link").is_err());
        for name in ["../shop", "", ".", "a/b", "a\0", "ä"] {
            assert!(matches!(lookup_in(scratch.path(), &nothing, name), Err(SecretError::Name(_))), "{name:?}");
        }
    }

    #[test]
    fn only_the_secrets_that_a_script_uses_are_named() {
        let script: Script = toml::from_str(
            r#"
            [[step]]
            get = { url = "https://example.org/${secret:a}", headers = { x = "k=${secret:b};${secret:a}" } }
            [[step]]
            submit = { form = "login", fields = { p = "${secret:c}", q = "${city} ${secret:open" } }
            "#,
        )
        .expect("a script");
        let task: Task = toml::from_str("fetch.proxy = 'http://me:${secret:d}@proxy.test/'").expect("a task");
        assert_eq!(names(&task, &script).into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }
}
