//! `pieme pager`: where a list goes on.

use std::path::PathBuf;

use serde_json::json;
use url::Url;

use super::{VerbResult, exit, exit_code, output, page_url, read_page};
use crate::robot::link;
use crate::robot::pager::{self, NextPolicy};

/// How a page leads on to the next one of its list
///
/// `next`: there is a link to the page after this one. `pages`: numbers of pages, none of which is the next. `more`: a button
/// that fetches more into the same page. `none`: nothing leads on.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme pager page.html --url https://shop.example/list?page=2
  pieme pager page.html --url https://shop.example/list?page=2 --json | jq -r .next")]
pub struct Args {
    page: PathBuf,
    /// Where the page is from: its links are relative to it, and its page number counts
    #[arg(long, value_name = "URL", value_parser = page_url)]
    url: Url,
    /// Where a walk goes on: on a blog to the older posts, even where the page calls the newer ones next
    #[arg(long)]
    onward: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A longer address is cut on a terminal; `--json` has it whole.
const ADDRESS_WIDTH: usize = 200;

pub fn run(args: Args) -> u8 {
    exit_code(pager(&args))
}

fn pager(args: &Args) -> VerbResult {
    let tree = read_page(&args.page)?;
    let reading = if args.onward { NextPolicy::ThroughList } else { NextPolicy::AsShown };
    let paging = pager::paging(&tree, &args.url, reading);
    let href = match paging {
        pager::Paging::Next(node) => tree.attribute(node, "href").map(str::trim),
        _ => None,
    };
    if args.json {
        output::json(&json!({ "kind": paging.word(), "next": href }));
        return Ok(exit::DONE);
    }
    let target = href.and_then(|href| link::resolve(&link::base(&tree, &args.url), href));
    output::say(match (paging, target) {
        (pager::Paging::Next(_), Some(target)) => format!("next: {}", output::cell(target.as_str(), ADDRESS_WIDTH)),
        (pager::Paging::Pages, _) => "pages: there are numbered pages, and no link to the one after this".to_owned(),
        (pager::Paging::More, _) => "more: a button fetches more into this page; no link leads on".to_owned(),
        _ => "none: nothing leads on from this page".to_owned(),
    });
    Ok(exit::DONE)
}
