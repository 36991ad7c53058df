//! Simulated power cuts: a shim records the disk operations of a process, and they are replayed.

mod disk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use disk::Disk;

const SHIM: &str = include_str!("shim.c");

/// Compiles the shim into a folder.
pub fn shim(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("shim.c"), folder.join("shim.so"));
    fs::write(&source, SHIM).expect("a file");
    let done = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-ldl")
        .output()
        .expect("cc is installed by tests/all.sh");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    library
}

/// One recorded disk operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Create(String),
    Write { file: String, offset: usize, bytes: Vec<u8> },
    Truncate { file: String, length: usize },
    Sync(String),
    SyncFolder,
    Rename { from: String, to: String },
    Unlink(String),
}

/// Reads the shim's log; a record that a kill has cut short is left out.
pub fn read_log(path: &Path) -> Vec<Op> {
    let bytes = fs::read(path).expect("the shim's log");
    let mut rest = bytes.as_slice();
    let mut ops = Vec::new();
    while let Some(op) = read_op(&mut rest) {
        ops.push(op);
    }
    ops
}

fn read_op(rest: &mut &[u8]) -> Option<Op> {
    let kind = take(rest, 1)?[0];
    let length = number(rest)?;
    let file = String::from_utf8(take(rest, length)?.to_vec()).ok()?;
    let (offset, length) = (number(rest)?, number(rest)?);
    let bytes = take(rest, length)?;
    Some(match kind {
        b'C' => Op::Create(file),
        b'W' => Op::Write { file, offset, bytes: bytes.to_vec() },
        b'T' => Op::Truncate { file, length: offset },
        b'S' => Op::Sync(file),
        b'D' => Op::SyncFolder,
        b'R' => Op::Rename { from: file, to: String::from_utf8(bytes.to_vec()).ok()? },
        b'U' => Op::Unlink(file),
        _ => return None,
    })
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u64::from_ne_bytes(take(rest, 8)?.try_into().ok()?)).ok()
}
