//! Asks which candidate is the person's list, and for the names of its columns. Most answers are a single key.

use std::io::{self, IsTerminal};
use std::time::Instant;

use chrono::Utc;

use crate::labelling::page::CandidateView;
use crate::labelling::task::CandidateChoice;
use crate::learn::teach::Help;
use crate::learn::template::RowAdjustment;
use crate::model::counted;
use crate::show::times;
use crate::tasks::TaskFolder;

use super::super::CliError;
use super::column_name;
use super::keys::{self, KeyPress};
use super::session::{LabelSession, first_rows};
use super::side_by_side::{sample, side_by_side};
use crate::cli::output;

const CELL_WIDTH: usize = 20;

/// The answer for a task.
pub(super) enum LabelAnswer {
    Chosen(CandidateChoice),
    /// The list is empty, and that is correct.
    Empty,
    Skipped,
    /// Undo the label of the previous task.
    Undo,
    Quit,
}

const KEYS: &str = "Enter use this list · 1-5 another · → wider · ← narrower · s skip · q quit · ? all keys";
const ALL_KEYS: &str = "  Enter   use the list that is shown, with these names
  1 to 5  show another list of the page
  → or w  make each row one element wider; ← or n narrower; r start and end one item later
  t       type a text of one record and find the list that contains it
  e       choose and name the columns, then use the list
  x       the list is empty, and that is correct
  u       undo the last change here, or else the label of the previous task
  s       skip this task
  q       quit";

/// What a key does with the candidate that is shown.
enum LabelAction {
    Take,
    Name,
    Show(usize),
    Adjust(RowAdjustment),
    Record,
    Undo,
    Empty,
    Skip,
    Quit,
    Help,
}

pub(crate) const NO_TERMINAL: &str = "there is no terminal to ask at; use --yes, or --pick K with --names A,B,…";

/// Fails where there is no terminal to ask at.
pub(super) fn at_terminal() -> Result<(), CliError> {
    if io::stdin().is_terminal() { Ok(()) } else { Err(CliError::usage(NO_TERMINAL)) }
}

/// Asks yes or no: Enter or y is yes, n is no.
pub fn confirm(question: &str) -> Result<bool, CliError> {
    choose(question, |key| match key {
        KeyPress::Enter | KeyPress::Char('y' | 'Y') => Some(true),
        KeyPress::Char('n' | 'N') => Some(false),
        _ => None,
    })
}

/// Asks until a key has a meaning.
fn choose<T>(question: &str, meaning: impl Fn(KeyPress) -> Option<T>) -> Result<T, CliError> {
    loop {
        match read_key(question)? {
            KeyPress::Leave => return Err(interrupted()),
            key => {
                if let Some(answer) = meaning(key) {
                    return Ok(answer);
                }
            }
        }
    }
}

fn interrupted() -> CliError {
    CliError::needs_person("interrupted; nothing was changed")
}

/// Shows the last good rows beside the current candidate, and handles keys until one is chosen.
pub fn ask(session: &mut LabelSession, folder: &TaskFolder) -> Result<LabelAnswer, CliError> {
    at_terminal()?;
    let began = Instant::now();
    keys::discard_input();
    let page = &session.known().page;
    let age = times::ago(Utc::now() - page.fetched_at);
    output::say(format!("{}: {} (fetched {age})", folder.name, output::cell(page.url.as_str(), 200)));
    // Starts at the candidate that was adjusted last.
    let mut at = session.proposal.said.finish.candidate.min(session.proposal.lists.len() - 1);
    show(session, at);
    // The list whose lost columns were named; Enter uses it then.
    let mut warned = None;
    loop {
        let most = session.proposal.lists.len();
        let key = read_key(&format!("[{} of {most}] {KEYS}\n> ", at + 1))?;
        let Some(wish) = action_for(key) else {
            output::note("This key has no function here; press ? for all keys.");
            continue;
        };
        let spent = || Some(began.elapsed().as_secs_f64());
        if !matches!(wish, LabelAction::Take | LabelAction::Help) {
            warned = None;
        }
        match wish {
            LabelAction::Take if warned.is_none() && !session.proposal.lists[at].lost.is_empty() => {
                warned = Some(at);
                output::say(format!(
                    "{} Press Enter again to use the list; e names its columns.",
                    lost_columns(&session.proposal.lists[at])
                ));
                continue;
            }
            LabelAction::Take if session.proposal.repairs => {
                let names = session.names(at);
                return Ok(LabelAnswer::Chosen(CandidateChoice { pick: at, names, seconds: spent(), key: None }));
            }
            LabelAction::Take | LabelAction::Name => {
                let each = matches!(wish, LabelAction::Name);
                return Ok(LabelAnswer::Chosen(CandidateChoice { seconds: spent(), ..ask_names(session, at, each)? }));
            }
            LabelAction::Quit => return Ok(LabelAnswer::Quit),
            LabelAction::Skip => return Ok(LabelAnswer::Skipped),
            LabelAction::Empty => return Ok(LabelAnswer::Empty),
            LabelAction::Help => output::say(ALL_KEYS),
            LabelAction::Undo if session.proposal.said.finish.adjust.is_empty() => return Ok(LabelAnswer::Undo),
            LabelAction::Undo => show_change(session.adjust(at, None), session, at),
            LabelAction::Adjust(step) => show_change(session.adjust(at, Some(step)), session, at),
            LabelAction::Show(number) if (1..=most).contains(&number) => {
                at = number - 1;
                show(session, at);
            }
            LabelAction::Show(_) => output::note(format!("There are only {} to choose from.", counted(most, "list"))),
            LabelAction::Record => {
                let record = prompt("A text of the record: ")?;
                let help = Help { records: vec![record], ..Help::default() };
                let anew = session.ask_again(help).map(|()| at = 0);
                show_change(anew, session, at);
            }
        }
    }
}

fn action_for(key: KeyPress) -> Option<LabelAction> {
    Some(match key {
        KeyPress::Enter => LabelAction::Take,
        KeyPress::Right => LabelAction::Adjust(RowAdjustment::Widen),
        KeyPress::Left => LabelAction::Adjust(RowAdjustment::Narrow),
        KeyPress::Leave => LabelAction::Quit,
        KeyPress::Other => return None,
        KeyPress::Char(letter) => match letter.to_ascii_lowercase() {
            number @ '1'..='9' => LabelAction::Show(number.to_digit(10)? as usize),
            'w' => LabelAction::Adjust(RowAdjustment::Widen),
            'n' => LabelAction::Adjust(RowAdjustment::Narrow),
            'r' => LabelAction::Adjust(RowAdjustment::Rotate),
            't' => LabelAction::Record,
            'e' => LabelAction::Name,
            'x' => LabelAction::Empty,
            'u' => LabelAction::Undo,
            's' => LabelAction::Skip,
            'q' => LabelAction::Quit,
            '?' | 'h' => LabelAction::Help,
            _ => return None,
        },
    })
}

/// Says which columns have no value in this list any more.
pub(super) fn lost_columns(list: &CandidateView) -> String {
    let names: Vec<String> = list.lost.iter().map(|name| format!("`{}`", output::cell(name, 60))).collect();
    let (noun, verb) = if names.len() == 1 { ("column", "stays") } else { ("columns", "stay") };
    format!("This list has no value for the {noun} {}, which {verb} in the table, empty.", names.join(", "))
}

/// Shows the candidate after a change, or why the change failed.
fn show_change(done: Result<(), CliError>, session: &LabelSession, at: usize) {
    match done {
        Ok(()) => show(session, at),
        Err(error) => output::note(output::cell(&error.sentence, 2_000)),
    }
}

fn show(session: &LabelSession, place: usize) {
    let list = &session.proposal.lists[place];
    let (rows, method) = (list.rows, output::cell(&list.method, 20));
    let listed = sample(&first_rows(list), &list.names);
    if let Some(limit) = &list.limit {
        output::say(format!("Rows are missing: {limit}."));
    }
    let Some(good) = &session.known().good else {
        return output::say(format!("{} on this page ({method})\n{listed}", counted(rows, "row")));
    };
    let new = format!("{} now ({method})\n{listed}", counted(rows, "row"));
    let names: Vec<Option<String>> = good.columns.iter().cloned().map(Some).collect();
    let old = format!("{} before\n{}", counted(good.rows.len(), "row"), sample(good, &names));
    output::say(side_by_side(&old, &new, output::terminal_width().unwrap_or(80)));
    if let Some(doubt) = session.proposal.doubt.as_ref().filter(|_| place == 0) {
        output::say(format!("Check carefully: {}.", output::cell(doubt, 200)));
    }
}

fn ask_names(session: &LabelSession, pick: usize, each: bool) -> Result<CandidateChoice, CliError> {
    let mut names = session.names(pick);
    let kept: Vec<String> = names.iter().flatten().map(|name| output::cell(name, 60)).collect();
    let more = names.len() - kept.len();
    let list = &session.proposal.lists[pick];
    let key = output::cell(&list.key.join(", "), 200);
    let told_apart = if key.is_empty() { String::new() } else { format!("\nRecords are recognised by: {key}") };
    let question = format!(
        "\nColumns: {}{told_apart}\n[Enter = use these, e = choose and name them, {more} more available] ",
        kept.join(", ")
    );
    if !each && !wants_to_name(&question)? {
        return Ok(CandidateChoice { pick, names, seconds: None, key: None });
    }
    output::say("Enter keeps the name in brackets, `-` omits the column, `.` keeps all remaining names.");
    for (column, name) in names.iter_mut().enumerate() {
        let mut values: Vec<&str> = list.records.iter().filter_map(|row| row.get(column)?.as_deref()).collect();
        values.dedup();
        let shown: Vec<String> = values.iter().take(3).map(|it| output::cell(it, CELL_WIDTH)).collect();
        let kept = name.clone().unwrap_or_else(|| "-".to_owned());
        match prompt(&format!("  {}: {} [{kept}] ", column + 1, shown.join(" · ")))?.as_str() {
            "" => {}
            "." => break,
            text => *name = column_name(text),
        }
    }
    let shown = if key.is_empty() { "-" } else { &key };
    let key = match prompt(&format!("Columns that identify a record, `-` for none [{shown}] "))?.as_str() {
        "" => None,
        text => Some(text.split(',').filter_map(column_name).collect()),
    };
    Ok(CandidateChoice { pick, names, seconds: None, key })
}

fn wants_to_name(question: &str) -> Result<bool, CliError> {
    choose(question, |key| match key {
        KeyPress::Enter => Some(false),
        KeyPress::Char('e' | 'E') => Some(true),
        _ => None,
    })
}

fn read_key(question: &str) -> Result<KeyPress, CliError> {
    keys::read_key(question).map_err(CliError::failed)
}

/// Reads a line; fails at the end of input.
fn prompt(question: &str) -> Result<String, CliError> {
    output::prompt(question)?.ok_or_else(interrupted)
}
