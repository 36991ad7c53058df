//! `pieme extract`: the records of a page under a learned template.

use std::path::PathBuf;

use serde_json::json;

use super::exit::NEEDS_PERSON;
use super::{print, read_page, refuse};
use crate::extract;
use crate::induce::similarity::THRESHOLD;
use crate::induce::template::Template;

/// Read the records of a page by a learned template
///
/// Exits with 3 when the page no longer looks like the template (similarity below 0.7).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme extract --template template.json page2.html
  pieme extract --template template.json page2.html --json")]
pub struct Args {
    /// What `pieme learn --pick K -o FILE` wrote
    #[arg(long, value_name = "FILE")]
    template: PathBuf,
    page: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> u8 {
    let path = args.template.display();
    let text = match std::fs::read_to_string(&args.template) {
        Ok(text) => text,
        Err(error) => return refuse(&format!("cannot read the template {path}: {error}")),
    };
    let template = match Template::from_json(&text) {
        Ok(template) => template,
        Err(error) => return refuse(&format!("{path}: {error}")),
    };
    let page = match read_page(&args.page) {
        Ok(page) => page,
        Err(sentence) => return refuse(&sentence),
    };
    let found = extract::extract(&template, &page);
    if args.json {
        let (similarity, rows) = (found.similarity, found.table.rows.len());
        print(&json!({ "similarity": similarity, "rows": rows, "records": found.table.records() }).to_string());
    } else {
        print(&format!("{} rows, similarity {:.2}", found.table.rows.len(), found.similarity));
        print(&super::learn::preview(&found.visible(&template)));
    }
    if found.similarity < THRESHOLD { NEEDS_PERSON } else { 0 }
}
