//! Two pages in one input, parted by a byte 0xff: learned on the first, read from the second.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::learn::apply::extract;
use pieme::learn::{LearnOptions, learn};
use pieme::page::{Tree, charset};

fuzz_target!(|bytes: &[u8]| {
    let middle = bytes.iter().position(|&byte| byte == 0xff).unwrap_or(bytes.len() / 2);
    let (first, second) = bytes.split_at(middle);
    let [first, second] = [first, second].map(|part| Tree::parse(&charset::decode(part, None).text));
    let pages = [first, second];
    // Also with the second page as a further one of the same kind.
    for pages in [&pages[..1], &pages[..]] {
        for found in learn(pages, &LearnOptions::default()) {
            for page in pages {
                let read = extract(&found.template, page);
                assert!((0.0..=1.0).contains(&read.similarity), "{}", read.similarity);
                assert!(read.table.rows.iter().all(|row| row.cells.len() == read.table.columns.len()));
            }
        }
    }
    for found in learn(&pages[..1], &LearnOptions::default()) {
        extract(&found.template, &pages[1]);
    }
});
