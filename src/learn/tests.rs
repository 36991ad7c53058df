//! Helpers of the learner's tests.

use std::path::{Path, PathBuf};

use super::apply::visible;
use super::{Candidate, Help, HelpError, LearnOptions, Template, learn, learn_with};
use crate::model::Row;
use crate::page::{Tree, charset};

/// The first candidate of a page.
pub fn first(page: &str) -> Candidate {
    learn(&[Tree::parse(page)], &LearnOptions::default()).swap_remove(0)
}

/// The candidates of a page with a person's help.
pub fn taught(page: &str, help: &Help) -> Result<Vec<Candidate>, HelpError> {
    learn_with(&[Tree::parse(page)], &LearnOptions::default(), help)
}

/// The shown cells of each row, as `Oak | 95`, with `-` for an empty one.
pub fn shown_rows(candidate: &Candidate) -> Vec<String> {
    let row = |row: &Row| row.cells.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" | ");
    visible(&candidate.table, &candidate.template).rows.iter().map(row).collect()
}

/// The template of a page's first candidate.
pub fn template(page: &Tree) -> Option<Template> {
    let options = LearnOptions { top: 1, ..LearnOptions::default() };
    learn(std::slice::from_ref(page), &options).into_iter().next().map(|it| it.template)
}

/// The sites of the corpus that fail the check; none if there is no corpus.
#[allow(clippy::print_stderr, reason = "reports a skipped test")]
pub fn failing_sites(check: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let root = std::env::var_os("PIEME_CORPUS").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let Ok(sites) = std::fs::read_dir(root.join("corpus")) else {
        eprintln!("skipped: no corpus at {} (set PIEME_CORPUS)", root.display());
        return Vec::new();
    };
    sites.flatten().map(|site| site.path()).filter(|site| !check(site)).collect()
}

/// The pages of a site of the corpus; without those that are too large, since tests are built without optimisation.
pub fn site_pages(site: &Path, max_bytes: usize) -> [Option<Tree>; 3] {
    ["page.html", "page2.html", "page3.html"].map(|name| {
        let bytes = std::fs::read(site.join(name)).ok().filter(|bytes| bytes.len() <= max_bytes)?;
        Some(Tree::parse(&charset::decode(&bytes, None).text))
    })
}
