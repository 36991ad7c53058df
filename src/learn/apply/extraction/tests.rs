use std::path::Path;

use super::*;
use crate::learn::tests::{failing_sites, site_pages, template};

fn shop(names: &[&str], class: &str) -> Tree {
    let item = |name: &&str| {
        let note = if name.len() > 4 { format!("<i class={class}>{} kg</i>", name.len()) } else { String::new() };
        format!("<li class=item><a href=/{name}>{name}</a>{note}<p>It is {name}</p></li>")
    };
    Tree::parse(&format!("<h1>Fruit</h1><ul>{}</ul><p>Bye", names.iter().map(item).collect::<String>()))
}

fn read(reader: &mut TemplateReader, page: &Tree) -> Extraction {
    reader.published_rows(&ColumnTransform::default(), page)
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
        assert_eq!(read(&mut reader, page), read(&mut TemplateReader::new(template.clone()), page));
    }
}

/// The largest page of the corpus that is tried here.
const MAX_BYTES: usize = 200 * 1024;

fn reads_alike(site: &Path) -> bool {
    let pages: Vec<Tree> = site_pages(site, MAX_BYTES).into_iter().flatten().collect();
    let Some(template) = pages.first().and_then(template) else { return true };
    let mut reader = TemplateReader::new(template.clone());
    let afresh = |page: &Tree| read(&mut TemplateReader::new(template.clone()), page);
    pages.iter().chain(&pages).all(|page| read(&mut reader, page) == afresh(page))
}

#[test]
fn pages_of_the_corpus_are_read_the_same_one_after_the_other() {
    let apart = failing_sites(reads_alike);
    assert!(apart.is_empty(), "{apart:?}");
}
