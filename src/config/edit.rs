//! Edits config.toml in place: a person's comments, order and other keys are kept, and so are mode and owner.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;
use std::thread;
use std::time::Duration;

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value, value};

use super::file::{RawConfig, read};
use crate::tasks::{MAX_TOML_BYTES, Problem, TomlSource};

/// An edit takes milliseconds. Whoever may read the file can hold its lock, so nobody waits for longer than 10 s.
const LOCK_TRIES: u32 = 1_000;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Edits the file and replaces it atomically: a reader, or a power cut, finds the old text or the new one. Nothing is
/// written if the result is not a valid config.toml. Edits at the same time follow each other; without a lock, the last
/// one would undo the others.
pub fn edit(file: &Path, change: impl FnOnce(&mut DocumentMut)) -> Result<(), Problem> {
    // config.toml may be a symbolic link, which stays.
    let file = &file.canonicalize().map_err(|error| unwritable(file, &error))?;
    let _lock = lock(file)?;
    let source = TomlSource::new(file.clone(), read(file)?)?;
    RawConfig::parse(&source)?;
    let parsed: Result<DocumentMut, _> = source.text().parse();
    let mut document = parsed.map_err(|error| Problem::new(file, error.message()))?;
    change(&mut document);
    let text = document.to_string();
    if text == source.text() {
        return Ok(());
    }
    RawConfig::parse(&TomlSource::new(file.clone(), text.clone().into_bytes())?)?;
    if text.len() as u64 > MAX_TOML_BYTES {
        return Err(Problem::new(file, "config.toml would be larger than 64 kB"));
    }
    replace(file, text.as_bytes()).map_err(|error| unwritable(file, &error))
}

/// Adds texts to a list, as in `[secret.shop]` `tasks = ["a"]`. Tables and list are made where there are none; a text
/// that is in the list is not added again.
pub fn extend_list(document: &mut DocumentMut, tables: &[&str], key: &str, texts: &[String]) {
    let Some(table) = table_at(document, tables) else { return };
    let list = table.entry(key).or_insert_with(|| value(Array::new()));
    let Some(list) = list.as_array_mut() else { return };
    for text in texts {
        if !list.iter().any(|it| it.as_str() == Some(text)) {
            append(list, text);
        }
    }
}

/// Removes a text from a list; a list that is then empty goes, with the tables around it that are then empty, too.
pub fn remove_from_list(document: &mut DocumentMut, tables: &[&str], key: &str, text: &str) {
    let path = [tables, &[key]].concat();
    let list = path.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key));
    let Some(list) = list.and_then(Item::as_array_mut) else { return };
    list.retain(|it| it.as_str() != Some(text));
    if list.is_empty() {
        remove(document, &path);
    }
}

/// Removes a key or table, as `["secret", "shop"]`, with the tables around it that are then empty. Returns whether it
/// was there.
pub fn remove(document: &mut DocumentMut, path: &[&str]) -> bool {
    remove_from(document.as_table_mut(), path)
}

fn remove_from(table: &mut dyn TableLike, path: &[&str]) -> bool {
    match path {
        [] => false,
        [key] => table.remove(key).is_some(),
        [first, rest @ ..] => {
            let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else { return false };
            let removed = remove_from(inner, rest);
            if removed && inner.is_empty() {
                table.remove(first);
            }
            removed
        }
    }
}

/// The table at this path; `None` where something else has its name.
fn table_at<'d>(document: &'d mut DocumentMut, path: &[&str]) -> Option<&'d mut dyn TableLike> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, name) in path.iter().enumerate() {
        let is_last = depth + 1 == path.len();
        let missing = || {
            let mut new = Table::new();
            // `[secret.shop]` needs no line `[secret]` before it.
            new.set_implicit(!is_last);
            Item::Table(new)
        };
        table = table.entry(name).or_insert_with(missing).as_table_like_mut()?;
    }
    Some(table)
}

/// In the style of the list: one text a line where the last one has a line of its own.
fn append(list: &mut Array, text: &str) {
    let mut new = Value::from(text);
    if let Some(prefix) = list.iter().last().and_then(|last| last.decor().prefix()?.as_str()) {
        new.decor_mut().set_prefix(if prefix.is_empty() && !list.is_empty() { " " } else { prefix });
        list.push_formatted(new);
        return;
    }
    list.push(new);
}

/// Locks the file until the result is dropped. An edit replaces the file, so whoever has waited opens the new one.
fn lock(file: &Path) -> Result<File, Problem> {
    for _ in 0..LOCK_TRIES {
        let opened = File::open(file).map_err(|error| unwritable(file, &error))?;
        match opened.try_lock() {
            Ok(()) if is_at(&opened, file) => return Ok(opened),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(unwritable(file, &error)),
        }
    }
    let problem = Problem::new(file, "this file cannot be changed: another process holds a lock on it");
    Err(problem.hint("`lslocks` lists who does; try again when it has ended"))
}

fn is_at(opened: &File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    opened.metadata().is_ok_and(|held| path.metadata().is_ok_and(|now| identity(held) == identity(now)))
}

fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let meta = fs::metadata(file)?;
    let mut new = tempfile::Builder::new().prefix(".config.toml.").tempfile_in(folder)?;
    new.write_all(bytes)?;
    let made = new.as_file().metadata()?;
    if (made.uid(), made.gid()) != (meta.uid(), meta.gid()) {
        fchown(new.as_file(), Some(meta.uid()), Some(meta.gid()))?;
    }
    new.as_file().set_permissions(meta.permissions())?;
    new.as_file().sync_all()?;
    new.persist(file).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

fn unwritable(file: &Path, error: &io::Error) -> Problem {
    let problem = Problem::new(file, format!("this file cannot be changed: {error}"));
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            problem.hint("run this command as the owner of the file (sudo), or add the lines by hand")
        }
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn file_with(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("config.toml");
        fs::write(&file, text).expect("a scratch file");
        (folder, file)
    }

    fn add(file: &Path, command: &str) -> Result<(), Problem> {
        edit(file, |document| extend_list(document, &["alert", "exec"], "page", &[command.to_owned()]))
    }

    #[test]
    fn comments_mode_and_order_are_kept() {
        let (_folder, file) = file_with("# mine\nper_host = 2 # two\n\n[log] # logs\nformat = \"json\"\n");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("our own file");
        add(&file, "/bin/a").expect("a list that is new");
        add(&file, "/bin/a").expect("a text that is there");
        add(&file, "-x").expect("another one");
        let expected = "# mine\nper_host = 2 # two\n\n[log] # logs\nformat = \"json\"\n\n\
                        [alert.exec]\npage = [\"/bin/a\", \"-x\"]\n";
        assert_eq!(fs::read_to_string(&file).expect("a file"), expected);
        assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o640);
        let removed = edit(&file, |document| assert!(remove(document, &["alert", "exec", "page"])));
        removed.expect("a key that is there");
        let text = fs::read_to_string(&file).expect("a file");
        assert!(!text.contains("alert"), "{text}");
    }

    #[test]
    fn a_list_with_a_line_for_each_text_stays_so() {
        let (_folder, file) = file_with("[alert.exec]\npage = [\n  \"/bin/a\",\n  \"-x\",\n]\n");
        add(&file, "-y").expect("a list");
        let text = fs::read_to_string(&file).expect("a file");
        assert_eq!(text, "[alert.exec]\npage = [\n  \"/bin/a\",\n  \"-x\",\n  \"-y\",\n]\n");
    }

    #[test]
    fn a_result_that_is_no_config_is_not_written() {
        let (folder, file) = file_with("per_host = 2\n");
        let problem = add(&file, "not-absolute").expect_err("a command without a path");
        assert!(problem.message.contains("absolute path"), "{problem}");
        assert_eq!(fs::read_to_string(&file).expect("a file"), "per_host = 2\n");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_link_stays_a_link() {
        let (folder, file) = file_with("per_host = 2\n");
        let link = folder.path().join("link.toml");
        symlink(&file, &link).expect("a link");
        add(&link, "/bin/a").expect("a list");
        assert!(link.symlink_metadata().expect("a link").is_symlink());
        assert!(fs::read_to_string(&file).expect("a file").contains("/bin/a"));
    }
}
