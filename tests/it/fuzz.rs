//! The fuzz targets of fuzz/fuzz_targets without a fuzzer: their seeds and deterministic mutations of them, on the
//! stable compiler. `PIEME_LONG=1` takes a hundred times as long. fuzz/README.md says how to run libFuzzer.

#![allow(unused_attributes, reason = "`no_main` in a target is for libFuzzer")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::promises::{Dice, times};

#[path = "../../fuzz/fuzz_targets/extract.rs"]
mod extract;
#[path = "../../fuzz/fuzz_targets/http_response.rs"]
mod http_response;
#[path = "../../fuzz/fuzz_targets/learn.rs"]
mod learn;
#[path = "../../fuzz/fuzz_targets/protocol_frame.rs"]
mod protocol_frame;
#[path = "../../fuzz/fuzz_targets/redirect_chain.rs"]
mod redirect_chain;
#[path = "../../fuzz/fuzz_targets/selector.rs"]
mod selector;
#[path = "../../fuzz/fuzz_targets/set_cookie.rs"]
mod set_cookie;
#[path = "../../fuzz/fuzz_targets/task_files.rs"]
mod task_files;
#[path = "../../fuzz/fuzz_targets/template_file.rs"]
mod template_file;
#[path = "../../fuzz/fuzz_targets/tokenise.rs"]
mod tokenise;
#[path = "../../fuzz/fuzz_targets/url_guard.rs"]
mod url_guard;

/// One test a target; the name of the test is that of the file.
macro_rules! targets {
    ($($name:ident)*) => {
        const TARGETS: &[&str] = &[$(stringify!($name)),*];
        mod target {
            $(#[test]
            fn $name() {
                super::feed(stringify!($name), super::$name::run);
            })*
        }
    };
}

targets! {
    extract http_response learn protocol_frame redirect_chain selector set_cookie task_files template_file tokenise
    url_guard
}

/// Whichever comes first: a debug build on a busy machine does a few hundred a second of the slowest.
const MAX_INPUTS: usize = 20_000;
const TIME: Duration = Duration::from_secs(4);
/// Larger inputs find no more faults and cost more.
const MAX_BYTES: usize = 16 << 10;

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(project().join(folder)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

/// The seeds of a target: its own, and what else there is of its kind.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut paths = files(&format!("fuzz/seeds/{target}"));
    let also = match target {
        "extract" | "learn" | "tokenise" => {
            &["gallery", "glossary", "listing"].map(|it| format!("tests/pages/{it}"))[..]
        }
        "task_files" | "template_file" => &["shop", "orders"].map(|it| format!("tasks/practice-{it}")),
        _ => &[],
    };
    paths.extend(also.iter().flat_map(|folder| files(folder)));
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("a seed")).collect();
    if seeds.is_empty() { vec![b"{}".to_vec(), vec![0; 64]] } else { seeds }
}

/// Pieces of all seeds that a mutation may insert: words, and the lines of fuzz/page.dict.
fn words(seeds: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let dictionary = fs::read_to_string(project().join("fuzz/page.dict")).expect("the dictionary");
    let quoted = dictionary.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    let mut words: Vec<Vec<u8>> = quoted.map(|word| word.as_bytes().to_vec()).collect();
    let ends = |byte: &u8| matches!(byte, b' ' | b'\n' | b';' | b'=' | b',' | b'"');
    words.extend(seeds.iter().flat_map(|seed| seed.split(ends)).filter(|it| !it.is_empty()).map(<[u8]>::to_vec));
    words
}

/// A seed with one to five changes.
fn mutated(dice: &mut Dice, seeds: &[Vec<u8>], words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..=dice.below(5) {
        let (at, to) = (dice.below(bytes.len() + 1), dice.below(bytes.len() + 1));
        let (at, to) = (at.min(to), at.max(to));
        match dice.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = [0, 0xff, b'\n', b'%', b'0', b'.'][dice.below(6)],
            2 => drop(bytes.drain(at..to.min(at + 16))),
            3 => {
                let piece = bytes[at..to.min(at + 64)].repeat(1 + dice.below(4));
                bytes.splice(at..at, piece);
            }
            4 => {
                let other = &seeds[dice.below(seeds.len())];
                bytes.truncate(at);
                bytes.extend_from_slice(&other[dice.below(other.len() + 1)..]);
            }
            _ => drop(bytes.splice(at..at, words[dice.below(words.len())].clone())),
        }
        bytes.truncate(MAX_BYTES);
    }
    bytes
}

fn feed(target: &str, run: fn(&[u8])) {
    let seeds = seeds(target);
    let words = words(&seeds);
    for seed in &seeds {
        run(seed);
    }
    let (started, time) = (Instant::now(), TIME * u32::try_from(times(1, 100)).unwrap_or(1));
    let (most, mut dice, mut done) = (times(MAX_INPUTS, 100 * MAX_INPUTS), Dice(7), 0);
    while done < most && started.elapsed() < time {
        let input = mutated(&mut dice, &seeds, &words);
        let ran = std::panic::catch_unwind(|| run(&input));
        assert!(ran.is_ok(), "{target}: {:?}", String::from_utf8_lossy(&input));
        done += 1;
    }
    eprintln!("{target}: {} seeds, {done} mutations in {:.1} s", seeds.len(), started.elapsed().as_secs_f64());
    assert!(done > 20, "{target}: only {done} inputs in {time:?}");
}

#[test]
fn every_target_is_fed_here_built_for_libfuzzer_and_described() {
    let name = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let on_disk: Vec<String> = files("fuzz/fuzz_targets").iter().map(name).collect();
    assert_eq!(on_disk, TARGETS, "each has a `mod` and a word in `targets!` of this file");
    let cargo = fs::read_to_string(project().join("fuzz/Cargo.toml")).expect("its file");
    let readme = fs::read_to_string(project().join("fuzz/README.md")).expect("its file");
    for target in TARGETS {
        assert!(cargo.contains(&format!("name = \"{target}\"\npath = \"fuzz_targets/{target}.rs\"")), "{target}");
        assert!(readme.contains(&format!("| `{target}` |")), "{target}");
    }
}

/// The control: a target with a fault is found out.
#[test]
fn a_fault_is_found() {
    let found = std::panic::catch_unwind(|| {
        feed("set_cookie", |bytes| assert!(!bytes.windows(9).any(|it| it == b"Domain=.c"), "a fault"));
    });
    assert!(found.is_err());
}

/// Stands in for the macro of libFuzzer: this crate is also known as `libfuzzer_sys`. The last in this file, so that
/// the targets import it as they do libFuzzer's.
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:block) => {
        pub fn run($bytes: &[u8]) {
            $body
        }
    };
    (|$text:ident: &str| $body:block) => {
        pub fn run(bytes: &[u8]) {
            let Ok($text) = std::str::from_utf8(bytes) else { return };
            $body
        }
    };
}
