//! Measures the cost of 1 MB of hostile input: processor seconds of tokenising, learning (three methods) and
//! extracting, and peak memory.
//!
//! `cargo bench --bench hostile` prints one line per page; `-- NAME…` selects pages whose name contains one of the
//! words. Each page is read in its own process, so that the peak is that of the page, with a hard limit on processor
//! time. `!` marks pages over the promise of 1 s per stage and 512 MB.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::Command;
use std::time::Duration;

use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};
use pages::Hostile;
use pieme::learn::apply::extract;
use pieme::learn::{LearnOptions, Method, PageView, learn};
use pieme::page::encode::{EncodedPage, TagEncoding};
use pieme::page::{Tokens, Tree, charset};

#[path = "../tests/it/hostile/pages.rs"]
mod pages;
#[path = "../tests/it/hostile/mixed.rs"]
mod mixed;

const SIZE: usize = 1_000_000;
/// Processor seconds after which a page's process is killed.
const HARD_LIMIT_S: u64 = 60;
const PROMISED_S: f64 = 1.0;
const PROMISED_MB: f64 = 512.0;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with("--")).collect();
    if let Some(name) = std::env::var_os("HOSTILE_PAGE") {
        return one(&name.to_string_lossy());
    }
    println!(
        "{:<36} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6}",
        "page", "token s", "auto s", "cycle s", "repeat s", "apply s", "MB", "rows"
    );
    for page in all() {
        if words.is_empty() || words.iter().any(|word| page.name.contains(word.as_str())) {
            let program = std::env::current_exe().expect("a running program has a path");
            let status = Command::new(program).env("HOSTILE_PAGE", page.name).status().expect("it starts again");
            if !status.success() {
                println!(" ! {status}");
            }
        }
    }
}

fn all() -> impl Iterator<Item = &'static Hostile> {
    pages::PAGES.iter().chain(mixed::PAGES)
}

fn one(name: &str) {
    setrlimit(Resource::RLIMIT_CPU, HARD_LIMIT_S, HARD_LIMIT_S).expect("a process may lower its own limit");
    let page = all().find(|it| it.name == name).expect("the parent names a page of the list");
    let bytes = (page.make)(SIZE);
    print!("{name:<36}");
    let mut worst: f64 = 0.0;
    let mut show = |seconds: f64| {
        worst = worst.max(seconds);
        print!(" {seconds:>7.2}");
        let _ = std::io::Write::flush(&mut std::io::stdout());
    };
    let (tree, seconds) = timed(|| {
        let tree = Tree::parse(&charset::decode(&bytes, None).text);
        let tokens = Tokens::new(&tree);
        for encoding in [TagEncoding::Block, TagEncoding::Tags, TagEncoding::Chunks] {
            EncodedPage::new(&tokens, encoding);
        }
        tree
    });
    show(seconds);
    let mut template = None;
    let mut rows = 0;
    let tree = [tree];
    for method in [Method::Auto, Method::Cycles, Method::Repeats] {
        let options = LearnOptions { method, ..LearnOptions::default() };
        let (found, seconds) = timed(|| learn(&tree, &options));
        show(seconds);
        if template.is_none() {
            rows = found.first().map_or(0, |it| it.table.rows.len());
            template = found.into_iter().next().map(|it| it.template);
        }
    }
    let (_, seconds) = timed(|| match &template {
        Some(template) => drop(extract(template, &tree[0])),
        None => drop(PageView::new(&tree[0])),
    });
    show(seconds);
    let peak = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own usage").max_rss() as f64 / 1024.0;
    let mark = if worst > PROMISED_S || peak > PROMISED_MB { " !" } else { "" };
    println!(" {peak:>6.0} {rows:>6}{mark}");
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = processor_time();
    let done = work();
    (done, (processor_time() - start).as_secs_f64())
}

fn processor_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own usage");
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|it| Duration::from_secs(it.tv_sec() as u64) + Duration::from_micros(it.tv_usec() as u64))
        .sum()
}
