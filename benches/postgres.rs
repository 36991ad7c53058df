//! Measures 500,000 rows of 569 bytes on a PostgreSQL server: bytes written to the write-ahead log by publishing,
//! search time against the bare query over the same vectors, and peak memory of the export.
//!
//! `cargo bench --bench postgres` needs what the tests need. docs/benchmarks.md explains the figures. `-- N` sets the
//! number of rows.

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

mod hotels;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/postgres.rs"]
mod postgres;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hotels::{FORMATS, ROUNDS, ROWS, SHOWN, exported};
use pieme::model::{Outcome, Publication};
use pieme::store::{Query, SearchRequest, Store};
use postgres::{Schema, Server};
use tokio_postgres::{Client, NoTls};

/// Name, search words, and the same query for the bare table.
const ASKED: &[(&str, &str, &str)] = &[
    ("a word of one row", "item0123456", "'item0123456'"),
    ("a rare word", "w19000", "'w19000'"),
    ("a common word", "w100", "'w100'"),
    ("a word of every row", "hotel", "'hotel'"),
    ("two words", "w50 w70", "'w50' & 'w70'"),
    ("a phrase", "\"hotel w30\"", "'hotel' <-> 'w30'"),
    ("a beginning", "w199*", "'w199':*"),
    // A tsvector has no columns: the bare query finds more rows.
    ("a column", "name:w200", "'w200'"),
    ("without a word", "w300 -w10", "'w300' & !'w10'"),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["peak", rest @ ..] => hotels::peak(rest),
        [rows] => measure(rows.parse().expect("a number of rows")),
        _ => measure(ROWS),
    }
}

fn measure(rows: usize) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let server = Server::own(scratch.path());
    let (few, all) = (server.schema(), server.schema());
    let mut store = Store::open(all.address()).expect("tables");
    publish(&all, &mut store, rows);
    let before = wal(&all);
    hotels::index(&mut store);
    println!("index: {:.1} MB of log, {} in all", mb(wal(&all) - before), all.psql(SIZE));
    publish_again(&all, &mut store, rows);
    search(&all);
    hotels::publish(&mut Store::open(few.address()).expect("tables"), rows / 5, |_| 0);
    export(scratch.path(), &few, &all);
}

const SIZE: &str = "SELECT pg_size_pretty(sum(pg_total_relation_size(oid))) FROM pg_class
                    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";

/// Bytes that the server has written to its write-ahead log.
fn wal(schema: &Schema) -> u64 {
    schema.psql("SELECT pg_current_wal_insert_lsn() - '0/0'").parse().expect("a number")
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// The cents of a row's price, by row number.
type Cents = fn(usize) -> usize;

fn publish(schema: &Schema, store: &mut Store, rows: usize) {
    println!("{:<34} {:>8} {:>10} {:>8} {:>10}", "published", "s", "MB of log", "x first", "size");
    let changed = Outcome::Published(Publication::Changed);
    let mut first = None;
    let all: [(&str, Cents, Outcome); 4] = [
        ("the first time", |_| 0, changed),
        ("none changed", |_| 0, Outcome::Published(Publication::Unchanged)),
        ("all changed", |_| 1, changed),
        ("one of 50 changed", |number| if number % 50 == 7 { 2 } else { 1 }, changed),
    ];
    for (what, cents, expected) in all {
        let (before, began) = (wal(schema), Instant::now());
        assert_eq!(hotels::publish(store, rows, cents), expected);
        let (spent, bytes) = (began.elapsed().as_secs_f64(), wal(schema) - before);
        let share = bytes as f64 / *first.get_or_insert(bytes) as f64;
        println!("{what:<34} {spent:>8.1} {:>10.2} {share:>8.4} {:>10}", mb(bytes), schema.psql(SIZE));
    }
}

/// Updates the search index after a publication that changed few rows.
fn publish_again(schema: &Schema, store: &mut Store, rows: usize) {
    hotels::publish(store, rows, |number| if number % 50 == 9 { 3 } else { 1 });
    let before = wal(schema);
    hotels::index(store);
    println!("index after one of 50 changed: {:.1} MB of log", mb(wal(schema) - before));
}

fn search(schema: &Schema) {
    schema.psql(
        "CREATE TABLE bare (id bigint PRIMARY KEY, words tsvector NOT NULL);
         INSERT INTO bare SELECT n, words FROM _entry JOIN _words USING (task, digest) ORDER BY n;
         CREATE INDEX ON bare USING gin (words); ANALYZE",
    );
    schema.psql("VACUUM bare");
    schema.psql("VACUUM _words");
    schema.psql("VACUUM _entry");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let bare = runtime.block_on(connect(schema));
    let store = Store::open_reader(schema.address()).expect("a reader");
    println!("{:<22} {:>9} {:>9} {:>7} {:>9}", "looked for", "bare ms", "pieme ms", "ratio", "found");
    let sql =
        "SELECT id FROM bare WHERE words @@ $1::text::tsquery ORDER BY ts_rank(words, $1::text::tsquery) DESC LIMIT 20";
    let statement = runtime.block_on(bare.prepare(sql)).expect("a statement");
    for (what, typed, asked) in ASKED {
        let query = Query::parse(typed, None).expect("words");
        let wanted = SearchRequest { query, tasks: Vec::new(), limit: SHOWN, offset: 0 };
        let (mut theirs, mut ours) = (Duration::MAX, Duration::MAX);
        let (mut total, mut is_more) = (0, false);
        // In turns, so that both run under the same machine load.
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let found = runtime.block_on(bare.query(&statement, &[asked])).expect("rows");
            theirs = theirs.min(began.elapsed());
            let began = Instant::now();
            let answer = store.search(&wanted).expect("an answer");
            ours = ours.min(began.elapsed());
            assert!(answer.hits.len() <= found.len(), "{what}");
            (total, is_more) = (answer.total, answer.is_total_capped);
        }
        let ms = |it: Duration| it.as_secs_f64() * 1e3;
        let (ratio, more) = (ours.as_secs_f64() / theirs.as_secs_f64(), if is_more { ">" } else { "" });
        println!("{what:<22} {:>9.2} {:>9.2} {ratio:>7.2} {:>9}", ms(theirs), ms(ours), format!("{more}{total}"));
    }
}

async fn connect(schema: &Schema) -> Client {
    let address = schema.url();
    let (address, name) = address.split_once("?schema=").expect("an address of the tests");
    let (client, line) = tokio_postgres::connect(address, NoTls).await.expect("a connection");
    tokio::spawn(line);
    client.batch_execute(&format!("SET search_path TO {name}")).await.expect("a schema");
    client
}

fn export(scratch: &Path, few: &Schema, all: &Schema) {
    let folder = |name: &str, schema: &Schema| {
        let folder = scratch.join(name);
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("config.toml"), format!("store = \"{}\"\n", schema.url())).expect("a configuration");
        folder
    };
    let (few, all) = (folder("few", few), folder("all", all));
    println!("{:<10} {:>12} {:>12} {:>7} {:>9}", "export", "MB, a fifth", "MB, all", "ratio", "s, all");
    for format in FORMATS {
        let ((small, _), (large, spent)) = (exported(&few, format), exported(&all, format));
        println!("{format:<10} {small:>12.1} {large:>12.1} {:>7.2} {:>9.1}", large / small, spent.as_secs_f64());
    }
}
