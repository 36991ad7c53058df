//! What learning and extracting cost, in processor time, against parsing the same page alone (html5ever into our tree).
//!
//! `cargo bench --bench learner` prints a line a page and the ratios of SPEC section 12. The pages are those of the corpus
//! (`PIEME_CORPUS`, default ../shared) and one of our own that grows 38 times. Ratios of one run are what counts: machines
//! are noisy, and both sides are measured in turn in the same process.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use pieme::extract::extract;
use pieme::induce::{LearnOptions, learn};
use pieme::page::{Tree, charset};

/// Each figure is the least of so many rounds.
const ROUNDS: usize = 5;
/// A round repeats short work until it has lasted this long.
const LEAST: Duration = Duration::from_millis(40);

fn main() {
    println!("{:<34} {:>8} {:>9} {:>9} {:>9}  learn/parse", "page", "kB", "parse ms", "learn ms", "apply ms");
    let mut ratios = Vec::new();
    for (name, html) in corpus() {
        let costs = measure(&html);
        println!(
            "{name:<34} {:>8} {:>9.2} {:>9.2} {:>9.2}  {:.1}",
            html.len() / 1024,
            costs.parse_ms,
            costs.learn_ms,
            costs.apply_ms,
            costs.learn_ms / costs.parse_ms
        );
        ratios.push(costs.learn_ms / costs.parse_ms);
    }
    if ratios.is_empty() {
        println!("no corpus: set PIEME_CORPUS; only the growing page is measured");
    } else {
        ratios.sort_by(f64::total_cmp);
        println!(
            "learning against html5ever: median {:.1} x, worst {:.1} x",
            ratios[ratios.len() / 2],
            ratios[ratios.len() - 1]
        );
    }
    growth();
}

struct Costs {
    parse_ms: f64,
    learn_ms: f64,
    apply_ms: f64,
}

fn measure(html: &str) -> Costs {
    let parse_ms = least(|| {
        Tree::parse(html);
    });
    let options = LearnOptions::default();
    let learn_ms = least(|| {
        learn(&[Tree::parse(html)], &options);
    });
    let template = learn(&[Tree::parse(html)], &options).into_iter().next().map(|it| it.template);
    let apply_ms = template.map_or(0.0, |template| {
        least(|| {
            extract(&template, &Tree::parse(html));
        })
    });
    Costs { parse_ms, learn_ms, apply_ms }
}

/// Learning must grow no faster than the page: within 1.5 times linear from 1,600 to 60,000 tokens.
fn growth() {
    let small = measure(&shelf(40)).learn_ms;
    let large = measure(&shelf(40 * 38)).learn_ms;
    println!("a page grown 38 x takes {:.1} x as long to learn: {:.2} x linear", large / small, large / small / 38.0);
}

/// A list of books, some with a badge.
fn shelf(books: usize) -> String {
    let book = |i: usize| {
        let badge = if i.is_multiple_of(3) { "<b class=badge>New</b>" } else { "" };
        format!(
            "<li class=book><a href=/book/{i}><img src=/img/{i}.jpg></a><h3><a href=/book/{i}>Title number {i}</a></h3>{badge}\
             <p class=price>{}.{:02}</p><p class=stock>{} in stock</p></li>",
            i % 90,
            i % 100,
            i % 7
        )
    };
    format!("<html><body><h1>Books</h1><ul>{}</ul></body></html>", (0..books).map(book).collect::<String>())
}

fn corpus() -> Vec<(String, String)> {
    let root = std::env::var_os("PIEME_CORPUS").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let Ok(sites) = fs::read_dir(root.join("corpus")) else { return Vec::new() };
    let mut pages: Vec<(String, String)> = sites
        .flatten()
        .filter_map(|site| {
            let bytes = fs::read(site.path().join("page.html")).ok()?;
            Some((site.file_name().to_string_lossy().into_owned(), charset::decode(&bytes, None).text))
        })
        .collect();
    pages.sort();
    pages
}

/// Processor milliseconds of one go.
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
