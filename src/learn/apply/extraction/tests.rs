use std::path::{Path, PathBuf};

use super::*;
use crate::learn::{LearnOptions, learn};
use crate::page::charset;

fn template(page: &Tree) -> Option<Template> {
    let options = LearnOptions { top: 1, ..LearnOptions::default() };
    learn(std::slice::from_ref(page), &options).into_iter().next().map(|it| it.template)
}

fn shop(names: &[&str], class: &str) -> Tree {
    let item = |name: &&str| {
        let note = if name.len() > 4 { format!("<i class={class}>{} kg</i>", name.len()) } else { String::new() };
        format!("<li class=item><a href=/{name}>{name}</a>{note}<p>It is {name}</p></li>")
    };
    Tree::parse(&format!("<h1>Fruit</h1><ul>{}</ul><p>Bye", names.iter().map(item).collect::<String>()))
}

#[test]
fn a_page_is_read_the_same_whatever_was_read_before_it() {
    let pages = [
        shop(&["fig", "pear", "apple", "melon"], "w"),
        shop(&["plum", "cherry", "lime"], "weight"),
        Tree::parse("<p>We are closed</p>"),
        shop(&["kiwi"], "w"),
        shop(&["lemon", "grape", "fig", "orange"], "w"),
    ];
    let template = template(&pages[0]).expect("the shop has a list");
    let mut reader = TemplateReader::new(template.clone());
    for page in pages.iter().chain(pages.iter().rev()) {
        assert_eq!(reader.records(page), records(&template, page));
    }
}

/// The largest page of the corpus that is tried here: tests are built without optimisation.
const MAX_BYTES: usize = 200 * 1024;

fn reads_alike(site: &Path) -> bool {
    let read = |name: &str| {
        let bytes = std::fs::read(site.join(name)).ok().filter(|bytes| bytes.len() <= MAX_BYTES)?;
        Some(Tree::parse(&charset::decode(&bytes, None).text))
    };
    let pages: Vec<Tree> = ["page.html", "page2.html", "page3.html"].into_iter().filter_map(read).collect();
    let Some(template) = pages.first().and_then(template) else { return true };
    let mut reader = TemplateReader::new(template.clone());
    pages.iter().chain(&pages).all(|page| reader.records(page) == records(&template, page))
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that had nothing to look at says so")]
fn pages_of_the_corpus_are_read_the_same_one_after_the_other() {
    let root = std::env::var_os("PIEME_CORPUS").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let Ok(sites) = std::fs::read_dir(root.join("corpus")) else {
        eprintln!("not measured: no corpus in {}", root.display());
        return;
    };
    let apart: Vec<PathBuf> = sites.flatten().map(|it| it.path()).filter(|site| !reads_alike(site)).collect();
    assert!(apart.is_empty(), "{apart:?}");
}
