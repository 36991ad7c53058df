//! The same changes on real tables, of the pages in `PIEME_CORPUS`.

use std::path::PathBuf;

use pieme::page::charset;

fn check(page: &str) {
    let root = std::env::var_os("PIEME_CORPUS").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    match std::fs::read(root.join(page)) {
        Ok(bytes) => super::check(page, &charset::decode(&bytes, None).text),
        Err(_) => eprintln!("skipped: no {page} in {} (set PIEME_CORPUS)", root.display()),
    }
}

macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        fn $test() {
            check(concat!($page, "/page.html"));
        })*
    };
}

pages! {
    standings_of_a_tour: "corpus-more/golfweek-standings",
    trades_of_insiders: "corpus-more/openinsider",
    files_of_a_tracker: "corpus/piratebay-2024",
    disclosures_of_an_exchange: "corpus-more/pse-disclosures",
    opinions_of_a_court: "corpus-more/ohio-ctapp",
}
