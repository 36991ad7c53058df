//! `pieme pager`: shows how a saved page links to the next page of its list.

use std::path::PathBuf;

use serde_json::json;
use url::Url;

use super::{PageSandbox, VerbResult, exit, output, page_url};
use crate::page::links;
use crate::page::pager::{self, NextPolicy};

/// Show how a saved page links to the next page of its list
///
/// `next`: there is a link to the next page. `pages`: there are numbered pages, but no link to the next one. `more`: a
/// button loads more rows into the same page. `none`: the list has no further page.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme pager page.html --url https://shop.example/list?page=2
  pieme pager page.html --url https://shop.example/list?page=2 --json | jq -r .next")]
pub(super) struct Args {
    /// The saved page
    page: PathBuf,
    /// Address of the page; its links are relative to it, and its page number counts
    #[arg(long, value_name = "URL", value_parser = page_url)]
    url: Url,
    /// Prefer the link to older posts, as a run does, even if the page calls newer posts next
    #[arg(long)]
    onward: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A longer address is cut on a terminal; `--json` has it whole.
const ADDRESS_WIDTH: usize = 200;

pub(super) fn run(args: &Args) -> VerbResult {
    let tree = PageSandbox::enter(std::slice::from_ref(&args.page))?.read_page(&args.page)?;
    let reading = if args.onward { NextPolicy::ThroughList } else { NextPolicy::AsShown };
    let paging = pager::paging(&tree, &args.url, reading);
    let href = match paging {
        pager::Paging::Next(node) => tree.attribute(node, "href").map(str::trim),
        _ => None,
    };
    if args.json {
        return output::answer(&json!({ "kind": paging.word(), "next": href }));
    }
    let target = href.and_then(|href| links::resolve(&links::base(&tree, &args.url), href));
    output::say(match (paging, target) {
        (pager::Paging::Next(_), Some(target)) => format!("next: {}", output::cell(target.as_str(), ADDRESS_WIDTH)),
        (pager::Paging::Pages, _) => "pages: there are numbered pages, but no link to the next one".to_owned(),
        (pager::Paging::More, _) => "more: a button loads more rows into this page".to_owned(),
        _ => "none: there is no link to a next page".to_owned(),
    });
    Ok(exit::DONE)
}
