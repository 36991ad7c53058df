//! `pieme extract`: the records of a page under a learned template.

use std::path::PathBuf;

use serde_json::json;

use super::{Complaint, Done, exit, out, read_page, settle};
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
    settle(extract(&args))
}

fn extract(args: &Args) -> Done {
    let path = args.template.display();
    let text = std::fs::read_to_string(&args.template)
        .map_err(|error| Complaint::new(exit::USAGE, format!("cannot read the template {path}: {error}")))?;
    let template =
        Template::from_json(&text).map_err(|error| Complaint::new(exit::USAGE, format!("{path}: {error}")))?;
    let page = read_page(&args.page)?;
    let found = extract::extract(&template, &page);
    if args.json {
        let (similarity, rows) = (found.similarity, found.table.rows.len());
        out::json(&json!({ "similarity": similarity, "rows": rows, "records": found.table.records() }));
    } else {
        out::say(format!("{} rows, similarity {:.2}", found.table.rows.len(), found.similarity));
        out::say(super::learn::preview(&found.visible(&template)));
    }
    Ok(if found.similarity < THRESHOLD { exit::NEEDS_PERSON } else { exit::DONE })
}
