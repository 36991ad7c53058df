//! The question: which of these is your list? One key answers it.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Instant;

use crate::config::Config;
use crate::induce::adjust::Adjust;
use crate::induce::help::Help;
use crate::supervise::{self, Choice, Proposal};
use crate::taskdir::TaskFolder;

use super::super::{Complaint, exit, out};
use super::beside::{beside, sample};
use super::keys::{self, Key};
use super::named;

const CELL_WIDTH: usize = 20;

/// What a person wants done.
pub enum Answer {
    Chosen(Choice),
    /// The page is empty, and rightly so.
    Empty,
    Skipped,
    /// What was done last is to be undone.
    Undo,
    Quit,
}

const KEYS: &str = "Enter takes it · 1-5 another · → wider · ← narrower · s skip · q quit · ? all keys";
const ALL_KEYS: &str = "  Enter   takes the list that is shown, under these names
  1 to 5  shows another list of the page
  → or w  each record one element wider; ← or n narrower; r begins and ends one item later
  t       a record of yours, by its text: the list with it is looked for
  e       choose and name the columns, then take it
  x       the list is rightly empty
  u       undoes the last step here, or else the task before
  s       skips this task; q leaves all that are left";

/// What a person wants done with what is shown.
enum Wish {
    Take,
    Name,
    Show(usize),
    Adjust(Adjust),
    Record,
    Undo,
    Empty,
    Skip,
    Quit,
    Help,
}

pub const NO_TERMINAL: &str = "there is no terminal to ask at; use --yes, or --pick K with --names A,B,…";

/// Is there somebody to be asked?
pub fn at_terminal() -> Result<(), Complaint> {
    if io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Complaint::new(exit::USAGE, NO_TERMINAL))
}

/// Asks for a yes: Enter, or y; n says no.
pub fn asked(question: &str) -> Result<bool, Complaint> {
    loop {
        match pressed(question)? {
            Key::Enter | Key::Char('y' | 'Y') => return Ok(true),
            Key::Char('n' | 'N') => return Ok(false),
            Key::Leave => return Err(Complaint::new(exit::NEEDS_PERSON, "nothing was changed")),
            Key::Char(_) | Key::Left | Key::Right | Key::Other => {}
        }
    }
}

/// Shows the last good rows beside the candidate at hand, and does what is pressed until one is taken.
pub fn ask(config: &Config, proposal: &mut Proposal, folder: &TaskFolder) -> Result<Answer, Complaint> {
    at_terminal()?;
    let began = Instant::now();
    keys::forget_typed();
    out::say(format!("{}: {}", folder.name, out::cell(proposal.study.known.page.url.as_str(), 200)));
    // The candidate that was touched last is what Enter takes.
    let mut at = proposal.proposal.said.finish.candidate.min(proposal.proposal.candidates.len() - 1);
    show(proposal, at);
    loop {
        let most = proposal.proposal.candidates.len();
        let key = pressed(&format!("[{} of {most}] {KEYS}\n> ", at + 1))?;
        let Some(wish) = wish(key) else {
            out::note("This key means nothing here; ? shows those that do.");
            continue;
        };
        let spent = || Some(began.elapsed().as_secs_f64());
        match wish {
            Wish::Take if proposal.proposal.repairs => {
                let names = proposal.names(at);
                return Ok(Answer::Chosen(Choice { pick: at, names, seconds: spent() }));
            }
            Wish::Take | Wish::Name => {
                let each = matches!(wish, Wish::Name);
                return Ok(Answer::Chosen(Choice { seconds: spent(), ..ask_names(proposal, at, each)? }));
            }
            Wish::Quit => return Ok(Answer::Quit),
            Wish::Skip => return Ok(Answer::Skipped),
            Wish::Empty => return Ok(Answer::Empty),
            Wish::Help => out::say(ALL_KEYS),
            Wish::Undo if proposal.proposal.said.finish.adjust.is_empty() => return Ok(Answer::Undo),
            Wish::Undo => changed(proposal.adjust(at, None), proposal, at),
            Wish::Adjust(step) => changed(proposal.adjust(at, Some(step)), proposal, at),
            Wish::Show(number) if (1..=most).contains(&number) => {
                at = number - 1;
                show(proposal, at);
            }
            Wish::Show(_) => out::note(format!("There are {most} lists to choose from.")),
            Wish::Record => {
                let record = prompt("Some text of the record: ")?;
                let help = Help { records: vec![record], ..Help::default() };
                let anew = supervise::propose(config, folder, &help).map(|anew| (*proposal, at) = (anew, 0));
                changed(anew, proposal, at);
            }
        }
    }
}

fn wish(key: Key) -> Option<Wish> {
    Some(match key {
        Key::Enter => Wish::Take,
        Key::Right => Wish::Adjust(Adjust::Widen),
        Key::Left => Wish::Adjust(Adjust::Narrow),
        Key::Leave => Wish::Quit,
        Key::Other => return None,
        Key::Char(letter) => match letter.to_ascii_lowercase() {
            number @ '1'..='9' => Wish::Show(number.to_digit(10)? as usize),
            'w' => Wish::Adjust(Adjust::Widen),
            'n' => Wish::Adjust(Adjust::Narrow),
            'r' => Wish::Adjust(Adjust::Rotate),
            't' => Wish::Record,
            'e' => Wish::Name,
            'x' => Wish::Empty,
            'u' => Wish::Undo,
            's' => Wish::Skip,
            'q' => Wish::Quit,
            '?' | 'h' => Wish::Help,
            _ => return None,
        },
    })
}

/// Shows what there is after a change, or why there was none.
fn changed<E: std::fmt::Display>(done: Result<(), E>, proposal: &Proposal, at: usize) {
    match done {
        Ok(()) => show(proposal, at),
        Err(error) => out::note(error),
    }
}

fn show(proposal: &Proposal, place: usize) {
    let candidate = &proposal.proposal.candidates[place];
    let (rows, method) = (candidate.table.rows.len(), candidate.method);
    let listed = sample(&candidate.table, &proposal.names(place));
    if let Some(limit) = candidate.limit {
        out::say(format!("Not all of it can be read: {limit}."));
    }
    let Some(good) = &proposal.study.known.good else {
        return out::say(format!("{rows} rows on this page ({method})\n{listed}"));
    };
    let new = format!("{rows} rows now ({method})\n{listed}");
    let names: Vec<Option<String>> = good.columns.iter().cloned().map(Some).collect();
    let old = format!("{} rows before\n{}", good.rows.len(), sample(good, &names));
    out::say(beside(&old, &new, out::terminal_width().unwrap_or(80)));
    if let Some(doubt) = proposal.proposal.doubt.as_ref().filter(|_| place == 0) {
        out::say(format!("Look twice: {}.", out::cell(doubt, 200)));
    }
}

fn ask_names(proposal: &Proposal, pick: usize, each: bool) -> Result<Choice, Complaint> {
    let mut names = proposal.names(pick);
    let kept: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let more = names.len() - kept.len();
    let question =
        format!("\nColumns: {}\n[Enter = yes, e = name and choose them, {more} more among them] ", kept.join(", "));
    if !each && !wants_to_name(&question)? {
        return Ok(Choice { pick, names, seconds: None });
    }
    let candidate = &proposal.proposal.candidates[pick];
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
    Ok(Choice { pick, names, seconds: None })
}

fn wants_to_name(question: &str) -> Result<bool, Complaint> {
    loop {
        match pressed(question)? {
            Key::Enter => return Ok(false),
            Key::Char('e' | 'E') => return Ok(true),
            Key::Leave => return Err(Complaint::new(exit::NEEDS_PERSON, "nothing was changed")),
            Key::Char(_) | Key::Left | Key::Right | Key::Other => {}
        }
    }
}

fn pressed(question: &str) -> Result<Key, Complaint> {
    keys::ask(question).map_err(|error| Complaint::new(exit::FAILED, error.to_string()))
}

/// The line that was typed; none where nobody is there any more.
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
