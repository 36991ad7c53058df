//! `pieme label`: a person chooses the list and names its columns.

use std::io::{self, BufRead, IsTerminal, Write};

use chrono::Utc;

use crate::config::Config;
use crate::induce::adjust::Adjust;
use crate::model::{Table, TaskName};
use crate::store::Resort;
use crate::supervise::{self, Choice, Proposal, SuperviseError};
use crate::taskdir::TaskFolder;

use super::resort::resort;
use super::said::HelpArgs;
use super::{Complaint, Done, exit, out, run, task_folder, task_name};

/// Choose which list is yours and name its columns; then run the task
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme label hotels                               asks
  pieme label hotels --yes                         takes the first candidate as it stands
  pieme label hotels --pick 2 --names name,link,-  candidate 2; `-` leaves a column out
  pieme label hotels --record 'Hotel Adler' --record 'Pension Ida' --yes   the list with these two records
  pieme label hotels --label name='Hotel Adler' --label price=95 --yes     two columns, named
  pieme label hotels --enclose 'Hotel Adler'       all blocks like the one around it
  pieme label hotels --accept                      the rows that the last run kept aside are right
  pieme label hotels --pick 2 --widen              candidate 2, each row one element wider
  pieme label hotels --pick 1 --names name,price,price,-   one column for a field that has two places")]
pub struct Args {
    task: String,
    /// Take this candidate without asking
    #[arg(long, value_name = "K")]
    pick: Option<usize>,
    /// Names for the candidate's columns, in order, separated by commas; `-` leaves one out
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    names: Option<Vec<String>>,
    /// Ask nothing: the first candidate, with the names that are proposed
    #[arg(long)]
    yes: bool,
    /// Show the candidates as JSON and change nothing
    #[arg(long)]
    json: bool,
    /// The rows that the last run kept aside are right: publish them
    #[arg(long, conflicts_with_all = ["drop", "pick", "names", "yes"])]
    accept: bool,
    /// Forget the rows that were kept aside
    #[arg(long, conflicts_with_all = ["pick", "names", "yes"])]
    drop: bool,
    /// Write the template, but do not run the task
    #[arg(long)]
    no_run: bool,
    #[command(flatten)]
    help: HelpArgs,
}

const SHOWN_ROWS: usize = 3;
const SHOWN_COLUMNS: usize = 7;
const CELL_WIDTH: usize = 20;

impl From<SuperviseError> for Complaint {
    fn from(error: SuperviseError) -> Complaint {
        let code = match &error {
            SuperviseError::NoPage(_)
            | SuperviseError::NoList(_)
            | SuperviseError::Page(_)
            | SuperviseError::Store(_) => exit::FAILED,
            SuperviseError::NoSuchCandidate { .. }
            | SuperviseError::NameCount { .. }
            | SuperviseError::NameTwice(_)
            | SuperviseError::NoColumns
            | SuperviseError::Help(_) => exit::USAGE,
            SuperviseError::Folder(_) => exit::CONFIG,
        };
        Complaint::new(code, error.to_string())
    }
}

pub fn run(config: &Config, args: Args) -> Done {
    let name = task_name(&args.task)?;
    if args.accept || args.drop {
        return set_aside(config, &name, args.accept, args.json);
    }
    let folder = task_folder(config, &name)?;
    let mut proposal = supervise::propose(config, &folder, &args.help.said(args.pick))?;
    if args.json {
        out::json(&as_json(&proposal));
        return Ok(exit::DONE);
    }
    let choice = match (args.pick, args.names, args.yes) {
        (pick, Some(names), _) => {
            Choice { pick: index(pick.unwrap_or(1))?, names: names.iter().map(|it| named(it)).collect() }
        }
        (Some(pick), None, _) => proposed(&proposal, index(pick)?)?,
        (None, None, true) => proposed(&proposal, 0)?,
        (None, None, false) => ask(&mut proposal, &folder)?,
    };
    proposal.accept(&folder, &choice, Utc::now())?;
    out::note(format!("{name}: template, columns and labels are written"));
    if args.no_run {
        return Ok(exit::DONE);
    }
    let verdict = run::now(config, &name)?;
    out::say(run::in_words(&name, &verdict));
    Ok(exit::of(&verdict))
}

/// Rows that were kept aside: published as they are, or forgotten.
fn set_aside(config: &Config, name: &TaskName, accept: bool, json: bool) -> Done {
    if super::reader(config)?.aside(name)?.is_none() {
        return Err(Complaint::new(exit::FAILED, format!("`{name}` has no rows that were kept aside")));
    }
    let verdict = resort(config, name, if accept { Resort::Accept } else { Resort::Drop })?;
    if json {
        out::json(&serde_json::json!({ "task": name, "run": verdict }));
    } else {
        out::say(
            verdict.map_or_else(
                || format!("{name}: the rows that were kept aside are gone"),
                |it| run::in_words(name, &it),
            ),
        );
    }
    Ok(exit::DONE)
}

fn index(pick: usize) -> Result<usize, Complaint> {
    pick.checked_sub(1).ok_or_else(|| Complaint::new(exit::USAGE, "candidates are counted from 1"))
}

fn named(text: &str) -> Option<String> {
    let text = text.trim();
    (text != "-" && !text.is_empty()).then(|| text.to_owned())
}

fn proposed(proposal: &Proposal, pick: usize) -> Result<Choice, Complaint> {
    let most = proposal.candidates.len();
    if pick >= most {
        return Err(SuperviseError::NoSuchCandidate { given: pick + 1, most }.into());
    }
    Ok(Choice { pick, names: proposal.names(pick) })
}

fn ask(proposal: &mut Proposal, folder: &TaskFolder) -> Result<Choice, Complaint> {
    if !io::stdin().is_terminal() {
        let sentence = "there is no terminal to ask at; use --yes, or --pick K with --names A,B,…";
        return Err(Complaint::new(exit::USAGE, sentence));
    }
    out::say(format!("{}\n", out::cell(proposal.page.url.as_str(), 200)));
    if let Some(last_good) = &proposal.last_good {
        let names: Vec<Option<String>> = last_good.columns.iter().cloned().map(Some).collect();
        out::say(format!("Last good rows ({}):\n{}\n", last_good.rows.len(), sample(last_good, &names)));
    }
    for place in 0..proposal.candidates.len() {
        show(proposal, place);
    }
    let most = proposal.candidates.len();
    // The candidate that was touched last is what Enter takes.
    let mut at = proposal.said.finish.candidate.min(most - 1);
    let pick = loop {
        let answer = prompt(&format!(
            "Which one is your list? [1-{most}, Enter = {}, w = wider, n = narrower, r = rotate, u = undo, q = quit] ",
            at + 1
        ))?;
        match (answer.as_str(), touched(&answer, at)) {
            ("", _) => break at,
            ("q", _) => return Err(Complaint::new(exit::NEEDS_PERSON, "nothing was changed")),
            (_, Some((step, place))) if place < most => match proposal.adjust(folder, place, step) {
                Ok(()) => {
                    at = place;
                    show(proposal, place);
                }
                Err(error) => out::note(error.to_string()),
            },
            (text, _) => match text.parse::<usize>() {
                Ok(number) if (1..=most).contains(&number) => break number - 1,
                Ok(_) | Err(_) => out::note(format!("A number from 1 to {most}, please; or w, n, r as in `w2`.")),
            },
        }
    };
    ask_names(proposal, pick)
}

fn show(proposal: &Proposal, place: usize) {
    let candidate = &proposal.candidates[place];
    let rows = candidate.table.rows.len();
    let shown = sample(&candidate.table, &proposal.names(place));
    out::say(format!("[{}] {rows} rows ({})\n{shown}\n", place + 1, candidate.method));
}

/// `w`, `n`, `r` and `u`, with the candidate's number behind, or of the one at hand.
fn touched(answer: &str, at: usize) -> Option<(Option<Adjust>, usize)> {
    let step = match answer.chars().next()? {
        'w' => Some(Adjust::Widen),
        'n' => Some(Adjust::Narrow),
        'r' => Some(Adjust::Rotate),
        'u' => None,
        _ => return None,
    };
    match answer[1..].trim() {
        "" => Some((step, at)),
        number => Some((step, number.parse::<usize>().ok()?.checked_sub(1)?)),
    }
}

fn ask_names(proposal: &Proposal, pick: usize) -> Result<Choice, Complaint> {
    let mut names = proposal.names(pick);
    let kept: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let more = names.len() - kept.len();
    let question =
        format!("\nColumns: {}\n[Enter = yes, e = name and choose them, {more} more among them] ", kept.join(", "));
    if prompt(&question)? != "e" {
        return Ok(Choice { pick, names });
    }
    let candidate = &proposal.candidates[pick];
    out::say("Enter keeps what stands in brackets, `-` leaves the column out, `.` keeps all the rest.");
    for (column, name) in names.iter_mut().enumerate() {
        let mut values: Vec<&str> =
            candidate.table.rows.iter().filter_map(|row| row.cells[column].as_deref()).collect();
        values.dedup();
        let shown: Vec<String> = values.iter().take(3).map(|it| out::cell(it, CELL_WIDTH)).collect();
        let kept = name.clone().unwrap_or_else(|| "-".to_owned());
        match prompt(&format!("  {}: {} [{kept}] ", column + 1, shown.join(" · ")))?.as_str() {
            "" => {}
            "." => break,
            text => *name = named(text),
        }
    }
    Ok(Choice { pick, names })
}

fn prompt(question: &str) -> Result<String, Complaint> {
    let mut stdout = io::stdout().lock();
    let mut line = String::new();
    let read = write!(stdout, "{question}")
        .and_then(|()| stdout.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut line));
    match read {
        Ok(0) => Err(Complaint::new(exit::NEEDS_PERSON, "nothing was changed")),
        Ok(_) => Ok(line.trim().to_owned()),
        Err(error) => Err(Complaint::new(exit::FAILED, error.to_string())),
    }
}

/// The first rows under the names that are proposed, as many columns as a terminal is wide.
fn sample(table: &Table, names: &[Option<String>]) -> String {
    let wanted: Vec<(usize, &str)> =
        names.iter().enumerate().filter_map(|(column, name)| Some((column, name.as_deref()?))).collect();
    let mut header: Vec<&str> = wanted.iter().take(SHOWN_COLUMNS).map(|&(_, name)| name).collect();
    let more = format!("+{} more", wanted.len().saturating_sub(SHOWN_COLUMNS));
    if wanted.len() > SHOWN_COLUMNS {
        header.push(&more);
    }
    let mut shown = out::table(&header);
    for row in table.rows.iter().take(SHOWN_ROWS) {
        let cell = |&(column, _): &(usize, &str)| out::cell(row.cells[column].as_deref().unwrap_or(""), CELL_WIDTH);
        shown.add_row(wanted.iter().take(SHOWN_COLUMNS).map(cell));
    }
    shown.to_string()
}

fn as_json(proposal: &Proposal) -> serde_json::Value {
    let candidates: Vec<serde_json::Value> = proposal
        .candidates
        .iter()
        .enumerate()
        .map(|(place, candidate)| {
            serde_json::json!({
                "rank": place + 1,
                "method": candidate.method,
                "score": candidate.score,
                "rows": candidate.table.rows.len(),
                "template": candidate.template.to_string(),
                "columns": candidate.table.columns,
                "names": proposal.names(place),
                "records": candidate.table.records(),
            })
        })
        .collect();
    serde_json::json!({ "run": proposal.run, "url": proposal.page.url, "candidates": candidates })
}
