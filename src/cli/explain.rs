//! `pieme explain`: what each stage of learning makes of a page.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{print, read_page, refuse};
use crate::induce::{self, LearnOptions};
use crate::page::Tokens;

/// Show what a stage of learning makes of a page
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme explain page.html --stage tokens     what is left of the page
  pieme explain page.html --stage rows       the row sets, best first, with the numbers that ranked them
  pieme explain page.html --stage template   the templates, in readable notation
  pieme explain page.html --stage records    the records of the first candidate")]
pub struct Args {
    page: PathBuf,
    #[arg(long, value_enum, default_value_t = Stage::Rows)]
    stage: Stage,
}

#[derive(Clone, Copy, ValueEnum)]
enum Stage {
    Tokens,
    Rows,
    Template,
    Records,
}

pub fn run(args: Args) -> u8 {
    let page = match read_page(&args.page) {
        Ok(page) => page,
        Err(sentence) => return refuse(&sentence),
    };
    let options = LearnOptions::default();
    match args.stage {
        Stage::Tokens => print(Tokens::new(&page).outline().trim_end()),
        Stage::Rows => {
            for (i, (head, rows)) in induce::explain_rows(&page, &options).into_iter().enumerate() {
                print(&format!("{}. {head}", i + 1));
                for row in rows {
                    print(&format!("     {}", row.chars().take(160).collect::<String>()));
                }
            }
        }
        Stage::Template => {
            for (i, it) in induce::learn(&[page], &options).iter().enumerate() {
                print(&format!("{}. {}", i + 1, it.template));
            }
        }
        Stage::Records => {
            for it in induce::learn(&[page], &options).iter().take(1) {
                let records = serde_json::to_string_pretty(&it.table.records());
                print(&records.expect("records are plain text under text keys"));
            }
        }
    }
    0
}
