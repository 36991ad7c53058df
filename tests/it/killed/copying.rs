//! An interrupted `pieme migrate-store`: the source is unchanged, the target is either complete or cannot be opened,
//! and the same command completes it.

use std::fs;
use std::process::Child;

use pieme::store::{Store, StoreError};

use super::{Kind, Place, kill_within, pieme, timed};
use crate::all_kept::{all_kept, assert_same};
use crate::promises::writer::try_publish;
use crate::promises::{Dice, times};

/// Generations published per task; the last but one is kept, too.
const GENERATIONS: u64 = 3;

#[test]
fn from_sqlite_to_postgres() {
    check(Kind::Sqlite, Kind::Postgres);
}

#[test]
fn from_postgres_to_sqlite() {
    check(Kind::Postgres, Kind::Sqlite);
}

fn check(from: Kind, to: Kind) {
    let (source, target) = (Place::new(from), Place::new(to));
    fs::write(source.path("config.toml"), format!("store = \"{}\"\n", source.store())).expect("a configuration");
    for folder in ["tasks", "state"] {
        fs::create_dir(source.path(folder)).expect("a folder");
    }
    let mut store = Store::open(source.address()).expect("a new store");
    for number in 1..=GENERATIONS {
        for task in ["small", "large"] {
            try_publish(&mut store, task, number, pieme::model::RunId::new()).expect("published");
        }
    }
    let before = all_kept(&store);
    let start = || -> Child { pieme(&source, &["migrate-store", &target.store()]).spawn().expect("it starts") };
    let within = timed(start()).mul_f64(1.05);
    look(&target, &before).expect("whole");
    remove(&target);
    let (kills, mut dice, mut whole) = (times(6, 100), Dice(23), 0);
    let (mut killed, mut tries) = (0, 0);
    while killed < kills {
        tries += 1;
        assert!(tries < 10 * kills, "it is not killed in time");
        killed += usize::from(kill_within(&mut start(), within, &mut dice));
        assert_same(&all_kept(&Store::open_reader(source.address()).expect("the source")), &before, "the source");
        if look(&target, &before).is_some() {
            whole += 1;
            remove(&target);
        }
    }
    println!("KILLED {from:?} to {to:?} | migrate-store | {killed} kills, {whole} of {tries} copies were whole");
    assert!(tries > whole, "no kill came in time");
    assert!(look(&target, &before).is_some() || start().wait().expect("it ends").success());
    look(&target, &before).expect("whole in the end");
    let left: Vec<_> =
        fs::read_dir(target.folder.path()).expect("a folder").flatten().map(|it| it.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("copying")), "nothing is left behind: {left:?}");
}

/// A store that can be opened is complete.
fn look(target: &Place, before: &[String]) -> Option<()> {
    match Store::open_reader(target.address()) {
        Ok(store) => {
            // Tables that were just created are empty, and are not taken for a copy.
            let found = all_kept(&store);
            if found.len() == 1 {
                return None;
            }
            assert_same(&found, before, "the copy");
            Some(())
        }
        Err(StoreError::Missing(_) | StoreError::IncompleteCopy(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn remove(target: &Place) {
    match &target.schema {
        Some(schema) => _ = schema.psql(&format!("DROP SCHEMA {} CASCADE", schema.name())),
        None => fs::remove_file(target.path("pieme.db")).expect("the copy"),
    }
}
