//! `pieme explain`: what each stage of learning makes of a page.

use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::config::Config;
use crate::extract;
use crate::induce::{self, LearnOptions, Template};
use crate::page::{Tokens, Tree};
use crate::supervise;

use super::{Complaint, Done, exit, out, read_page, settle, task_folder, task_name};

/// Show what a stage of learning makes of a page, or of the page that a task saw last
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme explain page.html --stage tokens     what is left of the page
  pieme explain page.html --stage rows       the row sets, best first, with the numbers that ranked them
  pieme explain hotels --stage template      the template of the task, in readable notation
  pieme explain hotels --stage records       what it reads off the page of the last run")]
pub struct Args {
    /// A saved page, or the name of a task
    #[arg(value_name = "TASK|PAGE")]
    what: String,
    #[arg(long, value_enum, default_value_t = Stage::Rows)]
    stage: Stage,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Stage {
    Tokens,
    Rows,
    Template,
    Records,
}

pub fn run(config: Option<&Path>, args: Args) -> u8 {
    settle(explain(config, &args))
}

fn explain(config: Option<&Path>, args: &Args) -> Done {
    let (page, template) = page_and_template(config, &args.what)?;
    let (text, value) = match args.stage {
        Stage::Tokens => tokens(&page),
        Stage::Rows => rows(&page),
        Stage::Template => templates(page, template),
        Stage::Records => records(page, template)?,
    };
    if args.json {
        out::json(&value)
    } else {
        out::say(text.trim_end())
    }
    Ok(exit::DONE)
}

fn page_and_template(config: Option<&Path>, what: &str) -> Result<(Tree, Option<Template>), Complaint> {
    let file = Path::new(what);
    if file.is_file() || what.contains(['/', '\\']) {
        return Ok((read_page(file)?, None));
    }
    let name = task_name(what)?;
    let config = Config::find(config)?;
    let folder = task_folder(&config, &name)?;
    let page = supervise::last_tree(&config, &folder)?;
    let template = match &folder.template {
        Some(json) => Some(Template::from_json(json).map_err(|it| Complaint::new(exit::CONFIG, it.to_string()))?),
        None => None,
    };
    Ok((page, template))
}

fn tokens(page: &Tree) -> (String, Value) {
    let outline = Tokens::new(page).outline();
    let lines: Vec<&str> = outline.lines().collect();
    let value = json!({ "tokens": lines });
    (outline, value)
}

fn rows(page: &Tree) -> (String, Value) {
    let sets = induce::explain_rows(page, &LearnOptions::default());
    let mut text = String::new();
    for (place, (head, rows)) in sets.iter().enumerate() {
        text.push_str(&format!("{}. {head}\n", place + 1));
        for row in rows {
            text.push_str(&format!("     {}\n", out::cell(row, 160)));
        }
    }
    let value = sets.into_iter().map(|(head, rows)| json!({ "set": head, "rows": rows })).collect::<Vec<_>>();
    (text, json!({ "row_sets": value }))
}

fn templates(page: Tree, template: Option<Template>) -> (String, Value) {
    let templates = match template {
        Some(template) => vec![template],
        None => induce::learn(&[page], &LearnOptions::default()).into_iter().map(|it| it.template).collect(),
    };
    let printed: Vec<String> = templates.iter().map(ToString::to_string).collect();
    let numbered = printed.iter().enumerate().map(|(place, text)| format!("{}. {text}\n", place + 1)).collect();
    (numbered, json!({ "templates": printed }))
}

fn records(page: Tree, template: Option<Template>) -> Result<(String, Value), Complaint> {
    let learned = || induce::learn(std::slice::from_ref(&page), &LearnOptions::default()).into_iter().next();
    let Some(template) = template.or_else(|| learned().map(|it| it.template)) else {
        return Err(Complaint::new(exit::FAILED, "there is no list on this page"));
    };
    let found = extract::extract(&template, &page);
    let value = json!({
        "similarity": found.similarity,
        "rows": found.table.rows.len(),
        "records": found.table.records(),
    });
    Ok((serde_json::to_string_pretty(&value).unwrap_or_default(), value))
}
