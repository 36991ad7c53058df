//! A damaged or foreign file is reported, and never replaced.

use std::fs;

use super::*;
use pieme::store::StoreError;

/// The error of opening for writing; the file must be unchanged.
fn refused(path: &Path) -> StoreError {
    let before = fs::read(path).expect("the file");
    let error = Store::open(path).err().expect("refused");
    assert!(fs::read(path).expect("the file") == before, "the file was written to: {error}");
    error
}

fn finished() -> (TempDir, PathBuf) {
    let mut scene = Scene::on(Kind::Sqlite);
    let names: Vec<String> = (0..400).map(|n| format!("a longer name, number {n}")).collect();
    let rows: Vec<Vec<&str>> = names.iter().map(|name| vec![name.as_str(), "1"]).collect();
    scene.go(CHANGED, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let path = scene.path();
    let Scene { home: Home::Sqlite(folder), store, .. } = scene else { panic!("a file") };
    drop(store);
    (folder, path)
}

#[test]
fn a_file_that_is_not_our_database_is_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("pieme.db");
    fs::write(&path, "this is a letter, not a database\n".repeat(100)).expect("a file");
    assert!(matches!(refused(&path), StoreError::Damaged(_)));
    fs::write(&path, "").expect("a file");
    assert!(matches!(refused(&path), StoreError::Empty(_)));
    fs::remove_file(&path).expect("a file");
    sqlite3(&path, "CREATE TABLE somebodys (x)");
    assert!(matches!(refused(&path), StoreError::Foreign(_)));
    fs::remove_file(&path).expect("a file");
    fs::create_dir(&path).expect("a folder");
    assert!(matches!(Store::open(&path).err(), Some(StoreError::Foreign(_))));
    fs::remove_dir(&path).expect("a folder");
    fs::write(folder.path().join("pieme.db-wal"), "frames").expect("a file");
    assert!(matches!(Store::open(&path).err(), Some(StoreError::OrphanedLog(_))));
    assert!(!path.exists());
}

#[test]
fn a_newer_format_is_refused_with_the_version() {
    let (_folder, path) = finished();
    sqlite3(&path, "PRAGMA user_version = 99");
    let error = Store::open(&path).err().expect("refused").to_string();
    assert!(error.contains("was written by a newer pieme (format 99, this one knows "), "{error}");
    assert!(error.ends_with("): install that version"), "{error}");
    assert!(Store::open_reader(&path).is_err());
}

#[test]
fn a_truncated_database_is_refused_at_every_length() {
    let (_folder, path) = finished();
    let whole = fs::read(&path).expect("the file");
    for part in 0..50 {
        let length = whole.len() * part / 50;
        fs::write(&path, &whole[..length]).expect("a file");
        let error = refused(&path);
        assert!(!matches!(error, StoreError::Missing(_)), "{length}: {error}");
    }
}

#[test]
fn a_flipped_byte_never_panics_and_never_makes_a_fresh_database() {
    let (_folder, path) = finished();
    let whole = fs::read(&path).expect("the file");
    let mut refusals = 0;
    for part in 0..200 {
        let mut bytes = whole.clone();
        bytes[whole.len() * part / 200] ^= 0x55;
        fs::write(&path, &bytes).expect("a file");
        match Store::open(&path).and_then(|store| store.published(&name("halifax-hotels"), 1_000, 0)) {
            Ok(rows) => assert_eq!(rows.map(|rows| rows.total), Some(400), "at {part}"),
            Err(_) => refusals += 1,
        }
        for log in ["pieme.db-wal", "pieme.db-shm"] {
            let _ = fs::remove_file(path.with_file_name(log));
        }
    }
    assert!(refusals > 5, "only {refusals} of 200 damages were noticed");
}

#[test]
fn a_half_made_database_of_a_crashed_first_start_is_in_nobodys_way() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("deeper").join("pieme.db");
    fs::create_dir(path.parent().expect("a parent")).expect("a folder");
    fs::write(folder.path().join("deeper").join("pieme.db.new"), "half").expect("a file");
    Store::open(&path).expect("a new database");
    assert!(!folder.path().join("deeper").join("pieme.db.new").exists());
}
