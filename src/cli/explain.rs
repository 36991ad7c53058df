//! `pieme explain`: the numbers behind a verdict, and what each stage of learning makes of a page.

mod stages;
mod verdict;

use std::path::Path;

use clap::ValueEnum;

use crate::labelling::task;
use crate::learn::Template;
use crate::page::Tree;

use super::{
    CliError, VerbResult, exit, exit_code, log, open_reader, output, read_page, task_folder, task_name, usable_config,
};

/// Show the numbers that led to a task's last verdict, or what a stage of learning makes of a page
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme explain hotels                       why its last run ended as it did: similarity, rows, columns, signs
  pieme explain hotels --run 0198a           the same of another run; `pieme log hotels --last 20` lists them
  pieme explain page.html --stage tokens     what is left of the page
  pieme explain page.html --stage encodings  the page as the finders of repeats see it, coarsest first
  pieme explain page.html --stage rows       the row sets, best first, with the numbers that ranked them
  pieme explain page.html --stage alignment  the slots of the first one, and which text of each row fills them
  pieme explain hotels --stage template      the template of the task, in readable notation
  pieme explain hotels --stage columns       where each column comes from
  pieme explain hotels --stage records       what it reads off the page of the last run")]
pub struct Args {
    /// A saved page, or the name of a task
    #[arg(value_name = "TASK|PAGE")]
    what: String,
    /// Absent: the verdict of a task, the rows of a page
    #[arg(long, value_enum)]
    stage: Option<LearnStage>,
    /// The verdict of this run, by its id or the beginning of it
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

pub fn run(config: Option<&Path>, args: Args) -> u8 {
    exit_code(explain(config, &args))
}

fn explain(config: Option<&Path>, args: &Args) -> VerbResult {
    let file = Path::new(&args.what);
    let is_page = file.is_file() || args.what.contains(['/', '\\']);
    if args.run.is_some() && (is_page || args.stage.is_some()) {
        let sentence = "--run is for the verdict of a task's run; the stages show a saved page, or the one seen last";
        return Err(CliError::new(exit::USAGE, sentence));
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

/// The page that a task saw last, and its template.
fn last_page(config: Option<&Path>, what: &str) -> Result<(Tree, Option<Template>), CliError> {
    let name = task_name(what)?;
    let config = usable_config(config)?;
    let folder = task_folder(&config, &name)?;
    let page = task::last_tree(&config, &folder)?;
    let template = match &folder.template {
        Some(json) => {
            Some(Template::from_json(&json.text()).map_err(|it| CliError::new(exit::CONFIG, it.to_string()))?)
        }
        None => None,
    };
    Ok((page, template))
}
