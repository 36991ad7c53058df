//! The model of a disk. Synced data survives a power cut; of the rest any part may survive.

use std::collections::BTreeMap;

use super::super::Dice;
use super::Op;

/// A disk writes whole sectors.
const SECTOR: usize = 512;

#[derive(Default)]
pub struct Disk {
    files: Vec<File>,
    /// As the process sees them.
    names: BTreeMap<String, usize>,
    /// As they were when the folder was last synced.
    synced_names: BTreeMap<String, usize>,
    /// Changes of names since then; a journaling file system keeps a prefix of them.
    name_changes: Vec<NameChange>,
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    waiting: Vec<Change>,
}

enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

enum NameChange {
    Is(String, usize),
    Gone(String),
}

impl Disk {
    /// Applies one more operation.
    pub fn take(&mut self, op: &Op) {
        match op {
            Op::Create(file) => {
                self.files.push(File::default());
                self.rename(NameChange::Is(file.clone(), self.files.len() - 1));
            }
            Op::Write { file, offset, bytes } => {
                self.change(file, Change::Write { offset: *offset, bytes: bytes.clone() });
            }
            Op::Truncate { file, length } => self.change(file, Change::Truncate(*length)),
            Op::Sync(file) => self.sync(file),
            Op::SyncFolder => {
                self.synced_names = self.names.clone();
                self.name_changes.clear();
            }
            Op::Rename { from, to } => {
                let Some(&file) = self.names.get(from) else { return };
                self.rename(NameChange::Is(to.clone(), file));
                self.rename(NameChange::Gone(from.clone()));
            }
            Op::Unlink(file) => self.rename(NameChange::Gone(file.clone())),
        }
    }

    /// The files after the power cut: one of many possible results.
    pub fn cut(&self, dice: &mut Dice) -> BTreeMap<String, Vec<u8>> {
        let mut names = self.synced_names.clone();
        for change in &self.name_changes[..dice.below(self.name_changes.len() + 1)] {
            change.apply(&mut names);
        }
        // Some cuts lose everything, some nothing, most a part.
        let chance = [0, 4, 1, 2, 3][dice.below(5)];
        names.into_iter().map(|(name, file)| (name, self.files[file].after_cut(chance, dice))).collect()
    }

    fn file(&mut self, name: &str) -> &mut File {
        let index = *self.names.get(name).unwrap_or_else(|| panic!("{name} was never created"));
        &mut self.files[index]
    }

    fn change(&mut self, name: &str, change: Change) {
        self.file(name).waiting.push(change);
    }

    fn sync(&mut self, name: &str) {
        let file = self.file(name);
        for change in std::mem::take(&mut file.waiting) {
            change.apply(&mut file.synced, |_| true);
        }
    }

    fn rename(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.name_changes.push(change);
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Is(name, file) => _ = names.insert(name.clone(), *file),
            NameChange::Gone(name) => _ = names.remove(name),
        }
    }
}

impl File {
    /// Each unsynced sector is written with probability `chance` / 4: an earlier one may be lost while a later one is
    /// there, and a write may be torn.
    fn after_cut(&self, chance: usize, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        for change in &self.waiting {
            // Half of the time a write is kept or lost as one.
            let whole = dice.below(2) == 0;
            let fate = dice.below(4) < chance;
            change.apply(&mut bytes, |_| if whole { fate } else { dice.below(4) < chance });
        }
        bytes
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>, mut arrives: impl FnMut(usize) -> bool) {
        match self {
            Change::Truncate(length) => {
                if arrives(0) {
                    bytes.resize(*length, 0);
                }
            }
            Change::Write { offset, bytes: written } => {
                let mut at = 0;
                while at < written.len() {
                    // Up to the end of the sector on the disk.
                    let end = written.len().min(at + SECTOR - (offset + at) % SECTOR);
                    if arrives(at) {
                        let (from, to) = (offset + at, offset + end);
                        bytes.resize(bytes.len().max(to), 0);
                        bytes[from..to].copy_from_slice(&written[at..end]);
                    }
                    at = end;
                }
            }
        }
    }
}
