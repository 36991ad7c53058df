//! Measures processor time of learning and extracting against html5ever and hand-written lxml.
//!
//! `cargo bench --bench learner` prints one line per page, and ratios (docs/design/benchmarks.md 6). Pages: the corpus
//! (`PIEME_CORPUS`, default ../shared) and a generated one that grows 38 times. Compare only ratios of one run:
//! machines are noisy, and all sides are measured in turns. docs/benchmarks.md explains the figures.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod plain;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use pieme::learn::apply::records;
use pieme::learn::{LearnOptions, Template, learn};
use pieme::page::{Tree, charset};

/// Rounds; the minimum counts.
const ROUNDS: usize = 5;
/// A round repeats short work until it has lasted this long.
const LEAST: Duration = Duration::from_millis(40);

fn main() {
    let pages = corpus();
    if pages.is_empty() {
        println!("no corpus: set PIEME_CORPUS; only the growing page is measured");
    } else {
        against_html5ever(&pages);
        against_lxml(&pages);
    }
    growth();
}

/// Learning against parsing with html5ever into reference-counted nodes, and against parsing into our own tree.
fn against_html5ever(pages: &[(String, Vec<u8>)]) {
    println!(
        "{:<32} {:>6} {:>10} {:>8} {:>9}  learn/html5ever  learn/own",
        "page", "kB", "html5ever", "own tree", "learn ms"
    );
    let (mut ratios, mut own_ratios) = (Vec::new(), Vec::new());
    for (name, bytes) in pages {
        let html = charset::decode(bytes, None).text;
        let plain = least(|| drop(plain::parse(&html)));
        let own = least(|| drop(Tree::parse(&html)));
        let learned = least(|| drop(learn(&[Tree::parse(&html)], &LearnOptions::default())));
        let (ratio, own_ratio) = (learned / plain, learned / own);
        let size = html.len() / 1024;
        println!("{name:<32} {size:>6} {plain:>10.2} {own:>8.2} {learned:>9.2}  {ratio:>15.1}  {own_ratio:>9.1}");
        ratios.push(ratio);
        own_ratios.push(own_ratio);
    }
    summary("learning / html5ever", ratios, 12.0);
    summary("learning / own tree", own_ratios, 12.0);
}

/// Applying a template, from bytes to records, against hand-written code for the page.
fn against_lxml(pages: &[(String, Vec<u8>)]) {
    let by_hand = lxml_by_hand();
    if by_hand.is_empty() {
        println!("lxml is left out: no python3 here can import it (pip install lxml)");
        return;
    }
    println!("{:<32} {:>8} {:>9} {:>6}  ours/lxml", "page", "lxml ms", "ours ms", "rows");
    let mut ratios = Vec::new();
    for (name, bytes) in pages {
        let Some(lxml) = by_hand.get(name) else { continue };
        let Some(template) = template(bytes) else { continue };
        let apply = || records(&template, &Tree::parse(&charset::decode(bytes, None).text));
        let rows = apply().table.rows.len();
        let ours = least(|| drop(apply()));
        println!("{name:<32} {lxml:>8.2} {ours:>9.2} {rows:>6}  {:.2}", ours / lxml);
        ratios.push(ours / lxml);
    }
    summary("applying / lxml by hand", ratios, 0.6);
}

fn template(bytes: &[u8]) -> Option<Template> {
    let page = Tree::parse(&charset::decode(bytes, None).text);
    learn(&[page], &LearnOptions::default()).into_iter().next().map(|it| it.template)
}

/// Processor milliseconds of each page that has hand-written code.
fn lxml_by_hand() -> HashMap<String, f64> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/lxml_by_hand.py");
    let Ok(done) = Command::new("python3").arg(script).env("PIEME_CORPUS", root()).output() else {
        return HashMap::new();
    };
    let line = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    };
    String::from_utf8_lossy(&done.stdout).lines().filter_map(line).collect()
}

fn summary(what: &str, mut ratios: Vec<f64>, must: f64) {
    ratios.sort_by(f64::total_cmp);
    let (Some(worst), Some(middle)) = (ratios.last(), ratios.get(ratios.len() / 2)) else { return };
    let over = ratios.iter().filter(|&&ratio| ratio > must).count();
    println!("{what}: median {middle:.2} x, worst {worst:.2} x; {over} of {} over {must}\n", ratios.len());
}

/// Learning must grow no faster than the page: within 1.5 times linear from 1,600 to 60,000 tokens.
fn growth() {
    let cost = |html: &str| least(|| drop(learn(&[Tree::parse(html)], &LearnOptions::default())));
    let small = cost(&shelf(40));
    let large = cost(&shelf(40 * 38));
    println!("a page grown 38 x takes {:.1} x as long to learn: {:.2} x linear", large / small, large / small / 38.0);
}

/// A list of books, some with a badge.
fn shelf(books: usize) -> String {
    let book = |i: usize| {
        let badge = if i.is_multiple_of(3) { "<b class=badge>New</b>" } else { "" };
        format!(
            "<li class=book><a href=/book/{i}><img src=/img/{i}.jpg></a><h3><a href=/book/{i}>Title number {i}</a></h3>\
             {badge}<p class=price>{}.{:02}</p><p class=stock>{} in stock</p></li>",
            i % 90,
            i % 100,
            i % 7
        )
    };
    format!("<html><body><h1>Books</h1><ul>{}</ul></body></html>", (0..books).map(book).collect::<String>())
}

fn root() -> PathBuf {
    let root = std::env::var_os("PIEME_CORPUS").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    fs::canonicalize(&root).unwrap_or(root)
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let Ok(sites) = fs::read_dir(root().join("corpus")) else { return Vec::new() };
    let page = |site: fs::DirEntry| {
        Some((site.file_name().to_string_lossy().into_owned(), fs::read(site.path().join("page.html")).ok()?))
    };
    let mut pages: Vec<(String, Vec<u8>)> = sites.flatten().filter_map(page).collect();
    pages.sort();
    pages
}

/// Processor milliseconds of one round.
fn least(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = processor_time();
        let mut goes = 0_u32;
        while goes == 0 || processor_time() - start < LEAST {
            work();
            goes += 1;
        }
        best = best.min((processor_time() - start).as_secs_f64() * 1_000.0 / f64::from(goes));
    }
    best
}

fn processor_time() -> Duration {
    let time = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own usage").user_time();
    Duration::from_secs(time.tv_sec() as u64) + Duration::from_micros(time.tv_usec() as u64)
}
