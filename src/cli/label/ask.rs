//! The question: which of these is your list? One line of keys at a time, so that it works on any terminal.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Instant;

use crate::config::Config;
use crate::induce::adjust::Adjust;
use crate::induce::help::Help;
use crate::supervise::{self, Choice, Proposal};
use crate::taskdir::TaskFolder;

use super::super::{Complaint, exit, out};
use super::beside::{beside, sample};
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

const KEYS: &str = "Enter takes it · 1-5 another · → wider · ← narrower · r rotate · t TEXT a record of yours · e columns · \
                    x rightly empty · u undo · s skip · q quit";

/// Shows the last good rows beside the candidate at hand, and does what is typed until one is taken.
pub fn ask(config: &Config, proposal: &mut Proposal, folder: &TaskFolder) -> Result<Answer, Complaint> {
    if !io::stdin().is_terminal() {
        let sentence = "there is no terminal to ask at; use --yes, or --pick K with --names A,B,…";
        return Err(Complaint::new(exit::USAGE, sentence));
    }
    let began = Instant::now();
    out::say(format!("{}: {}", folder.name, out::cell(proposal.page.url.as_str(), 200)));
    // The candidate that was touched last is what Enter takes.
    let mut at = proposal.said.finish.candidate.min(proposal.candidates.len() - 1);
    show(proposal, at);
    loop {
        let most = proposal.candidates.len();
        let answer = prompt(&format!("[{} of {most}] {KEYS}\n> ", at + 1))?;
        let spent = || Some(began.elapsed().as_secs_f64());
        match (answer.as_str(), adjusted(&answer)) {
            ("", _) if proposal.repairs => {
                let names = proposal.names(at);
                return Ok(Answer::Chosen(Choice { pick: at, names, seconds: spent() }));
            }
            ("" | "e", _) => {
                return Ok(Answer::Chosen(Choice { seconds: spent(), ..ask_names(proposal, at, answer == "e")? }));
            }
            ("q", _) => return Ok(Answer::Quit),
            ("s", _) => return Ok(Answer::Skipped),
            ("x", _) => return Ok(Answer::Empty),
            ("u", _) if proposal.said.finish.adjust.is_empty() => return Ok(Answer::Undo),
            (_, Some(step)) => match proposal.adjust(folder, at, step) {
                Ok(()) => show(proposal, at),
                Err(error) => out::note(error.to_string()),
            },
            (text, None) => match (text.parse::<usize>(), text.strip_prefix("t ")) {
                (Ok(number), _) if (1..=most).contains(&number) => {
                    at = number - 1;
                    show(proposal, at);
                }
                (_, Some(record)) => {
                    let help = Help { records: vec![record.trim().to_owned()], ..Help::default() };
                    match supervise::propose(config, folder, &help) {
                        Ok(anew) => {
                            (*proposal, at) = (anew, 0);
                            show(proposal, at);
                        }
                        Err(error) => out::note(error.to_string()),
                    }
                }
                _ => out::note(format!("A number from 1 to {most}, or one of the keys, please.")),
            },
        }
    }
}

fn show(proposal: &Proposal, place: usize) {
    let candidate = &proposal.candidates[place];
    let now = format!("{} rows now ({})", candidate.table.rows.len(), candidate.method);
    let new = format!("{now}\n{}", sample(&candidate.table, &proposal.names(place)));
    let Some(good) = &proposal.last_good else { return out::say(new) };
    let names: Vec<Option<String>> = good.columns.iter().cloned().map(Some).collect();
    let old = format!("{} rows before\n{}", good.rows.len(), sample(good, &names));
    out::say(beside(&old, &new, out::terminal_width().unwrap_or(80)));
}

/// Arrows as a terminal sends them, or letters. `u` takes the steps back.
fn adjusted(answer: &str) -> Option<Option<Adjust>> {
    match answer {
        "w" | "\u{1b}[C" | "\u{1b}OC" => Some(Some(Adjust::Widen)),
        "n" | "\u{1b}[D" | "\u{1b}OD" => Some(Some(Adjust::Narrow)),
        "r" => Some(Some(Adjust::Rotate)),
        "u" => Some(None),
        _ => None,
    }
}

fn ask_names(proposal: &Proposal, pick: usize, each: bool) -> Result<Choice, Complaint> {
    let mut names = proposal.names(pick);
    let kept: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let more = names.len() - kept.len();
    let question =
        format!("\nColumns: {}\n[Enter = yes, e = name and choose them, {more} more among them] ", kept.join(", "));
    if !each && prompt(&question)? != "e" {
        return Ok(Choice { pick, names, seconds: None });
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
    Ok(Choice { pick, names, seconds: None })
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
