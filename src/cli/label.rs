//! `pieme label`: the person chooses the list and names its columns, or decides about quarantined rows.

mod ask;
mod keys;
mod queue;
mod session;
mod side_by_side;

use std::collections::BTreeSet;

use chrono::Utc;

use crate::config::Config;
use crate::labelling::page::{CandidateView, PageLabellingError, ProposalView, assign_names};
use crate::labelling::task::{CandidateChoice, LabellingError};
use crate::model::{Table, TaskName};
use crate::store::ReviewAction;
use crate::tasks;
use crate::tasks::TaskFolder;

#[cfg(test)]
pub(super) use ask::NO_TERMINAL;
pub use ask::confirm;
use ask::{LabelAnswer, ask};
use session::{LabelSession, StoredPage};

use super::help_args::HelpArgs;
use super::resort::resort;
use super::{CliError, VerbResult, exit, output, run, task_folder, task_name};

/// Choose the list, name its columns, accept a repair; then run the task
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme label                                      # all tasks that wait for a label, worst first
  pieme label hotels                               # asks
  pieme label hotels --yes                         # the first candidate, no questions
  pieme label hotels --pick 2 --names name,link,-  # candidate 2; `-` omits a column
  pieme label hotels --pick 1 --names name,price,price,-  # two slots become one column
  pieme label hotels --pick 3 --widen              # candidate 3, each row one element wider
  pieme label hotels --record 'Hotel Adler' --record 'Pension Ida' --yes  # the list with both
  pieme label hotels --label name='Hotel Adler' --label price=95 --yes    # names two columns
  pieme label hotels --enclose 'Hotel Adler'       # all blocks like the one around this text
  pieme label hotels --accept                      # publish the quarantined rows")]
pub(super) struct Args {
    /// Name of the task; default: all tasks that wait for a label, worst first
    task: Option<String>,
    #[command(flatten)]
    picked: PickArgs,
    /// Print the candidates as JSON and change nothing
    #[arg(long)]
    json: bool,
    /// Publish the quarantined rows of the last run
    #[arg(long, conflicts_with_all = ["drop", "pick", "names", "yes"])]
    accept: bool,
    /// Delete the quarantined rows of the last run
    #[arg(long, conflicts_with_all = ["pick", "names", "yes"])]
    drop: bool,
    /// Write the template, but do not run the task
    #[arg(long)]
    no_run: bool,
    #[command(flatten)]
    help: HelpArgs,
}

/// The note on an old page has the sentence of the last run.
const MAX_NOTE_CHARS: usize = 1_000;

/// A choice made by options instead of questions.
#[derive(clap::Args)]
pub(super) struct PickArgs {
    /// Use candidate K without asking
    #[arg(long, value_name = "K")]
    pick: Option<usize>,
    /// Names of the candidate's columns, in order, separated by commas; `-` omits a column
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    names: Option<Vec<String>>,
    /// Columns that identify a record from run to run (`data.key`), separated by commas; `-`: none
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    key: Option<Vec<String>>,
    /// Ask nothing: use the first candidate with the proposed names
    #[arg(long)]
    yes: bool,
}

impl PickArgs {
    /// Whether no question is needed.
    pub fn is_complete(&self) -> bool {
        self.pick.is_some() || self.names.is_some() || self.yes
    }
}

/// Fails where a question is needed and there is no terminal.
pub(super) fn can_choose(picked: &PickArgs) -> Result<(), CliError> {
    if picked.is_complete() { Ok(()) } else { ask::at_terminal() }
}

impl From<LabellingError> for CliError {
    fn from(error: LabellingError) -> CliError {
        let code = match &error {
            LabellingError::NoPage(_)
            | LabellingError::Study(
                PageLabellingError::NoList(_) | PageLabellingError::NotWhole(_) | PageLabellingError::NotAsShown { .. },
            )
            | LabellingError::Page(_)
            | LabellingError::Process(_)
            | LabellingError::Store(_) => exit::FAILED,
            LabellingError::Study(
                PageLabellingError::NoSuchCandidate { .. }
                | PageLabellingError::NameCount { .. }
                | PageLabellingError::NameTwice(_)
                | PageLabellingError::NoColumns
                | PageLabellingError::NoKeyColumn { .. }
                | PageLabellingError::Help(_),
            ) => exit::USAGE,
            LabellingError::Folder(_) | LabellingError::Study(PageLabellingError::Columns(_)) => exit::CONFIG,
        };
        CliError::new(code, error.to_string())
    }
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let Some(task) = &args.task else { return queue::run(config, &args) };
    let name = task_name(task)?;
    if args.accept || args.drop {
        return resolve_quarantine(config, &name, args.accept, args.json);
    }
    let folder = task_folder(config, &name)?;
    let page = StoredPage::load(config, &folder)?;
    let help = args.help.to_help(args.picked.pick);
    if args.json {
        let (view, tables) = page.all_rows(help)?;
        let mut shown = as_json(&view, &tables);
        shown["fetched_at"] = serde_json::json!(page.known.page.fetched_at);
        shown["note"] = serde_json::json!(page.known.stale);
        return output::answer(&shown);
    }
    note_age(&page);
    choose_list(config, &mut page.propose(help)?, &folder, args.picked, args.no_run)
}

/// Says why the page is not that of the last run, if so.
fn note_age(page: &StoredPage) {
    if let Some(note) = &page.known.stale {
        output::note(output::cell(note, MAX_NOTE_CHARS));
    }
}

/// As [`run`], for the draft of `pieme add`, which is not run yet.
pub(super) fn choose(config: &Config, name: &TaskName, picked: PickArgs, help: &HelpArgs) -> VerbResult {
    let folder = task_folder(config, name)?;
    let page = StoredPage::load(config, &folder).map_err(|error| match error {
        LabellingError::NoPage(_) => CliError::failed("no task was made: the page is too large to be stored"),
        error => error.into(),
    })?;
    let mut session = page.propose(help.to_help(picked.pick))?;
    choose_list(config, &mut session, &folder, picked, true)
}

/// Applies the chosen list, by options or by asking, or that the list is empty.
fn choose_list(
    config: &Config,
    session: &mut LabelSession,
    folder: &TaskFolder,
    picked: PickArgs,
    no_run: bool,
) -> VerbResult {
    let key = picked.key.map(|names| names.iter().filter_map(|name| column_name(name)).collect());
    let choice = match (picked.pick, picked.names, picked.yes) {
        (pick, Some(names), _) => {
            let pick = index(pick.unwrap_or(1))?;
            let given = names.iter().map(|it| column_name(it)).collect();
            let names = assign_names(&session.proposal.lists, pick, given).map_err(LabellingError::from)?;
            CandidateChoice { pick, names, seconds: None, key: None }
        }
        (Some(pick), None, _) => default_choice(session, index(pick)?)?,
        (None, None, true) => default_choice(session, 0)?,
        (None, None, false) => match ask(session, folder)? {
            LabelAnswer::Chosen(choice) => choice,
            LabelAnswer::Empty => return confirm_empty(folder),
            LabelAnswer::Skipped | LabelAnswer::Undo | LabelAnswer::Quit => {
                return Err(CliError::needs_person("no label was given; nothing was changed"));
            }
        },
    };
    accept(config, folder, session, &CandidateChoice { key: key.or(choice.key.clone()), ..choice }, no_run)
}

fn accept(
    config: &Config,
    folder: &TaskFolder,
    session: &LabelSession,
    choice: &CandidateChoice,
    no_run: bool,
) -> VerbResult {
    let name = &folder.name;
    let key = session.accept(choice, Utc::now())?;
    if let Some(list) = session.proposal.lists.get(choice.pick).filter(|list| !list.lost.is_empty()) {
        output::note(format!("{name}: {}", ask::lost_columns(list)));
    }
    output::note(format!("{name}: wrote template, columns and labels"));
    if !key.is_empty() && key != folder.task.data.key {
        let key = output::cell(&key.join("`, `"), 200);
        output::note(format!("{name}: records are recognised by `{key}` (data.key in task.toml)"));
    }
    if no_run {
        return Ok(exit::DONE);
    }
    let verdict = run::run_now(config, name)?;
    output::say(run::in_words(name, &verdict));
    Ok(exit::code_of(&verdict))
}

/// Records that an empty list is correct.
fn confirm_empty(folder: &TaskFolder) -> VerbResult {
    tasks::allow_empty(&folder.dir)?;
    output::say(format!("{}: an empty list is accepted from now on (expect.allow_empty in task.toml)", folder.name));
    Ok(exit::DONE)
}

/// Publishes or deletes the quarantined rows.
fn resolve_quarantine(config: &Config, name: &TaskName, accept: bool, json: bool) -> VerbResult {
    if super::open_reader(config)?.quarantined_run(name)?.is_none() {
        return Err(CliError::failed(format!("`{name}` has no quarantined rows")));
    }
    let verdict = resort(config, name, if accept { ReviewAction::Accept } else { ReviewAction::Drop })?;
    if json {
        output::json(&serde_json::json!({ "task": name, "run": verdict }));
    } else {
        output::say(
            verdict.map_or_else(|| format!("{name}: deleted the quarantined rows"), |it| run::in_words(name, &it)),
        );
    }
    Ok(exit::DONE)
}

fn index(pick: usize) -> Result<usize, CliError> {
    pick.checked_sub(1).ok_or_else(|| CliError::usage("candidates are counted from 1"))
}

fn column_name(text: &str) -> Option<String> {
    let text = text.trim();
    (text != "-" && !text.is_empty()).then(|| text.to_owned())
}

fn default_choice(session: &LabelSession, pick: usize) -> Result<CandidateChoice, CliError> {
    let most = session.proposal.lists.len();
    if pick >= most {
        return Err(LabellingError::from(PageLabellingError::NoSuchCandidate { given: pick + 1, most }).into());
    }
    Ok(CandidateChoice { pick, names: session.names(pick), seconds: None, key: None })
}

/// The columns under the names that they are published with. A column that is left out keeps the template's name, with
/// a number where a shown column has that name.
fn column_names(list: &CandidateView) -> Vec<String> {
    let mut taken: BTreeSet<&str> = list.names.iter().flatten().map(String::as_str).collect();
    let mut names = Vec::new();
    for (own, shown) in list.columns.iter().zip(&list.names) {
        let numbered = (2..).map(|n| format!("{own}_{n}"));
        let free = std::iter::once(own.clone()).chain(numbered).find(|name| !taken.contains(name.as_str()));
        names.push(shown.clone().or(free).unwrap_or_default());
        taken.insert(own);
    }
    names
}

fn as_json(view: &ProposalView, tables: &[Table]) -> serde_json::Value {
    let candidates: Vec<serde_json::Value> = view
        .lists
        .iter()
        .zip(tables)
        .enumerate()
        .map(|(place, (list, table))| {
            let columns = column_names(list);
            let named = Table { columns: columns.clone(), rows: table.rows.clone() };
            let mut it = serde_json::json!({
                "rank": place + 1,
                "method": list.method,
                "score": list.score,
                "rows": list.rows,
                "template": list.template,
                "columns": columns,
                "shown": list.names.iter().flatten().collect::<Vec<_>>(),
                "names": list.names,
                "lost": list.lost,
                "key": list.key,
                "records": named.records(),
            });
            super::add_limit(&mut it, list.limit.clone());
            it
        })
        .collect();
    serde_json::json!({ "run": view.run, "url": view.url, "candidates": candidates })
}
