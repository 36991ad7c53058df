//! `pieme explain`: shows the numbers behind a run's outcome, or one stage of learning on a page.

mod stages;
mod verdict;

use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::daemon::child::spawn::THIS_PROGRAM;
use crate::labelling::task;
use crate::learn::Template;
use crate::model::PageMeta;
use crate::tasks::TemplateText;

use super::{CliError, PageSandbox, VerbResult, exit, log, open_reader, output, task_folder, task_name, usable_config};

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
        stage if is_page => {
            let page = PageSandbox::enter(&[file.to_owned()])?.read_page(file)?;
            stages::explain(stage.unwrap_or(LearnStage::Rows), page, None)?
        }
        None => verdict::explain(&usable_config(config)?, &task_name(&args.what)?, args.run.as_deref())?,
        Some(stage) => return explain_stored_page(config, &args.what, stage, args.json),
    };
    Ok(print(&text, &value, args.json))
}

fn print(text: &str, value: &Value, json: bool) -> u8 {
    if json {
        output::json(value)
    } else {
        output::say(text.trim_end())
    }
    exit::DONE
}

/// The last page of a task is explained by a process of its own: the client of the database has a thread in this one,
/// which would stay outside of the sandbox.
fn explain_stored_page(config: Option<&Path>, what: &str, stage: LearnStage, json: bool) -> VerbResult {
    let name = task_name(what)?;
    let config = usable_config(config)?;
    let folder = task_folder(&config, &name)?;
    let (page, packed) = task::last_page_of(&config, &folder)?;
    let charset = folder.task.fetch.charset.clone();
    let header = StoredPageHeader { charset, page, template: folder.template.as_ref().map(TemplateText::text) };
    let mut input = serde_json::to_vec(&header).map_err(CliError::failed)?;
    input.push(b'\n');
    input.extend(packed);
    let stage = stage.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default();
    let mut process = Command::new(THIS_PROGRAM)
        .args(["explain-stored", "--stage", &stage])
        .args(json.then_some("--json"))
        .stdin(Stdio::piped())
        .spawn()
        .map_err(CliError::failed)?;
    if let Some(mut stdin) = process.stdin.take() {
        // It fails where the process has ended, which says why.
        let _ = stdin.write_all(&input);
    }
    let status = process.wait().map_err(CliError::failed)?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::KILLED))
}

/// The first line of the input of `explain-stored`; the compressed page follows.
#[derive(Serialize, Deserialize)]
struct StoredPageHeader {
    charset: String,
    page: PageMeta,
    template: Option<String>,
}

/// Explain a page of the store, which is read from stdin
#[derive(clap::Args)]
pub(super) struct StoredPageArgs {
    #[arg(long, value_enum)]
    stage: LearnStage,
    #[arg(long)]
    json: bool,
}

pub(super) fn run_stored(args: &StoredPageArgs) -> VerbResult {
    let sandbox = PageSandbox::enter(&[])?;
    let mut input = io::stdin().lock();
    let (mut line, mut packed) = (Vec::new(), Vec::new());
    input.read_until(b'\n', &mut line).and_then(|_| input.read_to_end(&mut packed)).map_err(CliError::failed)?;
    let header: StoredPageHeader = serde_json::from_slice(&line).map_err(CliError::failed)?;
    let template = header.template.as_deref().map(Template::from_json).transpose();
    let template = template.map_err(CliError::config)?;
    let page = sandbox.stored_page(&header.charset, &header.page, &packed)?;
    let (text, value) = stages::explain(args.stage, page, template)?;
    Ok(print(&text, &value, args.json))
}
