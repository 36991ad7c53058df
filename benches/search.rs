//! Measures search over 500,000 published rows of 569 bytes against the bare FTS5 query over the same texts, and peak
//! memory of the export.
//!
//! `cargo bench --bench search` prints ratios, the cost of the index, and peak memory for a hundredth of the rows and
//! for all. docs/benchmarks.md explains the figures. `-- N` sets the number of rows.

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

mod hotels;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hotels::{FORMATS, ROUNDS, ROWS, SHOWN, cells, exported};
use pieme::store::{Query, SearchRequest, Store};
use rusqlite::{Connection, params};

/// Name, search words, and the same query for the bare table.
const ASKED: &[(&str, &str, &str)] = &[
    ("a word of one row", "item0123456", "item0123456"),
    ("a rare word", "w19000", "w19000"),
    ("a common word", "w100", "w100"),
    ("a word of every row", "hotel", "hotel"),
    ("two words", "w50 w70", "w50 AND w70"),
    ("a phrase", "\"hotel w30\"", "\"hotel w30\""),
    ("a beginning", "w199*", "w199*"),
    ("a column", "name:w200", "name : w200"),
    ("without a word", "w300 -w10", "w300 NOT w10"),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["peak", rest @ ..] => hotels::peak(rest),
        [rows] => compare(rows.parse().expect("a number of rows")),
        _ => compare(ROWS),
    }
}

fn compare(rows: usize) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let few = kept(&scratch.path().join("few"), rows / 100);
    let all = kept(&scratch.path().join("all"), rows);
    let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len()) >> 20;
    let database = all.join("state/pieme.db");
    let without = size(&database);
    let opened = Instant::now();
    let mut store = Store::open(&database).expect("the database");
    println!("opened without an index in {} ms", opened.elapsed().as_millis());
    hotels::index(&mut store);
    drop(store);
    println!("database: {without} MB of rows, {} MB with the index", size(&database));
    let bare = bare(&scratch.path().join("bare.db"), rows);
    println!("bare FTS5 with its texts: {} MB", size(&scratch.path().join("bare.db")));
    search(&database, &bare);
    export(&few, &all);
}

/// A pieme folder with published rows.
fn kept(folder: &Path, rows: usize) -> PathBuf {
    fs::create_dir_all(folder.join("state")).expect("a folder");
    fs::write(folder.join("config.toml"), "").expect("a configuration");
    let mut store = Store::open(&folder.join("state/pieme.db")).expect("a new database");
    hotels::publish(&mut store, rows, |_| 0);
    folder.to_owned()
}

/// A plain FTS5 table of the same texts.
fn bare(path: &Path, rows: usize) -> Connection {
    let connection = Connection::open(path).expect("a new database");
    let sql = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;
        CREATE VIRTUAL TABLE bare
            USING fts5 (id, name, price, link, text, tokenize = 'unicode61 remove_diacritics 2'); BEGIN";
    connection.execute_batch(sql).expect("a table");
    let mut insert = connection.prepare("INSERT INTO bare VALUES (?1, ?2, ?3, ?4, ?5)").expect("a statement");
    for number in 0..rows {
        let cells = cells(number, 0);
        insert.execute(params![cells[0], cells[1], cells[2], cells[3], cells[4]]).expect("a row");
    }
    drop(insert);
    connection.execute_batch("COMMIT").expect("all rows");
    connection
}

fn search(database: &Path, bare: &Connection) {
    let opened = Instant::now();
    drop(Store::open(database).expect("the database"));
    println!("opened with its index in {} ms", opened.elapsed().as_millis());
    let store = Store::open_reader(database).expect("a reader");
    println!("{:<22} {:>9} {:>9} {:>7} {:>9}", "looked for", "bare ms", "pieme ms", "ratio", "found");
    let mut worst = 0.0_f64;
    for (what, typed, asked) in ASKED {
        let query = Query::parse(typed, None).expect("words");
        let wanted = SearchRequest { query, tasks: Vec::new(), limit: SHOWN, offset: 0 };
        let sql = format!("SELECT rowid FROM bare WHERE bare MATCH ?1 ORDER BY rank LIMIT {SHOWN}");
        let mut statement = bare.prepare(&sql).expect("a statement");
        let (mut theirs, mut ours) = (Duration::MAX, Duration::MAX);
        let (mut total, mut is_more) = (0, false);
        // In turns, so that both run under the same machine load.
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let ids: Vec<i64> =
                statement.query_map([asked], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("ids");
            theirs = theirs.min(began.elapsed());
            let began = Instant::now();
            let answer = store.search(&wanted).expect("an answer");
            ours = ours.min(began.elapsed());
            assert_eq!(ids.len(), answer.hits.len(), "{what}");
            (total, is_more) = (answer.total, answer.is_total_capped);
        }
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        worst = worst.max(ratio);
        let ms = |it: Duration| it.as_secs_f64() * 1e3;
        let more = if is_more { ">" } else { "" };
        println!("{what:<22} {:>9.2} {:>9.2} {ratio:>7.2} {:>9}", ms(theirs), ms(ours), format!("{more}{total}"));
    }
    println!("must: 3.0 x; worst: {worst:.2} x");
}

fn export(few: &Path, all: &Path) {
    println!("{:<10} {:>12} {:>12} {:>7} {:>9}", "export", "MB, 1 %", "MB, all", "ratio", "s, all");
    for format in FORMATS {
        let ((small, _), (large, spent)) = (exported(few, format), exported(all, format));
        println!("{format:<10} {small:>12.1} {large:>12.1} {:>7.2} {:>9.1}", large / small, spent.as_secs_f64());
    }
}
