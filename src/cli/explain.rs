//! `pieme explain`: shows the numbers behind a run's outcome, or one stage of learning on a page.

mod stages;
mod verdict;

use std::path::Path;

use clap::ValueEnum;

use crate::labelling::task;
use crate::learn::Template;
use crate::page::Tree;

use super::{CliError, VerbResult, exit, log, open_reader, output, read_page, task_folder, task_name, usable_config};

/// Show the numbers behind a task's last outcome, or one stage of learning
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme explain hotels                       the last outcome: similarity, rows, columns, page
  pieme explain hotels --run 0198a           another run; `pieme log hotels --last 20` lists them
  pieme explain page.html --stage tokens     the page as tokens
  pieme explain page.html --stage encodings  the page as symbols, coarsest encoding first
  pieme explain page.html --stage rows       the row sets, best first, with their scores
  pieme explain page.html --stage alignment  the slots of the best row set and their texts
  pieme explain hotels --stage template      the template, in readable notation
  pieme explain hotels --stage columns       the source of each column
  pieme explain hotels --stage records       the records of the last page")]
pub(super) struct Args {
    /// A saved page, or the name of a task
    #[arg(value_name = "TASK|PAGE")]
    what: String,
    /// Stage of learning to show; default: the outcome of a task, or the rows of a page
    #[arg(long, value_enum)]
    stage: Option<LearnStage>,
    /// Explain this run; ID is its id or the start of it
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum LearnStage {
    Tokens,
    Encodings,
    Rows,
    Alignment,
    Template,
    Columns,
    Records,
}

pub(super) fn run(config: Option<&Path>, args: &Args) -> VerbResult {
    let file = Path::new(&args.what);
    let is_page = file.is_file() || args.what.contains(['/', '\\']);
    if args.run.is_some() && (is_page || args.stage.is_some()) {
        let sentence = "--run explains the outcome of a task's run; it cannot be combined with a saved page or --stage";
        return Err(CliError::usage(sentence));
    }
    let (text, value) = match args.stage {
        stage if is_page => stages::explain(stage.unwrap_or(LearnStage::Rows), read_page(file)?, None)?,
        None => verdict::explain(&usable_config(config)?, &task_name(&args.what)?, args.run.as_deref())?,
        Some(stage) => {
            let (page, template) = last_page(config, &args.what)?;
            stages::explain(stage, page, template)?
        }
    };
    if args.json {
        output::json(&value)
    } else {
        output::say(text.trim_end())
    }
    Ok(exit::DONE)
}

/// The last page of a task, and its template.
fn last_page(config: Option<&Path>, what: &str) -> Result<(Tree, Option<Template>), CliError> {
    let name = task_name(what)?;
    let config = usable_config(config)?;
    let folder = task_folder(&config, &name)?;
    let page = task::last_tree(&config, &folder)?;
    let template = folder.template.as_ref().map(|json| Template::from_json(&json.text())).transpose();
    Ok((page, template.map_err(CliError::config)?))
}
