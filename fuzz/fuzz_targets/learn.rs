//! Bytes → candidates, by every teacher; and each candidate's template is one that could be read back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::learn::apply::extract;
use pieme::learn::template::Template;
use pieme::learn::{LearnOptions, Method, learn};
use pieme::page::{Tree, charset};

fuzz_target!(|bytes: &[u8]| {
    let page = [Tree::parse(&charset::decode(bytes, None).text)];
    for method in [Method::Auto, Method::Siblings, Method::Cycles, Method::Repeats] {
        let rows = (bytes.len() % 5 == 4).then_some(bytes.len() % 17);
        for found in learn(&page, &LearnOptions { method, rows, ..LearnOptions::default() }) {
            let again = Template::from_json(&found.template.to_json()).expect("a template reads its own file");
            assert_eq!(again.columns().len(), found.table.columns.len());
            assert!(found.table.rows.iter().all(|row| row.cells.len() == found.table.columns.len()));
            let similarity = extract(&again, &page[0]).similarity;
            assert!((0.0..=1.0).contains(&similarity), "{similarity}");
        }
    }
});
