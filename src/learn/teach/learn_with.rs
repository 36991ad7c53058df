//! Learns a page with a person's help.

use super::enclose;
use super::error::HelpError;
use super::help::{Block, Help};
use super::label::PageText;
use super::located_help::{LocatedHelp, find_block};
use crate::learn::candidates::{Candidate, LearnOptions, learn};
use crate::learn::view::PageView;
use crate::page::Tree;

/// Like [`learn`], with a person's help: candidates that agree with it come first. The error names the text that is not
/// on the page. A block that is enclosed on a further page is another format of the same list: a variant of the
/// template.
pub fn learn_with(pages: &[Tree], options: &LearnOptions, help: &Help) -> Result<Vec<Candidate>, HelpError> {
    if help.is_empty() {
        return Ok(learn(pages, options));
    }
    let (first, further) = pages.split_first().ok_or(HelpError::NoPage)?;
    let view = PageView::new(first);
    let text = PageText::new(&view);
    let is_here = |block: &&Block| further.is_empty() || find_block(&text, block).is_ok();
    let (here, elsewhere): (Vec<&Block>, Vec<&Block>) = help.enclosed.iter().partition(is_here);
    if !elsewhere.is_empty()
        && elsewhere.len() == help.enclosed.len()
        && help.labels.is_empty()
        && help.records.is_empty()
    {
        return learn_with(further, options, help);
    }
    let enclosed: Vec<Block> = elsewhere.into_iter().cloned().collect();
    let other_format = Help { enclosed, threshold: help.threshold, ..Help::default() };
    let further_views: Vec<PageView<'_>> = further.iter().map(PageView::new).collect();
    let mut candidates = LocatedHelp::new(&text, help, &here)?.candidates(&further_views, options)?;
    if other_format.enclosed.is_empty() {
        return Ok(candidates);
    }
    let others = learn_with(further, options, &other_format)?;
    if let (Some(mine), Some(other)) = (candidates.first_mut(), others.first()) {
        enclose::join(&mut mine.template, &other.template);
        let columns = mine.template.columns().iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        mine.table.rows.iter_mut().for_each(|row| row.cells.resize(columns.len(), None));
        mine.table.columns = columns;
    }
    Ok(candidates)
}
