//! Any text as a template file: refused, or good for any page.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::learn::apply::extract;
use pieme::learn::template::Template;
use pieme::page::Tree;

const PAGES: [&str; 3] = [
    "<ul><li class=a><a href=/1>one</a> <b>1.50</b><li class=a><a href=/2>two</a><li class=a><b>3</b></ul>",
    "<pre>a 1\nb 2\n\nc 3\n</pre><p>x<br>y",
    r#"{"rows":[{"a":1,"b":[1,2]},{"a":2},{"b":null}]}"#,
];

fuzz_target!(|text: &str| {
    let Ok(template) = Template::from_json(text) else { return };
    let _ = template.to_string();
    for page in PAGES {
        let read = extract(&template, &Tree::parse(page));
        assert!((0.0..=1.0).contains(&read.similarity), "{}", read.similarity);
        assert!(read.table.rows.iter().all(|row| row.cells.len() == read.table.columns.len()));
        read.visible(&template);
    }
});
